"""Which subscription a person means: by its own name, by a topic, or by one of its consumers."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from engine.diagnosis.seen import SubscriptionSeen, parent_of
from engine.errors import Rejection


def selected(subscriptions: Sequence[SubscriptionSeen], word: str) -> list[SubscriptionSeen] | Rejection:
    """Those with the name ``word``; else those on a topic of this full or short name; else those of such a consumer.

    Of a subscription that is found by a partition's name only that partition is kept. Where nothing has the name, the
    nearest names are in the refusal. O(dispatchers x consumers).
    """
    named = [subscription for subscription in subscriptions if subscription.name == word]
    if named:
        return named
    on_topic = [kept for subscription in subscriptions if (kept := _on_topic(subscription, word)) is not None]
    if on_topic:
        return on_topic
    consuming = [
        subscription
        for subscription in subscriptions
        if any(
            consumer.name == word for dispatcher in subscription.dispatchers for consumer in dispatcher.sub.consumers
        )
    ]
    if consuming:
        return consuming
    known = dict.fromkeys(
        name
        for subscription in subscriptions
        for name in (
            subscription.name,
            *(topic.rpartition("/")[2] for topic in subscription.topics),
            *_consumers(subscription),
        )
    )
    near = get_close_matches(word, list(known))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return Rejection("NotFound", f"no subscription, topic or consumer is named {word!r}{hint}", "what")


def _on_topic(seen: SubscriptionSeen, word: str) -> SubscriptionSeen | None:
    def matches(topic: str) -> bool:
        return word in (topic, parent_of(topic), topic.rpartition("/")[2], parent_of(topic).rpartition("/")[2])

    kept = tuple(dispatcher for dispatcher in seen.dispatchers if matches(dispatcher.topic))
    if not kept:
        return None
    return SubscriptionSeen(seen.namespace, seen.name, kept, seen.limits, seen.behaviour, seen.moments, seen.unloaded)


def _consumers(seen: SubscriptionSeen) -> list[str]:
    return [consumer.name for dispatcher in seen.dispatchers for consumer in dispatcher.sub.consumers]
