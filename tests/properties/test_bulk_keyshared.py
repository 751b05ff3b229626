"""Key_Shared in bulk equals the scalar selectors, slot for slot and consumer for consumer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bulk_hashing import murmur3_bulk
from engine.errors import Rejection
from engine.keyshared.autosplit import auto_split_selector
from engine.keyshared.bulk import NO_CONSUMER, consumer_loads, slot_owners, slots_bulk
from engine.keyshared.model import (
    CLASSIC_RING_SLOTS,
    LEGACY_RING_SLOTS,
    RANGE_SIZE,
    RING_SLOTS,
    Consumer,
    Selector,
    SlotSpace,
    owner_of_key,
)
from engine.keyshared.ring import RingForm, ring_selector
from engine.keyshared.sticky import legacy_sticky_selector, sticky_selector
from tests.engine.keyshared.selectors import accepted
from tests.properties.strategies import consumer_names

NARROW = SlotSpace(1, 63)
EMPTY: dict[str, Selector] = {
    "ring": accepted(ring_selector(points=4, slots=NARROW)),
    "ring with zero": accepted(ring_selector(points=4, slots=SlotSpace(0, 40))),
    **{form.value: accepted(ring_selector(form, points=4, slots=SlotSpace(0, 63, False))) for form in RingForm},
    "auto-split": accepted(auto_split_selector(64)),
    "auto-split before 4.0": accepted(auto_split_selector(16, folds_zero=False)),
    "sticky": accepted(sticky_selector(64)),
    "sticky before": accepted(legacy_sticky_selector(64)),
    "sticky long before": accepted(legacy_sticky_selector(64, folds_zero=False)),
}
"""Every selector with few slots, in which points and ranges meet."""

RANGES = st.lists(st.tuples(st.integers(0, 66), st.integers(0, 12)), min_size=1, max_size=3)
CHANGES = st.lists(st.tuples(st.integers(0, 5), consumer_names(), RANGES), max_size=14)

Change = tuple[int, str, list[tuple[int, int]]]


def changed(selector: Selector, steps: list[Change]) -> Selector:
    """Each step lets a consumer leave if it is there, else join; refused joins are left out."""
    for number, name, ranges in steps:
        if any(consumer.consumer_id == number for consumer in selector.consumers):
            selector = selector.leave(number)
            continue
        declared = tuple((start, start + width) for start, width in ranges)
        joined = selector.join(Consumer(number, name, declared))
        selector = selector if isinstance(joined, Rejection) else joined
    return selector


def scalar(selector: Selector, slot: int) -> int:
    owner = selector.owner(slot)
    return NO_CONSUMER if owner is None else owner


@pytest.mark.parametrize("kind", EMPTY)
@settings(max_examples=40, deadline=None)
@given(CHANGES)
def test_every_slot_has_the_owner_the_selector_names(kind: str, steps: list[Change]) -> None:
    selector = changed(EMPTY[kind], steps)
    owners = slot_owners(selector)
    space = selector.slots
    occurring = range(max(space.low, int(space.folds_zero)), space.high + 1)
    expected = [scalar(selector, slot) for slot in occurring]
    assert owners.look_up(np.array(occurring)).tolist() == expected


@settings(max_examples=20, deadline=None)
@given(st.lists(consumer_names(), max_size=5), st.lists(st.binary(max_size=12), max_size=60), st.booleans())
def test_keys_reach_the_owner_the_selector_names(names: list[str], keys: list[bytes], classic: bool) -> None:
    """The rings as brokers have them: 65535 slots, and 31 bits in the classic dispatcher."""
    selector: Selector = accepted(ring_selector(points=100, classic=classic))
    for number, name in enumerate(names):
        selector = accepted(selector.join(Consumer(number, name)))
    slots = slots_bulk(murmur3_bulk(keys), selector.slots)
    expected = [owner_of_key(selector, key) for key in keys]
    assert slot_owners(selector).look_up(slots).tolist() == [
        NO_CONSUMER if owner is None else owner for owner in expected
    ]


def test_every_slot_of_a_broker_s_ring_has_the_scalar_owner() -> None:
    selector: Selector = accepted(ring_selector())
    for number in range(80):
        selector = accepted(selector.join(Consumer(number, f"host-{number % 70}")))
    slots = range(1, RANGE_SIZE)
    assert slot_owners(selector).look_up(np.array(slots)).tolist() == [scalar(selector, slot) for slot in slots]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 8) | st.integers(65_530, 65_540), max_size=40),
    st.sampled_from(
        (RING_SLOTS, SlotSpace(0, 65_535), SlotSpace(0, 65_535, False), CLASSIC_RING_SLOTS, LEGACY_RING_SLOTS, NARROW)
    ),
)
def test_slots_are_those_of_the_scalar_space(hashes: list[int], space: SlotSpace) -> None:
    assert slots_bulk(np.array(hashes, dtype=np.int64), space).tolist() == [space.slot(value) for value in hashes]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(EMPTY)), CHANGES, st.lists(st.integers(1, 63), max_size=40), st.booleans())
def test_loads_are_those_of_a_plain_count(kind: str, steps: list[Change], slots: list[int], weighted: bool) -> None:
    selector = changed(EMPTY[kind], steps)
    weights = [at % 5 + 0.5 for at in range(len(slots))] if weighted else [1.0] * len(slots)
    given_weights = np.array(weights) if weighted else None
    loads = consumer_loads(slot_owners(selector), np.array(slots, dtype=np.int64), given_weights)
    expected: Counter[int] = Counter()
    for slot, weight in zip(slots, weights, strict=True):
        expected[scalar(selector, slot)] += weight  # type: ignore[assignment]
    ids = [consumer.consumer_id for consumer in selector.consumers]
    assert loads.consumer_id.tolist() == ids
    assert loads.weight.tolist() == [expected[number] for number in ids]
    assert loads.unowned_weight == expected[NO_CONSUMER]
    owned = Counter(scalar(selector, slot) for slot in set(slots))
    assert loads.slots.tolist() == [owned[number] for number in ids]
    total = sum(loads.weight.tolist())
    mean = total / len(ids) if ids else 0
    assert loads.max_over_mean == pytest.approx(max(loads.weight.tolist()) / mean if total else 0)


def test_a_folded_trace_answers_like_the_trace() -> None:
    selector: Selector = accepted(ring_selector())
    for number in range(9):
        selector = accepted(selector.join(Consumer(number, f"c{number}")))
    slots = slots_bulk(murmur3_bulk([f"key-{at % 700}" for at in range(2_000)]), RING_SLOTS)
    folded = np.bincount(slots).astype(np.float64)
    owners = slot_owners(selector)
    used = np.flatnonzero(folded)
    by_trace, by_slot = consumer_loads(owners, slots), consumer_loads(owners, used, folded[used])
    assert by_trace.weight.tolist() == by_slot.weight.tolist()
    assert by_trace.slots.tolist() == by_slot.slots.tolist()
    assert sum(by_trace.weight.tolist()) == 2_000


def test_what_is_no_selector_is_refused() -> None:
    with pytest.raises(TypeError, match="int is not a selector"):
        slot_owners(5)
