"""Numbered names make equal points on the Key_Shared ring before #22053 (bug pattern K08)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.keyshared.ring import RingForm, RingSelector, point_key
from engine.lint.model import Finding, KeyCase, Rule, Severity
from engine.text import listed

ID: Final = "key-names-collide"
_ADVICE: Final = "give all numbers one width (c-01, c-02), or run 3.0.3, 3.2.1, 3.3.0 or later"


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding for each consumer's name that shares points with another name: how many.

    O(1) unless the ring has its oldest form, there O(n p) for n names of p points. Who shares a point takes turns.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.ring import ring_selector
    >>> from engine.lint.model import World
    >>> ring = ring_selector(RingForm.NAME_I).join(Consumer(1, "c-1")).join(Consumer(2, "c-11"))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, ring.consumers, ring)
    >>> [(finding.where.consumer, finding.number("points_shared")) for finding in check(case)]
    [('c-1', 10), ('c-11', 10)]
    """
    ring = case.selector
    if not isinstance(ring, RingSelector) or ring.form is not RingForm.NAME_I:
        return
    by_text: dict[str, list[str]] = {}
    for name in dict.fromkeys(consumer.name for consumer in ring.consumers):
        for replica in range(ring.points):
            by_text.setdefault(point_key(ring.form, name, 0, replica), []).append(name)
    shared: dict[str, int] = {}
    others: dict[str, set[str]] = {}
    for names in by_text.values():
        if len(names) > 1:
            for name in names:
                shared[name] = shared.get(name, 0) + 1
                others.setdefault(name, set()).update(other for other in names if other != name)
    for name, count in shared.items():
        what = (
            f"{name} shares {count} of its {ring.points} points with {listed(sorted(others[name]))}, since the names"
            " differ by digits at their end: consumers that share a point take turns"
        )
        numbers = (("points_shared", count), ("points", ring.points))
        yield Finding(ID, Severity.WARNING, what, case.where_of(name), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "numbered names share points of the Key_Shared ring (before 3.0.3, 3.2.1, 3.3.0)",
    Severity.WARNING,
    "#22050, #22053",
    check,
)
