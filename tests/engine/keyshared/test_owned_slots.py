"""Slots, gaps and known keys by consumer, against the look-up of every single slot and key."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.keyshared.model import Consumer, DeclaredRanges, Selector, SlotSpace, owner_of_key
from engine.keyshared.ownership import OwnedSlots, gaps_of, keys_of, owned_ranges, place, slots_by_consumer
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import legacy_sticky_selector, sticky_selector
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky

KEYS = [f"key-{number}".encode() for number in range(400)]
NAMES = ["c-1", "c-11", "c-1", "", "e"]
TINY = (SlotSpace(1, 63), SlotSpace(0, 63, folds_zero=False), SlotSpace(0, 63))
EVERY: dict[str, Selector] = {
    **{
        f"{form.value} {slots.low} {slots.folds_zero} {points}": ring(NAMES, form=form, points=points, slots=slots)
        for form in RingForm
        for slots in TINY
        for points in (1, 7)
        if slots.low or not (slots.folds_zero and form.shares_points)
    },
    "auto-split": accepted(auto_split(64).join_all([Consumer(number, "c") for number in range(1, 6)])),
    "auto-split of one": accepted(auto_split(64).join(Consumer(4, "c"))),
    "sticky": sticky(sticky_selector(64), ((0, 9), (30, 30)), ((40, 99),), ((100, 101),), ((31, 39),)),
    "sticky at the ends": sticky(sticky_selector(64), ((0, 0),), ((1, 1),), ((63, 63),), ((64, 64),)),
    "earlier sticky": sticky(legacy_sticky_selector(64), ((0, 9), (30, 30)), ((40, 99),), ((12, 12),)),
    "earlier sticky, zero": sticky(legacy_sticky_selector(64, folds_zero=False), ((0, 0), (5, 9)), ((10, 70),)),
    "nobody": ring(slots=TINY[0]),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_slots_of_a_consumer_are_those_that_a_look_up_gives_it(name: str) -> None:
    selector = EVERY[name]
    owned = slots_by_consumer(selector)
    assert owned.keys() == {consumer.consumer_id for consumer in selector.consumers}
    occurring = range(selector.slots.lowest, selector.slots.high + 1)
    for number, pieces in owned.items():
        mine = [slot for slot in occurring if selector.owner(slot) == number]
        assert [slot for slot in range(-2, 110) if any(piece.contains(slot) for piece in pieces)] == mine
        assert sum(piece.count for piece in pieces) == len(mine)
        assert all(piece.count > 0 for piece in pieces)
        starts = [piece.range.start for piece in pieces]
        assert starts == sorted(set(starts))
        assert number not in (result := owned_ranges(selector)) or mine == [
            slot for slot in occurring if any(piece.contains(slot) for piece in result[number])
        ]


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 9), (3, 3), (4, 11), (5, 6)])
@pytest.mark.parametrize("divisor", [1, 2, 3, 5])
def test_slots_that_are_shared_are_those_of_one_remainder(start: int, end: int, divisor: int) -> None:
    for remainder in range(divisor):
        owned = OwnedSlots(HashRange(start, end), divisor, remainder)
        expected = [slot for slot in range(start, end + 1) if slot % divisor == remainder]
        assert owned.count == len(expected)
        assert [slot for slot in range(20) if owned.contains(slot)] == expected


@pytest.mark.parametrize("name", [name for name in EVERY if not name.startswith(("name_i ", "name_nul_i "))])
def test_gaps_are_the_slots_that_a_look_up_gives_nobody(name: str) -> None:
    selector = EVERY[name]
    gaps = gaps_of(selector.consumers, owned_ranges(selector), selector.slots)
    occurring = range(selector.slots.lowest, selector.slots.high + 1)
    free = [slot for slot in occurring if selector.owner(slot) is None]
    assert [slot for piece in gaps.ranges for slot in range(piece.start, piece.end + 1)] == free
    assert gaps.slot_count == len(free)
    busy = Counter(selector.owner(slot) for slot in occurring)
    assert gaps.idle_ids == tuple(
        consumer.consumer_id for consumer in selector.consumers if not busy[consumer.consumer_id]
    )


@pytest.mark.parametrize(
    ("size", "declared", "gaps", "idle"),
    [
        (1, ((0, 0),), [], (1,)),
        (2, ((5, 6),), [(1, 1)], (1,)),
        (2, ((0, 1),), [], ()),
        (4, ((1, 1),), [(2, 3)], ()),
        (4, ((3, 9),), [(1, 2)], ()),
        (4, ((0, 0), (2, 2)), [(1, 1), (3, 3)], ()),
    ],
)
def test_gaps_at_the_ends_of_the_space(
    size: int, declared: DeclaredRanges, gaps: list[tuple[int, int]], idle: tuple[int, ...]
) -> None:
    selector = sticky(sticky_selector(size), declared)
    result = gaps_of(selector.consumers, selector.ranges(), selector.slots)
    assert [(piece.start, piece.end) for piece in result.ranges] == gaps
    assert (result.slot_count, result.idle_ids) == (sum(high - low + 1 for low, high in gaps), idle)


@pytest.mark.parametrize("name", EVERY)
def test_keys_are_placed_where_their_look_up_puts_them(name: str) -> None:
    selector = EVERY[name]
    counts = {key: float(at % 5) for at, key in enumerate(KEYS)}
    placement = place(selector, counts, {})
    ids = [consumer.consumer_id for consumer in selector.consumers]
    owners = {key: owner_of_key(selector, key) for key in KEYS}
    assert placement.ids == tuple(ids)
    assert placement.keys == tuple(sum(owner == number for owner in owners.values()) for number in ids)
    assert placement.messages == tuple(
        sum(counts[key] for key, owner in owners.items() if owner == number) for number in ids
    )
    assert placement.ownerless == sum(owner is None for owner in owners.values())
    assert placement.misplaced == ()
    sizes = [sum(each.count for each in slots_by_consumer(selector)[number]) for number in ids]
    assert placement.shares == tuple(size / sum(sizes) for size in sizes)
    for number in ids:
        assert keys_of(selector, number, KEYS) == tuple(key for key in KEYS if owners[key] == number)


def test_what_was_received_counts_where_it_went_and_is_misplaced_if_that_is_wrong() -> None:
    selector = sticky(sticky_selector(), ((0, 19_999),), ((20_000, 39_999),))
    first, second, lost = ([key for key in KEYS if owner_of_key(selector, key) == number] for number in (1, 2, None))
    counts = {first[0]: 1.0, first[1]: 2.0, second[0]: 4.0, lost[0]: 8.0, lost[1]: 16.0, first[2]: 32.0}
    received = {first[0]: 1, first[1]: 2, lost[1]: 1, first[2]: 77, KEYS[-1]: 1}
    placement = place(selector, counts, received)
    assert placement.keys == (2, 2)
    assert placement.messages == (1.0 + 16.0, 2.0 + 4.0)
    assert placement.ownerless == 1
    assert placement.misplaced == (first[1], lost[1], first[2])


def test_where_nothing_is_served_all_shares_are_zero() -> None:
    out = sticky(sticky_selector(64), ((70, 71),), ((0, 0),))
    placement = place(out, {b"k": 1.0}, {})
    assert (placement.shares, placement.keys, placement.ownerless) == ((0.0, 0.0), (0, 0), 1)


@pytest.mark.parametrize(
    ("low", "high", "folds_zero", "occurring"),
    [(0, 9, True, 9), (0, 9, False, 10), (1, 9, True, 9), (3, 9, True, 7), (0, 0, True, 0)],
)
def test_so_many_slots_occur(low: int, high: int, folds_zero: bool, occurring: int) -> None:
    space = SlotSpace(low, high, folds_zero=folds_zero)
    assert space.occurring == occurring
    if occurring:
        assert len({space.slot(number) for number in range(3 * space.size)}) == occurring
