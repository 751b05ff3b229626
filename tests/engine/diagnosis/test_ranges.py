"""Hash ranges as reported and as the ring gives them, the likeliest reason where they differ, and batches."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnosis.model import Diagnosis, Verdict
from engine.keyshared.ring import RingForm
from tests.engine.diagnosis.answers import Stats, consumer, diagnosed, of_stats, stats, stats_path
from tests.engine.keyshared.selectors import ring

RUNTIME = "admin/v2/brokers/configuration/runtime"


def ranges_of(names: str, *, points: int = 100, leave: int | None = None) -> list[list[list[int]]]:
    """What the consumers of a ring report, in their order; one of them may have left."""
    selector = ring(names, points=points)
    if leave is not None:
        selector = selector.leave(leave)
    result = selector.ranges()
    return [[[piece.start, piece.end] for piece in result[each.consumer_id]] for each in selector.consumers]


def shown(names: str, ranges: list[Any], **more: Any) -> Stats:
    members = [consumer(name, keyHashRangeArrays=pieces) for name, pieces in zip(names, ranges, strict=True)]
    return stats("Key_Shared", members, **{"keySharedMode": "AUTO_SPLIT", "msgBacklog": 5, **more})


def differing(diagnosis: Diagnosis) -> tuple[int, str] | None:
    cause = next((cause for cause in diagnosis.causes if cause.id == "keyshared_ranges_differ"), None)
    if cause is None:
        return None
    assert cause.verdict is Verdict.CANNOT_TELL
    slots = cause.number("slots")
    assert isinstance(slots, int)
    return slots, cause.what.partition("likeliest: ")[2]


@pytest.mark.parametrize("names", ["a", "ab", "abc", "aab"])
def test_what_the_ring_gives_is_no_difference(names: str) -> None:
    assert differing(of_stats(shown(names, ranges_of(names)))) is None


def test_nor_are_halves_declared_ranges_or_a_namesake_that_left() -> None:
    thirds = [[[0, 16383]], [[32768, 65536]], [[16384, 32767]]]
    assert differing(of_stats(shown("abc", thirds))) is None
    declared = [[[0, 10]], [[20, 30]]]
    assert differing(of_stats(shown("ab", declared, keySharedMode="STICKY"))) is None
    assert differing(of_stats(shown("ab", ranges_of("aab", leave=1)))) is None
    assert differing(of_stats(shown("ab", [ranges_of("ab")[0], []]))) is None


def test_a_slot_that_two_report_is_somebody_who_came_or_went() -> None:
    difference = differing(of_stats(shown("ab", [[[0, 40_000]], [[40_000, 65_536]]])))
    assert difference is not None and "joined or left" in difference[1]


def test_points_that_were_others_when_the_consumers_connected_are_reported() -> None:
    runtime = {"subscriptionKeySharedConsistentHashingReplicaPoints": "20"}
    hundred = shown("ab", ranges_of("ab"))
    difference = differing(diagnosed({stats_path(): hundred, RUNTIME: runtime}))
    assert difference is not None and "ReplicaPoints was 100" in difference[1]


def test_another_order_of_connecting_is_reported() -> None:
    first, second = ranges_of("aa")
    assert first != second
    # Namesakes are told apart by the order alone.
    difference = differing(of_stats(shown("aa", [second, first])))
    assert difference is not None and "another order" in difference[1]
    tangled = [ranges_of("ab")[1], ranges_of("ab")[0]]
    difference = differing(of_stats(shown("ab", tangled)))
    assert difference is not None
    assert difference[0] == 65_535


def test_how_many_slots_differ_is_counted_once() -> None:
    ranges = ranges_of("ab")
    (start, end), *rest = ranges[0]
    moved = [rest, sorted([*ranges[1], [start, end]])]
    difference = differing(of_stats(shown("ab", moved)))
    assert difference is not None
    assert difference[0] == end - start + 1


@pytest.mark.parametrize(("per_entry", "expected"), [(None, False), (1, False), (2, True), (40, True)])
def test_entries_of_several_messages_are_reported_to_go_by_their_first_key(
    per_entry: int | None, expected: bool
) -> None:
    members = [consumer("a", keyHashRangeArrays=[[0, 65535]], avgMessagesPerEntry=per_entry), consumer("b")]
    result = of_stats(stats("Key_Shared", members, msgBacklog=3))
    assert ("keyshared_batches" in [cause.id for cause in result.causes]) is expected
    if expected:
        cause = next(cause for cause in result.causes if cause.id == "keyshared_batches")
        assert (cause.verdict, cause.number("messages_per_entry")) == (Verdict.BY_DESIGN, per_entry)


def test_the_ring_of_an_older_release_is_recognised() -> None:
    selector = ring("ab", form=RingForm.INDEXED_REPLACE)
    result = selector.ranges()
    older = [[[piece.start, piece.end] for piece in result[each.consumer_id]] for each in selector.consumers]
    difference = differing(of_stats(shown("ab", older)))
    assert difference is not None and "Pulsar 3.3.2" in difference[1]


def test_one_place_that_is_wrong_is_enough() -> None:
    holes = differing(of_stats(shown("abc", [[[0, 9]], [[10, 20]], [[25, 65_536]]])))
    assert holes is not None and "joined or left" not in holes[1]
    twice = differing(of_stats(shown("abc", [[[0, 9]], [[10, 20]], [[20, 65_536]]])))
    assert twice is not None and "joined or left" in twice[1]


def test_where_nothing_waits_ranges_are_not_judged() -> None:
    twisted = list(reversed(ranges_of("ab")))
    assert differing(of_stats(shown("ab", twisted))) is not None
    beside = {stats_path(0): shown("ab", twisted, msgBacklog=0), stats_path(1): shown("ab", ranges_of("ab"))}
    assert differing(diagnosed(beside)) is None
