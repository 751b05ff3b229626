"""How many bundles keep brokers even: the defaults, the bounds that can be given, and the table of powers of two."""

from __future__ import annotations

from typing import Any

import pytest

from engine.bundles import sizing
from engine.bundles.occupancy import ExpectedOccupancy, expected_occupancy
from engine.bundles.sizing import BundlesNeeded, bundles_needed
from engine.errors import Rejection


def needed(*numbers: int, **bounds: Any) -> BundlesNeeded:
    result = bundles_needed(*numbers, **bounds)
    assert isinstance(result, BundlesNeeded), result
    return result


def expected(*numbers: int) -> ExpectedOccupancy:
    occupancy = expected_occupancy(*numbers)
    assert isinstance(occupancy, ExpectedOccupancy), occupancy
    return occupancy


def test_one_and_a_half_times_the_mean_and_one_idle_broker_in_a_hundred_are_allowed() -> None:
    """Eight topics on three brokers: 17 bundles leave too much on one, 7 too much idle."""
    result = needed(8, 3)
    assert (result.bundles, result.max_over_mean, result.idle_share, result.governed_by) == (
        18,
        1.5,
        0.01,
        "max_over_mean",
    )
    assert expected(8, 17, 3).packed_max_over_mean > 1.5 >= expected(8, 18, 3).packed_max_over_mean
    idle = needed(8, 3, max_over_mean=3.0)
    assert idle.governed_by == "idle_share"
    assert expected(8, idle.bundles - 1, 3).idle_broker_share > 0.01 >= idle.expected.idle_broker_share


def test_the_table_has_the_powers_of_two_up_to_one_that_is_enough_and_the_answer() -> None:
    assert [each.bundles for each in needed(8, 3).table] == [1, 2, 4, 8, 16, 18, 32]
    assert [each.bundles for each in needed(8, 1).table] == [1]
    four = needed(8, 3, max_over_mean=2.0)
    assert (four.bundles, [each.bundles for each in four.table]) == (4, [1, 2, 4])
    assert four.table[-1] == four.expected == expected(8, 4, 3)


@pytest.mark.parametrize(("bundles", "within"), [(127, True), (128, True), (129, False)])
def test_up_to_128_bundles_can_come_of_automatic_splitting(bundles: int, within: bool) -> None:
    bound = expected(1000, bundles, 7).packed_max_over_mean + 1e-9
    result = needed(1000, 7, max_over_mean=bound)
    assert (result.bundles, result.within_maximum) == (bundles, within)
    assert needed(1000, 7, max_over_mean=bound, maximum_bundles=bundles).within_maximum
    assert not needed(1000, 7, max_over_mean=bound, maximum_bundles=bundles - 1).within_maximum


def test_the_ends_of_the_bounds_can_be_given() -> None:
    assert needed(5, 1, max_over_mean=1.0, idle_share=0.0).bundles == 1
    assert needed(1, 1).bundles == 1
    assert needed(2, 2, max_over_mean=2.0, idle_share=1.0).bundles == 1
    for bounds, field in (
        ({"max_over_mean": 0.999}, "max_over_mean"),
        ({"idle_share": 1.001}, "idle_share"),
        ({"idle_share": -0.001}, "idle_share"),
    ):
        refused = bundles_needed(5, 1, **bounds)
        assert isinstance(refused, Rejection)
        assert (refused.error, refused.field) == ("IllegalArgumentException", field)


def test_more_brokers_than_topics_leave_some_idle_whatever_the_bundles() -> None:
    refused = bundles_needed(2, 10, max_over_mean=100.0, idle_share=0.7)
    assert isinstance(refused, Rejection)
    assert (refused.error, refused.field) == ("Unattainable", "idle_share")
    assert needed(2, 10, max_over_mean=100.0, idle_share=0.85).bundles == 2
    assert needed(2, 10, max_over_mean=100.0, idle_share=0.9).bundles == 1


def test_the_search_ends_at_the_largest_number_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """18 bundles are needed; with 16 the fullest broker has at most 1.519 times the mean."""
    monkeypatch.setattr(sizing, "MAX_BUNDLES_ASKED", 16)
    refused = bundles_needed(8, 3)
    assert isinstance(refused, Rejection)
    assert (refused.error, refused.field) == ("Unattainable", "max_over_mean")
    assert f"{expected(8, 16, 3).packed_max_over_mean:.4f}" in refused.message
    idle = bundles_needed(2, 10, max_over_mean=100.0, idle_share=0.7)
    assert isinstance(idle, Rejection) and f"{expected(2, 16, 10).idle_broker_share:.4f}" in idle.message
    monkeypatch.setattr(sizing, "MAX_BUNDLES_ASKED", 32)
    assert needed(8, 3).bundles == 18


def test_the_explanation_has_a_sentence_for_the_bound_and_one_for_the_cap() -> None:
    assert len(needed(5, 1).explanation) == 4
    assert len(needed(8, 3).explanation) == 5 and "max_over_mean" in needed(8, 3).explanation[-1]
    assert len(needed(8, 3, maximum_bundles=17).explanation) == 6
