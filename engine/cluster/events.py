"""What happened. ``evolve`` applies an event and cannot fail; the journal keeps events, so replaying needs no rule."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.keys.events import KeyEvent
from engine.cluster.producers.events import ProducerTopicEvent


@dataclass(frozen=True, slots=True)
class ConsumerAdded:
    """A consumer with a new id stands last in connect order."""

    subscription: str
    consumer_id: int
    name: str
    priority_level: int


@dataclass(frozen=True, slots=True)
class ConsumerRemoved:
    """A consumer is gone from every dispatcher of the subscription."""

    subscription: str
    consumer_id: int


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A broker setting has a new value, written as in broker.conf."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ReleaseChanged:
    """The cluster runs another Pulsar version."""

    version: str


@dataclass(frozen=True, slots=True)
class TopicAdded:
    """A topic exists; ``subscriptions`` are the keys of those that it joined."""

    topic: str
    partitions: int
    subscriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicRemoved:
    """A topic and its statistics are gone."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicRepartitioned:
    """A topic has more partitions; the new ones have no statistics yet."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class NamespaceSeen:
    """A namespace got its first bundles, as its first topic was created there."""

    namespace: str
    boundaries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BundleWasSplit:
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
)
