"""What chance does, against a count of every way in which balls can fall."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from engine.chance import binomial_at_least, binomial_quantiles, equal_shares, expected_empty, fullest

THROWS = [
    (0, (1.0,)),
    (1, (1.0,)),
    (4, (1.0,)),
    (0, (0.5, 0.5)),
    (1, (0.5, 0.5)),
    (5, (0.25, 0.25, 0.25, 0.25)),
    (6, equal_shares(3)),
    (6, (0.5, 0.3, 0.2)),
    (5, (0.7, 0.3, 0.0)),
    (4, (1.0, 0.0)),
]


def every_way(keys: int, shares: tuple[float, ...]) -> list[tuple[list[int], float]]:
    """The counts of the consumers for every way in which the keys fall, with its probability."""
    return [
        ([way.count(at) for at in range(len(shares))], math.prod(shares[at] for at in way))
        for way in product(range(len(shares)), repeat=keys)
    ]


def at_most(balls: int, shares: tuple[float, ...], most: int) -> float:
    """P(no bin has more)."""
    outcome = fullest(balls, shares)
    at = most - outcome.least
    return 0.0 if at < 0 else outcome.at_most[at] if at < len(outcome.at_most) else 1.0


@pytest.mark.parametrize(("balls", "shares"), THROWS)
def test_the_fullest_bin_is_that_of_every_way(balls: int, shares: tuple[float, ...]) -> None:
    ways = every_way(balls, shares)
    for most in range(balls + 1):
        expected = math.fsum(chance for counts, chance in ways if max(counts) <= most)
        assert at_most(balls, shares, most) == pytest.approx(expected, abs=1e-9)
    mean = math.fsum(max(counts) * chance for counts, chance in ways)
    assert fullest(balls, shares).expected == pytest.approx(mean, abs=1e-8)
    assert expected_empty(balls, shares) == pytest.approx(
        math.fsum(counts.count(0) * chance for counts, chance in ways)
    )


def test_a_quantile_is_the_first_number_that_is_probable_enough() -> None:
    """Two balls in two bins: none has more than one with probability 1/2."""
    outcome = fullest(2, (0.5, 0.5))
    assert (outcome.least, outcome.at_most) == (1, (pytest.approx(0.5),))
    assert [outcome.quantile(level) for level in (0.0, 0.1, 0.49, 0.51, 1.0)] == [1, 1, 1, 2, 2]


def test_bins_of_two_sizes_are_those_of_another_way_to_compute_them() -> None:
    """Twelve keys on five consumers, by counting how many keys the first three have."""
    shares = (0.3, 0.3, 0.2, 0.1, 0.1)
    for most in (3, 4, 6, 11):
        assert at_most(12, shares, most) == pytest.approx(nobody_above(12, shares, most), abs=1e-9)


def nobody_above(keys: int, shares: tuple[float, ...], most: int) -> float:
    """One consumer after another: keys! times the sum of the products of share^count / count!."""
    sums = [1.0] + [0.0] * keys
    for share in shares:
        sums = [
            math.fsum(sums[total - mine] * share**mine / math.factorial(mine) for mine in range(min(most, total) + 1))
            for total in range(keys + 1)
        ]
    return sums[keys] * math.factorial(keys)


@pytest.mark.parametrize(("balls", "bins"), [(100, 7), (400, 16)])
def test_many_balls_in_equal_bins_stay_exact(balls: int, bins: int) -> None:
    outcome = fullest(balls, equal_shares(bins))
    assert all(low <= high for low, high in zip(outcome.at_most, outcome.at_most[1:], strict=False))
    for most in {outcome.quantile(0.05), outcome.quantile(0.95)}:
        # Many small factors, so as fractions: the factorial overflows.
        scaled = [Fraction(1, math.factorial(count)) for count in range(most + 1)]
        assert at_most(balls, equal_shares(bins), most) == pytest.approx(
            float(coefficient(scaled, bins, balls)), rel=1e-6
        )


def coefficient(series: list[Fraction], power: int, keys: int) -> Fraction:
    """keys! / power^keys times the coefficient of x^keys in the power of the series, by the recurrence for powers."""
    result = [Fraction(1)]
    degree = len(series) - 1
    for at in range(1, keys + 1):
        terms = (
            (step * power - at + step) * series[step] * result[at - step] for step in range(1, min(at, degree) + 1)
        )
        result.append(sum(terms, Fraction(0)) / at)
    return result[keys] * math.factorial(keys) / Fraction(power) ** keys


def at_least(throws: int, probability: Fraction, hits: int) -> Fraction:
    """The sum of the terms, in whole numbers."""
    yes, whole = probability.numerator, probability.denominator
    ways = sum(math.comb(throws, at) * yes**at * (whole - yes) ** (throws - at) for at in range(hits, throws + 1))
    return Fraction(ways, whole**throws)


@pytest.mark.parametrize(
    ("throws", "probability"), [(100, Fraction(1, 8)), (300, Fraction(1, 2)), (300, Fraction(7, 8))]
)
def test_far_out_too_a_tail_is_right_to_nine_digits(throws: int, probability: Fraction) -> None:
    for hits in range(0, throws + 1, 7):
        expected = float(at_least(throws, probability, hits))
        assert binomial_at_least(throws, float(probability), hits) == pytest.approx(expected, rel=1e-9, abs=0)


def test_tails_at_the_edges() -> None:
    for probability in (0.0, 0.3, 1.0):
        assert [binomial_at_least(4, probability, hits) for hits in (-1, 0, 5)] == [1.0, 1.0, 0.0]
    assert [binomial_at_least(4, 0.0, hits) for hits in (1, 4)] == [0.0, 0.0]
    assert [binomial_at_least(4, 1.0, hits) for hits in (1, 4)] == [1.0, 1.0]
    assert binomial_at_least(0, 0.5, 0) == 1.0
    assert [binomial_at_least(10_000, 0.5, hits) for hits in (1, 9_999)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("throws", "probability"), [(1000, Fraction(1, 100)), (1000, Fraction(1, 2)), (1500, Fraction(7, 8))]
)
def test_quantiles_of_many_throws_are_the_first_that_reach_their_level(throws: int, probability: Fraction) -> None:
    levels = (0.001, 0.05, 0.5, 0.95, 0.999)
    for level, quantile in zip(levels, binomial_quantiles(throws, float(probability), levels), strict=True):
        assert 1 - at_least(throws, probability, quantile + 1) >= level > 1 - at_least(throws, probability, quantile)


def test_quantiles_of_what_is_certain_and_of_nothing() -> None:
    assert binomial_quantiles(9, 0.0, (0.0, 0.5, 1.0)) == (0, 0, 0)
    assert binomial_quantiles(9, 1.0, (0.5, 1.0)) == (9, 9)
    assert binomial_quantiles(0, 0.5, (0.05, 0.95)) == (0, 0)
