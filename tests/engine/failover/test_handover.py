"""The hand-over on simulated time: what is rewound, announced, read and dropped, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.failover.handover import (
    acknowledge,
    advance_to,
    connect,
    disconnect,
    flow,
    read_completed,
)
from engine.failover.model import Consumer
from engine.failover.state import (
    ActiveConsumerChanged,
    Connection,
    Cursor,
    DispatcherState,
    EntriesDispatched,
    EntriesDropped,
    FlowIgnored,
    HandoverAlreadyWaiting,
    HandoverScheduled,
    IgnoredBecause,
    Notified,
    Outcome,
    PendingRead,
    ReadCancelled,
    ReadStarted,
    ReadStillRunning,
    Rewound,
    SubscriptionType,
    Terms,
)


def join(state: DispatcherState, number: int, now_ms: int, level: int = 0) -> Outcome:
    outcome = connect(state, Connection(Consumer(number, f"c{number}", level)), now_ms)
    assert isinstance(outcome, Outcome)
    return outcome


def leave(state: DispatcherState, number: int, now_ms: int) -> Outcome:
    outcome = disconnect(state, number, now_ms)
    assert isinstance(outcome, Outcome)
    return outcome


def fresh(delay_ms: int = 1000, **terms: object) -> DispatcherState:
    return DispatcherState(Terms("persistent://t/n/x-partition-0", 0, delay_ms=delay_ms, **terms))  # type: ignore[arg-type]


def reading(delay_ms: int = 1000) -> DispatcherState:
    """Consumer 5 is active, has 10 permits left, entries 0 and 1 are sent, and its read is pending."""
    state = flow(join(fresh(delay_ms), 5, 0).state, 5, 12).state
    state = advance_to(state, 1000).state
    state = read_completed(state, 2).state
    assert state.pending_read == PendingRead(5) and state.permits[5] == 10 and state.cursor.unacknowledged == (0, 1)
    return state


def uncancellable(state: DispatcherState) -> DispatcherState:
    return DispatcherState(
        state.terms,
        state.connections,
        state.active_id,
        cursor=state.cursor,
        permits=state.permits,
        pending_read=PendingRead(5, cancellable=False),
    )


def test_the_very_first_consumer_waits_for_the_delay_too() -> None:
    joined = join(fresh(), 5, 7)
    assert joined.effects == (ActiveConsumerChanged(None, 5), HandoverScheduled(1007))
    flowed = flow(joined.state, 5, 100)
    assert flowed.effects == (FlowIgnored(5, IgnoredBecause.WAITING_FOR_HANDOVER),)
    assert advance_to(flowed.state, 1006) == Outcome(flowed.state)
    task = advance_to(flowed.state, 1007)
    assert task.effects == (Rewound(0, ()), Notified(5, True), ReadStarted(5))
    assert task.state.handover_due_ms is None and task.state.pending_read == PendingRead(5)


def test_the_shortest_delay_is_a_millisecond() -> None:
    assert join(fresh(1), 5, 7).effects == (ActiveConsumerChanged(None, 5), HandoverScheduled(8))


@pytest.mark.parametrize("delay_ms", [0, -1])
def test_without_delay_the_hand_over_is_done_at_once(delay_ms: int) -> None:
    joined = join(fresh(delay_ms), 5, 7)
    assert joined.effects == (ActiveConsumerChanged(None, 5), Rewound(0, ()), Notified(5, True))
    assert flow(joined.state, 5, 1).effects == (ReadStarted(5),)


def test_exclusive_never_waits() -> None:
    joined = join(fresh(subscription_type=SubscriptionType.EXCLUSIVE), 5, 7)
    assert joined.effects == (ActiveConsumerChanged(None, 5), Rewound(0, ()))


def test_a_waiting_task_is_not_started_again_and_serves_who_is_active_then() -> None:
    state = join(fresh(), 5, 0).state
    second = join(state, 3, 900)
    assert second.effects == (ActiveConsumerChanged(5, 3), HandoverAlreadyWaiting(1000))
    task = advance_to(flow(second.state, 3, 1).state, 1000)
    assert task.effects == (Rewound(0, ()), Notified(3, True), Notified(5, False), ReadStarted(3))


def test_a_task_that_finds_nobody_rewinds_and_tells_nobody() -> None:
    state = leave(join(fresh(), 5, 0).state, 5, 10).state
    task = advance_to(state, 1000)
    assert task.effects == (Rewound(0, ()),) and task.state.handover_due_ms is None


def test_a_standby_that_connects_during_the_wait_is_notified_at_once() -> None:
    state = join(fresh(), 5, 0).state
    assert join(state, 7, 10).effects == (Notified(7, False),)


def test_a_read_that_can_be_cancelled_is_cancelled_and_the_delay_runs() -> None:
    changed = join(reading(), 3, 2000)
    assert changed.effects == (ActiveConsumerChanged(5, 3), ReadCancelled(5), HandoverScheduled(3000))
    task = advance_to(flow(changed.state, 3, 4).state, 3000)
    assert task.effects == (Rewound(0, (0, 1)), Notified(3, True), Notified(5, False), ReadStarted(3))


def test_a_read_that_cannot_be_cancelled_decides_when_it_ends_without_delay() -> None:
    changed = join(uncancellable(reading()), 3, 2000)
    assert changed.effects == (ActiveConsumerChanged(5, 3), ReadStillRunning(5))
    assert changed.state.handover_due_ms is None
    state = flow(changed.state, 3, 4).state
    ended = read_completed(state, 2)
    assert ended.effects == (
        EntriesDropped(5, (2, 3)),
        Rewound(0, (0, 1)),
        Notified(3, True),
        Notified(5, False),
        ReadStarted(3),
    )
    assert read_completed(ended.state, 3).effects[0] == EntriesDispatched(3, (0, 1, 2))


def test_a_task_that_finds_a_read_pending_starts_no_second_one() -> None:
    task = advance_to(replace(uncancellable(reading()), handover_due_ms=3000), 3000)
    assert task.effects == (Rewound(0, (0, 1)), Notified(5, True))
    assert task.state.pending_read == PendingRead(5, cancellable=False)


def test_permits_end_with_the_connection_that_they_were_given_on() -> None:
    state = flow(join(reading(), 7, 1500).state, 7, 4).state
    assert leave(state, 7, 1600).state.permits == {5: 10}
    twice = join(state, 7, 1550).state
    assert leave(twice, 7, 1600).state.permits == {5: 10, 7: 4}


def test_who_returns_while_its_old_read_still_runs_has_no_permits() -> None:
    state = leave(uncancellable(reading()), 5, 2000).state
    assert state.permits == {}
    ended = read_completed(join(state, 5, 2100).state, 0)
    assert ended.effects == (EntriesDispatched(5, ()),) and ended.state.permits == {5: 0}


def test_an_uncancellable_read_whose_consumers_have_all_left_is_dropped_for_nobody() -> None:
    state = leave(uncancellable(reading()), 5, 2000).state
    assert read_completed(state, 1).effects == (EntriesDropped(5, (2,)), Rewound(0, (0, 1)))


def test_while_the_topic_moves_entries_are_dropped_even_for_the_active_consumer() -> None:
    moved = read_completed(reading(), 1, transferring=True)
    assert moved.effects == (EntriesDropped(5, (2,)), Rewound(0, (0, 1)), Notified(5, True), ReadStarted(5))


def test_the_last_one_that_leaves_cancels_its_read() -> None:
    left = leave(reading(), 5, 2000)
    assert left.effects == (ActiveConsumerChanged(5, None), ReadCancelled(5))
    assert left.state.permits == {}


def test_late_acknowledgements_spare_duplicates() -> None:
    """The delay has this one purpose; an entry acknowledged on its own is skipped by the new consumer's read."""
    state = join(reading(), 3, 2000).state
    state = flow(acknowledge(state, 1), 3, 5).state
    task = advance_to(state, 3000)
    assert task.effects[0] == Rewound(0, (0,))
    assert read_completed(task.state, 2).effects[0] == EntriesDispatched(3, (0, 2))


def test_flow_starts_a_read_for_the_active_consumer_only() -> None:
    state = join(advance_to(join(fresh(), 5, 0).state, 1000).state, 7, 1100).state
    assert flow(state, 7, 5).effects == (FlowIgnored(7, IgnoredBecause.NOT_ACTIVE),)
    assert flow(state, 7, 5).state.permits == {7: 5}
    started = flow(state, 5, 5)
    assert started.effects == (ReadStarted(5),)
    assert flow(started.state, 5, 5).effects == (FlowIgnored(5, IgnoredBecause.READ_PENDING),)
    assert flow(started.state, 5, 5).state.permits == {5: 10}


def test_without_permits_reading_pauses() -> None:
    state = flow(join(fresh(0), 5, 0).state, 5, 2).state
    spent = read_completed(state, 2)
    assert spent.effects == (EntriesDispatched(5, (0, 1)),) and spent.state.pending_read is None


def test_a_non_persistent_topic_neither_reads_nor_rewinds() -> None:
    state = join(fresh(persistent=False), 5, 0).state
    assert flow(state, 5, 9).effects == () and flow(state, 5, 9).state.permits == {5: 9}


def test_a_cursor_whose_entries_are_all_acknowledged_reads_the_next_one() -> None:
    assert Cursor(read_position=3).acknowledge(2, 0, 1) == Cursor(read_position=3, mark_delete=2)
    assert Cursor(read_position=1).acknowledge(0, 1) == Cursor(read_position=2, mark_delete=1)
    assert Cursor(read_position=3, mark_delete=1).acknowledge(0, 1) == Cursor(read_position=3, mark_delete=1)


@given(st.lists(st.sampled_from(["read", "rewind", 0, 1, 2, 3, 4, 5]), max_size=20))
def test_a_cursor_sends_everything_that_is_not_acknowledged_and_nothing_else(moves: list[str | int]) -> None:
    cursor = Cursor()
    acknowledged: set[int] = set()
    for move in moves:
        if move == "read":
            read = cursor.next_entries(2)
            assert len(read) == 2 and not acknowledged & set(read)
            assert all(entry in acknowledged for entry in range(cursor.read_position, read[0]))
            cursor = cursor.after_reading(read)
        elif move == "rewind":
            waiting = cursor.unacknowledged
            cursor = cursor.rewound()
            assert cursor.next_entries(len(waiting)) == waiting
        else:
            cursor = cursor.acknowledge(int(move))
            acknowledged.add(int(move))
        assert all(entry in acknowledged for entry in range(cursor.mark_delete + 1))
        assert cursor.mark_delete + 1 not in acknowledged
        assert cursor.read_position > cursor.mark_delete
    assert cursor.after_reading(()) == cursor
