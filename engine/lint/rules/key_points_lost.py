"""Too many points for 65,535 slots: who joined first keeps them (bug pattern K13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.keyshared.fairness import CROWDED_BELOW
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.ring import RingForm, RingSelector
from engine.lint.model import Finding, KeyCase, Rule, Severity

ID: Final = "key-points-lost"
_ROOMY_SHARE: Final = 0.2
"""The part of the slots that points may take: about nine of ten then have one of their own."""


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding where fewer than 90 % of all points have a slot of their own: the loss, and the bias of joining.

    ``first_tenth`` and ``last_tenth`` are the mean shares of the earliest and the latest tenth of those connected, 1.0
    being an even share. O(1) where the ring has been laid out, else O(n log n) for n points; with a finding O(n) more.

    >>> from engine.keyshared.model import Consumer, SlotSpace
    >>> from engine.keyshared.ring import ring_selector
    >>> from engine.lint.model import World
    >>> ring = ring_selector(points=3, slots=SlotSpace(1, 2)).join(Consumer(1, "a"))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, ring.consumers, ring)
    >>> [(finding.number("points"), finding.number("points_with_a_slot")) for finding in check(case)]
    [(3, 2)]
    """
    ring = case.selector
    if not isinstance(ring, RingSelector) or ring.form is not RingForm.CURRENT or not ring.members:
        return
    claimed, occupied = ring.points * len(ring.members), len(ring.first_claims()[0])
    if occupied >= CROWDED_BELOW * claimed:
        return
    owned = slots_by_consumer(ring)
    slots = [sum(piece.count for piece in owned[consumer.consumer_id]) for consumer in ring.consumers]
    tenth = max(1, len(slots) // 10)
    even = sum(slots) / len(slots)
    first, last = sum(slots[:tenth]) / tenth / even, sum(slots[-tenth:]) / tenth / even
    lost = 1 - occupied / claimed
    what = (
        f"{claimed:,} points of {len(slots):,} consumers fall on {occupied:,} of {ring.slots.size:,} slots:"
        f" {lost:.0%} are lost to those that joined earlier; the earliest tenth has {first:.2f} times an even share,"
        f" the latest {last:.2f} times"
    )
    numbers = (
        ("consumers", len(slots)),
        ("points", claimed),
        ("points_with_a_slot", occupied),
        ("lost_share", lost),
        ("first_tenth", first),
        ("last_tenth", last),
    )
    room = int(_ROOMY_SHARE * ring.slots.size / len(slots))
    advice = "divide the consumers among several subscriptions"
    if 0 < room < ring.points:
        advice += (
            f", or set subscriptionKeySharedConsistentHashingReplicaPoints={room}: shares then differ by chance"
            " and not by the time of joining"
        )
    yield Finding(ID, Severity.WARNING, what, case.where, numbers, advice)


RULE: Final = Rule(
    ID,
    "points of the Key_Shared ring meet, and who joined later has less",
    Severity.WARNING,
    "PIP-379, #23441",
    check,
)
