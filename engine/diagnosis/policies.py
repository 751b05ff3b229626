"""What policies prove by themselves: what a broker does at a limit, and what becomes of messages and subscriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from engine.admin.facts import Snapshot
from engine.admin.requests import NAMESPACE_POLICIES
from engine.text import counted, joined

_MB: Final = 2**20
_AT_QUOTA: Final = {
    "producer_request_hold": "then producers wait until consumers acknowledge",
    "producer_exception": "then producers are refused until consumers acknowledge",
    "consumer_backlog_eviction": "then the oldest messages are dropped although nobody acknowledged them",
}


def said_by_policies(snapshot: Snapshot) -> Iterator[str]:
    """A sentence for each policy whose effect is known here, with the topic or the namespace that has it."""
    for topic, policies in snapshot.topic_policies.items():
        for name, value in policies.items():
            for text in _said(_OF_TOPICS.get(name) or NAMESPACE_POLICIES.get(name, name), value):
                yield f"{topic}: {text}"
    for namespace, members in snapshot.namespace_policies.items():
        for name, value in members.items():
            for text in _said(name, value):
                yield f"{namespace}: {text}"


def _said(name: str, value: object) -> Iterator[str]:
    if name == "subscriptions" and isinstance(value, list):
        names = [str(each) for each in value]
        yield f"its subscriptions are {joined(names, 8)}, connected or not" if names else "it has no subscription"
    elif name in _LIMITS and (count := _whole(value)) is not None:
        limit, none = _LIMITS[name]
        yield limit.format(count) if count > 0 else none
    elif name == "backlog_quota_map" and isinstance(value, dict):
        yield from filter(None, map(_quota, value.values()))
    elif name == "retention_policies" and isinstance(value, dict):
        minutes, size_mb = _number(value, "retentionTimeInMinutes"), _number(value, "retentionSizeInMB")
        if minutes is not None and size_mb is not None:
            yield _retention(minutes, size_mb)
    elif name in _RATES and isinstance(value, dict):
        yield from _rate(_RATES[name], value)


_LIMITS: Final = {
    "max_unacked_messages_per_consumer": (
        "a consumer gets nothing more while {:,} messages are unacknowledged at it",
        "no consumer stops for unacknowledged messages",
    ),
    "max_unacked_messages_per_subscription": (
        "a subscription gets nothing more while {:,} of its messages are unacknowledged",
        "no subscription stops for unacknowledged messages",
    ),
    "max_producers_per_topic": ("a topic takes {:,} producers and refuses others", "any number of producers"),
    "message_ttl_in_seconds": (
        "what is not acknowledged within {:,} s counts as acknowledged, and nobody gets it any more",
        "no message expires",
    ),
    "subscription_expiration_time_minutes": (
        "a subscription without consumers for {:,} min is deleted with all that waits in it",
        "no subscription expires",
    ),
}
"""What a number above 0 means, and what 0 or less does."""
_OF_TOPICS: Final = {
    "maxUnackedMessagesOnConsumer": "max_unacked_messages_per_consumer",
    "maxUnackedMessagesOnSubscription": "max_unacked_messages_per_subscription",
    "maxProducers": "max_producers_per_topic",
}
_RATES: Final = {"topicDispatchRate": "of a topic", "subscriptionDispatchRate": "to a subscription"}


def _quota(quota: object) -> str:
    """One backlog quota as a sentence; "" for one without a limit."""
    if not isinstance(quota, dict):
        return ""
    size = next((size for name in ("limitSize", "limit") if (size := _number(quota, name)) is not None), -1)
    age_s = _number(quota, "limitTime") or -1
    most = [f"{size / 1e9:,.1f} GB of backlog"] if size >= 0 else []
    most += [f"a message unacknowledged for {age_s:,} s"] if age_s > 0 else []
    if not most:
        return ""
    policy = quota.get("policy")
    action = _AT_QUOTA.get(policy, "") if isinstance(policy, str) else ""
    return f"a topic, or each partition, may have {joined(most)}{f'; {action} ({policy})' if action else ''}"


def _retention(minutes: int, size_mb: int) -> str:
    if not minutes or not size_mb:
        return "what all subscriptions acknowledged is deleted"
    limits = [f"{minutes:,} min"] if minutes > 0 else []
    limits += [f"{size_mb * _MB / 1e9:,.1f} GB"] if size_mb > 0 else []
    kept = f"up to {joined(limits)}" if limits else "for ever"
    return f"acknowledged messages are kept {kept}: that is storage, not backlog"


def _rate(whose: str, value: Mapping[str, object]) -> Iterator[str]:
    """Dispatch rates, of one cluster or by cluster."""
    period_s = _number(value, "ratePeriodInSecond") or 1
    for member, unit in (("dispatchThrottlingRateInMsg", "message"), ("dispatchThrottlingRateInByte", "byte")):
        most = _number(value, member)
        if most is not None and most > 0:
            yield f"at most {counted(most, unit)} go out {whose} in {counted(period_s, 'second')}"
    for inner in value.values():
        if isinstance(inner, dict):
            yield from _rate(whose, inner)


def _number(members: Mapping[str, object], name: str) -> int | None:
    return _whole(members.get(name))


def _whole(value: object) -> int | None:
    """A number as Java has it; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None
