"""Too many unacknowledged messages: of one consumer, of a subscription, of the whole broker.

At half the limit the broker lets go, so that the flag can stand beside a number below the limit.
"""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.worst import listed, worst_of
from engine.diagnosis.model import Cause, Judgement, Setting, Verdict
from engine.diagnosis.seen import KEY_SHARED, Dispatcher, SubscriptionSeen
from engine.lint.words import counted
from engine.shell_lines import shell_line

BROKER: Final = "broker_unacked_limit"
SUBSCRIPTION: Final = "subscription_unacked_limit"
KEY_SHARED_CONSUMER: Final = "keyshared_unacked_limit"
SHARED_CONSUMER: Final = "consumer_unacked_limit"


def broker_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the broker as a whole stopped the subscription: its flag is set, far below its own limit."""
    per_broker = seen.limits.of_broker("maxUnackedMessagesPerBroker")

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.sub.blocked_on_unacked:
            return "blockedSubscriptionOnUnackedMsgs is false"
        if not seen.limits.number("maxUnackedMessagesPerBroker"):
            return "the broker has no limit (maxUnackedMessagesPerBroker is 0)"
        own = _number(seen.limits.unacked_per_subscription(dispatcher.topic))
        if own and dispatcher.sub.unacked_messages >= own / 2:
            return f"{dispatcher.sub.unacked_messages:,} unacknowledged reach the subscription's own limit of {own:,}"
        share = seen.limits.number("maxUnackedMessagesPerSubscriptionOnBrokerBlocked")
        limit = int(_number(per_broker))
        return Cause(
            BROKER,
            Verdict.BLOCKS,
            f"the broker holds more than {limit:,} unacknowledged messages and stopped every subscription with more"
            f" than {share:.0%} of them; this one has {dispatcher.sub.unacked_messages:,}",
            dispatcher.topic,
            blocked=tuple(each.name for each in dispatcher.consumers),
            by=_holders(dispatcher),
            waiting=dispatcher.backlog - dispatcher.sub.unacked_messages,
            numbers=(
                ("limit", limit),
                ("percent_per_dispatcher", share),
                ("unacked", dispatcher.sub.unacked_messages),
                ("backlog", dispatcher.backlog),
            ),
            setting=per_broker,
            fix=f"let {listed(_holders(dispatcher))} acknowledge, or raise maxUnackedMessagesPerBroker in broker.conf",
            fields=("blockedSubscriptionOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesPerBroker"),
        )

    return worst_of(seen, decide)


def subscription_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the subscription's own limit stopped it."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.sub.blocked_on_unacked:
            return "blockedSubscriptionOnUnackedMsgs is false"
        setting = seen.limits.unacked_per_subscription(dispatcher.topic)
        limit = int(_number(setting))
        unacked = dispatcher.sub.unacked_messages
        if seen.limits.number("maxUnackedMessagesPerBroker") and limit and unacked < limit / 2:
            return f"{unacked:,} unacknowledged are far below the limit of {limit:,}"
        holders = _holders(dispatcher)
        command, higher = "set-max-unacked-messages-per-subscription", str(limit * 2)
        mend = shell_line("pulsar-admin", "namespaces", command, "-c", higher, seen.namespace)
        return Cause(
            SUBSCRIPTION,
            Verdict.BLOCKS,
            f"{unacked:,} unacknowledged messages stopped the subscription (limit {limit:,});"
            f" {listed(holders)} {'holds' if len(holders) == 1 else 'hold'} them",
            dispatcher.topic,
            blocked=tuple(each.name for each in dispatcher.consumers),
            by=holders,
            waiting=dispatcher.backlog - unacked,
            numbers=(("limit", limit), ("unacked", unacked), ("backlog", dispatcher.backlog)),
            setting=setting,
            fix=f"let {listed(holders)} acknowledge, or raise the limit: {mend}",
            fields=("blockedSubscriptionOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesOnSubscription"),
        )

    return worst_of(seen, decide)


def consumer_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether single consumers are stopped: they have permits left, and nothing is sent to them."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        stopped = [each for each in dispatcher.consumers if each.facts.blocked_on_unacked]
        if not stopped:
            return "blockedConsumerOnUnackedMsgs is false for every consumer"
        setting = seen.limits.unacked_per_consumer(dispatcher.topic)
        limit = int(_number(setting))
        names = tuple(each.name for each in stopped)
        unacked = max(each.unacked for each in stopped)
        waiting = dispatcher.replay or dispatcher.backlog - dispatcher.sub.unacked_messages
        command, higher = "set-max-unacked-messages-per-consumer", str(limit * 2)
        mend = shell_line("pulsar-admin", "namespaces", command, "-c", higher, seen.namespace)
        return Cause(
            KEY_SHARED_CONSUMER if dispatcher.sub.type == KEY_SHARED else SHARED_CONSUMER,
            Verdict.BLOCKS,
            f"{listed(names)} got nothing more at {counted(unacked, 'unacknowledged message')} (limit {limit:,})",
            dispatcher.topic,
            blocked=names,
            by=names,
            waiting=waiting,
            numbers=(
                ("limit", limit),
                ("unacked", unacked),
                ("permits", max(each.permits for each in stopped)),
                ("in_replay", dispatcher.replay),
            ),
            setting=setting,
            fix=f"let {listed(names)} acknowledge, or raise the limit: {mend}",
            fields=("blockedConsumerOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesOnConsumer"),
        )

    return worst_of(seen, decide)


def _holders(dispatcher: Dispatcher) -> tuple[str, ...]:
    """Who holds unacknowledged messages, the one with most first in a tie of the dispatcher's order."""
    return tuple(each.name for each in dispatcher.consumers if each.unacked)


def _number(setting: Setting) -> float:
    value = setting.value if setting.value is not None else setting.default
    return value if isinstance(value, int | float) else 0
