"""What the metrics of brokers prove of subscriptions, where nothing else is known: how many messages wait, whether the
broker holds them back for unacknowledged ones, whether anybody is connected, and how fast messages come and go.

Types of subscriptions, the active consumer and keys are in no metric, and permits only of brokers that are set to name
consumers; so what is not proved is named, with the command that prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.admin.facts import NotReported, SubscriptionFacts, TopicFacts
from engine.admin.moments import Moment
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.causes.consumers import NO_CONSUMERS
from engine.diagnosis.causes.pace import CATCHING_UP, IDLE
from engine.diagnosis.causes.reached_limits import SUBSCRIPTION
from engine.diagnosis.model import Cause, Diagnosis, Numbers, Verdict, worst_first
from engine.diagnosis.seen import UNKNOWN_TYPE
from engine.names import namespace_of
from engine.text import counted, joined, shell_line

METRICS_ONLY: Final = "metrics_only"
_Last = tuple[TopicFacts, SubscriptionFacts]


def diagnosed_metrics(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose the subscriptions that only metrics show, the worst first. O(subscriptions x moments)."""
    known = {topic for moment in moments for topic in moment.snapshot.topics}
    last: dict[tuple[str, str], _Last] = {}
    before: dict[tuple[str, str], _Last] = {}
    for moment in moments:
        for topic in moment.snapshot.metered.values():
            for sub in topic.subscriptions if topic.name not in known else ():
                key = topic.name, sub.name
                if key in last:
                    before[key] = last[key]
                last[key] = topic, sub
    return worst_first(
        Diagnosis(
            namespace_of(topic.name), sub.name, UNKNOWN_TYPE, topic.name, 1, len(moments), sub.msg_backlog_entries,
            (_cause(topic, sub, before.get(key)),),
        )
        for key, (topic, sub) in last.items()
    )  # fmt: skip


def _cause(topic: TopicFacts, sub: SubscriptionFacts, before: _Last | None) -> Cause:
    waiting = sub.msg_backlog_entries
    out, came_in = _between(topic, sub, before)
    numbers: Numbers = tuple(
        (name, value)
        for name, value in (
            ("backlog", waiting),
            ("unacked", sub.unacked_messages),
            ("in_replay", sub.msg_in_replay),
            ("delayed", sub.msg_delayed),
            ("out", out),
            ("in", came_in),
        )
        if value is not None
    )
    stats = shell_line("pulsar-admin", "topics", "stats", topic.name)
    if waiting is None:
        return Cause(
            NOT_REPORTED, Verdict.CANNOT_TELL, "the metrics lack pulsar_subscription_back_log", topic.name,
            numbers=numbers, fix=f"ask the broker: {stats}",
        )  # fmt: skip
    if sub.blocked_on_unacked and waiting:
        held = f"{sub.unacked_messages:,}" if sub.unacked_messages is not None else "too many"
        return Cause(
            SUBSCRIPTION, Verdict.BLOCKS,
            f"the broker sends nothing more, since {held} messages are unacknowledged: {counted(waiting, 'message')}"
            " wait",
            topic.name, waiting=waiting, numbers=numbers, fix=f"acknowledge them; who holds them: {stats}",
            fields=("pulsar_subscription_blocked_on_unacked_messages", "pulsar_subscription_unacked_messages"),
        )  # fmt: skip
    if not waiting:
        return Cause(
            IDLE, Verdict.FINE, "nothing waits", topic.name, numbers=numbers, fields=("pulsar_subscription_back_log",)
        )
    if not isinstance(sub.consumers, NotReported) and not sub.consumers:
        return Cause(
            NO_CONSUMERS, Verdict.BLOCKS, f"nobody is connected: {counted(waiting, 'message', 'waits', 'wait')}",
            topic.name, waiting=waiting, numbers=numbers, fix="start a consumer",
            fields=("pulsar_subscription_consumers_count", "pulsar_subscription_back_log"),
        )  # fmt: skip
    shrunk = before is not None and waiting < (before[1].msg_backlog_entries or 0)
    if shrunk and out:
        return Cause(
            CATCHING_UP, Verdict.FINE, f"{counted(out, 'message')} went out, and the backlog shrank to {waiting:,}",
            topic.name, numbers=numbers, fields=("pulsar_subscription_back_log", "pulsar_out_messages_total"),
        )  # fmt: skip
    return Cause(
        METRICS_ONLY,
        Verdict.CANNOT_TELL,
        _said(waiting, sub, out, came_in) + f"; {_unproved(sub)} are in no metric here",
        topic.name,
        waiting=waiting,
        numbers=numbers,
        fix=f"ask the broker twice, some seconds apart: {stats}",
        fields=("pulsar_subscription_back_log",),
    )


def _said(waiting: int, sub: SubscriptionFacts, out: int | None, came_in: int | None) -> str:
    parts = [
        f"{counted(waiting, 'message', 'waits', 'wait')}",
        f"{sub.unacked_messages:,} unacknowledged" if sub.unacked_messages is not None else "",
        f"{sub.msg_in_replay:,} in replay" if sub.msg_in_replay else "",
        f"{sub.msg_delayed:,} delayed" if sub.msg_delayed else "",
        f"{out:,} went out between the moments" if out is not None else "",
        f"{came_in:,} came in" if came_in is not None else "",
    ]
    if blocked := [consumer.name for consumer in sub.consumers if consumer.blocked_on_unacked]:
        parts.append(f"too many unacknowledged with {joined(blocked)}")
    return "; ".join(filter(None, parts))


def _unproved(sub: SubscriptionFacts) -> str:
    permits = not sub.consumers or any(consumer.available_permits is None for consumer in sub.consumers)
    return "the type, permits and the active consumer" if permits else "the type and the active consumer"


def _between(topic: TopicFacts, sub: SubscriptionFacts, before: _Last | None) -> tuple[int | None, int | None]:
    """Messages sent and published between the moments; None where a counter is missing or began anew."""
    if before is None:
        return None, None
    pairs = ((before[1].msg_out_counter, sub.msg_out_counter), (before[0].msg_in_counter, topic.msg_in_counter))
    grown = [None if old is None or new is None or new < old else new - old for old, new in pairs]
    return grown[0], grown[1]
