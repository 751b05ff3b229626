"""Ranges as client code: complete, and in rows that are as long as they may be."""

from __future__ import annotations

import re
from itertools import pairwise, product

import pytest

from engine.keyshared.clients import WIDTH_CHARS, policy_code
from engine.keyshared.consistent_sticky import node_ranges
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted


@pytest.mark.parametrize("node", range(4))
def test_every_range_is_in_the_code_once_and_in_order(node: int) -> None:
    ranges = accepted(node_ranges(100, 4))[node]
    lines = policy_code("it", ranges)
    numbers = [int(number) for number in re.findall(r"\d+", "\n".join(lines))]
    assert numbers == [bound for piece in ranges for bound in (piece.start, piece.end)]
    assert max(map(len, lines)) <= WIDTH_CHARS + 1


def test_each_row_of_ranges_holds_as_many_as_fit() -> None:
    """The first range of a row, with its comma, would not have fitted into the row before."""
    assert WIDTH_CHARS == 100
    for short, low, high in product(range(2, 34), range(5), range(5)):
        if low > high:
            continue
        ranges = [HashRange(0, 1)] * short + [HashRange(10**low, 10**high + 1)] * 3
        rows = policy_code("it", ranges)[1:]
        for row, following in pairwise(rows):
            match = re.match(r"Range\.of\(\d+, \d+\)", following.strip())
            assert match is not None and row.endswith(",")
            assert len(row) <= WIDTH_CHARS < len(row) + len(match[0]) + 2


def test_code_ends_without_a_comma_and_without_ranges_there_is_none() -> None:
    assert policy_code("it", [HashRange(0, 1), HashRange(5, 9)]) == (
        "KeySharedPolicy it = KeySharedPolicy.stickyHashRange().ranges(",
        "        Range.of(0, 1), Range.of(5, 9));",
    )
    assert policy_code("it", []) == ()
