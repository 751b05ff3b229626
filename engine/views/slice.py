"""One subscription of one state, with what the panels share: who is active for which partition, and how much flows.

The rules are those of ``engine.failover``; this module asks them once a state and keeps the answer in arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.cluster.state import ClusterState, Load, Subscription, Topic
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.failover.choose import Rule, cohort, rule_in_force, sort_consumers
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, failover_ring
from engine.hashing import murmur3_32
from engine.names import partition_index
from engine.views.model import RuleInForce

NO_LOAD = Load()


@dataclass(frozen=True, eq=False, slots=True)
class TopicSet:
    """The partitions of a subscription in order (parallel): names, partition indices (-1: none), ring hashes."""

    names: tuple[str, ...]
    indices: NDArray[np.int64]
    hashes: NDArray[np.int64]
    position: dict[str, int]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False, slots=True)
class Owners:
    """Who is active, for one topic set: ``active`` holds positions in ``order``, -1 for nobody.

    ``order`` is the dispatcher's sorted list, its first ``cohort_size`` take part. ``rules`` are the rules that decide
    at least one partition (or would, where there is no partition yet).
    """

    order: tuple[Consumer, ...]
    cohort_size: int
    active: NDArray[np.int64]
    rules: frozenset[Rule]


@dataclass(frozen=True, eq=False, slots=True)
class Slice:
    """What the panels read. Rates are in plus out, parallel to ``topics.names``."""

    state: ClusterState
    subscription: Subscription
    behaviour: ReleaseBehaviour
    topics: TopicSet
    owners: Owners
    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    unacked: NDArray[np.int64]

    @property
    def order(self) -> tuple[Consumer, ...]:
        return self.owners.order

    @property
    def ring(self) -> FailoverRing | None:
        """The ring of the cohort; it exists (muted) while modulo decides too. None without consumers."""
        if not self.owners.order:
            return None
        return failover_ring(tuple(consumer.name for consumer in self.owners.order[: self.cohort_size]))

    @property
    def cohort_size(self) -> int:
        return self.owners.cohort_size

    @property
    def rule(self) -> RuleInForce:
        """One word for the status line."""
        if not self.owners.order:
            return RuleInForce.NOBODY
        if len(self.owners.rules) > 1:
            return RuleInForce.MIXED
        return _RULES[next(iter(self.owners.rules))]

    def active_ids(self) -> NDArray[np.int64]:
        """The active consumer's id of each partition, -1 for nobody."""
        ids = np.array([consumer.consumer_id for consumer in self.owners.order] + [-1], dtype=np.int64)
        found: NDArray[np.int64] = ids[self.owners.active]
        return found

    def owner_of(self, name: str) -> Consumer | None:
        """The active consumer of one partition of this subscription; None for nobody or an unknown name."""
        at = self.topics.position.get(name)
        position = -1 if at is None else int(self.owners.active[at])
        return None if position < 0 else self.owners.order[position]


_RULES = {
    Rule.MODULO: RuleInForce.MODULO,
    Rule.RING: RuleInForce.RING,
    Rule.FIRST_CONNECTED: RuleInForce.FIRST_CONNECTED,
}


def behaviour_in(state: ClusterState) -> ReleaseBehaviour:
    """The release of a state; a label that no rule knows behaves like the current release."""
    behaviour = behaviour_of(state.release)
    return CURRENT if isinstance(behaviour, Rejection) else behaviour


def slice_of(state: ClusterState, subscription_key: str) -> Slice | None:
    """The slice of one subscription; None when the state has none of that key. O(t) for t partitions when unchanged.

    Topic hashes are remembered per topic set, choices per consumers, rule and topic set.
    """
    subscription = next((each for each in state.subscriptions if each.key == subscription_key), None)
    if subscription is None:
        return None
    behaviour = behaviour_in(state)
    topics = topic_set(tuple(state.topics[name] for name in subscription.topics if name in state.topics))
    owners = _owners(subscription.consumers, topics, state.settings.activeConsumerFailoverConsistentHashing, behaviour)
    loads = state.loads
    found = [loads.get(name, NO_LOAD) for name in topics.names]
    count = len(found)
    return Slice(
        state=state,
        subscription=subscription,
        behaviour=behaviour,
        topics=topics,
        owners=owners,
        msgs_per_sec=np.fromiter((load.msg_rate_in + load.msg_rate_out for load in found), np.float64, count),
        bytes_per_sec=np.fromiter(
            (load.throughput_in_bytes_per_sec + load.throughput_out_bytes_per_sec for load in found), np.float64, count
        ),
        unacked=np.fromiter((load.unacked_messages for load in found), np.int64, count),
    )


@lru_cache(maxsize=16)
def topic_set(topics: tuple[Topic, ...]) -> TopicSet:
    """The partitions of these topics with their hashes, computed once for equal topics."""
    names = tuple(name for topic in topics for name in topic.partition_names())
    count = len(names)
    return TopicSet(
        names=names,
        # The broker reads the index from the name, so "x-partition-3" has one although nobody made it partitioned.
        indices=np.fromiter(map(partition_index, names), np.int64, count),
        hashes=np.fromiter(map(murmur3_32, names), np.int64, count),
        position={name: at for at, name in enumerate(names)},
    )


@lru_cache(maxsize=64)
def _owners(
    consumers: tuple[Consumer, ...], topics: TopicSet, consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> Owners:
    """``choose`` for all partitions at once, by position in the sorted order."""
    partitioned = rule_in_force(0, consistent_hashing=consistent_hashing, behaviour=behaviour)
    alone = rule_in_force(-1, consistent_hashing=consistent_hashing, behaviour=behaviour)
    has_index = topics.indices >= 0
    rules = {partitioned} if has_index.any() or not len(topics) else set()
    if not has_index.all():
        rules.add(alone)
    order = sort_consumers(consumers)
    if not order:
        return Owners((), 0, np.full(len(topics), -1, dtype=np.int64), frozenset(rules))
    leading = cohort(order)
    active = np.zeros(len(topics), dtype=np.int64)
    for rule, chosen in ((partitioned, has_index), (alone, ~has_index)):
        if rule is Rule.MODULO:
            active[chosen] = topics.indices[chosen] % len(leading)
        elif rule is Rule.RING:
            ring = failover_ring(tuple(consumer.name for consumer in leading))
            active[chosen] = ring.owner_indices(topics.hashes[chosen])
        else:
            first = consumers[0].consumer_id
            active[chosen] = next(at for at, each in enumerate(order) if each.consumer_id == first)
    active.setflags(write=False)
    return Owners(order, len(leading), active, frozenset(rules))
