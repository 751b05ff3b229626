"""Loads in columns: names that were added, rows of equal hashes, rows of bundles, sums in order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange
from engine.bundles.bulk_children import children_of
from engine.bundles.bulk_splits import Answer, Cuts, cuts_by_algorithm
from engine.bundles.columns import (
    LoadColumns,
    PickedNames,
    TopicColumns,
    bundle_map,
    dealt_rows,
    equal_rows,
    in_columns,
    sum_in_order,
)
from engine.bundles.loads import TopicLoad, check_loads
from engine.bundles.plan import shares_of, split_command

TOP = 0xFFFFFFFF


def test_names_behind_the_end_of_the_list_are_of_the_added_ones() -> None:
    names = PickedNames(["a", "b"], np.array([1, 2, 0, 3]), ("c", "d"))
    assert list(names) == [names[at] for at in range(4)] == ["b", "c", "a", "d"]
    assert list(names.take(np.array([3, 0]))) == ["d", "b"]


def test_rows_of_equal_hashes_come_by_ascending_hash_in_listing_order() -> None:
    assert [rows.tolist() for rows in equal_rows(np.array([9, 5, 7, 9, 5, 1, 9]))] == [[1, 4], [0, 3, 6]]
    assert equal_rows(np.array([9, 5, 7])) == equal_rows(np.array([], dtype=np.int64)) == []


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_rows_are_dealt_out_to_few_and_to_many_bundles(count: int) -> None:
    """The first bundle begins at 10, the last one ends at the top, which belongs to it."""
    bundles = [BundleRange(low, high) for low, high in pairwise([*range(10, 10 * count + 1, 10), TOP])]
    mixed = [TOP, 9, 10, 19, 20, 0, 10, 31, 59]
    for hashes in (mixed, sorted(mixed)):
        for pieces in (bundles, bundles[:-1], bundles[1:]):
            expected = [[row for row, position in enumerate(hashes) if piece.includes(position)] for piece in pieces]
            assert [rows.tolist() for rows in dealt_rows(np.array(hashes), pieces)] == expected


def test_a_sum_begins_at_zero_and_adds_in_order() -> None:
    assert str(sum_in_order(np.array([-0.0]))) == "0.0"
    assert sum_in_order(np.array([1.0, 1e16, -1e16])) == 0.0
    assert sum_in_order(np.array([1e16, -1e16, 1.0])) == 1.0


def test_loads_inside_a_bundle_are_those_topic_by_topic() -> None:
    topics = [TopicLoad(name, at, 1.0, 20.0, 300.0, 4000.0) for name, at in (("a", 5), ("b", 10), ("c", 19), ("d", 20))]
    columns = LoadColumns(
        PickedNames("abcd", np.arange(4)),
        np.array([topic.hash for topic in topics]),
        np.array([[1.0] * 4, [20.0] * 4, [300.0] * 4, [4000.0] * 4]),
        np.ones(4, dtype=bool),
    )
    assert list(columns) == topics
    assert list(columns.inside(BundleRange(10, 20))) == topics[1:3]
    assert list(columns.inside(BundleRange(0, TOP))) == topics
    msgs, octets = columns.flow
    assert (msgs.tolist(), octets.tolist()) == ([21.0] * 4, [4300.0] * 4)
    for given in (topics, columns):
        shares = shares_of([BundleRange(10, 15), BundleRange(15, 20)], given)
        assert [(tuple(share.topics), share.msgs_per_sec, share.bytes_per_sec) for share in shares] == [
            (("b",), 21.0, 4300.0),
            (("c",), 21.0, 4300.0),
        ]


def test_positions_are_said_with_their_algorithm_only() -> None:
    bundle = BundleRange(0, 512)
    assert "-sb" not in split_command("t/n", bundle, "range_equally_divide", [5])
    assert "-sb" not in split_command("t/n", bundle, "specified_positions_divide", [])
    assert split_command("t/n", bundle, "specified_positions_divide", [5, 3, 5]).endswith(" -sb 3,5")


@pytest.mark.parametrize("count", [2**15 - 1, 2**15, 2**15 + 1])
def test_rows_are_dealt_out_to_more_bundles_than_a_small_integer_counts(count: int) -> None:
    bundles = [BundleRange(low, low + 1) for low in range(count)]
    dealt = dealt_rows(np.array([count - 1, 0, count - 2]), bundles)
    assert [at for at, rows in enumerate(dealt) if len(rows)] == [0, count - 2, count - 1]
    assert [dealt[at].tolist() for at in (0, count - 2, count - 1)] == [[1], [2], [0]]


def test_whole_numbers_are_rates_too_and_places_of_bundles_are_integers() -> None:
    assert in_columns([TopicLoad("a", 1, 2, 3, 4, 5)]).rates.dtype == np.float64
    assert bundle_map([(0, TOP), (), (0, 5, TOP)]).start.tolist() == [0, 1, 1, 3]
    assert bundle_map([(0, TOP)]).start.dtype == np.int64


def test_further_numbers_of_a_topic_are_checked_like_its_rates() -> None:
    topics = [TopicLoad(name, at) for at, name in enumerate("ab")]
    good, bad = check_loads(topics, lambda at: [("consumers", -1.0 if at else 0.0)])
    assert (good, [problem.field for problem in bad]) == ((0,), ["topics[1].consumers"])


def test_positions_are_the_middle_of_the_topics_where_that_is_inside_and_else_of_the_range() -> None:
    bundles = bundle_map([(0, 100, 200, 300, TOP)])
    hashes = np.array([10, 30, 100, 100, 250, TOP, TOP])
    topics = TopicColumns(np.array([0, 0, 1, 1, 2, 3, 3]), hashes, *np.zeros((2, 7)), np.ones(7, dtype=bool))
    cuts = cuts_by_algorithm(bundles, topics, FlowLimits(1, 1, 0))
    counted, given = cuts["topic_count_equally_divide"], cuts["specified_positions_divide"]
    assert [counted.of(at) for at in range(4)] == [(20,), (100,), None, (TOP,)]
    # 100 is the lower end of its bundle, and the top the upper end of the last one.
    assert [given.of(at) for at in range(4)] == [(20,), (150,), None, (300 + (TOP - 300) // 2,)]


def test_an_answer_without_a_cut_splits_nothing() -> None:
    bundles = bundle_map([(0, 100, TOP)])
    topics = TopicColumns(np.array([0, 0]), np.array([1, 2]), *np.zeros((2, 2)), np.ones(2, dtype=bool))
    none = Cuts(np.zeros(0, dtype=np.int64), np.zeros(3, dtype=np.int64), np.array([Answer.CUTS, Answer.NULL]))
    children = children_of(bundles, none, topics, np.zeros(2))
    assert children.refusal.tolist() == [0, 0]
    assert children.upper.tolist() == [100, TOP]
