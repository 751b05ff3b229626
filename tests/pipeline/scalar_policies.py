"""The policies once more, one partition at a time, as plainly as they can be said: what the bulk forms are held to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.choose import choose, cohort, sort_consumers
from engine.failover.model import Consumer
from engine.hashing import murmur3_32
from pipeline.lists import ConsumerList
from pipeline.policies import Policy

Topic = tuple[str, int]
"""Full name and partition index."""
_MASK = 2**64 - 1


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
    if policy is Policy.RING_1000_POINTS:
        return [_first(_ring(members, 1000), murmur3_32(name)) for name, _ in topics]
    if policy is Policy.RENDEZVOUS:
        return [_heaviest(members, murmur3_32(name)) for name, _ in topics]
    if policy is Policy.BOUNDED_LOAD:
        return _bounded(members, [name for name, _ in topics])
    assert before is not None
    return _fewest_moves(members, before)


def _ring(members: Sequence[Consumer], points: int) -> list[tuple[int, int]]:
    owners: dict[int, int] = {}
    for member in members:
        for number in range(points):
            owners[murmur3_32(f"{member.name}{number}")] = member.consumer_id
    return sorted(owners.items())


def _first(ring: Sequence[tuple[int, int]], topic_hash: int) -> int:
    return next((owner for point, owner in ring if point >= topic_hash), ring[0][1])


def _heaviest(members: Sequence[Consumer], topic_hash: int) -> int:
    best, highest = -1, -1
    seen: Counter[str] = Counter()
    for member in members:
        number = seen[member.name]
        seen[member.name] += 1
        salted = f"{member.name}\x00{number}" if number else member.name
        weight = _mixed(topic_hash << 32 | murmur3_32(salted))
        if weight > highest:
            best, highest = member.consumer_id, weight
    return best


def _mixed(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _bounded(members: Sequence[Consumer], names: Sequence[str]) -> list[int]:
    ring = _ring(members, 100)
    owning = {owner for _, owner in ring}
    most = -(-len(names) * 5 // (4 * len(owning)))
    held: Counter[int] = Counter()
    found = []
    for name in names:
        topic_hash = murmur3_32(name)
        start = next((at for at, (point, _) in enumerate(ring) if point >= topic_hash), 0)
        walk = [owner for _, owner in ring[start:] + ring[:start]]
        owner = next(owner for owner in walk if held[owner] < most)
        held[owner] += 1
        found.append(owner)
    return found


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
