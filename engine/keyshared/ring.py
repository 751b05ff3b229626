"""Consistent auto-split: the ring with points, in its current form and the three before it.

Source: ``ConsistentHashingStickyKeyConsumerSelector`` (PIP-379, #23441, #23447; earlier #6791, #22053, #23327) and its
``ConsumerNameIndexTracker``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.errors import Rejection
from engine.hashing import murmur3_32, utf16_order
from engine.keyshared.model import CLASSIC_RING_SLOTS, LEGACY_RING_SLOTS, RING_SLOTS, Consumer, RangesById, SlotSpace
from engine.ranges import HashRange, join_neighbours
from engine.ring import OwnerPolicy, Ring


class RingForm(Enum):
    """The forms of the ring, oldest first; the values are the names the golden vectors give them.

    ``NAME_I`` (2.7): point key is name + number, all claimants of a point share it by ``hash mod how many``.
    ``NAME_NUL_I`` (#22053): a NUL between name and number. ``INDEXED_REPLACE`` (#23327): namesakes are distinguished by
    a name index; a newcomer takes a point away for good. ``CURRENT`` (#23441, #23447): the first claimant keeps it.
    """

    NAME_I = "name_i"
    NAME_NUL_I = "name_nul_i"
    INDEXED_REPLACE = "indexed_replace"
    CURRENT = "current"

    @property
    def shares_points(self) -> bool:
        """Whether all claimants of a point are served from it, by the hash."""
        return self in (RingForm.NAME_I, RingForm.NAME_NUL_I)

    @property
    def tracks_names(self) -> bool:
        """Whether namesakes have points of their own."""
        return not self.shares_points


def point_key(form: RingForm, name: str, name_index: int, replica: int) -> str:
    """The text whose hash is one point of a consumer; ``name_index`` plays no part in the two oldest forms.

    >>> point_key(RingForm.NAME_I, "c-1", 0, 10) == point_key(RingForm.NAME_I, "c-11", 0, 0)
    True
    >>> point_key(RingForm.CURRENT, "c", 2, 7)
    'c\\x002\\x007'
    """
    if form is RingForm.NAME_I:
        return f"{name}{replica}"
    if form is RingForm.NAME_NUL_I:
        return f"{name}\0{replica}"
    return f"{name}\0{name_index}\0{replica}"


@lru_cache(maxsize=4096)
def point_slots(form: RingForm, name: str, name_index: int, points: int, slots: SlotSpace) -> tuple[int, ...]:
    """The slots of a consumer's points by replica 0 .. ``points`` - 1; two may be equal. O(points)."""
    return tuple(slots.slot(murmur3_32(point_key(form, name, name_index, replica))) for replica in range(points))


def next_name_index(used: Iterable[int]) -> int:
    """The smallest number not in use among connected consumers of one name.

    >>> next_name_index([]), next_name_index([2, 0])
    (0, 1)
    """
    taken = set(used)
    return next(number for number in range(len(taken) + 1) if number not in taken)


DEFAULT_POINTS = 100
"""``subscriptionKeySharedConsistentHashingReplicaPoints``."""

MAX_POINTS = 1_000_000
"""More points per consumer are refused: each is hashed, and all 65535 slots are claimed long before."""

MAX_RING_POINTS = 2_000_000
"""The most points of all consumers together; callers that build a ring check ``refuse_ring`` first."""


def refuse_ring(consumers: int, points: int) -> Rejection | None:
    """The refusal of a ring of this size; None if it can be modelled."""
    if consumers * points <= MAX_RING_POINTS:
        return None
    message = f"{consumers} consumers of {points} points: a ring of more than {MAX_RING_POINTS} is not modelled"
    return Rejection("TooManyPoints", message, field="points")


class RingMember(Struct, frozen=True):
    """A consumer on the ring. ``name_index`` distinguishes namesakes; it becomes free when its owner leaves.

    ``lost`` are points that newcomers took away for good (only in the form ``INDEXED_REPLACE``).
    """

    consumer: Consumer
    name_index: int
    lost: frozenset[int] = frozenset()


# Not slotted: cached properties are stored on the instance.
class RingSelector(Struct, frozen=True, dict=True):
    """The ring as a value, determined by its members in the order they joined.

    ``points`` per consumer. A slot goes to the smallest point >= it, past the last to the first one. In the current
    form **the first claimant of a point keeps it**, the others wait in order of arrival.

    >>> ring = ring_selector(points=3)
    >>> for number in (1, 2, 3): ring = ring.join(Consumer(number, f"consumer{number}"))
    >>> [str(piece) for piece in ring.ranges()[1]]
    ['[14359,18366]', '[29991,39817]', '[52980,60442]']
    """

    form: RingForm
    points: int
    slots: SlotSpace
    members: tuple[RingMember, ...] = ()

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        return tuple(member.consumer for member in self.members)

    def join(self, consumer: Consumer) -> RingSelector:
        """Claim a newcomer's points. It succeeds even when every point belongs to others and it owns nothing."""
        known = {member.consumer.consumer_id for member in self.members}
        assert consumer.consumer_id not in known, f"consumer {consumer.consumer_id} is on the ring already"
        newcomer = RingMember(consumer, self._free_name_index(consumer.name))
        members = self.members
        if self.form is RingForm.INDEXED_REPLACE:
            taken = frozenset(self._points_of(newcomer))
            members = tuple(self._without_points(member, taken) for member in members)
        return replace(self, members=(*members, newcomer))

    def leave(self, consumer_id: int) -> RingSelector:
        """Give a consumer's points back to the claimants that wait for them; unchanged if it is not connected."""
        left = tuple(member for member in self.members if member.consumer.consumer_id != consumer_id)
        return self if len(left) == len(self.members) else replace(self, members=left)

    def owner(self, slot: int) -> int | None:
        """O(log n). In the two oldest forms the claimants of a point share it by ``slot mod how many``."""
        at = self.ring.owner(slot)
        return self.members[at].consumer.consumer_id if at is not None else None

    def heirs(self, slot: int, count: int) -> tuple[Consumer, ...]:
        """The owner of a slot, then the consumers that inherit it one after another: at most ``count``."""
        return tuple(self.members[at].consumer for at in self.ring.heirs(slot, count))

    def ranges(self) -> RangesById:
        """Ranges as the release reports them.

        Current: they tile the slots, neighbours of one consumer joined, but not across the end. Before: from 0, never
        joined. The two oldest forms give every claimant of a point its whole range and nothing past the last point.
        """
        if self.form.shares_points:
            return self._ranges_of_all_claimants()
        if self.form is RingForm.CURRENT:
            return self.owned_ranges()
        # The last hash is not shown: this form counts to the end of today's classic ring.
        return self._tiles(self.slots.high - 1)

    def owned_ranges(self) -> RangesById:
        """The ranges a look-up gives each consumer, neighbours joined; they tile the slots.

        Only where a slot's owner depends on its point alone: not in the two oldest forms, which share points.
        """
        assert not self.form.shares_points, "consumers that share a point have no range of their own"
        return {owner: join_neighbours(pieces) for owner, pieces in self._tiles(self.slots.high).items()}

    def claimants(self, point: int) -> tuple[RingMember, ...]:
        """The claimants of a point by precedence; empty where there is no point."""
        return tuple(self.members[at] for at in self.ring.claimants(point))

    def point_of(self, slot: int) -> int | None:
        """The point a slot falls on; smaller than the slot when the search went past the end. None: empty ring."""
        hit = self.ring.successor(slot)
        return hit.point if hit is not None else None

    @cached_property
    def ring(self) -> Ring[int]:
        """All points with their claimants, as positions in ``members``; cached, so do not change it. O(n log n)."""
        policy = OwnerPolicy.CLAIMANTS_SHARE if self.form.shares_points else OwnerPolicy.FIRST_CLAIMANT_KEEPS
        ring: Ring[int] = Ring(lambda at: self.points_of(self.members[at]), policy=policy, space=self.slots.high + 1)
        ring.add_sorted(self._ranked, *self._sorted_claims)
        return ring

    def first_claims(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct points, ascending, and the first claimant of each, as a place in ``members``."""
        points, ranks = self._sorted_claims
        first = np.flatnonzero(np.append(True, points[1:] != points[:-1])[: len(points)])
        return points[first], np.array(self._ranked, dtype=np.int64)[ranks[first]]

    @cached_property
    def _ranked(self) -> tuple[int, ...]:
        """The places in ``members`` as they rank among the claimants of one point."""
        ranked = range(len(self.members))
        if self.form.shares_points:
            return tuple(sorted(ranked, key=lambda at: utf16_order(self.members[at].consumer.name)))
        return tuple(ranked)

    @cached_property
    def _sorted_claims(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every claimed point with the rank of its claimant, sorted by point, then rank."""
        claims = [self.points_of(self.members[at]) for at in self._ranked]
        points = np.fromiter(chain.from_iterable(claims), dtype=np.int64)
        ranks = np.repeat(np.arange(len(claims)), [len(claimed) for claimed in claims])
        order = np.argsort(points, kind="stable")
        return points[order], ranks[order]

    def points_of(self, member: RingMember) -> tuple[int, ...]:
        """The distinct points a member claims and has not lost."""
        return tuple(point for point in dict.fromkeys(self._points_of(member)) if point not in member.lost)

    def _points_of(self, member: RingMember) -> tuple[int, ...]:
        index = member.name_index if self.form.tracks_names else 0
        return point_slots(self.form, member.consumer.name, index, self.points, self.slots)

    def _free_name_index(self, name: str) -> int:
        # Pulsar counts the points a consumer holds, so a consumer that has lost all of them frees its name index.
        return next_name_index(
            member.name_index
            for member in self.members
            if member.consumer.name == name and (not member.lost or self.points_of(member))
        )

    def _without_points(self, member: RingMember, taken: frozenset[int]) -> RingMember:
        lost = taken.intersection(self._points_of(member))
        return replace(member, lost=member.lost | lost) if lost else member

    def _tiles(self, last: int) -> dict[int, tuple[HashRange, ...]]:
        """One range per point from the lowest slot on, and what is left up to ``last`` for the first point's owner."""
        ids = [member.consumer.consumer_id for member in self.members]
        points, first = self.first_claims()
        ends, owners = points.tolist(), first.tolist()
        if ends and ends[-1] < last:
            ends.append(last)
            owners.append(owners[0])
        tiles: dict[int, list[HashRange]] = {}
        start = self.slots.low
        for end, owner in zip(ends, owners, strict=True):
            tiles.setdefault(ids[owner], []).append(HashRange(start, end))
            start = end + 1
        return {owner: tuple(pieces) for owner, pieces in tiles.items()}

    def _ranges_of_all_claimants(self) -> RangesById:
        ids = [member.consumer.consumer_id for member in self.members]
        ranges: dict[int, list[HashRange]] = {}
        # Nothing past the last point: the slots end before the first one.
        for piece, claimants in self.ring.stretches(0, -1):
            for at in claimants:
                ranges.setdefault(ids[at], []).append(piece)
        return {owner: tuple(pieces) for owner, pieces in ranges.items()}


def ring_selector(
    form: RingForm = RingForm.CURRENT,
    *,
    points: int = DEFAULT_POINTS,
    classic: bool = False,
    slots: SlotSpace | None = None,
) -> RingSelector | Rejection:
    """An empty ring. ``classic``: the current form inside the classic dispatcher, over 31-bit slots.

    ``slots`` narrows the space, so that points meet; it replaces what the form has. ``points`` below 1 is refused, and
    more than ``MAX_POINTS``.
    """
    if not 1 <= points <= MAX_POINTS:
        reason = "a ring needs 1 point or more" if points < 1 else f"more than {MAX_POINTS} are not modelled"
        message = f"subscriptionKeySharedConsistentHashingReplicaPoints is {points}; {reason}"
        return Rejection("InvalidPoints", message, field="points")
    if slots is None:
        current = CLASSIC_RING_SLOTS if classic else RING_SLOTS
        slots = current if form is RingForm.CURRENT else LEGACY_RING_SLOTS
    return RingSelector(form, points, slots)
