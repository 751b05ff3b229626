"""Checkers of scalable topics: hashes, routes, layouts, buckets."""

from __future__ import annotations

import base64
from typing import Any

from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.buckets import (
    Attached,
    bucket_of,
    bucket_owners,
    buckets_within_budget,
    equal_splits,
)
from engine.scalable.layout import clocks_of, first_layout, merge, merge_depths, migrated_layout, prune, rebucket, split
from engine.scalable.model import Layout, Segment, SegmentState, backing_topic, segment_name
from engine.scalable.routing import bucket_of_key, hashes_of_key, router
from tests.golden.bucket_rules import bucket_ranges, refuse_boundaries, shown_hash
from tests.golden.harness import Line, checks

Given = dict[str, Any]
TOPIC = "topic://t/n/x"
LONG_LIST = 24
"""Lines leave out the borders of buckets above this number."""


def started(given: Given) -> Layout | Rejection:
    """The layout a line starts from."""
    budget = {"budget": given.get("budget", 4), "max_buckets": given.get("maxBuckets", 1024)}
    if "migrated" in given:
        return migrated_layout(given.get("base", "persistent://t/n/old"), given["migrated"], **budget)
    return first_layout(given["initial"], **budget)


def operated(layout: Layout, operation: list[Any]) -> Layout | Rejection:
    name, *words = operation
    match name:
        case "split":
            return split(layout, *words)
        case "merge":
            one, other, now_ms, max_buckets = words
            return merge(layout, one, other, now_ms, max_buckets=max_buckets)
        case "rebucket":
            return rebucket(layout, *words)
        case "prune":
            return prune(layout, *words)
    raise AssertionError(f"unknown operation {name}")


def laid_out(start: Given, operations: list[list[Any]]) -> Layout:
    """The layout once the operations were done; a refused one changes nothing."""
    layout = started(start)
    assert isinstance(layout, Layout)
    for operation in operations:
        changed = operated(layout, operation)
        layout = layout if isinstance(changed, Rejection) else changed
    return layout


def refused(rejection: Rejection) -> Given:
    return {"error": rejection.error, "message": rejection.message}


def _segment(segment: Segment, *, with_splits: bool = True) -> Given:
    document: Given = {
        "id": segment.segment_id,
        "range": [segment.hash_range.start, segment.hash_range.end],
        "state": segment.state.value,
        "parents": list(segment.parent_ids),
        "children": list(segment.child_ids),
        "createdAtEpoch": segment.created_at_epoch,
        "sealedAtEpoch": segment.sealed_at_epoch,
        "createdAtMs": segment.created_at_ms,
        "sealedAtMs": segment.sealed_at_ms,
        "buckets": segment.buckets,
    }
    if segment.buckets <= LONG_LIST and with_splits:
        document["splits"] = list(segment.bucket_splits)
    if segment.legacy_topic:
        document["legacy"] = segment.legacy_topic
    return document


def _layout(layout: Layout) -> Given:
    return {
        "epoch": layout.epoch,
        "nextSegmentId": layout.next_segment_id,
        "segments": [_segment(segment) for segment in layout.segments.values()],
    }


def active(layout: Layout) -> list[list[int]]:
    return [[s.segment_id, s.hash_range.start, s.hash_range.end, s.buckets] for s in layout.active()]


@checks("segment_hash")
def segment_hash(line: Line) -> None:
    given = line["in"]
    hashes = hashes_of_key(base64.b64decode(given["b64"]) if "b64" in given else given["key"])
    assert {"raw": hashes.raw, "segment": hashes.segment_hash, "bucket": hashes.bucket_hash} == line["out"]


@checks("segment_route")
def segment_route(line: Line) -> None:
    given, out = line["in"], line["out"]
    routes = router(
        [
            Segment(
                one["id"],
                HashRange(*one["range"]),
                SegmentState(one["state"]),
                legacy_topic=one.get("legacy", ""),
                bucket_splits=equal_splits(one.get("buckets", 1)),
            )
            for one in given["segments"]
        ]
    )
    chosen = [routes.of_key(key) for key in given["keys"]]
    assert [refused(one) if isinstance(one, Rejection) else one.segment_id for one in chosen] == out["keys"]
    buckets = [
        None if isinstance(one, Rejection) else bucket_of_key(one, key)
        for one, key in zip(chosen, given["keys"], strict=True)
    ]
    assert buckets == out["buckets"]
    turns = range(given["counter"], given["counter"] + given["turns"])
    assert [routes.of_turn(counter).segment_id for counter in turns] == out["turns"]


@checks("segment_layout", kind="layout_initial")
@checks("segment_layout", kind="layout_migrated")
def layout_start(line: Line) -> None:
    layout = started(line["in"])
    assert (refused(layout) if isinstance(layout, Rejection) else _layout(layout)) == line["out"]


@checks("segment_layout", kind="layout_ops")
def layout_ops(line: Line) -> None:
    given, out = line["in"], line["out"]
    layout = started(given["start"])
    assert isinstance(layout, Layout)
    steps: list[Given] = []
    for operation in given["ops"]:
        changed = operated(layout, operation)
        if isinstance(changed, Rejection):
            steps.append(refused(changed))
            continue
        layout = changed
        steps.append({"epoch": layout.epoch, "nextSegmentId": layout.next_segment_id, "active": active(layout)})
    assert steps == out["steps"]
    assert _layout(layout) == out["layout"]
    assert {str(one): depth for one, depth in merge_depths(layout).items()} == out["mergeDepth"]
    for segment_id, repeated in out["lineage"].items():  # Java lists a segment once for each way to it
        assert list(layout.lineage(int(segment_id))) == sorted(set(repeated))
    names = {str(one.segment_id): [segment_name(TOPIC, one), backing_topic(TOPIC, one)] for one in _all(layout)}
    assert names == out["names"]
    found = {text: router(_all(layout)).of_hash(int(text)) for text in out["find"]}
    assert {text: one and one.segment_id for text, one in found.items()} == out["find"]
    clocks = clocks_of(layout)
    times = {
        "lastSplit": clocks.last_split_ms,
        "lastMerge": clocks.last_merge_ms,
        "lastRebucket": clocks.last_rebucket_ms,
    }
    assert {name: time for name, time in times.items() if time is not None} == out["clocks"]


def _all(layout: Layout) -> list[Segment]:
    return list(layout.segments.values())


@checks("entry_buckets", kind="bucket_splits")
def bucket_splits(line: Line) -> None:
    splits, out = equal_splits(line["in"]["buckets"]), line["out"]
    assert len(splits) == out["count"]
    if "splits" in out:
        assert list(splits) == out["splits"]
    if "ranges" in out:
        assert [[piece.start, piece.end] for piece in bucket_ranges(splits)] == out["ranges"]
    assert out.keys() <= {"count", "splits", "ranges", "first", "last"}
    if "first" in out:
        assert [list(splits[:5]), list(splits[-5:])] == [out["first"], out["last"]]


@checks("entry_buckets", kind="bucket_budget")
def bucket_budget(line: Line) -> None:
    assert buckets_within_budget(**line["in"]) == line["out"]


@checks("entry_buckets", kind="bucket_owners")
def owners_of_buckets(line: Line) -> None:
    given, out = line["in"], line["out"]
    splits = given["splits"]
    attached: list[Attached] = []
    owners: tuple[Attached | None, ...] = ()
    seen = []
    for operation, name, consumer_id in given["ops"]:
        one = Attached(name, consumer_id)
        attached = [*attached, one] if operation == "add" else [other for other in attached if other != one]
        owners = bucket_owners(attached, len(splits) + 1)
        seen.append([owner and [owner.name, owner.consumer_id] for owner in owners])
    assert seen == out["owners"]
    buckets = [bucket_of(splits, one) for one in given["hashes"]]
    shown = []
    for bucket in buckets:
        owner = owners[bucket]
        shown.append([bucket, shown_hash(splits, bucket), owner and owner.name])
    assert shown == out["hashes"]


@checks("entry_buckets", kind="bucket_boundaries")
def bucket_boundaries(line: Line) -> None:
    ranges = [(start, end) for start, end in line["in"]["ranges"]]
    rejection = refuse_boundaries(ranges)
    assert ({"ok": len(ranges)} if rejection is None else refused(rejection)) == line["out"]
