"""The state of one persistent Key_Shared subscription in simulated time, who joined recently, and what waits for whom.

The rule for recently joined consumers is the order rule before PIP-379: a consumer that joined while messages were
unacknowledged gets no newer ones for a while. Source: ``PersistentStickyKeyDispatcherMultipleConsumers`` up to 3.2 and
its classic form in 4.x (``recentlyJoinedConsumers``). 3.3 judges by what had been sent instead of by the read position
(PIP-282, #21953).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Literal

from msgspec import Struct, field

from engine.answer import about
from engine.keyshared.draining import DrainingHashes
from engine.keyshared.model import Selector
from engine.releases import current_default


class RecentlyJoined(Struct, frozen=True):
    """(consumer id, read position when it joined) of those that still wait, in join order."""

    marks: tuple[tuple[int, int], ...] = ()

    def join(self, consumer_id: int, read_position: int, first_unacked: int, others: int) -> RecentlyJoined:
        """A consumer joined ``others`` connected ones; it waits only if something that was read is unacknowledged."""
        if others == 0 or read_position <= first_unacked:
            return self
        return RecentlyJoined((*self.marks, (consumer_id, read_position)))

    def leave(self, consumer_id: int, left: int) -> RecentlyJoined:
        """A consumer left; a sole remaining consumer has nothing to wait for."""
        if left <= 1:
            return RecentlyJoined()
        return RecentlyJoined(tuple(mark for mark in self.marks if mark[0] != consumer_id))

    def released(self, first_unacked: int) -> RecentlyJoined:
        """Drop the marks before which every message is acknowledged.

        Pulsar stops at the first that still waits; as it keeps them by position since #23802, that is the same.
        """
        return RecentlyJoined(tuple(mark for mark in self.marks if mark[1] > first_unacked))

    def limit(self, consumer_id: int, *, replay: bool) -> int | None:
        """The position from which on a consumer must wait; None when it may have anything.

        A replayed message counts against the earliest mark of all, since an earlier newcomer may wait for it.

        >>> waiting = RecentlyJoined(((1, 4), (2, 9)))
        >>> waiting.limit(2, replay=False), waiting.limit(2, replay=True), waiting.limit(3, replay=True)
        (9, 4, None)
        """
        own = next((position for waiting, position in self.marks if waiting == consumer_id), None)
        return own if own is None or not replay else min(position for _, position in self.marks)


class OrderRule(Enum):
    """What keeps the messages of one key in order while consumers come and go."""

    DRAINING_HASHES = "draining-hashes"
    RECENTLY_JOINED = "recently-joined"
    NONE = "none"


class Message(Struct, frozen=True):
    """One entry of the topic; ``slot`` is that of its sticky key. A delayed one is not sent before its time."""

    position: int
    key: bytes
    slot: int
    deliver_at_ms: int = 0


class DeliveryTerms(Struct, frozen=True):
    """The constants of one subscription.

    ``takes_back``: #24736. ``keeps_slot_order``: a new entry does not overtake one of its slot on the replay queue;
    false for ``allowOutOfOrderDelivery``. ``max_unacked`` stands for permits: how many unacknowledged messages one
    consumer takes; 0 means no limit. ``ownerless_key``: what a slot without owner stops besides its own messages
    (that it also delays newcomers follows from the rule for recently joined consumers). ``unblocking_interval_ms``
    (``keySharedUnblockingIntervalMs``): how long after a blocked hash is free a new read is made.

    ``look_ahead_per_consumer`` and ``look_ahead``: no new entries are read while the replay queue is as long as the
    smaller of the first times the consumers and the second (``keySharedLookAheadMsgInReplayThresholdPerConsumer`` and
    ``...PerSubscription``; 0 or less drops one). Without both, ``unacked_per_consumer`` and ``unacked`` do the same
    (``maxUnackedMessagesPerConsumer`` and ``...PerSubscription``).
    """

    order: OrderRule = OrderRule.DRAINING_HASHES
    takes_back: bool = True
    keeps_slot_order: bool = True
    max_unacked: int = 0
    ownerless_key: Literal["waits", "delays-newcomers", "stops-subscription"] = "waits"
    unblocking_interval_ms: int = 10
    look_ahead_per_consumer: int = current_default("keySharedLookAheadMsgInReplayThresholdPerConsumer")
    look_ahead: int = current_default("keySharedLookAheadMsgInReplayThresholdPerSubscription")
    unacked_per_consumer: int = 50000
    unacked: int = 200000

    def look_ahead_limit(self, consumers: int) -> int | None:
        """The length of the replay queue at which no new entries are read; None without a limit.

        >>> terms = DeliveryTerms()
        >>> terms.look_ahead_limit(3), terms.look_ahead_limit(30)
        (12000, 40000)
        """
        for per_consumer, in_all in (
            (self.look_ahead_per_consumer, self.look_ahead),
            (self.unacked_per_consumer, self.unacked),
        ):
            limits = [limit for limit in (per_consumer * consumers, in_all) if limit > 0]
            if limits:
                return min(limits)
        return None


class DeliveryState(Struct, frozen=True):
    """The state of a subscription; positions count from 0.

    ``backlog`` are all messages that are not acknowledged, by position. ``replay`` were read and could not be sent,
    ``delayed`` were read and their time has not come.
    ``pending`` were sent and not acknowledged, by consumer id, with their slots. ``read_due_ms`` is set while a read
    waits for the unblocking interval. ``stopped_at`` is the message without owner that stopped the subscription, in
    releases where one does (``ownerless_key``): nothing is sent any more until all consumers have left.
    """

    terms: DeliveryTerms
    selector: Selector
    next_position: int = 0
    read_position: int = 0
    backlog: Mapping[int, Message] = field(default_factory=dict)
    replay: frozenset[int] = frozenset()
    delayed: frozenset[int] = frozenset()
    pending: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    draining: DrainingHashes = field(default_factory=DrainingHashes)
    recently_joined: RecentlyJoined = field(default_factory=RecentlyJoined)
    read_due_ms: int | None = None
    stopped_at: int | None = None

    @property
    def first_unacked(self) -> int:
        """The position after the mark-delete position."""
        return min(self.backlog, default=self.next_position)


class Sent(Struct, frozen=True):
    """A message that went out to a consumer."""

    consumer_id: int
    message: Message


class Delivery(Struct, frozen=True):
    """The next state, and what was sent on the way, in order."""

    state: DeliveryState
    sent: tuple[Sent, ...] = ()


class WaitReason(Enum):
    """Why the oldest waiting message of a slot is not sent; the value names what ends the wait."""

    NO_CONSUMER = "a consumer joins"
    NO_OWNER = "a consumer declares a range with this slot"
    STOPPED = "all consumers leave, and one joins"
    DRAINING = "the former consumer acknowledges its messages of this slot, or leaves"
    RECENTLY_JOINED = "everything sent before this consumer joined is acknowledged"
    DELAYED = "the time it was delayed to comes"
    NO_PERMITS = "the consumer acknowledges some of its messages"
    READ_DUE = "the next read"
    LOOK_AHEAD = "the replay queue gets shorter"


class Holder(Struct, frozen=True):
    """A consumer that holds messages another message waits for."""

    consumer_id: Annotated[int, about("Its id.")]
    unacked: Annotated[int, about("Messages it holds that count.", 0)]


class Wait(Struct, frozen=True):
    """One slot whose messages wait.

    ``messages`` are those that wait, oldest first; ``owner_id`` is the consumer they will go to. ``holders`` have the
    messages that must be acknowledged first, the one with most of them first. ``since_ms`` and ``blocked_attempts`` are
    those of the draining hash.
    """

    slot: int
    messages: tuple[Message, ...]
    owner_id: int | None
    reason: WaitReason
    holders: tuple[Holder, ...] = ()
    since_ms: int | None = None
    blocked_attempts: int = 0

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The distinct keys that wait, in the order of their oldest message; several can share a slot."""
        return tuple(dict.fromkeys(message.key for message in self.messages))


def waits(state: DeliveryState) -> tuple[Wait, ...]:
    """Every slot with a message that was not sent, by its oldest one; empty when all is sent. O(n log n).

    Delayed messages wait on their own and do not block others of their slot.
    """
    by_slot: dict[tuple[int, bool], list[Message]] = {}
    for position in sorted(state.backlog):
        delayed = position in state.delayed
        if delayed or position in state.replay or position >= state.read_position:
            message = state.backlog[position]
            by_slot.setdefault((message.slot, delayed), []).append(message)
    return tuple(
        Wait(slot, tuple(messages), state.selector.owner(slot), WaitReason.DELAYED)
        if delayed
        else _wait(state, slot, tuple(messages))
        for (slot, delayed), messages in by_slot.items()
    )


def _wait(state: DeliveryState, slot: int, messages: tuple[Message, ...]) -> Wait:
    owner_id = state.selector.owner(slot)
    if not state.pending:
        return Wait(slot, messages, None, WaitReason.NO_CONSUMER)
    if state.stopped_at is not None:
        return Wait(slot, messages, owner_id, WaitReason.STOPPED)
    if owner_id is None:
        return Wait(slot, messages, None, WaitReason.NO_OWNER)
    entry = state.draining.entries.get(slot)
    if entry is not None and entry.consumer_id != owner_id:
        holder = Holder(entry.consumer_id, entry.unacked)
        reason = WaitReason.DRAINING
        return Wait(slot, messages, owner_id, reason, (holder,), entry.since_ms, entry.blocked_attempts)
    oldest = messages[0].position
    limit = state.recently_joined.limit(owner_id, replay=oldest in state.replay)
    if limit is not None and oldest >= limit:
        return Wait(slot, messages, owner_id, WaitReason.RECENTLY_JOINED, _holders_before(state, limit))
    unacked = len(state.pending[owner_id])
    if 0 < state.terms.max_unacked <= unacked:
        return Wait(slot, messages, owner_id, WaitReason.NO_PERMITS, (Holder(owner_id, unacked),))
    unread = oldest not in state.replay
    return Wait(slot, messages, owner_id, WaitReason.LOOK_AHEAD if unread else WaitReason.READ_DUE)


def _holders_before(state: DeliveryState, position: int) -> tuple[Holder, ...]:
    counts = {owner: sum(1 for earlier in held if earlier < position) for owner, held in state.pending.items()}
    holders = [Holder(owner, count) for owner, count in counts.items() if count]
    return tuple(sorted(holders, key=lambda holder: (-holder.unacked, holder.consumer_id)))
