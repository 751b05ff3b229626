"""What chance does: balls thrown at bins, which are topics in bundles or keys on consumers, and binomial tails."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_NEGLIGIBLE: Final = 1e-9
"""Chances below this are left out; the rest falls faster than geometrically."""


def equal_shares(bins: int) -> tuple[float, ...]:
    """The shares of equal bins."""
    return (1 / bins,) * bins


def expected_empty(balls: int, shares: Sequence[float]) -> float:
    """The expected number of bins without a ball; ``shares`` are their probabilities, with sum 1. O(bins).

    >>> expected_empty(2, (0.5, 0.5))
    0.5
    """
    return math.fsum((1.0 - share) ** balls for share in shares)


@dataclass(frozen=True, slots=True)
class Fullest:
    """How many balls the fullest bin has: ``at_most[i]`` is the chance of ``least + i`` or fewer; fewer than ``least``
    and more than all of these are next to impossible."""

    least: int
    at_most: tuple[float, ...]

    @property
    def expected(self) -> float:
        """The number it has on average: the sum of P(fullest > k) over k."""
        return self.least + math.fsum(1.0 - chance for chance in self.at_most)

    def quantile(self, level: float) -> int:
        """The smallest number that is not exceeded with at least this chance."""
        reached = next((at for at, chance in enumerate(self.at_most) if chance >= level), len(self.at_most))
        return self.least + reached


@lru_cache(maxsize=256)
def fullest(balls: int, shares: tuple[float, ...]) -> Fullest:
    """The fullest of the bins with these ``shares``, whose sum is 1, after a throw of ``balls``.

    Bins of a multinomial throw are Poisson bins given their sum, so P(fullest <= k) is the chance that Poisson bins,
    each at most k, add up to ``balls``, over that of bins without limit. The sum of the bins is taken modulo a length
    beyond which it has less than 1e-25 of its chance: one Fourier transform for each k and kind of share.

    Two balls in two bins are in the same bin half of the time, so 2 × 1/2 + 1 × 1/2:

    >>> round(fullest(2, (0.5, 0.5)).expected, 9), fullest(2, (0.5, 0.5)).quantile(0.9)
    (1.5, 2)
    """
    if balls == 0:
        return Fullest(0, ())
    kinds = Counter(shares)
    length = 1 << math.ceil(math.log2(24 * math.sqrt(balls) + 160))
    series = {share: _poisson(balls * share, balls) for share in kinds}
    turn = np.exp(2j * np.pi * (np.arange(length // 2 + 1) * (balls % length) % length) / length)
    # Real series have symmetric transforms: all but the first and the last frequency stand for two.
    turn[1:-1] *= 2

    def chance(folded: dict[float, NDArray[np.float64]]) -> float:
        product = turn.copy()
        for share, count in kinds.items():
            product *= _power(np.fft.rfft(folded[share]), count)
        return float(product.sum().real) / length

    def cut_after(most: int) -> dict[float, NDArray[np.float64]]:
        return {share: _folded(series[share][: most + 1], length) for share in kinds}

    whole = chance(cut_after(balls))
    # The fullest bin has at least the mean, and almost surely more.
    low, most = math.ceil(balls / len(shares)) - 1, balls
    while most - low > 1:
        middle = (low + most) // 2
        low, most = (middle, most) if chance(cut_after(middle)) / whole < _NEGLIGIBLE else (low, middle)
    least, at_most = most, []
    # From one k to the next each series has one more term, so only that one has to be folded.
    folded = cut_after(most)
    while most < balls:
        reached = chance(folded) / whole
        if 1.0 - reached < _NEGLIGIBLE:
            break
        at_most.append(max(reached, 0.0))
        most += 1
        for share in kinds:
            if most < len(series[share]):
                folded[share][most % length] += series[share][most]
    return Fullest(least, tuple(at_most))


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Power by squaring: numpy would compute a logarithm of every complex number."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result *= base
        base, exponent = base * base, exponent >> 1
    return result


def _poisson(mean: float, most: int) -> NDArray[np.float64]:
    counts = np.arange(min(most, math.ceil(mean + 24 * math.sqrt(mean) + 80)) + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log(counts[1:]))))
    result: NDArray[np.float64] = np.exp(counts * math.log(mean) - mean - logs) if mean else (counts == 0) * 1.0
    return result


def _folded(series: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    rows = -(-len(series) // length)
    padded = np.zeros(rows * length)
    padded[: len(series)] = series
    folded: NDArray[np.float64] = padded.reshape(rows, length).sum(axis=0)
    return folded


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
