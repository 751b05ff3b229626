"""Layouts: refusals by hand, time of pruning, ancestors, wrong graphs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.layout import (
    Clocks,
    clocks_of,
    first_layout,
    merge,
    merge_depths,
    migrated_layout,
    prunable,
    prune,
    rebucket_by_hand,
    split,
)
from engine.scalable.model import Layout, Segment, SegmentState


def sound(layout: Layout | Rejection) -> Layout:
    assert isinstance(layout, Layout)
    return layout


def test_the_time_of_a_new_topic_is_that_of_its_segments() -> None:
    layout = sound(first_layout(2, now_ms=7))
    assert [segment.created_at_ms for segment in layout.segments.values()] == [7, 7]
    moved = sound(migrated_layout("persistent://t/n/x", 0, now_ms=9))
    assert [(one.created_at_ms, one.sealed_at_ms) for one in moved.segments.values()] == [(9, 9), (9, -1)]
    assert moved.segments[0].legacy_topic == "persistent://t/n/x"


def test_a_migration_is_refused_like_a_creation() -> None:
    refused = migrated_layout("persistent://t/n/x", 65_537)
    assert isinstance(refused, Rejection)
    assert refused.field == "segments"


def test_budget_and_limit_of_buckets_bound_first_segments() -> None:
    assert [one.buckets for one in sound(first_layout(2)).segments.values()] == [2, 2]
    assert [one.buckets for one in sound(first_layout(1, budget=5000)).segments.values()] == [1024]
    assert [one.buckets for one in sound(migrated_layout("persistent://t/n/x", 2)).segments.values()] == [1, 1, 2, 2]


def test_a_segment_of_one_hash_cannot_be_split() -> None:
    layout = sound(first_layout(65_536))
    refused = split(layout, 9)
    assert isinstance(refused, Rejection)
    assert (refused.error, refused.message) == ("IllegalStateException", "Cannot split range of size 1")


@pytest.mark.parametrize(
    ("buckets", "segment_id", "field"), [(0, 0, "buckets"), (1025, 0, "buckets"), (8, 4, "segment")]
)
def test_a_rebucket_by_hand_checks_the_number_first(buckets: int, segment_id: int, field: str) -> None:
    refused = rebucket_by_hand(sound(first_layout(1)), segment_id, buckets)
    assert isinstance(refused, Rejection)
    assert refused.field == field


@pytest.mark.parametrize("buckets", [1, 1024])
def test_a_rebucket_by_hand_takes_all_from_1_to_1024(buckets: int) -> None:
    layout = sound(rebucket_by_hand(sound(first_layout(1)), 0, buckets, 5))
    assert (layout.segments[1].buckets, layout.segments[1].created_at_ms) == (buckets, 5)


def test_a_merge_has_no_more_buckets_than_1024() -> None:
    layout = sound(first_layout(2, budget=4096))
    assert sound(merge(layout, 0, 1)).segments[2].buckets == 1024


def test_pruning_takes_the_oldest_generation_whose_time_has_passed() -> None:
    layout = sound(split(sound(first_layout(1)), 0, now_ms=1000))
    layout = sound(split(layout, 1, now_ms=2000))
    assert [one.segment_id for one in prunable(layout, 2000, 1000)] == [0]
    assert prunable(layout, 1999, 1000) == ()
    assert prunable(layout, 10_000, -1) == ()
    assert [one.segment_id for one in prunable(layout, 1000, 0)] == [0]
    layout = sound(prune(layout, 0))
    assert [one.segment_id for one in prunable(layout, 3000, 1000)] == [1]
    never_sealed = replace(layout, segments={1: replace(layout.segments[1], sealed_at_ms=0)})
    assert prunable(never_sealed, 10_000, 0) == ()
    just_sealed = replace(layout, segments={1: replace(layout.segments[1], sealed_at_ms=1)})
    assert [one.segment_id for one in prunable(just_sealed, 10_000, 0)] == [1]


def test_a_new_controller_guesses_the_clocks_from_the_parents() -> None:
    assert clocks_of(sound(first_layout(3, now_ms=5))) == Clocks()
    one = sound(migrated_layout("persistent://t/n/x", 1, now_ms=50))
    assert clocks_of(one) == Clocks(last_rebucket_ms=50)
    assert clocks_of(sound(migrated_layout("persistent://t/n/x", 3, now_ms=50))) == Clocks(last_merge_ms=50)
    merged = sound(merge(sound(split(sound(first_layout(1)), 0, 10)), 1, 2, 20))
    assert clocks_of(merged) == Clocks(last_split_ms=10, last_merge_ms=20)
    assert clocks_of(sound(prune(merged, 1))) == Clocks(last_split_ms=20)  # taken for a half of what is left


def cyclic() -> Layout:
    """What no broker writes: two segments that are each other's parents and children."""
    whole = HashRange(0, 65_535)
    return Layout(
        {
            0: Segment(0, whole, SegmentState.SEALED, (1,), (1,)),
            1: Segment(1, whole, SegmentState.SEALED, (0, 7), (0,)),
        }
    )


def test_a_cycle_of_ancestors_ends() -> None:
    assert cyclic().ancestors(0) == (0, 1)
    assert cyclic().lineage(1) == (0, 1)
    assert cyclic().ancestors(5) == ()
    assert merge_depths(cyclic()) == {0: 0, 1: 0}
    assert [parent.segment_id for parent in cyclic().parents(cyclic().segments[1])] == [0]
