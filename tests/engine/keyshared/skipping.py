"""Messages that are skipped, cleared, or expire while consumers hold some of them."""

from __future__ import annotations

from msgspec.structs import replace

from engine.keyshared.delivery import advance_to, read
from engine.keyshared.delivery_state import Delivery, DeliveryState


def skip_to(state: DeliveryState, position: int, now_ms: int, *, cleans_pending_acks: bool = True) -> Delivery:
    """The mark-delete position moves up to ``position`` from outside: messages are skipped, cleared, or expire.

    Pulsar then also forgets that consumers hold messages up to there, so **their hashes stop draining while they still
    work on them**, and another consumer may get the key at once (#25627). ``cleans_pending_acks`` false leaves them to
    be acknowledged, as that issue asks for.
    """
    due = advance_to(state, now_ms)
    state = due.state
    draining, pending, freed = state.draining, state.pending, False
    if cleans_pending_acks:
        for consumer_id, held in pending.items():
            for slot in (slot for held_position, slot in held.items() if held_position <= position):
                draining, now_free = draining.acknowledged(slot, consumer_id)
                freed = freed or now_free
        pending = {owner: {at: slot for at, slot in held.items() if at > position} for owner, held in pending.items()}
    state = replace(
        state,
        backlog={later: message for later, message in state.backlog.items() if later > position},
        read_position=max(state.read_position, min(position + 1, state.next_position)),
        replay=frozenset(later for later in state.replay if later > position),
        delayed=frozenset(later for later in state.delayed if later > position),
        pending=pending,
        draining=draining,
    )
    if freed and state.read_due_ms is None:
        state = replace(state, read_due_ms=now_ms + state.terms.unblocking_interval_ms)
    return read(state, now_ms, due.sent)
