"""The partitioned producer on simulated time: creation, sending, growth of the topic, lost connections, closing.

Source: ``PartitionedProducerImpl`` (PIP-79: #10279, #12401). The rules are the Java client's; the Python and C++
clients differ here in names, in the feature flag and in routing.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from engine.errors import Rejection
from engine.routing.clients import Message
from engine.routing.producers.model import (
    CreateStep,
    HandlerState,
    OpenReason,
    PartitionedProducer,
    PartitionProducer,
    SendResult,
    UpdateResult,
)
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES, ProducerSettings, queue_limit
from engine.routing.producers.topic import PartitionedTopic, connect, connect_all, disconnect
from engine.routing.routers import PartialRoundRobinRouter, Router, checked_partition, route

NOT_CONNECTED: Final = Rejection("NotConnectedException", "Not connected to broker")
QUEUE_FULL: Final = Rejection("ProducerQueueIsFullError", "Producer send queue is full", field="maxPendingMessages")
SHRUNK: Final = Rejection("NotSupportedException", "not support shrink topic partitions", field="partitions")

_BY_STATE: Final[dict[HandlerState, Rejection]] = {
    "Closed": Rejection("AlreadyClosedException", "Producer already closed"),
    "Fenced": Rejection("ProducerFencedException", "Producer was fenced"),
    "Terminated": Rejection("TopicTerminatedException", "Topic was terminated"),
    "Failed": NOT_CONNECTED,
    "Uninitialized": NOT_CONNECTED,
}


def create(
    settings: ProducerSettings,
    router: Router | None,
    topic: PartitionedTopic,
    now_ms: int,
    *,
    number: int = 0,
    chosen: int | None = None,
) -> CreateStep:
    """Start a producer on all partitions or, lazily, on the one the router picks for an empty message.

    That question costs the router a turn before the first real message. The first partition is started alone; where
    the client knows a common name, its name is that of all others. If the first one fails, no other is tried; if a
    later one fails, all are tried first, and the error is that of the lowest. ``chosen`` is the answer of a router of
    one's own (``router`` None). ``settings`` must be checked. O(p) for an eager start of p partitions, times what
    ``connect`` costs.

    >>> from engine.routing.routers import round_robin
    >>> lazily = ProducerSettings(lazy_start_partitioned_producers=True)
    >>> step = create(lazily, round_robin(4, batching=False), PartitionedTopic(((),) * 6), now_ms=0)
    >>> step.opened, step.producer.producer_name, send(step.producer, step.topic, None, 0)[2].partition
    ((4,), 'standalone-0-0', 5)
    """
    limit = queue_limit(settings, topic.partitions)
    producer = PartitionedProducer(number, settings, router, topic.partitions, max_pending_messages=limit)
    reason = OpenReason.LAZY_START if settings.starts_lazily else OpenReason.EAGER_START
    tried: Iterable[int] = range(topic.partitions)
    if settings.starts_lazily:
        producer, partition = _routed(producer, Message(), now_ms, chosen)
        refused = checked_partition(partition, topic.partitions)
        if isinstance(refused, Rejection):
            return CreateStep(replace(producer, state="Failed"), topic, (), (), refused)
        tried = (partition,)
    first, *rest = tried
    producer, topic, error = open_partitions(producer, topic, (first,), reason)
    if error is None:
        producer, topic, error = open_partitions(producer, topic, rest, reason)
        tried = (first, *rest)
    else:
        tried = (first,)
    opened = tuple(producer.started)
    if error is not None:
        topic = disconnect(topic, number, opened)
        producer = replace(producer, state="Failed", started=MappingProxyType({}))
        return CreateStep(producer, topic, tried, opened, error)
    due_ms = now_ms + settings.auto_update_partitions_interval_seconds * 1000
    return CreateStep(replace(producer, state="Ready", next_update_ms=due_ms), topic, tried, opened)


def send(
    producer: PartitionedProducer,
    topic: PartitionedTopic,
    key: str | None,
    now_ms: int,
    *,
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES,
    chosen: int | None = None,
) -> tuple[PartitionedProducer, PartitionedTopic, SendResult]:
    """One message: route it, open its partition where lazy start has not yet, then take it, or say why not.

    A partition that cannot be opened fails this message only; the next one tries again. The opening comes **before**
    the look at the state: a message sent through a closed lazy producer can still open a partition, and then fails. A
    message to a partition whose connection is lost waits, up to the queue's limit. ``chosen`` as in ``create``.
    """
    message = Message(key, size_bytes)
    producer, partition = _routed(producer, message, now_ms, chosen)
    refused = checked_partition(partition, producer.partitions)
    if isinstance(refused, Rejection):
        return producer, topic, SendResult(partition, "failed", error=refused)
    opened = None
    if producer.settings.lazy_start_partitioned_producers and partition not in producer.started:
        opened = _reason(producer, message)
        producer, topic, cause = open_partitions(producer, topic, (partition,), opened)
        if cause is not None:
            return producer, topic, SendResult(partition, "failed", error=NOT_CONNECTED, cause=cause)
    if producer.state != "Ready":
        return producer, topic, SendResult(partition, "failed", opened, error=_BY_STATE[producer.state])
    before = producer.started[partition]
    if not before.connected and 0 < producer.max_pending_messages <= before.pending_msgs:
        return producer, topic, SendResult(partition, "failed", opened, error=QUEUE_FULL)
    outcome = SendResult(partition, "sent" if before.connected else "queued", opened, before.next_sequence_id)
    return producer.with_started([before.taken(size_bytes)]), topic, outcome


def update_partitions(
    producer: PartitionedProducer, topic: PartitionedTopic, now_ms: int
) -> tuple[PartitionedProducer, PartitionedTopic, UpdateResult]:
    """The producer's look at the number of partitions, every ``autoUpdatePartitionsIntervalSeconds``.

    Lazy: only the count changes. Else the new partitions are opened first, and the count changes when all are; on a
    failure the new ones are given up, the old ones stay, and the next look tries again.
    """
    if producer.state != "Ready" or not producer.settings.auto_update_partitions:
        return producer, topic, UpdateResult("off")
    if now_ms < producer.next_update_ms:
        return producer, topic, UpdateResult("not due")
    due_ms = now_ms + producer.settings.auto_update_partitions_interval_seconds * 1000
    producer = replace(producer, next_update_ms=due_ms)
    if topic.partitions == producer.partitions:
        return producer, topic, UpdateResult("unchanged")
    if topic.partitions < producer.partitions:
        return producer, topic, UpdateResult("refused", error=SHRUNK)
    if producer.settings.starts_lazily:
        return replace(producer, partitions=topic.partitions), topic, UpdateResult("grown")
    new = range(producer.partitions, topic.partitions)
    after, topic, error = open_partitions(producer, topic, new, OpenReason.PARTITION_ADDED)
    if error is not None:
        return producer, disconnect(topic, producer.number, new), UpdateResult("failed", error=error)
    return replace(after, partitions=topic.partitions), topic, UpdateResult("grown", tuple(new))


def reconnect(
    producer: PartitionedProducer, topic: PartitionedTopic, partition: int
) -> tuple[PartitionedProducer, PartitionedTopic, Rejection | None]:
    """Connect one lost partition again under the name it had; what waited is published.

    None: done, or nothing to do; else why the broker keeps it out, and the partition stays lost.
    """
    mine = producer.started.get(partition)
    if mine is None or mine.connected or producer.state != "Ready":
        return producer, topic, None
    topic, given = connect(topic, partition, producer.number, mine.producer_name, producer.settings.access_mode)
    if isinstance(given, Rejection):
        return producer, topic, given
    return producer.with_started([mine.reconnected()]), topic, None


def close(producer: PartitionedProducer, topic: PartitionedTopic) -> tuple[PartitionedProducer, PartitionedTopic, int]:
    """Close the started partitions; last, how many waiting messages are lost. Closing again does nothing."""
    if producer.state == "Closed":
        return producer, topic, 0
    lost = sum(part.pending_msgs for part in producer.started.values())
    ended = [replace(part, connected=False, pending_msgs=0, pending_bytes=0) for part in producer.started.values()]
    topic = disconnect(topic, producer.number, producer.started)
    return replace(producer.with_started(ended), state="Closed"), topic, lost


def fenced(producer: PartitionedProducer) -> PartitionedProducer:
    """After another producer took the topic with ``ExclusiveWithFencing``."""
    return replace(producer.cut(producer.started), state="Fenced")


def terminated(producer: PartitionedProducer, topic: PartitionedTopic) -> tuple[PartitionedProducer, PartitionedTopic]:
    """After the topic was terminated: nobody can send to it any more."""
    topic = disconnect(topic, producer.number, producer.started)
    return replace(producer.cut(producer.started), state="Terminated"), topic


def _routed(
    producer: PartitionedProducer, message: Message, now_ms: int, chosen: int | None
) -> tuple[PartitionedProducer, int]:
    if producer.router is None:
        assert chosen is not None, "a router of one's own answers itself"
        return producer, chosen
    router, partition = route(producer.router, message, producer.partitions, now_ms)
    return replace(producer, router=router), partition


def _reason(producer: PartitionedProducer, message: Message) -> OpenReason:
    router = producer.router
    if router is None or isinstance(router, PartialRoundRobinRouter) or router.keys.undecided(message.key):
        return OpenReason.ROUTER_CHOICE
    return OpenReason.KEY


def open_partitions(
    producer: PartitionedProducer, topic: PartitionedTopic, partitions: Iterable[int], reason: OpenReason
) -> tuple[PartitionedProducer, PartitionedTopic, Rejection | None]:
    """Open each of these partitions, whatever becomes of the others; the error is that of the first that fails."""
    name = producer.settings.producer_name
    if producer.settings.client.common_producer_name and producer.started:
        name = producer.producer_name
    mode = producer.settings.access_mode
    topic, answers = connect_all(topic, partitions, producer.number, name, mode)
    got = [PartitionProducer(at, given, reason) for at, given in answers.items() if isinstance(given, str)]
    errors = (answer for answer in answers.values() if isinstance(answer, Rejection))
    return producer.with_started(got), topic, next(errors, None)
