"""The values of partitioned producers: their partitions' producers and why each was opened, states and steps.

Source: ``PartitionedProducerImpl`` and ``ProducerImpl`` of the Java client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from engine.errors import Rejection
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES, ProducerSettings
from engine.routing.producers.topic import PartitionedTopic
from engine.routing.routers import Router

HandlerState = Literal["Uninitialized", "Ready", "Closed", "Fenced", "Terminated", "Failed"]
"""The state of a partitioned producer. Pulsar's Connecting and Closing pass at once in simulated time."""


class OpenReason(Enum):
    """Why a producer has an object at a partition."""

    EAGER_START = "all partitions are started at creation"
    LAZY_START = "at creation the router was asked about an empty message"
    ROUTER_CHOICE = "the router chose it for a message without a key"
    KEY = "the key of a message is hashed to it"
    PARTITION_ADDED = "the partition was added later"


class SendRate(Struct, frozen=True):
    """What a producer sends: messages a second of one size, with one key, with ``keys`` keys, or without.

    The keys are ``key-0``, ``key-1`` and so on, each as often as the others.
    """

    msgs_per_sec: float
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES
    key: str | None = None
    keys: int = 0

    @property
    def every_key(self) -> tuple[str, ...]:
        """The keys of its messages, empty where they have none."""
        return (self.key,) if self.key is not None else tuple(f"key-{number}" for number in range(self.keys))


class PartitionProducer(Struct, frozen=True):
    """The producer of one partition inside a partitioned producer.

    ``connected`` is false while the partition is down: messages then wait, ``pending_msgs`` of ``pending_bytes``.
    ``sent_msgs`` and ``sent_bytes`` count what was published. Sequence ids count from 0 up, one per message taken.
    """

    partition: int
    producer_name: str
    opened: OpenReason
    connected: bool = True
    next_sequence_id: int = 0
    pending_msgs: int = 0
    pending_bytes: int = 0
    sent_msgs: int = 0
    sent_bytes: int = 0

    @property
    def last_sequence_id(self) -> int:
        """The largest id that is published, -1 for none: messages that wait do not count."""
        return self.next_sequence_id - self.pending_msgs - 1

    def taken(self, size_bytes: int) -> PartitionProducer:
        """After one more message: published where connected, waiting where not."""
        if self.connected:
            sent = replace(self, sent_msgs=self.sent_msgs + 1, sent_bytes=self.sent_bytes + size_bytes)
        else:
            sent = replace(self, pending_msgs=self.pending_msgs + 1, pending_bytes=self.pending_bytes + size_bytes)
        return replace(sent, next_sequence_id=self.next_sequence_id + 1)

    def reconnected(self) -> PartitionProducer:
        """Connected again; waiting messages are published."""
        return replace(
            self,
            connected=True,
            pending_msgs=0,
            pending_bytes=0,
            sent_msgs=self.sent_msgs + self.pending_msgs,
            sent_bytes=self.sent_bytes + self.pending_bytes,
        )

    def cut(self) -> PartitionProducer:
        """Disconnected; waiting messages keep waiting."""
        return replace(self, connected=False)


class PartitionedProducer(Struct, frozen=True):
    """A partitioned producer; ``number`` identifies it among those of its topic, ``partitions`` is the count it knows.

    ``router`` is None for a custom router. ``started`` maps each partition with a producer to it, in the order
    they were opened. ``max_pending_messages`` is the limit of each partition's queue, 0 for none.
    ``next_update_ms`` is when it asks for the number of partitions again. ``rate`` is None where it is unknown what it
    sends besides single messages.
    """

    number: int
    settings: ProducerSettings
    router: Router | None
    partitions: int
    state: HandlerState = "Uninitialized"
    started: Mapping[int, PartitionProducer] = field(default_factory=lambda: MappingProxyType({}))
    max_pending_messages: int = 0
    next_update_ms: int = 0
    rate: SendRate | None = None

    @property
    def producer_name(self) -> str | None:
        """The name shown: that of the partition started first."""
        return next((part.producer_name for part in self.started.values()), None)

    @property
    def last_sequence_id(self) -> int:
        """The largest over the started partitions, -1 without any."""
        return max((part.last_sequence_id for part in self.started.values()), default=-1)

    @property
    def connected(self) -> bool:
        """Whether all **started** partitions are connected; those never started do not matter."""
        return self.state == "Ready" and all(part.connected for part in self.started.values())

    def with_started(self, changed: Iterable[PartitionProducer]) -> PartitionedProducer:
        """With these partitions' producers added or replaced; a new one goes to the end."""
        started = {**self.started, **{part.partition: part for part in changed}}
        return replace(self, started=MappingProxyType(started))

    def cut(self, partitions: Iterable[int]) -> PartitionedProducer:
        """After the connections to these partitions were lost."""
        return self.with_started(self.started[at].cut() for at in partitions if at in self.started)


class CreateStep(Struct, frozen=True):
    """What creating a producer did. ``tried`` are the partitions asked for, in order; ``opened`` those it got.

    ``error`` is why the creation failed: then ``producer.state`` is Failed and nothing is left open.
    """

    producer: PartitionedProducer
    topic: PartitionedTopic
    tried: tuple[int, ...]
    opened: tuple[int, ...]
    error: Rejection | None = None


class SendResult(Struct, frozen=True):
    """What became of one message.

    ``partition`` is the router's answer, also where it is refused. ``opened`` is set where this message opened the
    partition. "queued" means that it waits for the connection. ``error`` has Pulsar's text where the send failed, and
    ``cause`` what the broker had said about opening the partition.
    """

    partition: int
    outcome: Literal["sent", "queued", "failed"]
    opened: OpenReason | None = None
    sequence_id: int | None = None
    error: Rejection | None = None
    cause: Rejection | None = None


class UpdateResult(Struct, frozen=True):
    """The result of one check of the number of partitions.

    "not due": too early. "off": not configured, or the producer is not Ready. "failed": a new partition could not be
    opened, all new ones were given up, and the next check tries again. "refused": the number went down.
    """

    outcome: Literal["not due", "off", "unchanged", "grown", "failed", "refused"]
    opened: tuple[int, ...] = ()
    error: Rejection | None = None


class ProducersState(Struct, frozen=True):
    """The producers of a topic in the order of their creation, closed ones included; a number is a place in it.

    ``refused`` counts those that were not let in: the next one has the number of the last, and draws anew.
    """

    topic: PartitionedTopic
    producers: tuple[PartitionedProducer, ...] = ()
    now_ms: int = 0
    seed: int = 0
    brokers: int = 1
    refused: int = 0


class Created(Struct, frozen=True):
    """A producer was started, or not: then ``error`` is set and the producer is not kept."""

    number: int
    producer_name: str | None
    opened: tuple[int, ...]
    reason: OpenReason
    error: Rejection | None


class Sent(Struct, frozen=True):
    """One message of one producer."""

    number: int
    key: str | None
    result: SendResult


class Updated(Struct, frozen=True):
    """A producer checked the number of partitions."""

    number: int
    partitions: int
    result: UpdateResult


class Disconnected(Struct, frozen=True):
    """A producer lost its connection to a partition."""

    number: int
    partition: int


class Reconnected(Struct, frozen=True):
    """A producer reconnected to a partition and published waiting messages, or was refused with ``error``."""

    number: int
    partition: int
    published_msgs: int
    error: Rejection | None


class Fenced(Struct, frozen=True):
    """A producer was fenced out by another one's ``ExclusiveWithFencing``."""

    number: int


class Closed(Struct, frozen=True):
    """A producer was closed; ``lost_msgs`` waited in its queues."""

    number: int
    lost_msgs: int


class RateSet(Struct, frozen=True):
    """A producer sends at this rate from now on; ``opened`` partitions were opened for it."""

    number: int
    rate: SendRate
    opened: tuple[int, ...]


class Reached(Struct, frozen=True):
    """The rate of a producer reached partitions that it had not opened, as those that were added."""

    number: int
    opened: tuple[int, ...]


ProducerEvent = Created | Sent | RateSet | Reached | Updated | Disconnected | Reconnected | Fenced | Closed


class ProducersStep(Struct, frozen=True):
    """The state after a step, and what happened in it, in order."""

    state: ProducersState
    events: tuple[ProducerEvent, ...] = ()
