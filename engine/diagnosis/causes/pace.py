"""The pace of messages: rate limits, delays, a hot key, a slow consumer, redelivery, and backlogs that shrink."""

from __future__ import annotations

from typing import Final

from engine.admin.facts import NotReported
from engine.diagnosis.causes.consumers import RECEIVER_QUEUE, works_slowly
from engine.diagnosis.causes.counts import impossible
from engine.diagnosis.causes.in_hands import ABOUT, holders_of, newcomers_of, not_on_its_way
from engine.diagnosis.limits import Setting
from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.seen import FAILOVER, NOBODY, SHARED, ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.text import counted, joined, shell_line, time_text

RATE_LIMITED: Final = "dispatch_rate_limited"
DELAYED: Final = "delayed_messages"
HOT_KEY: Final = "hot_key"
SLOW_CONSUMER: Final = "slow_consumer"
REDELIVERY: Final = "redelivery_loop"
_REDELIVERED_AT_LEAST: Final = 10
_HOARDED_SHARE: Final = 0.5
_HOARDED_AT_LEAST: Final = 20
_HOARDED_OF_OUT: Final = 0.25
"""A consumer that keeps up holds far less than this part of the messages sent to it between two moments."""
_FEW: Final = 3
_DEAD_LETTERS: Final = Setting("deadLetterPolicy (client)")
_DEAD_LETTER: Final = "give the consumers a dead letter policy, so that a message is set aside after some attempts"


def dispatch_rate(seen: SubscriptionSeen) -> Judgement:
    """Decide whether a dispatch rate limit holds messages back: its counters rise while messages wait."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.sub.throttle_events.total():
            return "no limit has ever held anything back"
        if not dispatcher.throttled:
            return "no limit held anything back between the moments"
        if dispatcher.has_read_all:
            return "everything was read"
        growth = dispatcher.backlog_growth
        whose, policy, raise_it = _limit(dispatcher, seen.namespace)
        is_broker = whose == "broker"
        setting = seen.limits.of_broker(policy) if is_broker else seen.limits.dispatch_rate(dispatcher.topic, policy)
        seconds = dispatcher.seconds
        rate = dispatcher.out / seconds if dispatcher.out is not None and seconds else None
        speed = f"{rate:.1f} messages/s go out" if rate is not None else "messages go out slowly"
        return Cause(
            RATE_LIMITED,
            Verdict.SLOWS,
            f"the dispatch rate of the {whose} is limited"
            + (f" to {setting.value}" if setting.value is not None else "")
            + f": {speed}, {counted(dispatcher.backlog, 'message', 'waits', 'wait')}",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in dispatcher.consumers),
            waiting=dispatcher.unread,
            numbers=(
                ("throttle_events", dispatcher.throttled.total()),
                ("backlog", dispatcher.backlog),
                ("backlog_growth", growth or 0),
                *((("out_per_s", round(rate, 1)),) if rate is not None else ()),
            ),
            setting=setting,
            fix=f"raise it: {raise_it}",
            fields=("dispatchThrottledMsgEventsBy…Limit", "dispatchThrottledBytesEventsBy…Limit", "msgOutCounter"),
        )

    return worst_of(seen, decide)


def _limit(dispatcher: Dispatcher, namespace: str) -> tuple[str, str, str]:
    """Return the limit that holds back most: its owner in words, its policy, and the line that sets it."""
    ((worst, _),) = dispatcher.throttled.most_common(1)
    if worst == "broker":
        setting = "dispatchThrottlingRateInMsg"
        line = ("brokers", "update-dynamic-config", "--config", setting, "--value", "1000")
        return "broker", setting, shell_line("pulsar-admin", *line)
    policy, command = {
        "subscription": ("subscriptionDispatchRate", "set-subscription-dispatch-rate"),
        "topic": ("dispatchRate", "set-dispatch-rate"),
    }[worst]
    return worst, policy, shell_line("pulsar-admin", "namespaces", command, "-md", "1000", namespace)


def delayed(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the waiting messages were sent for later delivery."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        late = dispatcher.delayed
        if not late:
            return "no message is delayed"
        if late < dispatcher.backlog / 2:
            return f"{late:,} of {counted(dispatcher.backlog, 'message')} are delayed"
        return Cause(
            DELAYED,
            Verdict.BY_DESIGN,
            f"{late:,} of {counted(dispatcher.backlog, 'waiting message')} were sent to be delivered later",
            dispatcher.topic,
            waiting=late,
            numbers=(
                ("delayed", late),
                ("backlog", dispatcher.backlog),
                ("backlog_no_delayed", dispatcher.backlog - late),
            ),
            setting=seen.limits.of_broker("delayedDeliveryEnabled"),
            fix="wait; producers set deliverAfter and deliverAt",
            fields=("msgDelayed", "msgBacklog"),
        )

    return worst_of(seen, decide)


def hot_key(seen: SubscriptionSeen) -> Judgement:
    """Decide whether one Key_Shared consumer is overloaded while others are idle.

    Statistics do not show keys: a slow consumer with even keys looks the same.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.replay:
            return "no message waits for a single consumer"
        served = [consumer for consumer in dispatcher.consumers if consumer.stands_still is False]
        full = [consumer for consumer in served if _is_full(consumer)] or [
            consumer for consumer in served if _is_far_behind(consumer, dispatcher)
        ]
        if not full:
            return "no consumer that is served is out of permits"
        others = [consumer for consumer in dispatcher.consumers if consumer not in full]
        if len(full) > len(others):
            return f"{len(full)} of {len(dispatcher.consumers)} consumers are out of permits: all are busy"
        growth = dispatcher.backlog_growth
        if growth is not None and growth <= 0 and dispatcher.has_read_all:
            return "the backlog shrinks"
        names = tuple(consumer.name for consumer in full)
        sent = sum(consumer.out or 0 for consumer in full)
        share = sent / dispatcher.out if dispatcher.out else None
        return Cause(
            HOT_KEY,
            Verdict.SLOWS,
            f"{joined(names)} cannot keep up: {counted(dispatcher.replay, 'message')} of its keys wait while"
            f" {joined([consumer.name for consumer in others])} {'has' if len(others) == 1 else 'have'} permits left"
            + (f"; it gets {share:.0%} of what goes out" if share is not None else ""),
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=dispatcher.replay,
            numbers=(
                ("in_replay", dispatcher.replay),
                ("unacked", sum(consumer.unacked for consumer in full)),
                ("backlog", dispatcher.backlog),
                ("backlog_growth", growth or 0),
                *((("share_of_out", round(share, 3)),) if share is not None else ()),
            ),
            fix="a finer key, or a faster consumer; more consumers do not help, since a key has one",
            fields=("msgInReplay", "availablePermits", "msgOutCounter"),
        )

    return worst_of(seen, decide)


def _is_full(consumer: ConsumerSeen) -> bool:
    """Whether a consumer had no permits at one of the moments: those of a busy one vary."""
    known = [facts.available_permits for facts in (consumer.facts, consumer.before) if facts is not None]
    return any(permits is not None and permits <= 0 for permits in known)


def _is_far_behind(consumer: ConsumerSeen, dispatcher: Dispatcher) -> bool:
    """Whether a consumer has fewer permits than all others and holds most unacknowledged messages."""
    others = [other for other in dispatcher.consumers if other is not consumer]
    fewest = bool(others) and consumer.permits * 2 < min(other.permits for other in others)
    return fewest and consumer.unacked > 3 * max(_FEW, sum(other.unacked for other in others))


def slow_consumer(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are slow: one holds what others could process, or all acknowledge less than comes in."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        hoards = _hoards(dispatcher) if dispatcher.is_shared else "the messages are those of one consumer"
        if isinstance(hoards, Cause):
            return hoards
        slow = _acknowledges_slowly(dispatcher)
        return slow if isinstance(slow, Cause) else f"{hoards}; {slow}"

    return worst_of(seen, decide)


def _acknowledges_slowly(dispatcher: Dispatcher) -> Judgement:
    """Judge consumers that have taken all they can and acknowledge: slow is not stuck."""
    takers = list(dispatcher.consumers) if dispatcher.is_shared else [dispatcher.taker] if dispatcher.taker else []
    if not takers:
        return "nobody is connected"
    if any(consumer.facts.available_permits is None or consumer.permits > 0 for consumer in takers):
        return "a consumer has permits, or the answer does not say"
    if not dispatcher.unread:
        return "everything was read"
    if dispatcher.before is not None and dispatcher.out is None:
        return "the answer lacks msgOutCounter, or the topic was loaded anew"
    if not works_slowly(dispatcher, takers):
        return "nothing shows that messages are acknowledged"
    pace, came = dispatcher.acks_per_s, dispatcher.in_per_s
    growth = dispatcher.backlog_growth
    if dispatcher.out and growth is not None and growth <= max(_HOARDED_AT_LEAST, dispatcher.out // 10):
        return "the backlog hardly grows"
    if dispatcher.before is None and pace and came is None:
        return "the answer lacks msgRateIn"
    if dispatcher.before is None and pace and came is not None and came <= pace * ABOUT:
        return f"{pace:,.1f} messages/s are acknowledged and {came:,.1f} come in"
    names = tuple(consumer.name for consumer in takers)
    held = sum(consumer.unacked for consumer in takers)
    at = f" at {pace:,.2f}/s" if pace else ""
    fast = f" while {came:,.1f}/s come in" if came else ""
    left_s = dispatcher.backlog / pace if pace else None
    takes = f"; what waits takes {time_text(left_s * 1000)} at that pace" if left_s else ""
    return Cause(
        SLOW_CONSUMER,
        Verdict.SLOWS,
        f"{joined(names)} {'works' if len(names) == 1 else 'work'}, slowly: it acknowledges{at}{fast};"
        f" {counted(dispatcher.backlog - held, 'message', 'waits', 'wait')}"
        + (f", {held:,} are in its hands" if held else "")
        + takes,
        dispatcher.topic,
        by=names,
        waiting=dispatcher.backlog,
        numbers=(
            ("unacked", held),
            ("backlog", dispatcher.backlog),
            ("unread", dispatcher.unread),
            ("permits", sum(consumer.permits for consumer in takers)),
            *((("in_per_s", round(came, 2)),) if came is not None else ()),
            *((("acks_per_s", round(pace, 2)),) if pace else ()),
            *((("drain_s", round(left_s)),) if left_s else ()),
        ),
        setting=RECEIVER_QUEUE,
        fix="start more consumers, or make the work faster"
        if dispatcher.sub.type == SHARED
        else "make the work faster, or spread it over more partitions or keys",
        fields=("availablePermits", "messageAckRate", "lastAckedTimestamp", "lastConsumedTimestamp", "msgBacklog"),
    )


def _hoards(dispatcher: Dispatcher) -> Judgement:
    """Judge whether one consumer holds the waiting messages that others could process."""
    unacked = dispatcher.unacked
    if len(dispatcher.consumers) < 2:
        return "there is no other consumer"
    if not unacked or unacked < dispatcher.backlog * 0.9:
        return "what waits is not in the hands of consumers"
    holder = max(dispatcher.consumers, key=lambda consumer: consumer.unacked)
    at_least = 1 if dispatcher.out == 0 else _HOARDED_AT_LEAST
    if holder.unacked < max(at_least, (holder.out or 0) * _HOARDED_OF_OUT):
        return "consumers hold little compared with what goes out"
    idle = tuple(consumer.name for consumer in dispatcher.consumers if not consumer.unacked and consumer.permits > 0)
    newcomers = {consumer.name for consumer in newcomers_of(dispatcher)} if dispatcher.sub.type == SHARED else set()
    if idle and newcomers.issuperset(idle):
        return "those that are idle came after the last message had been sent"
    if not idle or holder.unacked < unacked * _HOARDED_SHARE:
        return "the unacknowledged messages are spread over the consumers"
    done = -(dispatcher.backlog_growth or 0)
    seconds = dispatcher.seconds
    rate = done / seconds if seconds and done > 0 else None
    pace = f", {rate:.1f} acknowledged a second" if rate else ""
    later = "" if dispatcher.out is not None else "; a second dump, some seconds later, says whether it keeps up"
    return Cause(
        SLOW_CONSUMER,
        Verdict.SLOWS if dispatcher.out is not None else Verdict.CANNOT_TELL,
        f"{holder.name} holds {holder.unacked:,} of {counted(dispatcher.backlog, 'waiting message')}{pace};"
        f" {joined(idle)} {'is' if len(idle) == 1 else 'are'} idle{later}",
        dispatcher.topic,
        blocked=idle,
        by=(holder.name,),
        waiting=dispatcher.backlog,
        numbers=(
            ("unacked", holder.unacked),
            ("backlog", dispatcher.backlog),
            ("permits", holder.permits),
            *((("acks_per_s", round(rate, 1)),) if rate else ()),
        ),
        setting=RECEIVER_QUEUE,
        fix=f"give {holder.name} a smaller receiver queue, or an acknowledgement timeout; closing it sends what it"
        " holds to the others",
        fields=("unackedMessages", "msgBacklog", "msgOutCounter", "availablePermits"),
    )


def redelivery(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the same messages go out again and again: refused, or lost with consumers that end too early.

    Messages sent beyond those that came in or were unsent before were sent a second time.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.out is None or dispatcher.came_in is None or dispatcher.before is None:
            return _perhaps_redelivered(dispatcher)
        if dispatcher.is_shared and dispatcher.sub.unacked_messages is None:
            return "the answer lacks unackedMessages"
        if (dispatcher.backlog_growth or 0) * dispatcher.messages_per_entry > dispatcher.came_in:
            return "the backlog grew by more than came in: the cursor was reset"
        again = _sent_again(dispatcher)
        if again < _REDELIVERED_AT_LEAST or again < dispatcher.out / 5:
            return "hardly anything went out twice"
        rate = dispatcher.sub.msg_rate_redeliver_msgs_per_sec
        if not rate and again < dispatcher.out / 2:
            return "msgRateRedeliver is 0" if rate is not None else "the answer lacks msgRateRedeliver"
        changed = dispatcher.changed_hands
        once = dispatcher.before_backlog * dispatcher.messages_per_entry
        if changed and dispatcher.acknowledged is not False and again <= once:
            return "consumers came or went, which sends once more what they had"
        holders = holders_of(dispatcher)
        names = tuple(consumer.name for consumer in holders)
        blamed = joined(names) or "consumers"
        restarted = changed and bool(holders) and all(consumer.before is None for consumer in holders)
        if restarted:
            reason = f"{blamed} connected anew, and what was sent before was not acknowledged"
            fix = f"look at the log of {blamed}: it ends before it acknowledges"
        else:
            reason = f"{blamed} refused them"
            fix = f"look at why {blamed} cannot process them"
        return Cause(
            REDELIVERY,
            Verdict.SLOWS,
            f"{counted(dispatcher.out, 'message')} went out for {dispatcher.came_in:,} that came in: about {again:,}"
            f" were sent again, since {reason}",
            dispatcher.topic,
            by=names,
            waiting=dispatcher.backlog,
            numbers=(
                ("redelivered", again),
                *((("redeliver_rate", round(rate, 2)),) if rate is not None else ()),
                ("out", dispatcher.out),
                ("in", dispatcher.came_in),
                ("backlog", dispatcher.backlog),
            ),
            setting=_DEAD_LETTERS if dispatcher.is_shared else None,
            fix=f"{fix}; {_DEAD_LETTER}" if dispatcher.is_shared else fix,
            fields=("msgRateRedeliver", "msgOutCounter", "msgInCounter", "msgBacklog"),
        )

    return worst_of(seen, decide, also_quiet=True)


def _sent_again(dispatcher: Dispatcher) -> int:
    """Return about how many messages went out a second time between the moments.

    Of Failover and Exclusive only the cursor shows what is unsent; without one all that waits may be.
    """
    assert dispatcher.before is not None and dispatcher.out is not None and dispatcher.came_in is not None
    old = dispatcher.before_backlog * dispatcher.messages_per_entry
    if dispatcher.is_shared:
        unsent = max(0, dispatcher.backlog * dispatcher.messages_per_entry - dispatcher.unacked)
        unsent_before = max(0, old - (dispatcher.before.subscription.unacked_messages or 0))
    elif dispatcher.last.cursor is not None and dispatcher.before.cursor is not None:
        unsent = dispatcher.unread * dispatcher.messages_per_entry
        unsent_before = dispatcher.unread_before * dispatcher.messages_per_entry
    else:
        unsent, unsent_before = 0, old
    return min(dispatcher.out, dispatcher.out - dispatcher.came_in + unsent - unsent_before)


def _perhaps_redelivered(dispatcher: Dispatcher) -> Judgement:
    """Judge a single moment, which has only a rate that the broker renews once a minute."""
    again = dispatcher.sub.msg_rate_redeliver_msgs_per_sec
    out = dispatcher.sub.msg_rate_out_msgs_per_sec
    if not again or not dispatcher.backlog:
        return "one moment shows no redelivery"
    if out is None:
        return "the answer lacks msgRateOut"
    if again < out / 5:
        return f"{again:.1f} of {out:.1f} messages/s are redelivered"
    holders = tuple(consumer.name for consumer in dispatcher.consumers if consumer.unacked)
    return Cause(
        REDELIVERY,
        Verdict.CANNOT_TELL,
        f"{again:.1f} messages/s were sent again in the last minute ({out:.1f}/s went out); a second dump, some seconds"
        " later, says whether it goes on",
        dispatcher.topic,
        by=holders,
        waiting=dispatcher.backlog,
        numbers=(("redeliver_rate", round(again, 2)), ("out_rate", round(out, 2)), ("backlog", dispatcher.backlog)),
        setting=_DEAD_LETTERS,
        fix=_DEAD_LETTER,
        fields=("msgRateRedeliver", "msgRateOut", "msgBacklog"),
    )


IDLE: Final = "fine_idle"
KEEPING_UP: Final = "fine_keeping_up"
CATCHING_UP: Final = "fine_catching_up"
DROPPED: Final = "messages_dropped"


def dropped(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages are lost: a topic that is not persistent keeps none for a consumer without permits."""
    places = [(each, rate) for each in seen.dispatchers if (rate := each.sub.drop_rate_msgs_per_sec)]
    if not places:
        return "no message is dropped"
    worst, most = max(places, key=lambda place: place[1])
    lost = sum(rate for _, rate in places)
    return Cause(
        DROPPED,
        Verdict.SLOWS,
        f"{lost:,.2f} messages/s are dropped: what is not persistent is lost where no consumer has permits",
        worst.topic,
        topics=len(places),
        numbers=(("dropped_msgs_per_sec", round(lost, 2)), ("most", round(most, 2))),
        fix="give the consumers a larger receiver queue, or start more of them; a persistent topic loses nothing",
        fields=("msgDropRate",),
    )


def idle(seen: SubscriptionSeen) -> Judgement:
    """Decide whether everything that came in is processed."""
    if any(next(impossible(dispatcher), None) for dispatcher in seen.dispatchers):
        return "the broker reports numbers that cannot be"
    waiting = sum(dispatcher.backlog for dispatcher in seen.dispatchers if not dispatcher.acknowledged_all)
    if waiting:
        return f"{counted(waiting, 'message', 'waits', 'wait')}"
    out = [dispatcher.out for dispatcher in seen.dispatchers]
    sent = sum(count or 0 for count in out)
    went = "one moment" if seen.moments == 1 else "how many went out is not in the answers"
    if None not in out:
        went = f"{counted(sent, 'message')} went out"
    late = "; by its cursor all is acknowledged since the backlog was counted" if seen.backlog else ""
    return Cause(
        IDLE,
        Verdict.FINE,
        f"nothing waits; {went}{late}",
        topics=len(seen.dispatchers),
        numbers=(("backlog", seen.backlog), *((("out", sent),) if None not in out else ())),
        fields=("msgBacklog", "msgOutCounter", *(("markDeletePosition", "lastConfirmedEntry") if late else ())),
    )


def keeping_up(seen: SubscriptionSeen) -> Judgement:
    """Decide whether what waits is only on its way: little compared with what went out, wherever anything waits."""
    waiting = [dispatcher for dispatcher in seen.dispatchers if dispatcher.backlog and not dispatcher.acknowledged_all]
    if not waiting:
        return "nothing waits"
    if any(next(impossible(dispatcher), None) for dispatcher in seen.dispatchers):
        return "the broker reports numbers that cannot be"
    for dispatcher in waiting:
        problem = _unknown(dispatcher) or not_on_its_way(dispatcher)
        if problem:
            return problem
    sent = sum(dispatcher.out or 0 for dispatcher in seen.dispatchers)
    went = f"{counted(sent, 'message')} went out" if sent else "messages go out"
    return Cause(
        KEEPING_UP,
        Verdict.FINE,
        f"it keeps up: {went}, {seen.backlog:,} {'is on its' if seen.backlog == 1 else 'are on their'} way",
        topics=len(seen.dispatchers),
        waiting=seen.backlog,
        numbers=(("backlog", seen.backlog), ("out", sent)),
        fields=("msgBacklog", "msgOutCounter", "msgRateOut"),
    )


def _unknown(dispatcher: Dispatcher) -> str:
    """Return which member is missing without which a backlog is not harmless, "" if they are all there."""
    sub = dispatcher.sub
    if isinstance(sub.consumers, NotReported):
        return "the answer lacks consumers"
    if sub.consumers and sub.type == NOBODY:
        return "the answer lacks the type"
    if any(consumer.available_permits is None for consumer in sub.consumers):
        return "the answer lacks availablePermits"
    if sub.type == FAILOVER and len(sub.consumers) > 1 and dispatcher.active_name is None:
        return "the answer lacks the active consumer"
    return "the answer lacks unackedMessages" if dispatcher.is_shared and sub.unacked_messages is None else ""


def catching_up(seen: SubscriptionSeen) -> Judgement:
    """Decide whether a backlog shrinks."""
    if any(next(impossible(dispatcher), None) for dispatcher in seen.dispatchers):
        return "the broker reports numbers that cannot be"
    problem = next(filter(None, map(_unknown, seen.dispatchers)), "")
    if problem:
        return problem
    growths = [dispatcher.backlog_growth for dispatcher in seen.dispatchers]
    if None in growths:
        return "one moment alone does not say"
    total = sum(growth or 0 for growth in growths)
    if (
        not seen.backlog
        or total >= 0
        or any(dispatcher.out == 0 and dispatcher.unread for dispatcher in seen.dispatchers)
    ):
        return "the backlog does not shrink" if seen.backlog else "nothing waits"
    seconds = max(dispatcher.seconds or 0.0 for dispatcher in seen.dispatchers)
    left = f", done in about {seen.backlog / (-total / seconds):,.0f} s" if seconds else ""
    return Cause(
        CATCHING_UP,
        Verdict.FINE,
        f"it catches up: {counted(seen.backlog, 'message', 'waits', 'wait')}, {-total:,} fewer than before{left}",
        topics=len(seen.dispatchers),
        waiting=seen.backlog,
        numbers=(("backlog", seen.backlog), ("backlog_growth", total)),
        fields=("msgBacklog", "msgOutCounter"),
    )
