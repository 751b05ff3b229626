"""Events of producers on the whole state: which topic's they are, and what a growth or a deletion does to them."""

from __future__ import annotations

from dataclasses import replace

from engine.cluster.limits import MAX_PRODUCER_CELLS, MAX_PRODUCER_OBJECTS
from engine.cluster.producers.events import ProducerPartitionsGrown, ProducersSeen, ProducerTopicEvent
from engine.cluster.producers.evolve import after, producer_objection, seen, seen_objection
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState, find_producer_topic
from engine.errors import Rejection


def producer_event_objection(state: ClusterState, event: ProducerTopicEvent) -> str:
    """Why an event cannot follow this state, "" when it can."""
    found = find_producer_topic(state, event.topic)
    if isinstance(event, ProducerPartitionsGrown):
        return "producers see a growth by that of their topic only"
    if not isinstance(event, ProducersSeen):
        return f"there are no producers of {event.topic!r}" if found is None else producer_objection(found, event)
    topic = state.topics.get(event.topic)
    if found is not None:
        return producer_objection(found, event)
    if topic is None or topic.partitions == 0:
        return f"there is no partitioned topic {event.topic!r}"
    if topic.partitions != event.partitions:
        return f"{event.topic!r} has {topic.partitions} partitions, not {event.partitions}"
    return seen_objection(event)


def with_producer_event(state: ClusterState, event: ProducerTopicEvent) -> ClusterState:
    """The state after an event of producers; the producers of other topics are the same objects as before."""
    if isinstance(event, ProducersSeen):
        return replace(state, producer_topics=(*state.producer_topics, seen(event)))
    changed = (after(each, event) if each.topic == event.topic else each for each in state.producer_topics)
    return replace(state, producer_topics=tuple(changed))


def grown_producers(state: ClusterState, topic: str, partitions: int) -> tuple[ProducerTopic, ...]:
    """The producers of all topics after one of these has more partitions."""
    event = ProducerPartitionsGrown(topic, partitions)
    return tuple(after(each, event) if each.topic == topic else each for each in state.producer_topics)


def refuse_growth(state: ClusterState, topic: str, partitions: int) -> Rejection | None:
    """Why the producers of a topic keep it from having so many partitions here; Pulsar knows no such limit."""
    found = find_producer_topic(state, topic)
    if found is None:
        return None
    producers = found.producers.producers
    eager = sum(each.state == "Ready" and not each.settings.starts_lazily for each in producers)
    objects = found.objects + eager * (partitions - found.partitions)
    if len(producers) * partitions <= MAX_PRODUCER_CELLS and objects <= MAX_PRODUCER_OBJECTS:
        return None
    message = (
        f"{len(producers)} producers on {partitions} partitions would be {objects} producer objects; up to"
        f" {MAX_PRODUCER_OBJECTS}, and {MAX_PRODUCER_CELLS} pairs of producer and partition, are modelled here"
    )
    return Rejection("TooManyProducers", message, "partitions")
