"""Decide on commands about producers. The fold records what a broker refuses to single producers."""

from __future__ import annotations

from typing import Final

from engine.cluster.commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    ProducerCommand,
    RecoverPartition,
    SendByProducers,
    SetProducerRate,
    plan_settings,
)
from engine.cluster.producers.evolve import (
    after,
    begun,
    rate_of,
    refuse_more_messages,
    refuse_more_producers,
    refuse_rate,
    senders_of,
)
from engine.cluster.producers.state import (
    PartitionFailed,
    PartitionRecovered,
    ProducerClosed,
    ProducerPlan,
    ProducerRateSet,
    ProducersAdded,
    ProducersSeen,
    ProducersSent,
    ProducerTopic,
    ProducerTopicEvent,
)
from engine.cluster.state import ClusterState, find_producer_topic
from engine.cluster.tables.topics import Topic
from engine.cluster.topics import find_topic
from engine.errors import Rejection
from engine.routing.producers.model import Created
from engine.routing.producers.topic import unknown_partition

BROKERS: Final = 3
"""Brokers that serve a topic by default: enough to see that connections are fewer than producers."""


def decide_producers(state: ClusterState, command: ProducerCommand) -> tuple[ProducerTopicEvent, ...] | Rejection:
    """Refusals: an unknown topic (404), one without partitions (409), what Pulsar or its clients refuse, our limits.

    An empty tuple, so no change, where the producer is closed already or the partition is in that state already.
    """
    topic = find_topic(state, command.topic)
    if isinstance(topic, Rejection):
        return topic
    if topic.partitions == 0:
        return Rejection("RestException", f"Topic is not partitioned topic: {topic.name}", "topic", 409)
    producers = find_producer_topic(state, topic.name)
    if isinstance(command, AddProducers):
        return _add(state, topic, producers, command.plan)
    if producers is None:
        message = f"no producers of {topic.name} are modelled yet; producer add creates some"
        return Rejection("ProducersNotFound", message, "topic", 404)
    match command:
        case SendByProducers():
            return _send(producers, command)
        case SetProducerRate():
            return _set_rate(producers, command)
        case CloseProducer():
            return _close(producers, command.producer)
        case FailPartition() | RecoverPartition():
            return _serve(producers, command)


def _add(
    state: ClusterState, topic: Topic, producers: ProducerTopic | None, plan: ProducerPlan
) -> tuple[ProducerTopicEvent, ...] | Rejection:
    """Refused in the broker's words when it accepts none of them."""
    parsed = plan_settings(plan, topic.partitions)
    if isinstance(parsed, Rejection):
        return parsed
    begin = ProducersSeen(topic.name, topic.partitions, BROKERS, len(state.producer_topics))
    before = producers or begun(begin, state)
    if plan.count < 1:
        return Rejection("IllegalArgumentException", f"{plan.count} is not a number of producers", "count")
    refusal = refuse_more_producers(before, plan, lazily=parsed[0].starts_lazily)
    if refusal is not None:
        return refusal
    event = ProducersAdded(topic.name, plan)
    step = after(before, event)
    if step.tally.created == 0:
        refusals = (event.error for event in reversed(step.recent) if isinstance(event, Created) and event.error)
        return next(refusals)
    return (event,) if producers is not None else (begin, event)


def _send(topic: ProducerTopic, command: SendByProducers) -> tuple[ProducerTopicEvent, ...] | Rejection:
    """Refuse only impossible requests; the fold records what becomes of a message that cannot be sent."""
    producers = topic.producers.producers
    if command.producer is not None and not 0 <= command.producer < len(producers):
        return _unknown_producer(topic, command.producer)
    if command.times < 1:
        return Rejection("IllegalArgumentException", f"{command.times} times is not a number of messages", "times")
    if command.size_bytes < 0:
        return Rejection("IllegalArgumentException", f"{command.size_bytes} is below 0", "sizeBytes")
    senders = senders_of(topic, command.producer)
    if senders == 0:
        return Rejection("AlreadyClosedException", "all producers are closed; producer add creates others", "producer")
    refusal = refuse_more_messages(topic, senders * command.times)
    if refusal is not None:
        return refusal
    return (ProducersSent(topic.topic, command.producer, command.key, command.times, command.size_bytes),)


def _set_rate(topic: ProducerTopic, command: SetProducerRate) -> tuple[ProducerTopicEvent, ...] | Rejection:
    producers, number, rate = topic.producers.producers, command.producer, rate_of(command)
    if number is not None and not 0 <= number < len(producers):
        return _unknown_producer(topic, number)
    senders = [one for one in producers if one.state != "Closed" and number in (None, one.number)]
    if not senders:
        message = "a closed producer sends nothing; producer add creates others"
        return Rejection("AlreadyClosedException", message, "producer")
    refusal = refuse_rate(rate)
    if refusal is not None:
        return refusal
    if all(one.rate == rate for one in senders):
        return ()
    event = ProducerRateSet(topic.topic, number, rate.msgs_per_sec, rate.size_bytes, rate.key, rate.keys)
    return (event,)


def _close(topic: ProducerTopic, number: int) -> tuple[ProducerTopicEvent, ...] | Rejection:
    if not 0 <= number < len(topic.producers.producers):
        return _unknown_producer(topic, number)
    if topic.producers.producers[number].state == "Closed":
        return ()
    return (ProducerClosed(topic.topic, number),)


def _serve(
    topic: ProducerTopic, command: FailPartition | RecoverPartition
) -> tuple[ProducerTopicEvent, ...] | Rejection:
    brokers = topic.producers.topic
    if not 0 <= command.partition < brokers.partitions:
        return unknown_partition(brokers, command.partition)
    down = command.partition in brokers.failing
    if isinstance(command, FailPartition):
        return () if down else (PartitionFailed(topic.topic, command.partition),)
    return (PartitionRecovered(topic.topic, command.partition),) if down else ()


def _unknown_producer(topic: ProducerTopic, number: int) -> Rejection:
    count = len(topic.producers.producers)
    known = f"0 to {count - 1}" if count else "none yet"
    return Rejection("ProducerNotFound", f"there is no producer {number}; known: {known}", "producer", 404)
