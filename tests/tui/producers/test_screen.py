"""The screen of producers: each key does what its words say, seen in the state and on the screen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input, Label

from engine.cluster.commands import SetSetting
from engine.cluster.producers.state import ProducerPlan, ProducerTopic
from engine.errors import Rejection
from tests.tui.producer_scenes import hundred_app, producers_app, producers_screen
from tests.tui.screens_under_test import after_keys, run, text_of
from tui.app import RingsideApp
from tui.kit.line_table import LineTable
from tui.producers.dialogs import AddProducersScreen, SendByProducersScreen, plan_typed


def topic(app: RingsideApp) -> ProducerTopic:
    return app.store.timeline.state.producer_topics[0]


def test_the_first_screen_says_what_is_seen_and_which_key_to_press() -> None:
    screen = after_keys(producers_app())
    assert "4 producers have opened 4 of 48 pairs (8.3%). T sends by all" in screen
    for words in (
        "[1] who has opened what: 4 x 12",
        "[2] 4 producers",
        "[3] objects on brokers",
        "[4] statistics by position",
        "[5] events (1)",
        "[6] what happened",
        "producers at each partition, at most",
        "lazy start",
    ):
        assert words in screen, words


@pytest.mark.parametrize(("limit", "full"), [(0, False), (3, True), (4, False)])
def test_partitions_that_are_full_are_said_with_the_key_that_adds_some(limit: int, full: bool) -> None:
    from engine.cluster.timeline import Timeline
    from engine.scenarios.synthetic import synthetic_producers
    from engine.views.producers.view import producers_view
    from tests.engine.cluster.support import after
    from tui.producers.words import state_hint

    opened = synthetic_producers(ProducerPlan(count=3), 2)
    state = after(opened.state, SetSetting("maxProducersPerTopic", str(limit)))
    hint = state_hint(producers_view(Timeline.start(state, 0, "a test"), state.producer_topics[0].topic))
    assert ("2 of 2 partitions take no other producer" in hint and "m adds partitions" in hint) is full


def test_a_creates_producers_and_selects_the_last() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert isinstance(app.screen, AddProducersScreen)
        await pilot.press("ctrl+u", *"3", "down", "down", "ctrl+u", *"partial 2", "enter")
        await pilot.pause()
        assert len(topic(app).producers.producers) == 7
        screen = producers_screen(app)
        assert screen.selected == 6 and screen.query_one("#table", LineTable).cursor == 6
        assert screen.producers[6].router == "partial(2)" and screen.producers[6].lazy
        assert "3 partitions opened, 3 created" in text_of(app)

    run(app, story)


@pytest.mark.parametrize(
    ("field", "typed", "message"),
    [
        ("count", "many", "'many' is not a number of producers"),
        ("count", "0", "0 is not a number of producers"),
        ("start", "soon", "lazy or eager, not 'soon'"),
        ("router", "partial 99", "a limit of 99 is above the 12 partitions"),
        ("router", "partial 0", "greater than or equal to 1"),
        ("router", "single 3", "partial with a limit"),
        ("router", "random", "none of round-robin"),
        ("client", "go", "none of java"),
        ("access", "Mine", "none of Shared"),
        ("access", "Exclusive", "Topic has existing shared producers"),
        ("producer-name", "standalone-0-1", "is already connected to topic"),
    ],
)
def test_a_names_the_field_of_what_cannot_be_and_keeps_what_was_typed(field: str, typed: str, message: str) -> None:
    app = producers_app(4, 12, "producer send all times 12")

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        app.screen.query_one(f"#{field}", Input).value = typed
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, AddProducersScreen)
        assert message in str(app.screen.query_one(".dialog--error", Label).render())
        assert app.focused is not None and app.focused.id == field
        assert app.screen.query_one(f"#{field}", Input).value == typed
        await pilot.press("escape")
        await pilot.pause()
        assert app.store.timeline.length == 1

    run(app, story)


def test_a_plan_is_what_its_fields_say() -> None:
    plan = plan_typed({"count": "2", "start": "eager", "router": "partial 3", "client": "", "producer-name": "x"})
    assert not hasattr(plan, "error")
    assert plan == replace(plan, count=2, lazy=False, router="partial", limit=3, client="java", name="x")


def test_t_sends_by_the_selected_and_capital_t_by_all() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("j", "t")
        await pilot.pause()
        assert isinstance(app.screen, SendByProducersScreen)
        await pilot.press("down", *"order-1", "enter")
        await pilot.pause()
        assert topic(app).keys == {"order-1": 1}
        assert [row.sent_msgs for row in producers_screen(app).producers] == [0, 1, 0, 0]
        await pilot.press("T")
        await pilot.pause()
        assert app.screen.query_one("#key", Input).value == "order-1", "the last key is proposed"
        await pilot.press("ctrl+u", "3", "down", "ctrl+u", "enter")
        await pilot.pause()
        assert topic(app).tally.sent == 12 and topic(app).keys == {"order-1": 1}
        await pilot.press("t", "ctrl+u", "enter")
        await pilot.pause()
        assert "write how many messages" in text_of(app)
        await pilot.press("0", "enter")
        await pilot.pause()
        assert "0 times is not a number" in text_of(app)

    run(app, story)


def test_x_closes_the_selected_and_says_so_where_it_is_closed() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("x")
        await pilot.pause()
        assert topic(app).producers.producers[0].state == "Closed"
        await pilot.press("x")
        await pilot.pause()
        assert "is closed already" in text_of(app)
        await pilot.press("u")
        await pilot.pause()
        assert topic(app).producers.producers[0].state == "Ready"

    run(app, story)


def test_m_grows_the_topic_and_a_minute_lets_producers_see_it() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("m", "enter")
        await pilot.pause()
        assert topic(app).partitions == 24
        assert "4 of 4 producers do not know of all 24 partitions yet" in " ".join(text_of(app).split())
        await pilot.press("greater_than_sign")
        await pilot.pause()
        assert [producer.partitions for producer in topic(app).producers.producers] == [24] * 4
        await pilot.press("m", "ctrl+u", *"20", "enter")
        await pilot.pause()
        assert "not support shrink topic partitions" in text_of(app)
        await pilot.press("ctrl+u", *"some", "enter")
        await pilot.pause()
        assert "'some' is not a number of partitions" in text_of(app)
        await pilot.press("escape", "full_stop")
        await pilot.pause()
        assert topic(app).now_ms == 60_010

    run(app, story)


def test_b_breaks_the_marked_partition_and_repairs_it() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("1", "l", "l", "b")
        await pilot.pause()
        assert dict(topic(app).producers.topic.failing).keys() == {2}
        assert "partition 2 on broker 2" in text_of(app) and "not served" in text_of(app)
        await pilot.press("b")
        await pilot.pause()
        assert not topic(app).producers.topic.failing

    run(app, story)


def test_the_cursor_of_the_matrix_goes_over_producers_and_round_partitions() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("1", "j", "j", "left")
        await pilot.pause()
        screen = producers_screen(app)
        assert (screen.selected, screen.column) == (2, 11)
        assert screen.query_one("#table", LineTable).cursor == 2
        await pilot.press("pagedown", "k", "right")
        await pilot.pause()
        assert (screen.selected, screen.column) == (2, 0)
        await pilot.press("enter")
        await pilot.pause()
        assert "what the next message does" in text_of(app)

    run(app, story)


def test_f_explains_what_the_next_message_would_do_and_marks_its_partition() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "ctrl+u", *"k1", "enter")
        await pilot.pause()
        explanation = app.store.shown.explain_send(0, "k1")
        assert not isinstance(explanation, Rejection)
        partition = explanation.explanation.result.partition
        screen = producers_screen(app)
        assert screen.column == partition
        text = text_of(app)
        assert f"partition {partition}" in text and "JavaStringHash" in text and "cpp, python, node" in text
        before = app.store.timeline.length
        await pilot.press("escape")
        await pilot.pause()
        assert not screen.has_class("-explaining") and app.store.timeline.length == before
        await pilot.press("f", "ctrl+u", "-", "enter")
        await pilot.pause()
        assert screen.key is None and "No key, batching off" in text_of(app)

    run(app, story)


def test_the_explanation_follows_the_state() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "ctrl+u", *"k1", "enter")
        await pilot.pause()
        assert "It opens partition" in text_of(app)
        app.store.submit_line("producer send #0 key k1")
        await pilot.pause()
        assert "which is open" in text_of(app)

    run(app, story)


def test_c_merges_statistics_by_name_and_back() -> None:
    app = producers_app(4, 12, "producer send all times 2")

    async def story(pilot: Pilot[int]) -> None:
        assert "[4] statistics by position" in text_of(app)
        await pilot.press("c")
        await pilot.pause()
        assert "[4] statistics by name: each entry is one producer" in text_of(app)
        await pilot.press("c")
        await pilot.pause()
        assert not app.store.timeline.state.settings.aggregatePublisherStatsByProducerName

    run(app, story)


def test_statistics_of_very_many_objects_are_added_up_only_when_asked_for() -> None:
    app = hundred_app()
    app.store.submit_line("producer send all times 40")

    async def story(pilot: Pilot[int]) -> None:
        assert "[4] statistics (s adds them up)" in text_of(app)
        await pilot.press("s")
        await pilot.pause()
        assert "[4] statistics by position:" in text_of(app)
        assert app.focused is not None and app.focused.id == "merged"

    run(app, story)


def test_r_gives_a_rate_and_the_bars_show_it() -> None:
    app = producers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("r", "ctrl+u", *"900", "down", "ctrl+u", *"250", "down", *"k1", "down", "5", "enter")
        await pilot.pause()
        assert "one key or several" in text_of(app)
        await pilot.press("backspace", "enter")
        await pilot.pause()
        view = producers_screen(app).now
        row = view.producers[producers_screen(app).selected]
        assert (row.msgs_per_sec, row.msg_bytes) == (900.0, 250)
        assert view.rates is not None and view.rates.msgs_per_sec.max() == view.rates.msgs_per_sec.sum() == 900.0
        assert "at most 900" in text_of(app)

    run(app, story)
