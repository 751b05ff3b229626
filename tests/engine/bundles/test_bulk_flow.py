"""The flow rule over very many topics, in columns: the cuts are those of adding topic to topic, also in long pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.bundles.algorithms import BYTES_PER_MBYTE, FlowLimits
from engine.bundles.bulk_splits import flow_or_qps_equally_divide, specified_cuts, topic_count_equally_divide
from engine.bundles.columns import LoadColumns, PickedNames, TopicColumns, bundle_map
from engine.bundles.plan import hottest_rows
from tests.oracles import bundles as oracle

STEP = 10


def compare(msgs: Sequence[float], octets: Sequence[float], most_msgs: int, most_megabytes: int) -> tuple[int, ...]:
    """The cuts of topics ten apart, in and out each a half of their traffic, equal to those of the oracle."""
    count = len(msgs)
    hashes = np.arange(count) * STEP
    rates = np.array([msgs, msgs, octets, octets]) / 2
    names = PickedNames([f"t{at}" for at in range(count)], np.arange(count))
    loads = LoadColumns(names, hashes, rates, np.ones(count, dtype=bool))
    cuts = flow_or_qps_equally_divide(loads, FlowLimits(most_msgs, most_megabytes * BYTES_PER_MBYTE, 0))
    places = [oracle.Placed(f"t{at}", at * STEP, tuple(rates[:, at].tolist())) for at in range(count)]
    limits = (most_msgs, most_megabytes, 0)
    assert list(cuts or ()) == oracle.cuts((0, oracle.TOP), "flow_or_qps_equally_divide", (), places, limits)
    return cuts or ()


@pytest.mark.parametrize(
    ("count", "piece"),
    [(7, 1), (5000, 3), (5000, 64), (5000, 65), (5000, 1023), (5000, 1024), (5000, 1500), (20_000, 9_000)],
)
@pytest.mark.parametrize("by_bytes", [False, True])
def test_pieces_are_as_long_as_the_limit_allows(count: int, piece: int, by_bytes: bool) -> None:
    """Topics of one message, or one megabyte, a second each: a piece reaches its limit and is not above it."""
    ones, none = [1.0] * count, [0.0] * count
    if by_bytes:
        cuts = compare(none, [float(BYTES_PER_MBYTE)] * count, 10**9, piece)
    else:
        cuts = compare(ones, none, piece, 10**9)
    assert cuts == tuple(at * STEP - STEP // 2 + 1 for at in range(piece, count, piece))


def test_a_topic_above_the_limit_is_a_piece_of_its_own_and_the_first_one_too() -> None:
    msgs = [9.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 9.0]
    assert compare(msgs, [0.0] * 9, 3, 10**9) == (6, 26, 36, 66, 76)


def test_what_fits_into_one_piece_is_not_cut() -> None:
    """The gate is passed by equality."""
    assert compare([1.0] * 3000, [0.0] * 3000, 3000, 10**9) == ()


@pytest.mark.parametrize(("msgs", "octets"), [(5.0, 0.0), (0.0, 5.0)])
def test_a_total_that_equals_a_limit_is_looked_at_and_a_smaller_one_is_not(msgs: float, octets: float) -> None:
    rates = np.array([[0.0, 0.0], [msgs, msgs], [0.0, 0.0], [octets, octets]])
    loads = LoadColumns(PickedNames("ab", np.arange(2)), np.array([10, 20]), rates, np.ones(2, dtype=bool))
    assert flow_or_qps_equally_divide(loads, FlowLimits(10, 10, 0)) == ()
    assert flow_or_qps_equally_divide(loads, FlowLimits(11, 11, 0)) is None


def test_the_hottest_topic_is_found_though_no_limit_is_exceeded_twice() -> None:
    rates = np.array([[0.25, 0.5, 0.0], [0.0] * 3, [0.0] * 3, [0.0] * 3])
    loads = LoadColumns(PickedNames("abc", np.arange(3)), np.arange(3), rates, np.ones(3, dtype=bool))
    assert hottest_rows(loads, FlowLimits(0, 0, 0)).tolist() == [1]


@pytest.mark.parametrize("bundle", [0, 1])
def test_positions_cut_every_bundle_that_has_two_topics(bundle: int) -> None:
    where = np.array([bundle, bundle, 1 - bundle, -1])
    topics = TopicColumns(where, where * 0, *np.zeros((2, 4)), np.ones(4, dtype=bool))
    cuts = specified_cuts(bundle_map([[0, 100, 0xFFFFFFFF]]), topics, [[50], [500]])
    assert (cuts.of(bundle), cuts.of(1 - bundle)) == (((50,), (500,))[bundle], None)


@pytest.mark.parametrize("short", [62, 63, 64, 65, 200])
def test_short_pieces_are_followed_by_long_ones(short: int) -> None:
    msgs = [2.0] * short + [0.001] * 6000 + [2.0, 1.0] * 2500
    assert len(compare(msgs, [0.5] * len(msgs), 3, 10**9)) > short + 2000


def test_the_middle_cut_of_columns_lies_between_the_two_middle_hashes() -> None:
    def cut(*hashes: int) -> tuple[int, ...] | None:
        count = len(hashes)
        names = PickedNames([str(at) for at in range(count)], np.arange(count))
        return topic_count_equally_divide(
            LoadColumns(names, np.array(hashes), np.zeros((4, count)), np.ones(count, dtype=bool))
        )

    assert [cut(7), cut(9, 3), cut(9, 1, 5), cut(40, 10, 20, 70), cut(5, 5, 5)] == [None, (6,), (3,), (30,), (5,)]
