"""The fold of the producers of a topic, alone and within a state, and how many are modelled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.cluster.commands import SetProducerRate, plan_settings
from engine.cluster.events import fold
from engine.cluster.limits import (
    INT_32,
    INT_64,
    MAX_MSGS_PER_SEC,
    MAX_PARTITIONS,
    MAX_PRODUCER_CELLS,
    MAX_PRODUCER_MESSAGES,
    MAX_PRODUCER_OBJECTS,
    MAX_PRODUCERS,
    MAX_RATE_KEYS,
)
from engine.cluster.producers.state import (
    PartitionFailed,
    PartitionRecovered,
    ProducerClosed,
    ProducerLimitChanged,
    ProducerPartitionsGrown,
    ProducerPlan,
    ProducerRateSet,
    ProducersAdded,
    ProducersSeen,
    ProducersSent,
    ProducerTimePassed,
    ProducerTopic,
    ProducerTopicEvent,
    Tally,
)
from engine.cluster.state import ClusterState, find_producer_topic, producer_limit
from engine.cluster.tables.loads import LoadTable
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.memo import Remembered
from engine.producer_limit import ProducerLimit
from engine.routing.producers import steps as model
from engine.routing.producers.model import (
    Closed,
    Created,
    Disconnected,
    Fenced,
    ProducerEvent,
    ProducersStep,
    RateSet,
    Reached,
    Reconnected,
    SendRate,
    Sent,
    Updated,
)
from engine.routing.producers.rates import flow_of, is_rated


def refuse_more_producers(topic: ProducerTopic, plan: ProducerPlan, *, lazily: bool) -> Rejection | None:
    """Why no more producers are modelled; ``lazily``: each opens one partition at first."""
    count, partitions = len(topic.producers.producers) + plan.count, topic.partitions
    if count > MAX_PRODUCERS or count * partitions > MAX_PRODUCER_CELLS:
        message = (
            f"{count} producers on {partitions} partitions: up to {MAX_PRODUCERS} producers, and"
            f" {MAX_PRODUCER_CELLS} pairs of producer and partition, are modelled here"
        )
        return Rejection("TooManyProducers", message, "count")
    objects = topic.objects + plan.count * (1 if lazily else partitions)
    return _too_many_objects(objects, "count") if objects > MAX_PRODUCER_OBJECTS else None


def senders_of(topic: ProducerTopic, producer: int | None) -> int:
    """How many producers send: one if it is named, or (None) all that are not closed."""
    return 1 if producer is not None else sum(one.state != "Closed" for one in topic.producers.producers)


def refuse_more_messages(topic: ProducerTopic, messages: int) -> Rejection | None:
    """Why no more messages are sent in one step."""
    if messages > MAX_PRODUCER_MESSAGES:
        text = f"{messages} messages: up to {MAX_PRODUCER_MESSAGES} are sent in one step here"
        return Rejection("TooManyMessages", text, "times")
    objects = topic.objects + messages
    return _too_many_objects(objects, "times") if objects > MAX_PRODUCER_OBJECTS + MAX_PRODUCER_MESSAGES else None


def rate_of(plan: ProducerRateSet | SetProducerRate) -> SendRate:
    """The rate that a command asks for or an event reports."""
    return SendRate(plan.msgs_per_sec, plan.size_bytes, plan.key, plan.keys)


def refuse_rate(rate: SendRate) -> Rejection | None:
    """Why nobody sends at such a rate here."""
    if not 0 <= rate.msgs_per_sec <= MAX_MSGS_PER_SEC:
        message = f"{rate.msgs_per_sec:g} messages/s: 0 to {MAX_MSGS_PER_SEC:g} are modelled"
        return Rejection("IllegalArgumentException", message, "msgs_per_sec")
    if rate.size_bytes not in INT_32 or rate.size_bytes < 0:
        return Rejection("IllegalArgumentException", f"{rate.size_bytes} is not a size in bytes", "size_bytes")
    if not 0 <= rate.keys <= MAX_RATE_KEYS:
        return Rejection("IllegalArgumentException", f"{rate.keys} keys: 0 to {MAX_RATE_KEYS} are modelled", "keys")
    if rate.keys and rate.key is not None:
        return Rejection("IllegalArgumentException", "messages have one key or several, not both", "keys")
    return None


def _too_many_objects(objects: int, field: str) -> Rejection:
    message = f"{objects} producer objects on brokers: up to {MAX_PRODUCER_OBJECTS} are modelled here; start lazily"
    return Rejection("TooManyProducers", message, field)


RECENT_KEPT: Final = 200
"""How many of the producers' last events are remembered."""

_seen: Remembered[ProducerTopic] = Remembered()
_folded: Remembered[ProducerTopic] = Remembered()


def seen(event: ProducersSeen) -> ProducerTopic:
    """A topic whose producers are followed from now on."""
    return _seen.get((event,), (), lambda: _begun(event))


def begun(event: ProducersSeen, state: ClusterState) -> ProducerTopic:
    """The same under the limit of a cluster."""
    return _limited(seen(event), producer_limit(state, event.topic))


def _limited(topic: ProducerTopic, limit: ProducerLimit) -> ProducerTopic:
    if limit == topic.producers.topic.limit:
        return topic
    return after(topic, ProducerLimitChanged(topic.topic, limit.most, limit.source))


def _begun(event: ProducersSeen) -> ProducerTopic:
    state = model.producers_state(event.partitions, brokers=event.brokers, seed=event.seed)
    assert not isinstance(state, Rejection), f"{event} was let in: {state}"
    return ProducerTopic(event.topic, (event,), state)


def folded_producers(events: Iterable[ProducerTopicEvent]) -> ProducerTopic | str:
    """The producers that these events lead to, or why they cannot follow each other. O(events)."""
    return fold(events, _first, producer_objection, after)


def _first(event: ProducerTopicEvent | None) -> ProducerTopic | str:
    if not isinstance(event, ProducersSeen):
        return "the producers of a topic begin with it"
    return seen_objection(event) or seen(event)


def after(topic: ProducerTopic, event: ProducerTopicEvent) -> ProducerTopic:
    """The producers after an event that ``producer_objection`` accepts; cached, since undo needs it again."""
    return _folded.get((topic,), (event,), lambda: _after(topic, event))


def _after(topic: ProducerTopic, event: ProducerTopicEvent) -> ProducerTopic:
    step = _step(topic, event)
    assert isinstance(step, ProducersStep), f"{event} was let in: {step}"
    if is_rated(step.state):
        step = model.reach(step)
    keys = topic.keys
    if isinstance(event, ProducersSent) and event.key is not None:
        times = sum(isinstance(result, Sent) for result in step.events)
        keys = {**keys, event.key: keys.get(event.key, 0) + times}
    results = topic.results
    if step.events:
        results = {**results, **{result.number: result for result in step.events if not _refused(result)}}
    return ProducerTopic(
        topic.topic,
        (*topic.happened, event),
        step.state,
        keys,
        results,
        (*topic.recent, *step.events)[-RECENT_KEPT:],
        tally_of(step.events),
    )


def _step(topic: ProducerTopic, event: ProducerTopicEvent) -> ProducersStep | Rejection:
    state = topic.producers
    match event:
        case ProducersSeen():
            return Rejection("ProducersExist", f"the producers of {topic.topic} count already", "topic")
        case ProducersAdded():
            parsed = plan_settings(event.plan, topic.partitions)
            if isinstance(parsed, Rejection):
                return parsed
            above = event.plan.allow_limit_above
            return model.add_producers(state, event.plan.count, *parsed, allow_limit_above=above)
        case ProducersSent(_, None):
            return model.send_by_all(state, event.key, messages=event.times, size_bytes=event.size_bytes)
        case ProducersSent(_, int(number)):
            return model.send_by_one(state, number, event.key, messages=event.times, size_bytes=event.size_bytes)
        case ProducerRateSet():
            return model.set_rate(state, event.producer, rate_of(event))
        case ProducerClosed():
            return model.close_producer(state, event.producer)
        case PartitionFailed():
            return model.fail_partition(state, event.partition)
        case PartitionRecovered():
            return model.recover_partition(state, event.partition)
        case ProducerPartitionsGrown():
            return model.grow_partitions(state, event.partitions)
        case ProducerLimitChanged():
            return model.limit_producers(state, ProducerLimit(event.max_producers, event.source))
        case ProducerTimePassed():
            return model.advance(state, event.now_ms)
    raise AssertionError(f"{event} is not an event of producers")


def seen_objection(event: ProducersSeen) -> str:
    """Why a topic's producers cannot begin like this, "" when they can."""
    if event.partitions > MAX_PARTITIONS or event.brokers not in INT_64 or event.seed not in INT_64:
        return f"{event.partitions} partitions on {event.brokers} brokers are not modelled"
    state = model.producers_state(event.partitions, brokers=event.brokers, seed=event.seed)
    return str(state) if isinstance(state, Rejection) else ""


def producer_objection(topic: ProducerTopic, event: ProducerTopicEvent) -> str:
    """Why an event cannot follow, "" when it can. O(1)."""
    match event:
        case ProducersSeen():
            return f"the producers of {topic.topic!r} count already"
        case ProducersAdded():
            parsed = plan_settings(event.plan, topic.partitions)
            if isinstance(parsed, Rejection):
                return str(parsed)
            if event.plan.count < 0:
                return "a count is not below 0"
            return _text(refuse_more_producers(topic, event.plan, lazily=parsed[0].starts_lazily))
        case ProducersSent() | ProducerRateSet():
            unknown = "" if event.producer is None else _known(topic, event.producer)
            return unknown or _sending_objection(topic, event)
        case ProducerClosed():
            return _known(topic, event.producer)
        case PartitionFailed() | PartitionRecovered():
            known = 0 <= event.partition < topic.partitions
            return "" if known else f"{topic.topic!r} has no partition {event.partition}"
        case ProducerPartitionsGrown():
            return _growth_objection(topic, event.partitions)
        case ProducerLimitChanged():
            known = event.max_producers >= 0 and event.max_producers in INT_32
            return "" if known else f"{event.max_producers} is not a number of producers"
        case ProducerTimePassed():
            if event.now_ms not in INT_64:
                return "time ran out of 64 bits"
            return "" if event.now_ms >= topic.now_ms else "time does not run backwards"


def _sending_objection(topic: ProducerTopic, event: ProducersSent | ProducerRateSet) -> str:
    if isinstance(event, ProducerRateSet):
        return _text(refuse_rate(rate_of(event)))
    if event.times < 0 or event.size_bytes < 0:
        return "there is no negative number of messages or bytes"
    return _text(refuse_more_messages(topic, senders_of(topic, event.producer) * event.times))


def _growth_objection(topic: ProducerTopic, partitions: int) -> str:
    if partitions < topic.partitions:
        return f"{topic.topic!r} cannot lose partitions"
    return "" if partitions <= MAX_PARTITIONS else f"{partitions} partitions are not modelled"


def _text(refusal: Rejection | None) -> str:
    return "" if refusal is None else refusal.message


def _known(topic: ProducerTopic, number: int) -> str:
    return "" if 0 <= number < len(topic.producers.producers) else f"{topic.topic!r} has no producer {number}"


def _refused(event: ProducerEvent) -> bool:
    return isinstance(event, Created) and event.error is not None


def tally_of(events: Iterable[ProducerEvent]) -> Tally:
    """The counts of these events."""
    counts = dict.fromkeys(Tally.__struct_fields__[:-1], 0)
    error = ""
    for event in events:
        refusal: Rejection | None = None
        match event:
            case Created():
                refusal = event.error
                counts["refused" if refusal else "created"] += 1
                counts["opened"] += len(event.opened)
            case Sent(_, _, result):
                refusal = result.cause or result.error
                counts[result.outcome] += 1
                counts["opened"] += result.opened is not None and result.cause is None
            case Updated(_, _, update):
                refusal = update.error
                counts["grown" if update.outcome == "grown" else "held_back"] += 1
                counts["opened"] += len(update.opened)
            case Disconnected():
                counts["lost_connections"] += 1
            case Reconnected():
                refusal = event.error
                counts["reconnected"] += refusal is None
            case Fenced():
                counts["fenced"] += 1
            case RateSet() | Reached():
                counts["opened"] += len(event.opened)
            case Closed():
                counts["lost_msgs"] += event.lost_msgs
        error = error or (refusal.message if refusal is not None else "")
    return Tally(**counts, error=error)


def producer_event_objection(state: ClusterState, event: ProducerTopicEvent) -> str:
    """Why an event cannot follow this state, "" when it can."""
    producers = find_producer_topic(state, event.topic)
    if isinstance(event, ProducerPartitionsGrown | ProducerLimitChanged):
        return "producers see a growth by that of their topic only, and a limit by that of the setting"
    if not isinstance(event, ProducersSeen):
        return (
            f"there are no producers of {event.topic!r}" if producers is None else producer_objection(producers, event)
        )
    topic = state.topics.get(event.topic)
    if producers is not None:
        return producer_objection(producers, event)
    if topic is None or topic.partitions == 0:
        return f"there is no partitioned topic {event.topic!r}"
    if topic.partitions != event.partitions:
        return f"{event.topic!r} has {topic.partitions} partitions, not {event.partitions}"
    return seen_objection(event)


def with_producer_event(state: ClusterState, event: ProducerTopicEvent) -> ClusterState:
    """The state after an event of producers; the producers of other topics are the same objects as before."""
    if isinstance(event, ProducersSeen):
        return structs.replace(state, producer_topics=(*state.producer_topics, begun(event, state)))
    changed = (after(topic, event) if topic.topic == event.topic else topic for topic in state.producer_topics)
    return with_flows(structs.replace(state, producer_topics=tuple(changed)))


def limited_producers(state: ClusterState) -> ClusterState:
    """The state with the limits of its settings, after these have changed."""
    limited = tuple(_limited(topic, producer_limit(state, topic.topic)) for topic in state.producer_topics)
    return with_flows(structs.replace(state, producer_topics=limited))


def with_flows(state: ClusterState) -> ClusterState:
    """The state with the traffic of topics whose producers have rates: what comes in goes out.

    O(partitions of the state) where a flow has changed.
    """
    names: list[NDArray[np.int64]] = []
    rates: list[NDArray[np.float64]] = []
    for topic in state.producer_topics:
        if is_rated(topic.producers):
            flow = flow_of(topic.producers)
            names.append(state.topics.numbers_of(np.array([state.topics.place(topic.topic)])))
            rates.append(np.stack((flow.msgs_per_sec, flow.msgs_per_sec, flow.bytes_per_sec, flow.bytes_per_sec)))
    if not names:
        return state
    numbers = np.concatenate(names)
    loads = state.loads.with_rates(numbers, np.concatenate(rates, axis=1))
    if loads is state.loads:
        return state
    subscriptions = tuple(
        replace(one, loads=LoadTable.of(state.topics, one.loads).without(numbers)) if one.loads else one
        for one in state.subscriptions
    )
    return structs.replace(state, loads=loads, subscriptions=subscriptions)


def refolded_producers(state: ClusterState, settings: BrokerSettings) -> tuple[ProducerTopic, ...]:
    """The producers of all topics as if brokers had always had these settings."""
    if settings.maxProducersPerTopic == state.settings.maxProducersPerTopic:
        return state.producer_topics
    always = structs.replace(state, settings=settings)
    return tuple(_refolded(topic, always) for topic in state.producer_topics)


def _refolded(topic: ProducerTopic, state: ClusterState) -> ProducerTopic:
    first, *events = topic.happened
    assert isinstance(first, ProducersSeen), first
    again = begun(first, state)
    for event in events:
        # A message through a producer that is refused now, or its end, is left out.
        if not isinstance(event, ProducerLimitChanged) and not producer_objection(again, event):
            again = after(again, event)
    return again


def grown_producers(state: ClusterState, topic: str, partitions: int) -> ClusterState:
    """The state after one of its topics has got more partitions: its producers see that of the brokers."""
    event = ProducerPartitionsGrown(topic, partitions)
    grown = tuple(after(one, event) if one.topic == topic else one for one in state.producer_topics)
    return with_flows(structs.replace(state, producer_topics=grown))


def refuse_growth(state: ClusterState, topic: str, partitions: int) -> Rejection | None:
    """Why a topic with these producers cannot have so many partitions here; Pulsar has no such limit."""
    producer_topic = find_producer_topic(state, topic)
    if producer_topic is None:
        return None
    producers = producer_topic.producers.producers
    eager = sum(producer.state == "Ready" and not producer.settings.starts_lazily for producer in producers)
    objects = producer_topic.objects + eager * (partitions - producer_topic.partitions)
    if len(producers) * partitions <= MAX_PRODUCER_CELLS and objects <= MAX_PRODUCER_OBJECTS:
        return None
    message = (
        f"{len(producers)} producers on {partitions} partitions would be {objects} producer objects; up to"
        f" {MAX_PRODUCER_OBJECTS}, and {MAX_PRODUCER_CELLS} pairs of producer and partition, are modelled here"
    )
    return Rejection("TooManyProducers", message, "partitions")
