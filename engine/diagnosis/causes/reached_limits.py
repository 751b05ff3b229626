"""Limits that stop messages: unacknowledged messages of a consumer, a subscription or a broker, and backlog quotas.

A broker resumes at half the limit, so the flag of a stopped consumer can appear with a number below the limit.
"""

from __future__ import annotations

from typing import Final

from engine.diagnosis.limits import BROKER as LIMIT_OF_BROKER
from engine.diagnosis.limits import NAMESPACE_POLICY, Setting
from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.seen import KEY_SHARED, Dispatcher, SubscriptionSeen, parent_of
from engine.producer_limit import is_limited
from engine.text import counted, joined, shell_line

BROKER: Final = "broker_unacked_limit"
SUBSCRIPTION: Final = "subscription_unacked_limit"
KEY_SHARED_CONSUMER: Final = "keyshared_unacked_limit"
SHARED_CONSUMER: Final = "consumer_unacked_limit"


def broker_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the limit of the whole broker stopped the subscription: it is blocked far below its own limit."""
    per_broker = seen.limits.of_broker("maxUnackedMessagesPerBroker")

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.sub.blocked_on_unacked:
            return "blockedSubscriptionOnUnackedMsgs is false"
        own_setting = seen.limits.unacked_per_subscription(dispatcher.topic)
        own, limit = _number(own_setting), int(_number(per_broker))
        # If the dump shows the subscription's limit but not the broker's, the flag alone shows that the broker has one.
        if not limit and (per_broker.value is not None or own_setting.value is None):
            return "the broker has no limit (maxUnackedMessagesPerBroker is 0)"
        unacked = dispatcher.unacked
        if own and unacked >= own / 2:
            return f"{unacked:,} unacknowledged reach the subscription's own limit of {own:,}"
        share = seen.limits.number("maxUnackedMessagesPerSubscriptionOnBrokerBlocked")
        held = f"more than {limit:,} unacknowledged messages" if limit else "too many unacknowledged messages"
        return Cause(
            BROKER,
            Verdict.BLOCKS,
            f"the broker holds {held} and stopped every subscription with more than {share:.0%} of them;"
            f" this one has {unacked:,}",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in dispatcher.consumers),
            by=_holders(dispatcher),
            waiting=dispatcher.backlog - unacked,
            numbers=(
                ("limit", limit),
                ("percent_per_dispatcher", share),
                ("unacked", unacked),
                ("backlog", dispatcher.backlog),
            ),
            setting=per_broker,
            fix=f"let {joined(_holders(dispatcher))} acknowledge, or raise maxUnackedMessagesPerBroker in broker.conf",
            fields=("blockedSubscriptionOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesPerBroker"),
        )

    return worst_of(seen, decide)


def subscription_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the limit of the subscription stopped it."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.sub.blocked_on_unacked:
            return "blockedSubscriptionOnUnackedMsgs is false"
        setting = seen.limits.unacked_per_subscription(dispatcher.topic)
        limit = int(_number(setting))
        unacked = dispatcher.unacked
        per_broker = seen.limits.of_broker("maxUnackedMessagesPerBroker")
        far_below = bool(limit) and unacked < limit / 2
        if far_below and (_number(per_broker) or (setting.value is not None and per_broker.value is None)):
            return f"{unacked:,} unacknowledged are far below the limit of {limit:,}"
        holders = _holders(dispatcher)
        command, higher = "set-max-unacked-messages-per-subscription", str(limit * 2)
        mend = shell_line("pulsar-admin", "namespaces", command, "-c", higher, seen.namespace)
        look = shell_line("pulsar-admin", "brokers", "get-runtime-config")
        return Cause(
            SUBSCRIPTION,
            Verdict.BLOCKS,
            f"{unacked:,} unacknowledged messages stopped the subscription"
            + (
                f", far below the default limit of {limit:,}: a lower one is set for it or for the whole broker"
                f" (maxUnackedMessagesPerBroker), which a dump with the broker's configuration shows;"
                if far_below
                else f" (limit {limit:,});"
            )
            + f" {joined(holders)} {'holds' if len(holders) == 1 else 'hold'} them",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in dispatcher.consumers),
            by=holders,
            waiting=dispatcher.backlog - unacked,
            numbers=(("limit", limit), ("unacked", unacked), ("backlog", dispatcher.backlog)),
            setting=setting,
            fix=f"let {joined(holders)} acknowledge, or "
            + (f"check which limit it is: {look}" if far_below else _raised("the limit", mend)),
            fields=("blockedSubscriptionOnUnackedMsgs", "unackedMessages", *_read(setting, "OnSubscription")),
        )

    return worst_of(seen, decide)


def consumer_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the limit of single consumers stopped them: they have permits, and nothing is sent to them."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        stopped = [consumer for consumer in dispatcher.consumers if consumer.facts.blocked_on_unacked]
        if not stopped:
            return "blockedConsumerOnUnackedMsgs is false for every consumer"
        setting = seen.limits.unacked_per_consumer(dispatcher.topic)
        limit = int(_number(setting))
        names = tuple(consumer.name for consumer in stopped)
        unacked = max(consumer.unacked for consumer in stopped)
        waiting = dispatcher.replay or dispatcher.backlog - dispatcher.unacked
        # A broker sends again from half the limit on, so the default cannot be in force far below that.
        is_lower = setting.value is None and 0 < unacked < limit / 2
        command, higher = "set-max-unacked-messages-per-consumer", str(limit * 2)
        mend = shell_line("pulsar-admin", "namespaces", command, "-c", higher, seen.namespace)
        ask = shell_line(
            "pulsar-admin", "topicPolicies", "get-max-unacked-messages-on-consumer", "--applied", dispatcher.topic
        )
        return Cause(
            KEY_SHARED_CONSUMER if dispatcher.sub.type == KEY_SHARED else SHARED_CONSUMER,
            Verdict.BLOCKS,
            f"{joined(names)} got nothing more at {counted(unacked, 'unacknowledged message')}"
            + (
                f": a limit of at most {2 * unacked:,} is set, not the default of {limit:,}"
                if is_lower
                else f" (limit {limit:,})"
            ),
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=waiting,
            numbers=(
                ("limit_at_most", 2 * unacked) if is_lower else ("limit", limit),
                ("unacked", unacked),
                ("permits", max(consumer.permits for consumer in stopped)),
                ("in_replay", dispatcher.replay),
            ),
            setting=setting,
            fix=f"let {joined(names)} acknowledge, or "
            + (f"look which limit it is: {ask}" if is_lower else _raised("the limit", mend)),
            fields=("blockedConsumerOnUnackedMsgs", "unackedMessages", *_read(setting, "OnConsumer")),
        )

    return worst_of(seen, decide)


def _read(setting: Setting, whose: str) -> tuple[str, ...]:
    """The member of a limit, where an answer has it."""
    return (f"maxUnackedMessages{whose}",) if setting.value is not None else ()


def _raised(what: str, command: str) -> str:
    """A command with twice the limit, which is an example: how much a consumer or a broker bears is not known here."""
    return f"raise {what}, for example to twice as much: {command}"


def _holders(dispatcher: Dispatcher) -> tuple[str, ...]:
    """Return the consumers with unacknowledged messages, in the dispatcher's order."""
    return tuple(consumer.name for consumer in dispatcher.consumers if consumer.unacked)


def _number(setting: Setting) -> float:
    value = setting.value if setting.value is not None else setting.default
    return value if isinstance(value, int | float) else 0


QUOTA: Final = "producer_side"
PRODUCERS_FULL: Final = "producers_full"
_EVICTION: Final = "consumer_backlog_eviction"


def backlog_quota(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the topic's backlog quota is exceeded: producers are blocked, or messages are skipped."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        topic = dispatcher.last.topic
        limit = topic.backlog_quota_bytes
        if limit <= 0:
            return _by_age(seen, dispatcher)
        policy = seen.limits.backlog_policy(topic.name)
        evicts = policy == _EVICTION
        skipped = _skipped(dispatcher) if evicts else 0
        size = topic.backlog_size_bytes
        if size is None:
            return "the answer lacks backlogSize"
        if not skipped and size <= limit:
            return f"the backlog of {size:,} bytes is within the quota of {limit:,}"
        if not evicts and (topic.publishers or (dispatcher.came_in or 0) > 0):
            return "producers are connected" if topic.publishers else "messages come in"
        if not evicts and topic.publishers is None:
            return "the answer lacks publishers"
        what = (
            f"the backlog quota of {limit:,} bytes throws messages away ({policy}): {skipped:,} were skipped unseen"
            if evicts
            else f"producers are kept out ({policy}): the backlog has {size:,} bytes, the quota {limit:,}"
        )
        raised = str(limit * 2)
        mend = shell_line("pulsar-admin", "namespaces", "set-backlog-quota", "-l", raised, "-p", policy, seen.namespace)
        return Cause(
            QUOTA,
            Verdict.BLOCKS,
            what,
            topic.name,
            waiting=dispatcher.backlog,
            numbers=(
                ("limit_bytes", limit),
                ("backlog_bytes", size),
                *((("publishers", topic.publishers),) if topic.publishers is not None else ()),
                ("backlog", dispatcher.backlog),
                *((("skipped", skipped),) if evicts else ()),
            ),
            setting=Setting("backlogQuota", limit, -1, policy),
            fix=f"consume what waits ({counted(dispatcher.backlog, 'message')}), or {_raised('the quota', mend)}",
            fields=("backlogSize", "backlogQuotaLimitSize", "publishers", "backlogQuotaMap"),
        )

    return worst_of(seen, decide, also_quiet=True)


def producers_full(seen: SubscriptionSeen) -> Judgement:
    """Decide whether a partition has as many producers as it takes, so that it refuses another."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        topic = dispatcher.last.topic
        if not topic.publishers:
            return "no producer is connected" if topic.publishers is not None else "the answer lacks publishers"
        setting = seen.limits.max_producers(topic.name)
        limit = int(_number(setting))
        if not limit or not is_limited(topic.name):
            return "producers are not limited (maxProducersPerTopic is 0)"
        if topic.publishers < limit:
            return f"{counted(topic.publishers, 'producer')} of {limit:,} that maxProducersPerTopic allows"
        return Cause(
            PRODUCERS_FULL,
            Verdict.BY_DESIGN,
            f"{counted(topic.publishers, 'producer')} of {limit:,} that maxProducersPerTopic allows"
            f" ({setting.source or 'policy'}): another one is refused, and its messages do not come in",
            topic.name,
            numbers=(("limit", limit), ("publishers", topic.publishers)),
            setting=setting,
            fix="if a producer reports ProducerBusy, close one that is not needed or "
            + _raised("the limit", _more_producers(seen, topic.name, setting, limit)),
            fields=("publishers", "max_producers_per_topic", "maxProducers", "maxProducersPerTopic"),
        )

    return worst_of(seen, decide, also_quiet=True)


def _more_producers(seen: SubscriptionSeen, topic: str, setting: Setting, limit: int) -> str:
    higher = str(limit * 2)
    if setting.source in (NAMESPACE_POLICY, LIMIT_OF_BROKER):
        return shell_line("pulsar-admin", "namespaces", "set-max-producers-per-topic", "-p", higher, seen.namespace)
    return shell_line("pulsar-admin", "topicPolicies", "set-max-producers", "-p", higher, parent_of(topic))


def _by_age(seen: SubscriptionSeen, dispatcher: Dispatcher) -> Judgement:
    """Judge a quota of time. Answers do not have the age of the backlog, so missing producers indicate it."""
    topic = dispatcher.last.topic
    limit_s = seen.limits.backlog_age_limit_s(topic.name)
    if limit_s <= 0:
        return "the topic has no backlog quota"
    if topic.publishers is None:
        return "the answer lacks publishers"
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
    """Count messages that came in since load, are not waiting, and were never sent."""
    came_in, out = dispatcher.last.topic.msg_in_counter, dispatcher.sub.msg_out_counter
    if came_in is None or out is None:
        return 0
    waiting = max(0, dispatcher.backlog - dispatcher.unacked)
    skipped = came_in - out - waiting
    return skipped if skipped > max(10, came_in // 20) else 0
