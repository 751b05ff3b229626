"""Is it luck? The spread that n keys over consumers show by chance alone.

Each key falls on a consumer independently, with that consumer's share of the slots as its probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

EXACT_WORK_LIMIT: Final = 300_000_000
"""The distribution is computed exactly up to this many multiplications (some tenths of a second), else sampled."""

EXACT_KEYS_LIMIT: Final = 2_000
"""Above this many keys it is always sampled: rounding would show in the last digits."""

SAMPLES: Final = 2_000
_NEGLIGIBLE: Final = 1e-10
_TINY: Final = 1e-150


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of ``keys`` keys over consumers with the given ``shares`` by chance alone.

    ``busiest`` is the distribution of the number of keys of the busiest consumer: ``busiest[m]`` is the probability
    that no consumer has more than m keys. ``exact`` is false where it was estimated from ``SAMPLES`` seeded throws.
    """

    keys: int
    shares: tuple[float, ...]
    exact: bool
    busiest: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Keys per consumer."""
        return self.keys / len(self.shares)

    @property
    def expected_max(self) -> float:
        """The keys the busiest consumer has on average."""
        return math.fsum(1 - below for below in self.busiest)

    @property
    def expected_max_over_mean(self) -> float:
        """How many times the mean the busiest consumer has on average; 1 where there is no key."""
        return self.expected_max / self.mean if self.keys else 1.0

    @property
    def expected_idle(self) -> float:
        """How many consumers have no key on average; always exact."""
        return math.fsum((1 - share) ** self.keys for share in self.shares)

    def chance_of_max(self, observed: int) -> float:
        """The probability that the busiest consumer has ``observed`` keys or more: small means that it is not luck."""
        if observed <= 0:
            return 1.0
        return 1 - self.busiest[observed - 1] if observed <= len(self.busiest) else 0.0

    def quantile(self, probability: float) -> int:
        """The smallest m for which the busiest consumer has m keys or fewer with at least this probability."""
        return next((most for most, below in enumerate(self.busiest) if below >= probability), self.keys)


def expected_spread(keys: int, shares: Sequence[float], *, seed: int = 0, exact: bool | None = None) -> Spread:
    """The spread of ``keys`` keys over consumers with these ``shares`` (their sum is 1).

    Exact by generating functions while that takes at most about ``EXACT_WORK_LIMIT`` multiplications (a thousand keys
    on a hundred consumers do), else estimated from throws that ``seed`` decides; ``exact`` forces one of the two.

    >>> spread = expected_spread(2, (0.5, 0.5))
    >>> round(spread.expected_max, 9), round(spread.expected_idle, 9), spread.exact
    (1.5, 0.5, True)
    """
    assert keys >= 0 and shares and all(share >= 0 for share in shares), "shares are not negative, and there is one"
    assert math.isclose(math.fsum(shares), 1.0, abs_tol=1e-9), f"shares add up to 1, not to {math.fsum(shares)}"
    return _spread(keys, tuple(shares), seed, exact)


def equal_shares(consumers: int) -> tuple[float, ...]:
    """The shares of a fair selector."""
    return (1 / consumers,) * consumers


@lru_cache(maxsize=64)
def _spread(keys: int, shares: tuple[float, ...], seed: int, exact: bool | None) -> Spread:
    if exact is None:
        # Equal shares are multiplied by squaring, so they cost what their logarithm costs.
        factors = math.log2(len(shares)) + 1 if len(set(shares)) == 1 else len(shares)
        most = keys * max(shares)
        exact = keys <= EXACT_KEYS_LIMIT and keys * most * factors * (4 * math.sqrt(most) + 8) <= EXACT_WORK_LIMIT
    busiest = _exact_busiest(keys, shares) if exact else _sampled_busiest(keys, shares, seed)
    return Spread(keys, shares, exact, busiest)


def _exact_busiest(keys: int, shares: tuple[float, ...]) -> tuple[float, ...]:
    """P(no consumer has more than m keys) for m = 0, 1, ... until it is 1.

    The counts of a multinomial throw are Poisson counts given their sum, so P is the coefficient of x^keys in the
    product of the Poisson series cut after x^m, over that of the uncut product.
    """
    quantiles: list[float] = []
    log_whole = _log_poisson(keys, float(keys))
    for most in range(keys + 1):
        if most * len(shares) < keys:
            quantiles.append(0.0)
            continue
        coefficient = _product_coefficient(keys, shares, most)
        quantiles.append(min(1.0, coefficient / math.exp(log_whole)))
        # Rounding in the logarithms leaves the last values slightly off 1, so they are set to 1.
        if 1 - quantiles[-1] < _NEGLIGIBLE:
            quantiles[-1] = 1.0
            break
    return tuple(quantiles)


def _product_coefficient(keys: int, shares: tuple[float, ...], most: int) -> float:
    if len(set(shares)) == 1:
        product = _power(_poisson(keys * shares[0], min(most, keys)), len(shares), keys)
    else:
        product = np.ones(1)
        for share in shares:
            product = _times(product, _poisson(keys * share, min(most, keys)), keys)
    return float(product[keys]) if len(product) > keys else 0.0


def _power(series: NDArray[np.float64], exponent: int, degree: int) -> NDArray[np.float64]:
    product = np.ones(1)
    while exponent:
        if exponent & 1:
            product = _times(product, series, degree)
        exponent >>= 1
        if exponent:
            series = _times(series, series, degree)
    return product


def _times(left: NDArray[np.float64], right: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    product = np.convolve(left, right)[: degree + 1]
    # Denormal floats cost a hundred times as much and are negligible here.
    product[product < _TINY] = 0
    return product


def _poisson(mean: float, most: int) -> NDArray[np.float64]:
    series = np.array([math.exp(_log_poisson(count, mean)) for count in range(most + 1)])
    series[series < _TINY] = 0
    return series


def _log_poisson(count: int, mean: float) -> float:
    if mean == 0:
        return 0.0 if count == 0 else -math.inf
    return count * math.log(mean) - mean - math.lgamma(count + 1)


def _sampled_busiest(keys: int, shares: tuple[float, ...], seed: int) -> tuple[float, ...]:
    weights = np.array(shares) / math.fsum(shares)
    throws = np.random.Generator(np.random.PCG64(seed)).multinomial(keys, weights, size=SAMPLES)
    counts = np.bincount(throws.max(axis=1), minlength=1)
    return tuple((np.cumsum(counts) / SAMPLES).tolist())


def binomial_at_least(throws: int, probability: float, hits: int) -> float:
    """The probability of ``hits`` or more among independent throws; exact to rounding also far out. O(sqrt(throws)).

    >>> [round(binomial_at_least(3, 0.5, hits), 9) for hits in (2, 0, 4)]
    [0.5, 1.0, 0.0]
    """
    if hits <= 0:
        return 1.0
    if hits > throws or probability <= 0:
        return 0.0
    if probability >= 1:
        return 1.0
    odds = probability / (1 - probability)
    # Terms shrink away from the middle, so the sum stops when they become negligible.
    if hits > throws * probability:
        return min(1.0, _tail(_binomial(throws, probability, hits), hits, throws, odds))
    below = _tail(_binomial(throws, probability, hits - 1), throws - hits + 1, throws, 1 / odds)
    return max(0.0, 1 - below)


def binomial_quantiles(throws: int, probability: float, levels: Sequence[float]) -> tuple[int, ...]:
    """For each level the smallest number of hits not exceeded with at least that probability; O(sqrt(throws)).

    >>> binomial_quantiles(2, 0.5, (0.2, 0.5, 0.9))
    (0, 1, 2)
    """
    middle, deviation = throws * probability, math.sqrt(throws * probability * (1 - probability))
    first, last = max(0, int(middle - 10 * deviation) - 10), min(throws, int(middle + 10 * deviation) + 10)
    terms = np.array([_binomial(throws, probability, hits) for hits in range(first, last + 1)])
    reached = np.cumsum(terms) + 1e-12
    return tuple(min(first + int(np.searchsorted(reached, level)), last) for level in levels)


def _tail(term: float, hits: int, throws: int, odds: float) -> float:
    total = 0.0
    while term > total * 1e-17:
        total += term
        term *= (throws - hits) / (hits + 1) * odds
        hits += 1
    return total


def _binomial(throws: int, probability: float, hits: int) -> float:
    if not 0 < probability < 1:
        return 1.0 if hits == throws * probability else 0.0
    ways = math.lgamma(throws + 1) - math.lgamma(hits + 1) - math.lgamma(throws - hits + 1)
    return math.exp(ways + hits * math.log(probability) + (throws - hits) * math.log1p(-probability))
