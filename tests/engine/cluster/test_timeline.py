"""Time travel: the cursor, the branches, and that folding gives the state that was there."""

from __future__ import annotations

import tracemalloc

import pytest

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    End,
    GoTo,
    Home,
    KillConsumer,
    Redo,
    SetSetting,
    SwitchBranch,
    Undo,
)
from engine.cluster.limits import MAX_STEPS
from engine.cluster.timeline import SNAPSHOT_EVERY, Branch, Row, Timeline, navigate
from tests.engine.cluster.support import cluster
from tests.journal_bytes import serialise_state


def run(timeline: Timeline, *names: str) -> Timeline:
    for name in names:
        timeline, rejection = timeline.submit(AddConsumer("billing", name))
        assert rejection is None
    return timeline


def names(timeline: Timeline) -> str:
    return "".join(consumer.name for consumer in timeline.state.subscriptions[0].consumers)


@pytest.fixture
def opened() -> Timeline:
    return Timeline.start(cluster([]), seed=7, source="demo")


def test_undo_and_redo_are_inverse_and_stop_at_the_ends(opened: Timeline) -> None:
    timeline = run(opened, "x", "y")

    assert (timeline.cursor, timeline.can_undo, timeline.can_redo) == (2, True, False)
    assert timeline.undo().redo().state == timeline.state
    assert names(timeline.undo()) == "x"
    opening = timeline.home()
    assert opening.undo() is opening
    assert timeline.redo() is timeline
    assert not timeline.home().can_undo


def test_a_command_that_changes_nothing_adds_no_step(opened: Timeline) -> None:
    timeline, rejection = opened.submit(SetSetting("maxConsumersPerTopic", "0"))

    assert rejection is None and timeline is opened


def test_a_refused_command_leaves_the_timeline_as_it_is(opened: Timeline) -> None:
    timeline, rejection = opened.submit(KillConsumer("billing", 4))

    assert rejection is not None and timeline is opened


def test_a_command_after_an_undo_opens_a_branch_and_the_old_tail_stays(opened: Timeline) -> None:
    timeline = run(run(opened, *"abc").step_by(-2), "z")

    assert names(timeline) == "az"
    assert timeline.branches == (Branch(3, 3, False), Branch(4, 2, True))
    back = timeline.switch_branch(0)
    assert names(back) == "abc"
    assert names(back.switch_branch(1)) == "az"
    assert [step.number for step in back.steps] == [1, 2, 3]
    assert [step.parent for step in back.log] == [0, 1, 2, 1]
    assert names(run(back, "d")) == "abcd"
    assert run(back, "d").branches == (Branch(5, 4, True), Branch(4, 2, False))


def test_any_step_is_found_on_its_branch(opened: Timeline) -> None:
    timeline = run(run(opened, *"abc").step_by(-2), *"zy")
    for number, path in enumerate(("", "a", "ab", "abc", "az", "azy")):
        back = timeline.back_at(number)
        assert (names(back), back.current) == (path, number) and (back.is_tip(back.tip) or not number)
        assert back.log is timeline.log and back.tips is timeline.tips
    assert timeline.back_at(1).length == 3 and timeline.back_at(1).redo().current == 4, "on the branch that it was on"


def test_branches_from_the_opening_stand_side_by_side(opened: Timeline) -> None:
    timeline = run(run(run(opened, "a").home(), "b").home(), "c")

    assert [names(timeline.switch_branch(place)) for place in range(3)] == ["a", "b", "c"]


def test_timelines_are_values(opened: Timeline) -> None:
    """Two continuations of one timeline know nothing of each other."""
    shared = run(opened, "a")
    left, right = run(shared, "l"), run(shared, "r")

    assert (names(left), names(right), names(shared)) == ("al", "ar", "a")


def test_a_row_that_grew_twice_keeps_both() -> None:
    first, second, third = object(), object(), object()
    row = Row([first])
    longer, other = row.grown(second), row.grown(third)

    assert [list(each) for each in (row, longer, other)] == [[first], [first, second], [first, third]]
    assert [list(longer.grown(item)) for item in (first, third)] == [[first, second, first], [first, second, third]]
    assert (longer[-1], longer[1:], row[1:]) == (second, (second,), ())
    assert (list(longer.replaced(0, third)), list(longer)) == ([third, second], [first, second])
    with pytest.raises(IndexError):
        row[1]


def test_a_step_costs_what_it_changes_however_many_are_before_it(opened: Timeline) -> None:
    """Counted in bytes that are in use at the end, with every timeline on the way kept."""
    consumers = 2_000
    timeline, kept = opened, [opened]
    tracemalloc.start()
    try:
        for half in range(2):
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(consumers):
                timeline, _ = timeline.submit(AddConsumer("billing", "c"))
                timeline, _ = timeline.submit(KillConsumer("billing", timeline.state.next_consumer_id - 1))
                kept.append(timeline)
            after, _ = tracemalloc.get_traced_memory()
            assert (after - before) / consumers < 4_000, f"bytes of two steps, half {half}"
    finally:
        tracemalloc.stop()
    assert [each.cursor for each in kept[-2:]] == [4 * consumers - 2, 4 * consumers]


def test_scrubbing_gives_the_state_that_was_there_at_every_step(opened: Timeline) -> None:
    """Across several kept states, forwards, backwards, and from anywhere."""
    timeline, states = opened, [opened.state]
    for number in range(2 * SNAPSHOT_EVERY + 7):
        timeline, _ = timeline.submit(
            AddTopic(f"t{number}") if number % 9 == 0 else AddConsumer("billing", str(number))
        )
        states.append(timeline.state)
    expected = [serialise_state(state) for state in states]

    assert [serialise_state(timeline.state_at(step)) for step in range(len(states))] == expected
    walked = timeline.home()
    for step in (3, SNAPSHOT_EVERY, SNAPSHOT_EVERY - 1, 2 * SNAPSHOT_EVERY + 1, 5, timeline.length):
        walked = walked.go_to(step)
        assert (walked.cursor, serialise_state(walked.state)) == (step, expected[step])


def test_the_cursor_stops_at_either_end(opened: Timeline) -> None:
    timeline = run(opened, *"abc")

    assert timeline.step_by(-99).cursor == 0
    assert timeline.home().step_by(99).cursor == 3
    assert timeline.home().end().cursor == 3


def test_a_step_reads_as_its_command_with_names(opened: Timeline) -> None:
    timeline, _ = run(opened, "worker 1").submit(KillConsumer("billing", 0))

    assert [step.text for step in timeline.steps] == ['add "worker 1"', 'kill "worker 1"']


def test_the_number_of_steps_is_limited(opened: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_STEPS == 100_000
    monkeypatch.setattr("engine.cluster.timeline.MAX_STEPS", 2)

    timeline, rejection = run(opened, "a", "b").submit(AddConsumer("billing", "c"))

    assert rejection is not None and rejection.error == "TimelineFull"
    assert timeline.length == 2


def test_navigation_refuses_what_is_not_there(opened: Timeline) -> None:
    timeline = run(opened, *"ab")

    for command, place in ((Undo(), 1), (Home(), 0), (End(), 2), (GoTo(1), 1), (SwitchBranch(1), 2)):
        result = navigate(timeline, command)
        assert result.rejection is None and result.timeline.cursor == place
    for command in (Redo(), GoTo(3), GoTo(-1), SwitchBranch(0), SwitchBranch(2)):
        result = navigate(timeline, command)
        assert result.rejection is not None and result.timeline is timeline
    assert navigate(timeline.home(), Undo()).rejection is not None
