"""``occupancy`` and ``bundles-needed``: counted numbers beside what chance gives."""

from __future__ import annotations

from typing import Final

from engine.bundles.occupancy import CountedOccupancy, ExpectedOccupancy
from engine.bundles.sizing import BundlesNeeded
from engine.text import counted
from tui.bundles.words import occupancy_texts
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import percent, safe_name

BUNDLES_SHOWN: Final = 64
_COUNTS: Final[tuple[Align, ...]] = ("<", ">")
_TABLE: Final[tuple[Align, ...]] = (">", ">", ">", ">", ">", ">")


def counted_lines(namespace: str, found: CountedOccupancy) -> list[str]:
    """What is counted, bundle by bundle and broker by broker."""
    mean = found.expected.mean_per_bundle
    rows = [(str(bundle), str(count)) for bundle, count in zip(found.bundles, found.per_bundle, strict=True)]
    more = len(rows) - BUNDLES_SHOWN
    lines = [f"namespace {safe_name(namespace)}: {counted(found.topics, 'topic')}, {mean:.1f} a bundle if all is even"]
    for text in occupancy_texts(found):
        lines += wrapped(text)
    lines += ["", *table([("bundle", "topics"), *rows[:BUNDLES_SHOWN]], _COUNTS)]
    if more > 0:
        lines.append(f"and {more} more (--json has them all)")
    brokers = [(broker, str(count)) for broker, count in found.per_broker]
    lines += ["", *table([("broker", "topics"), *brokers[:BUNDLES_SHOWN]], _COUNTS)]
    if found.unplaced:
        lines += wrapped(f"in no bundle: {', '.join(map(safe_name, found.unplaced[:8]))}")
    return lines


def expected_lines(found: ExpectedOccupancy) -> list[str]:
    """What chance gives on average, one sentence a line."""
    sentences = (
        f"{counted(found.topics, 'topic')} in {counted(found.bundles, 'equal bundle')} on"
        f" {counted(found.brokers, 'broker')}, on average over all names:",
        f"  {found.empty_bundles:.2f} bundles stay empty ({percent(found.empty_bundle_share)})",
        f"  the fullest bundle has {found.fullest_bundle:.2f} topics, {found.bundle_max_over_mean:.2f} times the mean",
        f"  {found.idle_brokers:.3f} brokers are without a topic, however well bundles are dealt out",
        f"  the fullest broker has {found.fullest_broker_dealt:.1f} topics when bundles are dealt out in turn,"
        f" {found.dealt_max_over_mean:.2f} times the mean",
        f"  and at most {found.fullest_broker_packed:.1f} when each goes to the emptiest broker,"
        f" {found.packed_max_over_mean:.2f} times",
    )
    return [line for sentence in sentences for line in wrapped(sentence, rest="    ")]


def needed_lines(found: BundlesNeeded) -> list[str]:
    """The number, why it is that many, and other numbers of bundles beside it."""
    lines = [f"{counted(found.bundles, 'bundle')}"]
    for sentence in found.explanation:
        lines += wrapped(sentence, first="  ", rest="    ")
    heading = ("bundles", "topics each", "fullest", "empty", "idle brokers", "fullest broker")
    rows = [heading, *(_row(each, here=each.bundles == found.bundles) for each in found.table)]
    return [*lines, "", *table(rows, _TABLE)]


def _row(found: ExpectedOccupancy, *, here: bool) -> tuple[str, ...]:
    return (
        f"{'* ' if here else ''}{found.bundles}",
        f"{found.mean_per_bundle:.2f}",
        f"{found.fullest_bundle:.2f}",
        percent(found.empty_bundle_share),
        f"{found.idle_brokers:.3f}",
        f"{found.packed_max_over_mean:.3f}",
    )
