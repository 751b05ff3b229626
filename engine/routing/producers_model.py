"""The state of many producers on one partitioned topic, and what can happen in a step."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import Rejection
from engine.routing.producer_model import OpenReason, PartitionedProducer, SendResult, UpdateResult
from engine.routing.producer_topic import PartitionedTopic


@dataclass(frozen=True, slots=True)
class ProducersState:
    """The producers of a topic in the order of their creation, closed ones included; a number is a place in it."""

    topic: PartitionedTopic
    producers: tuple[PartitionedProducer, ...] = ()
    now_ms: int = 0
    seed: int = 0
    brokers: int = 1


@dataclass(frozen=True, slots=True)
class Created:
    """A producer was started, or not: then ``error`` is set and the producer is not kept."""

    number: int
    producer_name: str | None
    opened: tuple[int, ...]
    reason: OpenReason
    error: Rejection | None


@dataclass(frozen=True, slots=True)
class Sent:
    """One message of one producer."""

    number: int
    key: str | None
    result: SendResult


@dataclass(frozen=True, slots=True)
class Updated:
    """A producer looked at the number of partitions."""

    number: int
    partitions: int
    result: UpdateResult


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A producer lost its connection to a partition."""

    number: int
    partition: int


@dataclass(frozen=True, slots=True)
class Reconnected:
    """A producer is connected to a partition again and published what waited, or was kept out with ``error``."""

    number: int
    partition: int
    published_msgs: int
    error: Rejection | None


@dataclass(frozen=True, slots=True)
class Fenced:
    """A producer was thrown out by another one's ``ExclusiveWithFencing``."""

    number: int


@dataclass(frozen=True, slots=True)
class Closed:
    """A producer was closed; ``lost_msgs`` waited in its queues."""

    number: int
    lost_msgs: int


ProducerEvent = Created | Sent | Updated | Disconnected | Reconnected | Fenced | Closed


@dataclass(frozen=True, slots=True)
class ProducersStep:
    """The state after a step, and what happened in it, in order."""

    state: ProducersState
    events: tuple[ProducerEvent, ...] = ()
