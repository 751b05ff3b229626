"""The producers of one partitioned topic in the state: what happened to them, and what is folded from that.

The history *is* the state, as with Key_Shared; the fold (``engine.cluster.producers.evolve``) is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

from engine.producer_limit import LimitSource
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES

if TYPE_CHECKING:
    from engine.routing.producers.model import ProducerEvent, ProducersState


class ProducerPlan(Struct, frozen=True):
    """How many producers are created, and with what settings, in the words of commands.

    ``client`` is one of java, python, cpp; ``router`` one of round-robin, single, partial, ``limit`` being the
    ``numPartitionsLimit`` of the last. ``allow_limit_above``: that limit may be above the partitions. None for ``name``
    lets brokers choose; for any other member it is the client's default.
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
    publish_delay_ms: int | None = None
    switch_frequency: int | None = None


class ProducersSeen(Struct, frozen=True):
    """The producers of this topic, which has none yet, are followed from now on.

    Partition i belongs to broker i mod ``brokers``. ``seed`` decides what clients draw at random.
    """

    topic: str
    partitions: int
    brokers: int
    seed: int


class ProducersAdded(Struct, frozen=True):
    """Producers are created one after another; those that brokers refuse are not kept."""

    topic: str
    plan: ProducerPlan


class ProducersSent(Struct, frozen=True):
    """Messages through one producer, or (None) through each that is not closed, round by round."""

    topic: str
    producer: int | None = None
    key: str | None = None
    times: int = 1
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES


class ProducerRateSet(Struct, frozen=True):
    """One producer, or (None) each that is not closed, sends ``msgs_per_sec`` messages of one size from now on.

    They have this key, or one of ``keys`` keys in turn, or none.
    """

    topic: str
    producer: int | None = None
    msgs_per_sec: float = 0.0
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES
    key: str | None = None
    keys: int = 0


class ProducerClosed(Struct, frozen=True):
    """One producer is closed."""

    topic: str
    producer: int


class PartitionFailed(Struct, frozen=True):
    """A partition is not served any more: its producers lose their connection, nobody can connect."""

    topic: str
    partition: int


class PartitionRecovered(Struct, frozen=True):
    """A partition is served again, and producers that lost it connect once more."""

    topic: str
    partition: int


class ProducerPartitionsGrown(Struct, frozen=True):
    """The topic has more partitions; it follows from ``TopicRepartitioned`` and is never alone in a journal."""

    topic: str
    partitions: int


class ProducerLimitChanged(Struct, frozen=True):
    """``maxProducersPerTopic`` is another; it follows from ``SettingChanged`` and is never alone in a journal."""

    topic: str
    max_producers: int
    source: LimitSource = "broker"


class ProducerTimePassed(Struct, frozen=True):
    """Simulated time is ``now_ms``; producers whose check of the number of partitions is due make it."""

    topic: str
    now_ms: int


ProducerTopicEvent = (
    ProducersSeen
    | ProducersAdded
    | ProducersSent
    | ProducerRateSet
    | ProducerClosed
    | PartitionFailed
    | PartitionRecovered
    | ProducerPartitionsGrown
    | ProducerLimitChanged
    | ProducerTimePassed
)


class Tally(Struct, frozen=True):
    """The outcome of the last event, counted: messages by outcome, partitions opened, producers created and refused.

    ``created`` and ``refused`` are of producers, ``grown`` and ``held_back`` of their checks of the number of
    partitions, ``lost_connections`` and ``reconnected`` of partitions. ``error`` is the first refusal in Pulsar's
    words.
    """

    sent: int = 0
    queued: int = 0
    failed: int = 0
    opened: int = 0
    created: int = 0
    refused: int = 0
    fenced: int = 0
    grown: int = 0
    held_back: int = 0
    lost_connections: int = 0
    reconnected: int = 0
    lost_msgs: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProducerTopic:
    """``happened`` is all that counts when two are compared; the rest is folded from it.

    ``producers`` is the state of all of them and of the brokers' side. ``keys`` counts the messages of each key,
    ``results`` has the last outcome of each producer, ``recent`` the last events, newest last, and
    ``tally`` the outcome of the last of ``happened``.
    """

    topic: str
    happened: tuple[ProducerTopicEvent, ...]
    producers: ProducersState = field(compare=False, repr=False)
    keys: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    results: Mapping[int, ProducerEvent] = field(default_factory=dict, compare=False, repr=False)
    recent: tuple[ProducerEvent, ...] = field(default=(), compare=False, repr=False)
    tally: Tally = field(default_factory=Tally, compare=False)

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return self.producers.topic.partitions

    @property
    def objects(self) -> int:
        """How many producer objects brokers have. O(partitions)."""
        return sum(map(len, self.producers.topic.connected))

    @property
    def now_ms(self) -> int:
        """The producers' clock."""
        return self.producers.now_ms
