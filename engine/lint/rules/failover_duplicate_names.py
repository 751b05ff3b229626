"""Consumers of one name in a Failover subscription (bug pattern F10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, Severity, SubscriptionCase
from engine.text import counted

ID: Final = "failover-duplicate-names"
_ADVICE: Final = "give every consumer its own name, or let the client generate one"


def check(case: SubscriptionCase) -> Iterator[Finding]:
    """One finding for each name that several consumers of the best priority level have. O(n) for n consumers.

    Equal names have equal points, and the consumer that connected last owns them all: an error where the ring decides.
    Elsewhere each of them gets its part, and only statistics cannot distinguish them.

    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> two = (Consumer(1, "c"), Consumer(2, "c"))
    >>> case = SubscriptionCase(World(), "t/n", "s", "persistent://t/n/x", two, 3, 1)
    >>> [finding.severity.label for finding in check(case)]
    ['error']
    """
    ring_topics = case.ring_topics
    for name, count in Counter(case.names).items():
        if count == 1:
            continue
        numbers = (("consumers", count), ("never_active", count - 1 if ring_topics else 0), ("topics", ring_topics))
        start = f"{count} consumers are named {name!r}"
        if ring_topics:
            rest = "the other gets nothing" if count == 2 else f"the other {count - 1} get nothing"
            where = f"the ring of {counted(ring_topics, 'topic')}" if case.topic else "a ring"
            what = f"{start}: on {where} only the last connected of them can ever be active, {rest}"
            yield Finding(ID, Severity.ERROR, what, case.where_of(name), numbers, _ADVICE)
        else:
            what = f"{start}: statistics do not show which of them is active; on a ring only one could ever be"
            yield Finding(ID, Severity.INFO, what, case.where_of(name), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "several consumers of a Failover subscription have one name",
    Severity.ERROR,
    "review of #23583; #7827",
    check,
)
