"""Layouts: refusals by hand, time of pruning, ancestors, wrong graphs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.columns import columns_of
from engine.scalable.dealing import waiting
from engine.scalable.layout import (
    MERGES_TOGETHER,
    Clocks,
    by_descent,
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


def migrated(partitions: int) -> Layout:
    return sound(migrated_layout("persistent://t/n/x", partitions))


def test_pruning_several_segments_is_pruning_one_after_another() -> None:
    assert prune(migrated(3), 0, 2) == prune(sound(prune(migrated(3), 0)), 2)
    for refused in (prune(migrated(3), 0, 4), prune(migrated(3), 0, 9)):
        assert isinstance(refused, Rejection)


def test_segments_with_the_same_parents_are_behind_one_knot() -> None:
    assert sum(map(len, migrated(9).children().values())) == 9 + 9
    assert by_descent(migrated(9)) == [*range(18)]
    assert sum(map(len, migrated(1).children().values())) == 1
    assert min(migrated(2).children()) < 0
    halves = sound(split(sound(first_layout(1)), 0))
    assert halves.children() == {0: [1, 2]}
    assert sound(merge(sound(first_layout(2)), 0, 1)).children() == {0: [2], 1: [2]}
    youngest_first = Layout(dict(reversed(migrated(2).segments.items())))
    assert sorted(by_descent(youngest_first)[:2]) == [0, 1]


@pytest.mark.parametrize("together", [1, 2, 3, MERGES_TOGETHER])
def test_merges_are_counted_once_however_many_are_counted_together(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr("engine.scalable.layout.MERGES_TOGETHER", together)
    layout = sound(first_layout(4))
    for _ in range(5):
        active = [one.segment_id for one in layout.active()]
        layout = sound(merge(sound(merge(layout, *active[:2])), *active[2:]))
        layout = sound(merge(layout, *(one.segment_id for one in layout.active())))
        for _ in range(2):
            for one in layout.active():
                layout = sound(split(layout, one.segment_id))
    merges = {one for one, segment in layout.segments.items() if len(segment.parent_ids) > 1}
    assert len(merges) == 15
    assert merge_depths(layout) == {one: len(merges.intersection(layout.ancestors(one))) for one in layout.segments}


def test_segments_of_several_topics_wait_for_their_own_parents() -> None:
    columns = columns_of([migrated(2), sound(first_layout(2)), migrated(3), sound(split(sound(first_layout(2)), 1))])
    topics = columns.topic_of_each()
    waits = waiting(columns, columns.sealed & (topics == 0))
    assert columns.segment_ids[waits].tolist() == [3, 4, 5, 2, 3]
    assert topics[waits].tolist() == [2, 2, 2, 3, 3]


def test_a_cycle_of_ancestors_ends() -> None:
    assert cyclic().ancestors(0) == (0, 1)
    assert cyclic().lineage(1) == (0, 1)
    assert cyclic().ancestors(5) == ()
    assert merge_depths(cyclic()) == {0: 0, 1: 0}
    assert [parent.segment_id for parent in cyclic().parents(cyclic().segments[1])] == [0]
