"""Closed ranges of hashes, and the question whether they cover a space."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter
from typing import Annotated

from msgspec import Struct

from engine.answer import about


class HashRange(Struct, frozen=True, order=True):
    """The hashes ``start`` .. ``end``, both included, as Pulsar's ``Range``; never empty.

    >>> HashRange(3, 5).size, HashRange(3, 5).contains(5), HashRange(3, 5).contains(6)
    (3, True, False)
    """

    start: Annotated[int, about("First.")]
    end: Annotated[int, about("Last.")]

    def __post_init__(self) -> None:
        assert self.start <= self.end, f"a range starts at or before its end: [{self.start},{self.end}]"

    @property
    def size(self) -> int:
        return self.end - self.start + 1

    def contains(self, value: int) -> bool:
        return self.start <= value <= self.end

    def overlaps(self, other: HashRange) -> bool:
        """Whether the two share a value; touching ends are shared, since both ends belong to a range."""
        return self.start <= other.end and other.start <= self.end

    def __str__(self) -> str:
        return f"[{self.start},{self.end}]"


def join_neighbours(ranges: Iterable[HashRange]) -> tuple[HashRange, ...]:
    """The same values in as few ranges as possible, sorted by start. O(n log n).

    >>> [str(r) for r in join_neighbours([HashRange(5, 6), HashRange(0, 2), HashRange(3, 4), HashRange(9, 9)])]
    ['[0,6]', '[9,9]']
    """
    joined: list[HashRange] = []
    for piece in sorted(ranges, key=attrgetter("start")):
        if joined and piece.start <= joined[-1].end + 1:
            joined[-1] = HashRange(joined[-1].start, max(joined[-1].end, piece.end))
        else:
            joined.append(piece)
    return tuple(joined)


def uncovered(ranges: Iterable[HashRange], space: HashRange) -> tuple[HashRange, ...]:
    """The parts of ``space`` that no range has, sorted. O(n log n).

    >>> [str(r) for r in uncovered([HashRange(1, 2), HashRange(5, 9)], HashRange(0, 7))]
    ['[0,0]', '[3,4]']
    """
    gaps: list[HashRange] = []
    free_from = space.start
    for piece in join_neighbours(ranges):
        if piece.start > space.end:
            break
        if piece.start > free_from:
            gaps.append(HashRange(free_from, piece.start - 1))
        free_from = max(free_from, piece.end + 1)
    if free_from <= space.end:
        gaps.append(HashRange(free_from, space.end))
    return tuple(gaps)


def overlaps(ranges: Iterable[HashRange]) -> tuple[tuple[HashRange, HashRange], ...]:
    """Each range that shares a value with an earlier one (by start), behind the one that reaches furthest; O(n log n).

    Empty exactly when the ranges are disjoint.

    >>> overlaps([HashRange(0, 4), HashRange(5, 9)])
    ()
    """
    pairs: list[tuple[HashRange, HashRange]] = []
    widest: HashRange | None = None
    for piece in sorted(ranges):
        if widest is not None and piece.overlaps(widest):
            pairs.append((widest, piece))
        if widest is None or piece.end > widest.end:
            widest = piece
    return tuple(pairs)


def covers_exactly(ranges: Iterable[HashRange], space: HashRange) -> bool:
    """Whether every value of ``space`` is in exactly one range and none is outside. O(n log n)."""
    pieces = sorted(ranges)
    return (
        bool(pieces)
        and pieces[0].start == space.start
        and pieces[-1].end == space.end
        and all(right.start == left.end + 1 for left, right in pairwise(pieces))
    )
