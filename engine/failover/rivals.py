"""Why every other consumer is not the active one: its level, its place, or its points."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from engine.failover.choose import Rule
from engine.failover.explain import FailoverExplanation
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, failover_ring


class WhyNot(Enum):
    """What keeps a consumer from being the active one."""

    LOWER_PRIORITY = "lower priority level"
    OTHER_PLACE = "another place in name order"
    FARTHER_POINT = "its next point is farther on"
    LOST_POINT = "another consumer owns the point that both claim"
    NO_POINT = "other consumers own all its points"
    CAME_LATER = "connected later"


@dataclass(frozen=True, slots=True)
class Rival:
    """A consumer that is not active. ``place`` counts from 0 in the dispatcher's order.

    ``point`` is its next point on the ring and ``distance`` how many hashes it is from the topic's hash forward to it;
    both are None where the ring did not decide, or no point is its own.
    """

    consumer: Consumer
    why_not: WhyNot
    place: int
    point: int | None = None
    distance: int | None = None


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
