"""Many producers on one partitioned topic, step by step: who has opened which partition, and why.

Every producer has a client of its own, and a client keeps one connection to each broker it needs. Partition i belongs
to broker i mod ``brokers``: as even as a load manager can make it. A step is a pure function of the state.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs
from msgspec.structs import replace

from engine.errors import Rejection
from engine.producer_limit import ProducerLimit
from engine.routing.producers import producer as one
from engine.routing.producers import rates
from engine.routing.producers import topic as topics
from engine.routing.producers.model import (
    Closed,
    Created,
    CreateStep,
    Disconnected,
    Fenced,
    OpenReason,
    PartitionedProducer,
    ProducerEvent,
    ProducersState,
    ProducersStep,
    RateSet,
    Reached,
    Reconnected,
    SendRate,
    Sent,
    Updated,
)
from engine.routing.producers.settings import (
    DEFAULT_MSG_SIZE_BYTES,
    ProducerSettings,
    Routing,
    checked_limit,
    checked_settings,
    new_router,
)
from engine.routing.producers.topic import PartitionedTopic, partitioned_topic

PARTITION_DOWN = "the partition is not served"
"""What brokers say about a failed partition where the caller names no error."""


def producers_state(partitions: int, *, brokers: int = 1, seed: int = 0, now_ms: int = 0) -> ProducersState | Rejection:
    """A topic without producers. ``partitions`` and ``brokers`` are at least 1."""
    topic = partitioned_topic(partitions)
    if isinstance(topic, Rejection):
        return topic
    refused = _below("brokers", brokers, 1)
    return refused or ProducersState(topic, (), now_ms, seed, brokers)


def add_producers(
    state: ProducersState,
    count: int,
    settings: ProducerSettings,
    routing: Routing,
    *,
    allow_limit_above: bool = False,
) -> ProducersStep | Rejection:
    """Create producers one after another; one that Pulsar refuses is reported in its event and not kept.

    A name that several would share gets their numbers behind it, ``name-3``: brokers refuse namesakes.

    >>> state = producers_state(4)
    >>> step = add_producers(state, 1, ProducerSettings(), Routing())
    >>> step.events[0].opened, counts_of(step.state).broker_producers
    ((0, 1, 2, 3), 4)
    """
    checked = _below("count", count, 0) or checked_settings(settings)
    if isinstance(checked, Rejection):
        return checked
    if routing.kind == "PartialRoundRobin":
        limit = checked_limit(routing.num_partitions_limit, state.topic.partitions, allow_above=allow_limit_above)
        if isinstance(limit, Rejection):
            return limit
    events: list[ProducerEvent] = []
    for _ in range(count):
        number = len(state.producers)
        name = settings.producer_name
        mine = structs.replace(settings, producer_name=f"{name}-{number}" if name and count > 1 else name)
        again = f"/{state.refused}" if state.refused else ""
        draw = f"{state.seed}/{number}{again}"
        router = new_router(routing, settings.client, state.topic.partitions, draw, state.now_ms)
        if isinstance(router, Rejection):
            return router
        step = one.create(mine, router, state.topic, state.now_ms, number=number)
        events.append(_created(step))
        if step.error is None:
            state = replace(state, producers=(*state.producers, step.producer))
        else:
            state = replace(state, refused=state.refused + 1)
        state = replace(state, topic=step.topic)
        if settings.access_mode == "ExclusiveWithFencing":
            state, thrown_out = _fence_whom_the_topic_lost(state)
            events.extend(thrown_out)
    return ProducersStep(state, tuple(events))


def send_by_one(
    state: ProducersState,
    number: int,
    key: str | None = None,
    *,
    messages: int = 1,
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES,
) -> ProducersStep | Rejection:
    """Send messages with this key, or without one, through one producer, all at the moment of the state."""
    refused = _unknown(state, number) or _below("messages", messages, 0) or _below("sizeBytes", size_bytes, 0)
    return refused or _sent(state, [number] * messages, key, size_bytes)


def send_by_all(
    state: ProducersState, key: str | None = None, *, messages: int = 1, size_bytes: int = DEFAULT_MSG_SIZE_BYTES
) -> ProducersStep | Rejection:
    """Send messages through every producer that is not closed, round by round."""
    refused = _below("messages", messages, 0) or _below("sizeBytes", size_bytes, 0)
    numbers = [producer.number for producer in state.producers if producer.state != "Closed"]
    return refused or _sent(state, numbers * messages, key, size_bytes)


def set_rate(state: ProducersState, number: int | None, rate: SendRate) -> ProducersStep | Rejection:
    """Let one producer, or (None) all that are not closed, send at this rate from now on."""
    refused = None if number is None else _unknown(state, number)
    if refused is not None:
        return refused
    numbers = [number] if number is not None else [one.number for one in state.producers if one.state != "Closed"]
    events: list[ProducerEvent] = []
    for at in numbers:
        state = _with_producer(state, state.topic, replace(state.producers[at], rate=rate))
        state, opened = _reached(state, at)
        events.append(RateSet(at, rate, opened))
    return ProducersStep(state, tuple(events))


def reach(step: ProducersStep) -> ProducersStep:
    """The step, and what producers with a rate open after it: partitions that were added, or are no longer full."""
    state, events = step.state, list(step.events)
    for producer in state.producers:
        if producer.rate is not None:
            state, opened = _reached(state, producer.number)
            events += [Reached(producer.number, opened)] if opened else []
    return ProducersStep(state, tuple(events))


def _reached(state: ProducersState, number: int) -> tuple[ProducersState, tuple[int, ...]]:
    before = state.producers[number].started
    state = rates.reached(state, number)
    return state, tuple(at for at in state.producers[number].started if at not in before)


def advance(state: ProducersState, now_ms: int) -> ProducersStep | Rejection:
    """Let time pass; producers whose look at the number of partitions is due take it, in order, each once."""
    if now_ms < state.now_ms:
        message = f"time goes forward only: it is {state.now_ms} ms, not {now_ms}"
        return Rejection("IllegalArgumentException", message, field="nowMs")
    producers, topic = list(state.producers), state.topic
    events: list[ProducerEvent] = []
    for at, before in enumerate(producers):
        producers[at], topic, result = one.update_partitions(before, topic, now_ms)
        if result.outcome not in {"off", "not due", "unchanged"}:
            events.append(Updated(at, producers[at].partitions, result))
    return ProducersStep(replace(state, topic=topic, producers=tuple(producers), now_ms=now_ms), tuple(events))


def grow_partitions(state: ProducersState, partitions: int, *, error: str | None = None) -> ProducersStep | Rejection:
    """Raise the number of partitions; producers find out with their next look, see ``advance``.

    With ``error``, brokers refuse producers on the new partitions until each has recovered (#23451).
    """
    topic = topics.grown(state.topic, partitions, error=error)
    return topic if isinstance(topic, Rejection) else ProducersStep(replace(state, topic=topic))


def limit_producers(state: ProducersState, limit: ProducerLimit) -> ProducersStep:
    """Change how many producers a partition takes; those that are connected stay, as on a broker."""
    return ProducersStep(replace(state, topic=replace(state.topic, limit=limit)))


def fail_partition(state: ProducersState, partition: int, error: str = PARTITION_DOWN) -> ProducersStep | Rejection:
    """Take one partition down: its producers lose their connection, and nobody can connect to it."""
    topic = topics.failed(state.topic, partition, error)
    if isinstance(topic, Rejection):
        return topic
    lost = [connected.owner for connected in state.topic.connected[partition]]
    producers = list(state.producers)
    for number in lost:
        producers[number] = producers[number].cut((partition,))
    events = tuple(Disconnected(number, partition) for number in lost)
    return ProducersStep(replace(state, topic=topic, producers=tuple(producers)), events)


def recover_partition(state: ProducersState, partition: int) -> ProducersStep | Rejection:
    """Serve a partition again: producers that lost it connect once more, in the order of their numbers."""
    topic = topics.recovered(state.topic, partition)
    if isinstance(topic, Rejection):
        return topic
    producers = list(state.producers)
    events: list[ProducerEvent] = []
    for at, before in enumerate(producers):
        mine = before.started.get(partition)
        if mine is None or mine.connected or before.state != "Ready":
            continue
        producers[at], topic, error = one.reconnect(before, topic, partition)
        events.append(Reconnected(at, partition, 0 if error else mine.pending_msgs, error))
    return ProducersStep(replace(state, topic=topic, producers=tuple(producers)), tuple(events))


def close_producer(state: ProducersState, number: int) -> ProducersStep | Rejection:
    """Close one producer."""
    refused = _unknown(state, number)
    if refused is not None:
        return refused
    closed, topic, lost_msgs = one.close(state.producers[number], state.topic)
    return ProducersStep(_with_producer(state, topic, closed), (Closed(number, lost_msgs),))


class ProducerCounts(Struct, frozen=True):
    """What producers cost the brokers now: objects, connections, and the partitions that have any producer."""

    producers: int
    broker_producers: int
    connections: int
    partitions_used: int


def counts_of(state: ProducersState) -> ProducerCounts:
    """Count the brokers' producer objects, and each client's connections to the brokers of its partitions.

    A connection that only looked something up does not count. Linear in the objects.
    """
    objects = [(producer.owner, at) for at, connected in enumerate(state.topic.connected) for producer in connected]
    connections = {(owner, partition % state.brokers) for owner, partition in objects}
    ready = sum(1 for producer in state.producers if producer.state == "Ready")
    return ProducerCounts(ready, len(objects), len(connections), sum(1 for there in state.topic.connected if there))


def _sent(state: ProducersState, numbers: Iterable[int], key: str | None, size_bytes: int) -> ProducersStep:
    producers, topic = list(state.producers), state.topic
    events: list[ProducerEvent] = []
    for number in numbers:
        producers[number], topic, result = one.send(producers[number], topic, key, state.now_ms, size_bytes=size_bytes)
        events.append(Sent(number, key, result))
    return ProducersStep(replace(state, topic=topic, producers=tuple(producers)), tuple(events))


def _created(step: CreateStep) -> Created:
    producer = step.producer
    reason = OpenReason.LAZY_START if producer.settings.starts_lazily else OpenReason.EAGER_START
    opened = () if step.error else step.opened
    return Created(producer.number, producer.producer_name, opened, reason, step.error)


def _fence_whom_the_topic_lost(state: ProducersState) -> tuple[ProducersState, list[ProducerEvent]]:
    """Producers that hold themselves connected where the brokers have thrown them out become Fenced."""
    events: list[ProducerEvent] = []
    producers = list(state.producers)
    for at, producer in enumerate(producers):
        live = [mine.partition for mine in producer.started.values() if mine.connected]
        if producer.state == "Ready" and not all(state.topic.has(producer.number, partition) for partition in live):
            producers[at] = one.fenced(producer)
            events.append(Fenced(at))
    return replace(state, producers=tuple(producers)), events


def _with_producer(state: ProducersState, topic: PartitionedTopic, changed: PartitionedProducer) -> ProducersState:
    before, after = state.producers[: changed.number], state.producers[changed.number + 1 :]
    return replace(state, topic=topic, producers=(*before, changed, *after))


def _unknown(state: ProducersState, number: int) -> Rejection | None:
    if 0 <= number < len(state.producers):
        return None
    known = f"0 to {len(state.producers) - 1}" if state.producers else "none yet"
    return Rejection("IllegalArgumentException", f"there is no producer {number}; known: {known}", field="producer")


def _below(field: str, value: int, least: int) -> Rejection | None:
    if value >= least:
        return None
    return Rejection("IllegalArgumentException", f"{value} is below {least}", field=field)
