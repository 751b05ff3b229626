"""The questions of the screen "keys": where does a key go, and what does a consumer have."""

from __future__ import annotations

from collections import Counter

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.keyshared.delivery_state import Wait, WaitReason, waits
from engine.keyshared.explain import KeyExplanation, explain_key, rivals_of
from engine.keyshared.keys import key_of_text, text_of_key
from engine.routing.clients import routed_bytes
from engine.views.keys.model import ConsumerKeysView, KeyAnswer, KeyRow
from engine.views.keys.moves import key_moves
from engine.views.keys.path import key_path
from engine.views.keys.slice import KeysSlice, keys_slice_by_key
from engine.views.keys.words import shown
from engine.views.timeline import state_before


def key_answer(timeline: Timeline, subscription_key: str, key_text: str) -> KeyAnswer | Rejection:
    """Where a key goes and why, and what blocks it, in the partition that the producers' hash takes.

    Refused: no such subscription, a text that is not a key.
    """
    now = keys_slice_by_key(timeline.state, subscription_key)
    if now is None:
        return Rejection("SubscriptionNotFound", f"there is no Key_Shared subscription {subscription_key!r}")
    key = key_of_text(key_text)
    if isinstance(key, Rejection):
        return key
    subscription, path = now.subscription, None
    delivery = subscription.dispatchers[subscription.partition_of(key) or 0]
    if subscription.routing is not None:
        path = key_path(routed_bytes(key), subscription.routing, subscription.partitions, delivery.selector)
    explanation = explain_key(delivery.selector, key, draining=delivery.draining)
    wait = next((candidate for candidate in waits(delivery) if candidate.slot == explanation.slot.slot), None)
    return KeyAnswer(
        text=text_of_key(key),
        explanation=explanation,
        sentence=key_sentence(explanation),
        obstacle=_obstacle(now, explanation, wait),
        rivals=rivals_of(delivery.selector, explanation),
        path=path,
    )


def keys_of_consumer(
    timeline: Timeline, subscription_key: str, consumer_id: int, *, partition: int | None = None
) -> ConsumerKeysView:
    """Exactly the slots of a consumer, and those of the known keys that it gets, the busiest first."""
    now = keys_slice_by_key(timeline.state, subscription_key, partition)
    assert now is not None, f"there is no Key_Shared subscription {subscription_key!r} with partition {partition}"
    earlier = state_before(timeline)
    before = keys_slice_by_key(earlier, subscription_key, partition) if earlier is not None else None
    moved = key_moves(before, now).keys
    waiting = Counter(
        message.key for _, dispatcher in now.dispatchers for wait in waits(dispatcher) for message in wait.messages
    )
    names = {consumer.consumer_id: consumer.name for consumer in now.consumers}
    ids = [consumer.consumer_id for consumer in now.consumers]
    pieces = now.owned.get(consumer_id, ())
    known = now.known
    rows = [
        KeyRow(
            text=known.texts[at],
            slot=int(known.slots[at]),
            owner=ids.index(consumer_id),
            messages=int(known.messages[at]),
            waiting=waiting[known.keys[at]],
            moved=bool(moved[at]),
            partition=int(known.partitions[at]),
        )
        for at in range(len(known.keys))
        if int(known.owners[at]) == consumer_id
    ]
    return ConsumerKeysView(
        consumer_id=consumer_id,
        name=names.get(consumer_id, ""),
        slots=sum(piece.count for piece in pieces),
        pieces=tuple((piece.range.start, piece.range.end, piece.divisor, piece.remainder) for piece in pieces),
        keys=tuple(sorted(rows, key=lambda row: (-row.messages, row.text))),
    )


def key_sentence(explanation: KeyExplanation) -> str:
    """The rule in one sentence."""
    slot = explanation.slot.slot
    if explanation.owner is None:
        return f"slot {slot:,} belongs to nobody: messages of this key wait until somebody has it"
    name = shown(explanation.owner.name)
    if explanation.point is not None:
        round_the_end = ", round the end" if explanation.point.wrapped else ""
        if explanation.point.shared is not None and len(explanation.point.claimants) > 1:
            turn = explanation.point.shared
            return (
                f"slot {slot:,} falls on point {explanation.point.point:,}{round_the_end}, which "
                f"{len(explanation.point.claimants)} consumers share: "
                f"{turn.dividend:,} mod {turn.divisor} = {turn.remainder} is {name}"
            )
        return (
            f"slot {slot:,} falls on point {explanation.point.point:,}{round_the_end}, the first at or after it: {name}"
        )
    if explanation.range is not None:
        return f"slot {slot:,} lies in {explanation.range} of {name}"
    return f"slot {slot:,} goes to {name}"


def _obstacle(now: KeysSlice, explanation: KeyExplanation, wait: Wait | None) -> str:
    names = {consumer.consumer_id: shown(consumer.name) for consumer in now.consumers}
    if wait is None:
        if explanation.draining is None:
            return ""
        holder = names.get(explanation.draining.consumer_id, "?")
        return f"nothing waits yet; the slot drains until {holder} has acknowledged {explanation.draining.unacked}"
    count = f"{len(wait.messages)} message{'s' if len(wait.messages) != 1 else ''} of this slot"
    verb = "wait" if len(wait.messages) != 1 else "waits"
    if wait.reason is WaitReason.DRAINING:
        first = wait.holders[0]
        since = f" since {wait.since_ms:,} ms" if wait.since_ms is not None else ""
        tries = f"{wait.blocked_attempts} attempt{'s were' if wait.blocked_attempts != 1 else ' was'} blocked"
        return (
            f"draining: {count} {verb}{since} until {names.get(first.consumer_id, '?')} has acknowledged "
            f"{first.unacked}; {tries}"
        )
    held = ", ".join(f"{names.get(holder.consumer_id, '?')} holds {holder.unacked}" for holder in wait.holders)
    return f"{count} {verb} until {wait.reason.value}" + (f": {held}" if held else "")
