"""Why a consumer is the active one, and why every other consumer is not, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Annotated

import numpy as np

from engine.answer import about
from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.choose import Choice, Rule, choose
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, failover_ring, replicas_at, scalar_ring
from engine.hashing import HASH_SPACE_SIZE, Division, HashedText, hashed_by_murmur3
from engine.ring import Ring

HEIRS_SHOWN = 2


class RuleReason(Enum):
    """Why this rule is in force."""

    FLAG_IS_OFF = "activeConsumerFailoverConsistentHashing is false"
    FLAG_IS_ON = "activeConsumerFailoverConsistentHashing is true"
    RELEASE_IGNORES_FLAG = "the release does not know activeConsumerFailoverConsistentHashing"
    NOT_PARTITIONED = "a non-partitioned topic uses the ring whatever the flag says"
    NOT_PARTITIONED_BEFORE_3_0 = "before 3.0 the first connected consumer of a non-partitioned topic stays active"


@dataclass(frozen=True, slots=True)
class PointClaim:
    """A consumer's claim on the point: ``consumer.name`` + decimal ``replica`` hashes to it."""

    consumer: Annotated[Consumer, about("Who claims it.")]
    replica: Annotated[int, about("Which of its points.")]
    key: Annotated[HashedText, about("The text that hashes to the point.")]


@dataclass(frozen=True, slots=True)
class RingStep:
    """How the ring decided; a consumer can claim a point twice."""

    point: Annotated[int, about("The point that was hit.")]
    wrapped: Annotated[bool, about("Whether the search went round the end.")]
    distance: Annotated[int, about("Hashes from the topic's hash forward to the point.", 0)]
    owned_by: Annotated[tuple[PointClaim, ...], about("Claims of the active consumer.")]
    claims: Annotated[tuple[PointClaim, ...], about("All claims; the last one owns the point.")]


@dataclass(frozen=True, slots=True)
class FailoverExplanation:
    """One choice and its reasons. ``topic_hash`` is also there where the ring did not decide."""

    topic: Annotated[str, about("Full name.")]
    partition_index: Annotated[int, about("-1 for a topic without partitions.")]
    consistent_hashing: Annotated[bool, about("activeConsumerFailoverConsistentHashing.")]
    release: Annotated[str, about("The release whose rule it is.")]
    rule_reason: Annotated[RuleReason, about("Why this rule is in force.")]
    choice: Annotated[Choice, about("The choice.")]
    topic_hash: Annotated[HashedText, about("The topic's hash.")]
    ring: Annotated[RingStep | None, about("The step on the ring; null for another rule.")]
    modulo: Annotated[Division | None, about("The division; null for another rule.")]
    cohort: Annotated[tuple[Consumer, ...], about("Who took part.")]
    lower_priority: Annotated[tuple[Consumer, ...], about("Who cannot be active while one of the cohort is connected.")]
    heirs: Annotated[tuple[Consumer, ...], about("Who follows, then who after that.")]

    @property
    def rule(self) -> Rule:
        return self.choice.rule

    @property
    def active(self) -> Consumer:
        return self.choice.active

    @property
    def standbys(self) -> tuple[Consumer, ...]:
        """The cohort without the active consumer, in sorted order."""
        return self.cohort[: self.choice.index] + self.cohort[self.choice.index + 1 :]


def explain_choice(
    consumers: Sequence[Consumer],
    topic: str,
    partition_index: int,
    *,
    consistent_hashing: bool,
    behaviour: ReleaseBehaviour = CURRENT,
) -> FailoverExplanation | None:
    """``choose`` with its reasons; None when no consumer is connected. Same arguments and costs as ``choose``.

    >>> why = explain_choice([Consumer(1, "b"), Consumer(2, "a")], "persistent://t/n/x-partition-7", 7,
    ...                      consistent_hashing=False)
    >>> why.active.name, why.modulo, [heir.name for heir in why.heirs]
    ('b', Division(dividend=7, divisor=2, remainder=1), ['a'])
    """

    def choose_among(among: Sequence[Consumer]) -> Choice | None:
        return choose(among, topic, partition_index, consistent_hashing=consistent_hashing, behaviour=behaviour)

    choice = choose_among(consumers)
    if choice is None:
        return None
    topic_hash = hashed_by_murmur3(topic)
    size = choice.cohort_size
    return FailoverExplanation(
        topic=topic,
        partition_index=partition_index,
        consistent_hashing=consistent_hashing,
        release=behaviour.label,
        rule_reason=_rule_reason(choice.rule, partition_index, consistent_hashing=consistent_hashing),
        choice=choice,
        topic_hash=topic_hash,
        ring=_ring_step(choice, topic_hash.value) if choice.rule is Rule.RING else None,
        modulo=Division(partition_index, size, choice.index) if choice.rule is Rule.MODULO else None,
        cohort=choice.order[:size],
        lower_priority=choice.order[size:],
        heirs=_heirs(consumers, choice, choose_among),
    )


def _rule_reason(rule: Rule, partition_index: int, *, consistent_hashing: bool) -> RuleReason:
    if rule is Rule.FIRST_CONNECTED:
        return RuleReason.NOT_PARTITIONED_BEFORE_3_0
    if partition_index < 0:
        return RuleReason.NOT_PARTITIONED
    if rule is Rule.RING:
        return RuleReason.FLAG_IS_ON
    return RuleReason.RELEASE_IGNORES_FLAG if consistent_hashing else RuleReason.FLAG_IS_OFF


def _heirs(
    consumers: Sequence[Consumer], choice: Choice, choose_among: Callable[[Sequence[Consumer]], Choice | None]
) -> tuple[Consumer, ...]:
    """The consumers that inherit the topic if the active one leaves, then if its heir leaves too, and so on."""
    gone = [choice.active]
    if choice.topic_hash is not None:
        # Walking clockwise meets the active consumer first and every member of the cohort once.
        gone = list(_ring(choice.order[: choice.cohort_size]).heirs(choice.topic_hash, HEIRS_SHOWN + 1))
    left = [consumer for consumer in consumers if consumer not in gone]
    while left and len(gone) <= HEIRS_SHOWN:
        following = choose_among(left)
        assert following is not None, "somebody is left to be chosen"
        gone.append(following.active)
        left.remove(following.active)
    return tuple(gone[1:])


@lru_cache(maxsize=2)
def _ring(cohort: tuple[Consumer, ...]) -> Ring[Consumer]:
    """The ring of a cohort; shared by explanations, so do not change it."""
    return scalar_ring(cohort)


def _ring_step(choice: Choice, topic_hash: int) -> RingStep:
    ring = _ring(choice.order[: choice.cohort_size])
    hit = ring.successor(topic_hash)
    assert hit is not None, "the active consumer is on the ring"
    claims = tuple(
        PointClaim(consumer, replica, hashed_by_murmur3(f"{consumer.name}{replica}"))
        for consumer in ring.claimants(hit.point)
        for replica in replicas_at(consumer.name, hit.point)
    )
    return RingStep(
        point=hit.point,
        wrapped=hit.wrapped,
        distance=(hit.point - topic_hash) % HASH_SPACE_SIZE,
        owned_by=tuple(claim for claim in claims if claim.consumer == hit.owner),
        claims=claims,
    )


class WhyNot(Enum):
    """What keeps a consumer from being the active one."""

    LOWER_PRIORITY = "lower priority level"
    OTHER_PLACE = "another place in name order"
    FARTHER_POINT = "its next point is further on"
    LOST_POINT = "another consumer owns the point that both claim"
    NO_POINT = "other consumers own all its points"
    CAME_LATER = "connected later"


@dataclass(frozen=True, slots=True)
class Rival:
    """A consumer that is not active."""

    consumer: Annotated[Consumer, about("The consumer.")]
    why_not: Annotated[WhyNot, about("What keeps it from being active.")]
    place: Annotated[int, about("Its place in the dispatcher's order, from 0.", 0)]
    point: Annotated[int | None, about("Its next point on the ring; null without a ring or a point of its own.")] = None
    distance: Annotated[int | None, about("Hashes from the topic's hash forward to that point.")] = None


def rivals_of(why: FailoverExplanation) -> tuple[Rival, ...]:
    """All but the active consumer, in the dispatcher's order. O(n) for n consumers, and their points on a ring.

    >>> from engine.failover.explain import explain_choice
    >>> three = [Consumer(1, "a"), Consumer(2, "b"), Consumer(3, "c", 1)]
    >>> why = explain_choice(three, "persistent://t/n/x-partition-1", 1, consistent_hashing=False)
    >>> [(rival.consumer.name, rival.why_not.value, rival.place) for rival in rivals_of(why)]
    [('a', 'another place in name order', 0), ('c', 'lower priority level', 2)]
    """
    nearest = _nearest_points(why) if why.ring is not None else {}
    return tuple(_rival(why, place, nearest) for place in range(len(why.choice.order)) if place != why.choice.index)


def _rival(why: FailoverExplanation, place: int, nearest: dict[int, tuple[int, int]]) -> Rival:
    consumer = why.choice.order[place]
    if why.rule is Rule.FIRST_CONNECTED:
        return Rival(consumer, WhyNot.CAME_LATER, place)
    if place >= why.choice.cohort_size:
        return Rival(consumer, WhyNot.LOWER_PRIORITY, place)
    if why.ring is None:
        return Rival(consumer, WhyNot.OTHER_PLACE, place)
    point, distance = nearest.get(place, (None, None))
    if any(claim.consumer == consumer for claim in why.ring.claims):
        return Rival(consumer, WhyNot.LOST_POINT, place, point, distance)
    return Rival(consumer, WhyNot.NO_POINT if point is None else WhyNot.FARTHER_POINT, place, point, distance)


def _nearest_points(why: FailoverExplanation) -> dict[int, tuple[int, int]]:
    """Place in the cohort -> its next own point from the topic's hash on, and the distance to it."""
    ring: FailoverRing = failover_ring(tuple(consumer.name for consumer in why.cohort))
    distances = (ring.points - why.topic_hash.value) % ring.space
    forward = np.argsort(distances, kind="stable")
    places, first = np.unique(ring.owners[forward], return_index=True)
    nearest = forward[first]
    return {
        place: (point, distance)
        for place, point, distance in zip(
            places.tolist(), ring.points[nearest].tolist(), distances[nearest].tolist(), strict=True
        )
    }
