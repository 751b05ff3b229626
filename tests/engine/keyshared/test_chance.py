"""What chance does with keys, against a count of every way in which they can fall."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from engine.keyshared import chance
from engine.keyshared.chance import (
    EXACT_KEYS_LIMIT,
    SAMPLES,
    Spread,
    binomial_at_least,
    binomial_quantiles,
    equal_shares,
    expected_spread,
)

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


@pytest.mark.parametrize(("keys", "shares"), THROWS)
def test_the_exact_spread_is_the_mean_over_every_way(keys: int, shares: tuple[float, ...]) -> None:
    ways = every_way(keys, shares)
    spread = expected_spread(keys, shares, exact=True)
    assert (spread.keys, spread.shares, spread.exact) == (keys, shares, True)
    for most in range(keys + 1):
        expected = math.fsum(chance for counts, chance in ways if max(counts) <= most)
        below = spread.busiest[most] if most < len(spread.busiest) else 1.0
        assert below == pytest.approx(expected, abs=1e-9)
        at_least = math.fsum(chance for counts, chance in ways if max(counts) >= most)
        assert spread.chance_of_max(most) == pytest.approx(at_least, abs=1e-9)
    assert spread.busiest[-1] == 1.0
    assert (spread.chance_of_max(0), spread.chance_of_max(-1), spread.chance_of_max(keys + 1)) == (1.0, 1.0, 0.0)
    mean_max = math.fsum(max(counts) * chance for counts, chance in ways)
    assert spread.expected_max == pytest.approx(mean_max, abs=1e-9)
    assert spread.expected_idle == pytest.approx(math.fsum(counts.count(0) * chance for counts, chance in ways))
    assert spread.mean == keys / len(shares)
    assert spread.expected_max_over_mean == pytest.approx(mean_max * len(shares) / keys if keys else 1.0)


def test_a_quantile_is_the_first_number_that_is_probable_enough() -> None:
    """Two keys on two consumers: nobody has more than one with probability 1/2."""
    spread = expected_spread(2, (0.5, 0.5), exact=True)
    assert spread.busiest == (0.0, pytest.approx(0.5), 1.0)
    assert [spread.quantile(level) for level in (0.0, 0.1, 0.49, 0.51, 1.0)] == [0, 1, 1, 2, 2]
    assert Spread(7, (1.0,), True, (0.0, 0.5)).quantile(0.9) == 7


def test_distributions_that_are_cut_off_are_those_of_other_ways_to_compute_them() -> None:
    """Twelve keys on five consumers of two sizes, by counting how many keys the first three have."""
    shares = (0.3, 0.3, 0.2, 0.1, 0.1)
    spread = expected_spread(12, shares, exact=True)
    for most in (3, 4, 6, 11):
        assert spread.busiest[most] == pytest.approx(nobody_above(12, shares, most), rel=1e-9)


def nobody_above(keys: int, shares: tuple[float, ...], most: int) -> float:
    """One consumer after another: keys! times the sum of the products of share^count / count!."""
    sums = [1.0] + [0.0] * keys
    for share in shares:
        sums = [
            math.fsum(sums[total - mine] * share**mine / math.factorial(mine) for mine in range(min(most, total) + 1))
            for total in range(keys + 1)
        ]
    return sums[keys] * math.factorial(keys)


@pytest.mark.parametrize(("keys", "consumers"), [(100, 7), (400, 16)])
def test_many_keys_on_equal_consumers_stay_exact(keys: int, consumers: int) -> None:
    spread = expected_spread(keys, equal_shares(consumers))
    assert spread.exact
    assert all(low <= high for low, high in zip(spread.busiest, spread.busiest[1:], strict=False))
    for most in {spread.quantile(0.05), spread.quantile(0.95)}:
        # Many small factors, so in logarithms: keys! overflows.
        scaled = [Fraction(1, math.factorial(count)) for count in range(most + 1)]
        assert spread.busiest[most] == pytest.approx(float(coefficient(scaled, consumers, keys)), rel=1e-6)


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


def test_beyond_its_limits_the_spread_is_estimated() -> None:
    assert expected_spread(EXACT_KEYS_LIMIT, equal_shares(100)).exact
    assert not expected_spread(EXACT_KEYS_LIMIT + 1, equal_shares(100)).exact
    # A thousand keys on a hundred consumers take too long where all shares differ by much, not where they are alike.
    assert not expected_spread(EXACT_KEYS_LIMIT, (0.9, 0.1)).exact
    assert expected_spread(1000, tuple((at + 50) / 9950 for at in range(100))).exact


@pytest.mark.parametrize("shares", [equal_shares(2), equal_shares(9), (0.7, 0.3), (0.4, 0.3, 0.2, 0.1), (1.0,)])
def test_a_spread_is_computed_while_its_multiplications_are_few_enough(
    shares: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the distribution's 4 sqrt(most) + 8 values that matter multiplies series of ``most`` terms, for equal
    shares by squaring."""
    factors = math.log2(len(shares)) + 1 if len(set(shares)) == 1 else len(shares)
    for keys in (1, 2, 7, 40):
        most = keys * max(shares)
        work = keys * most * factors * (4 * math.sqrt(most) + 8)
        for limit, exact in ((work, True), (work * 0.999, False)):
            monkeypatch.setattr(chance, "EXACT_WORK_LIMIT", limit)
            chance._spread.cache_clear()
            assert expected_spread(keys, shares).exact is exact
    chance._spread.cache_clear()


@pytest.mark.parametrize(("keys", "shares"), [(6, (0.5, 0.3, 0.2)), (30, equal_shares(4)), (0, (0.5, 0.5))])
def test_an_estimate_is_near_what_it_estimates_and_has_the_same_seed_s_throws(
    keys: int, shares: tuple[float, ...]
) -> None:
    estimated, exact = expected_spread(keys, shares, exact=False), expected_spread(keys, shares, exact=True)
    assert (estimated.exact, exact.exact) == (False, True)
    assert estimated.busiest[-1] == 1.0
    # Five standard deviations of a part of 2000 throws.
    assert all(abs(estimated.chance_of_max(at) - exact.chance_of_max(at)) <= 0.056 for at in range(keys + 2))
    assert all((below * SAMPLES) == pytest.approx(round(below * SAMPLES)) for below in estimated.busiest)
    assert estimated.expected_idle == exact.expected_idle
    assert expected_spread(keys, shares, exact=False, seed=0) == estimated


def test_shares_are_thrown_as_parts_of_their_sum() -> None:
    """A sum a little above 1 passes for 1, as rounding makes it."""
    spread = expected_spread(5, (1 + 5e-10, 0.0), exact=False)
    assert spread.busiest == (0.0,) * 5 + (1.0,)
    assert expected_spread(0, (0.5, 0.5), exact=False).busiest == (1.0,)


def test_another_seed_has_other_throws() -> None:
    one, other = (expected_spread(30, equal_shares(4), exact=False, seed=seed) for seed in (1, 2))
    assert one.busiest != other.busiest


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
