"""The words of the screen "producers": routers, outcomes, and the result of a step."""

from __future__ import annotations

from typing import Final

from engine.cluster.producers.state import ProducerTopic, Tally
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.routing.growth import client_disagreements
from engine.routing.producers.model import (
    Closed,
    Created,
    Disconnected,
    Fenced,
    PartitionedProducer,
    ProducerEvent,
    RateSet,
    Reached,
    Reconnected,
    SendRate,
    SendResult,
    Sent,
    Updated,
    UpdateResult,
)
from engine.routing.producers.rates import Burst
from engine.routing.routers import BatchRoundRobinRouter, PartialRoundRobinRouter, Router, SinglePartitionRouter
from engine.text import counted
from engine.views.failover.model import Notice
from engine.views.producers.rates import rates_view


def router_text(router: Router | None) -> str:
    """A router in two words.

    >>> router_text(PartialRoundRobinRouter(3)), router_text(SinglePartitionRouter(0))
    ('partial(3)', 'single')
    """
    if isinstance(router, PartialRoundRobinRouter):
        return f"partial({router.limit})"
    if isinstance(router, SinglePartitionRouter):
        return "single"
    if isinstance(router, BatchRoundRobinRouter) or (router is not None and router.batching):
        return "round robin, batched"
    return "round robin"


def result_text(event: ProducerEvent | None) -> str:
    """What happened to a producer, in a few words."""
    match event:
        case None:
            return ""
        case Created():
            return (
                event.error.message if event.error is not None else f"created, {_partitions(len(event.opened))} opened"
            )
        case Sent():
            return sent_text(event.result)
        case RateSet():
            return rate_text(event.rate) + (f", {_partitions(len(event.opened))} opened" if event.opened else "")
        case Reached():
            return f"reaches {_partitions(len(event.opened))} more"
        case Updated():
            return _updated(event.partitions, event.result)
        case Disconnected():
            return f"lost its connection to partition {event.partition}"
        case Reconnected():
            if event.error is not None:
                return f"kept out of partition {event.partition}: {event.error.message}"
            waited = f", {event.published_msgs} that waited published" if event.published_msgs else ""
            return f"back at partition {event.partition}{waited}"
        case Fenced():
            return "fenced"
        case Closed():
            return f"closed, {event.lost_msgs} waiting messages lost" if event.lost_msgs else "closed"


def rate_text(rate: SendRate) -> str:
    """What a producer sends.

    >>> rate_text(SendRate(200.0, 1_000, keys=12)), rate_text(SendRate(0.0))
    ('sends 200 msg/s of 1,000 bytes with 12 keys', 'sends nothing')
    """
    if not rate.msgs_per_sec:
        return "sends nothing"
    keys = "" if not rate.keys else f" with {counted(rate.keys, 'key')}"
    keys = keys if rate.key is None else f" with the key {rate.key}"
    return f"sends {rate.msgs_per_sec:,.6g} msg/s of {rate.size_bytes:,} bytes{keys}"


def burst_text(burst: Burst) -> str:
    """What a partition sees of a producer that goes round by batches.

    >>> burst_text(Burst(10, 50, 9.0, 6, 6))
    '10 ms at a partition, 9 messages, then none there for 50 ms'
    >>> burst_text(Burst(10, 50, 0.005, 6, 3))
    'another partition every 10 ms, where messages are rarer: at even intervals they reach 3 of 6 partitions'
    """
    if burst.msgs < 1:
        reached = f"at even intervals they reach {burst.reached:,} of {_partitions(burst.partitions)}"
        return f"another partition every {burst.stay_ms:,.4g} ms, where messages are rarer: {reached}"
    stay, away = (f"{ms:,.4g} ms" for ms in (burst.stay_ms, burst.away_ms))
    messages = "1 message" if burst.msgs == 1 else f"{burst.msgs:,.4g} messages"
    return f"{stay} at a partition, {messages}, then none there for {away}"


def sent_text(result: SendResult) -> str:
    """The outcome of one message."""
    at = f"partition {result.partition}"
    if result.error is not None:
        why = f" ({result.cause.message})" if result.cause is not None else ""
        return f"failed at {at}: {result.error.message}{why}"
    if result.outcome == "queued":
        return f"waits at {at}"
    return f"opened {at}, sent" if result.opened is not None else f"sent to {at}"


def _updated(partitions: int, result: UpdateResult) -> str:
    if result.error is not None:
        return f"stays at {_partitions(partitions)}: {result.error.message}"
    opened = f", {_partitions(len(result.opened))} opened" if result.opened else ""
    return f"knows {_partitions(partitions)}{opened}"


def event_text(event: ProducerEvent) -> str:
    """One line of what happened: the producer's number, the key of a message, and what became of it."""
    key = f' "{event.key}"' if isinstance(event, Sent) and event.key is not None else ""
    return f"#{event.number}{key}: {result_text(event)}"


def tally_text(tally: Tally) -> str:
    """The result of a step besides partitions opened and connections lost, "" for nothing.

    >>> tally_text(Tally(sent=5, failed=2, error="Not connected to broker"))
    '5 sent, 2 failed: Not connected to broker'
    """
    parts = [
        (tally.created, "created"),
        (tally.sent, "sent"),
        (tally.queued, "waiting"),
        (tally.grown, "found the new partitions"),
        (tally.reconnected, "back"),
        (tally.fenced, "fenced"),
        (tally.lost_msgs, "waiting messages lost"),
        (tally.refused, "refused"),
        (tally.failed, "failed"),
        (tally.held_back, "held back"),
    ]
    text = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    return f"{text}: {tally.error}" if tally.error else text


def name_of(producer: PartitionedProducer) -> str:
    """The name a producer shows, "" for one that never had a partition."""
    return producer.producer_name or producer.settings.producer_name or ""


def _partitions(count: int) -> str:
    return f"{count:,} partition{'' if count == 1 else 's'}"


DOWN: Final = "producers-down"
BEHIND: Final = "producers-behind"
CLIENTS_DISAGREE: Final = "producers-clients-disagree"
KEYS_IGNORED: Final = "producers-keys-ignored"
BY_POSITION: Final = "producers-by-position"
NOT_LAZY: Final = "producers-not-lazy"
NO_QUEUE_LIMIT: Final = "producers-no-queue-limit"
FULL: Final = "producers-full"
HOT: Final = "producers-hot-partition"
WITHOUT: Final = "producers-idle-partitions"
FAILING: Final = "producers-rate-fails"
HOT_FROM: Final = 2.0
"""A partition is hot from this multiple of the average rate on."""


def producer_notices(state: ClusterState, topic: ProducerTopic) -> tuple[Notice, ...]:
    """All notices in a fixed order. O(producers + known keys)."""
    ready = [producer for producer in topic.producers.producers if producer.state == "Ready"]
    notices = (
        _down(topic),
        _full(topic),
        *_of_rates(topic),
        _behind(topic, ready),
        _clients(topic, ready),
        _keys_ignored(topic, ready),
        _by_position(state, ready),
        _not_lazy(ready),
        _no_queue_limit(ready),
    )
    return tuple(notice for notice in notices if notice is not None)


def _down(topic: ProducerTopic) -> Notice | None:
    failing = sorted(topic.producers.topic.failing)
    if not failing:
        return None
    some = ", ".join(map(str, failing[:5])) + (", ..." if len(failing) > 5 else "")
    word = "partition is" if len(failing) == 1 else "partitions are"
    return Notice(DOWN, f"{len(failing)} {word} not served ({some}): messages for open ones wait, others fail")


def full_partitions(topic: ProducerTopic) -> int:
    """How many partitions refuse another producer because of ``maxProducersPerTopic``."""
    brokers = topic.producers.topic
    return sum(map(brokers.is_full, range(brokers.partitions))) if brokers.limit.most else 0


def _full(topic: ProducerTopic) -> Notice | None:
    full = full_partitions(topic)
    if not full:
        return None
    limit = topic.producers.topic.limit
    return Notice(
        FULL,
        f"{full:,} of {counted(topic.partitions, 'partition')} have as many producers as maxProducersPerTopic allows"
        f" ({limit.most:,}, {limit.source}) and refuse another; more partitions help producers that do not open all of"
        " them",
    )


def _of_rates(topic: ProducerTopic) -> tuple[Notice, ...]:
    rates = rates_view(topic)
    if rates is None:
        return ()
    notices: list[Notice] = []
    if rates.hottest >= 0 and rates.busiest_over_average >= HOT_FROM:
        total = float(rates.msgs_per_sec.sum())
        text = (
            f"partition {rates.hottest} gets {rates.msgs_per_sec[rates.hottest]:,.6g} of {total:,.6g} msg/s,"
            f" {rates.busiest_over_average:.1f} times the average; #{rates.fastest} sends"
            f" {rates.fastest_msgs_per_sec:,.6g} of them"
        )
        notices.append(Notice(HOT, text))
    if rates.hottest >= 0 and rates.without:
        get = "gets" if rates.without == 1 else "get"
        text = f"{rates.without:,} of {_partitions(topic.partitions)} {get} no messages from these producers"
        notices.append(Notice(WITHOUT, text))
    if rates.failing_msgs_per_sec:
        text = f"{rates.failing_msgs_per_sec:,.6g} msg/s fail: they go to partitions that refused their producer"
        notices.append(Notice(FAILING, text))
    return tuple(notices)


def _behind(topic: ProducerTopic, ready: list[PartitionedProducer]) -> Notice | None:
    behind = [producer for producer in ready if producer.partitions < topic.partitions]
    if not behind:
        return None
    due = max(0, min(producer.next_update_ms for producer in behind) - topic.now_ms)
    return Notice(
        BEHIND,
        f"{len(behind):,} of {len(ready):,} producers do not know of all {topic.partitions:,} partitions yet;"
        f" the next looks in {due:,} ms",
    )


def _clients(topic: ProducerTopic, ready: list[PartitionedProducer]) -> Notice | None:
    """Bug pattern R: one key, two partitions, because clients hash with different functions."""
    routings = {
        producer.router.keys.key_hash: producer.router.keys
        for producer in ready
        if producer.router is not None and not isinstance(producer.router, PartialRoundRobinRouter)
    }
    if len(routings) < 2:
        return None
    left, right = list(routings.values())[:2]
    text = (
        f"{left.family.name} hashes keys with {left.hashing}, {right.family.name} with {right.hashing}:"
        " one key, two partitions"
    )
    disagreements = client_disagreements(topic.keys, topic.partitions, left, right)
    if topic.keys and not isinstance(disagreements, Rejection):
        text += f", so with {len(disagreements.disagreeing):,} of {len(topic.keys):,} known keys"
    return Notice(CLIENTS_DISAGREE, text)


def _keys_ignored(topic: ProducerTopic, ready: list[PartitionedProducer]) -> Notice | None:
    partial = sum(isinstance(producer.router, PartialRoundRobinRouter) for producer in ready)
    if not partial or not topic.keys:
        return None
    send = counted(partial, "producer", "sends", "send")
    return Notice(KEYS_IGNORED, f"partial round robin looks at no key: {send} one key to several partitions")


def _by_position(state: ClusterState, ready: list[PartitionedProducer]) -> Notice | None:
    if len(ready) < 2:
        return None
    lazy = sum(producer.settings.starts_lazily for producer in ready)
    unnamed = sum(not producer.settings.client.supports_partial_producer for producer in ready)
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
    count = sum(
        producer.settings.lazy_start_partitioned_producers and not producer.settings.starts_lazily for producer in ready
    )
    if not count:
        return None
    text = f"{counted(count, 'producer')} asked for a lazy start; with an access mode other than Shared all starts"
    return Notice(NOT_LAZY, text)


def _no_queue_limit(ready: list[PartitionedProducer]) -> Notice | None:
    count = sum(
        producer.settings.max_pending_messages_across_partitions > 0 and producer.max_pending_messages == 0
        for producer in ready
    )
    if not count:
        return None
    text = "maxPendingMessagesAcrossPartitions below the number of partitions is divided to 0, which means no limit"
    return Notice(NO_QUEUE_LIMIT, f"{text}: {counted(count, 'producer')}")
