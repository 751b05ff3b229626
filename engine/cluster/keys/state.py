"""One Key_Shared subscription in the state: its terms, consumers, known keys, and messages in flight.

The owner of a key depends on the history of joins and leaves, so the history *is* the state; the rest is folded from it
(``engine.cluster.keys.evolve``) and kept beside it. Each partition has a dispatcher of its own. In the simulation a
consumer connects to all of them at once, so they agree on the owners of slots, but for partitions that were added
later; in what brokers reported they may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from engine.config import CLASSIC_KEY_SHARED
from engine.keyshared.model import Consumer, DeclaredRanges, Selector

if TYPE_CHECKING:
    from engine.keyshared.delivery_state import DeliveryState, Sent
    from engine.routing.clients import KeyRouting

RING_FLAG: Final = "subscriptionKeySharedUseConsistentHashing"
POINTS_SETTING: Final = "subscriptionKeySharedConsistentHashingReplicaPoints"
KEY_SETTINGS: Final = (
    RING_FLAG,
    POINTS_SETTING,
    CLASSIC_KEY_SHARED,
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
    "keySharedUnblockingIntervalMs",
    "maxUnackedMessagesPerConsumer",
    "maxUnackedMessagesPerSubscription",
)
"""The broker's settings that a Key_Shared dispatcher reads when it is made."""


class KeySubscriptionCreated(Struct, frozen=True):
    """A Key_Shared subscription exists on these topics; nobody is connected."""

    subscription: str
    name: str
    namespace: str
    topics: tuple[str, ...]


class KeyDispatcherStarted(Struct, frozen=True):
    """The next consumer finds a new dispatcher; nobody is connected. The event has everything that decides what it is.

    ``declares``: consumers send a STICKY policy. ``points`` above 0: what they declare are consistent sticky ranges.
    ``settings`` are those of the broker that Key_Shared reads, as (name, text).
    """

    subscription: str
    declares: bool
    points: int
    allow_out_of_order_delivery: bool
    release: str
    settings: tuple[tuple[str, str], ...]


class KeyConsumerJoined(Struct, frozen=True):
    """A consumer is connected; ``declared`` are the ranges it brings, None without a STICKY policy.

    An id may come back: the same client connects again after a restart. ``partition`` None: to all partitions.
    """

    subscription: str
    consumer_id: int
    name: str
    declared: DeclaredRanges | None = None
    partition: int | None = None


class KeyConsumerLeft(Struct, frozen=True):
    """A consumer is gone, from all partitions unless one is named; what it had not acknowledged is sent again."""

    subscription: str
    consumer_id: int
    partition: int | None = None


class KeyIntervalsSeen(Struct, frozen=True):
    """The halved ranges that a broker reported, as (upper, consumer id) ascending: their history is not known."""

    subscription: str
    intervals: tuple[tuple[int, int], ...]
    partition: int | None = None


class KeysSeen(Struct, frozen=True):
    """Keys that are known to occur, each with the number of its messages in the past."""

    subscription: str
    keys: tuple[tuple[str, int], ...]


class KeysPublished(Struct, frozen=True):
    """Messages of these keys arrive, one after another."""

    subscription: str
    keys: tuple[str, ...]


class KeysAcknowledged(Struct, frozen=True):
    """A consumer acknowledges the messages at these positions of a partition."""

    subscription: str
    consumer_id: int
    positions: tuple[int, ...]
    partition: int = 0


class KeysRouted(Struct, frozen=True):
    """The topics have so many partitions, never fewer than before, and this client's hash takes the one of a key."""

    subscription: str
    partitions: int
    client: str
    hashing: str


class KeyTimePassed(Struct, frozen=True):
    """Simulated time is ``now_ms``."""

    subscription: str
    now_ms: int


KeyEvent = (
    KeySubscriptionCreated
    | KeyDispatcherStarted
    | KeyConsumerJoined
    | KeyConsumerLeft
    | KeyIntervalsSeen
    | KeysSeen
    | KeysPublished
    | KeysAcknowledged
    | KeyTimePassed
    | KeysRouted
)


class SharingMode(Enum):
    """The four ways of sharing keys; the last one is a technique of clients on top of STICKY, not a broker's mode."""

    AUTO_SPLIT = "auto-split"
    CONSISTENT_AUTO_SPLIT = "consistent-auto-split"
    STICKY = "sticky"
    CONSISTENT_STICKY = "consistent-sticky"

    @property
    def declares(self) -> bool:
        """Whether consumers declare their ranges."""
        return self in (SharingMode.STICKY, SharingMode.CONSISTENT_STICKY)


class SentFrom(Struct, frozen=True):
    """A message that went out, and the partition it came from."""

    partition: int
    sent: Sent


def set_of(dispatchers: tuple[DeliveryState, ...]) -> tuple[DeliveryState, ...]:
    """The different objects among them, each once, in order: partitions without traffic share one."""
    return tuple(dict(zip(map(id, dispatchers), dispatchers, strict=True)).values())


@dataclass(frozen=True, slots=True)
class KeySubscription:
    """One Key_Shared subscription; ``key``, ``name``, ``namespace`` and ``topics`` as in ``Subscription``.

    ``happened`` is everything since it was created, and all that counts when two are compared. Folded from it:
    ``dispatchers`` (selector and messages of each partition, or of the topic; those in the same state are one object),
    ``routing`` (None without partitions), ``declares`` and ``points`` as in ``KeyDispatcherStarted``, ``keys`` (known
    key -> number of its messages), ``sent`` (the last messages that went out, newest last) and ``now_ms``.
    """

    key: str
    name: str
    namespace: str
    topics: tuple[str, ...]
    happened: tuple[KeyEvent, ...]
    dispatchers: tuple[DeliveryState, ...] = field(compare=False, repr=False)
    routing: KeyRouting | None = field(default=None, compare=False)
    declares: bool = field(default=False, compare=False)
    points: int = field(default=0, compare=False)
    allow_out_of_order_delivery: bool = field(default=False, compare=False)
    keys: Mapping[bytes, int] = field(default_factory=dict, compare=False, repr=False)
    sent: tuple[SentFrom, ...] = field(default=(), compare=False, repr=False)
    now_ms: int = field(default=0, compare=False)

    @property
    def delivery(self) -> DeliveryState:
        """The dispatcher of the first partition, or of the topic: terms and kind of selector are those of all."""
        return self.dispatchers[0]

    @property
    def partitions(self) -> int:
        """How many partitions the topics have; 0 where they are not partitioned."""
        return len(self.dispatchers) if self.routing is not None else 0

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """The selector of each partition."""
        return tuple(dispatcher.selector for dispatcher in self.dispatchers)

    @property
    def agree(self) -> bool:
        """Whether all partitions have the same owners of slots."""
        first = self.dispatchers[0].selector
        return all(other.selector is first or other.selector == first for other in set_of(self.dispatchers))

    def partition_of(self, key: bytes) -> int | None:
        """The partition that a key goes to, 0 without partitions; None where its client does not count it as a key."""
        if self.routing is None:
            return 0
        from engine.routing.clients import partition_of_bytes

        return partition_of_bytes(key, self.routing, len(self.dispatchers))

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """Those connected, in the order of joining: for consistent sticky ranges that of the node indices, too.

        Except a node that restarted under another name: it is last and keeps its index. A consumer that only some
        partitions have follows those of the first one.
        """
        first, *others = set_of(self.dispatchers)
        consumers = {consumer.consumer_id: consumer for consumer in first.selector.consumers}
        for other in others:
            if other.selector.consumers is not first.selector.consumers:
                for consumer in other.selector.consumers:
                    consumers.setdefault(consumer.consumer_id, consumer)
        return tuple(consumers.values())

    @property
    def mode(self) -> SharingMode:
        """Which of the four ways this is."""
        from engine.keyshared.ring import RingSelector

        if self.declares:
            return SharingMode.CONSISTENT_STICKY if self.points else SharingMode.STICKY
        if isinstance(self.delivery.selector, RingSelector):
            return SharingMode.CONSISTENT_AUTO_SPLIT
        return SharingMode.AUTO_SPLIT
