"""The next consumers of a Shared or an Exclusive subscription, where neither key nor partition decides.

Source: ``AbstractDispatcherMultipleConsumers.getNextConsumer`` and ``isConsumerAvailable``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Annotated, Final

from engine.answer import about
from engine.diagnosis.seen import (
    EXCLUSIVE,
    FAILOVER,
    KEY_SHARED,
    NOBODY,
    SHARED,
    ConsumerSeen,
    Dispatcher,
    SubscriptionSeen,
    parent_of,
)
from engine.errors import Rejection
from engine.text import listed

ROUND_ROBIN_BATCH: Final = "dispatcherMaxRoundRobinBatchSize"
"""The setting with the most entries that a consumer gets before the next one's turn."""
_NAMED: Final = 4


class WhyNot(Enum):
    """The reason why a consumer of a Shared subscription cannot be next."""

    NO_PERMITS = "it asked for no more messages"
    UNACKED = "it holds too many unacknowledged messages"
    SUBSCRIPTION_BLOCKED = "the subscription holds too many unacknowledged messages"


@dataclass(frozen=True, slots=True)
class Turn:
    """One consumer."""

    consumer: Annotated[str, about("Its name.")]
    address: Annotated[str, about("Where it connected from.")]
    permits: Annotated[int, about("Messages it asked for.")]
    unacked: Annotated[int, about("Messages it holds.")]
    why_not: Annotated[WhyNot | None, about("What keeps it from being next; null for one that can be.")]


@dataclass(frozen=True, slots=True)
class TurnExplanation:
    """The consumers that can get the next message of a topic."""

    topic: Annotated[str, about("Full name.")]
    namespace: Annotated[str, about("tenant/namespace.")]
    subscription: Annotated[str, about("Its name.")]
    type: Annotated[str, about("Its type.")]
    backlog: Annotated[int, about("Entries that wait.")]
    at_ms: Annotated[int | None, about("When it was seen, in ms since 1970; null where that is not known.")]
    batch: Annotated[int, about("Entries at most before it is the next one's turn; 0 where one consumer has them all.")]
    turns: Annotated[tuple[Turn, ...], about("All consumers in the dispatcher's order.")]

    @property
    def possible(self) -> tuple[Turn, ...]:
        """The consumers that can be next."""
        return tuple(turn for turn in self.turns if turn.why_not is None)


def explain_turn(
    subscriptions: Sequence[SubscriptionSeen], topic: str, subscription: str | None = None
) -> TurnExplanation | Rejection:
    """Explain a topic or partition by its full or short name, for the named subscription or the only one that fits.

    Only Shared and Exclusive subscriptions are explained; the refusal says what explains another type.
    """
    matches = [
        (seen, dispatcher)
        for seen in subscriptions
        if subscription in (None, seen.name)
        for dispatcher in seen.dispatchers
        if topic in (dispatcher.topic, dispatcher.topic.rpartition("/")[2])
    ] or [
        (seen, dispatcher)
        for seen in subscriptions
        if subscription in (None, seen.name)
        for dispatcher in seen.dispatchers
        if topic in (parent_of(dispatcher.topic), parent_of(dispatcher.topic).rpartition("/")[2])
    ]
    if not matches:
        return _unknown(subscriptions, topic, subscription)
    fitting = [(seen, match) for seen, match in matches if match.sub.type in (SHARED, EXCLUSIVE)]
    if not fitting:
        return _other_type(*matches[0])
    names = dict.fromkeys(match.topic for _, match in fitting)
    if len(names) > 1:
        return Rejection("Ambiguous", f"{topic!r} is not one topic: {listed(list(names), _NAMED)}", "topic", 404)
    keys = dict.fromkeys(seen.name for seen, _ in fitting)
    if len(keys) > 1:
        return Rejection(
            "Ambiguous",
            f"{topic!r} has several subscriptions, name one: {listed(list(keys), _NAMED)}",
            "subscription",
            404,
        )
    seen, dispatcher = fitting[0]
    blocked = dispatcher.sub.blocked_on_unacked
    return TurnExplanation(
        dispatcher.topic,
        seen.namespace,
        seen.name,
        dispatcher.sub.type,
        dispatcher.backlog,
        dispatcher.last.at_ms,
        int(seen.limits.number(ROUND_ROBIN_BATCH)) if dispatcher.sub.type == SHARED else 0,
        tuple(_turn(match, dispatcher.sub.type, blocked=bool(blocked)) for match in dispatcher.consumers),
    )


def _turn(consumer: ConsumerSeen, type_: str, *, blocked: bool) -> Turn:
    why_not = None
    if blocked:
        why_not = WhyNot.SUBSCRIPTION_BLOCKED
    elif type_ == SHARED and consumer.facts.blocked_on_unacked:
        why_not = WhyNot.UNACKED
    elif consumer.permits <= 0:
        why_not = WhyNot.NO_PERMITS
    return Turn(consumer.name, consumer.facts.address, consumer.permits, consumer.unacked, why_not)


def _other_type(seen: SubscriptionSeen, dispatcher: Dispatcher) -> Rejection:
    name, kind = seen.name, dispatcher.sub.type
    what = {
        KEY_SHARED: f"{name!r} is of type Key_Shared, where the key decides: explain key KEY",
        NOBODY: f"nobody has connected to {name!r} since the topic was loaded",
    }.get(kind, f"{name!r} is of type {kind}, where one consumer of the topic is active")
    code = "IsFailover" if kind == FAILOVER else "OtherType"
    return Rejection(code, f"{dispatcher.topic}: {what}", "topic", 409)


def _unknown(subscriptions: Sequence[SubscriptionSeen], topic: str, subscription: str | None) -> Rejection:
    if subscription is not None and all(seen.name != subscription for seen in subscriptions):
        return Rejection("NotFound", f"no answer shows a subscription {subscription!r}", "subscription", 404)
    known = [name.rpartition("/")[2] for seen in subscriptions for name in seen.topics]
    near = get_close_matches(topic.rpartition("/")[2], list(dict.fromkeys(known)), n=_NAMED)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return Rejection("NotFound", f"no topic {topic!r}{hint}", "topic", 404)
