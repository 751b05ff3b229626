"""Hash resonance, against hashes one by one."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise

import pytest

from engine.hashing import murmur3_32
from engine.keyshared.model import CLASSIC_RING_SLOTS, LEGACY_RING_SLOTS, RING_SLOTS, Consumer, SlotSpace
from engine.keyshared.ownership import OwnedSlots
from engine.keyshared.partition_slots import partition_slots, resonance_of
from engine.keyshared.sticky import sticky_selector
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import auto_split, sticky

SMALL = [SlotSpace(0, 63), SlotSpace(0, 63, folds_zero=False), SlotSpace(1, 15), SlotSpace(0, 59), SlotSpace(3, 90)]


@pytest.mark.parametrize("space", SMALL)
@pytest.mark.parametrize("bits", [31, 32])
@pytest.mark.parametrize("partitions", [1, 2, 3, 4, 6, 12, 16, 60, 64, 96])
def test_small_spaces_hash_by_hash(space: SlotSpace, bits: int, partitions: int) -> None:
    seen: dict[int, set[int]] = defaultdict(set)
    for top in (0, 2**31) if bits == 32 else (0,):
        for rest in range(partitions * space.size):
            seen[(top + rest) % partitions].add(space.slot(rest))
    for partition in range(partitions):
        slots = partition_slots(space, partitions, partition, bits)
        every = {slot for slot in range(space.low, space.high + 1) if slots.count_in(OwnedSlots(HashRange(slot, slot)))}
        assert every == seen[partition]
        assert slots.count == len(every)
        for divisor, remainder in ((2, 1), (3, 0), (4, 2), (5, 3)):
            piece = OwnedSlots(HashRange(space.low + 2, space.high - 1), divisor, remainder)
            assert slots.count_in(piece) == sum(piece.contains(slot) for slot in every)


@pytest.mark.parametrize("space", [CLASSIC_RING_SLOTS, LEGACY_RING_SLOTS])
@pytest.mark.parametrize("partitions", [2, 7, 12, 1024])
def test_large_spaces_have_every_hash_once(space: SlotSpace, partitions: int) -> None:
    slots = [partition_slots(space, partitions, partition, 31) for partition in range(partitions)]
    lost = sum(1 for place in range(2**31 - space.size) if (space.size + place) % partitions == place % partitions)
    assert sum(each.count for each in slots) == 2**31 - lost
    chance = random.Random(5)
    for value in (*range(40), *range(2**31 - 40, 2**31), *(chance.randrange(2**31) for _ in range(200))):
        slot = space.slot(value)
        assert slots[value % partitions].count_in(OwnedSlots(HashRange(slot, slot))) == 1


def test_of_1024_partitions_each_sees_64_slots() -> None:
    space = SlotSpace(0, 65_535)
    assert {partition_slots(space, 1024, partition, 31).count for partition in range(1024)} == {64}
    assert {partition_slots(RING_SLOTS, 1024, partition, 31).count for partition in range(1024)} == {65_535}
    assert {partition_slots(RING_SLOTS, 12, partition, 31).count for partition in range(12)} == {21_845}
    for number in range(2_000):
        value = murmur3_32(f"order-{number}")
        assert (value % 65_536) % 1024 == value % 1024


def test_halved_ranges_have_64_busy_consumers_of_1024_partitions() -> None:
    selector = auto_split()
    for number in range(256):
        selector = selector.join(Consumer(number, f"c-{number}"))
    resonance = resonance_of(selector, 1024, 31)
    assert resonance.modulus == 1024
    assert resonance.slots == (64, 64)
    assert set(resonance.busy.tolist()) == {64}
    assert sum(map(len, resonance.unreached.values())) == (256 - 64) * 1024
    other = resonance_of(selector, 1024, 0)
    assert (other.modulus, other.unreached, set(other.busy.tolist())) == (1, {}, {256})


@pytest.mark.parametrize(("partitions", "bits"), [(4, 31), (6, 31), (6, 32), (12, 32), (64, 31), (100, 32)])
def test_who_gets_no_key_is_exact(partitions: int, bits: int) -> None:
    chance = random.Random(partitions)
    edges = sorted({0, 1, 2, 250, *(chance.randrange(250) for _ in range(14)), 100, 103, 104})
    gap = chance.randrange(1, len(edges) - 2)
    declared = [((first, last - 1),) for first, last in pairwise(edges)]
    declared[1] = (*declared[1], *declared.pop(gap + 1))
    selector = sticky(sticky_selector(250), *declared)
    seen: dict[int, set[int]] = defaultdict(set)
    for top in (0, 2**31) if bits == 32 else (0,):
        for rest in range(partitions * 250):
            owner = selector.owner(selector.slots.slot(rest))
            if owner is not None:
                seen[owner].add((top + rest) % partitions)
    resonance = resonance_of(selector, partitions, bits)
    served = {consumer.consumer_id for consumer in selector.consumers if seen[consumer.consumer_id]}
    assert resonance.unreached == {
        number: tuple(sorted(set(range(partitions)) - seen[number]))
        for number in served
        if len(seen[number]) < partitions
    }
    busy = [sum(partition in seen[number] for number in served) for partition in range(partitions)]
    assert resonance.busy.tolist() == busy
