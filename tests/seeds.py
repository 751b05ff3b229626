"""Examples that are made of a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def by_seed(make: Callable[[Random], T]) -> st.SearchStrategy[T]:
    """Examples of many parts: drawn one by one in hypothesis, the parts take several times as long as their test.

    What fails is not made smaller, but comes again from its seed.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: make(Random(seed)))
