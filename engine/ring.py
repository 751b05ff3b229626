"""Sorted points with **all** their claimants, kept under joins and leaves.

The classic bug of consistent-hash code is a point that two members claim: the map keeps one of them, and when that one
leaves the other never gets its point back. Here a point remembers everybody who claims it, and
a policy says who owns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from sortedcontainers import SortedDict

from engine.hashing import HASH_SPACE_SIZE
from engine.ranges import HashRange, covers_exactly

C = TypeVar("C")
"""A member of the ring; hashable, and unlike every other member."""


class OwnerPolicy(Enum):
    """Who owns a point that several claim, in the ring's order of its members."""

    LATER_CLAIMANT_OWNS = "the later claimant owns"
    FIRST_CLAIMANT_KEEPS = "the first claimant keeps"


@dataclass(frozen=True, slots=True)
class Hit(Generic[C]):
    """Where a hash falls: the point, its owner, and whether the search went past the end of the space to get there."""

    point: int
    owner: C
    wrapped: bool


@dataclass(frozen=True, slots=True)
class Arc(Generic[C]):
    """Hashes in a row that have one owner."""

    range: HashRange
    owner: C


class Ring(Generic[C]):
    """A hash ring under incremental change; the owner of a hash is the owner of the smallest point >= it, with wrap.

    ``points_of`` gives a member's points (the hash function is in there, so a test can narrow it), each in
    0 .. ``space`` - 1. ``order`` ranks members among claimants of one point; without it they rank as they joined.

    A join or leave costs O(p log n) for the member's p points among n, a look-up O(log n).

    >>> ring = Ring(lambda name: {"a": (2, 5), "b": (5, 7)}[name], space=8)
    >>> ring.add("a"); ring.add("b")
    >>> [ring.successor(h).owner for h in range(8)]
    ['a', 'a', 'a', 'b', 'b', 'b', 'b', 'b']
    >>> ring.remove("b"); ring.successor(4), ring.successor(6)
    (Hit(point=5, owner='a', wrapped=False), Hit(point=2, owner='a', wrapped=True))
    """

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
        self._members: dict[C, tuple[int, ...]] = {}
        self._points: SortedDict[int, list[C]] = SortedDict()

    def __len__(self) -> int:
        """The number of distinct points."""
        return len(self._points)

    def __contains__(self, member: object) -> bool:
        return member in self._members

    @property
    def members(self) -> tuple[C, ...]:
        """The members in their rank order."""
        return tuple(sorted(self._members, key=self._order) if self._order else self._members)

    def add(self, member: C) -> None:
        """Let a member claim its points. A member that is there already is an error of the caller."""
        assert member not in self._members, f"{member!r} is on the ring already"
        points = tuple(dict.fromkeys(self._points_of(member)))
        assert all(0 <= point < self._space for point in points), f"points of {member!r} outside 0..{self._space - 1}"
        self._members[member] = points
        for point in points:
            claimants = self._points.setdefault(point, [])
            claimants.append(member)
            if self._order:
                # Those that rank alike keep the order in which they joined.
                claimants.sort(key=self._order)

    def remove(self, member: C) -> None:
        """Give a member's points back; one that others claim too passes to the next of them. Unknown: KeyError."""
        for point in self._members[member]:
            claimants = self._points[point]
            claimants.remove(member)
            if not claimants:
                del self._points[point]
        del self._members[member]

    def claimants(self, point: int) -> tuple[C, ...]:
        """Everybody who claims a point, in rank order; empty when it is no point."""
        return tuple(self._points.get(point, ()))

    def successor(self, hash_value: int) -> Hit[C] | None:
        """The point a hash falls on (an equal point counts); None on an empty ring. O(log n)."""
        return next(self._hits_from(hash_value), None)

    def heirs(self, hash_value: int, count: int) -> tuple[C, ...]:
        """Who owns a hash now, then who would if each owner before had left: at most ``count`` distinct members.

        >>> ring = Ring(lambda name: {"a": (2, 5), "b": (5, 7), "c": (6,)}[name], space=8)
        >>> for name in "abc": ring.add(name)
        >>> ring.heirs(4, 3)
        ('b', 'a', 'c')
        """
        found: dict[C, None] = {}
        for hit in self._hits_from(hash_value):
            for claimant in self._preferred(self._points[hit.point]):
                if len(found) < count:
                    found.setdefault(claimant)
            if len(found) == min(count, len(self._members)):
                break
        return tuple(found)

    def arcs(self) -> tuple[Arc[C], ...]:
        """The space from 0 on as neighbouring ranges with owner, equal neighbours joined; empty on an empty ring.

        What lies past the last point belongs to the owner of the first one.
        """
        found: list[Arc[C]] = []
        start = 0
        for point, owner in self._ends():
            if found and found[-1].owner == owner:
                found[-1] = Arc(HashRange(found[-1].range.start, point), owner)
            else:
                found.append(Arc(HashRange(start, point), owner))
            start = point + 1
        return tuple(found)

    def _ends(self) -> Iterator[tuple[int, C]]:
        for point, claimants in self._points.items():
            yield point, self._owner(claimants)
        if self._points and self._points.peekitem(-1)[0] != self._space - 1:
            yield self._space - 1, self._owner(self._points.peekitem(0)[1])

    def _hits_from(self, hash_value: int) -> Iterator[Hit[C]]:
        for wrapped, points in (
            (False, self._points.irange(hash_value)),
            (True, self._points.irange(None, hash_value - 1)),
        ):
            for point in points:
                yield Hit(point, self._owner(self._points[point]), wrapped)

    def _preferred(self, claimants: list[C]) -> Iterable[C]:
        return reversed(claimants) if self._policy is OwnerPolicy.LATER_CLAIMANT_OWNS else claimants

    def _owner(self, claimants: list[C]) -> C:
        return claimants[-1 if self._policy is OwnerPolicy.LATER_CLAIMANT_OWNS else 0]

    def _check(self) -> None:
        """All invariants in one place; the whole state is shown when one fails."""
        try:
            self._points._check()
            claims = {(point, member) for point, claimants in self._points.items() for member in claimants}
            assert claims == {(point, member) for member, points in self._members.items() for point in points}
            assert sum(map(len, self._points.values())) == len(claims), "a member stands twice at a point"
            ranked = self.members
            for point, claimants in self._points.items():
                assert 0 <= point < self._space, f"point {point} is outside the space"
                assert claimants, f"point {point} has no claimant"
                in_order = [member for member in ranked if member in claimants]
                assert claimants == in_order, f"claimants of {point} are out of order"
            arcs = self.arcs()
            assert not arcs or covers_exactly((arc.range for arc in arcs), HashRange(0, self._space - 1)), (
                "arcs leave gaps"
            )
            for arc in arcs:
                for hash_value in (arc.range.start, arc.range.end):
                    hit = self.successor(hash_value)
                    assert hit is not None and hit.owner == arc.owner, f"arc and look-up differ at {hash_value}"
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self._describe()}") from failure

    def _describe(self) -> str:
        lines = [f"policy {self._policy.value}, space {self._space}, {len(self._members)} members, {len(self)} points"]
        lines += [f"  member {member!r}: points {points}" for member, points in self._members.items()]
        lines += [f"  point {point}: {claimants}" for point, claimants in self._points.items()]
        return "\n".join(lines)
