"""``occupancy`` and ``bundles-needed``: how topics spread over bundles and brokers, and how many bundles it takes."""

from __future__ import annotations

import click

from tui.cli.exits import FINE
from tui.cli.namespaces import namespace_of
from tui.cli.options import WhatIf, ascii_option, json_option, what_if_options
from tui.cli.output import say_problems, write_out, write_page


@click.command("occupancy", short_help="Count topics in bundles and on brokers, beside what chance gives.")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--namespace", metavar="NAME", help="tenant/namespace; needed where there are several.")
@click.option("--topics", metavar="N", type=int, help="Not those of a PATH, but so many by chance.")
@click.option("--bundles", metavar="N", type=int, help="With --topics: in so many equal bundles.")
@click.option("--brokers", metavar="N", type=int, default=2, show_default=True, help="How many brokers there are.")
@json_option
@ascii_option
@what_if_options
def occupancy_command(
    *,
    path: str | None,
    namespace: str | None,
    topics: int | None,
    bundles: int | None,
    brokers: int,
    as_json: bool,
    ascii_only: bool,
    what_if: WhatIf,
) -> int:
    """Count the topics of a namespace in its bundles and on its brokers, beside what chance gives on average.

    With --topics and --bundles nothing is opened, and the numbers that chance gives are told.

    Example: ringside occupancy --topics 1000 --bundles 16 --brokers 3
    """
    if (topics is None) != (bundles is None):
        raise click.UsageError("--topics and --bundles go together")
    if topics is not None and bundles is not None:
        if path is not None or namespace is not None:
            raise click.UsageError("--topics and --bundles stand for a PATH; give either")
        return _expected(topics, bundles, brokers, as_json=as_json, ascii_only=ascii_only)
    from engine.bundles.occupancy import count_occupancy
    from engine.cluster.bundles import topic_loads
    from engine.cluster.state import bundles_of
    from engine.errors import InputError, Rejection
    from engine.views.bundles.view import broker_ids, too_many_brokers
    from tui.cli.session import begin
    from tui.sources.answers import opened

    session = begin(opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input), what_if)
    state = session.timeline.state
    owner = namespace_of(namespace, state)
    if owner not in state.namespaces:
        raise InputError(
            f"--namespace: no namespace {owner!r} here; there is {', '.join(sorted(state.namespaces)[:8])}"
        )
    found = too_many_brokers(brokers) or count_occupancy(
        bundles_of(state, owner), topic_loads(state, owner), broker_ids(brokers)
    )
    if isinstance(found, Rejection):
        raise InputError(f"--{found.field}: {found.message}")
    say_problems(session.problems)
    if as_json:
        from engine.views.bundles.document import counted_document
        from tui.cli.printers.documents import json_text

        write_out(json_text({"namespace": owner, **counted_document(found)}))
    else:
        from tui.cli.printers.occupancy import counted_lines

        write_page(counted_lines(owner, found), ascii_only=ascii_only)
    return FINE


def _expected(topics: int, bundles: int, brokers: int, *, as_json: bool, ascii_only: bool) -> int:
    from engine.bundles.occupancy import expected_occupancy
    from engine.errors import InputError, Rejection

    found = expected_occupancy(topics, bundles, brokers)
    if isinstance(found, Rejection):
        raise InputError(f"--{found.field}: {found.message}")
    if as_json:
        from engine.views.bundles.document import expected_document
        from tui.cli.printers.documents import json_text

        write_out(json_text(expected_document(found)))
    else:
        from tui.cli.printers.occupancy import expected_lines

        write_page(expected_lines(found), ascii_only=ascii_only)
    return FINE


@click.command("bundles-needed", short_help="Say how many bundles keep brokers even, for so many topics.")
@click.option("--topics", metavar="N", type=int, required=True, help="How many topics there are.")
@click.option("--brokers", metavar="N", type=int, required=True, help="How many brokers there are.")
@click.option(
    "--max-over-mean", metavar="X", type=float, default=1.5, show_default=True,
    help="How many times the mean the fullest broker may have.",
)  # fmt: skip
@click.option(
    "--idle-share", metavar="X", type=float, default=0.01, show_default=True,
    help="The share of brokers that may be without a topic.",
)  # fmt: skip
@click.option(
    "--maximum", metavar="N", type=int, default=128, show_default=True,
    help="loadBalancerNamespaceMaximumBundles: up to there bundles split by themselves.",
)  # fmt: skip
@json_option
@ascii_option
def bundles_needed_command(
    *,
    topics: int,
    brokers: int,
    max_over_mean: float,
    idle_share: float,
    maximum: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say how many equal bundles it takes so that chance keeps the brokers even, and why it is that many.

    Example: ringside bundles-needed --topics 1000 --brokers 3
    """
    from engine.bundles.sizing import bundles_needed
    from engine.errors import InputError, Rejection

    found = bundles_needed(topics, brokers, max_over_mean=max_over_mean, idle_share=idle_share, maximum_bundles=maximum)
    if isinstance(found, Rejection):
        raise InputError(f"--{found.field.replace('_', '-')}: {found.message}")
    if as_json:
        from engine.views.bundles.document import needed_document
        from tui.cli.printers.documents import json_text

        write_out(json_text(needed_document(found)))
    else:
        from tui.cli.printers.occupancy import needed_lines

        write_page(needed_lines(found), ascii_only=ascii_only)
    return FINE
