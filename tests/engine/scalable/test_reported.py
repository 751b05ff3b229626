"""What statistics say without saying it: drained segments, and what a waiting segment waits for."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.dealing import deal
from engine.scalable.layout import first_layout, merge, rebucket, split
from engine.scalable.model import Layout, Segment, SegmentState
from engine.scalable.reported import as_segment_statistics, held_back_by, known_drained
from engine.scalable.statistics import (
    QUEUE,
    STREAM,
    ListedLayout,
    ListedSegment,
    SegmentLoad,
    SubscribedSegment,
    TopicConsumer,
    TopicStatistics,
    TopicSubscription,
)


def grown(seed: int, changes: int) -> Layout:
    """A layout after random splits, merges and rebuckets."""
    chance = random.Random(seed)
    layout = first_layout(chance.randint(1, 4))
    assert isinstance(layout, Layout)
    while layout.epoch < changes:
        active = layout.active()
        one = chance.choice(active)
        at = active.index(one)
        after: Layout | Rejection = split(layout, one.segment_id)
        what = chance.random()
        if what < 0.3 and at + 1 < len(active):
            after = merge(layout, one.segment_id, active[at + 1].segment_id)
        elif what < 0.5:
            after = rebucket(layout, one.segment_id, one.buckets + 1)
        layout = layout if isinstance(after, Rejection) else after
    return layout


def drained_by(layout: Layout, seed: int) -> frozenset[int]:
    """Random sealed segments, oldest first: nothing is drained before what it descends from."""
    chance = random.Random(seed)
    sealed = sorted(one.segment_id for one in layout.segments.values() if not one.active)
    drained: set[int] = set()
    for one in sealed:
        if all(parent in drained for parent in layout.segments[one].parent_ids) and chance.random() < 0.7:
            drained.add(one)
    return frozenset(drained)


def printed(layout: Layout, drained: frozenset[int], *, with_backlog: bool) -> TopicSubscription:
    dealt = deal(layout, ["a", "b"], drained)
    segments = {
        str(one): SubscribedSegment(
            msgBacklog=3 if with_backlog and one not in drained else 0, blocked=one in dealt.waiting
        )
        for one in layout.segments
    }
    consumers = tuple(
        TopicConsumer(name, True, tuple(grant.segment_id for grant in grants)) for name, grants in dealt.grants.items()
    )
    return TopicSubscription(type="STREAM", uncoveredSegmentIds=(), segments=segments, consumers=consumers)


def slowly_above(layout: Layout, one: int) -> set[int]:
    met: set[int] = set()
    for parent in layout.segments[one].parent_ids:
        if parent in layout.segments:
            met |= {parent} | slowly_above(layout, parent)
    return met


@pytest.mark.parametrize("seed", range(60))
def test_what_must_be_drained_gives_the_printed_deal_again(seed: int) -> None:
    layout = grown(seed, 12)
    drained = drained_by(layout, seed)
    reported = printed(layout, drained, with_backlog=True)
    assert known_drained(layout, reported) == drained
    again = printed(layout, known_drained(layout, reported), with_backlog=True)
    assert again == reported


@pytest.mark.parametrize("seed", range(60))
def test_without_backlogs_every_older_segment_may_be_what_blocks(seed: int) -> None:
    layout = grown(seed, 12)
    reported = printed(layout, drained_by(layout, seed), with_backlog=False)
    bare = TopicSubscription(type="STREAM", uncoveredSegmentIds=(), segments=reported.segments)
    blocked = {int(one) for one, seen in bare.segments.items() if seen.blocked}
    above = {one: slowly_above(layout, one) for one in layout.segments}
    sealed = {one.segment_id for one in layout.segments.values() if not one.active}
    possible = sealed.difference(*(above[one] for one in layout.segments.keys() - sealed - blocked))
    undrained = possible & blocked
    for one in sorted(blocked):
        undrained |= above[one] & possible if not above[one] & undrained else set()
    assert known_drained(layout, bare) == sealed - undrained
    assert blocked <= set(deal(layout, [], known_drained(layout, bare)).waiting)


@pytest.mark.parametrize("seed", range(60))
def test_who_waits_is_held_back_by_the_first_that_does_not(seed: int) -> None:
    layout = grown(seed, 12)
    drained = drained_by(layout, seed)
    above = {one: slowly_above(layout, one) - drained for one in layout.segments}
    expected = {
        one: min(root for root in above[one] if not above[root])
        for one in layout.segments
        if above[one] and one not in drained
    }
    assert held_back_by(layout, drained) == expected
    assert sorted(expected) == list(deal(layout, [], drained).waiting)


def chain(length: int, parents_of_first: tuple[int, ...] = ()) -> Layout:
    """Rebuckets one after another; with a parent of the first one, a ring of them."""
    every = HashRange(0, 65_535)
    segments = {
        at: Segment(
            at,
            every,
            SegmentState.ACTIVE if at == length - 1 else SegmentState.SEALED,
            (at - 1,) if at else parents_of_first,
        )
        for at in range(length)
    }
    return Layout(segments, length, length)


def test_long_lines_of_descent_are_no_burden() -> None:
    layout = chain(50_000)
    blocked = {str(one): SubscribedSegment(blocked=True) for one in range(1, 50_000)}
    reported = TopicSubscription(type="STREAM", uncoveredSegmentIds=(), segments=blocked)
    drained = known_drained(layout, reported)
    assert drained == frozenset()
    assert held_back_by(layout, drained) == dict.fromkeys(range(1, 50_000), 0)


def test_segments_that_descend_from_each_other_end() -> None:
    layout = chain(9, parents_of_first=(8,))
    blocked = {str(one): SubscribedSegment(blocked=True) for one in range(9)}
    reported = TopicSubscription(type="STREAM", uncoveredSegmentIds=(), segments=blocked)
    assert known_drained(layout, reported) == frozenset()
    assert held_back_by(layout, frozenset()) == {}
    assert deal(layout, ["a"], ()).waiting == tuple(range(9))


def test_what_statistics_of_a_topic_say_of_one_segment() -> None:
    a = TopicConsumer("a", True, (0,), unackedMessages=4, availablePermits=9, address="/1.2.3.4:5")
    b = TopicConsumer("b", True, (0, 1), unackedMessages=7, availablePermits=8)
    gone = TopicConsumer("c", False, (1,))
    stream = TopicSubscription(
        STREAM,
        segments={
            "0": SubscribedSegment(12, unackedMessages=3, msgRateOut=1.5, consumerCount=2),
            "1": SubscribedSegment(2, consumerCount=1),
            "2": SubscribedSegment(1, consumerCount=1),
        },
        consumers=(a, b, gone),
    )
    statistics = TopicStatistics(
        layout=ListedLayout(segments={"0": ListedSegment(load=SegmentLoad(2.5, 0.0, 3.5))}),
        subscriptions={
            "reader-1": TopicSubscription(QUEUE, segments={"0": SubscribedSegment(5)}),
            "s": stream,
            "q": TopicSubscription(QUEUE, segments={"0": SubscribedSegment(5)}),
        },
    )

    def said(segment: int) -> dict[str, Any]:
        printed: dict[str, Any] = json.loads(as_segment_statistics(statistics, segment))
        return printed

    first = said(0)
    assert (first["msgRateIn"], first["msgRateOut"], first["subscriptions"].keys()) == (2.5, 3.5, {"s", "q"})
    shared = first["subscriptions"]["s"]
    assert [shared[key] for key in ("type", "msgBacklog", "unackedMessages", "msgRateOut")] == [
        "Key_Shared",
        12,
        3,
        1.5,
    ]
    known, unknown = shared["consumers"]
    assert (known["consumerName"], known["address"]) == ("a-seg-0", "/1.2.3.4:5")
    assert (known["availablePermits"], known["unackedMessages"]) == (9, 4)
    assert unknown.keys() == {"consumerName", "address", "connectedSince", "clientVersion"}, "sums over two segments"
    assert (first["subscriptions"]["q"]["type"], first["subscriptions"]["q"]["consumers"]) == ("Shared", [])
    second = said(1)
    assert second.keys() == {"subscriptions"}, "no load record, no rates"
    assert second["subscriptions"]["s"]["type"] == "Exclusive"
    assert [one["consumerName"] for one in second["subscriptions"]["s"]["consumers"]] == ["b-seg-1"]
    assert "consumers" not in said(2)["subscriptions"]["s"], "somebody is attached who is not named"


def test_one_message_that_is_left_and_one_consumer_that_is_attached_each_show_a_segment_that_is_not_drained() -> None:
    layout = first_layout(2)
    assert isinstance(layout, Layout)
    for segment in (0, 1):
        halves = split(layout, segment)
        assert isinstance(halves, Layout)
        layout = halves

    def drained(*shown: SubscribedSegment, given: tuple[int, ...] = ()) -> frozenset[int]:
        """With all children blocked, so that each parent alone can be what blocks."""
        segments = {str(at): one for at, one in enumerate(shown)} | {
            str(at): SubscribedSegment(blocked=True) for at in range(2, 6)
        }
        consumers = (TopicConsumer("a", True, given),) if given else ()
        return known_drained(layout, TopicSubscription(STREAM, segments=segments, consumers=consumers))

    assert drained(SubscribedSegment(1), SubscribedSegment(0), given=(1,)) == frozenset()
    free = {str(at): SubscribedSegment(blocked=at < 4) for at in range(6)}
    free["0"] = SubscribedSegment(1)
    assert known_drained(layout, TopicSubscription(STREAM, segments=free)) == {1}
