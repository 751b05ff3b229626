"""Every step of an explanation is what the selector does: slot, point, claimants, range, heirs, draining."""

from __future__ import annotations

import pytest

from engine.hashing import murmur3_32, murmur3_32_raw
from engine.keyshared.draining import DrainingHashes
from engine.keyshared.explain import HEIRS_SHOWN, explain_key, slot_step
from engine.keyshared.model import Consumer, Selector, SlotSpace, owner_of_key
from engine.keyshared.ring import RingForm, point_key
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky

KEYS = [f"key-{number}".encode() for number in range(120)] + [b""]
NARROW = SlotSpace(1, 63)
NAMES = ["c-1", "c-11", "c-1", "d"]


@pytest.mark.parametrize("form", list(RingForm))
def test_the_point_is_the_next_one_with_all_who_claim_it(form: RingForm) -> None:
    selector = ring(NAMES, form=form, points=8, slots=NARROW)
    points = {
        member.consumer.consumer_id: [
            NARROW.slot(murmur3_32(point_key(form, member.consumer.name, member.name_index, replica)))
            for replica in range(8)
        ]
        for member in selector.members
    }
    known = [point for point, _ in selector.ring.claims()]
    for key in KEYS:
        why = explain_key(selector, key)
        slot = NARROW.slot_of_key(key)
        ahead = [point for point in known if point >= slot]
        assert why.point is not None
        assert (why.slot.slot, why.point.point) == (slot, ahead[0] if ahead else known[0])
        assert why.point.wrapped == (not ahead)
        assert why.point.distance == (why.point.point - slot if ahead else why.point.point + 63 - slot)
        for claimant in why.point.claimants:
            mine = points[claimant.consumer.consumer_id]
            assert claimant.replicas == tuple(at for at, point in enumerate(mine) if point == why.point.point) != ()
            assert claimant.point_keys == tuple(
                point_key(form, claimant.consumer.name, claimant.name_index, replica) for replica in claimant.replicas
            )
        assert why.owner is not None and why.owner.consumer_id == owner_of_key(selector, key)
        if form.shares_points:
            assert why.point.shared is not None and why.range is None
            count = len(why.point.claimants)
            assert (why.point.shared.dividend, why.point.shared.divisor) == (slot, count)
            assert why.point.claimants[why.point.shared.remainder].consumer == why.owner
        else:
            assert why.point.shared is None
            assert why.point.claimants[0].consumer == why.owner
            assert why.range is not None and why.range.contains(slot)


def selectors() -> list[Selector]:
    return [
        ring(["a", "b", "c", "d", "e"], points=5),
        accepted(auto_split().join_all([Consumer(number, "c") for number in range(5)])),
        sticky(sticky_selector(), ((0, 20_000),), ((30_000, 65_535),)),
    ]


@pytest.mark.parametrize("selector", selectors(), ids=["ring", "auto-split", "sticky"])
@pytest.mark.parametrize("heirs", [0, 1, 2, HEIRS_SHOWN, 9])
def test_heirs_are_the_owners_when_each_owner_before_has_left(selector: Selector, heirs: int) -> None:
    for key in KEYS[:20]:
        left, expected = selector, []
        owner = owner_of_key(left, key)
        while owner is not None:
            left = left.leave(owner)
            owner = owner_of_key(left, key)
            if owner is not None:
                expected.append(owner)
        why = explain_key(selector, key, heirs=heirs)
        assert [heir.consumer_id for heir in why.heirs] == expected[:heirs]
    assert explain_key(selector, KEYS[0]) == explain_key(selector, KEYS[0], heirs=3)


def test_a_slot_without_owner_has_neither_range_nor_heirs() -> None:
    selector = sticky(sticky_selector(), ((0, 9),))
    why = explain_key(selector, b"key-1")
    assert (why.owner, why.range, why.point, why.heirs) == (None, None, None, ())


@pytest.mark.parametrize(
    ("slots", "key", "remainder", "folded", "slot"),
    [
        (SlotSpace(0, 65_535), b"", 0, True, 1),
        (SlotSpace(0, 65_535, folds_zero=False), b"", 0, False, 0),
        (SlotSpace(1, 65_535), b"", 0, False, 1),
        (SlotSpace(1, 65_535), b"k", murmur3_32(b"k") % 65_535, False, murmur3_32(b"k") % 65_535 + 1),
    ],
)
def test_the_steps_from_a_key_to_its_slot(
    slots: SlotSpace, key: bytes, remainder: int, folded: bool, slot: int
) -> None:
    step = slot_step(slots, key)
    assert (step.key, step.raw_hash, step.hash_value) == (key, murmur3_32_raw(key), murmur3_32(key))
    assert (step.division.dividend, step.division.divisor) == (murmur3_32(key), slots.size)
    assert (step.division.remainder, step.low, step.folded, step.slot) == (remainder, slots.low, folded, slot)


def test_draining_is_shown_only_while_the_slot_waits_for_another_consumer() -> None:
    selector = ring(["a", "b"])
    slot, owner = selector.slots.slot_of_key(b"k"), owner_of_key(selector, b"k")
    assert owner is not None
    waiting = DrainingHashes().add(slot, 3 - owner, 5)
    assert explain_key(selector, b"k", draining=waiting).draining == waiting.entries[slot]
    assert explain_key(selector, b"k", draining=DrainingHashes().add(slot, owner, 5)).draining is None
    assert explain_key(selector, b"k", draining=DrainingHashes().add(slot + 1, 3 - owner, 5)).draining is None
