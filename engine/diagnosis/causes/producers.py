"""Nothing comes in: the backlog quota holds producers back, or throws messages away."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.worst import worst_of
from engine.diagnosis.model import Cause, Judgement, Setting, Verdict
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.lint.words import counted
from engine.text import shell_line

QUOTA: Final = "producer_side"
_EVICTION: Final = "consumer_backlog_eviction"


def backlog_quota(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the topic's backlog quota is exceeded: producers are held or refused, or messages are skipped."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        topic = dispatcher.last.topic
        limit = topic.backlog_quota_bytes
        if limit <= 0:
            return _by_age(seen, dispatcher)
        policy = seen.limits.backlog_policy(topic.name)
        evicts = policy == _EVICTION
        skipped = _skipped(dispatcher) if evicts else 0
        if not skipped and topic.backlog_size_bytes <= limit:
            return f"the backlog of {topic.backlog_size_bytes:,} bytes is within the quota of {limit:,}"
        if not evicts and (topic.publishers or (dispatcher.came_in or 0) > 0):
            return "producers are connected" if topic.publishers else "messages come in"
        what = (
            f"the backlog quota of {limit:,} bytes throws messages away ({policy}): {skipped:,} were skipped unseen"
            if evicts
            else f"producers are kept out ({policy}): the backlog has {topic.backlog_size_bytes:,} bytes, the quota"
            f" {limit:,}"
        )
        size = str(limit * 2)
        mend = shell_line("pulsar-admin", "namespaces", "set-backlog-quota", "-l", size, "-p", policy, seen.namespace)
        return Cause(
            QUOTA,
            Verdict.BLOCKS,
            what,
            topic.name,
            waiting=dispatcher.backlog,
            numbers=(
                ("limit_bytes", limit),
                ("backlog_bytes", topic.backlog_size_bytes),
                ("publishers", topic.publishers),
                ("backlog", dispatcher.backlog),
                *((("skipped", skipped),) if evicts else ()),
            ),
            setting=Setting("backlogQuota", limit, -1, policy),
            fix=f"consume what waits ({counted(dispatcher.backlog, 'message')}), or raise the quota: {mend}",
            fields=("backlogSize", "backlogQuotaLimitSize", "publishers", "backlogQuotaMap"),
        )

    return worst_of(seen, decide, also_quiet=True)


def _by_age(seen: SubscriptionSeen, dispatcher: Dispatcher) -> Judgement:
    """Judge a quota of time: how old the backlog is, is not printed, so producers that are gone have to say it."""
    topic = dispatcher.last.topic
    limit_s = seen.limits.backlog_age_limit_s(topic.name)
    if limit_s <= 0:
        return "the topic has no backlog quota"
    if topic.publishers or dispatcher.came_in != 0 or not dispatcher.backlog:
        return f"the backlog may be {limit_s:,} s old, and producers are not kept out"
    policy = seen.limits.backlog_policy(topic.name, "message_age")
    return Cause(
        QUOTA,
        Verdict.BLOCKS,
        f"producers are gone, as they are when the backlog is older than its quota of {limit_s:,} s ({policy})",
        topic.name,
        waiting=dispatcher.backlog,
        numbers=(("limit_s", limit_s), ("publishers", 0), ("backlog", dispatcher.backlog)),
        setting=Setting("backlogQuota", limit_s, -1, policy),
        fix=f"consume what waits ({counted(dispatcher.backlog, 'message')}), or raise the quota",
        fields=("publishers", "msgInCounter", "backlogQuotaMap"),
    )


def _skipped(dispatcher: Dispatcher) -> int:
    """Messages that came in since the topic was loaded, are not waiting, and never went out."""
    came_in, out = dispatcher.last.topic.msg_in_counter, dispatcher.sub.msg_out_counter
    if came_in is None or out is None:
        return 0
    waiting = max(0, dispatcher.backlog - dispatcher.sub.unacked_messages)
    skipped = came_in - out - waiting
    return skipped if skipped > max(10, came_in // 20) else 0
