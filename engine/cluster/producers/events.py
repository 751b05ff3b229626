"""What happened to the producers of one partitioned topic. Their state is the fold of these, so only these are kept.

``topic`` is the complete name of the partitioned topic.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.routing.producers.model import DEFAULT_MSG_SIZE_BYTES


@dataclass(frozen=True, slots=True)
class ProducerPlan:
    """How many producers are created, and with what settings, in the words of commands.

    ``client`` is one of java, python, cpp; ``router`` one of round-robin, single, partial, ``limit`` being the
    ``numPartitionsLimit`` of the last. ``allow_limit_above``: that limit may be above the partitions. None for ``name``
    lets brokers choose, for ``hashing`` and ``batching`` it is the client's default.
    """

    count: int = 1
    name: str | None = None
    lazy: bool = False
    router: str = "round-robin"
    limit: int = 0
    allow_limit_above: bool = False
    client: str = "java"
    access_mode: str = "Shared"
    hashing: str | None = None
    batching: bool | None = None
    max_pending_messages: int = 0
    max_pending_messages_across_partitions: int = 0


@dataclass(frozen=True, slots=True)
class ProducersSeen:
    """From now on the producers of this topic count; there is none. Partition i belongs to broker i mod ``brokers``.

    ``seed`` decides what clients draw at random.
    """

    topic: str
    partitions: int
    brokers: int
    seed: int


@dataclass(frozen=True, slots=True)
class ProducersAdded:
    """Producers are created one after another; those that brokers refuse are not kept."""

    topic: str
    plan: ProducerPlan


@dataclass(frozen=True, slots=True)
class ProducersSent:
    """Messages through one producer, or (None) through each that is not closed, round by round."""

    topic: str
    producer: int | None = None
    key: str | None = None
    times: int = 1
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES


@dataclass(frozen=True, slots=True)
class ProducerClosed:
    """One producer is closed."""

    topic: str
    producer: int


@dataclass(frozen=True, slots=True)
class PartitionFailed:
    """A partition is not served any more: its producers lose their connection, nobody can connect."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class PartitionRecovered:
    """A partition is served again, and producers that lost it connect once more."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class ProducerPartitionsGrown:
    """The topic has more partitions; it follows from ``TopicRepartitioned`` and never stands alone in a journal."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class ProducerTimePassed:
    """Simulated time stands at ``now_ms``; producers whose look at the number of partitions is due take it."""

    topic: str
    now_ms: int


ProducerTopicEvent = (
    ProducersSeen
    | ProducersAdded
    | ProducersSent
    | ProducerClosed
    | PartitionFailed
    | PartitionRecovered
    | ProducerPartitionsGrown
    | ProducerTimePassed
)
