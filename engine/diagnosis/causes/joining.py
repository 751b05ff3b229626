"""Key_Shared before 4.0, and the classic dispatcher after it: consumers that joined wait for older messages.

A consumer that joins gets nothing behind its joining position until all before that is acknowledged. Source:
``PersistentStickyKeyDispatcherMultipleConsumers.getRestrictedMaxEntriesForConsumer`` of 3.x.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from engine.diagnosis.causes.slots import has_gap
from engine.diagnosis.model import Cause, Judgement, Verdict, natural, worst_of
from engine.diagnosis.recording import two_moments
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.text import counted, joined

RECENTLY_JOINED: Final = "keyshared_recently_joined"
_LAST_SLOT: Final = 65_536
"""Where the ranges of auto-split end in every release; only the ring before 4.0 had more."""


def recently_joined(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers that joined wait until everything sent before them is acknowledged."""
    return worst_of(seen, partial(waits_for_older, seen))


def waits_for_older(seen: SubscriptionSeen, dispatcher: Dispatcher) -> Judgement:
    """The same of one dispatcher."""
    sub = dispatcher.sub
    if len(dispatcher.consumers) < 2:
        return "there is no other consumer"
    if sub.allow_out_of_order_delivery:
        return "the subscription allows any order"
    if sub.allow_out_of_order_delivery is None and sub.mode is not None and not sub.after_mark_delete:
        return "the answer lacks allowOutOfOrderDelivery"
    if sub.unacked_messages is None or sub.msg_delayed is None:
        return "the answer lacks unackedMessages or msgDelayed"
    proof = _proof(seen, dispatcher)
    if not proof:
        return "by its answers the broker keeps order by draining hashes"
    if has_gap(dispatcher):
        return "messages may wait for slots that no consumer declared"
    waiting = max(0, dispatcher.backlog - dispatcher.unacked - dispatcher.delayed)
    if not waiting:
        return "nothing waits"
    if dispatcher.nothing_goes_out is False:
        return "messages go out"
    holders = tuple(consumer.name for consumer in dispatcher.consumers if consumer.unacked > 0)
    names = {consumer.name for consumer in dispatcher.consumers}
    listed = natural(name for name in sub.after_mark_delete if name in names)
    if not holders and not listed:
        return "no message is unacknowledged"
    asking = [consumer.name for consumer in dispatcher.consumers if consumer.permits > 0]
    blocked = listed or tuple(name for name in asking if name not in holders)
    if not set(blocked) & set(asking):
        return "no consumer that may have joined has permits"
    sure = dispatcher.nothing_goes_out is True
    where = ""
    joined_at = sorted({sub.after_mark_delete[name] for name in listed})
    if joined_at:
        where = f" joined at {joined(joined_at)}, and"
    cursor = dispatcher.last.cursor
    marked = cursor.mark_delete_position if cursor is not None else None
    until = f" (acknowledged up to {marked.ledger}:{marked.entry})" if marked is not None else ""
    who = f"{joined(holders)} {'has' if len(holders) == 1 else 'have'}" if holders else "somebody has"
    unacked = counted(dispatcher.unacked, "unacknowledged message") if dispatcher.unacked else "messages"
    doubt = "" if sure else "; a second dump, some seconds later, says whether anything moves"
    return Cause(
        RECENTLY_JOINED,
        Verdict.BLOCKS if sure else Verdict.CANNOT_TELL,
        f"{joined(blocked)}{where} may have nothing that was published later until all before that is"
        f" acknowledged{until}: {who} {unacked}, and {waiting:,} wait; {proof}{doubt}",
        dispatcher.topic,
        blocked=blocked,
        by=holders,
        waiting=waiting,
        numbers=(
            ("waiting", waiting),
            ("unacked", dispatcher.unacked),
            ("backlog", dispatcher.backlog),
            ("delayed", dispatcher.delayed),
            *((f"joined_at_{name}", sub.after_mark_delete[name]) for name in listed),
            *((("mark_delete", f"{marked.ledger}:{marked.entry}"),) if marked is not None else ()),
            *((f"permits_of_{consumer.name}", consumer.permits) for consumer in dispatcher.consumers[:_NAMED]),
        ),
        fix=f"let {joined(holders) or 'the consumers'} acknowledge, or close"
        f" {'it' if len(holders) == 1 else 'them'}: what it holds goes to the others; Pulsar 4.0 keeps order by key"
        " instead, and ends this" + ("" if sure else f"; to be sure: {two_moments(dispatcher.topic)}"),
        fields=(
            "unackedMessages",
            "availablePermits",
            "msgBacklog",
            *(("consumersAfterMarkDeletePosition",) if listed else ()),
            *(("markDeletePosition",) if marked is not None else ()),
        ),
        symptom=RECENTLY_JOINED,
    )


_NAMED: Final = 4


def keeps_order_by_joining(seen: SubscriptionSeen, dispatcher: Dispatcher) -> bool:
    """Whether answers show that this broker keeps order by recently joined consumers."""
    return bool(_proof(seen, dispatcher))


def _proof(seen: SubscriptionSeen, dispatcher: Dispatcher) -> str:
    """Return why this broker keeps order by recently joined consumers, "" if nothing shows that it does."""
    consumers = dispatcher.sub.consumers
    if dispatcher.sub.after_mark_delete or any(consumer.read_position_when_joining for consumer in consumers):
        return "the broker keeps order by recently joined consumers, as releases before 4.0 do"
    if any(end > _LAST_SLOT for consumer in consumers for _, end in consumer.key_hash_ranges):
        return "its ring has 2^31 slots, as in releases before 4.0, which keep order by recently joined consumers"
    if seen.behaviour.key_shared_order == "recently-joined":
        return f"Pulsar {seen.behaviour.label} keeps order by recently joined consumers"
    if all(
        consumer.draining_count is None
        and not consumer.key_hash_ranges
        and consumer.msg_out_counter is None
        and consumer.ack_rate_msgs_per_sec is None
        for consumer in consumers
    ):
        return "by its answer the broker is older than 4.0, and keeps order by recently joined consumers"
    return ""
