"""Occupancy: counted numbers add up, expected ones equal enumeration, and the number of bundles keeps its bounds."""

from __future__ import annotations

from itertools import product
from statistics import mean
from typing import Any

import pytest

from engine.bundles.boundaries import NamespaceBundles, default_boundaries
from engine.bundles.loads import TopicLoad, topic_load
from engine.bundles.occupancy import (
    MAX_BROKERS,
    MAX_BUNDLES_ASKED,
    MAX_TOPICS,
    CountedOccupancy,
    ExpectedOccupancy,
    count_occupancy,
    expected_occupancy,
    occupied_below,
)
from engine.bundles.sizing import BundlesNeeded, bundles_needed
from engine.chance import expected_empty, fullest
from engine.errors import Rejection


def expected(topics: int, bundles: int, brokers: int) -> ExpectedOccupancy:
    occupancy = expected_occupancy(topics, bundles, brokers)
    assert isinstance(occupancy, ExpectedOccupancy), occupancy
    return occupancy


@pytest.mark.parametrize(("topics", "bundles", "brokers"), [(1, 1, 1), (2, 2, 2), (3, 4, 2), (5, 3, 4), (6, 4, 3)])
def test_expectations_equal_the_mean_over_every_possible_throw(topics: int, bundles: int, brokers: int) -> None:
    throws = list(product(range(bundles), repeat=topics))
    result = expected(topics, bundles, brokers)
    assert result.empty_bundles == pytest.approx(mean(bundles - len(set(throw)) for throw in throws))
    assert result.fullest_bundle == pytest.approx(mean(max(map(throw.count, throw)) for throw in throws))
    assert result.idle_brokers == pytest.approx(mean(max(brokers - len(set(throw)), 0) for throw in throws))
    dealt = [[bundle % brokers for bundle in throw] for throw in throws]
    assert result.fullest_broker_dealt == pytest.approx(mean(max(map(each.count, each)) for each in dealt))


def test_unequal_shares_are_exact_too() -> None:
    shares, throws = (0.5, 0.3, 0.2), list(product(range(3), repeat=4))
    weights = [shares[a] * shares[b] * shares[c] * shares[d] for a, b, c, d in throws]
    mean_fullest = sum(weight * max(map(throw.count, throw)) for weight, throw in zip(weights, throws, strict=True))
    assert fullest(4, shares).expected == pytest.approx(mean_fullest)
    assert expected_empty(4, shares) == pytest.approx(0.5**4 + 0.7**4 + 0.8**4)


def test_nothing_thrown_leaves_all_empty() -> None:
    result = expected(0, 4, 3)
    assert (result.empty_bundles, result.fullest_bundle, result.idle_brokers) == (4.0, 0.0, 3.0)
    assert result.packed_max_over_mean == result.dealt_max_over_mean == result.bundle_max_over_mean == 1.0
    assert occupied_below(0, 4, 2) == (1.0, 0.0)


def test_large_numbers_stay_between_what_is_certain_and_what_is_known_of_the_normal_law() -> None:
    """The larger of two binomials of n throws lies sqrt(n / (2 pi)) above n/2, but for terms that vanish."""
    assert fullest(100_000, (0.5, 0.5)).expected == pytest.approx(
        50_000 + (100_000 / (2 * 3.141592653589793)) ** 0.5, rel=1e-6
    )
    assert fullest(90_000, (1.0,)).expected == pytest.approx(90_000.0)


@pytest.mark.parametrize("balls", [1, 5, 20, 60, 200])
@pytest.mark.parametrize("bins", [1, 2, 30, 120])
def test_chances_that_are_left_out_are_next_to_nothing(balls: int, bins: int) -> None:
    """Beside the chain of all states, computed one ball at a time."""
    chances = [1.0] + [0.0] * bins
    for _ in range(balls):
        moved = [0.0, *(chance * (bins - at) / bins for at, chance in enumerate(chances))]
        chances = [chance * at / bins + moved[at] for at, chance in enumerate(chances)]
    for limit in (1, 2, 10, 25, 90):
        result = occupied_below(balls, bins, limit)
        wanted = (*chances, *(0.0,) * limit)[:limit]
        assert result == pytest.approx(wanted, abs=1e-12)


def test_shares_and_ratios_of_given_expectations_can_be_checked_by_hand() -> None:
    occupancy = ExpectedOccupancy(8, 4, 2, 1.0, 3.0, 0.5, 5.0)
    assert (occupancy.mean_per_bundle, occupancy.mean_per_broker) == (2.0, 4.0)
    assert (occupancy.empty_bundle_share, occupancy.idle_broker_share) == (0.25, 0.25)
    assert occupancy.fullest_broker_packed == 8 / 2 + (1 - 1 / 2) * 3.0 == 5.5
    assert (occupancy.bundle_max_over_mean, occupancy.dealt_max_over_mean, occupancy.packed_max_over_mean) == (
        1.5,
        1.25,
        1.375,
    )


def test_the_largest_numbers_of_the_model_are_answered_and_one_more_is_not() -> None:
    assert (MAX_TOPICS, MAX_BUNDLES_ASKED, MAX_BROKERS) == (2_000_000, 65_536, 1_024)
    assert expected(2_000_000, 1, 1).fullest_bundle == pytest.approx(2_000_000)
    assert expected(0, 65_536, 1_024).idle_brokers == 1_024
    for numbers, field in (
        ((2_000_001, 1, 1), "topics"),
        ((-1, 1, 1), "topics"),
        ((0, 65_537, 1), "bundles"),
        ((0, 0, 1), "bundles"),
        ((0, 1, 1_025), "brokers"),
        ((0, 1, 0), "brokers"),
    ):
        refused = expected_occupancy(*numbers)
        assert isinstance(refused, Rejection) and refused.field == field


def test_a_million_topics_and_a_thousand_brokers_are_answered() -> None:
    occupancy = expected_occupancy(1_000_000, 4096, 1024)
    assert not isinstance(occupancy, Rejection)
    assert (
        occupancy.mean_per_bundle
        < occupancy.fullest_bundle
        < occupancy.mean_per_bundle + 6 * occupancy.mean_per_bundle**0.5
    )
    assert occupancy.idle_brokers == 0.0
    few = expected_occupancy(2_000, 64, 1_024)
    assert not isinstance(few, Rejection) and few.idle_brokers == pytest.approx(960)


def test_B12_eight_partitions_in_four_bundles_leave_a_broker_idle_and_more_bundles_do_not() -> None:
    """The users' case: too few bundles, idle brokers. Enumerated expectations, then the answer to "how many"."""
    few, needed = expected(8, 4, 3), bundles_needed(8, 3, idle_share=0.001, max_over_mean=3.0)
    assert isinstance(needed, BundlesNeeded), needed
    assert few.idle_broker_share > 0.001 >= needed.expected.idle_broker_share
    assert needed.governed_by == "idle_share"
    assert expected(8, needed.bundles - 1, 3).idle_broker_share > 0.001


@pytest.mark.parametrize(("topics", "brokers", "bound"), [(100, 10, 1.5), (1000, 3, 1.2), (50, 4, 2.0), (300, 7, 1.3)])
def test_B12_the_number_asked_for_is_the_smallest_that_keeps_the_bound(topics: int, brokers: int, bound: float) -> None:
    needed = bundles_needed(topics, brokers, max_over_mean=bound)
    assert isinstance(needed, BundlesNeeded), needed
    assert needed.expected.packed_max_over_mean <= bound
    assert expected(topics, needed.bundles - 1, brokers).packed_max_over_mean > bound
    assert [each.bundles for each in needed.table] == sorted({each.bundles for each in needed.table})
    assert needed.bundles in [each.bundles for each in needed.table]


def test_the_explanation_holds_the_numbers_and_says_when_the_cap_is_passed() -> None:
    needed = bundles_needed(20, 10)
    assert isinstance(needed, BundlesNeeded)
    assert not needed.within_maximum
    text = "\n".join(needed.explanation)
    assert f"{needed.bundles} bundles" in text and "loadBalancerNamespaceMaximumBundles" in text
    alone = bundles_needed(5, 1)
    assert isinstance(alone, BundlesNeeded)
    assert (alone.bundles, alone.governed_by, alone.within_maximum) == (1, "nothing", True)


def test_a_bound_that_chance_does_not_allow_is_refused_with_the_best_there_is() -> None:
    """Five topics on ten brokers: the fullest has one at least, twice the mean, and the bound adds the mean."""
    result = bundles_needed(5, 10, max_over_mean=1.5)
    assert isinstance(result, Rejection)
    assert (result.error, result.field) == ("Unattainable", "max_over_mean")


@pytest.mark.parametrize(
    ("topics", "brokers", "bounds", "field"),
    [
        (0, 3, {}, "topics"),
        (-1, 3, {}, "topics"),
        (2_000_001, 3, {}, "topics"),
        (5, 0, {}, "brokers"),
        (5, 1_025, {}, "brokers"),
        (5, 3, {"max_over_mean": 0.5}, "max_over_mean"),
        (5, 3, {"max_over_mean": float("nan")}, "max_over_mean"),
        (5, 3, {"max_over_mean": float("inf")}, "max_over_mean"),
        (5, 3, {"idle_share": -0.1}, "idle_share"),
        (5, 3, {"idle_share": float("nan")}, "idle_share"),
    ],
)
def test_bad_numbers_are_refused_by_name(topics: int, brokers: int, bounds: dict[str, Any], field: str) -> None:
    result = bundles_needed(topics, brokers, **bounds)
    assert isinstance(result, Rejection)
    assert result.field == field


def test_counts_add_up_and_stand_beside_what_chance_does() -> None:
    boundaries = default_boundaries(8)
    assert isinstance(boundaries, tuple)
    topics = [topic_load(f"persistent://t/n/x-partition-{place}") for place in range(100)]
    occupancy = count_occupancy(NamespaceBundles("t/n", boundaries), topics, ["b:1", "b:2", "b:3"])
    assert isinstance(occupancy, CountedOccupancy), occupancy
    assert sum(occupancy.per_bundle) == sum(count for _, count in occupancy.per_broker) == occupancy.topics == 100
    assert occupancy.expected == expected(100, 8, 3)
    assert (occupancy.fullest_bundle, occupancy.unplaced) == (max(occupancy.per_bundle), ())


def test_B14_a_topic_below_the_first_boundary_is_counted_as_unplaced() -> None:
    upper = NamespaceBundles("t/n", (1000, 0xFFFFFFFF))
    occupancy = count_occupancy(upper, [TopicLoad("low", 5), TopicLoad("high", 5000)], ["b:1"])
    assert isinstance(occupancy, CountedOccupancy)
    assert (occupancy.per_bundle, occupancy.unplaced) == ((1,), ("low",))
    assert occupancy.expected == expected(1, 1, 1), "only the placed topics are beside chance"


def test_a_count_says_how_many_are_empty_idle_and_fullest() -> None:
    bundles = NamespaceBundles("t/n", (0, 10, 20, 30, 40, 0xFFFFFFFF))
    topics = [TopicLoad(f"at-{at}", at) for at in (0, 9, 10, 15, 19, 40)]
    occupancy = count_occupancy(bundles, topics, ["b:1", "b:2", "b:3", "b:4"])
    assert isinstance(occupancy, CountedOccupancy)
    assert occupancy.per_bundle == (2, 3, 0, 0, 1)
    assert occupancy.per_broker == (("b:1", 3), ("b:2", 3), ("b:3", 0), ("b:4", 0))
    assert (occupancy.topics, occupancy.empty_bundles, occupancy.idle_brokers) == (6, 2, ("b:3", "b:4"))
    assert (occupancy.fullest_bundle, occupancy.fullest_broker) == (3, 3)


def test_owners_decide_and_strangers_are_refused() -> None:
    halves = NamespaceBundles("t/n", (0, 100, 0xFFFFFFFF))
    owners = {str(bundle): "b:2" for bundle in halves}
    occupancy = count_occupancy(halves, [TopicLoad("a", 5), TopicLoad("b", 500)], ["b:1", "b:2"], owners)
    assert isinstance(occupancy, CountedOccupancy)
    assert (occupancy.per_broker, occupancy.idle_brokers) == ((("b:1", 0), ("b:2", 2)), ("b:1",))
    for brokers, field in ((["b:1"], "owners"), ([], "brokers")):
        refused = count_occupancy(halves, [], brokers, owners)
        assert isinstance(refused, Rejection) and refused.field == field
