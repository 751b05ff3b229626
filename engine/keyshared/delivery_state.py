"""The state of one persistent Key_Shared subscription on simulated time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from engine.keyshared.draining import DrainingHashes
from engine.keyshared.model import Selector
from engine.keyshared.recently_joined import RecentlyJoined


class OrderRule(Enum):
    """What keeps the messages of one key in order while consumers come and go."""

    DRAINING_HASHES = "draining-hashes"
    RECENTLY_JOINED = "recently-joined"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the topic; ``slot`` is that of its sticky key."""

    position: int
    key: bytes
    slot: int


@dataclass(frozen=True, slots=True)
class DeliveryTerms:
    """What never changes while a subscription lives.

    ``takes_back``: #24736. ``keeps_slot_order``: a new entry does not overtake one of its slot on the replay queue;
    false for ``allowOutOfOrderDelivery``. ``max_unacked`` stands for permits: how many unacknowledged messages one
    consumer takes. ``look_ahead_per_consumer`` and ``look_ahead``: no new entries are read while the replay queue is as
    long as the smaller of the first times the consumers and the second
    (``keySharedLookAheadMsgInReplayThresholdPerConsumer`` and ``...PerSubscription``). 0 means no limit.
    """

    order: OrderRule = OrderRule.DRAINING_HASHES
    takes_back: bool = True
    keeps_slot_order: bool = True
    max_unacked: int = 0
    look_ahead_per_consumer: int = 4000
    look_ahead: int = 40000

    def look_ahead_limit(self, consumers: int) -> int | None:
        limits = [each for each in (self.look_ahead_per_consumer * consumers, self.look_ahead) if each]
        return min(limits) if limits else None


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """Everything the subscription knows; positions count from 0.

    ``backlog`` are all messages that are not acknowledged, by position. ``replay`` were read and could not be sent.
    ``pending`` were sent and not acknowledged, by consumer id, with their slots. ``read_due_ms`` is set while a read
    waits for the unblocking interval.
    """

    terms: DeliveryTerms
    selector: Selector
    next_position: int = 0
    read_position: int = 0
    backlog: Mapping[int, Message] = field(default_factory=dict)
    replay: frozenset[int] = frozenset()
    pending: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    draining: DrainingHashes = field(default_factory=DrainingHashes)
    recently_joined: RecentlyJoined = field(default_factory=RecentlyJoined)
    read_due_ms: int | None = None

    @property
    def first_unacked(self) -> int:
        """The position after the mark-delete position."""
        return min(self.backlog, default=self.next_position)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that went out to a consumer."""

    consumer_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class Delivery:
    """The next state, and what was sent on the way, in order."""

    state: DeliveryState
    sent: tuple[Sent, ...] = ()
