"""``list``: every subscription in a row, the worst first: the first screen as text, CSV or JSON."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from engine.errors import InputError, RingsideError
from tui.cli.cluster import ClusterChoice, cluster_options, require_no_cluster
from tui.cli.exits import FINE, UNREACHABLE, USAGE
from tui.cli.options import WhatIf, form_options, what_if_options
from tui.cli.output import Form, say, say_problems, write_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.listing import ListedRow, Listing
    from tui.kit.session import Session


@click.command("list")
@click.argument("paths", nargs=-1, metavar="[FILE | FOLDER | URL | @NAME]...", type=click.Path())
@click.option("--filter", "words", metavar="WORDS", default="", help='Only rows that fit: "orders idle>2 type=key".')
@click.option("--sort", metavar="COLUMN", help="Sort by a column, numbers with the largest first.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@form_options
@what_if_options
@cluster_options(topic=False, settings=False)
def list_command(
    *,
    paths: tuple[str, ...],
    words: str,
    sort: str | None,
    as_csv: bool,
    form: Form,
    what_if: WhatIf,
    cluster: ClusterChoice,
) -> int:
    """List every subscription, the worst first: verdict, consumers, idle ones, evenness, backlog.

    Verdict, backlog and out/s are what brokers reported; idle consumers and busiest÷avg are computed, also for steps of
    --apply. A dash is what nobody reported or computed. A URL (http://HOST:8080) is a running cluster, which is only
    read; @NAME is one of your settings. Of several, each is a cluster, with its name in a column.

    Exit code 0: listed, whatever the verdicts are (`why --all` fails for them). 2: an input cannot be used. 3: a
    cluster is out of reach. The others are listed all the same.

    Example: ringside list dump/ --filter "idle>0 backlog>1000" --sort backlog
    """
    from engine.answer import column_meant, filter_of, sortable_columns
    from engine.views.listing import ListedRow
    from tui.kit.columns import Order, places_in_order
    from tui.kit.declared import sorted_by

    chosen = filter_of(ListedRow, words)
    if chosen.half_typed:
        raise InputError(f"--filter: {chosen.half_typed} needs a number, as in idle>2")
    listing, code = _of_all(paths, what_if, cluster)
    rows: Sequence[ListedRow] = [row for row in listing.rows if chosen.fits(row)]
    if sort is not None:
        column = column_meant(ListedRow, sort)
        if column is None:
            known = ", ".join(each.label for each in sortable_columns(ListedRow))
            raise InputError(f"--sort: there is no column {sort!r}; there are {known}")
        order = Order(column.name, descending=column.kind.is_number)
        rows = [rows[at] for at in places_in_order(rows, order, sorted_by(ListedRow))]
    if as_csv:
        write_out(_csv(rows))
        return code
    listing = replace(listing, rows=tuple(rows))
    return form.show(listing, lambda: page_lines(listing), code)


def page_lines(listing: Listing) -> list[str]:
    """The listing as a table of text."""
    from engine.views.listing import ListedRow
    from tui.cli.plain import table
    from tui.kit.declared import aligns, page_rows

    rows = page_rows(listing.rows, ListedRow)
    return table(rows, aligns(listing.rows, ListedRow)) if listing.rows else ["nothing to list"]


def _csv(rows: Sequence[ListedRow]) -> str:
    from engine.answer import sortable_columns
    from engine.disk import record_writer
    from engine.views.listing import ListedRow

    names = [column.name for column in sortable_columns(ListedRow)]
    file = io.BytesIO()
    record_writer(Path("list.csv"))([{name: getattr(row, name) for name in names} for row in rows], file)
    return file.getvalue().decode().removesuffix("\n")


def _of_all(paths: Sequence[str], what_if: WhatIf, cluster: ClusterChoice) -> tuple[Listing, int]:
    """The list of one cluster or of several, and the exit code; of several, those that cannot be read are left out."""
    from engine.views.listing import of_clusters
    from tui.sources.cluster.addresses import shown_address
    from tui.sources.cluster.outcomes import ClusterOutOfReachError

    if len(paths) < 2:
        return _listing(paths[0] if paths else None, what_if, cluster), FINE
    listings: dict[str, Listing] = {}
    failures: list[RingsideError] = []
    for path in dict.fromkeys(paths):
        name = path.removeprefix("@") if path.startswith("@") else shown_address(path).rstrip("/")
        try:
            listings[name] = _listing(path, what_if, cluster)
        except RingsideError as error:
            failures.append(error)
            say(str(error))
    if not listings:
        raise failures[0]
    unreachable = any(isinstance(error, ClusterOutOfReachError) for error in failures)
    return of_clusters(listings), UNREACHABLE if unreachable else USAGE if failures else FINE


def _listing(path: str | None, what_if: WhatIf, cluster: ClusterChoice) -> Listing:
    from engine.views.reported.view import Reported
    from tui.kit.moments import Moments

    session = _session(path, what_if, cluster)
    say_problems(session.problems)
    return Moments(Reported(session.seen)).listing(session.timeline)


def _session(path: str | None, what_if: WhatIf, cluster: ClusterChoice) -> Session:
    from tui.cli.session import begin, session_of
    from tui.sources.cluster.addresses import is_url

    named = path is not None and path.startswith("@") and not Path(path).exists()
    if path is None or not (named or is_url(path)):
        require_no_cluster(cluster)
        return session_of(path, what_if)
    from engine.scenarios.opening import open_moments
    from tui.cli.cluster import read_once
    from tui.cli.contexts import source_of
    from tui.sources.cluster.reading import moments_read

    source = source_of(path[1:]) if named else cluster.source(path, topic=what_if.about, settings=what_if.settings)
    return begin(open_moments(moments_read([read_once(source)], limit_bytes=what_if.max_input)), what_if)
