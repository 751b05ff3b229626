"""``ranges``: what each node declares, as text and as the clients take it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.errors import Rejection
from engine.keyshared.clients import ClientLanguage, comment_mark, policy_code
from engine.keyshared.consistent_sticky import RangeForm, moved_slots
from engine.keyshared.model import RANGE_SIZE
from engine.ranges import HashRange
from engine.text import counted
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import percent

NodeRanges = Sequence[Sequence[HashRange]]

TECHNIQUE: Final = (
    "consistent sticky ranges: a technique of clients, not a mode of the broker; each node declares these ranges as"
    " STICKY, and all must use one form and one number of points and of nodes"
)
FORMS: Final = {
    RangeForm.ARTICLE: "form article: what is above the last point belongs to the node with the last index",
    RangeForm.RINGSIDE: "form ringside: what is above the last point belongs to the first point, as on a ring",
}
COMPARED_POINTS: Final = 200_000
"""Points of all nodes up to which it is said what one more node moves: half a second."""
_ALIGNS: Final[tuple[Align, ...]] = (">", ">", ">", ">", ">")
_HEADING: Final = ("node", "ranges", "slots", "share", "of mean")


def range_lines(points: int, every: NodeRanges, wanted: Sequence[int], form: RangeForm) -> list[str]:
    """The label, the summary of all nodes, what one more moves, and the ranges of those that are wanted."""
    lines = [
        *wrapped(TECHNIQUE),
        *wrapped(FORMS[form]),
        f"{counted(points, 'point')} each, {counted(len(every), 'node')}",
        "",
    ]
    lines += summary_lines(every, wanted)
    lines += growth_lines(points, len(every))
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


def growth_lines(points: int, nodes: int) -> list[str]:
    """What one node more moves in each form; nothing where that is too much to compute."""
    if points * (nodes + 1) > COMPARED_POINTS:
        return []
    moves: list[str] = []
    for form in RangeForm:
        moved = moved_slots(points, nodes, nodes + 1, form)
        assert not isinstance(moved, Rejection), moved
        moves.append(f"{counted(moved, 'slot')} ({percent(moved / RANGE_SIZE)}) in the form {form.value}")
    return wrapped(f"one node more moves {', '.join(moves)}; all of them go to the new node")


def code_lines(language: ClientLanguage, every: NodeRanges, wanted: Sequence[int], made_of: str) -> Iterator[str]:
    """For each node a comment that says what it is and what its ranges are ``made_of``, and the policy."""
    mark = comment_mark(language)
    for place, node in enumerate(wanted):
        pieces = every[node]
        share = percent(sum(piece.size for piece in pieces) / RANGE_SIZE)
        if place:
            yield ""
        yield (f"{mark} node {node} of {len(every)}, {made_of}: {counted(len(pieces), 'range')}, {share} of the slots")
        if not pieces:
            yield f"{mark} no range of its own: it cannot join"
        yield from policy_code(language, _name(language, node), pieces)


def _name(language: ClientLanguage, node: int) -> str:
    return f"node_{node}" if language is ClientLanguage.PYTHON else f"node{node}"


def _times(slots: int, mean: float) -> str:
    return f"{slots / mean:.2f}"
