"""A subscription at its controller, beyond what the vectors have."""

from __future__ import annotations

from engine.ranges import HashRange
from engine.scalable.coordinator import Coordinator, Counts
from engine.scalable.dealing import deal
from engine.scalable.layout import first_layout, prune, split
from engine.scalable.model import Layout, Segment, SegmentState


def coordinator(segments: int, *, drain_rule: bool = True) -> Coordinator:
    layout = first_layout(segments)
    assert isinstance(layout, Layout)
    return Coordinator(layout, drain_rule=drain_rule)


def ids(subject: Coordinator, name: str) -> list[int]:
    return [grant.segment_id for grant in subject.grants(name)]


def test_before_anybody_comes_nothing_is_dealt() -> None:
    empty = coordinator(2)
    assert empty.grants("a") == ()
    assert empty.blocked == ()
    assert empty.counts() == Counts(0, 0, 0, 0)


def test_a_check_comes_only_while_something_drains_and_somebody_is_there() -> None:
    subject = coordinator(1).register("a")
    assert not subject.check_pending
    halves = split(subject.layout, 0)
    assert isinstance(halves, Layout)
    drains = subject.with_layout(halves)
    assert drains.check_pending
    assert drains.blocked == (1, 2)
    assert drains.check([]).check_pending
    assert drains.check([1]).blocked == (1, 2)  # it is active, so it cannot be drained
    done = drains.check([0, 99])
    assert (done.check_pending, done.blocked, ids(done, "a")) == (False, (), [1, 2])
    assert done.check([0]) is done
    again = split(done.layout, 1)
    assert isinstance(again, Layout)
    later = done.with_layout(again)
    assert (later.check_pending, later.blocked) == (True, (3, 4))
    assert later.check([0]) == later
    assert later.check([0, 1]).check_pending is False
    assert not drains.unregister("a").check_pending


def test_what_is_pruned_is_forgotten() -> None:
    subject = coordinator(1).register("a")
    halves = split(subject.layout, 0)
    assert isinstance(halves, Layout)
    drained = subject.with_layout(halves).check([0])
    assert drained.drained == {0}
    pruned = prune(drained.layout, 0)
    assert isinstance(pruned, Layout)
    assert drained.with_layout(pruned).drained == frozenset()


def test_segments_that_are_their_own_ancestors_wait_for_ever() -> None:
    whole = HashRange(0, 65_535)
    ring = {n: Segment(n, whole, SegmentState.SEALED, ((n + 1) % 3,), ((n + 2) % 3,)) for n in range(3)}
    dealt = deal(Layout(ring), "ab")
    assert dealt.grants == {"a": (), "b": ()}
    assert dealt.waiting == (0, 1, 2)


def test_without_the_drain_rule_all_listed_segments_are_dealt() -> None:
    subject = coordinator(1, drain_rule=False).register("a")
    halves = split(subject.layout, 0)
    assert isinstance(halves, Layout)
    subject = subject.with_layout(halves)
    assert ids(subject, "a") == [1, 0, 2]
    assert not subject.check_pending
    assert not subject.shares_buckets
    subject = subject.with_drain_rule()
    assert ids(subject, "a") == [0]
    assert subject.check_pending
    assert subject.with_drain_rule() is subject


def test_a_grace_period_ends_for_those_that_are_still_away_only() -> None:
    subject = coordinator(2).register("a").register("b").disconnect("a")
    assert ids(subject, "a") == [0]
    back = subject.register("a")
    assert ids(back.expire("a"), "a") == [0]
    assert ids(subject.expire("a"), "b") == [0, 1]
    assert subject.unregister("nobody") is subject
    assert subject.disconnect("nobody") is subject
    assert subject.expire("nobody") is subject


def test_a_known_consumer_is_counted_by_what_it_has_when_it_comes_back() -> None:
    subject = coordinator(1).register("a").register("b").register("c").register("d").register("e")
    assert subject.counts() == Counts(4, 1, 0, 0)
    group = subject.as_checkpoint()
    assert group.counts() == Counts(4, 1, 0, 0)
    assert group.register("d").counts() == Counts(3, 2, 0, 0)
    assert group.register("a").counts() == Counts(4, 1, 0, 0)
    assert group.register("e").counts() == Counts(4, 1, 0, 0)


def test_a_group_shows_nothing_as_blocked() -> None:
    subject = coordinator(1).register("a")
    halves = split(subject.layout, 0)
    assert isinstance(halves, Layout)
    group = subject.with_layout(halves).as_checkpoint()
    assert group.blocked == ()
    assert not group.shares_buckets


def test_restored_consumers_are_away_and_those_here_stay_here() -> None:
    subject = coordinator(2).register("a").restore(["a", "b"])
    assert subject.sessions == {"a": True, "b": False}
    assert ids(subject, "b") == [1]
