"""``occupancy`` and ``bundles-needed``: how topics spread over bundles and brokers, and how many bundles it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError, Rejection
from engine.text import counted
from tui.cli.exits import FINE
from tui.cli.options import WhatIf, ascii_option, json_option, what_if_options
from tui.cli.output import json_text, say_problems, write_out, write_page
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import percent, safe_name

if TYPE_CHECKING:
    from engine.bundles.occupancy import CountedOccupancy, ExpectedOccupancy
    from engine.bundles.sizing import BundlesNeeded

BUNDLES_SHOWN: Final = 64
_COUNTS: Final[tuple[Align, ...]] = ("<", ">")
_TABLE: Final[tuple[Align, ...]] = (">", ">", ">", ">", ">", ">")


@click.command("occupancy")
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
    """Count the topics of a namespace in its bundles and on its brokers, and compare with chance.

    With --topics and --bundles nothing is opened, and the numbers are those that chance gives.

    Example: ringside occupancy --topics 1000 --bundles 16 --brokers 3
    """
    if (topics is None) != (bundles is None):
        raise click.UsageError("--topics and --bundles go together")
    if topics is not None and bundles is not None:
        if path is not None or namespace is not None:
            raise click.UsageError("--topics and --bundles replace PATH; give one or the other")
        return _expected(topics, bundles, brokers, as_json=as_json, ascii_only=ascii_only)
    from engine.bundles.occupancy import count_occupancy
    from engine.cluster.bundles import topic_loads
    from engine.cluster.state import bundles_of
    from engine.views.bundles.view import broker_ids, too_many_brokers
    from tui.cli.session import answers_of, namespace_of

    session = answers_of(path, what_if)
    state = session.timeline.state
    owner = namespace_of(namespace, session.timeline)
    if owner not in state.namespaces:
        raise InputError(
            f"--namespace: no namespace {owner!r} here; there is {', '.join(sorted(state.namespaces)[:8])}"
        )
    counted = too_many_brokers(brokers) or count_occupancy(
        bundles_of(state, owner), topic_loads(state, owner), broker_ids(brokers)
    )
    if isinstance(counted, Rejection):
        raise InputError(f"--{counted.field}: {counted.message}")
    say_problems(session.problems)
    if as_json:
        from engine.documents import document
        from engine.views.bundles.document import counted_document

        write_out(
            json_text({"format": "ringside.occupancy/1", "namespace": owner, **document(counted_document(counted))})
        )
    else:
        write_page(counted_lines(owner, counted), ascii_only=ascii_only)
    return FINE


def _expected(topics: int, bundles: int, brokers: int, *, as_json: bool, ascii_only: bool) -> int:
    from engine.bundles.occupancy import expected_occupancy

    expected = expected_occupancy(topics, bundles, brokers)
    if isinstance(expected, Rejection):
        raise InputError(f"--{expected.field}: {expected.message}")
    if as_json:
        from engine.documents import document

        write_out(json_text({"format": "ringside.expected-occupancy/1", **document(expected)}))
    else:
        write_page(expected_lines(expected), ascii_only=ascii_only)
    return FINE


@click.command("bundles-needed")
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

    needed = bundles_needed(
        topics, brokers, max_over_mean=max_over_mean, idle_share=idle_share, maximum_bundles=maximum
    )
    if isinstance(needed, Rejection):
        raise InputError(f"--{needed.field.replace('_', '-')}: {needed.message}")
    if as_json:
        from engine.views.bundles.document import needed_document

        write_out(json_text({"format": "ringside.bundles-needed/1", **needed_document(needed)}))
    else:
        write_page(needed_lines(needed), ascii_only=ascii_only)
    return FINE


def counted_lines(namespace: str, occupancy: CountedOccupancy) -> list[str]:
    """What is counted, bundle by bundle and broker by broker."""
    from tui.bundles.words import occupancy_texts

    mean = occupancy.expected.mean_per_bundle
    rows = [(str(bundle), str(count)) for bundle, count in zip(occupancy.bundles, occupancy.per_bundle, strict=True)]
    more = len(rows) - BUNDLES_SHOWN
    lines = [
        f"namespace {safe_name(namespace)}: {counted(occupancy.topics, 'topic')}, {mean:.1f} a bundle if all is even"
    ]
    for text in occupancy_texts(occupancy):
        lines += wrapped(text)
    lines += ["", *table([("bundle", "topics"), *rows[:BUNDLES_SHOWN]], _COUNTS)]
    if more > 0:
        lines.append(f"and {more} more (--json has them all)")
    brokers = [(broker, str(count)) for broker, count in occupancy.per_broker]
    lines += ["", *table([("broker", "topics"), *brokers[:BUNDLES_SHOWN]], _COUNTS)]
    if occupancy.unplaced:
        lines += wrapped(f"in no bundle: {', '.join(map(safe_name, occupancy.unplaced[:8]))}")
    return lines


def expected_lines(expected: ExpectedOccupancy) -> list[str]:
    """What chance gives on average, one sentence a line."""
    sentences = (
        f"{counted(expected.topics, 'topic')} in {counted(expected.bundles, 'equal bundle')} on"
        f" {counted(expected.brokers, 'broker')}, on average over all names:",
        f"  {expected.empty_bundles:.2f} bundles stay empty ({percent(expected.empty_bundle_share)})",
        f"  the fullest bundle has {expected.fullest_bundle:.2f} topics,"
        f" {expected.bundle_max_over_mean:.2f} times the mean",
        f"  {expected.idle_brokers:.3f} brokers are without a topic, however well bundles are dealt out",
        f"  the fullest broker has {expected.fullest_broker_dealt:.1f} topics when bundles are dealt out in turn,"
        f" {expected.dealt_max_over_mean:.2f} times the mean",
        f"  and at most {expected.fullest_broker_packed:.1f} when each goes to the emptiest broker,"
        f" {expected.packed_max_over_mean:.2f} times",
    )
    return [line for sentence in sentences for line in wrapped(sentence, rest="    ")]


def needed_lines(needed: BundlesNeeded) -> list[str]:
    """The number, why it is that many, and other numbers of bundles beside it."""
    lines = [f"{counted(needed.bundles, 'bundle')}"]
    for sentence in needed.explanation:
        lines += wrapped(sentence, first="  ", rest="    ")
    heading = ("bundles", "topics each", "fullest", "empty", "idle brokers", "fullest broker")
    rows = [heading, *(_row(row, here=row.bundles == needed.bundles) for row in needed.table)]
    return [*lines, "", *table(rows, _TABLE)]


def _row(expected: ExpectedOccupancy, *, here: bool) -> tuple[str, ...]:
    return (
        f"{'* ' if here else ''}{expected.bundles}",
        f"{expected.mean_per_bundle:.2f}",
        f"{expected.fullest_bundle:.2f}",
        percent(expected.empty_bundle_share),
        f"{expected.idle_brokers:.3f}",
        f"{expected.packed_max_over_mean:.3f}",
    )
