"""Rules over Key_Shared subscriptions: each fires, each has a case where it nearly would, its numbers are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import mmh3
import pytest

from engine.keyshared.model import Consumer, DeclaredRanges, Selector, SlotSpace, owner_of_key
from engine.keyshared.ring import RingSelector, ring_selector
from engine.lint import KeyCase, Severity
from engine.lint.rules.keys import (
    DUPLICATE_NAMES,
    GAPS,
    GAPS_SERVED,
    HASH_RESONANCE,
    NAMES_COLLIDE,
    NO_SLOTS,
    OVERLAPS,
    POINTS_LOST,
)
from tests.engine.keyshared.selectors import accepted, auto_split, ring
from tests.engine.lint.worlds import automatic, findings_by, sticky, world

NOW = world()
BEFORE_24730 = world("4.0.1")
OLDEST_FORM = world("3.0.2")


def points_by_hand(names: list[str], points: int = 100) -> tuple[int, dict[str, int]]:
    """How many slots the points fall on, and how many each consumer keeps, from hashes alone; the first one keeps."""
    kept = dict.fromkeys(names, 0)
    taken: set[int] = set()
    for name in names:
        for replica in range(points):
            slot = (mmh3.hash(f"{name}\0{0}\0{replica}".encode(), 0, signed=False) & 0x7FFFFFFF) % 65_535 + 1
            if slot not in taken:
                taken.add(slot)
                kept[name] += 1
    return len(taken), kept


def test_K13_a_thousand_consumers_lose_half_of_their_points_and_the_latest_have_least() -> None:
    names = [f"worker-{at:04}" for at in range(1000)]
    (finding,) = findings_by(POINTS_LOST, automatic(names, NOW))
    occupied, kept = points_by_hand(names)
    assert finding.severity is Severity.WARNING
    assert (finding.number("points"), finding.number("points_with_a_slot")) == (100_000, occupied)
    assert finding.number("lost_share") == pytest.approx(1 - occupied / 100_000)
    assert 0.45 < finding.number("lost_share") < 0.55
    early, late = (sum(kept[name] for name in part) for part in (names[:100], names[-100:]))
    # Shares go by points kept: a tenth's mean share is near its part of all points that were kept.
    assert finding.number("first_tenth") == pytest.approx(early / occupied * 10, rel=0.1)
    assert finding.number("last_tenth") == pytest.approx(late / occupied * 10, rel=0.1)
    assert finding.number("first_tenth") > 3 * finding.number("last_tenth")
    assert "ReplicaPoints=13" in finding.advice  # a fifth of 65,535 slots for 1,000 consumers


def test_K13_the_limit_is_one_point_in_ten_and_the_advice_keeps_it() -> None:
    crowd = {}
    for count in (120, 160):
        names = [f"worker-{at:04}" for at in range(count)]
        occupied, _ = points_by_hand(names)
        crowd[count] = occupied / (100 * count)
        assert bool(findings_by(POINTS_LOST, automatic(names, NOW))) is (crowd[count] < 0.9)
    assert crowd[120] > 0.9 > crowd[160]
    names = [f"worker-{at:04}" for at in range(1000)]
    fewer = world(subscriptionKeySharedConsistentHashingReplicaPoints=13)
    assert findings_by(POINTS_LOST, automatic(names, fewer)) == []


def test_K13_rings_of_31_bits_and_halved_ranges_have_room_for_all() -> None:
    names = [f"worker-{at:04}" for at in range(300)]
    for where in (
        world(subscriptionKeySharedUseClassicPersistentImplementation=True),
        world(subscriptionKeySharedUseConsistentHashing=False),
        world("3.3.6"),
    ):
        assert findings_by(POINTS_LOST, automatic(names, where)) == []


def test_K13_a_consumer_all_of_whose_points_are_taken_gets_nothing() -> None:
    ring = ring_selector(points=2, slots=SlotSpace(1, 4))
    assert isinstance(ring, RingSelector)
    for number in range(8):
        ring = ring.join(Consumer(number, f"c{number}"))
    without = {f"c{number}" for number in range(8)} - {
        f"c{owner}" for slot in range(1, 5) if (owner := ring.owner(slot)) is not None
    }
    case = KeyCase(NOW, "t/n", "keys", "persistent://t/n/x", 1, ring.consumers, ring)
    findings = findings_by(NO_SLOTS, case)
    assert {finding.where.consumer for finding in findings} == without and len(without) >= 4
    assert {finding.severity for finding in findings} == {Severity.ERROR}


def test_a_sticky_consumer_of_slot_0_alone_gets_nothing_since_4_0_and_its_keys_before() -> None:
    ranges = {"zero": ((0, 0),), "rest": ((1, 65_535),)}
    assert [each.where.consumer for each in findings_by(NO_SLOTS, sticky(ranges, NOW))] == ["zero"]
    assert findings_by(NO_SLOTS, sticky(ranges, world("3.3.6"))) == []
    assert findings_by(NO_SLOTS, sticky({"zero": ((0, 1),), "rest": ((2, 65_535),)}, NOW)) == []


def test_K11_gaps_are_counted_in_slots_and_known_keys() -> None:
    case = sticky({"a": ((0, 99), (200, 299)), "b": ((300, 65_534),)}, NOW)
    keys = {str(number).encode(): 1 for number in range(3_000)}
    ownerless = sum(case.selector is not None and owner_of_key(case.selector, key) is None for key in keys)
    (finding,) = findings_by(GAPS, KeyCase(NOW, *_place(case), case.consumers, case.selector, keys))
    assert finding.severity is Severity.ERROR
    assert finding.number("slots") == 101  # 100 .. 199, and 65535
    assert finding.number("known_keys") == ownerless > 0
    assert "[100,199], [65535,65535]" in finding.what


def _place(case: KeyCase) -> tuple[str, str, str, int]:
    return case.namespace, case.name, case.topic, case.topics


def test_K11_what_a_gap_does_depends_on_the_release() -> None:
    ranges = {"a": ((0, 99),)}
    effects = {"2.11.0": "stops the whole subscription", "3.3.6": "wait behind them", "4.2.4": "wait for ever"}
    for version, effect in effects.items():
        assert effect in findings_by(GAPS, sticky(ranges, world(version)))[0].what


def test_K11_slot_0_does_not_occur_and_nobody_connected_leaves_no_gap() -> None:
    assert findings_by(GAPS, sticky({"a": ((1, 65_535),)}, NOW)) == []
    assert findings_by(GAPS, sticky({}, NOW)) == []
    assert findings_by(GAPS, automatic(["a", "b"], NOW)) == []
    assert findings_by(GAPS, sticky({"a": ((1, 65_535),)}, world("3.3.6"))) != [], "before 4.0 slot 0 occurs"


def test_gaps_between_ranges_of_one_consumer_are_served_before_24730_and_nobody_s_after() -> None:
    ranges = {"a": ((0, 9_999), (20_000, 65_535))}
    (finding,) = findings_by(GAPS_SERVED, sticky(ranges, BEFORE_24730))
    assert (finding.severity, finding.where.consumer, finding.number("slots")) == (Severity.WARNING, "a", 10_000)
    assert findings_by(GAPS, sticky(ranges, BEFORE_24730)) == []
    assert findings_by(GAPS_SERVED, sticky(ranges, NOW)) == []
    assert findings_by(GAPS, sticky(ranges, NOW))[0].number("slots") == 10_000


def test_a_gap_that_another_consumer_fills_is_not_served_twice() -> None:
    filled = {"a": ((0, 9_999), (20_000, 65_535)), "b": ((10_000, 19_999),)}
    assert findings_by(GAPS_SERVED, sticky(filled, BEFORE_24730)) == []


def test_K10_touching_ends_overlap_and_interleaved_ranges_do_not() -> None:
    def planned(ranges: Mapping[str, DeclaredRanges]) -> KeyCase:
        consumers = tuple(Consumer(at, name, declared) for at, (name, declared) in enumerate(ranges.items()))
        return KeyCase(NOW, "", "", "", 0, consumers)

    interleaved = {"a": ((0, 99), (400, 65_535)), "b": ((100, 399),)}
    assert findings_by(OVERLAPS, planned(interleaved)) == []
    (finding,) = findings_by(OVERLAPS, planned({"a": ((0, 100), (400, 65_535)), "b": ((100, 400),)}))
    assert (finding.severity, finding.where.consumer, finding.number("slots")) == (Severity.ERROR, "b", 2)
    # Who was refused takes no slots from those after it.
    three = {"a": ((0, 99),), "b": ((50, 300),), "c": ((100, 200),)}
    assert [each.where.consumer for each in findings_by(OVERLAPS, planned(three))] == ["b"]


def test_K10_own_ranges_that_no_client_sends_are_reported_with_the_client_s_words() -> None:
    consumers = (Consumer(0, "a", ((0, 9), (5, 20))), Consumer(1, "b", ((0, 70_000),)), Consumer(2, "c", ()))
    findings = findings_by(OVERLAPS, KeyCase(NOW, "", "", "", 0, consumers))
    assert [finding.where.consumer for finding in findings] == ["a", "b", "c"]
    assert "overlap between [0, 9] and [5, 20]" in findings[0].what
    assert {finding.advice for finding in findings} == {findings[0].advice} and "0 to 65535" in findings[0].advice


def test_K10_whoever_is_connected_has_not_been_refused() -> None:
    assert findings_by(OVERLAPS, sticky({"a": ((0, 99),), "b": ((100, 199),)}, NOW)) == []


def test_K03_namesakes_share_one_consumer_s_points_in_the_oldest_forms_only() -> None:
    (old,) = findings_by(DUPLICATE_NAMES, automatic(["c", "c", "d"], OLDEST_FORM))
    assert (old.severity, old.number("consumers")) == (Severity.WARNING, 2)
    (now,) = findings_by(DUPLICATE_NAMES, automatic(["c", "c", "d"], NOW))
    assert now.severity is Severity.INFO
    assert findings_by(DUPLICATE_NAMES, automatic(["c", "C"], NOW)) == []


def test_K08_numbered_names_share_points_in_the_oldest_form_only() -> None:
    names = ["c-1", "c-11", "c-12", "c-2"]
    shared = {
        each.where.consumer: each.number("points_shared")
        for each in findings_by(NAMES_COLLIDE, automatic(names, OLDEST_FORM))
    }
    # c-1 + 10..19 is c-11 + 0..9, and c-1 + 20..29 is c-12 + 0..9.
    assert shared == {"c-1": 20, "c-11": 10, "c-12": 10}
    assert findings_by(NAMES_COLLIDE, automatic(names, NOW)) == []
    assert findings_by(NAMES_COLLIDE, automatic(names, world("3.0.3"))) == []
    assert findings_by(NAMES_COLLIDE, automatic(["c-01", "c-11", "c-12"], OLDEST_FORM)) == []
    assert findings_by(NAMES_COLLIDE, automatic(["c-1", "c-1"], OLDEST_FORM)) == [], "that is another rule"


def resonant(consumers: int, partitions: int, mode: str = "auto-split") -> KeyCase:
    selector: Selector = auto_split() if mode == "auto-split" else ring()
    for number in range(consumers):
        selector = accepted(selector.join(Consumer(number, f"c-{number}")))
    return KeyCase(NOW, "t/n", "s", "persistent://t/n/x", 1, selector.consumers, selector, partitions=partitions)


def test_consumers_that_never_get_a_key_of_some_partitions() -> None:
    (finding,) = findings_by(HASH_RESONANCE, resonant(256, 1024))
    assert (finding.number("slots"), finding.number("busiest"), finding.number("partitions")) == (64, 64, 1024)
    assert finding.number("consumers") == 256
    assert findings_by(HASH_RESONANCE, resonant(4, 1024)) == []  # wider ranges than 1,024 slots
    assert findings_by(HASH_RESONANCE, resonant(256, 1)) == []
    assert findings_by(HASH_RESONANCE, resonant(256, 0)) == []
    assert findings_by(HASH_RESONANCE, resonant(20, 1024, "ring")) == []
    narrow = sticky({"a": ((0, 1),), "b": ((2, 65_535),)}, NOW)
    (finding,) = findings_by(HASH_RESONANCE, replace(narrow, partitions=8))
    assert (finding.where.consumer, finding.number("consumers"), finding.number("missed")) == ("a", 1, 6)
