"""What to know about the producers of a topic before believing a number: one sentence each, with a stable code."""

from __future__ import annotations

from typing import Final

from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.routing.key_moves import client_disagreements
from engine.routing.producers.model import PartitionedProducer
from engine.routing.routers import PartialRoundRobinRouter
from engine.text import counted
from engine.views.failover.model import Notice

DOWN: Final = "producers-down"
BEHIND: Final = "producers-behind"
CLIENTS_DISAGREE: Final = "producers-clients-disagree"
KEYS_IGNORED: Final = "producers-keys-ignored"
BY_POSITION: Final = "producers-by-position"
NOT_LAZY: Final = "producers-not-lazy"
NO_QUEUE_LIMIT: Final = "producers-no-queue-limit"


def producer_notices(state: ClusterState, topic: ProducerTopic) -> tuple[Notice, ...]:
    """All notices in a fixed order. O(producers + known keys)."""
    ready = [each for each in topic.producers.producers if each.state == "Ready"]
    found = (
        _down(topic),
        _behind(topic, ready),
        _clients(topic, ready),
        _keys_ignored(topic, ready),
        _by_position(state, ready),
        _not_lazy(ready),
        _no_queue_limit(ready),
    )
    return tuple(notice for notice in found if notice is not None)


def _down(topic: ProducerTopic) -> Notice | None:
    failing = sorted(topic.producers.topic.failing)
    if not failing:
        return None
    some = ", ".join(map(str, failing[:5])) + (", ..." if len(failing) > 5 else "")
    word = "partition is" if len(failing) == 1 else "partitions are"
    return Notice(DOWN, f"{len(failing)} {word} not served ({some}): messages for open ones wait, others fail")


def _behind(topic: ProducerTopic, ready: list[PartitionedProducer]) -> Notice | None:
    behind = [each for each in ready if each.partitions < topic.partitions]
    if not behind:
        return None
    due = max(0, min(each.next_update_ms for each in behind) - topic.now_ms)
    return Notice(
        BEHIND,
        f"{len(behind):,} of {len(ready):,} producers do not know of all {topic.partitions:,} partitions yet;"
        f" the next looks in {due:,} ms",
    )


def _clients(topic: ProducerTopic, ready: list[PartitionedProducer]) -> Notice | None:
    """Bug pattern R: one key, two partitions, because clients hash with different functions."""
    hashings = {
        each.router.hashing: each.settings.client.name
        for each in ready
        if each.router is not None and not isinstance(each.router, PartialRoundRobinRouter)
    }
    if len(hashings) < 2:
        return None
    (left, left_client), (right, right_client) = list(hashings.items())[:2]
    text = f"{left_client} hashes keys with {left}, {right_client} with {right}: one key, two partitions"
    found = client_disagreements(topic.keys, topic.partitions, left, right)
    if topic.keys and not isinstance(found, Rejection):
        text += f", so with {len(found.disagreeing):,} of {len(topic.keys):,} known keys"
    return Notice(CLIENTS_DISAGREE, text)


def _keys_ignored(topic: ProducerTopic, ready: list[PartitionedProducer]) -> Notice | None:
    partial = sum(isinstance(each.router, PartialRoundRobinRouter) for each in ready)
    if not partial or not topic.keys:
        return None
    send = counted(partial, "producer", "sends", "send")
    return Notice(KEYS_IGNORED, f"partial round robin looks at no key: {send} one key to several partitions")


def _by_position(state: ClusterState, ready: list[PartitionedProducer]) -> Notice | None:
    if len(ready) < 2:
        return None
    lazy = sum(each.settings.starts_lazily for each in ready)
    unnamed = sum(not each.settings.client.supports_partial_producer for each in ready)
    if not state.settings.aggregatePublisherStatsByProducerName:
        if not lazy:
            return None
        text = "statistics are merged by position, which mixes lazy producers up; where the setting"
        return Notice(BY_POSITION, f"{text} aggregatePublisherStatsByProducerName is on they are merged by name")
    if not unnamed:
        return None
    text = f"{counted(unnamed, 'producer')} of a client without the feature flag: merged by position all the same"
    return Notice(BY_POSITION, text)


def _not_lazy(ready: list[PartitionedProducer]) -> Notice | None:
    count = sum(each.settings.lazy_start_partitioned_producers and not each.settings.starts_lazily for each in ready)
    if not count:
        return None
    text = f"{counted(count, 'producer')} asked for a lazy start; with an access mode other than Shared all starts"
    return Notice(NOT_LAZY, text)


def _no_queue_limit(ready: list[PartitionedProducer]) -> Notice | None:
    count = sum(
        each.settings.max_pending_messages_across_partitions > 0 and each.max_pending_messages == 0 for each in ready
    )
    if not count:
        return None
    text = "maxPendingMessagesAcrossPartitions below the number of partitions is divided to 0, which means no limit"
    return Notice(NO_QUEUE_LIMIT, f"{text}: {counted(count, 'producer')}")
