"""How evenly a selector shares its slots, and what causes an uneven share: chance, names, join order, history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.model import Selector
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.ring import RingSelector, point_key

CHANCE_LEVEL: Final = 1e-4
"""A share less probable than this does not count as chance."""

CROWDED_BELOW: Final = 0.9
"""Below this ratio of distinct points to claimed points, join order decides the shares."""


class Cause(Enum):
    """What explains a share beyond chance."""

    NAMES = "names make points meet"
    JOIN_ORDER = "points run out, and who joined first keeps them"
    HISTORY = "ranges were halved and given back in this order"
    DECLARED = "clients declared their ranges"


@dataclass(frozen=True, slots=True)
class ConsumerShare:
    """The share of one consumer.

    ``slots`` of all slots are its own. ``chance`` is the probability that random points give a share as uneven; 1
    where there is no ring. ``lost_points`` are claimed by it and served by others. ``cause`` is None where chance
    explains the share.
    """

    consumer_id: int
    slots: int
    share: float
    chance: float
    lost_points: int
    cause: Cause | None


@dataclass(frozen=True, slots=True)
class Fairness:
    """The shares in join order; ``claimed_points`` and ``occupied_points`` are 0 where there is no ring."""

    consumers: tuple[ConsumerShare, ...]
    fair_share: float
    claimed_points: int = 0
    occupied_points: int = 0

    @property
    def crowded(self) -> bool:
        """Whether so many points coincide that join order decides the shares."""
        return self.occupied_points < CROWDED_BELOW * self.claimed_points


@lru_cache(maxsize=4096)
def chance_of_share(share: float, consumers: int, points: int) -> float:
    """The probability of a share at least as far out on its side, doubled, when all points fall at random.

    One of n consumers with p points each has a beta-distributed share with parameters p and (n - 1) p. O(p).

    >>> round(chance_of_share(0.25, 2, 1), 9), round(chance_of_share(0.5, 2, 100), 9)
    (0.5, 1.0)
    """
    if consumers == 1:
        return 1.0
    if not 0 < share < 1:
        return 0.0
    throws = consumers * points - 1
    # More than ``share`` means: of the other points, thrown independently, fewer than p fall below it.
    more = math.fsum(
        math.exp(
            math.lgamma(throws + 1)
            - math.lgamma(below + 1)
            - math.lgamma(throws - below + 1)
            + below * math.log(share)
            + (throws - below) * math.log1p(-share)
        )
        for below in range(points)
    )
    return max(0.0, min(1.0, 2 * min(more, 1 - more)))


def fairness_of(selector: Selector, counts: Mapping[int, int] | None = None) -> Fairness:
    """Every consumer's share of the slots with its cause; O(n log n). ``counts``: its slots, where they are known."""
    consumers = selector.consumers
    if not consumers:
        return Fairness((), 0.0)
    if counts is None:
        counts = {owner: sum(piece.count for piece in owned) for owner, owned in slots_by_consumer(selector).items()}
    fair = 1 / len(consumers)
    claimed = occupied = 0
    lost = dict.fromkeys(counts, 0)
    meets: frozenset[int] = frozenset()
    if isinstance(selector, RingSelector):
        claimed, occupied = selector.points * len(consumers), len(selector.first_claims()[0])
        lost = _lost_points(selector)
        meets = _same_point_keys(selector)
    crowded = occupied < CROWDED_BELOW * claimed
    shares: list[ConsumerShare] = []
    for consumer in consumers:
        number = consumer.consumer_id
        share = counts[number] / selector.slots.size
        if isinstance(selector, RingSelector):
            chance = chance_of_share(share, len(consumers), selector.points)
            beyond = chance < CHANCE_LEVEL
        else:
            # Nothing is random here; a difference of one slot is rounding.
            chance, beyond = 1.0, abs(share - fair) * selector.slots.size > 1
        cause = _cause(selector, named=number in meets, crowded=crowded, lost=lost[number]) if beyond else None
        shares.append(ConsumerShare(number, counts[number], share, chance, lost[number], cause))
    return Fairness(tuple(shares), fair, claimed, occupied)


def _cause(selector: Selector, *, named: bool, crowded: bool, lost: int) -> Cause | None:
    if isinstance(selector, AutoSplitSelector):
        return Cause.HISTORY
    if not isinstance(selector, RingSelector):
        return Cause.DECLARED
    if named:
        return Cause.NAMES
    return Cause.JOIN_ORDER if crowded or lost else None


def _lost_points(selector: RingSelector) -> dict[int, int]:
    """How many of its points each consumer does not serve alone, including those newcomers took permanently."""
    members = selector.members
    lost = {member.consumer.consumer_id: len(member.lost) for member in members}
    if not selector.form.shares_points:
        served = Counter(selector.first_claims()[1].tolist())
        for at, member in enumerate(members):
            lost[member.consumer.consumer_id] += len(selector.points_of(member)) - served[at]
        return lost
    for _, claimants in selector.ring.claims():
        for at in claimants if len(claimants) > 1 else ():
            lost[members[at].consumer.consumer_id] += 1
    return lost


def _same_point_keys(selector: RingSelector) -> frozenset[int]:
    """Consumers that share a point key with another one: their names cause the collision, not their hashes."""
    if selector.form.tracks_names:
        return frozenset()  # a name, a NUL, its index, a NUL and a number: from the end that reads only one way
    first: dict[str, int] = {}
    ids: set[int] = set()
    for member in selector.members:
        number = member.consumer.consumer_id
        for replica in range(selector.points):
            other = first.setdefault(point_key(selector.form, member.consumer.name, member.name_index, replica), number)
            if other != number:
                ids.update((other, number))
    return frozenset(ids)
