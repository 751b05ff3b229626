"""Topics without partitions go by the ring although the flag is off (bug pattern F03)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.failover.choose import Rule as ActiveRule
from engine.lint.model import Finding, Rule, Severity, SubscriptionCase
from engine.text import counted

ID: Final = "failover-flag-ignored"
_ADVICE: Final = (
    "expect neither modulo nor the order of connecting there: ask which consumer a topic goes to, and choose names"
    " with the ring in mind"
)


def check(case: SubscriptionCase) -> Iterator[Finding]:
    """One finding for a subscription that has such topics and more than one consumer who could be active. O(n log n).

    Since 3.0 the setting is about partitions only. Before, and where it is on, these topics go as it suggests.

    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> two = (Consumer(1, "a"), Consumer(2, "b"))
    >>> case = SubscriptionCase(World(), "t/n", "s", "persistent://t/n/x", two, partitioned=5, unpartitioned=7)
    >>> [finding.number("topics") for finding in check(case)]
    [7]
    """
    flag = case.world.settings.activeConsumerFailoverConsistentHashing
    if flag or not case.unpartitioned or case.rule(-1) is not ActiveRule.RING or len(case.names) < 2:
        return
    what = (
        f"{counted(case.unpartitioned, 'topic')} without partitions: the hash ring decides, although"
        " activeConsumerFailoverConsistentHashing is false: the setting is about partitions only"
    )
    numbers = (("topics", case.unpartitioned), ("of_topics", case.unpartitioned + case.partitioned))
    yield Finding(ID, Severity.INFO, what, case.where, numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "topics without partitions go by the ring while the flag is off",
    Severity.INFO,
    "#19502, #24747, #20752",
    check,
)
