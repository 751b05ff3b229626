"""A scalable topic from printed answers, and what it would print itself: the same, as far as it is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.cluster.scalable.group import ANY_BUCKET, Attachment
from engine.cluster.scalable.opening import instant, running_of, seen_event, statistics_of
from engine.cluster.scalable.running import Running
from engine.hashing import utf16_order
from engine.scalable.layout import Clocks, first_layout, split
from engine.scalable.load_reports import Rates
from engine.scalable.model import RING_SIZE, HashRange, Layout, Segment
from engine.scalable.statistics import (
    AutoScale,
    ListedLayout,
    ListedSegment,
    SegmentLoad,
    SubscribedSegment,
    TopicConsumer,
    TopicStatistics,
    TopicSubscription,
)
from engine.scenarios.opening import open_moments
from tests.engine.scalable.scenes import SCENES, moments_of

NOW_MS = 5_000


def opened(layout: Layout, subscriptions: dict[str, TopicSubscription]) -> Running | str:
    statistics = TopicStatistics(subscriptions=subscriptions)
    return running_of(seen_event("topic://t/n/x", layout, statistics, Clocks(), now_ms=NOW_MS, max_buckets=8))


def listed(*segments: Segment, **others: Segment) -> Layout:
    return Layout({one.segment_id: one for one in segments} | {int(key): one for key, one in others.items()})


def segment(at: int, start: int = 0, end: int = RING_SIZE - 1, buckets: int = 1) -> Segment:
    return Segment(at, HashRange(start, end), bucket_splits=tuple(range(1, buckets)))


@pytest.mark.parametrize(
    ("layout", "possible"),
    [
        (listed(segment(0)), True),
        (listed(segment(0, 7, 7)), True),
        (listed(segment(0), segment(1)), True),
        (listed(segment(0), segment(1), segment(2)), False),
        (listed(segment(0, buckets=5)), True),
        (listed(segment(0, buckets=6)), False),
        (listed(segment(0), segment(1, 0, RING_SIZE)), False),
        (listed(segment(0), segment(1, -1)), False),
        (listed(segment(-1)), False),
        (listed(**{"1": segment(0)}), False),
    ],
)
def test_layouts_that_can_be(layout: Layout, possible: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.cluster.scalable.opening.MAX_SEGMENTS", 2)
    monkeypatch.setattr("engine.cluster.scalable.opening.MAX_BUCKETS", 5)
    assert isinstance(opened(layout, {}), Running) is possible


def test_segments_times_subscriptions_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.cluster.scalable.opening.MAX_PLACES", 6)
    three = {name: TopicSubscription("STREAM") for name in "abc"}
    assert isinstance(opened(listed(segment(0), segment(1)), three), Running)
    assert isinstance(opened(listed(segment(0), segment(1), segment(2)), three), str)


def test_hand_overs_and_messages_are_those_that_are_printed() -> None:
    layout = first_layout(4)
    assert isinstance(layout, Layout)
    a, b = TopicConsumer("a", True, (0, 2, 1)), TopicConsumer("b", True, (3,))
    there = {str(at): SubscribedSegment(9, unackedMessages=5) for at in range(3)}
    gone = TopicConsumer("z", connected=False, segmentIds=(0,))
    printed = {
        "s": TopicSubscription("STREAM", uncoveredSegmentIds=(), segments=there, consumers=(b, a)),
        "q": TopicSubscription("QUEUE", segments=there, consumers=(a, b, gone)),
        "c": TopicSubscription("STREAM", segments=there, consumers=(a, b, gone)),
    }
    running = opened(layout, printed)
    assert isinstance(running, Running)
    of = running.groups["s"]
    assert of.attached == {
        0: Attachment(("a",)), 1: Attachment(("a",), False, {"a": NOW_MS}), 2: Attachment(("a",)), 3: Attachment(("b",))
    }  # fmt: skip
    assert of.held == {at: {("a", ANY_BUCKET): 9} for at in range(3)}, "of a whole segment nothing is counted"
    assert (of.waiting, of.numbers, of.lost_ms) == ({}, {"a": 0, "b": 1}, {})
    of = running.groups["q"]
    assert of.attached == dict.fromkeys(range(4), Attachment(("a", "b"), True))
    assert of.held == {at: {("a", ANY_BUCKET): 3, ("b", ANY_BUCKET): 2} for at in range(3)}
    assert (of.waiting, of.lost_ms) == ({at: {ANY_BUCKET: 4} for at in range(3)}, {"z": NOW_MS})
    of = running.groups["c"]
    assert (of.held, of.waiting, of.lost_ms) == ({}, {}, {"z": NOW_MS})
    assert not any(each.leaving for each in of.attached.values())
    again = statistics_of(running).subscriptions
    assert {name: [sorted(one.segmentIds) for one in each.consumers] for name, each in again.items()} == {
        "s": [[0, 1, 2], [1, 3]], "q": [[0, 1, 2, 3]] * 2 + [[]], "c": [[0, 3], [1], [2]],
    }  # fmt: skip
    assert [one.unackedMessages for one in again["s"].consumers] == [27, 0]
    assert [again[name].uncoveredSegmentIds for name in "sqc"] == [(), (), None]


def test_traffic_and_the_last_reason_are_those_that_are_printed() -> None:
    printed = {"0": ListedSegment(load=SegmentLoad(1.0, 2.0, 3.0, 4.0, 1.5))}
    statistics = TopicStatistics(
        autoScale=AutoScale(blockedReason="max_segments"), layout=ListedLayout(0, None, printed)
    )
    event = seen_event("topic://t/n/x", listed(segment(0)), statistics, Clocks(), now_ms=NOW_MS, max_buckets=8)
    running = running_of(event)
    assert isinstance(running, Running)
    assert (running.rates, running.blocked_reason) == ({0: Rates(1.0, 2.0, 3.0, 4.0)}, "max_segments")
    later = statistics_of(replace(running, now_ms=NOW_MS + 1_000))
    assert [each.load and each.load.ageSeconds for each in later.layout.segments.values()] == [2.5]


@pytest.mark.parametrize("scene", SCENES)
def test_what_was_printed_is_printed_again(tmp_path: Path, scene: str) -> None:
    compared = 0
    for moment in moments_of(tmp_path, scene):
        for topic in open_moments([moment]).state.scalable_topics if moment.snapshot.scalable else ():
            printed = moment.snapshot.scalable[topic.topic].statistics
            assert printed is not None
            ours = statistics_of(topic.running)
            assert ours.controllerBroker == printed.controllerBroker
            assert ours.autoScale.blockedReason == printed.autoScale.blockedReason
            assert ours.autoScale.policy == printed.autoScale.policy
            for mine, each in ((one, printed.layout.segments[at]) for at, one in ours.layout.segments.items()):
                assert shown(mine) == shown(each)
                assert (mine.load is None) is (each.load is None)
                if mine.load is not None and each.load is not None:
                    assert abs(mine.load.ageSeconds - each.load.ageSeconds) < 0.002
                    assert mine.load.msgRateIn == each.load.msgRateIn
                compared += 1
            for name, one in printed.subscriptions.items():
                if not name.startswith("reader-"):
                    compare(ours.subscriptions[name], one)
    assert compared


def shown(one: ListedSegment) -> tuple[object, ...]:
    return one.name, one.state, one.parentIds, one.childIds, one.terminated or False, one.entryBuckets, one.ownerBroker


def compare(mine: TopicSubscription, printed: TopicSubscription) -> None:
    assert mine.type == printed.type
    assert (mine.uncoveredSegmentIds is None) is (printed.uncoveredSegmentIds is None)
    consumers = sorted(printed.consumers, key=lambda one: utf16_order(one.consumerName))
    assert [(one.consumerName, one.connected, sorted(one.segmentIds)) for one in mine.consumers] == [
        (one.consumerName, one.connected, sorted(one.segmentIds)) for one in consumers
    ]
    assert {at: one.consumerCount for at, one in mine.segments.items()} == {
        at: printed.segments[at].consumerCount if at in printed.segments else 0 for at in mine.segments
    }


def test_times_and_delivered_messages_are_printed() -> None:
    layout = first_layout(1, now_ms=2)
    assert isinstance(layout, Layout)
    halves = split(layout, 0, 3)
    assert isinstance(halves, Layout)
    one = TopicConsumer("a", True, (0,))
    held = {"0": SubscribedSegment(9, consumerCount=1), **{at: SubscribedSegment(blocked=True) for at in "12"}}
    subscription = TopicSubscription("STREAM", uncoveredSegmentIds=(), segments=held, consumers=(one,))
    running = opened(halves, {"s": subscription})
    assert isinstance(running, Running)
    running = replace(running, clocks=Clocks(1, 2, 3), blocked_reason="max_segments")
    printed = statistics_of(running)
    scale = printed.autoScale
    assert (scale.blockedReason, scale.lastSplitAt) == ("max_segments", instant(1))
    assert (scale.lastMergeAt, scale.lastRebucketAt) == (instant(2), instant(3))
    assert [(each.createdAt, each.sealedAt) for each in printed.layout.segments.values()] == [
        (instant(2), instant(3)), (instant(3), None), (instant(3), None)
    ]  # fmt: skip
    of = printed.subscriptions["s"]
    assert (of.msgBacklog, of.unackedMessages, of.consumers[0].unackedMessages) == (9, 9, 9)
    assert [(each.msgBacklog, each.unackedMessages, each.blocked) for each in of.segments.values()] == [
        (9, 9, False), (0, 0, True), (0, 0, True)
    ]  # fmt: skip
    assert [instant(at) for at in (None, 0, 1)] == [None, None, "1970-01-01T00:00:00.001Z"]
