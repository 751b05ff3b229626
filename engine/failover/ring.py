"""The ring of a Failover cohort: built once, immutable, shared by every topic that has the same consumers.

Source: ``AbstractDispatcherSingleActiveConsumer.makeHashRing`` and ``getActiveConsumerIndex`` (PIP-392, #19502).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import mmh3
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.failover.model import Consumer
from engine.hashing import HASH_SPACE_SIZE, murmur3_32, utf8, utf16_order
from engine.ranges import HashRange

if TYPE_CHECKING:
    from engine.ring import Hit, Ring

POINTS_PER_CONSUMER: Final = 100
"""``CONSUMER_CONSISTENT_HASH_REPLICAS`` of the broker: a constant, not a setting."""

_SUFFIXES: Final = tuple(str(replica).encode() for replica in range(POINTS_PER_CONSUMER))


class Arc(Struct, frozen=True):
    """Hashes in a row that have one owner, by its index."""

    range: HashRange
    owner: int


class Claim(Struct, frozen=True):
    """One consumer's claim on one point: the text ``key`` (its name and the decimal ``replica``) hashes to it."""

    owner_index: int
    replica: int
    key: str


class Loss(Struct, frozen=True):
    """``points`` points that one consumer claims belong to another one, since their names collide."""

    loser_index: int
    winner_index: int
    points: int


class FailoverRing:
    """Point → consumer for one cohort; do not change it, it is shared.

    For the i-th name in sorted order and j = 0 .. 99 there is a point ``murmur3_32(name + str(j))``, with **no
    separator**. A point that two consumers claim belongs to the **later** one: Pulsar puts into a map and overwrites.
    A hash belongs to the smallest point that is not smaller, past the last point to the first one.

    Hashes are 0 .. ``space`` - 1; a power of two below Pulsar's keeps the low bits only, which makes points meet.

    Building is O(n log n) for n = 100 x names, a look-up O(log n).
    """

    __slots__ = ("_claim_order", "_claim_values", "_lookup", "_shares", "names", "owners", "points", "space")

    names: tuple[str, ...]
    """The cohort's names in sorted order; an owner index counts in here."""
    points: NDArray[np.int64]
    """The distinct point values, ascending; read-only."""
    owners: NDArray[np.int64]
    """The owner index of each point, parallel to ``points``; read-only."""

    def __init__(self, names: tuple[str, ...], space: int = HASH_SPACE_SIZE) -> None:
        assert names, "a ring needs at least one consumer"
        assert 0 < space <= HASH_SPACE_SIZE and space & (space - 1) == 0, f"{space} is not a power of two up to 2^31"
        values = np.concatenate([_points_of(name) for name in names]) & (space - 1)
        # Claimants of one point stay in consumer order, so the last of a run is the one that owns it.
        bits = len(values).bit_length()
        packed = np.sort((values << bits) | np.arange(len(values)))
        values, order = packed >> bits, packed & ((1 << bits) - 1)
        last_of_run = np.append(values[1:] != values[:-1], True)
        self.names = names
        self.space = space
        self.points = values[last_of_run]
        self.owners = order[last_of_run] // POINTS_PER_CONSUMER
        self._claim_values = values
        self._claim_order = order
        for array in (self.points, self.owners, values, order):
            array.setflags(write=False)
        self._lookup = self.points.data
        self._shares: tuple[float, ...] | None = None

    def __len__(self) -> int:
        """The number of distinct points."""
        return len(self.points)

    def hit(self, hash_value: int) -> Hit[int]:
        """The point a hash falls on; ``wrapped`` when it lies past the last point."""
        from engine.ring import Hit

        at = bisect_left(self._lookup, hash_value)
        wrapped = at == len(self._lookup)
        at = 0 if wrapped else at
        return Hit(self._lookup[at], int(self.owners[at]), wrapped)

    def owner_index(self, hash_value: int) -> int:
        """The index (in ``names``) of the consumer that owns a hash. O(log n)."""
        at = bisect_left(self._lookup, hash_value)
        return int(self.owners[0 if at == len(self._lookup) else at])

    def owner_indices(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """``owner_index`` of many hashes at once, in their order."""
        at = np.searchsorted(self.points, hashes, side="left")
        at[at == len(self.points)] = 0
        owners: NDArray[np.int64] = self.owners[at]
        return owners

    def stretches(self, hashes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ascending hashes cut at the points: the owner index of each stretch, and how many are in it.

        O(p log n) for p points. The last stretch is past the last point, and belongs to the first one's owner.
        """
        cuts = np.searchsorted(hashes, self.points.astype(hashes.dtype), side="right")
        return np.append(self.owners, self.owners[0]), np.diff(cuts, prepend=0, append=len(hashes))

    def owners_of_sorted(self, hashes: NDArray[np.integer]) -> NDArray[np.int64]:
        """``owner_indices`` of ascending hashes. O(p log n + n).

        >>> ring = FailoverRing(("a", "b"))
        >>> hashes = np.arange(0, 2**31, 2**24)
        >>> bool((ring.owners_of_sorted(hashes) == ring.owner_indices(hashes)).all())
        True
        """
        owners: NDArray[np.int64] = np.repeat(*self.stretches(hashes))
        return owners

    def claims(self, point: int) -> tuple[Claim, ...]:
        """The claims on a point in sorted order; the **last** one owns it. Empty where there is no point."""
        low = int(np.searchsorted(self._claim_values, point, side="left"))
        high = int(np.searchsorted(self._claim_values, point, side="right"))
        return tuple(self._claim(int(flat)) for flat in self._claim_order[low:high])

    def sorted_claims(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every claimed point, ascending, with the owner index of its claimant, ascending at one point."""
        return self._claim_values, self._claim_order // POINTS_PER_CONSUMER

    def collided_points(self) -> tuple[int, ...]:
        """The points with several claims, ascending (equal names, or one name extending another by digits)."""
        values = self._claim_values
        return tuple(np.unique(values[1:][values[1:] == values[:-1]]).tolist())

    def losses(self) -> tuple[Loss, ...]:
        """The points each consumer lost to another, sorted by loser, then winner; empty without collisions."""
        values, claimants = self._claim_values, self._claim_order // POINTS_PER_CONSUMER
        winners = self.owners[np.searchsorted(self.points, values)]
        lost = Counter(zip(claimants.tolist(), winners.tolist(), strict=True))
        return tuple(Loss(loser, to, count) for (loser, to), count in sorted(lost.items()) if loser != to)

    def point_counts(self) -> tuple[int, ...]:
        """How many points each consumer owns, by index; 100 where none was lost."""
        # The last name never loses a point to another name, so every name has a count.
        return tuple(np.bincount(self.owners).tolist())

    def shares(self) -> tuple[float, ...]:
        """The share of the hash space of each consumer, by index; the sum is 1."""
        if self._shares is None:
            widths = np.diff(self.points, prepend=self.points[-1] - self.space)
            sizes = np.bincount(self.owners, weights=widths)
            self._shares = tuple((sizes / self.space).tolist())
        return self._shares

    def arcs(self) -> tuple[Arc, ...]:
        """The hash space from 0 on as neighbouring ranges with their owner index; equal neighbours are joined.

        What lies past the last point belongs to the owner of the first point.
        """
        ends, owners = self.points, self.owners
        if ends[-1] < self.space - 1:
            ends, owners = np.append(ends, self.space - 1), np.append(owners, owners[0])
        last = np.append(owners[1:] != owners[:-1], True)
        start = 0
        arcs: list[Arc] = []
        for end, owner in zip(ends[last].tolist(), owners[last].tolist(), strict=True):
            arcs.append(Arc(HashRange(start, end), owner))
            start = end + 1
        return tuple(arcs)

    def ranges_of(self, owner_index: int) -> tuple[HashRange, ...]:
        """The hashes one consumer owns, as sorted closed ranges; empty when all its points were taken."""
        return tuple(arc.range for arc in self.arcs() if arc.owner == owner_index)

    def _claim(self, flat: int) -> Claim:
        index, replica = divmod(flat, POINTS_PER_CONSUMER)
        return Claim(index, replica, f"{self.names[index]}{replica}")


def failover_points(name: str) -> list[int]:
    """The points a consumer of this name claims, by replica 0 .. 99.

    >>> failover_points("c1")[10] == failover_points("c11")[0]
    True
    """
    data = utf8(name)
    return [murmur3_32(data + suffix) for suffix in _SUFFIXES]


def replicas_at(name: str, point: int) -> tuple[int, ...]:
    """Which points of a consumer of this name are at ``point``, by replica; nearly always one or none."""
    return tuple(np.flatnonzero(_points_of(name) & (HASH_SPACE_SIZE - 1) == point).tolist())


def scalar_ring(cohort: tuple[Consumer, ...] = (), space: int = HASH_SPACE_SIZE) -> Ring[Consumer]:
    """The ring of consumers of **one** priority level, in the dispatcher's order, that takes joins and leaves.

    Equal names rank as they joined. It answers like a ``FailoverRing`` built anew, at O(log n) per changed point, where
    Pulsar hashes all names again for every topic and every change.

    >>> ring = scalar_ring((Consumer(1, "a"), Consumer(2, "b")))
    >>> ring.add(Consumer(3, "c"))
    >>> [consumer.name for consumer in ring.heirs(0, 3)]
    ['a', 'b', 'c']
    """
    from engine.ring import Ring

    ring: Ring[Consumer] = Ring(
        lambda consumer: (_points_of(consumer.name) & (space - 1)).tolist(),
        order=lambda consumer: utf16_order(consumer.name),
        space=space,
    )
    if cohort:
        names = tuple(consumer.name for consumer in cohort)
        known = failover_ring(names) if space == HASH_SPACE_SIZE else FailoverRing(names, space)
        ring.add_sorted(cohort, *known.sorted_claims())
    return ring


@lru_cache(maxsize=16_384)
def _points_of(name: str) -> NDArray[np.int64]:
    """``failover_points`` before narrowing; cached because rings of one subscription share nearly all names."""
    data = utf8(name)
    return np.array([mmh3.hash(data + suffix, 0, False) for suffix in _SUFFIXES], dtype=np.int64)


@lru_cache(maxsize=32)
def failover_ring(names: tuple[str, ...]) -> FailoverRing:
    """The ring of these names (in sorted order); the same object for the same names, while it is remembered."""
    return FailoverRing(names)


def colliding_names(names: Iterable[str]) -> dict[str, list[str]]:
    """Name -> the names that take points from it because their key texts are equal. O(n).

    A key is the name followed by a number from 0 to 99. So ``c-1`` + ``10`` .. ``19`` is ``c-11`` + ``0`` .. ``9``, and
    the longer name sorts later and owns the points: each digit from 1 to 9 that makes another name costs ten of the
    hundred. Equal names and points that meet by chance are no collision in this sense.

    >>> colliding_names(["c-1", "c-10", "c-11", "c-19", "c-2"])
    {'c-1': ['c-11', 'c-19']}
    """
    known = dict.fromkeys(names)
    losers: dict[str, list[str]] = {}
    for name in known:
        if name and name[-1] in "123456789" and name[:-1] in known:
            losers.setdefault(name[:-1], []).append(name)
    return losers
