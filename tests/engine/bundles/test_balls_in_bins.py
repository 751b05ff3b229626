"""Balls in bins: the expectations equal exact counts, for few and for very many balls, up to rounding."""

from __future__ import annotations

import math

import pytest

from engine.bundles.occupancy import _seldom_below, occupied_below
from engine.chance import expected_empty, fullest
from tests.oracles import balls as exact


@pytest.mark.parametrize(
    ("balls", "weights"),
    [
        (1, (1, 1)),
        (2, (1,) * 12),
        (3, (1, 1, 0)),
        (9, (1, 2, 3, 4)),
        (25, (1, 1, 1)),
        (25, (7, 1, 1, 0, 1)),
        (40, (1,) * 8),
    ],
)
def test_the_fullest_bin_is_what_all_throws_give_on_average(balls: int, weights: tuple[int, ...]) -> None:
    shares = tuple(weight / sum(weights) for weight in weights)
    assert fullest(balls, shares).expected == pytest.approx(float(exact.fullest(balls, weights)), abs=1e-9)


@pytest.mark.parametrize(
    ("balls", "weight", "of"),
    [(521, 100, 521), (600, 1, 2), (601, 1, 2), (1000, 9, 10), (1000, 6, 10), (1500, 1, 3), (1200, 1, 100)],
)
def test_the_fuller_of_two_bins_is_the_one_of_the_binomial_law(balls: int, weight: int, of: int) -> None:
    result = fullest(balls, (weight / of, (of - weight) / of)).expected
    assert result == pytest.approx(float(exact.fuller_of_two(balls, weight, of)), abs=1e-8)


@pytest.mark.parametrize("half", [5_000, 50_000])
def test_the_fuller_of_two_bins_with_very_many_balls_is_exact_too(half: int) -> None:
    """The mean, and the mean distance from it, which is half of the balls times the chance of a tie."""
    tie = math.comb(2 * half, half) / 2 ** (2 * half)
    assert fullest(2 * half, (0.5, 0.5)).expected == pytest.approx(half * (1 + tie), abs=1e-7)


@pytest.mark.parametrize("weights", [(1,), (1, 1), (1, 2, 5)])
@pytest.mark.parametrize("balls", [0, 1, 7])
def test_empty_bins_are_what_all_throws_leave_on_average(balls: int, weights: tuple[int, ...]) -> None:
    total = sum(weights)
    empty = sum((total - weight) ** balls for weight in weights) / total**balls
    assert expected_empty(balls, [weight / total for weight in weights]) == pytest.approx(empty)


@pytest.mark.parametrize(("balls", "bins"), [(0, 3), (1, 1), (5, 3), (12, 20), (30, 8), (3000, 1), (3000, 2)])
def test_the_number_of_bins_with_a_ball_has_the_chances_of_all_throws(balls: int, bins: int) -> None:
    chances = [float(chance) for chance in exact.occupied(balls, bins)]
    for limit in (1, 2, bins, bins + 1, bins + 2, bins + 9):
        result = occupied_below(balls, bins, limit)
        assert result == pytest.approx([*chances, *[0.0] * limit][:limit], abs=1e-12)


@pytest.mark.parametrize("bins", [1, 2, 3, 40, 90, 200, 1000])
@pytest.mark.parametrize("limit", [1, 2, 20, 35])
def test_chances_are_left_out_exactly_where_bernsteins_bound_is_below_exp_minus_35(bins: int, limit: int) -> None:
    for balls in (0, 1, 2, 5, 30, 60, 75, 80, 90, 100, 130, 180, 300, 1000):
        bound = exact.bernstein(balls, bins, limit)
        if not math.isclose(bound, 35.0, rel_tol=1e-9):
            assert _seldom_below(balls, bins, limit) is (bound > 35.0), (balls, bound)
