"""One Key_Shared subscription in the state: its terms, consumers, known keys, and messages in flight.

The owner of a key depends on the history of joins and leaves, so the history *is* the state; the rest is folded from it
(``engine.cluster.keys.evolve``) and kept beside it. All partitions of the topics have the same consumers in the same
order of joining, hence the same owner of a key: one dispatcher represents all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from engine.config import CLASSIC_KEY_SHARED
from engine.keyshared.model import Consumer, DeclaredRanges

if TYPE_CHECKING:
    from engine.keyshared.delivery_state import DeliveryState, Sent

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


@dataclass(frozen=True, slots=True)
class KeySubscriptionCreated:
    """A Key_Shared subscription exists on these topics; nobody is connected."""

    subscription: str
    name: str
    namespace: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyDispatcherStarted:
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


@dataclass(frozen=True, slots=True)
class KeyConsumerJoined:
    """A consumer is connected; ``declared`` are the ranges it brings, None without a STICKY policy.

    An id may come back: the same client connects again after a restart.
    """

    subscription: str
    consumer_id: int
    name: str
    declared: DeclaredRanges | None = None


@dataclass(frozen=True, slots=True)
class KeyConsumerLeft:
    """A consumer is gone; what it had not acknowledged is sent again."""

    subscription: str
    consumer_id: int


@dataclass(frozen=True, slots=True)
class KeyIntervalsSeen:
    """The halved ranges that a broker reported, as (upper, consumer id) ascending: their history is not known."""

    subscription: str
    intervals: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class KeysSeen:
    """Keys that are known to occur, each with the number of its messages in the past."""

    subscription: str
    keys: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class KeysPublished:
    """Messages of these keys arrive, one after another."""

    subscription: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeysAcknowledged:
    """A consumer acknowledges the messages at these positions."""

    subscription: str
    consumer_id: int
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeyTimePassed:
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


@dataclass(frozen=True, slots=True)
class KeySubscription:
    """One Key_Shared subscription; ``key``, ``name``, ``namespace`` and ``topics`` as in ``Subscription``.

    ``happened`` is everything since it was created, and all that counts when two are compared. Folded from it:
    ``delivery`` (selector and messages), ``declares`` and ``points`` as in ``KeyDispatcherStarted``, ``keys`` (known
    key -> number of its messages), ``sent`` (the last messages that went out, newest last) and ``now_ms``.
    """

    key: str
    name: str
    namespace: str
    topics: tuple[str, ...]
    happened: tuple[KeyEvent, ...]
    delivery: DeliveryState = field(compare=False, repr=False)
    declares: bool = field(default=False, compare=False)
    points: int = field(default=0, compare=False)
    allow_out_of_order_delivery: bool = field(default=False, compare=False)
    keys: Mapping[bytes, int] = field(default_factory=dict, compare=False, repr=False)
    sent: tuple[Sent, ...] = field(default=(), compare=False, repr=False)
    now_ms: int = field(default=0, compare=False)

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """Those connected, in the order of joining: for consistent sticky ranges that of the node indices, too.

        Except a node that restarted under another name: it is last and keeps its index.
        """
        return self.delivery.selector.consumers

    @property
    def mode(self) -> SharingMode:
        """Which of the four ways this is."""
        from engine.keyshared.ring import RingSelector

        if self.declares:
            return SharingMode.CONSISTENT_STICKY if self.points else SharingMode.STICKY
        if isinstance(self.delivery.selector, RingSelector):
            return SharingMode.CONSISTENT_AUTO_SPLIT
        return SharingMode.AUTO_SPLIT
