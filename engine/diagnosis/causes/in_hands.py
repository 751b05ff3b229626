"""Messages that went out and are in consumers' hands: not acknowledged, or prefetched before somebody joined."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.consumers import RECEIVER_QUEUE
from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.seen import KEY_SHARED, STILL_AFTER_MS, ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.text import counted, joined, moment_text, time_text

NOT_ACKNOWLEDGED: Final = "sent_not_acknowledged"
NEWCOMER: Final = "newcomer_gets_nothing"
_LONG_MS: Final = 60_000
"""A message that nobody acknowledged for this long is more than being processed."""
ABOUT: Final = 1.1
"""Averages of a minute that differ by less are equal."""
_SHORT_MS: Final = 5_000
"""Two moments this far apart show whether a consumer acknowledges at all."""
_HOARDED_AT_LEAST: Final = 20
_LONG_S: Final = 10.0
_ON_THEIR_WAY: Final = 10
_SOON_S: Final = 10.0
"""A backlog that does not grow and is worked off within this time is on its way."""


def not_acknowledged(seen: SubscriptionSeen) -> Judgement:
    """Decide whether what waits was sent and is not acknowledged.

    ``unackedMessages`` is always 0 for Failover and Exclusive. There the backlog is in the active consumer's hands if
    all that was published went out.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.consumers:
            return "nobody is connected"
        held = min(dispatcher.unacked, dispatcher.backlog) if dispatcher.is_shared else dispatcher.backlog
        if held <= 0 or dispatcher.acknowledged_all:
            return "nothing is in consumers' hands"
        if dispatcher.sent_all is None:
            return "the answers do not show whether all was sent"
        if not dispatcher.sent_all:
            return "not everything was sent"
        holders = holders_of(dispatcher)
        if not holders:
            return "no consumer holds a message"
        if dispatcher.acknowledged:
            return "messages were acknowledged between the moments"
        if dispatcher.before is None and dispatcher.acks_per_s:
            return "messages were acknowledged in the last minute"
        since_ms = max(dispatcher.last_sent_ms, dispatcher.last_acked_ms)
        for_ms = dispatcher.now_ms - since_ms if since_ms and dispatcher.now_ms else 0
        knows_times = dispatcher.knows_times
        never = knows_times and not dispatcher.last_acked_ms
        apart_ms = (dispatcher.seconds or 0) * 1000
        held_before = dispatcher.before is not None and (dispatcher.before.subscription.msg_backlog_entries or 0) > 0
        stays = dispatcher.acknowledged is False and held_before and apart_ms >= (_SHORT_MS if never else _LONG_MS)
        sure = knows_times and (stays or for_ms >= _LONG_MS)
        if not sure and dispatcher.before is None and dispatcher.last.at_ms is not None:
            return f"the last one went out or was acknowledged {time_text(for_ms)} ago"
        if not sure and not not_on_its_way(dispatcher):
            return "it went out a moment ago"
        names = tuple(consumer.name for consumer in holders)
        ago = f" for {time_text(for_ms)}" if for_ms >= 1000 else ""
        last = f" (last sent {moment_text(dispatcher.last_sent_ms)})" if dispatcher.last_sent_ms else ""
        doubt = "" if sure else "; a second dump, a minute later, says whether it still works on them"
        return Cause(
            NOT_ACKNOWLEDGED,
            Verdict.BLOCKS if sure else Verdict.CANNOT_TELL,
            f"everything published went out: {joined(names)} {'holds' if len(names) == 1 else 'hold'}"
            f" {counted(held, 'message')} and {'has' if len(names) == 1 else 'have'}"
            f" {'never acknowledged one' if never else 'not acknowledged'}{ago}{last}{doubt}",
            dispatcher.topic,
            by=names,
            waiting=held,
            numbers=(
                ("held", held),
                ("backlog", dispatcher.backlog),
                ("permits", sum(consumer.permits for consumer in holders)),
                *((("held_for_s", round(for_ms / 1000)),) if for_ms > 0 else ()),
                *((("sent_at_ms", dispatcher.last_sent_ms),) if dispatcher.last_sent_ms else ()),
                *((("acknowledged_at_ms", dispatcher.last_acked_ms),) if dispatcher.last_acked_ms else ()),
            ),
            fix=f"look at the application behind {joined(names)}: let it acknowledge, or close it, and its messages go"
            " out again; unloading the topic only sends them again to it",
            fields=_evidence(dispatcher),
            symptom=NOT_ACKNOWLEDGED,
        )

    return worst_of(seen, decide)


def not_on_its_way(dispatcher: Dispatcher) -> str:
    """Return why messages of a dispatcher are more than on their way, "" if they are."""
    little = max(_ON_THEIR_WAY, (dispatcher.came_in or 0) // 10)
    pace = dispatcher.acks_per_s
    replays = dispatcher.sub.msg_in_replay is None if dispatcher.sub.type == KEY_SHARED else False
    replays = replays or dispatcher.replay * 2 > dispatcher.backlog
    is_steady = dispatcher.out and 0 <= (dispatcher.backlog_growth or 0) <= little
    if dispatcher.before is None and pace and dispatcher.in_per_s is not None:
        is_steady = dispatcher.in_per_s <= pace * ABOUT
    soon = pace is not None and dispatcher.backlog * dispatcher.messages_per_entry <= pace * _SOON_S
    if dispatcher.backlog > little and not (is_steady and soon and not replays):
        return f"{counted(dispatcher.backlog, 'message', 'waits', 'wait')}"
    if dispatcher.before is None or dispatcher.out is None:
        at_ms, sent = dispatcher.last.at_ms, dispatcher.last_sent_ms
        sent_now = at_ms is not None and sent > 0 and at_ms - sent < STILL_AFTER_MS
        if dispatcher.sub.msg_rate_out_msgs_per_sec or sent_now:
            return ""
        return "the answer shows no message that went out"
    if dispatcher.acknowledged is False:
        return "nothing was acknowledged between the moments"
    if dispatcher.came_in is None:
        return "the answer lacks msgInCounter"
    if dispatcher.acknowledged or dispatcher.acks_per_s:
        return ""
    came_just_now = dispatcher.before_backlog == 0 and bool(dispatcher.came_in)
    return "" if came_just_now else "nothing shows that messages are acknowledged"


def holders_of(dispatcher: Dispatcher) -> list[ConsumerSeen]:
    """Return who has the messages: those that the broker counts for a consumer, else all of the one that gets all."""
    counted_ones = [consumer for consumer in dispatcher.consumers if consumer.unacked > 0]
    if counted_ones or dispatcher.is_shared:
        return counted_ones
    taker = dispatcher.taker
    return [taker] if taker is not None else []


def _evidence(dispatcher: Dispatcher) -> tuple[str, ...]:
    if dispatcher.is_shared:
        how: tuple[str, ...] = ("unackedMessages",)
    elif dispatcher.last.cursor is not None:
        how = ("readPosition", "lastConfirmedEntry")
    else:
        published = ("lastPublishTimeStamp",) if dispatcher.last.topic.last_publish_ms else ()
        how = (*published, "msgInCounter", "msgOutCounter", "availablePermits")
    return ("msgBacklog", *how, "lastConsumedTimestamp", "lastAckedTimestamp")


def newcomer(seen: SubscriptionSeen) -> Judgement:
    """Decide whether a consumer of a Shared subscription gets nothing because others had taken all before it came."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        newcomers = newcomers_of(dispatcher)
        if not newcomers:
            return "no consumer came after the last message had been sent"
        if dispatcher.unread or dispatcher.replay:
            return "messages wait that nobody has"
        others = [consumer for consumer in dispatcher.consumers if consumer not in newcomers]
        held = sum(consumer.unacked for consumer in others)
        pace = dispatcher.acks_per_s
        left_s = held / pace if held and pace else None
        names = tuple(consumer.name for consumer in newcomers)
        takers = [consumer for consumer in others if consumer.unacked] or [
            consumer for consumer in others if consumer.facts.msg_out_counter
        ]
        gap_ms = min(consumer.connected_ms or 0 for consumer in newcomers) - dispatcher.last_sent_ms
        hoarded = held >= _HOARDED_AT_LEAST and (left_s is None or left_s >= _LONG_S)
        shares = [f"{consumer.name} {consumer.unacked or consumer.facts.msg_out_counter or 0:,}" for consumer in takers]
        for_how_long = (
            f", about {time_text(left_s * 1000)} of work at their pace of {pace:.1f}/s" if left_s and pace else ""
        )
        what = f"still hold {counted(held, 'message')}" if held else "got all of it"
        return Cause(
            NEWCOMER,
            Verdict.UNEVEN if hoarded else Verdict.BY_DESIGN,
            f"{joined(names)} connected {time_text(gap_ms)} after the last message had been sent, so nothing was"
            f" left: the others {what} ({joined(shares)}){for_how_long}",
            dispatcher.topic,
            blocked=names,
            by=tuple(consumer.name for consumer in takers),
            waiting=held,
            numbers=(
                ("held", held),
                ("connected_after_ms", gap_ms),
                ("backlog", dispatcher.backlog),
                *((("acks_per_s", round(pace, 2)),) if pace is not None else ()),
                *((("drain_s", round(left_s)),) if left_s else ()),
                *(
                    (f"sent_to_{each.name}", each.facts.msg_out_counter)
                    for each in takers
                    if each.facts.msg_out_counter
                ),
            ),
            setting=RECEIVER_QUEUE,
            fix="give the consumers a smaller receiver queue, so that less is taken ahead and newcomers find work",
            fields=("connectedSince", "lastConsumedTimestamp", "unackedMessages", "msgOutCounter"),
        )

    return worst_of(seen, decide, also_quiet=True)


def newcomers_of(dispatcher: Dispatcher) -> list[ConsumerSeen]:
    """Return the consumers that were never sent anything and connected after the last message had gone out."""
    sent = dispatcher.last_sent_ms
    if not sent or len(dispatcher.consumers) < 2:
        return []
    return [
        consumer
        for consumer in dispatcher.consumers
        if consumer.facts.msg_out_counter == 0
        and not consumer.unacked
        and consumer.permits > 0
        and consumer.connected_ms is not None
        and consumer.connected_ms > sent
    ]
