"""What waits in a Key_Shared subscription: which keys, for which consumer, and whose acknowledgements end the wait."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from engine.keyshared.delivery_state import DeliveryState, Message


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


@dataclass(frozen=True, slots=True)
class Holder:
    """A consumer that holds ``unacked`` messages another message waits for."""

    consumer_id: int
    unacked: int


@dataclass(frozen=True, slots=True)
class Wait:
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
    found = [Holder(owner, count) for owner, count in counts.items() if count]
    return tuple(sorted(found, key=lambda holder: (-holder.unacked, holder.consumer_id)))
