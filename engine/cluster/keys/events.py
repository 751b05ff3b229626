"""What happened to one Key_Shared subscription. Its state is the fold of these, so they are all that is written down.

Keys are written as texts (``engine.keyshared.key_text``), also such as are no UTF-8.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.keyshared.model import DeclaredRanges


@dataclass(frozen=True, slots=True)
class KeySubscriptionCreated:
    """A Key_Shared subscription exists on these topics; nobody is connected."""

    subscription: str
    name: str
    namespace: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyDispatcherStarted:
    """The next consumer finds a new dispatcher; nobody is connected. All that decides what it is stands here.

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
    """Simulated time stands at ``now_ms``."""

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
