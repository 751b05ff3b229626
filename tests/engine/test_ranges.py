"""Closed ranges: touching ends are shared, neighbours join, holes are found."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.ranges import HashRange, covers_exactly, join_neighbours, overlaps, uncovered

SPACE = HashRange(0, 15)
RANGES = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 15)).map(lambda p: HashRange(min(p), max(p))), max_size=6
)


def values(ranges: tuple[HashRange, ...] | list[HashRange]) -> set[int]:
    return {value for piece in ranges for value in range(piece.start, piece.end + 1)}


def test_a_range_has_both_its_ends() -> None:
    one = HashRange(4, 4)
    assert one.size == 1 and one.contains(4) and not one.contains(5)
    assert HashRange(0, 4).overlaps(HashRange(4, 9))
    assert not HashRange(0, 4).overlaps(HashRange(5, 9))
    assert str(HashRange(0, 4)) == "[0,4]"


def test_an_empty_range_cannot_be_made() -> None:
    with pytest.raises(AssertionError, match=r"\[5,4\]"):
        HashRange(5, 4)


@given(RANGES)
def test_joining_keeps_the_values_and_leaves_no_neighbours(ranges: list[HashRange]) -> None:
    joined = join_neighbours(ranges)
    assert values(joined) == values(ranges)
    assert all(right.start > left.end + 1 for left, right in pairwise(joined))


@given(RANGES)
def test_what_is_uncovered_is_the_rest_of_the_space(ranges: list[HashRange]) -> None:
    gaps = uncovered(ranges, HashRange(3, 12))
    assert values(gaps) == set(range(3, 13)) - values(ranges)


@given(RANGES)
def test_ranges_are_disjoint_exactly_when_no_overlap_is_reported(ranges: list[HashRange]) -> None:
    assert (not overlaps(ranges)) == (sum(piece.size for piece in ranges) == len(values(ranges)))
    assert all(left.overlaps(right) for left, right in overlaps(ranges))


@given(RANGES)
def test_exact_cover_means_every_value_once_and_nothing_outside(ranges: list[HashRange]) -> None:
    exact = sum(piece.size for piece in ranges) == SPACE.size and values(ranges) == values([SPACE])
    assert covers_exactly(ranges, SPACE) == exact
    assert not covers_exactly([*ranges, HashRange(16, 16)], SPACE)


def test_a_range_under_a_wide_one_is_reported_also_behind_a_narrow_one() -> None:
    wide, narrow, behind = HashRange(0, 9), HashRange(1, 2), HashRange(5, 6)
    assert overlaps([behind, wide, narrow]) == ((wide, narrow), (wide, behind))
    as_far = HashRange(4, 9)
    assert overlaps([behind, wide, as_far]) == ((wide, as_far), (wide, behind))


def test_exact_cover_sees_both_edges() -> None:
    assert covers_exactly([HashRange(8, 15), HashRange(0, 7)], SPACE)
    assert not covers_exactly([HashRange(1, 15)], SPACE)
    assert not covers_exactly([HashRange(0, 14)], SPACE)
    assert not covers_exactly([HashRange(0, 8), HashRange(8, 15)], SPACE)
