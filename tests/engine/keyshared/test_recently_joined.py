"""The rule for consumers that joined while something was unacknowledged: who waits, up to where, until when."""

from __future__ import annotations

import pytest

from engine.keyshared.delivery_state import RecentlyJoined

TWO = RecentlyJoined(((1, 4), (2, 9)))


@pytest.mark.parametrize(
    ("read_position", "first_unacked", "others", "waits"),
    [(6, 5, 1, True), (5, 5, 1, False), (4, 5, 1, False), (6, 5, 0, False), (1, 0, 7, True), (0, 0, 1, False)],
)
def test_a_newcomer_waits_only_beside_others_for_what_was_read_and_is_not_acknowledged(
    read_position: int, first_unacked: int, others: int, waits: bool
) -> None:
    joined = TWO.join(3, read_position, first_unacked, others)
    assert joined.marks == ((*TWO.marks, (3, read_position)) if waits else TWO.marks)


def test_who_remains_alone_waits_for_nobody() -> None:
    three = RecentlyJoined(((1, 4), (2, 9), (3, 9)))
    assert three.leave(1, left=2).marks == ((2, 9), (3, 9))
    assert three.leave(8, left=2) == three
    assert three.leave(1, left=1) == three.leave(1, left=0) == RecentlyJoined()


def test_a_newcomer_waits_until_all_before_its_joining_is_acknowledged() -> None:
    assert [TWO.released(first).marks for first in (0, 3, 4, 8, 9)] == [
        TWO.marks,
        TWO.marks,
        ((2, 9),),
        ((2, 9),),
        (),
    ]


def test_a_replayed_message_counts_against_the_earliest_mark_of_all() -> None:
    other_order = RecentlyJoined(((2, 9), (1, 4)))
    for waiting in (TWO, other_order):
        assert [waiting.limit(number, replay=False) for number in (1, 2, 3)] == [4, 9, None]
        assert [waiting.limit(number, replay=True) for number in (1, 2, 3)] == [4, 4, None]
    assert RecentlyJoined().limit(1, replay=True) is None
