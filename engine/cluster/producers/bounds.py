"""How many producers and messages are modelled, whoever asks: a command, or an event in a journal."""

from __future__ import annotations

from engine.cluster.limits import MAX_PRODUCER_CELLS, MAX_PRODUCER_MESSAGES, MAX_PRODUCER_OBJECTS, MAX_PRODUCERS
from engine.cluster.producers.events import ProducerPlan
from engine.cluster.producers.state import ProducerTopic
from engine.errors import Rejection


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
    """How many producers send where one is named, or (None) all that are not closed."""
    return 1 if producer is not None else sum(each.state != "Closed" for each in topic.producers.producers)


def refuse_more_messages(topic: ProducerTopic, messages: int) -> Rejection | None:
    """Why no more messages are sent in one step."""
    if messages > MAX_PRODUCER_MESSAGES:
        text = f"{messages} messages: up to {MAX_PRODUCER_MESSAGES} are sent in one step here"
        return Rejection("TooManyMessages", text, "times")
    objects = topic.objects + messages
    return _too_many_objects(objects, "times") if objects > MAX_PRODUCER_OBJECTS + MAX_PRODUCER_MESSAGES else None


def _too_many_objects(objects: int, field: str) -> Rejection:
    message = f"{objects} producer objects on brokers: up to {MAX_PRODUCER_OBJECTS} are modelled here; start lazily"
    return Rejection("TooManyProducers", message, field)
