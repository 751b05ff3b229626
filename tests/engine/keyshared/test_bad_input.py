"""Bad ranges, points and nodes are refused by name, and what was good before stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.consistent_sticky import moved_slots, node_point, node_ranges, ranges_of_node
from engine.keyshared.delivery_state import RecentlyJoined
from engine.keyshared.explain import explain_key
from engine.keyshared.keys import EntryMetadata, sticky_key
from engine.keyshared.model import Consumer, DeclaredRanges
from engine.keyshared.ownership import gaps_of, slots_by_consumer
from engine.keyshared.ring import ring_selector
from engine.keyshared.sticky import RangeConflict, legacy_sticky_selector, policy_problem, sticky_selector
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky, texts


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


def test_points_are_taken_point_by_point_and_the_later_one_keeps_a_slot() -> None:
    """Against the rule written out plainly, where 1200 points meet in places."""
    points, nodes = 100, 12
    holders: dict[int, int] = {}
    for point in range(points):
        for node in range(nodes):
            holders[murmur3_32(f"{point}_{node}".encode()) % 65_536] = node
    assert len(holders) < points * nodes and 65_535 not in holders
    holders[65_535] = nodes - 1
    expected: list[list[HashRange]] = [[] for _ in range(nodes)]
    start = 0
    for slot in sorted(holders):
        expected[holders[slot]].append(HashRange(start, slot))
        start = slot + 1
    declared = accepted(node_ranges(points, nodes))
    assert declared == tuple(map(tuple, expected))
    for node, pieces in enumerate(declared):
        assert accepted(ranges_of_node(points, nodes, node)) == pieces
        assert policy_problem(tuple((piece.start, piece.end) for piece in pieces)) is None


def test_four_nodes_with_four_points_have_the_shares_of_the_article() -> None:
    declared = accepted(node_ranges(4, 4))
    shares = [round(100 * sum(piece.size for piece in pieces) / 65_536, 1) for pieces in declared]
    assert shares == [27.1, 24.3, 30.5, 18.1]
    assert sum(map(len, declared)) == 17


def test_a_point_on_the_last_slot_keeps_it() -> None:
    """The last node of 21 gets nothing for being the last where node 19 has a point there."""
    assert node_point(19, 2_856) == 65_535
    for points, owner in ((2_856, 20), (2_857, 19)):
        declared = accepted(node_ranges(points, 21))
        assert [node for node, pieces in enumerate(declared) if pieces[-1].end == 65_535] == [owner]


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


@pytest.mark.parametrize("make", [sticky_selector, legacy_sticky_selector])
def test_two_hundred_thousand_interleaved_ranges_are_taken_in_both_forms(make: Callable[[], object]) -> None:
    """The second consumer's ranges lie in the first one's gaps, one in each: a pass over all for each would not end."""
    first = tuple((slot * 4, slot * 4 + 1) for slot in range(100_000))
    second = tuple((slot * 4 + 2, slot * 4 + 2) for slot in range(100_000))
    selector = sticky(make(), first, second)  # type: ignore[arg-type]
    assert [selector.owner(slot) for slot in (40_000, 40_001, 40_002, 40_003)] == [1, 1, 2, None]
    refusal = selector.join(Consumer(3, "late", ((300_001, 300_001),)))
    assert isinstance(refusal, RangeConflict)
    assert refusal.other.consumer_id == 1
    assert dict(selector.leave(1).ranges()).keys() <= {2}


def test_the_earlier_form_refuses_a_range_inside_one_that_another_of_the_same_consumer_hides() -> None:
    selector = sticky(legacy_sticky_selector(), ((0, 99), (10, 20)))
    assert isinstance(selector.join(Consumer(2, "late", ((50, 60),))), RangeConflict)


@pytest.mark.parametrize(
    ("declared", "client", "broker"),
    [
        (((5, 4),), "Range end must >= range start.", "Fixed hash range start > end for range: [5,4]"),
        (((0, 65_536),), "Ranges must be [0, 65535] but provided range is [0, 65536]", None),
        (((-1, 3),), "Ranges must be [0, 65535] but provided range is [-1, 3]", None),
        (((70_000, 80_000),), "Ranges must be [0, 65535] but provided range is [70000, 80000]", None),
        (
            ((0, 2**31),),
            "Ranges must be [0, 65535] but provided range is [0, 2147483648]",
            "range [0,2147483648] does not fit the 32-bit numbers that clients send",
        ),
        ((), "Ranges for KeyShared policy must not be empty.", "Ranges for KeyShared policy must not be empty."),
    ],
)
def test_what_the_client_refuses_the_broker_may_take_and_both_name_the_ranges(
    declared: DeclaredRanges, client: str, broker: str | None
) -> None:
    problem = policy_problem(declared)
    assert problem is not None
    assert (problem.message, problem.field) == (client, "ranges")
    joined = accepted(sticky_selector()).join(Consumer(1, "c", declared))
    assert isinstance(joined, Rejection) == (broker is not None)
    if isinstance(joined, Rejection):
        assert (joined.message, joined.field) == (broker, "ranges")


@pytest.mark.parametrize("points", [0, -1, 10**9])
def test_a_ring_with_no_points_or_more_than_can_be_hashed_is_refused(points: int) -> None:
    refusal = ring_selector(points=points)
    assert isinstance(refusal, Rejection)
    assert refusal.field == "points"
    assert f"ReplicaPoints is {points};" in refusal.message


def test_65537_consumers_at_once_are_refused_in_pulsars_words_and_65536_are_not() -> None:
    consumers = [Consumer(number, "c") for number in range(65_537)]
    refusal = auto_split().join_all(consumers)
    assert isinstance(refusal, Rejection)
    assert refusal.message == "No more range can assigned to new consumer, assigned consumers 65536"
    assert refusal.field == "consumer"
    assert len(accepted(auto_split().join_all(consumers[:-1])).uppers) == 65_536


def test_an_empty_key_is_a_key_and_no_key_is_not() -> None:
    empty, none = (sticky_key(EntryMetadata(partition_key=key)).data for key in ("", None))
    assert (empty, none) == (b"", b"NONE_KEY")
    slots = accepted(sticky_selector()).slots
    assert slots.slot_of_key(empty) != slots.slot_of_key(none)


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
