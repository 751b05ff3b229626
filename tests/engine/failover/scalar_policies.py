"""The policies once more, one partition at a time, as plainly as they can be said: what the bulk forms are held to."""

from __future__ import annotations

from collections.abc import Sequence

from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.bulk import ConsumerList
from engine.failover.bulk_policies import Policy
from engine.failover.choose import choose, cohort, sort_consumers
from engine.failover.model import Consumer

Topic = tuple[str, int]
"""Full name and partition index."""


def consumers_of(given: ConsumerList) -> list[Consumer]:
    """Consumers whose id is their place in the list."""
    pairs = zip(given.names, given.levels, strict=True)
    return [Consumer(place, name, level) for place, (name, level) in enumerate(pairs)]


def leading(given: ConsumerList) -> list[Consumer]:
    return list(cohort(sort_consumers(consumers_of(given))))


def places(
    policy: Policy,
    given: ConsumerList,
    topics: Sequence[Topic],
    behaviour: ReleaseBehaviour = CURRENT,
) -> list[int]:
    """The place of each topic's active consumer, -1 for nobody; ``topics`` of one subscription, by name."""
    if not leading(given):
        return [-1] * len(topics)
    on = policy is Policy.FLAG_ON
    everybody = consumers_of(given)
    chosen = [choose(everybody, name, index, consistent_hashing=on, behaviour=behaviour) for name, index in topics]
    return [choice.active.consumer_id for choice in chosen if choice is not None]
