"""Topics fall on bundles like balls in bins, by CRC-32: how full the fullest is to be, and how many stay empty.

Exact expectations, up to rounding: nothing is sampled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_NEGLIGIBLE: Final = 1e-9
"""A chance below which the rest of a sum is left out; it falls faster than geometrically from there."""

_SURE: Final = 35.0
"""exp(-35) is below 1e-15."""


def expected_empty(balls: int, shares: Sequence[float]) -> float:
    """How many bins get no ball on average; ``shares`` are their probabilities, with sum 1. O(bins).

    >>> expected_empty(2, (0.5, 0.5))
    0.5
    """
    return math.fsum((1.0 - share) ** balls for share in shares)


def expected_fullest(balls: int, shares: Sequence[float]) -> float:
    """How many balls the fullest bin has on average.

    The sum of P(fullest > k) over k. Bins of a multinomial throw are Poisson bins given their sum, so P(fullest <= k)
    is the chance that Poisson bins, each at most k, add up to ``balls``, over that of bins without limit. The sum of
    the bins is taken modulo a length beyond which it has less than 1e-25 of its chance: one Fourier transform for
    each k and kind of share.

    Two balls in two bins lie together half of the time, so 2 × 1/2 + 1 × 1/2:

    >>> round(expected_fullest(2, (0.5, 0.5)), 9)
    1.5
    """
    if balls == 0:
        return 0.0
    kinds = Counter(shares)
    length = 1 << math.ceil(math.log2(24 * math.sqrt(balls) + 160))
    series = {share: _poisson(balls * share, balls) for share in kinds}
    turn = np.exp(2j * np.pi * (np.arange(length // 2 + 1) * (balls % length) % length) / length)
    # Real series have symmetric transforms: all but the first and the last frequency stand for two.
    turn[1:-1] *= 2

    def chance(most: int) -> float:
        product = turn.copy()
        for share, count in kinds.items():
            product *= _power(np.fft.rfft(_folded(series[share][: most + 1], length)), count)
        return float(product.sum().real) / length

    whole = chance(balls)
    # Fewer than the mean in the fullest bin is impossible, and soon above it still next to impossible: each k adds 1.
    low, most = math.ceil(balls / len(shares)) - 1, balls
    while most - low > 1:
        middle = (low + most) // 2
        low, most = (middle, most) if chance(middle) / whole < _NEGLIGIBLE else (low, middle)
    total = float(most)
    # From one k to the next each series has one term more, which is all that has to be folded.
    folded = {share: _folded(series[share][: most + 1], length) for share in kinds}
    while most < balls:
        product = turn.copy()
        for share, count in kinds.items():
            product *= _power(np.fft.rfft(folded[share]), count)
        beyond = 1.0 - float(product.sum().real) / length / whole
        if beyond < _NEGLIGIBLE:
            break
        total += min(beyond, 1.0)
        most += 1
        for share in kinds:
            if most < len(series[share]):
                folded[share][most % length] += series[share][most]
    return total


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """By squaring: a whole power of complex numbers costs numpy a logarithm of each."""
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


def occupied_below(balls: int, bins: int, limit: int) -> tuple[float, ...]:
    """P(exactly j of ``bins`` equal bins have a ball) for j = 0 ... limit - 1. O(limit^3 × log balls) where they count.

    Each ball either falls on a bin that has one, or on a new one: a chain of ``limit`` states and a last for the rest.
    Where fewer than ``limit`` bins are next to impossible, all chances are 0: bins that have a ball are negatively
    associated, so Bernstein's bound holds for their number.

    >>> [round(chance, 9) for chance in occupied_below(2, 4, 3)]
    [0.0, 0.25, 0.75]
    """
    if _seldom_below(balls, bins, limit):
        return (0.0,) * limit
    states = min(limit, bins + 1)
    chain = np.zeros((states + 1, states + 1))
    for occupied in range(states):
        chain[occupied, occupied] = occupied / bins
        chain[occupied, occupied + 1] = 1 - occupied / bins
    chain[states, states] = 1.0
    chances = np.linalg.matrix_power(chain, balls)[0, :states]
    return (*(float(chance) for chance in chances), *(0.0,) * (limit - states))


def _seldom_below(balls: int, bins: int, limit: int) -> bool:
    """Whether P(fewer than ``limit`` bins have a ball) is below 1e-15, by Bernstein's bound."""
    empty = (1.0 - 1.0 / bins) ** balls
    less = bins * (1.0 - empty) - (limit - 1)
    return less > 0 and less * less > 2 * _SURE * (bins * empty * (1.0 - empty) + less / 3)
