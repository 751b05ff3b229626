"""Keys to segments and buckets, buckets to consumers."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.buckets import Attached, bucket_owners, equal_splits
from engine.scalable.layout import first_layout
from engine.scalable.model import Layout, Segment, SegmentState
from engine.scalable.routing import bucket_of_key, hashes_of_key, router
from tests.golden.bucket_rules import refuse_boundaries


def test_no_message_without_a_key_leaves_bucket_0() -> None:
    segment = Segment(0, HashRange(0, 65_535), bucket_splits=equal_splits(1024))
    assert bucket_of_key(segment, None) == 0
    bucket = bucket_of_key(segment, "k15")
    assert bucket == hashes_of_key("k15").bucket_hash * 1024 // 65_536 != 0
    assert bucket_of_key(segment, "other", ordering_key="k15") == bucket
    assert bucket_of_key(segment, "k15", ordering_key="") == 0


def test_an_empty_layout_has_no_segment_for_a_key() -> None:
    routes = router([Segment(0, HashRange(0, 65_535), SegmentState.SEALED)])
    assert not routes.classic
    refused = routes.of_key("k")
    assert isinstance(refused, Rejection)
    assert refused.field == "key"


def test_overlapping_segments_are_looked_through_in_order() -> None:
    whole, upper = Segment(0, HashRange(0, 65_535)), Segment(1, HashRange(50_000, 60_000), legacy_topic="x")
    routes = router([upper, whole])
    assert not routes.tiled
    assert [routes.of_hash(one) for one in (0, 55_000, 65_535)] == [whole, whole, whole]
    touching = router([Segment(0, HashRange(0, 10)), Segment(1, HashRange(10, 20))])
    assert not touching.tiled


def test_a_hole_below_the_first_segment() -> None:
    routes = router([Segment(0, HashRange(100, 200))])
    assert routes.tiled
    assert routes.of_hash(99) is None
    assert routes.of_hash(201) is None
    assert routes.of_hash(100) is routes.segments[0]


@pytest.mark.parametrize(("counter", "expected"), [(0, 0), (2, 2), (3, 0), (2**31, 2), (2**32, 0), (-1, 1)])
def test_turns_wrap_at_32_bits(counter: int, expected: int) -> None:
    layout = first_layout(3)
    assert isinstance(layout, Layout)
    assert router(list(layout.segments.values())).of_turn(counter).segment_id == expected


def test_equal_names_are_ordered_by_consumer_id() -> None:
    owners = bucket_owners([Attached("a", 9), Attached("a", 2)], 2)
    assert [owner and owner.consumer_id for owner in owners] == [2, 9]
    assert bucket_owners([], 2) == (None, None)


@pytest.mark.parametrize("ranges", [[], [(1, 65_535)], [(0, 0), (1, 65_535)], [(0, 5), (6, 5), (6, 65_535)]])
def test_boundaries_that_are_refused(ranges: list[tuple[int, int]]) -> None:
    refused = refuse_boundaries(ranges)
    assert refused is not None
    assert refused.field == "buckets"
    assert refused.error == "IllegalArgumentException"


def test_boundaries_that_are_taken() -> None:
    assert refuse_boundaries([(0, 1), (2, 2), (3, 65_535)]) is None
