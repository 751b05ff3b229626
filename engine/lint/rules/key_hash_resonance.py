"""Partition and slot from one hash: consumers that never get a key of some partitions (hash resonance)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.keyshared.partition_slots import resonance_of
from engine.lint.model import Finding, KeyCase, Rule, Severity
from engine.text import counted

ID: Final = "key-hash-resonance"
_ADVICE: Final = (
    "let producers hash with JavaStringHash, take a number of partitions without a common divisor with the slots"
    " (65,536; of a ring 65,535), or give consumers wider ranges"
)


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding where, with Murmur3 producers, some consumers never get a key of some partitions: who, exactly.

    Brokers do not report how producers hash: it holds where they use ``Murmur3_32Hash``. O(pieces + consumers x
    partitions).

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = sticky_selector().join(Consumer(1, "a", ((0, 1),))).join(Consumer(2, "b", ((2, 65535),)))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky, partitions=4)
    >>> [(finding.number("consumers"), finding.number("slots")) for finding in check(case)]
    [(1, 16384)]
    """
    selector = case.selector
    if selector is None or case.partitions < 2 or not selector.consumers:
        return
    resonance = resonance_of(selector, case.partitions, 31)
    if not resonance.unreached:
        return
    names = {consumer.consumer_id: consumer.name for consumer in selector.consumers}
    worst, missed = max(resonance.unreached.items(), key=lambda item: (len(item[1]), -item[0]))
    affected, busiest = len(resonance.unreached), int(resonance.busy.max())
    what = (
        f"if producers hash keys with Murmur3_32Hash, {counted(affected, 'consumer')} never"
        f" {'gets' if affected == 1 else 'get'} a key of some partitions ({names[worst]} of {len(missed):,}):"
        f" each of {case.partitions:,} partitions sees {resonance.slots[1]:,} of {selector.slots.occurring:,} slots,"
        f" and at most {busiest:,} of {counted(len(selector.consumers), 'consumer')} can work on one"
    )
    numbers = (
        ("consumers", affected),
        ("partitions", case.partitions),
        ("slots", resonance.slots[1]),
        ("busiest", busiest),
        ("missed", len(missed)),
    )
    yield Finding(ID, Severity.INFO, what, case.where_of(names[worst]), numbers, _ADVICE)


RULE: Final = Rule(
    ID, "consumers never get a key of some partitions where producers hash with Murmur3", Severity.INFO, "", check
)
