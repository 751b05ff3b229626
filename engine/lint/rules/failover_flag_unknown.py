"""The flag is on, and the release does not know it (bug pattern F03): topics go as if it were not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.failover.choose import Rule as ActiveRule
from engine.lint.model import Finding, Rule, Severity, SubscriptionCase
from engine.text import counted

ID: Final = "failover-flag-unknown"


def check(case: SubscriptionCase) -> Iterator[Finding]:
    """One finding for a subscription with topics that the ring does not decide, and consumers to choose from.

    Partitions go by modulo, and before 3.0 topics without partitions to whoever connected first, of any priority level.
    O(n log n) for n consumers. A release without PIP-392 ignores the line in broker.conf without a word.

    >>> from engine.config import BrokerSettings, behaviour_of
    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> old = World(BrokerSettings(activeConsumerFailoverConsistentHashing=True), behaviour_of("4.0.0"))
    >>> two = (Consumer(1, "a"), Consumer(2, "b"))
    >>> case = SubscriptionCase(old, "t/n", "s", "persistent://t/n/x", two, 5, 0)
    >>> [finding.number("topics") for finding in check(case)]
    [5]
    """
    world = case.world
    if not world.settings.activeConsumerFailoverConsistentHashing or world.flag_in_force:
        return
    parts = case.partitioned if len(case.names) > 1 else 0
    others = case.unpartitioned if case.rule(-1) is not ActiveRule.RING and len(case.consumers) > 1 else 0
    if not parts + others:
        return
    effects = [f"modulo decides for {counted(parts, 'partitioned topic')}"] if parts else []
    if others:
        effects.append(f"the consumer that connected first has {counted(others, 'topic')} without partitions")
    what = (
        f"activeConsumerFailoverConsistentHashing is true, but Pulsar {world.behaviour.label} does not know it:"
        f" {' and '.join(effects)}"
    )
    advice = "run 4.0.1, 3.3.3, 3.0.8 or later of these lines, or take the setting out of broker.conf"
    yield Finding(ID, Severity.WARNING, what, case.where, (("topics", parts + others),), advice)


RULE: Final = Rule(
    ID,
    "the flag is on, but this release does not know it",
    Severity.WARNING,
    "PIP-392, #23584",
    check,
)
