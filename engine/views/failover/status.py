"""The status line: rule, flag, release, subscription, and where the state is from."""

from __future__ import annotations

from typing import Final

from engine.cluster.grammar.text import subscription_keys
from engine.cluster.timeline import Timeline
from engine.compare.verdict import Verdict
from engine.views.failover.model import StatusView
from engine.views.failover.ring import flag_known, rule_text
from engine.views.failover.slice import Slice

FAILOVER: Final = "Failover"


def status_view(timeline: Timeline, now: Slice, problems: int = 0, change: Verdict | None = None) -> StatusView:
    """The status of the shown subscription; ``problems`` is how many the opening of the state had.

    ``change`` is the verdict on turning consistent hashing on or off.
    """
    return StatusView(
        rule=now.rule,
        rule_text=rule_text(now),
        consistent_hashing=now.state.settings.activeConsumerFailoverConsistentHashing,
        flag_known=flag_known(now),
        release=now.state.release,
        subscription=now.subscription.key,
        namespace=now.subscription.namespace,
        subscription_type=FAILOVER,
        subscriptions=tuple(subscription_keys(now.state)),
        source=timeline.source,
        step=timeline.cursor,
        steps=timeline.length,
        seed=timeline.seed,
        problems=problems,
        flag_change=change.judgement if change is not None else None,
    )
