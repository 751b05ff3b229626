"""A hash ring as Pulsar's brokers keep it, points in order with all their claimants, under joins and leaves one by one.

The classic bug of consistent-hash code is a point that two members claim: the map keeps one of them, and when that one
leaves the other never gets its point back. Here a point remembers all members that claim it, and a policy says which
of them owns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, groupby
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedList

from engine.hashing import HASH_SPACE_SIZE
from engine.ranges import HashRange

_NUMBER_BITS: Final = 24
_NUMBER_MASK: Final = (1 << _NUMBER_BITS) - 1

C = TypeVar("C")
"""A member of the ring; hashable, and unlike every other member."""


class OwnerPolicy(Enum):
    """Who owns a point that several members claim, in the ring's order of its members."""

    LATER_CLAIMANT_OWNS = "the later claimant owns"
    FIRST_CLAIMANT_KEEPS = "the first claimant keeps"
    CLAIMANTS_SHARE = "the claimant at the hash mod their number gets the hash"


@dataclass(frozen=True, slots=True)
class Hit(Generic[C]):
    """Where a hash falls: the point, its owner, and whether the search went past the end of the space to get there."""

    point: int
    owner: C
    wrapped: bool


class Ring(Generic[C]):
    """Point → claimants in rank order; a hash belongs to the smallest point >= it, past the last point to the first.

    ``points_of`` gives a member's points, each in 0 .. ``space`` - 1; a point it gives twice counts once. ``order``
    ranks members among the claimants of one point; without it they rank as they joined.

    A join or leave costs O(p log n) for the member's p points among n, a look-up O(log n).

    >>> ring = Ring(lambda name: {"a": (2, 5), "b": (5, 7)}[name], space=8)
    >>> ring.add("a"); ring.add("b")
    >>> [ring.successor(h).owner for h in range(8)]
    ['a', 'a', 'a', 'b', 'b', 'b', 'b', 'b']
    >>> ring.remove("b"); ring.successor(4), ring.successor(6)
    (Hit(point=5, owner='a', wrapped=False), Hit(point=2, owner='a', wrapped=True))
    """

    __slots__ = ("_claims", "_member", "_number", "_order", "_points_of", "_policy", "_space")

    def __init__(
        self,
        points_of: Callable[[C], Iterable[int]],
        *,
        order: Callable[[C], Any] | None = None,
        policy: OwnerPolicy = OwnerPolicy.LATER_CLAIMANT_OWNS,
        space: int = HASH_SPACE_SIZE,
    ) -> None:
        self._points_of = points_of
        self._order = order
        self._policy = policy
        self._space = space
        self._number: dict[C, int] = {}
        self._member: dict[int, C] = {}
        # Every claim as one number, point and number of the member: a map of 100,000 points takes 20 times as long.
        self._claims: SortedList[int] = SortedList()

    def __len__(self) -> int:
        """The number of distinct points. O(n)."""
        return sum(1 for _ in groupby(self._claims, _point))

    def __contains__(self, member: object) -> bool:
        return member in self._number

    @property
    def members(self) -> tuple[C, ...]:
        """The members in their rank order."""
        return tuple(sorted(self._number, key=self._order) if self._order else self._number)

    def add(self, member: C) -> None:
        """Let a member claim its points. A member that is there already is an error of the caller."""
        assert member not in self._number, f"{member!r} is on the ring already"
        points = set(self._points_of(member))
        assert all(0 <= point < self._space for point in points), f"points of {member!r} outside 0..{self._space - 1}"
        number = next(reversed(self._member), -1) + 1
        assert number < 1 << _NUMBER_BITS, "so many joins are not numbered"
        self._number[member] = number
        self._member[number] = member
        self._claims.update((point << _NUMBER_BITS) | number for point in points)

    def add_sorted(self, members: Sequence[C], points: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """``add`` for the first members, all at once, when their claims are sorted already. O(n).

        ``points`` and ``places`` (in ``members``): (n,) each, the claims by point, then by place.
        """
        assert not self._number, "only an empty ring takes many members at once"
        self._number = {member: place for place, member in enumerate(members)}
        self._member = dict(enumerate(members))
        claims = (points << _NUMBER_BITS) | places
        if len(claims):
            claims = claims[np.append(True, claims[1:] != claims[:-1])]
        self._claims.update(claims.tolist())

    def remove(self, member: C) -> None:
        """Give a member's points back; one that others claim too passes to the next of them. Unknown: KeyError."""
        number = self._number.pop(member)
        del self._member[number]
        for point in set(self._points_of(member)):
            self._claims.remove((point << _NUMBER_BITS) | number)

    def claims(self) -> Iterator[tuple[int, tuple[C, ...]]]:
        """Every point with its claimants in rank order, points ascending. O(n)."""
        # A plain loop: groupby takes twice as long.
        here, claimants = -1, list[C]()
        for claim in self._claims:
            point, member = claim >> _NUMBER_BITS, self._member[claim & _NUMBER_MASK]
            if point == here:
                claimants.append(member)
                continue
            if claimants:
                yield here, self._in_order(claimants)
            here, claimants = point, [member]
        if claimants:
            yield here, self._in_order(claimants)

    def claimants(self, point: int) -> tuple[C, ...]:
        """The members that claim a point, in rank order; empty when it is not a point."""
        return self._ranked(self._claims.irange(point << _NUMBER_BITS, (point << _NUMBER_BITS) | _NUMBER_MASK))

    def owner(self, hash_value: int) -> C | None:
        """The owner of the point a hash falls on; None on an empty ring. O(log n)."""
        claim = self._first_claim(hash_value)
        if claim is None:
            return None
        if self._policy is OwnerPolicy.FIRST_CLAIMANT_KEEPS and self._order is None:
            return self._member[claim & _NUMBER_MASK]
        claimants = self.claimants(claim >> _NUMBER_BITS)
        return claimants[self._owning(hash_value, len(claimants))]

    def successor(self, hash_value: int) -> Hit[C] | None:
        """The point a hash falls on (an equal point counts) and its owner; None on an empty ring. O(log n)."""
        claim = self._first_claim(hash_value)
        if claim is None:
            return None
        point = claim >> _NUMBER_BITS
        claimants = self.claimants(point)
        return Hit(point, claimants[self._owning(hash_value, len(claimants))], point < hash_value)

    def heirs(self, hash_value: int, count: int) -> tuple[C, ...]:
        """Who owns a hash now, then who would if each owner before had left: at most ``count`` distinct members.

        The walk goes clockwise, once round. O(points passed).

        >>> ring = Ring(lambda name: {"a": (2, 5), "b": (5, 7), "c": (6,)}[name], space=8)
        >>> for name in "abc": ring.add(name)
        >>> ring.heirs(4, 3)
        ('b', 'a', 'c')
        """
        heirs: dict[C, None] = {}
        first = hash_value << _NUMBER_BITS
        clockwise = chain(self._claims.irange(first), self._claims.irange(None, first, (True, False)))
        for _, claims in groupby(clockwise, _point):
            left = [claimant for claimant in self._ranked(claims) if claimant not in heirs]
            while left and len(heirs) < count:
                heirs[left.pop(self._owning(hash_value, len(left)))] = None
            if len(heirs) == min(count, len(self._number)):
                break
        return tuple(heirs)

    def stretches(self, first: int, last: int) -> Iterator[tuple[HashRange, tuple[C, ...]]]:
        """The hashes from ``first`` on cut after each point, each piece with the claimants of the point it falls on.

        Hashes up to ``last`` that are past the last point fall on the first one. O(n).

        >>> ring = Ring(lambda name: {"a": (2,), "b": (5,)}[name], space=8)
        >>> ring.add("a"); ring.add("b")
        >>> [f"{piece} {claimants[0]}" for piece, claimants in ring.stretches(0, 7)]
        ['[0,2] a', '[3,5] b', '[6,7] a']
        """
        start, of_first = first, None
        for point, claimants in self.claims():
            of_first = of_first or claimants
            yield HashRange(start, point), claimants
            start = point + 1
        if of_first and start <= last:
            yield HashRange(start, last), of_first

    def _first_claim(self, hash_value: int) -> int | None:
        claim: int | None = next(self._claims.irange(hash_value << _NUMBER_BITS), None)
        return claim if claim is not None or not self._claims else self._claims[0]

    def _ranked(self, claims: Iterable[int]) -> tuple[C, ...]:
        """The members of the claims of one point, which ascend, so that they come as they joined."""
        return self._in_order([self._member[claim & _NUMBER_MASK] for claim in claims])

    def _in_order(self, members: list[C]) -> tuple[C, ...]:
        if self._order and len(members) > 1:
            members.sort(key=self._order)
        return tuple(members)

    def _owning(self, hash_value: int, claimants: int) -> int:
        """The place of the owner among the claimants of a point."""
        if self._policy is OwnerPolicy.LATER_CLAIMANT_OWNS:
            return claimants - 1
        return hash_value % claimants if self._policy is OwnerPolicy.CLAIMANTS_SHARE else 0


def _point(claim: int) -> int:
    return claim >> _NUMBER_BITS
