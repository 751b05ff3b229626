"""The counter of a router that goes round: Java's ``AtomicInteger``, which wraps."""

from __future__ import annotations

from typing import Final

_LARGEST: Final = 2**31 - 1


def next_turn(counter: int) -> int:
    """The counter after one more message; past 2147483647 it goes on at -2147483648.

    At the wrap the sequence of partitions jumps, unless their number divides 2**32.

    >>> next_turn(6), next_turn(2**31 - 1)
    (7, -2147483648)
    """
    return counter + 1 if counter < _LARGEST else -_LARGEST - 1
