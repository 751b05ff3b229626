"""Bad ranges, points and nodes are refused by name, and what was good before stays."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.keyshared.consistent_sticky import moved_slots, node_point, node_ranges, ranges_of_node
from engine.keyshared.explain import explain_key
from engine.keyshared.gaps import gaps_of
from engine.keyshared.model import Consumer
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.recently_joined import RecentlyJoined
from engine.keyshared.sticky import sticky_selector
from engine.keyshared.sticky_legacy import legacy_sticky_selector
from engine.keyshared.sticky_policy import policy_problem
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted, ring, sticky, texts


@pytest.mark.parametrize(
    ("points", "nodes", "node", "field"),
    [(0, 4, 0, "points"), (-1, 4, 0, "points"), (4, 0, 0, "nodes"), (4, 4, 4, "node"), (4, 4, -1, "node")],
)
def test_a_node_that_cannot_be_is_refused_by_the_argument_at_fault(
    points: int, nodes: int, node: int, field: str
) -> None:
    refusal = ranges_of_node(points, nodes, node)
    assert isinstance(refusal, Rejection)
    assert refusal.field == field


def test_too_many_points_are_refused_before_any_is_hashed() -> None:
    assert isinstance(node_ranges(10**12, 10**6), Rejection)
    assert isinstance(moved_slots(0, 1, 2), Rejection)


def test_a_slot_belongs_to_the_first_point_at_or_after_it_and_the_smaller_node_keeps_a_point() -> None:
    """Against the rule written out plainly, slot by slot, where 1200 points stand."""
    points, nodes = 100, 12
    holders: dict[int, int] = {}
    for node in range(nodes):
        for point in range(points):
            holders.setdefault(node_point(node, point), node)
    assert len(holders) < points * nodes
    owner = holders[min(holders)]
    expected = [0] * 65_536
    for slot in reversed(range(65_536)):
        owner = holders.get(slot, owner)
        expected[slot] = owner
    told = accepted(node_ranges(points, nodes))
    for node, pieces in enumerate(told):
        assert all(expected[slot] == node for piece in pieces for slot in range(piece.start, piece.end + 1))
        assert accepted(ranges_of_node(points, nodes, node)) == pieces
        assert policy_problem(tuple((piece.start, piece.end) for piece in pieces)) is None
    assert sum(piece.size for pieces in told for piece in pieces) == 65_536


def test_thirty_thousand_ranges_are_taken_and_a_clash_among_a_hundred_thousand_is_found() -> None:
    every_other = tuple((slot, slot) for slot in range(0, 60_000, 2))
    selector = sticky(sticky_selector(), every_other)
    assert selector.owner(40_000) == 1
    assert selector.owner(40_001) is None
    assert gaps_of(selector.consumers, selector.ranges(), selector.slots).slot_count == 65_535 - 29_999
    assert policy_problem(every_other) is None
    many = tuple((slot % 65_536, slot % 65_536) for slot in range(100_000))
    problem = policy_problem(many)
    assert problem is not None
    assert problem.message.endswith("overlap between [0, 0] and [0, 0]")
    assert isinstance(selector.join(Consumer(2, "late", many)), Rejection)


def test_a_consumer_of_slot_0_alone_is_idle_and_ranges_past_the_end_are_never_matched() -> None:
    selector = sticky(sticky_selector(), ((0, 0),), ((60_000, 99_999),), ((1, 5),))
    gaps = gaps_of(selector.consumers, selector.ranges(), selector.slots)
    assert gaps.idle_ids == (1,)
    assert gaps.ranges == (HashRange(6, 59_999),)
    assert [each.range for each in slots_by_consumer(selector)[2]] == [HashRange(60_000, 65_535)]


def test_the_earlier_sticky_form_serves_gaps_and_its_statistics_lose_step_at_a_range_of_one_slot() -> None:
    selector = sticky(legacy_sticky_selector(), ((0, 99), (200, 299)), ((400, 400), (500, 599)))
    assert [selector.owner(slot) for slot in (150, 350, 450, 599, 600)] == [1, None, 2, 2, None]
    assert (texts(selector, 1), texts(selector, 2)) == ("[0,99] [200,299]", "[400,500]")
    assert [each.range for each in slots_by_consumer(selector)[2]] == [HashRange(400, 599)]
    assert explain_key(selector, b"").range == HashRange(0, 299)


def test_an_empty_key_is_hashed_and_bytes_that_are_no_text_are_explained() -> None:
    assert explain_key(ring(["a"]), b"").slot.slot == 1
    assert explain_key(ring(["a"]), b"\xff\xfe").slot.key == b"\xff\xfe"


def test_K15_newcomers_out_of_order_do_not_hold_each_other_back() -> None:
    assert RecentlyJoined(((1, 9), (2, 4))).released(5) == RecentlyJoined(((1, 9),))
