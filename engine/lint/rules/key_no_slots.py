"""A connected Key_Shared consumer that no key can reach (bug pattern K13; sticky ranges outside the slots)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.keyshared.model import Selector
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.ring import RingSelector
from engine.lint.model import Finding, KeyCase, Rule, Severity

ID: Final = "key-no-slots"


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding for each consumer without a slot. O(p) for p points that are laid out, else O(r log r) for r ranges.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = sticky_selector().join(Consumer(1, "a", ((0, 0),))).join(Consumer(2, "b", ((1, 65535),)))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky)
    >>> [finding.where.consumer for finding in check(case)]
    ['a']
    """
    selector = case.selector
    if selector is None:
        return
    served = _with_slots(selector)
    advice = (
        "take fewer points or fewer consumers, so that points are left for it"
        if isinstance(selector, RingSelector)
        else "let it declare slots from 1 to 65535, or take it away"
    )
    for consumer in selector.consumers:
        if consumer.consumer_id not in served:
            what = f"{consumer.name or '(no name)'} is connected and owns no slot: it can never get a message"
            yield Finding(ID, Severity.ERROR, what, case.where_of(consumer.name), (("slots", 0),), advice)


def _with_slots(selector: Selector) -> set[int]:
    if isinstance(selector, RingSelector) and not selector.form.shares_points:
        # Every point has at least its own slot, and the first claimant of it is served there.
        _, first = selector.first_claims()
        return {selector.members[at].consumer.consumer_id for at in set(first.tolist())}
    return {owner for owner, pieces in slots_by_consumer(selector).items() if any(piece.count for piece in pieces)}


RULE: Final = Rule(
    ID,
    "a connected Key_Shared consumer owns no slot",
    Severity.ERROR,
    "ConsistentHashingStickyKeyConsumerSelector, HashRangeExclusiveStickyKeyConsumerSelector",
    check,
)
