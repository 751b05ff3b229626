"""Arcs and dominance, against a form that looks at every hash of a small space."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.drawing.arcs import Arcs, arcs_of, contiguous, dominant_owners, hash_counts, merged, shares_of_bins

SIZE = 97


def owner_by_bisect(arcs: Arcs, value: int) -> int:
    """The first point at or after the hash, else the first of all."""
    points = arcs.points.tolist()
    return int(arcs.owners[bisect_left(points, value) % len(points)])


@st.composite
def small_arcs(draw: st.DrawFn, min_points: int = 1) -> Arcs:
    """Rings of a space of 97 hashes, equal points included."""
    points = sorted(draw(st.lists(st.integers(0, SIZE - 1), min_size=min_points, max_size=20)))
    owners = draw(st.lists(st.integers(0, 4), min_size=len(points), max_size=len(points)))
    return arcs_of(points, owners, 5, SIZE)


@st.composite
def bin_edges(draw: st.DrawFn) -> list[int]:
    """Edges from 0 to the size; some bins may be empty."""
    return [0, *sorted(draw(st.lists(st.integers(0, SIZE), max_size=12))), SIZE]


@settings(max_examples=100)
@given(small_arcs(), bin_edges())
def test_the_dominant_owner_has_most_hashes_and_the_lowest_index_on_a_tie(arcs: Arcs, edges: list[int]) -> None:
    expected = []
    for left, right in pairwise(edges):
        counts = Counter(owner_by_bisect(arcs, value) for value in range(left, right))
        expected.append(min(counts, key=lambda owner: (-counts[owner], owner)) if counts else -1)
    assert dominant_owners(arcs, np.array(edges)).tolist() == expected


@settings(max_examples=60)
@given(small_arcs(), bin_edges(), st.integers(0, 4))
def test_shares_of_bins_are_the_counted_ones(arcs: Arcs, edges: list[int], owner: int) -> None:
    expected = [
        sum(owner_by_bisect(arcs, value) == owner for value in range(left, right)) / max(1, right - left)
        for left, right in pairwise(edges)
    ]
    assert shares_of_bins(arcs, np.array(edges), owner).tolist() == pytest.approx(expected)


@settings(max_examples=60)
@given(small_arcs())
def test_hash_counts_are_the_counted_ones_and_cover_the_space(arcs: Arcs) -> None:
    counted = Counter(owner_by_bisect(arcs, value) for value in range(SIZE))
    assert hash_counts(arcs).tolist() == [counted[owner] for owner in range(5)]


@settings(max_examples=60)
@given(small_arcs())
def test_merged_arcs_tell_the_same_owner_as_bisect_and_never_have_equal_neighbours(arcs: Arcs) -> None:
    starts, lengths, owners = merged(arcs)
    reported = {
        (start + step) % SIZE: owner
        for start, length, owner in zip(starts.tolist(), lengths.tolist(), owners.tolist(), strict=True)
        for step in range(length)
    }
    assert int(lengths.sum()) == SIZE
    assert reported == {value: owner_by_bisect(arcs, value) for value in range(SIZE)}
    assert len(owners) == 1 or all(owners != np.roll(owners, 1))


def test_an_empty_ring_has_no_owner_anywhere() -> None:
    empty = arcs_of([], [], 0)
    assert dominant_owners(empty, np.array([0, 10, 2**31])).tolist() == [-1, -1]
    assert hash_counts(empty).tolist() == []
    assert [len(part) for part in merged(empty)] == [0, 0, 0]


def test_the_arc_across_zero_belongs_to_the_first_point() -> None:
    """Hashes after the last point wrap to the first one."""
    arcs = arcs_of([10, 2**30], [0, 1], 2)
    edges = np.array([0, 11, 2**30 + 1, 2**31])
    assert dominant_owners(arcs, edges).tolist() == [0, 1, 0]


def test_one_owner_is_one_arc_of_the_whole_space() -> None:
    starts, lengths, owners = merged(arcs_of([5, 9, 40], [2, 2, 2], 3, SIZE))
    assert (starts.tolist(), lengths.tolist(), owners.tolist()) == ([41], [SIZE], [2])


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_contiguous_arcs_add_up_to_the_space_and_follow_the_weights(weights: list[float]) -> None:
    arcs = contiguous(np.array(weights), SIZE)
    counts = hash_counts(arcs)
    total = sum(weights)
    assert int(counts.sum()) == (SIZE if total > 0 else 0)
    for weight, count in zip(weights, counts.tolist(), strict=True):
        assert abs(count - (weight / total * SIZE if total > 0 else 0)) <= 1.0 + 1e-6


def test_bands_of_a_million_hashes_keep_exact_shares() -> None:
    """The band's arcs are as long as what each consumer owns on the ring."""
    arcs = arcs_of([100, 200_000, 700_000, 999_999], [0, 1, 0, 2], 3, 1_000_000)
    assert hash_counts(contiguous(hash_counts(arcs), arcs.size)).tolist() == hash_counts(arcs).tolist()


@pytest.mark.parametrize(
    ("points", "owners", "consumers"), [([3, 1], [0, 0], 1), ([1, 2], [0], 1), ([1], [4], 2), ([200], [0], 1)]
)
def test_arcs_that_make_no_sense_are_refused(points: list[int], owners: list[int], consumers: int) -> None:
    with pytest.raises(AssertionError):
        arcs_of(points, owners, consumers, SIZE)


def test_equal_arcs_made_lately_are_one_object_and_no_others_are() -> None:
    """What was derived from them is found again; the arrays handed in may change afterwards without changing them."""
    points, owners = np.array([3, 9], dtype=np.uint32), np.array([0, 1], dtype=np.int32)
    arcs = arcs_of(points, owners, 2, size=16)
    assert arcs_of([3, 9], [0, 1], 2, size=16) is arcs
    others = [arcs_of([3, 9], [1, 0], 2, 16), arcs_of([3, 8], [0, 1], 2, 16), arcs_of([3, 9], [0, 1], 3, 16)]
    assert arcs not in others and arcs_of([3, 9], [0, 1], 2, size=16) is arcs
    points[0], owners[0] = 4, 1
    assert (arcs.points.tolist(), arcs.owners.tolist()) == ([3, 9], [0, 1])
