"""The store: one owner of the timeline, one message for every change."""

from __future__ import annotations

from textual.message import Message

from engine.cluster.commands import AddConsumer, KillConsumer, Undo
from engine.cluster.timeline import Timeline
from tests.tui.screens_under_test import cluster
from tui.kit.store import Store


class Keeper:
    """Counts the steps it was told."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def record(self, timeline: Timeline) -> str:
        self.lengths.append(timeline.length)
        return f"saved {timeline.length}"


def store_of(keeper: Keeper | None = None) -> tuple[Store, list[Message]]:
    store = Store(Timeline.start(cluster(), 7, "a test"), journal=keeper)
    told: list[Message] = []
    store.tell(told.append)
    return store, told


def test_a_change_is_told_once_and_the_view_is_made_once() -> None:
    store, told = store_of()
    before = store.shown.failover_view
    assert store.submit(AddConsumer("billing", "new")) is None
    assert [type(message) for message in told] == [Store.Changed]
    assert store.shown.failover_view is not before
    assert store.shown.failover_view is store.shown.failover_view


def test_what_is_refused_is_an_answer_and_no_change() -> None:
    store, told = store_of()
    before = store.shown.failover_view
    refused = store.submit(KillConsumer("billing", 99))
    assert refused is not None
    assert store.shown.failover_view is before
    assert told == []
    assert store.submit(Undo()) is not None
    assert store.submit_line("nonsense") is not None


def test_a_later_change_replaces_one_that_waits() -> None:
    store, told = store_of()
    store.submit(AddConsumer("billing", "one"))
    store.submit(AddConsumer("billing", "two"))
    assert told[1].can_replace(told[0])


def test_steps_are_on_disk_before_they_are_shown() -> None:
    keeper = Keeper()
    store, told = store_of(keeper)
    lengths_at_telling: list[int] = []
    store.tell(lambda _message: lengths_at_telling.append(keeper.lengths[-1]))
    store.submit(AddConsumer("billing", "one"))
    store.step_by(-1)
    assert keeper.lengths == [0, 1, 1]
    assert lengths_at_telling == [1, 1]
    assert store.saved == "saved 1"
    assert len(told) == 2


def test_moving_nowhere_is_silent() -> None:
    store, told = store_of()
    store.step_by(5)
    store.step_by(-5)
    store.show_subscription(1)
    assert told == []
