"""Nobody is there: no consumer at all, a topic that no broker had loaded, an active consumer that is not connected."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.worst import worst_of
from engine.diagnosis.model import Cause, Judgement, Verdict
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.lint.words import counted
from engine.shell_lines import shell_line

TOPIC_NOT_LOADED: Final = "topic_not_loaded"
NO_CONSUMERS: Final = "no_consumers"
ACTIVE_NOT_CONNECTED: Final = "failover_active_not_connected"


def topic_not_loaded(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are away because a broker lost the topic.

    A broker that loads a topic counts from 0: messages are stored, none has come in since, and nobody is connected.
    Asking for the statistics loads the topic, so that it looks like a subscription that nobody uses.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.consumers:
            return "consumers are connected"
        if not dispatcher.backlog:
            return "nothing waits"
        listed_without = dispatcher.topic in seen.unloaded
        counts_anew = dispatcher.last.topic.msg_in_counter == 0 and dispatcher.sub.msg_out_counter == 0
        if not listed_without and not (counts_anew and not dispatcher.last.topic.publishers):
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
        skip = shell_line("pulsar-admin", "topics", "skip-all", "-s", seen.name, dispatcher.topic)
        growth = dispatcher.backlog_growth
        grows = f", {growth:,} more than before" if growth is not None and growth > 0 else ""
        return Cause(
            NO_CONSUMERS,
            Verdict.BLOCKS,
            f"nobody consumes: {counted(dispatcher.backlog, 'message')} wait{grows}",
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
