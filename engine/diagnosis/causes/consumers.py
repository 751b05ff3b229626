"""Consumers that are missing or ask for nothing: nobody connected, no permits, a full receiver queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.diagnosis.limits import Setting
from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.recording import two_moments
from engine.diagnosis.seen import (
    FAILOVER,
    STILL_AFTER_MS,
    ConsumerSeen,
    Dispatcher,
    SubscriptionSeen,
    parent_of,
)
from engine.text import counted, joined, shell_line

TOPIC_NOT_LOADED: Final = "topic_not_loaded"
NO_CONSUMERS: Final = "no_consumers"
ACTIVE_NOT_CONNECTED: Final = "failover_active_not_connected"
WAITS_BY_DESIGN: Final = "nobody is to read a segment before those that it descends from are read"


def topic_not_loaded(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are missing because a broker lost the topic.

    A broker that loads a topic counts from 0: messages are stored, none has come in since, and nobody is connected.
    The request for statistics itself loads the topic, which then looks like a subscription that nobody uses.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.consumers:
            return "consumers are connected"
        if not dispatcher.backlog:
            return "nothing waits"
        if dispatcher.last.waits_for:
            return WAITS_BY_DESIGN
        listed_without = dispatcher.topic in seen.unloaded
        counts_anew = dispatcher.last.topic.msg_in_counter == 0 and dispatcher.sub.msg_out_counter == 0
        if not listed_without and not (counts_anew and dispatcher.last.topic.publishers == 0):
            return "the topic has counted messages since it was loaded"
        how = "no broker had it loaded" if listed_without else "it was loaded a moment ago, and counts from 0"
        before = dispatcher.before
        away = tuple(consumer.name for consumer in before.subscription.consumers) if before is not None else ()
        return Cause(
            TOPIC_NOT_LOADED,
            Verdict.BLOCKS,
            f"{dispatcher.topic} lost its consumers when it was unloaded: {how}, and none of them is back",
            dispatcher.topic,
            blocked=away,
            waiting=dispatcher.backlog,
            numbers=(("backlog", dispatcher.backlog), ("consumers", 0), ("listed_as_loaded", int(not listed_without))),
            fix=f"let the consumers connect again; {shell_line('pulsar-admin', 'topics', 'lookup', dispatcher.topic)}"
            " names the broker that serves it",
            fields=("consumers", "msgInCounter", "msgOutCounter", "msgBacklog", "broker-stats/topics"),
        )

    return worst_of(seen, decide)


def no_consumers(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages wait because nobody is connected."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.consumers:
            return f"{counted(len(dispatcher.sub.consumers), 'consumer')} connected"
        if not dispatcher.backlog:
            return "nobody is connected, and nothing waits"
        if dispatcher.last.waits_for:
            return WAITS_BY_DESIGN
        if has_served_siblings(seen, dispatcher):
            return "other partitions of the topic have consumers"
        skip = shell_line("pulsar-admin", "topics", "skip-all", "-s", seen.name, dispatcher.topic)
        growth = dispatcher.backlog_growth
        grows = f", {growth:,} more than before" if growth is not None and growth > 0 else ""
        return Cause(
            NO_CONSUMERS,
            Verdict.BLOCKS,
            f"nobody consumes: {counted(dispatcher.backlog, 'message', 'waits', 'wait')}{grows}",
            dispatcher.topic,
            waiting=dispatcher.backlog,
            numbers=(("consumers", 0), ("backlog", dispatcher.backlog), ("backlog_growth", growth or 0)),
            fix=f"start a consumer; if nobody wants the messages: {skip}",
            fields=("consumers", "msgBacklog"),
        )

    return worst_of(seen, decide)


def active_not_connected(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the broker names an active consumer that is not in its own list."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        name = dispatcher.sub.active_consumer_name
        if not dispatcher.sub.consumers:
            return "nobody is connected"
        if name is None:
            return "the answer names no active consumer"
        if not any(consumer.name for consumer in dispatcher.sub.consumers):
            return "the answer lacks consumerName"
        if dispatcher.active_name is not None:
            return f"{name} is connected"
        return Cause(
            ACTIVE_NOT_CONNECTED,
            Verdict.BLOCKS if dispatcher.backlog and dispatcher.stands_still is not False else Verdict.SLOWS,
            f"the broker names {name} as the active consumer, which is not connected",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in dispatcher.consumers),
            by=(name,),
            waiting=dispatcher.backlog,
            numbers=(("backlog", dispatcher.backlog), ("consumers", len(dispatcher.sub.consumers))),
            fix=shell_line("pulsar-admin", "topics", "unload", dispatcher.topic),
            fields=("activeConsumerName", "consumers[].consumerName"),
        )

    return worst_of(seen, decide, also_quiet=True)


ACTIVE_NO_PERMITS: Final = "failover_active_no_permits"
OWNER_NO_PERMITS: Final = "keyshared_no_permits"
NO_PERMITS: Final = "no_permits"
RECEIVER_QUEUE: Final = Setting("receiverQueueSize", None, 1_000)
_FIELDS: Final = ("availablePermits", "msgOutCounter", "lastAckedTimestamp", "firstConsumedFlowTimestamp")


def of_active(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the active consumer of a Failover or Exclusive subscription has no permits."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        active = dispatcher.taker
        if active is None:
            return "no active consumer is connected"
        if active.permits > 0:
            return f"{active.name} has {counted(active.permits, 'permit')}"
        if not dispatcher.unread or dispatcher.sent_all:
            return "everything was sent"
        if active.stands_still is False:
            return f"messages go out to {active.name}"
        if works_slowly(dispatcher, [active]):
            return f"{active.name} acknowledges, and is slow"
        if active.never_asked and (has_moved(dispatcher) or nobody_has_asked(dispatcher)):
            return f"{active.name} has never asked this broker"
        if active.stands_still is None:
            return _unsure(ACTIVE_NO_PERMITS if dispatcher.sub.type == FAILOVER else NO_PERMITS, dispatcher, [active])
        standbys = [consumer.name for consumer in dispatcher.consumers if consumer.permits > 0]
        then = f"close {active.name}, and {joined(standbys)} can take over" if standbys else f"restart {active.name}"
        return Cause(
            ACTIVE_NO_PERMITS if dispatcher.sub.type == FAILOVER else NO_PERMITS,
            Verdict.BLOCKS,
            f"{active.name} is active and {_lack_of_permits(active)}:"
            f" {counted(dispatcher.backlog, 'message', 'waits', 'wait')}",
            dispatcher.topic,
            blocked=(active.name,),
            by=(active.name,),
            waiting=dispatcher.backlog,
            numbers=(
                ("permits", active.permits),
                ("backlog", dispatcher.backlog),
                ("unread", dispatcher.unread),
                ("standbys_with_permits", len(standbys)),
            ),
            setting=RECEIVER_QUEUE,
            fix=f"let {active.name} receive; {then}",
            fields=("activeConsumerName", *_FIELDS),
        )

    return worst_of(seen, decide)


def of_key_owner(seen: SubscriptionSeen) -> Judgement:
    """Decide whether keys wait because their Key_Shared consumers have no permits."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        empty = [consumer for consumer in dispatcher.consumers if consumer.lacks_permits]
        if not empty:
            return "every consumer has permits"
        if not dispatcher.replay:
            return "no message waits for a single consumer"
        if nobody_has_asked(dispatcher):
            return "no consumer has ever asked this broker"
        still = [consumer for consumer in empty if consumer.stands_still]
        if not still:
            return f"messages go out to {joined([consumer.name for consumer in empty])}"
        names = tuple(consumer.name for consumer in still)
        return Cause(
            OWNER_NO_PERMITS,
            Verdict.BLOCKS,
            f"{joined(names)} {_lack_of_permits(still[0])}: {counted(dispatcher.replay, 'message')} of its keys wait",
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=dispatcher.replay,
            numbers=(
                ("permits", max(consumer.permits for consumer in still)),
                ("unacked", sum(consumer.unacked for consumer in still)),
                ("in_replay", dispatcher.replay),
                ("backlog", dispatcher.backlog),
            ),
            setting=RECEIVER_QUEUE,
            fix=f"let {joined(names)} receive; close it, and its keys go to the others:"
            f" {shell_line('pulsar-admin', 'topics', 'unload', dispatcher.topic)} drops a connection that is dead",
            fields=("msgInReplay", *_FIELDS),
        )

    return worst_of(seen, decide)


def of_all(seen: SubscriptionSeen) -> Judgement:
    """Decide whether no consumer of a Shared subscription has permits, although not everything was read."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.consumers:
            return "nobody is connected"
        if not all(consumer.lacks_permits for consumer in dispatcher.consumers):
            return "a consumer has permits"
        if not dispatcher.unread:
            return "everything was read"
        if dispatcher.stands_still is False:
            return "messages go out"
        if works_slowly(dispatcher, dispatcher.consumers):
            return "messages are acknowledged, slowly"
        if nobody_has_asked(dispatcher):
            return "no consumer has ever asked this broker"
        if dispatcher.stands_still is None:
            return _unsure(NO_PERMITS, dispatcher, dispatcher.consumers)
        names = tuple(consumer.name for consumer in dispatcher.consumers)
        return Cause(
            NO_PERMITS,
            Verdict.BLOCKS,
            f"none of {counted(len(names), 'consumer')} asks for messages: {dispatcher.unread:,} wait",
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=dispatcher.unread,
            numbers=(("consumers", len(names)), ("unread", dispatcher.unread), ("backlog", dispatcher.backlog)),
            setting=RECEIVER_QUEUE,
            fix=f"let {joined(names)} receive, or start consumers that do",
            fields=_FIELDS,
        )

    return worst_of(seen, decide)


def works_slowly(dispatcher: Dispatcher, takers: Sequence[ConsumerSeen]) -> bool:
    """Whether consumers without permits acknowledge what they have: slow is not stuck."""
    if dispatcher.acknowledged is not None:
        return dispatcher.acknowledged
    if dispatcher.before is not None:
        return False
    if any(consumer.facts.ack_rate_msgs_per_sec for consumer in takers) or dispatcher.sub.ack_rate_msgs_per_sec:
        return True
    # The last acknowledgement is younger than the last message, and nearly as young as the answer.
    acked = dispatcher.last_acked_ms
    return acked - dispatcher.last_sent_ms > STILL_AFTER_MS and dispatcher.now_ms - acked < STILL_AFTER_MS


def has_served_siblings(seen: SubscriptionSeen, dispatcher: Dispatcher) -> bool:
    """Whether other partitions of the same topic have consumers."""
    if dispatcher.last.topic.partition_index < 0:
        return False
    parent = parent_of(dispatcher.topic)
    return any(
        other.sub.consumers and other.last.topic.partition_index >= 0 and parent_of(other.topic) == parent
        for other in seen.dispatchers
    )


def nobody_has_asked(dispatcher: Dispatcher) -> bool:
    """Whether consumers are connected, and none of them ever gave this broker a permit."""
    return bool(dispatcher.consumers) and all(consumer.never_asked for consumer in dispatcher.consumers)


def has_moved(dispatcher: Dispatcher) -> bool:
    """Whether the subscription got messages before this broker loaded the topic, and none since."""
    if dispatcher.last_sent_ms or dispatcher.sub.msg_out_counter:
        return False
    cursor = dispatcher.last.cursor
    if cursor is not None and cursor.mark_delete_position is not None:
        return cursor.mark_delete_position.entry >= 0
    counted_here = dispatcher.last.topic.msg_in_counter
    return counted_here is not None and counted_here < dispatcher.backlog


def _lack_of_permits(consumer: ConsumerSeen) -> str:
    """Describe a consumer without permits."""
    if consumer.facts.first_flow_ms == 0:
        return "has never asked for messages"
    return "asks for no more messages" if consumer.permits == 0 else f"has {consumer.permits:,} permits"


def _unsure(cause: str, dispatcher: Dispatcher, takers: Sequence[ConsumerSeen]) -> Cause:
    """Return the uncertain cause of a single moment: permits of 0 are normal for an instant."""
    names = tuple(consumer.name for consumer in takers)
    return Cause(
        cause,
        Verdict.CANNOT_TELL,
        f"{joined(names)} {'has' if len(names) == 1 else 'have'} no permits at this moment; a second dump, some seconds"
        " later, says whether it stays so",
        dispatcher.topic,
        waiting=dispatcher.unread,
        numbers=(("permits", max(consumer.permits for consumer in takers)), ("backlog", dispatcher.backlog)),
        setting=RECEIVER_QUEUE,
        fix=f"take a second dump: {two_moments(dispatcher.topic)}",
        fields=_FIELDS,
    )
