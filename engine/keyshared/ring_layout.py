"""The points of a ring laid out in order with all their claimants: built once per membership, then only read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class RingLayout:
    """Points ascending, and for each its claimants (positions in the list of members) in the order that counts.

    ``claims``: for each member, in the order claimants rank, its distinct points. Building is O(n log n) for n points
    in all, a look-up O(log n).
    """

    __slots__ = ("_bounds", "_lookup", "_members", "points")

    points: NDArray[np.int64]
    """The distinct point values, ascending; read-only."""

    def __init__(self, claims: Sequence[tuple[int, Sequence[int]]]) -> None:
        values = np.array([point for _, points in claims for point in points], dtype=np.int64)
        members = np.array([member for member, points in claims for _ in points], dtype=np.int64)
        # A stable sort keeps the claimants of one point in rank order.
        order = np.argsort(values, kind="stable")
        values, members = values[order], members[order]
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else values
        self.points = values[starts]
        self.points.setflags(write=False)
        self._bounds: list[int] = [*starts.tolist(), len(values)]
        self._members: list[int] = members.tolist()
        self._lookup = self.points.data

    def __len__(self) -> int:
        return len(self.points)

    def index_of(self, slot: int) -> int:
        """The index of the smallest point >= slot, past the last point that of the first one; the ring is not empty."""
        at = bisect_left(self._lookup, slot)
        return 0 if at == len(self._lookup) else at

    def claimants(self, index: int) -> list[int]:
        """Who claims the point with this index, in rank order; never empty."""
        return self._members[self._bounds[index] : self._bounds[index + 1]]

    def first_claimant(self, index: int) -> int:
        """Who claims the point with this index and ranks first."""
        return self._members[self._bounds[index]]

    def first_claimants(self) -> list[int]:
        """The first claimant of each point, by index."""
        return [self._members[start] for start in self._bounds[:-1]]

    @property
    def claimed_points(self) -> int:
        """How many points were claimed in all, each claimant of a shared point counted."""
        return len(self._members)
