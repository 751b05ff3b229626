"""The points of one ring under joins and leaves: a sorted array that keeps every claimant, 8 bytes a point."""

from __future__ import annotations

import mmh3
import numpy as np
from numpy.typing import NDArray

from engine.failover.model import Consumer
from engine.fleet.failover_ring import NOBODY
from engine.fleet.membership import Membership
from engine.fleet.points import point_hashes
from engine.hashing import utf8

Stretches = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Hashes that changed hands: ``above < hash <= upto`` and the new owner, disjoint and ascending, (s,) each."""

_ID_BITS = 32
_ID_MASK = (1 << _ID_BITS) - 1
_LAST_HASH = 2**31 - 1


class LivePoints:
    """``packed``: (p,) int64, ``point << 32 | consumer id``, points ascending; the owner of a point is its first entry.

    Claimants of one point stand in falling rank. A consumer two of whose own points meet stands there once. The
    members are those of the ``Membership`` it was made with, which is changed **before** the points are.
    """

    __slots__ = ("_bits", "_members", "_suffixes", "packed")

    packed: NDArray[np.int64]

    def __init__(self, members: Membership, points: int, bits: int) -> None:
        self._members = members
        self._bits = bits
        self._suffixes = [b"%d" % replica for replica in range(points)]
        self.packed = np.zeros(0, dtype=np.int64)

    def rebuild(self) -> None:
        """All points of the cohort, made anew. O(p log p)."""
        cohort = self._members.cohort()[::-1]
        names = [utf8(self._members.consumers[number].name) for number in cohort]
        if not cohort:
            self.packed = np.zeros(0, dtype=np.int64)
            return
        hashes = point_hashes(names, len(self._suffixes), bits=self._bits).astype(np.int64)
        # The place in falling rank decides the order of a run; the ids are put in afterwards.
        packed = np.unique((hashes << _ID_BITS) + np.arange(len(cohort))[:, None])
        ids = np.array(cohort, dtype=np.int64)
        self.packed = (packed & ~_ID_MASK) | ids[packed & _ID_MASK]

    def assign(self, hashes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The owner of each of the ascending hashes: (n,) int32. O(p log n + n)."""
        if not len(self.packed):
            return np.full(len(hashes), NOBODY, dtype=np.int32)
        cuts = np.searchsorted(hashes, (self.packed >> _ID_BITS).astype(np.int32), side="right")
        counts = np.diff(cuts, prepend=0, append=len(hashes))
        owners = self.packed.astype(np.int32)
        return np.repeat(np.append(owners, owners[0]), counts)

    def insert(self, consumer: Consumer) -> Stretches:
        """Add the points of a consumer that has joined the cohort; the ring is not empty. O(p log n), and one copy."""
        ring, number = self.packed, consumer.consumer_id
        points = self._points_of(consumer)
        at = np.searchsorted(ring, points << _ID_BITS)
        following = ring.take(at, mode="wrap")
        owned = np.ones(len(points), dtype=bool)
        place = at
        shared = np.flatnonzero(following >> _ID_BITS == points)
        if len(shared):
            place = at.copy()
            for each in shared.tolist():
                place[each] = self._place_in_run(int(at[each]), int(points[each]), number)
                owned[each] = place[each] == at[each]
        before = np.where(at > 0, ring[at - 1] >> _ID_BITS, -1)
        above = np.maximum(before, np.append(-1, points[:-1]))
        last = max(int(ring[-1] >> _ID_BITS), int(points[-1]))
        self.packed = np.insert(ring, place, (points << _ID_BITS) | number)
        new_owner = np.full(len(points), number, dtype=np.int64)
        wraps = bool(owned[0] and at[0] == 0)
        return _stretches(above[owned], points[owned], new_owner[owned], last if wraps else None)

    def remove(self, consumer: Consumer) -> Stretches:
        """Drop the points of a consumer that has left the cohort; others are left. O(p log n), and one copy."""
        ring, number = self.packed, consumer.consumer_id
        points = self._points_of(consumer)
        at = np.searchsorted(ring, points << _ID_BITS)
        owned = ring[at] & _ID_MASK == number
        place = at
        if not owned.all():
            place = at.copy()
            for each in np.flatnonzero(~owned).tolist():
                while ring[place[each]] & _ID_MASK != number:
                    place[each] += 1
        before = np.where(at > 0, ring[at - 1] >> _ID_BITS, -1)
        last = int(ring[-1] >> _ID_BITS)
        self.packed = np.delete(ring, place)
        # The entry that followed has moved up by those dropped before it; other dropped ones between are skipped too.
        heirs = self.packed.take(place - np.arange(len(place)), mode="wrap") & _ID_MASK
        wraps = bool(owned[0] and at[0] == 0)
        return _stretches(before[owned], points[owned], heirs[owned], last if wraps else None)

    def _points_of(self, consumer: Consumer) -> NDArray[np.int64]:
        """Ascending, each once."""
        name, mask = utf8(consumer.name), (1 << self._bits) - 1
        return np.array(sorted({mmh3.hash(name + suffix) & mask for suffix in self._suffixes}), dtype=np.int64)

    def _place_in_run(self, at: int, point: int, number: int) -> int:
        """Where a newcomer stands among the claimants of a point: behind those of greater rank."""
        rank, ring = self._members.rank(number), self.packed
        while at < len(ring) and ring[at] >> _ID_BITS == point and self._members.rank(int(ring[at] & _ID_MASK)) > rank:
            at += 1
        return at


def _stretches(
    above: NDArray[np.int64], upto: NDArray[np.int64], new_owner: NDArray[np.int64], last: int | None
) -> Stretches:
    """``last``: what lies above it belongs to the first point and goes to the first new owner; None: it stays."""
    if last is not None:
        above, upto = np.append(above, last), np.append(upto, _LAST_HASH)
        new_owner = np.append(new_owner, new_owner[0])
    return above.astype(np.int32), upto.astype(np.int32), new_owner.astype(np.int32)
