"""Find what a text selects on the screen: a consumer, a bundle, or a topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.bundles.boundaries import BundleRange, parse_range
from engine.cluster.keys.state import KeySubscription
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.keyshared.keys import key_of_text
from engine.views.failover.dashboard import dashboard_view, topic_explanation


@dataclass(frozen=True, slots=True)
class Selection:
    """``kind`` says which fields count: a consumer's id, a name, or a namespace with a canonical range.

    ``consumer_id`` is the number of a producer where those are shown. ``topic`` is the name of a partition, or the text
    of a key where a Key_Shared subscription is shown, whose ``partition`` can be selected too (None: all).
    """

    kind: Literal["consumer", "topic", "key", "bundle", "producer", "partition"]
    consumer_id: int = -1
    topic: str = ""
    namespace: str = ""
    range_text: str = ""
    partition: int | None = None


def resolve_selection(timeline: Timeline, text: str, subscription: int = 0) -> Selection | Rejection:
    """Find a text at the cursor: first as ``NAMESPACE/RANGE``, then as a consumer's name, then as a topic.

    Of several consumers of one name the first in the dispatcher's order counts.
    """
    namespace, slash, range_text = text.rpartition("/")
    if slash and namespace in timeline.state.namespaces:
        piece = parse_range(range_text)
        if isinstance(piece, BundleRange):
            return Selection("bundle", namespace=namespace, range_text=str(piece))
    topics = timeline.state.producer_topics
    at = subscription - len(timeline.state.subscriptions) - len(timeline.state.key_subscriptions)
    if topics and at >= 0:
        return _of_producers(topics[min(at, len(topics) - 1)], text)
    shared = timeline.state.key_subscriptions
    if shared and subscription >= len(timeline.state.subscriptions):
        return _of_keys(shared[min(subscription - len(timeline.state.subscriptions), len(shared) - 1)], text)
    view = dashboard_view(timeline, subscription=subscription)
    for row in view.consumers:
        if row.name == text:
            return Selection("consumer", consumer_id=row.consumer_id)
    match = topic_explanation(timeline, subscription, text)
    if isinstance(match, Rejection):
        return Rejection(
            "NotFound", f"{text!r} is neither a bundle nor a consumer; as a topic: {match.message}", "select"
        )
    return Selection("topic", topic=match.topic)


def _of_producers(topic: ProducerTopic, text: str) -> Selection | Rejection:
    """A producer by its name, or by #N."""
    producers = topic.producers.producers
    if text.startswith("#") and text[1:].isdecimal() and int(text[1:]) < len(producers):
        return Selection("producer", consumer_id=int(text[1:]))
    for producer in producers:
        if producer.producer_name == text:
            return Selection("producer", consumer_id=producer.number)
    return Rejection("NotFound", f"{text!r} is not a producer of {topic.topic}", "select")


def _of_keys(subscription: KeySubscription, text: str) -> Selection | Rejection:
    """A consumer by its name, a partition or all of them, else a key: one that was never sent has an owner too."""
    for consumer in subscription.consumers:
        if consumer.name == text:
            return Selection("consumer", consumer_id=consumer.consumer_id)
    word, _, number = text.partition(" ")
    if subscription.partitions and word == "partition" and number == "all":
        return Selection("partition")
    if subscription.partitions and word == "partition" and number.isascii() and number.isdecimal():
        return Selection("partition", partition=int(number[:9]))
    key = key_of_text(text)
    return key if isinstance(key, Rejection) else Selection("key", topic=text)
