"""What happened. ``evolve`` applies an event and cannot fail; the journal keeps events, so a replay needs no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct

from engine.cluster.keys.state import KeyEvent
from engine.cluster.producers.state import ProducerTopicEvent
from engine.cluster.scalable.events import ScalableTopicEvent


class ConsumerAdded(Struct, frozen=True):
    """A consumer with a new id connects, last in connect order."""

    subscription: str
    consumer_id: int
    name: str
    priority_level: int


class ConsumerRemoved(Struct, frozen=True):
    """A consumer is gone from every dispatcher of the subscription."""

    subscription: str
    consumer_id: int


class SettingChanged(Struct, frozen=True):
    """A broker setting has a new value, written as in broker.conf."""

    name: str
    text: str


class ReleaseChanged(Struct, frozen=True):
    """The cluster runs another Pulsar version."""

    version: str


class TopicAdded(Struct, frozen=True):
    """A topic exists; ``subscriptions`` are the keys of those that it joined."""

    topic: str
    partitions: int
    subscriptions: tuple[str, ...]


class TopicRemoved(Struct, frozen=True):
    """A topic and its statistics are gone."""

    topic: str


class TopicRepartitioned(Struct, frozen=True):
    """A topic has more partitions; the new ones have no statistics yet."""

    topic: str
    partitions: int


class NamespaceSeen(Struct, frozen=True):
    """A namespace got its first bundles, as its first topic was created there."""

    namespace: str
    boundaries: tuple[int, ...]


class BundleWasSplit(Struct, frozen=True):
    """``[lower, upper)`` was cut at ``cuts`` by the algorithm of that exact name."""

    namespace: str
    lower: int
    upper: int
    cuts: tuple[int, ...]
    algorithm: str


Event = (
    ConsumerAdded
    | ConsumerRemoved
    | SettingChanged
    | ReleaseChanged
    | TopicAdded
    | TopicRemoved
    | TopicRepartitioned
    | NamespaceSeen
    | BundleWasSplit
    | KeyEvent
    | ProducerTopicEvent
    | ScalableTopicEvent
)


E = TypeVar("E")
S = TypeVar("S")


def fold(
    events: Iterable[E],
    begin: Callable[[E | None], S | str],
    objection: Callable[[S, E], str],
    after: Callable[[S, E], S],
) -> S | str:
    """Fold events into the value that the first one begins; return the first objection instead, if any. O(events).

    >>> fold([1, 2, 3], lambda first: first or 0, lambda _sum, number: "" if number > 0 else "too small", int.__add__)
    6
    """
    rest = iter(events)
    state = begin(next(rest, None))
    if isinstance(state, str):
        return state
    for event in rest:
        reason = objection(state, event)
        if reason:
            return reason
        state = after(state, event)
    return state
