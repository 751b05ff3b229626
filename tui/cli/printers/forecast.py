"""``forecast``: the next split, the bundles beside their limits, each algorithm's outcome, and what goes in circles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.text import counted
from engine.views.bundles.model import AttemptRow, BalanceView, TreeRow
from engine.views.bundles.view import balance_frame
from engine.views.bundles.words import amount_text, assumed_text, span_text
from tui.bundles.words import occupancy_texts, share_text, status_texts
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import bytes_per_sec, msgs_per_sec, safe_name

ATTEMPTS_SHOWN: Final = 30
_NOW: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", "<")
_TREES: Final[tuple[Align, ...]] = ("<", ">", ">", ">", "<")


def forecast_lines(view: BalanceView) -> list[str]:
    """Everything the screen "bundles" tells, from the question to the number of bundles it would take."""
    return [
        *wrapped(f"namespace {safe_name(view.namespace)}: {status_texts(view)[0]}"),
        "",
        *_next(view),
        "",
        *_now(view),
        "",
        *_trees(view),
        "",
        *_course(view.configured),
        *_loops(view),
        "",
        *_occupancy(view),
    ]


def _next(view: BalanceView) -> Iterator[str]:
    tree = view.configured
    if view.idle:
        yield from wrapped(f"nothing splits: {view.idle}")
        return
    split = tree.next_split()
    if split is None:
        yield f"no bundle splits within {counted(view.question.cycles, 'cycle')}"
        attempt = tree.next_attempt()
        if attempt is not None:
            yield from wrapped(f"cycle {attempt.cycle}: {attempt.range_text} {attempt.told}", first="  ", rest="    ")
        return
    yield f"next split: {split.range_text}"
    yield f"  when: cycle {split.cycle}, {span_text(split.at_seconds)} from now ({split.at_seconds:g} s)"
    yield from wrapped(split.why, first="  why:  ", rest="    ")
    yield from wrapped(split.told, first="  what: ", rest="    ")


def _now(view: BalanceView) -> list[str]:
    rows = [("bundle", "topics", "msg/s", "B/s", "of limit", "")]
    for row in balance_frame(view, view.configured.algorithm, 0).leaves:
        nearest = row.nearest
        limit = f"{amount_text(nearest.reason, nearest.measured)} of {amount_text(nearest.reason, nearest.limit)}"
        rows.append(
            (
                row.range_text,
                str(row.topics),
                msgs_per_sec(row.msgs_per_sec).partition(" ")[0],
                bytes_per_sec(row.bytes_per_sec).removesuffix("B/s"),
                share_text(nearest.share),
                limit + (" !" if row.over else ""),
            )
        )
    return table(rows, _NOW)


def _trees(view: BalanceView) -> Iterator[str]:
    yield f"after {counted(view.question.cycles, 'cycle')}:"
    rows = [("algorithm", "splits", "bundles", "empty", "hottest")]
    for tree in view.trees:
        name = tree.algorithm + (" (configured)" if tree.configured else "")
        hottest = f"{tree.hottest} {msgs_per_sec(tree.hottest_msgs_per_sec)}"
        rows.append((name, str(len(tree.splits)), str(tree.bundles), str(tree.empty_bundles), hottest))
    yield from table(rows, _TREES, indent="  ")


def _course(tree: TreeRow) -> Iterator[str]:
    """Each attempt where it comes first; one that is made again and again is told once."""
    again: dict[tuple[str, str], list[AttemptRow]] = {}
    for attempt in tree.attempts:
        again.setdefault((attempt.range_text, attempt.told), []).append(attempt)
    if not again:
        return
    yield f"attempts with {tree.algorithm}:"
    for (range_text, words), made in list(again.items())[:ATTEMPTS_SHOWN]:
        more = f" ({len(made)} times, the last in cycle {made[-1].cycle})" if len(made) > 1 else ""
        first = f"  cycle {made[0].cycle}, {span_text(made[0].at_seconds)}: "
        yield from wrapped(f"{range_text} {words}{more}", first=first, rest="    ")
    if len(again) > ATTEMPTS_SHOWN:
        yield f"  and {len(again) - ATTEMPTS_SHOWN} more (--json has them all)"


def _loops(view: BalanceView) -> Iterator[str]:
    for tree in view.trees:
        for place, loop in enumerate(tree.loops):
            if not place:
                yield ""
                yield f"goes round in circles with {tree.algorithm}:"
            yield from wrapped(f"! {loop.told}", first="  ", rest="    ")


def _occupancy(view: BalanceView) -> Iterator[str]:
    for text in (*occupancy_texts(view.occupancy), assumed_text(view)):
        if text:
            yield from wrapped(text)
    if view.needed.problem is None:
        yield from wrapped(f"{counted(view.needed.bundles, 'bundle')} would keep the brokers even")
