"""One subscription of a scalable topic: who holds which messages, what waits, and when something is due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.cluster.scalable.group import (
    ANY_BUCKET,
    Attachment,
    Group,
    acknowledged,
    checked,
    joined,
    left,
    lost,
    with_layout,
    with_published,
)
from engine.scalable.coordinator import Coordinator
from engine.scalable.layout import first_layout, prune, split
from engine.scalable.model import Kind, Layout


def layout_of(segments: int) -> Layout:
    layout = first_layout(segments)
    assert isinstance(layout, Layout)
    return layout


def group_of(names: str, segments: int = 1, kind: Kind = "STREAM") -> Group:
    """Consumers with these letters; one segment has four buckets, two have two, four have one."""
    group = Group(kind, Coordinator(layout_of(segments), kind == "STREAM", kind == "CHECKPOINT"))
    for name in names:
        group = joined(group, name, 0)
    return group


def halved(layout: Layout, segment: int = 0) -> Layout:
    halves = split(layout, segment)
    assert isinstance(halves, Layout)
    return halves


def test_a_number_of_messages_is_acknowledged_segment_by_segment() -> None:
    group = with_published(group_of("ab", 4), {0: {0: 3, 1: 2}, 1: {0: 6}, 2: {0: 4}}, 0)
    assert group.held == {0: {("a", 0): 3, ("a", 1): 2}, 1: {("b", 0): 6}, 2: {("a", 0): 4}}
    assert acknowledged(group, "a", 4, 0).held == {0: {("a", 1): 1}, 1: {("b", 0): 6}, 2: {("a", 0): 4}}
    assert acknowledged(group, None, 5, 0).held == {1: {("b", 0): 1}, 2: {("a", 0): 4}}
    assert acknowledged(group, "a", 99, 0).held == acknowledged(group, "a", 0, 0).held == {1: {("b", 0): 6}}
    assert acknowledged(group, None, 0, 0).held == {}


def test_buckets_go_to_their_consumers_and_wait_for_the_former_one() -> None:
    shared = with_published(group_of("ab"), {0: dict.fromkeys(range(4), 1)}, 0)
    assert shared.held == {0: {("a", 0): 1, ("a", 1): 1, ("b", 2): 1, ("b", 3): 1}}
    three = with_published(joined(shared, "c", 0), {0: {ANY_BUCKET: 1, 2: 5}}, 0)
    assert three.held[0][("a", ANY_BUCKET)] == 1
    assert (three.waiting, three.backlog(0), three.unacked(0)) == ({0: {2: 5}}, 10, 5)
    assert acknowledged(three, "a", 0, 0).waiting == {0: {2: 5}}
    after = acknowledged(three, "b", 0, 0)
    assert (after.waiting, after.held[0][("c", 2)]) == ({}, 5)


def test_what_a_lost_consumer_had_goes_to_those_that_share_with_it() -> None:
    shared = with_published(group_of("ab"), {0: {0: 1, 3: 7}}, 0)
    alone = lost(shared, "b", 10)
    assert (alone.held, alone.lost_ms) == ({0: {("a", 0): 1, ("a", 3): 7}}, {"b": 10})
    nobody = lost(alone, "a", 20)
    assert (nobody.held, nobody.waiting, nobody.attached) == ({}, {0: {0: 1, 3: 7}}, {})
    back = joined(nobody, "b", 30)
    assert (back.lost_ms, back.joining_ms, back.numbers) == ({"a": 20}, {}, {"a": 0, "b": 1})
    assert back.held == {0: {("b", 0): 1, ("b", 3): 7}}


@pytest.mark.parametrize("goes", [left, lost])
def test_a_newcomer_waits_for_the_segments_that_others_hold(goes: object) -> None:
    group = joined(with_published(group_of("a", 4), {1: {0: 1}}, 0), "b", 5)
    assert group.attached[1] == Attachment(("a",), False, {"a": 5})
    assert (group.attached[3].names, group.joining_ms) == (("b",), {"b": 5})
    more = with_published(group, {1: {0: 2}}, 6)
    assert (more.waiting, more.unacked(1)) == ({1: {0: 2}}, 1)
    assert acknowledged(more, "a", 0, 7).held == {1: {("b", 0): 2}}
    assert acknowledged(more, "a", 0, 7).joining_ms == {}
    assert more.due_ms() == 30_005
    assert joined(lost(group, "b", 6), "b", 7).joining_ms == {}, "who was here before waits for ever"
    gone = left(more, "b", 8) if goes is left else lost(more, "b", 8)
    assert gone.joining_ms == {}
    assert (gone.attached[1].receiving(), gone.unacked(1)) == ((("a",), 3) if goes is left else ((), 1))


def test_consumers_of_a_checkpoint_get_nothing_of_a_backlog() -> None:
    kept = left(with_published(group_of("a"), {0: {0: 3}}, 0), "a", 1)
    again = joined(replace(kept, kind="CHECKPOINT"), "c", 2)
    assert (again.waiting, again.held) == ({0: {0: 3}}, {})


def test_drain_checks_come_later_and_later_until_something_happens() -> None:
    group = with_published(group_of("a"), {0: {0: 1}}, 0)
    assert checked(group, 500).next_check_ms is None
    group = with_layout(group, halved(group.coordinator.layout), 1_000)
    assert (group.next_check_ms, group.due_ms(), group.coordinator.blocked) == (3_000, 3_000, (1, 2))
    times = []
    for _ in range(11):
        assert group.next_check_ms is not None
        group = checked(group, group.next_check_ms)
        times.append(group.pause_ms)
    assert times == [*(2_000 * 2**at for at in range(1, 9)), 900_000, 900_000, 900_000]
    come = joined(group, "b", 5_000_000)
    assert (come.next_check_ms, come.pause_ms) == (5_002_000, 2_000)
    assert lost(come, "b", 0).due_ms() == 60_000
    assert left(come, "b", 5_001_000).next_check_ms == 5_002_000
    assert left(left(come, "b", 5_001_000), "a", 5_001_500).next_check_ms is None
    read = checked(acknowledged(come, None, 0, 5_001_000), 5_002_000)
    assert (read.next_check_ms, read.coordinator.drained, read.pause_ms) == (None, {0}, 2_000)
    assert {one: each.names for one, each in read.attached.items()} == {1: ("a",), 2: ("b",)}


def test_a_forgotten_subscription_follows_the_layout() -> None:
    group = left(group_of("a"), "a", 0)
    assert (group.coordinator.present, group.due_ms()) == (None, None)
    group = with_layout(group, halved(group.coordinator.layout), 0)
    assert (group.coordinator.blocked, group.next_check_ms) == ((), None)
    again = joined(group, "b", 0)
    assert (again.coordinator.blocked, again.next_check_ms, list(again.attached)) == ((1, 2), 2_000, [0])


def test_queue_consumers_share_every_segment_and_a_checkpoint_group_has_no_backlog() -> None:
    queue = with_published(group_of("qr", 2, "QUEUE"), {0: {0: 3}}, 0)
    assert queue.attached == dict.fromkeys((0, 1), Attachment(("q", "r"), True))
    assert queue.held == {0: {("q", 0): 3}}
    group = with_published(group_of("gh", 2, "CHECKPOINT"), {0: {0: 3}}, 0)
    assert (group.backlog(0), group.joining_ms) == (0, {})


def test_sharers_come_while_one_of_them_still_has_to_acknowledge() -> None:
    shared = with_published(group_of("abcd", 2), {0: {1: 1}}, 0)
    assert (shared.attached[0], shared.held) == (Attachment(("a", "b"), True), {0: {("b", 1): 1}})
    come = joined(shared, "aa", 5)
    assert come.attached[0] == Attachment(("a", "aa", "b"), True, {"b": 5})
    assert come.attached[1] == Attachment(("b", "c"), True)
    assert acknowledged(come, None, 0, 6).attached[0] == Attachment(("a", "aa"), True)
    # A connection that is lost first ends nobody else's hand-over.
    assert lost(come, "a", 6).attached[0] == Attachment(("aa", "b"), True, {"b": 5})


def test_a_consumer_that_comes_back_starts_no_check_and_what_is_pruned_has_no_messages() -> None:
    group = with_published(group_of("a"), {0: {0: 1, 1: 1}}, 0)
    group = with_layout(group, halved(group.coordinator.layout), 1_000)
    again = joined(lost(group, "a", 1_500), "a", 1_600)
    assert (again.next_check_ms, again.joining_ms) == (3_000, {})
    pruned = prune(group.coordinator.layout, 0)
    assert isinstance(pruned, Layout)
    without = with_layout(group, pruned, 2_000)
    assert (without.held, without.waiting, sorted(without.attached)) == ({}, {}, [1, 2])
    waits = with_layout(lost(group, "a", 1_500), pruned, 2_000)
    assert (waits.held, waits.waiting) == ({}, {})
