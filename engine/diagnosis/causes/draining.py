"""What keeps messages in order waits: slots that drain, the look-ahead that ends when too much waits for single
consumers, and segments of scalable topics that nobody is given before older ones are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from engine.admin.facts import NOT_REPORTED
from engine.diagnosis.model import Cause, Judgement, Verdict, natural, worst_of
from engine.diagnosis.seen import ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.text import counted, joined

DRAINING: Final = "keyshared_draining"
LOOK_AHEAD: Final = "keyshared_lookahead"
SEGMENT_WAITS: Final = "segment_waits"
_NEARLY: Final = 0.95
"""The share of a limit that counts as reached: some messages can have gone out since reading stopped."""


def draining(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages wait because the former owner of a slot has not acknowledged (PIP-379).

    A draining slot does harm only if a message was held back for it, and continues to if that happens again between
    the moments.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        slots = [(holder, slot) for holder in dispatcher.consumers for slot in holder.facts.draining]
        if not slots:
            return "no slot drains"
        blocking = [(holder, slot) for holder, slot in slots if slot.blocked_attempts > 0]
        if not blocking:
            return f"{counted(len(slots), 'slot')} drain, and no message was held back for them"
        attempts = sum(slot.blocked_attempts for _, slot in blocking)
        old_attempts = _attempts_before(dispatcher)
        if old_attempts is not None and attempts <= old_attempts and not dispatcher.replay:
            return "nothing was held back for draining slots since the moment before"
        waiting_at: defaultdict[str, Counter[str]] = defaultdict(Counter)
        held_back: Counter[str] = Counter()
        for holder, slot in blocking:
            owner = dispatcher.consumer_at(slot.hash)
            if owner is not None and owner.name != holder.name:
                waiting_at[owner.name][holder.name] += 1
                held_back[owner.name] += slot.blocked_attempts
        holders = tuple(dict.fromkeys(holder.name for holder, _ in blocking))
        worst = max((slot for _, slot in blocking), key=lambda slot: slot.blocked_attempts)
        pairs = [
            f"{waiter} waits for {joined(tuple(waiting_at[waiter]))} at {counted(waiting_at[waiter].total(), 'slot')}"
            f" ({counted(held_back[waiter], 'blocked attempt')})"
            for waiter in natural(waiting_at)
        ]
        replayed = dispatcher.sub.msg_in_replay
        waits = "" if replayed is None else f" {counted(replayed, 'message', 'waits', 'wait')},"
        return Cause(
            DRAINING,
            Verdict.BLOCKS,
            f"{', '.join(pairs) or joined(holders) + ' keeps slots from draining'};{waits} worst slot {worst.hash}",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in dispatcher.consumers if consumer.name in waiting_at),
            by=holders,
            waiting=dispatcher.replay,
            numbers=(
                ("draining_slots", len(slots)),
                ("draining_slots_blocking", len(blocking)),
                ("unacked_in_draining_slots", sum(slot.unacked for _, slot in slots)),
                ("unacked_of_holder", sum(holder.unacked for holder in dispatcher.consumers if holder.name in holders)),
                ("in_replay", dispatcher.replay),
                ("blocked_attempts", attempts),
                ("worst_slot", worst.hash),
                *((f"slots_of_{waiter}", sum(by_holder.values())) for waiter, by_holder in waiting_at.items()),
                *((f"attempts_of_{waiter}", count) for waiter, count in held_back.items()),
            ),
            fix=f"let {joined(holders)} acknowledge, or close it: its messages go to the new owners; a smaller receiver"
            " queue keeps less back",
            fields=("drainingHashes[].blockedAttempts", "keyHashRangeArrays", "msgInReplay"),
        )

    return worst_of(seen, decide)


def _attempts_before(dispatcher: Dispatcher) -> int | None:
    if dispatcher.before is None or dispatcher.restarted:
        return None
    return sum(
        slot.blocked_attempts for consumer in dispatcher.before.subscription.consumers for slot in consumer.draining
    )


def look_ahead(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the dispatcher stopped reading because too many messages wait for single consumers.

    Source: ``PersistentStickyKeyDispatcherMultipleConsumers.hasReachedLookAheadLimit`` of 4.0.
    """
    per_consumer = seen.limits.of_broker("keySharedLookAheadMsgInReplayThresholdPerConsumer")
    per_subscription = seen.limits.of_broker("keySharedLookAheadMsgInReplayThresholdPerSubscription")
    per_consumer_msgs, per_subscription_msgs = (
        seen.limits.number(per_consumer.name),
        seen.limits.number(per_subscription.name),
    )

    def decide(dispatcher: Dispatcher) -> Judgement:
        consumers = len(dispatcher.consumers)
        bounds = [bound for bound in (per_consumer_msgs * consumers, per_subscription_msgs) if bound > 0]
        if not bounds or not consumers:
            return "no look-ahead limit is in force"
        limit = int(min(bounds))
        if dispatcher.replay < limit * _NEARLY:
            return f"{counted(dispatcher.replay, 'message')} in replay, limit {limit:,}"
        if not dispatcher.unread:
            return "everything was read"
        if dispatcher.stands_still is False:
            return "messages go out"
        root = _roots(dispatcher)
        idle = [
            consumer for consumer in dispatcher.consumers if consumer.permits > 0 and consumer.stands_still is not False
        ]
        setting = (
            per_subscription
            if limit == int(per_subscription_msgs) and limit != per_consumer_msgs * consumers
            else per_consumer
        )
        by = tuple(consumer.name for consumer in root)
        return Cause(
            LOOK_AHEAD,
            Verdict.BLOCKS,
            f"{counted(dispatcher.replay, 'message', 'waits', 'wait')} for {joined(by) or 'single consumers'}, which is"
            f" the limit of the look-ahead: nothing more is read for anybody, {dispatcher.unread:,} stay unread",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in idle),
            by=by,
            waiting=dispatcher.replay + dispatcher.unread,
            numbers=(
                ("limit", limit),
                ("per_consumer", int(per_consumer_msgs)),
                ("per_subscription", int(per_subscription_msgs)),
                ("consumers", consumers),
                ("in_replay", dispatcher.replay),
                ("unread", dispatcher.unread),
                ("backlog", dispatcher.backlog),
            ),
            setting=setting,
            fix=f"fix {joined(by) or 'the consumer that the messages wait for'} first; raising {setting.name} only"
            " gives time",
            fields=("msgInReplay", "readPosition", "consumers[].availablePermits"),
        )

    return worst_of(seen, decide)


def _roots(dispatcher: Dispatcher) -> list[ConsumerSeen]:
    """Return the consumers that make messages wait: without permits, blocked, or holding draining slots."""
    return [
        consumer
        for consumer in dispatcher.consumers
        if consumer.permits <= 0
        or consumer.facts.blocked_on_unacked
        or any(slot.blocked_attempts for slot in consumer.facts.draining)
    ]


def segment_waits(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages wait in a segment until an older one is acknowledged.

    The other causes say of the older segment why that takes long: it is a topic of the same subscription.
    """
    by_topic = {dispatcher.topic: dispatcher for dispatcher in seen.dispatchers}

    def decide(dispatcher: Dispatcher) -> Judgement:
        older = dispatcher.last.waits_for
        if not older:
            return "no segment waits for another"
        if not dispatcher.backlog:
            return "nothing waits in the segment"
        known = by_topic.get(older)
        names = tuple(consumer.name for consumer in known.sub.consumers) if known is not None else ()
        rest = known.backlog if known is not None else 0
        wait = f"{counted(dispatcher.backlog, 'message', 'waits', 'wait')} until {older} is read to its end"
        verdict, why, fix = Verdict.SLOWS, "", "nothing: the next drain check, up to 15 minutes away, sees it"
        if known is None or (rest and known.sub.consumers is NOT_REPORTED):
            why, fix = ", and the answers do not say who reads that", f"look at {older}"
        elif rest and not names:
            verdict = Verdict.BLOCKS
            why, fix = f", where {counted(rest, 'message')} are left and nobody is connected", "start a consumer"
        elif rest:
            why = f", where {joined(list(names), 3)} has {counted(rest, 'message')} to acknowledge"
            fix = f"let {joined(list(names), 3)} acknowledge; closing it gives the segment to others"
        return Cause(
            SEGMENT_WAITS,
            verdict,
            wait + why,
            dispatcher.topic,
            by=names,
            waiting=dispatcher.backlog,
            numbers=(("backlog", dispatcher.backlog), ("older_backlog", rest), ("older_consumers", len(names))),
            fix=fix,
            fields=("subscriptions.segments.blocked", "layout.segments.parentIds", "msgBacklog"),
        )

    return worst_of(seen, decide)
