"""The plan for another number of nodes says what really happens when it is carried out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.keyshared.consistent_sticky import MAX_POINTS, moved_slots, node_ranges
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, owner_of_key
from engine.keyshared.scaling import NodePlan, PlanAction, ScalingPlan, Turns, plan_scaling
from engine.keyshared.scaling_modes import ScalingMode
from engine.keyshared.sticky import RangeConflict, sticky_selector
from engine.ranges import HashRange, covers_exactly, join_neighbours
from tests.engine.keyshared.selectors import accepted

KEYS = [f"key-{number}".encode() for number in range(300)] + [b"", b"\xff\x00"]
SPACE = HashRange(0, 65_535)
PLANS = st.tuples(st.integers(1, 30), st.integers(1, 9), st.integers(1, 9), st.randoms()).filter(
    lambda drawn: drawn[1] != drawn[2]
)


def declared(pieces: tuple[HashRange, ...]) -> DeclaredRanges:
    return tuple((piece.start, piece.end) for piece in pieces)


def joined(selector: Selector, each: NodePlan, pieces: tuple[HashRange, ...]) -> Selector:
    """With a node that declares these ranges; one that has none cannot join and stays out."""
    return accepted(selector.join(Consumer(each.node, f"node-{each.node}", declared(pieces)))) if pieces else selector


def running_before(plan: ScalingPlan) -> Selector:
    selector: Selector = accepted(sticky_selector())
    for node in plan.nodes:
        selector = joined(selector, node, node.before)
    return selector


def drawn_plan(drawn: tuple[int, int, int, object]) -> ScalingPlan:
    points, before, after, chooser = drawn
    leaving = chooser.sample(range(before), before - after) if after < before else None  # type: ignore[attr-defined]
    return accepted(plan_scaling(points, before, after, KEYS, leaving=leaving))


@given(PLANS)
@settings(max_examples=40, deadline=None)
def test_moves_are_exactly_the_keys_and_slots_whose_owner_differs_at_the_broker(
    drawn: tuple[int, int, int, object],
) -> None:
    plan = drawn_plan(drawn)
    was, now = running_before(plan), accepted(sticky_selector())
    for each in plan.nodes:
        now = joined(now, each, each.after)
    moved = {move.key: (move.source, move.target) for move in plan.moved_keys}
    for key in KEYS:
        ends = (owner_of_key(was, key), owner_of_key(now, key))
        assert moved.get(key, (ends[0], ends[0])) == ends
    for move in plan.moves:
        for slot in (max(move.range.start, 1), move.range.end):
            assert (was.owner(slot), now.owner(slot)) == (move.source, move.target)
    assert covers_exactly((piece for node in plan.nodes for piece in node.before), SPACE)
    assert covers_exactly((piece for node in plan.nodes for piece in node.after), SPACE)
    assert sum(node.keys_before for node in plan.nodes) == sum(node.keys_after for node in plan.nodes) == len(KEYS)


@given(PLANS)
@settings(max_examples=40, deadline=None)
def test_in_the_order_of_turns_no_node_is_refused_and_what_stays_only_shrinks_or_only_grows(
    drawn: tuple[int, int, int, object],
) -> None:
    plan = drawn_plan(drawn)
    turns = plan.in_turns
    stops, restarts, starts = turns.stop_first, turns.restart_one_by_one, turns.start_last
    selector = running_before(plan)
    for node in stops:
        selector = selector.leave(node)
    for node in (*restarts, *starts):
        selector = joined(selector.leave(node), plan.nodes[node], plan.nodes[node].after)
    served = {node: join_neighbours(pieces) for node, pieces in selector.ranges().items()}
    assert {node.node: join_neighbours(node.after) for node in plan.nodes if node.after} == served


@given(PLANS)
@settings(max_examples=40, deadline=None)
def test_a_node_that_starts_too_early_is_refused_by_the_consumer_that_is_named(
    drawn: tuple[int, int, int, object],
) -> None:
    plan = drawn_plan(drawn)
    if not plan.moves:
        assert plan.too_early is None
        return
    first = plan.nodes[plan.moves[0].target]
    early = running_before(plan).leave(first.node).join(Consumer(first.node, "early", declared(first.after)))
    assert isinstance(early, RangeConflict)
    assert plan.too_early is not None
    assert early.message == plan.too_early.message


def test_one_more_node_takes_slots_and_moves_none_between_the_others() -> None:
    plan = accepted(plan_scaling(100, 4, 5, KEYS))
    assert {move.target for move in plan.moves} == {4}
    assert plan.moved_slots == moved_slots(100, 4, 5)
    assert [step.action for step in plan.steps] == list(PlanAction)
    assert plan.steps[0].nodes == (0, 1, 2, 3)
    assert plan.steps[2].nodes == (0, 1, 2, 3, 4)


def test_the_last_index_moves_into_a_place_that_becomes_free_and_only_its_slots_go_elsewhere() -> None:
    """Node 1 of five leaves: node 4 takes its index and its ranges, its own go to everybody, nobody else's move."""
    plan = accepted(plan_scaling(100, 5, 4, KEYS, leaving=[1]))
    every = accepted(node_ranges(100, 4))
    assert [(node.index_before, node.index_after) for node in plan.nodes] == [(0, 0), (1, None), (2, 2), (3, 3), (4, 1)]
    assert plan.nodes[4].after == every[1]
    assert {move.source for move in plan.moves} == {1, 4}
    assert {move.target for move in plan.moves if move.source == 1} == {4}
    assert plan.in_turns == Turns((1, 4), (0, 2, 3), (4,))
    last = accepted(plan_scaling(100, 5, 4, KEYS))
    assert {move.source for move in last.moves} == {4}


def test_the_comparison_counts_what_the_selectors_move() -> None:
    """Auto-split halves one range of four; on the ring a newcomer takes about a fifth; only the technique stops."""
    plan = accepted(plan_scaling(100, 4, 5, KEYS))
    sticky, auto, ring = plan.modes
    assert [mode.mode for mode in plan.modes] == list(ScalingMode)
    assert [mode.needs_stop for mode in plan.modes] == [True, False, False]
    assert sticky.moved_keys == len(plan.moved_keys)
    assert round(sticky.moved_share * 65_536) == plan.moved_slots
    # Slot 0 does not occur: what moves is 1 .. 8192 of 1 .. 65535.
    assert round(auto.moved_share * 65_535) == 8_192
    assert auto.max_over_mean == pytest.approx(16_384 * 5 / 65_535)
    assert 0.15 < ring.moved_share < 0.25
    assert {mode.between_stayers for mode in plan.modes} == {0.0}
    down = accepted(plan_scaling(100, 5, 4, KEYS, leaving=[1]))
    assert down.modes[0].between_stayers == pytest.approx(
        sum(move.range.size for move in down.moves if move.source == 4) / 65_536
    )
    assert down.modes[2].between_stayers == 0.0


def test_a_mode_that_cannot_do_it_says_so_and_the_plan_stands() -> None:
    plan = accepted(plan_scaling(1, 65_537, 65_536))
    assert plan.modes[1].refusal is not None
    assert plan.modes[1].refusal.message == "No more range can assigned to new consumer, assigned consumers 65536"
    assert plan.modes[2].refusal is None
    many = accepted(plan_scaling(1, 5_000, 1))
    assert many.modes[1].refusal is not None
    assert "one by one" in many.modes[1].refusal.message


@pytest.mark.parametrize(
    ("points", "before", "after", "leaving", "field"),
    [
        (0, 4, 5, None, "points"),
        (4, 0, 5, None, "nodes"),
        (4, 4, 0, None, "to"),
        (4, 4, -3, None, "to"),
        (4, 4, 4, None, "to"),
        (4, 4, 5, [0], "leaving"),
        (4, 4, 3, [4], "leaving"),
        (4, 4, 3, [-1], "leaving"),
        (4, 4, 2, [1, 1], "leaving"),
        (4, 4, 2, [1], "leaving"),
        (10**9, 4, 5, None, "points"),
    ],
)
def test_a_change_that_cannot_be_is_refused_by_the_argument_at_fault(
    points: int, before: int, after: int, leaving: list[int] | None, field: str
) -> None:
    refusal = plan_scaling(points, before, after, leaving=leaving)
    assert isinstance(refusal, Rejection)
    assert refusal.field == field


@pytest.mark.parametrize(
    ("before", "after", "error", "field"),
    [
        (0, 2, "InvalidNodeCount", "nodes"),
        (2, 0, "InvalidNodeCount", "to"),
        (2, -1, "InvalidNodeCount", "to"),
        (MAX_POINTS + 1, 1, "InvalidNodeCount", "nodes"),
        (2, 2, "NothingToDo", "to"),
    ],
)
def test_a_refusal_names_the_number_that_is_wrong(before: int, after: int, error: str, field: str) -> None:
    plan = plan_scaling(1, before, after)
    assert isinstance(plan, Rejection) and (plan.error, plan.field) == (error, field)


def test_a_node_is_listed_with_the_index_it_has_at_each_time() -> None:
    plan = accepted(plan_scaling(4, 3, 2, leaving=[0]))
    assert [(node.node, node.index_before, node.index_after) for node in plan.nodes] == [
        (0, 0, None),
        (1, 1, 1),
        (2, 2, 0),
    ]
    plan = accepted(plan_scaling(4, 2, 3))
    assert [(node.node, node.index_before, node.index_after) for node in plan.nodes] == [
        (0, 0, 0),
        (1, 1, 1),
        (2, None, 2),
    ]
    assert accepted(plan_scaling(4, 3, 1)).leaving == (1, 2)
