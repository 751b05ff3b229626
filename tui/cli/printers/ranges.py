"""``ranges``: what each node declares, as text and as the clients take it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.keyshared.clients import ClientLanguage, comment_mark, policy_code
from engine.keyshared.model import RANGE_SIZE
from engine.ranges import HashRange
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import counted, percent

NodeRanges = Sequence[Sequence[HashRange]]

TECHNIQUE: Final = (
    "consistent sticky ranges: a technique of clients, not a mode of the broker; each node declares these ranges as"
    " STICKY, and all must use one number of points and of nodes"
)
_ALIGNS: Final[tuple[Align, ...]] = (">", ">", ">", ">", ">")
_HEADING: Final = ("node", "ranges", "slots", "share", "of mean")


def range_lines(points: int, every: NodeRanges, wanted: Sequence[int]) -> list[str]:
    """The label, the summary of all nodes, and the ranges of those that are wanted."""
    lines = [*wrapped(TECHNIQUE), f"{counted(points, 'point')} each, {counted(len(every), 'node')}", ""]
    lines += summary_lines(every, wanted)
    for node in wanted:
        text = " ".join(str(piece) for piece in every[node]) or "no range: it cannot join"
        lines += ["", f"node {node}", *wrapped(text, first="  ", rest="  ")]
    return lines


def summary_lines(every: NodeRanges, wanted: Sequence[int]) -> list[str]:
    """Share and number of ranges of each wanted node, then largest over mean of all of them."""
    mean = RANGE_SIZE / len(every)
    slots = [sum(piece.size for piece in pieces) for pieces in every]
    rows = [_HEADING] + [
        (
            str(node),
            str(len(every[node])),
            str(slots[node]),
            percent(slots[node] / RANGE_SIZE),
            _times(slots[node], mean),
        )
        for node in wanted
    ]
    largest = slots.index(max(slots))
    total = sum(len(pieces) for pieces in every)
    return [
        *table(rows, _ALIGNS),
        f"all nodes: {counted(total, 'range')}, largest over mean {_times(slots[largest], mean)} (node {largest})",
        f"{RANGE_SIZE:,} slots are declared; keys have {RANGE_SIZE - 1:,} of them: slot 0 counts as 1 (4.0+)",
    ]


def code_lines(language: ClientLanguage, points: int, every: NodeRanges, wanted: Sequence[int]) -> Iterator[str]:
    """For each node a comment that says what it is, and the policy."""
    mark = comment_mark(language)
    for place, node in enumerate(wanted):
        pieces = every[node]
        share = percent(sum(piece.size for piece in pieces) / RANGE_SIZE)
        if place:
            yield ""
        yield (
            f"{mark} node {node} of {len(every)}, {counted(points, 'point')} each:"
            f" {counted(len(pieces), 'range')}, {share} of the slots"
        )
        if not pieces:
            yield f"{mark} no range of its own: it cannot join"
        yield from policy_code(language, _name(language, node), pieces)


def _name(language: ClientLanguage, node: int) -> str:
    return f"node_{node}" if language is ClientLanguage.PYTHON else f"node{node}"


def _times(slots: int, mean: float) -> str:
    return f"{slots / mean:.2f}"
