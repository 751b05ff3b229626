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
        own_setting = seen.limits.unacked_per_subscription(dispatcher.topic)
        own, limit = _number(own_setting), int(_number(per_broker))
        # Where the dump shows the subscription's limit and not the broker's, the flag alone tells that it has one.
        if not limit and (per_broker.value is not None or own_setting.value is None):
            return "the broker has no limit (maxUnackedMessagesPerBroker is 0)"
        unacked = dispatcher.sub.unacked_messages
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
            + f" {listed(holders)} {'holds' if len(holders) == 1 else 'hold'} them",
            dispatcher.topic,
            blocked=tuple(consumer.name for consumer in dispatcher.consumers),
            by=holders,
            waiting=dispatcher.backlog - unacked,
            numbers=(("limit", limit), ("unacked", unacked), ("backlog", dispatcher.backlog)),
            setting=setting,
            fix=f"let {listed(holders)} acknowledge, or "
            + (f"look which limit it is: {look}" if far_below else f"raise the limit: {mend}"),
            fields=("blockedSubscriptionOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesOnSubscription"),
        )

    return worst_of(seen, decide)


def consumer_limit(seen: SubscriptionSeen) -> Judgement:
    """Decide whether single consumers are stopped: they have permits left, and nothing is sent to them."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        stopped = [consumer for consumer in dispatcher.consumers if consumer.facts.blocked_on_unacked]
        if not stopped:
            return "blockedConsumerOnUnackedMsgs is false for every consumer"
        setting = seen.limits.unacked_per_consumer(dispatcher.topic)
        limit = int(_number(setting))
        names = tuple(consumer.name for consumer in stopped)
        unacked = max(consumer.unacked for consumer in stopped)
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
                ("permits", max(consumer.permits for consumer in stopped)),
                ("in_replay", dispatcher.replay),
            ),
            setting=setting,
            fix=f"let {listed(names)} acknowledge, or raise the limit: {mend}",
            fields=("blockedConsumerOnUnackedMsgs", "unackedMessages", "maxUnackedMessagesOnConsumer"),
        )

    return worst_of(seen, decide)


def _holders(dispatcher: Dispatcher) -> tuple[str, ...]:
    """Who holds unacknowledged messages, the one with most first in a tie of the dispatcher's order."""
    return tuple(consumer.name for consumer in dispatcher.consumers if consumer.unacked)


def _number(setting: Setting) -> float:
    value = setting.value if setting.value is not None else setting.default
    return value if isinstance(value, int | float) else 0
