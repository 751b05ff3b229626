"""Balls in bins counted exactly, throw by throw in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def fullest(balls: int, weights: Sequence[int]) -> Fraction:
    """How many balls the fullest bin has on average; a ball falls into a bin in proportion to its weight."""
    throws = sum(weights) ** balls
    return sum((1 - Fraction(_throws_up_to(most, balls, weights), throws) for most in range(balls)), Fraction(0))


def _throws_up_to(most: int, balls: int, weights: Sequence[int]) -> int:
    """Weighted throws that leave no bin with more than ``most`` balls."""
    ways = [1] + [0] * balls
    for weight in weights:
        ways = [
            sum(math.comb(total, here) * weight**here * ways[total - here] for here in range(min(most, total) + 1))
            for total in range(balls + 1)
        ]
    return ways[balls]


def fuller_of_two(balls: int, weight: int, of: int) -> Fraction:
    """The same of two bins, of which one is hit ``weight`` times in ``of``."""
    counts = (
        math.comb(balls, here) * weight**here * (of - weight) ** (balls - here) * max(here, balls - here)
        for here in range(balls + 1)
    )
    return Fraction(sum(counts), of**balls)


def occupied(balls: int, bins: int) -> list[Fraction]:
    """The chances that exactly 0, 1, ... all bins have a ball."""
    result = []
    for full in range(bins + 1):
        onto = sum(
            (-1) ** left_out * math.comb(full, left_out) * (full - left_out) ** balls for left_out in range(full + 1)
        )
        result.append(Fraction(math.comb(bins, full) * onto, bins**balls))
    return result


def bernstein(balls: int, bins: int, limit: int) -> float:
    """Bernstein's exponent e of the bound P(fewer than ``limit`` bins have a ball) <= exp(-e); 0 for no bound."""
    empty = Fraction(bins - 1, bins) ** balls
    below_the_mean = bins * (1 - empty) - (limit - 1)
    if below_the_mean <= 0:
        return 0.0
    return float(below_the_mean**2 / (2 * (bins * empty * (1 - empty) + below_the_mean / 3)))
