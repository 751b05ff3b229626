"""Numbered names take points of the failover ring from each other (bug pattern F09)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.failover.ring import POINTS_PER_CONSUMER, colliding_names, failover_ring
from engine.lint.model import Finding, Rule, Severity, SubscriptionCase
from engine.text import listed

ID: Final = "failover-names-collide"
_ADVICE: Final = (
    "give all numbers one width (c-01, c-02) or end the names with no digit (c-1x): then no name is another one with"
    " digits behind it"
)


def check(case: SubscriptionCase) -> Iterator[Finding]:
    """One finding for each name that loses points: how many, and its share of the ring beside an even one.

    ``lost_share`` is the part of its own points that it loses, ``share`` the part of the ring that is left to it.

    Without a collision O(n) for n names, else that and a ring of them, O(n log n) for 100 n points. Where modulo
    decides it is only to be known: the loss begins with the flag.

    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> three = tuple(Consumer(at, name) for at, name in enumerate(("c-1", "c-11", "c-2")))
    >>> (found,) = check(SubscriptionCase(World(), "t/n", "s", "persistent://t/n/x", three, 0, 1))
    >>> found.where.consumer, found.number("points_lost"), found.severity.label
    ('c-1', 10, 'warning')
    """
    losers = colliding_names(case.names)
    if not losers:
        return
    names = tuple(dict.fromkeys(case.names))
    ring = failover_ring(names)
    counts, shares, even = ring.point_counts(), ring.shares(), 1 / len(names)
    decides = case.ring_topics > 0
    effect = "" if decides else "; it counts once the ring decides"
    for at, name in enumerate(names):
        if name not in losers:
            continue
        lost = POINTS_PER_CONSUMER - counts[at]
        what = (
            f"{name} loses {lost} of its {POINTS_PER_CONSUMER} points to {listed(losers[name])}, and keeps"
            f" {shares[at]:.2%} of the failover ring (even: {even:.2%}): a point is name and number written together,"
            f" and {losers[name][0]} with 0 behind it is {name} with {losers[name][0][-1]}0{effect}"
        )
        numbers = (
            ("points_lost", lost),
            ("points_kept", counts[at]),
            ("points", POINTS_PER_CONSUMER),
            ("lost_share", lost / POINTS_PER_CONSUMER),
            ("share", shares[at]),
            ("even_share", even),
        )
        severity = Severity.WARNING if decides else Severity.INFO
        yield Finding(ID, severity, what, case.where_of(name), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "numbered names collide on the failover ring, and one of them loses points",
    Severity.WARNING,
    "AbstractDispatcherSingleActiveConsumer.makeHashRing; the same in Key_Shared was #22050",
    check,
)
