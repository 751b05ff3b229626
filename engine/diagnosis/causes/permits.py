"""A consumer asked for no more messages: its receiver queue is full, it is paused, or it hangs."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.worst import listed, worst_of
from engine.diagnosis.model import Cause, Judgement, Setting, Verdict
from engine.diagnosis.seen import FAILOVER, ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.lint.words import counted
from engine.shell_lines import shell_line

FAILOVER_ACTIVE: Final = "failover_active_no_permits"
KEY_SHARED: Final = "keyshared_no_permits"
ALL: Final = "no_permits"
RECEIVER_QUEUE: Final = Setting("receiverQueueSize", None, 1_000)
_FIELDS: Final = ("availablePermits", "msgOutCounter", "lastAckedTimestamp", "firstConsumedFlowTimestamp")


def of_active(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the active consumer of a Failover or Exclusive subscription takes nothing."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        active = dispatcher.active
        if active is None and dispatcher.sub.type != FAILOVER and len(dispatcher.consumers) == 1:
            active = dispatcher.consumers[0]
        if active is None:
            return "no active consumer is connected"
        if active.permits > 0:
            return f"{active.name} has {counted(active.permits, 'permit')}"
        if not dispatcher.unread:
            return "everything was read"
        if active.stands_still is False:
            return f"messages go out to {active.name}"
        if active.stands_still is None:
            return _unsure(FAILOVER_ACTIVE if dispatcher.sub.type == FAILOVER else ALL, dispatcher, active)
        standbys = [consumer.name for consumer in dispatcher.consumers if consumer.permits > 0]
        then = f"close {active.name}, and {listed(standbys)} can take over" if standbys else f"restart {active.name}"
        return Cause(
            FAILOVER_ACTIVE if dispatcher.sub.type == FAILOVER else ALL,
            Verdict.BLOCKS,
            f"{active.name} is active and {_asks_not(active)}: {counted(dispatcher.backlog, 'message')} wait",
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
    """Decide whether the keys of single Key_Shared consumers wait since these ask for nothing."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        empty = [consumer for consumer in dispatcher.consumers if consumer.lacks_permits]
        if not empty:
            return "every consumer has permits"
        if not dispatcher.replay:
            return "no message waits for a single consumer"
        still = [consumer for consumer in empty if consumer.stands_still]
        if not still:
            return f"messages go out to {listed([consumer.name for consumer in empty])}"
        names = tuple(consumer.name for consumer in still)
        return Cause(
            KEY_SHARED,
            Verdict.BLOCKS,
            f"{listed(names)} {_asks_not(still[0])}: {counted(dispatcher.replay, 'message')} of its keys wait",
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
            fix=f"let {listed(names)} receive; close it, and its keys go to the others:"
            f" {shell_line('pulsar-admin', 'topics', 'unload', dispatcher.topic)} drops a connection that is dead",
            fields=("msgInReplay", *_FIELDS),
        )

    return worst_of(seen, decide)


def of_all(seen: SubscriptionSeen) -> Judgement:
    """Decide whether no consumer of a Shared subscription asks for anything, although not everything was read."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.consumers:
            return "nobody is connected"
        if not all(consumer.lacks_permits for consumer in dispatcher.consumers):
            return "a consumer has permits"
        if not dispatcher.unread:
            return "everything was read"
        if dispatcher.stands_still is False:
            return "messages go out"
        if dispatcher.stands_still is None:
            return _unsure(ALL, dispatcher, dispatcher.consumers[0])
        names = tuple(consumer.name for consumer in dispatcher.consumers)
        return Cause(
            ALL,
            Verdict.BLOCKS,
            f"none of {counted(len(names), 'consumer')} asks for messages: {dispatcher.unread:,} wait",
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=dispatcher.unread,
            numbers=(("consumers", len(names)), ("unread", dispatcher.unread), ("backlog", dispatcher.backlog)),
            setting=RECEIVER_QUEUE,
            fix=f"let {listed(names)} receive, or start consumers that do",
            fields=_FIELDS,
        )

    return worst_of(seen, decide)


def _asks_not(consumer: ConsumerSeen) -> str:
    """How a consumer without permits is put in a sentence."""
    if consumer.facts.first_flow_ms == 0:
        return "has never asked for messages"
    return "asks for no more messages" if consumer.permits == 0 else f"has {consumer.permits:,} permits"


def _unsure(cause: str, dispatcher: Dispatcher, consumer: ConsumerSeen) -> Cause:
    """One moment alone: permits of 0 are normal for an instant."""
    return Cause(
        cause,
        Verdict.CANNOT_TELL,
        f"{consumer.name} has no permits at this moment; a second dump, some seconds later, says whether it stays so",
        dispatcher.topic,
        waiting=dispatcher.unread,
        numbers=(("permits", consumer.permits), ("backlog", dispatcher.backlog)),
        setting=RECEIVER_QUEUE,
        fix="take a second dump",
        fields=_FIELDS,
    )
