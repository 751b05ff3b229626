"""How much is modelled, and what holds where nothing is said."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import Rejection
from engine.keyshared.autosplit import auto_split_selector
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.delivery_state import DeliveryState, DeliveryTerms, Message, RecentlyJoined
from engine.keyshared.draining import DrainingHashes
from engine.keyshared.fairness import CHANCE_LEVEL, CROWDED_BELOW, Fairness
from engine.keyshared.luck import HOT_TIMES, LIKELY_BETWEEN
from engine.keyshared.model import CLASSIC_RING_SLOTS, LEGACY_RING_SLOTS, RANGE_SIZE, RING_SLOTS, SlotSpace
from engine.keyshared.ownership import OwnedSlots
from engine.keyshared.ring import RingForm, RingSelector, refuse_ring, ring_selector
from engine.keyshared.scaling_modes import ModeMoves, NodeChange, ScalingMode, auto_split_moves
from engine.keyshared.sticky import declared_problem, legacy_sticky_selector
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted


@pytest.mark.parametrize(("points", "taken"), [(0, False), (1, True), (1_000_000, True), (1_000_001, False)])
def test_a_ring_has_1_to_a_million_points_of_each_consumer(points: int, taken: bool) -> None:
    selector = ring_selector(points=points)
    assert isinstance(selector, RingSelector) == taken
    assert taken or (
        isinstance(selector, Rejection) and (selector.error, selector.field) == ("InvalidPoints", "points")
    )


@pytest.mark.parametrize(
    ("consumers", "points", "taken"), [(2, 1_000_000, True), (2_000_000, 1, True), (2_000_001, 1, False)]
)
def test_a_ring_has_two_million_points_in_all(consumers: int, points: int, taken: bool) -> None:
    refusal = refuse_ring(consumers, points)
    assert (refusal is None) == taken
    assert taken or (refusal is not None and (refusal.error, refusal.field) == ("TooManyPoints", "points"))


def test_nodes_have_ten_million_points_in_all() -> None:
    refused = node_ranges(10_000_001, 1)
    assert isinstance(refused, Rejection) and (refused.error, refused.field) == ("InvalidPoints", "points")


def test_twenty_million_steps_of_leaving_are_followed() -> None:
    refused = auto_split_moves(NodeChange(6_666_667, (0, 1, 2), ()), np.array([], dtype=np.int64))
    assert refused == ModeMoves(ScalingMode.AUTO_SPLIT, False, 0.0, 0.0, 0, 0.0, refused.refusal)
    assert refused.refusal is not None and refused.refusal.error == "TooManyLeaves"


def test_the_levels_of_chance_are_those_that_are_documented() -> None:
    assert (CHANCE_LEVEL, CROWDED_BELOW, HOT_TIMES, LIKELY_BETWEEN) == (1e-4, 0.9, 3.0, (0.05, 0.95))


def test_each_kind_of_selector_has_its_slots() -> None:
    assert (RING_SLOTS.low, RING_SLOTS.high, RING_SLOTS.folds_zero) == (1, 65_535, True)
    assert (CLASSIC_RING_SLOTS.low, CLASSIC_RING_SLOTS.high) == (1, 2**31 - 2)
    assert SlotSpace(0, 2**31 - 1, False) == LEGACY_RING_SLOTS
    assert SlotSpace(0, 9) == SlotSpace(0, 9, True)
    assert RANGE_SIZE == 65_536
    plain = accepted(ring_selector())
    assert (plain.form, plain.points, plain.slots) == (RingForm.CURRENT, 100, RING_SLOTS)
    assert accepted(ring_selector(classic=True)).slots == CLASSIC_RING_SLOTS
    assert accepted(ring_selector(RingForm.NAME_I, classic=True)).slots == LEGACY_RING_SLOTS
    for selector in (accepted(auto_split_selector()), accepted(legacy_sticky_selector())):
        assert selector.slots == SlotSpace(0, 65_535, True)


@pytest.mark.parametrize(
    ("start", "end", "taken"),
    [
        (-(2**31), 2**31 - 1, True),
        (-(2**31) - 1, 0, False),
        (0, 2**31, False),
        (2**31, 2**31, False),
        (5, 4, True),
    ],
)
def test_a_declared_range_has_numbers_of_32_bits(start: int, end: int, taken: bool) -> None:
    refusal = declared_problem(((0, 1), (start, end)))
    assert (refusal is None) == taken
    assert taken or (refusal is not None and (refusal.error, refusal.field) == ("InvalidRange", "ranges"))


def test_a_subscription_begins_empty() -> None:
    state = DeliveryState(DeliveryTerms(), accepted(auto_split_selector()))
    assert (state.next_position, state.read_position, dict(state.backlog), dict(state.pending)) == (0, 0, {}, {})
    assert (state.draining, state.recently_joined) == (DrainingHashes(), RecentlyJoined())
    assert (dict(state.draining.entries), dict(state.draining.cleared_total)) == ({}, {})
    assert Message(0, b"k", 1) == Message(0, b"k", 1, 0)
    assert OwnedSlots(HashRange(0, 9)) == OwnedSlots(HashRange(0, 9), 1, 0)
    assert Fairness((), 0.0) == Fairness((), 0.0, 0, 0)
