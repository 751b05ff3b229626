"""What a person or a demo script can ask for. ``decide`` answers each with events or a ``Rejection``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AddConsumer:
    """A consumer connects to every topic of the subscription."""

    subscription: str
    name: str
    priority_level: int = 0


@dataclass(frozen=True, slots=True)
class KillConsumer:
    """A consumer's connection drops."""

    subscription: str
    consumer_id: int


@dataclass(frozen=True, slots=True)
class RenameConsumer:
    """A consumer leaves and connects again under another name (a broker knows no renaming)."""

    subscription: str
    consumer_id: int
    name: str


@dataclass(frozen=True, slots=True)
class SetPriorityLevel:
    """A consumer leaves and connects again with another priority level."""

    subscription: str
    consumer_id: int
    priority_level: int


@dataclass(frozen=True, slots=True)
class SetSetting:
    """A broker setting takes another value; ``text`` is what broker.conf has after the ``=``."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SetRelease:
    """The cluster runs another Pulsar version."""

    version: str


@dataclass(frozen=True, slots=True)
class AddTopic:
    """A topic is created; ``partitions`` 0 makes it non-partitioned. Subscriptions that accept new topics take it."""

    topic: str
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class RemoveTopic:
    """A topic is deleted with all its partitions."""

    topic: str


@dataclass(frozen=True, slots=True)
class RepartitionTopic:
    """A partitioned topic grows to ``partitions``; Pulsar never shrinks one."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class SplitBundle:
    """A split on request: ``bundle`` is a range text, ``LARGEST`` or ``HOT``; ``positions`` are decimal hash values."""

    namespace: str
    bundle: str
    algorithm: str | None = None
    positions: tuple[int, ...] = ()


Command = (
    AddConsumer
    | KillConsumer
    | RenameConsumer
    | SetPriorityLevel
    | SetSetting
    | SetRelease
    | AddTopic
    | RemoveTopic
    | RepartitionTopic
    | SplitBundle
)
