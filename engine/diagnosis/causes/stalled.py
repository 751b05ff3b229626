"""Dispatchers that send nothing although consumers ask for messages, and waiting messages that nothing explains."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.joining import keeps_order_by_joining, waits_for_older
from engine.diagnosis.causes.slots import has_gap
from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.recording import settings_and_policies, two_moments
from engine.diagnosis.seen import KEY_SHARED, SHARED, ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.text import counted, joined, shell_line

STALLED: Final = "dispatcher_stalled"
UNEXPLAINED: Final = "waits_unexplained"
UNBLOCK: Final = "unblockStuckSubscriptionEnabled"
_MANY: Final = 100
"""More messages than can have come in the instant of a single moment."""

LOST_READ: Final = "read-without-cursor"
"""The dispatcher believes that a read is under way, and the cursor has none."""
NOBODY_READS: Final = "nobody-reads"
"""Neither the dispatcher nor the cursor has a read."""
SLEEPING_READ: Final = "read-waits-behind"
"""The cursor waits for a next entry although there are entries that it has not read."""
STORAGE_READ: Final = "storage-read"
"""The cursor has a read of stored entries that does not end."""


def stalled(seen: SubscriptionSeen) -> Judgement:
    """Decide whether nothing is sent although consumers have permits and messages wait.

    Cursors show where the chain is broken: ``subscriptionHavePendingRead`` is what the dispatcher believes,
    ``waitingReadOp`` and ``pendingReadOps`` what the cursor does. A broker with ``unblockStuckSubscriptionEnabled``
    only looks at the former (``checkAndUnblockIfStuck``).
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        problem = _unserved(dispatcher)
        if not problem and dispatcher.sub.type == KEY_SHARED:
            problem = _kept_in_order(seen, dispatcher)
        if problem:
            return problem
        asking = _asking(dispatcher)
        names = tuple(consumer.name for consumer in asking)
        sure = dispatcher.out == 0 and not dispatcher.last.topic.open_transactions
        symptom, chain, seen_by_broker = _broken_link(dispatcher)
        waiting = dispatcher.unread or dispatcher.replay
        still = f" for {dispatcher.seconds:.0f} s" if sure and dispatcher.seconds is not None else ""
        came = f", while {dispatcher.came_in:,} came in" if dispatcher.came_in else ""
        unload = shell_line("pulsar-admin", "topics", "unload", dispatcher.topic)
        if dispatcher.last.topic.open_transactions:
            doubt = "; a transaction is open, and what follows its first message waits until it ends"
        else:
            doubt = "" if sure else "; a second dump, some seconds later, says whether it stays so"
        return Cause(
            STALLED,
            Verdict.BLOCKS if sure else Verdict.CANNOT_TELL,
            f"{joined(names)} {'asks' if len(names) == 1 else 'ask'} for messages, and nothing is sent{still}{came}:"
            f" {counted(waiting, 'message', 'waits', 'wait')}{chain}{doubt}",
            dispatcher.topic,
            blocked=names,
            waiting=waiting,
            numbers=(
                ("permits", sum(consumer.permits for consumer in asking)),
                ("backlog", dispatcher.backlog),
                ("unread", dispatcher.unread),
                ("in_replay", dispatcher.replay),
                *((("out", dispatcher.out),) if dispatcher.out is not None else ()),
                *((("in", dispatcher.came_in),) if dispatcher.came_in is not None else ()),
            ),
            setting=seen.limits.of_broker(UNBLOCK),
            fix=f"{unload} starts the dispatcher anew; {seen_by_broker}" if sure else two_moments(dispatcher.topic),
            fields=("availablePermits", "msgOutCounter", "msgBacklog", *(_CURSOR if symptom else ())),
            symptom=symptom,
        )

    return worst_of(seen, decide)


_CURSOR: Final = ("readPosition", "subscriptionHavePendingRead", "waitingReadOp", "pendingReadOps")


def _kept_in_order(seen: SubscriptionSeen, dispatcher: Dispatcher) -> str:
    """Return why messages of Key_Shared may wait for the sake of order, "" if the answers rule that out."""
    if isinstance(waits_for_older(seen, dispatcher), Cause):
        return "consumers that joined wait for older messages"
    if dispatcher.sub.msg_in_replay is None and not keeps_order_by_joining(seen, dispatcher):
        return "the answer lacks msgInReplay"
    return ""


def _asking(dispatcher: Dispatcher) -> list[ConsumerSeen]:
    """Return the consumers that had permits at all moments and may get messages."""
    return [
        consumer
        for consumer in dispatcher.consumers
        if consumer.permits > 0
        and consumer.facts.blocked_on_unacked is False
        and (consumer.before is None or (consumer.before.available_permits or 0) > 0)
    ]


def _unserved(dispatcher: Dispatcher) -> str:
    """Return why no consumer waits in vain; "" if one does."""
    problem = _held_back(dispatcher)
    if problem:
        return problem
    if dispatcher.nothing_goes_out is False:
        return "messages go out"
    if dispatcher.nothing_goes_out is None and not _is_long_still(dispatcher):
        return "one moment alone does not say"
    if dispatcher.is_shared and dispatcher.sent_all is None:
        return "the answer lacks unackedMessages"
    if dispatcher.last.cursor is None and dispatcher.sub.msg_delayed is None and dispatcher.out is not None:
        return "the answer lacks msgDelayed"
    waiting = dispatcher.unread or (dispatcher.replay if dispatcher.sub.type == SHARED else 0)
    if not waiting or dispatcher.sent_all:
        return "everything was sent"
    if dispatcher.out is None:
        return ""
    # What came in since the moment before may only be on its way; without a cursor it must be more than was there.
    if not dispatcher.is_shared and dispatcher.sent_all is None:
        return "" if dispatcher.came_in else "what waits may be in the consumer's hands"
    return "" if dispatcher.unread_before or dispatcher.replay else "it came in since the moment before"


def _is_long_still(dispatcher: Dispatcher) -> bool:
    """Whether a single moment shows that nothing went out for a minute, and more waits than can have just come."""
    still = dispatcher.before is None and dispatcher.sub.msg_rate_out_msgs_per_sec == 0
    return still and dispatcher.unread >= _MANY


def _held_back(dispatcher: Dispatcher) -> str:
    """Return what else keeps messages from consumers that ask for them, "" if nothing does."""
    if not dispatcher.consumers:
        return "nobody is connected"
    if not _asking(dispatcher):
        return "no consumer had permits at every moment"
    if dispatcher.sub.blocked_on_unacked is not False:
        return "too many messages are unacknowledged, or the answer does not say"
    if dispatcher.throttled:
        return "the dispatch rate is limited"
    if dispatcher.sub.type == KEY_SHARED and dispatcher.replay:
        return "messages wait for single consumers"
    return "messages may wait for slots that no consumer declared" if has_gap(dispatcher) else ""


def _broken_link(dispatcher: Dispatcher) -> tuple[str, str, str]:
    """Return the symptom ("" if the answers do not show it), in words, and whether the broker itself can see it."""
    cursor = dispatcher.last.cursor
    hidden = f"{UNBLOCK} cannot see it, since the dispatcher believes that it reads"
    visible = f"{UNBLOCK}=true lets the broker find it and read again"
    if cursor is None or cursor.waits_for_entries is None or cursor.pending_reads is None or not dispatcher.unread:
        return "", "", f"{UNBLOCK} may find it where the dispatcher has no read under way; stats-internal shows that"
    if cursor.pending_reads:
        return (
            STORAGE_READ,
            f"; the cursor has {counted(cursor.pending_reads, 'read')} of stored entries that does not end",
            f"{hidden}; look at the bookies first",
        )
    if cursor.waits_for_entries:
        return SLEEPING_READ, "; the cursor waits for new entries although it has not read all", hidden
    if cursor.has_pending_read is None:
        return "", "; the cursor has no read under way", f"{UNBLOCK} finds it where the dispatcher has none either"
    if cursor.has_pending_read:
        return LOST_READ, "; the dispatcher waits for a read that the cursor does not have", hidden
    return NOBODY_READS, "; nobody reads: neither the dispatcher nor the cursor has a read under way", visible


def unexplained(seen: SubscriptionSeen) -> Cause | None:
    """Return the numbers of what waits, and what to record next; None where nothing waits."""
    waiting = [dispatcher for dispatcher in seen.dispatchers if dispatcher.backlog > 0]
    if not waiting:
        return None
    largest = max(waiting, key=lambda dispatcher: dispatcher.backlog)
    in_hands = largest.unacked
    left = max(0, largest.backlog - in_hands - largest.delayed)
    permits = [consumer for consumer in largest.consumers if consumer.facts.available_permits is not None]
    parts = [
        f"{counted(left, 'message', 'waits', 'wait')}",
        f"{in_hands:,} are unacknowledged with {joined(holders)}"
        if (holders := [consumer.name for consumer in largest.consumers if consumer.unacked])
        else "",
        f"{largest.delayed:,} are delayed" if largest.delayed else "",
        f"{largest.replay:,} are in replay" if largest.replay else "",
        "permits: " + joined([f"{consumer.permits:,} of {consumer.name}" for consumer in permits]) if permits else "",
        f"{largest.out:,} went out between the moments" if largest.out is not None else "",
    ]
    more = two_moments(largest.topic)
    if largest.out is not None and largest.last.cursor is not None:
        more = f"{settings_and_policies(largest.topic)}; look at the log of the broker that serves it"
    return Cause(
        UNEXPLAINED,
        Verdict.CANNOT_TELL,
        "; ".join(filter(None, parts)) + ", and nothing in the answers shows why",
        largest.topic,
        topics=len(waiting),
        waiting=sum(dispatcher.backlog for dispatcher in waiting),
        numbers=(
            ("backlog", largest.backlog),
            ("waiting", left),
            ("unacked", in_hands),
            ("delayed", largest.delayed),
            ("in_replay", largest.replay),
            *((("out", largest.out),) if largest.out is not None else ()),
            *((f"permits_of_{consumer.name}", consumer.permits) for consumer in permits[:_NAMED]),
        ),
        fix=f"record what is missing: {more}",
        fields=(
            "msgBacklog",
            *(("unackedMessages",) if largest.sub.unacked_messages is not None else ()),
            *(("availablePermits",) if permits else ()),
            *(("msgOutCounter",) if largest.out is not None else ()),
        ),
    )


_NAMED: Final = 4
