"""The split algorithms one by one, with the hand-checked cases of both forms of the flow rule."""

from __future__ import annotations

import math

import pytest

from engine.bundles.algorithms import (
    FlowLimits,
    flow_limits,
    range_equally_divide,
    resolve_algorithm,
    specified_positions_divide,
)
from engine.bundles.boundaries import BundleRange
from engine.bundles.bulk_splits import flow_or_qps_as_proposed, flow_or_qps_equally_divide, topic_count_equally_divide
from engine.bundles.loads import TopicLoad, topic_load
from engine.config import BrokerSettings
from engine.errors import Rejection

MIB = 1_048_576
SHIPPED = FlowLimits(30000, 100 * MIB, 10)
SMALL = FlowLimits(1000, 100 * MIB, 10)
EXAMPLE_HASHES = (10, 20, 80, 90, 100, 110)
EXAMPLE_RATES = (100, 200, 300, 400, 500, 2000)
EXAMPLE_M_PER_SEC = (1, 2, 3, 4, 5, 190)
TWINS = ("persistent://t/n/994", "persistent://t/n/14582620")


def loads(*pairs: tuple[int, float]) -> list[TopicLoad]:
    """Topics by hash and rate (msg/s); half comes in and half goes out."""
    return [TopicLoad(f"persistent://t/n/{i}", h, rate / 2, rate / 2) for i, (h, rate) in enumerate(pairs)]


def example(
    mega: int, rates: tuple[int, ...] = EXAMPLE_RATES, m: tuple[int, ...] = EXAMPLE_M_PER_SEC
) -> list[TopicLoad]:
    return [
        TopicLoad(f"persistent://t/n/{h}", h, msg_rate_in=r, throughput_in_bytes_per_sec=t * mega)
        for h, r, t in zip(EXAMPLE_HASHES, rates, m, strict=True)
    ]


def test_range_cuts_the_whole_space_one_below_two_to_the_31() -> None:
    assert range_equally_divide(0, 0xFFFFFFFF) == (0x7FFFFFFF,)


@pytest.mark.parametrize(("hashes", "cut"), [((1, 3), 2), ((1, 3, 9), 2), ((1, 3, 9, 11), 6), ((5, 5), 5)])
def test_topic_count_cuts_between_the_middle_hashes(hashes: tuple[int, ...], cut: int) -> None:
    """For an odd number the smaller half is on the left; the order of the listing does not matter."""
    topics = loads(*((h, 0.0) for h in reversed(hashes)))
    assert topic_count_equally_divide(topics) == (cut,)


@pytest.mark.parametrize("topics", [[], loads((100, 5000))])
def test_B01_one_topic_gives_no_boundary(topics: list[TopicLoad]) -> None:
    """One hot topic cannot be split off by any algorithm that looks at topics, however often it is asked."""
    assert topic_count_equally_divide(topics) is None
    assert flow_or_qps_equally_divide(topics, SMALL) is None
    assert specified_positions_divide(BundleRange(0, 512), topics, [100]) is None


def test_B06_equal_and_neighbouring_hashes_give_the_lower_hash_as_cut() -> None:
    """So the topic at the lower hash goes right too: with nothing below, the left half is empty."""
    assert topic_count_equally_divide(loads((70, 1), (70, 1))) == (70,)
    assert topic_count_equally_divide(loads((70, 1), (71, 1))) == (70,)
    assert topic_count_equally_divide(loads((0, 1), (0, 1), (0, 1))) == (0,)


def test_B08_positions_are_sorted_and_kept_only_strictly_inside() -> None:
    bundle, two = BundleRange(100, 200), loads((110, 1), (120, 1))
    assert specified_positions_divide(bundle, two, [199, 100, 101, 200, 5, 101, 300]) == (101, 101, 199)
    assert specified_positions_divide(bundle, two, [100, 200]) is None
    assert specified_positions_divide(bundle, None, [150], force=True) == (150,)


@pytest.mark.parametrize("positions", [None, []])
@pytest.mark.parametrize("force", [True, False])
def test_positions_must_be_given(positions: list[int] | None, force: bool) -> None:
    refusal = specified_positions_divide(BundleRange(0, 9), [], positions, force=force)
    assert isinstance(refusal, Rejection)
    assert refusal.error == "IllegalArgumentException"


def test_a_name_resolves_to_itself_then_the_default_then_range() -> None:
    assert resolve_algorithm("topic_count_equally_divide", "flow_or_qps_equally_divide") == "topic_count_equally_divide"
    assert resolve_algorithm("flow_count_equally_divide", "flow_or_qps_equally_divide") == "flow_or_qps_equally_divide"
    assert resolve_algorithm("Range_Equally_Divide", "") == "range_equally_divide"


@pytest.mark.parametrize("mega", [1_000_000, MIB])
def test_the_proposals_example_is_cut_at_105_as_proposed_and_at_106_as_merged(mega: int) -> None:
    """With the shipped limits the throughput is what triggers, whichever megabyte the proposal meant."""
    assert flow_or_qps_as_proposed(example(mega)) == (105,)
    assert flow_or_qps_equally_divide(example(mega), SHIPPED) == (106,)


def test_the_example_with_other_limits() -> None:
    assert flow_or_qps_equally_divide(example(MIB), FlowLimits(1750, 100 * MIB, 0)) == (106,)
    assert flow_or_qps_equally_divide(example(MIB), FlowLimits(30000, 2000 * MIB, 10)) is None


def test_the_example_of_the_proposals_later_edit() -> None:
    topics = example(1_000_000, (100, 200, 300, 400, 500, 600), (10, 20, 30, 40, 50, 60))
    assert flow_or_qps_as_proposed(topics) == (95,)
    assert flow_or_qps_equally_divide(topics, FlowLimits(1100, 110 * MIB, 10)) == (96,)


@pytest.mark.parametrize(
    ("case", "topics", "proposed", "merged"),
    [
        ("no topics", [], (), None),
        ("one topic", loads((100, 5000)), (50,), None),
        ("all rates zero", loads((100, 0), (200, 0)), (), None),
        ("two of one hash", loads((100, 2000), (100, 2000)), (100,), None),
        ("twins and a third", loads((100, 2000), (100, 2000), (200, 2000)), (100,), (101, 151)),
        ("twins and a neighbour", loads((100, 2000), (100, 2000), (101, 2000)), (100,), (101, 101)),
        ("neighbours", loads((100, 2000), (101, 2000)), (100,), (101,)),
        ("first past half", loads((100, 5000), (200, 10), (300, 10)), (50,), (151,)),
        ("first past half, higher up", loads((300, 5000), (400, 10), (500, 10)), (150,), (351,)),
        ("first on the lower bound", loads((256, 5000), (401, 10), (500, 10)), (128,), (329,)),
        ("last heavy", loads((100, 10), (200, 10), (300, 5000)), (250,), (251,)),
        ("half after the first", loads((100, 1000), (200, 1000)), (150,), (151,)),
        ("below the gate", loads((100, 540), (200, 540)), (150,), None),
        ("exactly at the gate", loads((100, 550), (200, 550)), (150,), (151,)),
        ("one of three has traffic", loads((100, 5000), (200, 0), (300, 0)), (50,), None),
        ("ten of 400", loads(*((h, 400) for h in range(10, 101, 10))), (55,), (26, 46, 66, 86)),
    ],
)
def test_both_rules_on_edge_cases(
    case: str, topics: list[TopicLoad], proposed: tuple[int, ...], merged: tuple[int, ...] | None
) -> None:
    """1000 msg/s, 100 MiB/s, 10 %: the rule as proposed and as merged."""
    assert flow_or_qps_as_proposed(topics) == proposed, case
    assert flow_or_qps_equally_divide(topics, SMALL) == merged, case


def test_B07_twins_of_one_hash_count_with_the_later_ones_numbers() -> None:
    """Two real names with one CRC-32: the later one's rate is used for both, and no cut parts them."""
    first, later = (topic_load(name, rate) for name, rate in zip(TWINS, (10.0, 900.0), strict=True))
    assert first.hash == later.hash
    above = TopicLoad("persistent://t/n/above", first.hash + 100, 300.0)
    cuts = flow_or_qps_equally_divide([first, later, above], SMALL)
    assert cuts == (first.hash + 1, first.hash + 51)
    turned = flow_or_qps_equally_divide([later, first, above], SMALL)
    assert turned == (), "with the small one last the pieces stay below the limit, though the totals pass the gate"


def test_B07_zero_and_negative_rates_are_left_out() -> None:
    assert flow_or_qps_equally_divide(loads((10, 0), (20, -5), (30, 2000)), SMALL) is None
    with_bytes = [TopicLoad("a", 10, 0.0, 0.0, 200.0 * MIB), TopicLoad("b", 20, 2000.0, 0.0, -1.0)]
    assert flow_or_qps_equally_divide(with_bytes, SMALL) == (16,)


def test_B07_nan_passes_the_gate_and_cuts_nowhere() -> None:
    """A rate that is not a number compares false with everything, as in Java."""
    assert flow_or_qps_equally_divide(loads((10, math.nan), (20, 5), (30, 2000)), SMALL) == ()


def test_B07_huge_rates_cut_between_all() -> None:
    topics = loads((10, 1e308), (20, math.inf), (30, 1e308))
    assert flow_or_qps_equally_divide(topics, SMALL) == (16, 26)


def test_B07_exactly_at_the_threshold_the_gate_opens_and_the_limit_holds() -> None:
    """The gate is a strict "below", the limit a strict "above": so an empty list is possible."""
    at_limit = FlowLimits(1000, 100 * MIB, 0)
    assert flow_or_qps_equally_divide(loads((10, 500), (20, 500)), at_limit) == ()
    assert flow_or_qps_equally_divide(loads((10, 500), (20, 499.9)), at_limit) is None
    assert flow_or_qps_equally_divide(loads((10, 500), (20, 500.1)), at_limit) == (16,)


def test_B07_topics_without_statistics_have_no_traffic() -> None:
    unknown = TopicLoad("c", 30, 9000.0, has_stats=False)
    assert flow_or_qps_equally_divide([*loads((10, 2000)), unknown], SMALL) is None


def test_limits_are_taken_from_the_settings_in_64_bits() -> None:
    limits = flow_limits(BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=5000))
    assert limits == FlowLimits(30000, 5000 * MIB, 10)


def by_bytes(*megabytes: float) -> list[TopicLoad]:
    """Topics at 10, 20, ... with these MiB a second, a quarter of them in."""
    sizes = [size * MIB for size in megabytes]
    return [TopicLoad(f"t{at}", 10 * at, 0.0, 0.0, size / 4, size * 3 / 4) for at, size in enumerate(sizes, 1)]


@pytest.mark.parametrize(
    ("megabytes", "percent", "cuts"),
    [
        ((60, 60, 60), 10, (16, 26)),
        ((40, 40, 40), 10, (26,)),
        ((40, 40, 40, 40, 40), 10, (26, 46)),
        ((50, 55), 10, None),  # 105 of 110
        ((50, 50), 0, ()),  # on the gate and on the limit
        ((50, 50.5), 0, (16,)),
        ((99, 100.5), 100, None),  # 199.5 of 200
        ((100, 100), 100, (16,)),
    ],
)
def test_bytes_open_the_gate_and_fill_pieces_as_messages_do(
    megabytes: tuple[float, ...], percent: int, cuts: tuple[int, ...] | None
) -> None:
    assert flow_or_qps_equally_divide(by_bytes(*megabytes), FlowLimits(1000, 100 * MIB, percent)) == cuts


def test_a_trickle_counts_and_idle_topics_before_it_do_not() -> None:
    trickle = [*loads((5, 0), (10, 0.5)), TopicLoad("b", 20, 0.0, 0.0, 0.25)]
    assert flow_or_qps_equally_divide(trickle, FlowLimits(0, 0, 0)) == (16,)


def test_the_proposed_rule_halves_messages_or_bytes_from_the_first_topic_on() -> None:
    assert flow_or_qps_as_proposed(loads((301, 3), (401, 2.5))) == (150,)
    assert flow_or_qps_as_proposed(by_bytes(40, 30, 50)) == (15,)
    assert flow_or_qps_as_proposed(by_bytes(60, 30, 30)) == (15,)
    assert flow_or_qps_as_proposed(by_bytes(20, 10, 31)) == (25,)
