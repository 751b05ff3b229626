"""The policies once more, one partition at a time, as plainly as they can be said: what the bulk forms are held to."""

from __future__ import annotations

from collections import Counter
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
    before: Sequence[int] | None = None,
) -> list[int]:
    """The place of each topic's active consumer, -1 for nobody; ``topics`` of one subscription, by name."""
    members = leading(given)
    if not members:
        return [-1] * len(topics)
    if policy in (Policy.FLAG_OFF, Policy.FLAG_ON):
        on = policy is Policy.FLAG_ON
        everybody = consumers_of(given)
        chosen = [choose(everybody, name, index, consistent_hashing=on, behaviour=behaviour) for name, index in topics]
        return [choice.active.consumer_id for choice in chosen if choice is not None]
    assert before is not None
    return _fewest_moves(members, before)


def _fewest_moves(members: Sequence[Consumer], before: Sequence[int]) -> list[int]:
    ids = [member.consumer_id for member in members]
    have = Counter(place for place in before if place in ids)
    richest = sorted(ids, key=lambda place: -have[place])
    least, extra = divmod(len(before), len(ids))
    quota = {place: least + (rank < extra) for rank, place in enumerate(richest)}
    held: Counter[int] = Counter()
    after = []
    for place in before:
        stays = place in ids and held[place] < quota[place]
        held[place] += stays
        after.append(place if stays else -1)
    lacking = [place for place in ids for _ in range(quota[place] - held[place])]
    return [place if place >= 0 else lacking.pop(0) for place in after]
