"""Consumers of one name in a Key_Shared subscription (bug patterns K03, K04)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from engine.keyshared.ring import RingSelector
from engine.lint.model import Finding, KeyCase, Rule, Severity

ID: Final = "key-duplicate-names"
_ADVICE: Final = "give every consumer its own name, or let the client generate one"


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding for each name that several consumers have. O(n) for n consumers.

    In the two oldest forms of the ring namesakes have one set of points and take turns slot by slot, so together they
    get the share of one consumer: a warning. Elsewhere each has its own, and only statistics by name mix them up.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.lint.model import World
    >>> two = (Consumer(1, "c"), Consumer(2, "c"))
    >>> [finding.severity.label for finding in check(KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, two))]
    ['info']
    """
    selector = case.selector
    shared = isinstance(selector, RingSelector) and selector.form.shares_points
    doubled = {name: n for name, n in Counter(consumer.name for consumer in case.consumers).items() if n > 1}
    for name, count in doubled.items():
        numbers = (("consumers", count),)
        if shared:
            what = (
                f"{count} consumers are named {name!r}: in Pulsar {case.world.behaviour.label} they have one set of"
                " points, so together they get the share of one consumer"
            )
            yield Finding(ID, Severity.WARNING, what, case.where_of(name), numbers, _ADVICE)
        else:
            what = f"{count} consumers are named {name!r}: statistics by name cannot distinguish them"
            yield Finding(ID, Severity.INFO, what, case.where_of(name), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "several consumers of a Key_Shared subscription have one name",
    Severity.WARNING,
    "#10750, #13991, #23327",
    check,
)
