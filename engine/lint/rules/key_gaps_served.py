"""Gaps between the sticky ranges of one consumer that it serves although its ranges do not hold them (#24730)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.keyshared.sticky import LegacyStickySelector
from engine.lint.model import Finding, KeyCase, Rule, Severity
from engine.ranges import HashRange, join_neighbours
from engine.text import counted

ID: Final = "key-gaps-served"
_ADVICE: Final = "before an upgrade to 4.0.7, 3.3.9, 3.0.14 or later let somebody declare these slots"


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding for each consumer that serves more slots than its ranges hold. O(r log r) for r ranges.

    Releases before #24730 keep only the ends of ranges; after an upgrade nobody owns these slots any more.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import legacy_sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = legacy_sticky_selector().join(Consumer(1, "a", ((0, 99), (200, 65535))))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky)
    >>> [(finding.where.consumer, finding.number("slots")) for finding in check(case)]
    [('a', 100)]
    """
    selector = case.selector
    if not isinstance(selector, LegacyStickySelector):
        return
    served = selector.served_ranges()
    for consumer in selector.consumers:
        ranges = join_neighbours(HashRange(start, end) for start, end in consumer.declared or () if start <= end)
        extra = sum(r.size for r in served.get(consumer.consumer_id, ())) - sum(r.size for r in ranges)
        if extra > 0:
            what = (
                f"{consumer.name or '(no name)'} serves {counted(extra, 'slot')} between its ranges that"
                f" statistics show as unowned: Pulsar {case.world.behaviour.label} keeps only the ends of ranges"
            )
            yield Finding(ID, Severity.WARNING, what, case.where_of(consumer.name), (("slots", extra),), _ADVICE)


RULE: Final = Rule(
    ID,
    "a sticky consumer serves gaps between its ranges, which an upgrade leaves to nobody",
    Severity.WARNING,
    "#24730",
    check,
)
