"""Slots that no sticky consumer declared (bug pattern K11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.keyshared.model import owner_of_key
from engine.keyshared.ownership import gaps_of, owned_ranges
from engine.keyshared.sticky import LegacyStickySelector, StickySelector
from engine.lint.model import Finding, KeyCase, Rule, Severity
from engine.text import counted, listed

ID: Final = "key-gaps"
_EFFECT: Final = {
    "waits": "messages of keys there wait for ever",
    "delays-newcomers": "messages of keys there wait for ever, and consumers that join later wait behind them",
    "stops-subscription": "the first message of a key there stops the whole subscription",
}


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding where sticky ranges leave slots to nobody: how many, and how many of the known keys fall there.

    O(r log r) for r ranges, and the known keys. Nothing where nobody is connected: then everything waits anyway.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = sticky_selector().join(Consumer(1, "a", ((0, 99), (200, 65535))))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky)
    >>> [finding.number("slots") for finding in check(case)]
    [100]
    """
    selector = case.selector
    if not isinstance(selector, (StickySelector, LegacyStickySelector)) or not selector.consumers:
        return
    gaps = gaps_of(selector.consumers, owned_ranges(selector), selector.slots)
    if not gaps.slot_count:
        return
    share = gaps.slot_count / selector.slots.size
    keys = sum(owner_of_key(selector, key) is None for key in case.known_keys)
    known = f" ({counted(keys, 'known key')})" if case.known_keys else ""
    what = (
        f"{counted(gaps.slot_count, 'slot')} ({share:.2%}) belong to nobody: {listed([str(r) for r in gaps.ranges])};"
        f" {_EFFECT[case.world.behaviour.ownerless_key]}{known}"
    )
    numbers = (("slots", gaps.slot_count), ("share", share), ("known_keys", keys))
    advice = f"let a consumer declare {listed([str(r) for r in gaps.ranges])} as well"
    yield Finding(ID, Severity.ERROR, what, case.where, numbers, advice)


RULE: Final = Rule(ID, "sticky ranges leave slots to nobody", Severity.ERROR, "#17679, #24730", check)
