"""Rules about Key_Shared subscriptions: names, points, ranges and gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from engine.keyshared.fairness import CROWDED_BELOW
from engine.keyshared.model import Consumer, Selector, owner_of_key
from engine.keyshared.ownership import gaps_of, owned_ranges, slots_by_consumer
from engine.keyshared.partition_slots import resonance_of
from engine.keyshared.ring import RingForm, RingSelector, point_key
from engine.keyshared.sticky import LegacyStickySelector, StickySelector, policy_problem
from engine.lint.model import Finding, KeyCase, Rule, Severity
from engine.ranges import HashRange, join_neighbours
from engine.text import counted, listed

_DUPLICATE_NAMES_ADVICE: Final = "give every consumer its own name, or let the client generate one"


def duplicate_names(case: KeyCase) -> Iterator[Finding]:
    """Consumers of one name in a Key_Shared subscription (bug patterns K03, K04).

    One finding for each name that several consumers have. O(n) for n consumers.

    In the two oldest forms of the ring namesakes have one set of points and take turns slot by slot, so together they
    get the share of one consumer: a warning. Elsewhere each has its own, and only statistics by name mix them up.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.lint.model import World
    >>> two = (Consumer(1, "c"), Consumer(2, "c"))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, two)
    >>> [finding.severity.label for finding in duplicate_names(case)]
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
            yield Finding(
                DUPLICATE_NAMES.id,
                Severity.WARNING,
                what,
                case.where_of(name),
                numbers,
                _DUPLICATE_NAMES_ADVICE,
            )
        else:
            what = f"{count} consumers are named {name!r}: statistics by name cannot distinguish them"
            yield Finding(
                DUPLICATE_NAMES.id, Severity.INFO, what, case.where_of(name), numbers, _DUPLICATE_NAMES_ADVICE
            )


DUPLICATE_NAMES: Final = Rule(
    "key-duplicate-names",
    "several consumers of a Key_Shared subscription have one name",
    Severity.WARNING,
    "#10750, #13991, #23327",
    duplicate_names,
)


_EFFECT: Final = {
    "waits": "messages of keys there wait for ever",
    "delays-newcomers": "messages of keys there wait for ever, and consumers that join later wait behind them",
    "stops-subscription": "the first message of a key there stops the whole subscription",
}


def gaps(case: KeyCase) -> Iterator[Finding]:
    """Slots that no sticky consumer declared (bug pattern K11).

    One finding where sticky ranges leave slots to nobody: how many, and how many of the known keys fall there.

    O(r log r) for r ranges, and the known keys. Nothing where nobody is connected: then everything waits anyway.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = sticky_selector().join(Consumer(1, "a", ((0, 99), (200, 65535))))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky)
    >>> [finding.number("slots") for finding in gaps(case)]
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
    yield Finding(GAPS.id, Severity.ERROR, what, case.where, numbers, advice)


GAPS: Final = Rule("key-gaps", "sticky ranges leave slots to nobody", Severity.ERROR, "#17679, #24730", gaps)


_GAPS_SERVED_ADVICE: Final = "before an upgrade to 4.0.7, 3.3.9, 3.0.14 or later let somebody declare these slots"


def gaps_served(case: KeyCase) -> Iterator[Finding]:
    """Gaps between the sticky ranges of one consumer that it serves although its ranges do not hold them (#24730).

    One finding for each consumer that serves more slots than its ranges hold. O(r log r) for r ranges.

    Releases before #24730 keep only the ends of ranges; after an upgrade nobody owns these slots any more.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import legacy_sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = legacy_sticky_selector().join(Consumer(1, "a", ((0, 99), (200, 65535))))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky)
    >>> [(finding.where.consumer, finding.number("slots")) for finding in gaps_served(case)]
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
            yield Finding(
                GAPS_SERVED.id,
                Severity.WARNING,
                what,
                case.where_of(consumer.name),
                (("slots", extra),),
                _GAPS_SERVED_ADVICE,
            )


GAPS_SERVED: Final = Rule(
    "key-gaps-served",
    "a sticky consumer serves gaps between its ranges, which an upgrade leaves to nobody",
    Severity.WARNING,
    "#24730",
    gaps_served,
)


_HASH_RESONANCE_ADVICE: Final = (
    "let producers hash with JavaStringHash, take a number of partitions without a common divisor with the slots"
    " (65,536; of a ring 65,535), or give consumers wider ranges"
)


def hash_resonance(case: KeyCase) -> Iterator[Finding]:
    """Partition and slot from one hash: consumers that never get a key of some partitions (hash resonance).

    One finding where, with Murmur3 producers, some consumers never get a key of some partitions: who, exactly.

    Brokers do not report how producers hash: it holds where they use ``Murmur3_32Hash``. O(pieces + consumers x
    partitions).

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = sticky_selector().join(Consumer(1, "a", ((0, 1),))).join(Consumer(2, "b", ((2, 65535),)))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky, partitions=4)
    >>> [(finding.number("consumers"), finding.number("slots")) for finding in hash_resonance(case)]
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
    yield Finding(HASH_RESONANCE.id, Severity.INFO, what, case.where_of(names[worst]), numbers, _HASH_RESONANCE_ADVICE)


HASH_RESONANCE: Final = Rule(
    "key-hash-resonance",
    "consumers never get a key of some partitions where producers hash with Murmur3",
    Severity.INFO,
    "",
    hash_resonance,
)


_NAMES_COLLIDE_ADVICE: Final = "give all numbers one width (c-01, c-02), or run 3.0.3, 3.2.1, 3.3.0 or later"


def names_collide(case: KeyCase) -> Iterator[Finding]:
    """Numbered names make equal points on the Key_Shared ring before #22053 (bug pattern K08).

    One finding for each consumer's name that shares points with another name: how many.

    O(1) unless the ring has its oldest form, there O(n p) for n names of p points. Who shares a point takes turns.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.ring import ring_selector
    >>> from engine.lint.model import World
    >>> ring = ring_selector(RingForm.NAME_I).join(Consumer(1, "c-1")).join(Consumer(2, "c-11"))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, ring.consumers, ring)
    >>> [(finding.where.consumer, finding.number("points_shared")) for finding in names_collide(case)]
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
        yield Finding(NAMES_COLLIDE.id, Severity.WARNING, what, case.where_of(name), numbers, _NAMES_COLLIDE_ADVICE)


NAMES_COLLIDE: Final = Rule(
    "key-names-collide",
    "numbered names share points of the Key_Shared ring (before 3.0.3, 3.2.1, 3.3.0)",
    Severity.WARNING,
    "#22050, #22053",
    names_collide,
)


def no_slots(case: KeyCase) -> Iterator[Finding]:
    """A connected Key_Shared consumer that no key can reach (bug pattern K13; sticky ranges outside the slots).

    One finding for each consumer without a slot. O(p) for p points that are laid out, else O(r log r) for r ranges.

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> from engine.lint.model import World
    >>> sticky = sticky_selector().join(Consumer(1, "a", ((0, 0),))).join(Consumer(2, "b", ((1, 65535),)))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, sticky.consumers, sticky)
    >>> [finding.where.consumer for finding in no_slots(case)]
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
            yield Finding(NO_SLOTS.id, Severity.ERROR, what, case.where_of(consumer.name), (("slots", 0),), advice)


def _with_slots(selector: Selector) -> set[int]:
    if isinstance(selector, RingSelector) and not selector.form.shares_points:
        # Every point has at least its own slot, and the first claimant of it is served there.
        _, first = selector.first_claims()
        return {selector.members[at].consumer.consumer_id for at in set(first.tolist())}
    return {owner for owner, pieces in slots_by_consumer(selector).items() if any(piece.count for piece in pieces)}


NO_SLOTS: Final = Rule(
    "key-no-slots",
    "a connected Key_Shared consumer owns no slot",
    Severity.ERROR,
    "ConsistentHashingStickyKeyConsumerSelector, HashRangeExclusiveStickyKeyConsumerSelector",
    no_slots,
)


_DISJOINT: Final = "let the ranges of all consumers be disjoint; both ends belong to a range"
_POSSIBLE: Final = "declare ranges from 0 to 65535 that are there and do not overlap one another"
_Piece = tuple[int, int, str]


def overlaps(case: KeyCase) -> Iterator[Finding]:
    """Sticky ranges that overlap (bug pattern K10): the broker refuses the second consumer.

    One finding for each consumer that cannot join those before it: its own ranges are impossible, or overlap.

    ``slots`` is how many of its slots others have already; touching ends overlap too. Disjoint ranges may interleave.
    O(r log r) for r ranges, and moving at most r pieces for each consumer.

    >>> from engine.lint.model import World
    >>> asked = {"a": ((0, 99), (400, 999)), "b": ((100, 399),), "c": ((90, 109),)}
    >>> consumers = tuple(Consumer(at, name, ranges) for at, (name, ranges) in enumerate(asked.items()))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, consumers)
    >>> [(finding.where.consumer, finding.number("slots")) for finding in overlaps(case)]
    [('c', 20)]
    """
    if case.selector is not None and len(case.selector.consumers) == len(case.consumers):
        # All of them have joined, whatever a client of ours would say to their ranges.
        return
    for refused in admitted(case.consumers)[1]:
        text = f"{refused.consumer.name or '(no name)'} {refused.why}"
        where = case.where_of(refused.consumer.name)
        advice = _DISJOINT if refused.slots else _POSSIBLE
        yield Finding(OVERLAPS.id, Severity.ERROR, text, where, (("slots", refused.slots),), advice)


@dataclass(frozen=True, slots=True)
class Refused:
    """A consumer that cannot join those before it, and how many of its slots they have."""

    consumer: Consumer
    why: str
    slots: int


def admitted(consumers: Sequence[Consumer]) -> tuple[tuple[Consumer, ...], tuple[Refused, ...]]:
    """Who can join, one after another, and who is refused. Who declares nothing always can. Cost as for ``check``."""
    taken: list[_Piece] = []
    good: list[Consumer] = []
    bad: list[Refused] = []
    for consumer in consumers:
        problem = policy_problem(consumer.declared) if consumer.declared is not None else None
        slots, other = (0, "") if problem is not None else _overlap(taken, consumer)
        if problem is not None:
            bad.append(Refused(consumer, f"cannot declare its ranges: {problem.message.rstrip('.')}", 0))
        elif slots:
            why = f"declares {counted(slots, 'slot')} that others have, first {other}: the broker refuses it"
            bad.append(Refused(consumer, why, slots))
        else:
            good.append(consumer)
            taken += [(start, end, consumer.name) for start, end in consumer.declared or ()]
            # Sorted runs are merged in linear time.
            taken.sort()
    return tuple(good), tuple(bad)


def _overlap(taken: list[_Piece], consumer: Consumer) -> tuple[int, str]:
    """How many slots of a consumer others have, and whose the first of them are. ``taken`` are sorted and disjoint."""
    slots, first = 0, ""
    for start, end in sorted(consumer.declared or ()):
        at = max(0, bisect_right(taken, start, key=lambda piece: piece[0]) - 1)
        while at < len(taken) and taken[at][0] <= end:
            common = min(end, taken[at][1]) - max(start, taken[at][0]) + 1
            if common > 0:
                slots += common
                first = first or f"[{taken[at][0]},{taken[at][1]}] of {taken[at][2] or '(no name)'}"
            at += 1
    return slots, first


OVERLAPS: Final = Rule(
    "key-overlaps",
    "sticky ranges overlap, so that a consumer is refused",
    Severity.ERROR,
    "#7217, #7231",
    overlaps,
)


_ROOMY_SHARE: Final = 0.2
"""The part of the slots that points may take: about nine of ten then have one of their own."""


def points_lost(case: KeyCase) -> Iterator[Finding]:
    """Too many points for 65,535 slots: who joined first keeps them (bug pattern K13).

    One finding where fewer than 90 % of all points have a slot of their own: the loss, and the bias of joining.

    ``first_tenth`` and ``last_tenth`` are the mean shares of the earliest and the latest tenth of those connected, 1.0
    being an even share. O(1) where the ring has been laid out, else O(n log n) for n points; with a finding O(n) more.

    >>> from engine.keyshared.model import Consumer, SlotSpace
    >>> from engine.keyshared.ring import ring_selector
    >>> from engine.lint.model import World
    >>> ring = ring_selector(points=3, slots=SlotSpace(1, 2)).join(Consumer(1, "a"))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, ring.consumers, ring)
    >>> [(finding.number("points"), finding.number("points_with_a_slot")) for finding in points_lost(case)]
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
    yield Finding(POINTS_LOST.id, Severity.WARNING, what, case.where, numbers, advice)


POINTS_LOST: Final = Rule(
    "key-points-lost",
    "points of the Key_Shared ring meet, and who joined later has less",
    Severity.WARNING,
    "PIP-379, #23441",
    points_lost,
)
