"""The store: one owner of the timeline, one message for every change."""

from __future__ import annotations

import asyncio

from textual.message import Message

from engine.cluster.commands import AddConsumer, KillConsumer, ShareKeys, Undo
from engine.cluster.timeline import Timeline
from tests.tui.key_scenes import in_mode
from tests.tui.screens_under_test import cluster
from tui.kit.background import Work
from tui.kit.session import Session
from tui.kit.store import Store


class Keeper:
    """Counts the steps it was messages."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def record(self, timeline: Timeline) -> str:
        self.lengths.append(timeline.length)
        return f"saved {timeline.length}"


def store_of(keeper: Keeper | None = None) -> tuple[Store, list[Message]]:
    store = Store(Session(Timeline.start(cluster(), 7, "a test"), journal=keeper))
    messages: list[Message] = []
    store.listen(messages.append)
    return store, messages


def test_a_change_is_announced_once_and_the_view_is_computed_once() -> None:
    store, messages = store_of()
    before = store.shown.failover_view
    assert store.submit(AddConsumer("billing", "new")) is None
    assert [type(message) for message in messages] == [Store.Changed]
    assert store.shown.failover_view is not before
    assert store.shown.failover_view is store.shown.failover_view


def test_what_is_refused_is_an_answer_and_no_change() -> None:
    store, messages = store_of()
    before = store.shown.failover_view
    refused = store.submit(KillConsumer("billing", 99))
    assert refused is not None
    assert store.shown.failover_view is before
    assert messages == []
    assert store.submit(Undo()) is not None
    assert store.submit_line("nonsense") is not None


def test_a_later_change_replaces_one_that_waits() -> None:
    store, messages = store_of()
    store.submit(AddConsumer("billing", "one"))
    store.submit(AddConsumer("billing", "two"))
    assert messages[1].can_replace(messages[0])


def test_steps_are_on_disk_before_they_are_shown() -> None:
    keeper = Keeper()
    store, messages = store_of(keeper)
    lengths_at_telling: list[int] = []
    store.listen(lambda _message: lengths_at_telling.append(keeper.lengths[-1]))
    store.submit(AddConsumer("billing", "one"))
    store.step_by(-1)
    assert keeper.lengths == [0, 1, 1]
    assert lengths_at_telling == [1, 1]
    assert store.saved == "saved 1"
    assert len(messages) == 2


def test_moving_nowhere_is_silent() -> None:
    store, messages = store_of()
    store.step_by(5)
    store.step_by(-5)
    store.show_subscription(1)
    assert messages == []


POINTS = 2_000
"""Of each of four nodes: more ranges than a step may go through while somebody waits."""


def beside() -> tuple[Store, list[Message], list[Work]]:
    """A store of a Key_Shared subscription, its messages, and what it wants to have computed beside a screen."""
    store = Store(Session(Timeline.start(in_mode("sticky"), 7, "a test")))
    messages: list[Message] = []
    works: list[Work] = []
    store.listen(messages.append)
    store.computing.start = works.append
    return store, messages, works


def do(works: list[Work]) -> None:
    asyncio.run(works.pop(0)())


def test_a_long_step_is_computed_beside_the_screen_and_shown_with_its_view() -> None:
    store, messages, works = beside()
    before = store.shown
    assert store.submit(ShareKeys("orders", "consistent-sticky", POINTS)) is None
    assert store.shown is before
    assert "2000" in store.computing.what
    do(works)
    assert store.shown is not before
    assert None in vars(store.shown)["_keys_views"]
    assert not store.computing.what
    assert isinstance(messages[-1], Store.Changed)
    assert store.shown.keys_view is not None
    assert store.shown.keys_view.status.points == POINTS


def test_nothing_else_is_carried_out_while_a_step_is_computed_and_escape_ends_it() -> None:
    store, _, works = beside()
    store.submit(ShareKeys("orders", "consistent-sticky", POINTS))
    refused = store.submit(AddConsumer("orders", "new"))
    assert refused is not None
    assert refused.error == "Computing"
    assert store.cancel()
    assert not store.cancel()
    assert store.submit(AddConsumer("orders", "new", ranges=((0, 0),))) is not None  # decided now, and refused
    do(works)
    assert store.timeline.length == 0


def test_a_long_step_that_is_refused_says_so_later() -> None:
    store, messages, works = beside()
    assert store.submit(ShareKeys("orders", "consistent-sticky", 10**9)) is None
    do(works)
    assert isinstance(messages[-1], Store.Refused)
    assert store.timeline.length == 0


def test_steps_back_over_a_long_one_are_computed_beside_the_screen_as_well() -> None:
    store, _, works = beside()
    store.submit(ShareKeys("orders", "consistent-sticky", POINTS))
    do(works)
    store.step_by(-1)
    assert store.timeline.cursor == 1
    do(works)
    assert store.timeline.cursor == 0
