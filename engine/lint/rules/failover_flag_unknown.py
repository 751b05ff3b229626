"""The flag is on, and the release does not know it (bug pattern F-3): partitions still go by modulo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.cases import SubscriptionCase
from engine.lint.model import Finding, Severity
from engine.lint.rule import Rule
from engine.lint.words import counted

ID: Final = "failover-flag-unknown"


def check(case: SubscriptionCase) -> Iterator[Finding]:
    """One finding for a subscription with partitioned topics and more than one consumer who could be active.

    O(n log n) for n consumers. A release without PIP-392 ignores the line in broker.conf without a word.

    >>> from engine.config import BrokerSettings, behaviour_of
    >>> from engine.failover.model import Consumer
    >>> from engine.lint.world import World
    >>> old = World(BrokerSettings(activeConsumerFailoverConsistentHashing=True), behaviour_of("4.0.0"))
    >>> two = (Consumer(1, "a"), Consumer(2, "b"))
    >>> [each.number("topics") for each in check(SubscriptionCase(old, "t/n", "s", "persistent://t/n/x", two, 5, 0))]
    [5]
    """
    world = case.world
    if not world.settings.activeConsumerFailoverConsistentHashing or world.flag_in_force:
        return
    if not case.partitioned or len(case.names) < 2:
        return
    what = (
        f"activeConsumerFailoverConsistentHashing is true, but Pulsar {world.behaviour.label} does not know it:"
        f" modulo decides for {counted(case.partitioned, 'partitioned topic')}"
    )
    advice = "run 4.0.1, 3.3.3, 3.0.8 or later of these lines, or take the setting out of broker.conf"
    yield Finding(ID, Severity.WARNING, what, case.where, (("topics", case.partitioned),), advice)


RULE: Final = Rule(
    ID,
    "the flag is on, but this release does not know it",
    Severity.WARNING,
    "PIP-392, #23584",
    check,
)
