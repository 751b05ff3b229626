"""Consumers that are missing from some partitions, or connected without having asked for a message."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from engine.admin.facts import NotReported
from engine.diagnosis.causes.consumers import RECEIVER_QUEUE, has_moved, nobody_has_asked
from engine.diagnosis.model import Cause, Judgement, Verdict, union, worst_of
from engine.diagnosis.seen import EXCLUSIVE, FAILOVER, KEY_SHARED, NOBODY, Dispatcher, SubscriptionSeen, parent_of
from engine.text import counted, joined, listed, moment_text

LOST_PARTITIONS: Final = "consumer_lost_partitions"
NEVER_ASKED: Final = "consumer_never_asked"
_NAMED: Final = 5


def lost_partitions(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are connected to partitions of a topic and not to others, where messages wait."""
    by_topic: defaultdict[str, list[Dispatcher]] = defaultdict(list)
    for dispatcher in seen.dispatchers:
        if dispatcher.last.topic.partition_index >= 0:
            by_topic[parent_of(dispatcher.topic)].append(dispatcher)
    causes = [cause for topic, siblings in by_topic.items() if (cause := _lost(topic, siblings)) is not None]
    if not causes:
        return "no partition is without a consumer while others of its topic have one and messages wait"
    return max(causes, key=lambda cause: cause.waiting)


def _lost(topic: str, siblings: list[Dispatcher]) -> Cause | None:
    served = [dispatcher for dispatcher in siblings if dispatcher.sub.consumers]
    without = [dispatcher for dispatcher in siblings if is_deserted(dispatcher)]
    lost = [dispatcher for dispatcher in without if dispatcher.backlog > 0]
    if not served or not lost:
        return None
    names = union([[consumer.name for consumer in dispatcher.sub.consumers] for dispatcher in served])
    waiting = sum(dispatcher.backlog for dispatcher in lost)
    worst = max(lost, key=lambda dispatcher: dispatcher.backlog)
    numbers = [f"{dispatcher.last.topic.partition_index}" for dispatcher in lost]
    since = max(max(dispatcher.last_sent_ms, dispatcher.last_acked_ms) for dispatcher in lost)
    last = f"; the last message went out there at {moment_text(since)}" if since else ""
    short = topic.rpartition("/")[2]
    return Cause(
        LOST_PARTITIONS,
        Verdict.BLOCKS,
        f"{joined(names)} {'is' if len(names) == 1 else 'are'} connected to {counted(len(served), 'partition')} of"
        f" {short} and not to {'partition' if len(lost) == 1 else 'partitions'} {listed(numbers, _NAMED)}, where"
        f" {counted(waiting, 'message', 'waits', 'wait')}{last}",
        worst.topic,
        topics=len(lost),
        by=names,
        waiting=waiting,
        numbers=(
            ("partitions", len(siblings)),
            ("lost_partitions", len(lost)),
            ("waiting", waiting),
            ("consumers", len(names)),
            ("lost", ", ".join(numbers)),
            *((("last_sent_ms", since),) if since else ()),
        ),
        fix=f"restart {joined(names)}, so that it connects to every partition, and look at its log from that time;"
        " do not skip what waits: the subscription is in use",
        fields=("consumers", "msgBacklog", "lastConsumedTimestamp"),
        symptom=LOST_PARTITIONS,
    )


def is_deserted(dispatcher: Dispatcher) -> bool:
    """Whether the answer has a list of consumers, and it is empty."""
    return not dispatcher.sub.consumers and not isinstance(dispatcher.sub.consumers, NotReported)


def never_asked(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers were never asked for a message by their client since they connected.

    A client with a receiver queue of 0 asks once for each call of ``receive``; after the topic has moved to another
    broker, a call that was already waiting does not ask again.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        silent = [consumer for consumer in dispatcher.consumers if consumer.never_asked]
        if dispatcher.sub.type == NOBODY:
            return "the answer lacks the type"
        if not silent:
            return "every consumer has asked for messages, or the answer does not say"
        if dispatcher.sub.type in (FAILOVER, EXCLUSIVE):
            taker = dispatcher.taker
            silent = [consumer for consumer in silent if consumer is taker]
            if not silent:
                return "the active consumer has asked for messages"
        has_own_cause = dispatcher.sub.type == FAILOVER or (dispatcher.sub.type == KEY_SHARED and dispatcher.replay)
        if (
            dispatcher.sub.type == KEY_SHARED
            and dispatcher.sub.msg_in_replay is None
            and len(silent) < len(dispatcher.consumers)
        ):
            return "the answer lacks msgInReplay"
        if has_own_cause and not (has_moved(dispatcher) or nobody_has_asked(dispatcher)):
            return "others have asked, and nothing shows that the topic moved: there is another cause for that"
        waiting = dispatcher.unread
        if dispatcher.sub.type == KEY_SHARED:
            waiting = dispatcher.replay or waiting
        if not waiting:
            return "nothing waits for it"
        others = [consumer for consumer in dispatcher.consumers if consumer not in silent]
        blocks = dispatcher.sub.type != "Shared" or not others
        names = tuple(consumer.name for consumer in silent)
        has = "has" if len(names) == 1 else "have"
        return Cause(
            NEVER_ASKED,
            Verdict.BLOCKS if blocks else Verdict.UNEVEN,
            f"{joined(names)} {has} never asked this broker for a message since connecting:"
            f" {counted(waiting, 'message', 'waits', 'wait')}",
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=waiting,
            numbers=(
                ("permits", max(consumer.permits for consumer in silent)),
                ("consumers", len(dispatcher.consumers)),
                ("never_asked", len(silent)),
                ("backlog", dispatcher.backlog),
                ("unread", dispatcher.unread),
            ),
            setting=RECEIVER_QUEUE,
            fix=f"restart {joined(names)}, or let it receive; with a receiver queue of 0 a client that waited in"
            " receive when the topic moved does not ask again, with a queue of 1 it does",
            fields=("availablePermits", "firstConsumedFlowTimestamp", "msgOutCounter", "msgBacklog"),
            symptom=NEVER_ASKED,
        )

    return worst_of(seen, decide)
