"""What the screens of Failover, of Key_Shared and of producers do alike, each seen on all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Input

from engine.cluster.timeline import Timeline
from tests.tui.key_scenes import SUBSCRIBED, joined, keys_app, state_after
from tests.tui.producer_scenes import producers_app
from tests.tui.scalable_scenes import scalable_app
from tests.tui.screens_under_test import app_of, cluster, run, text_of
from tui.app import RingsideApp
from tui.failover import bindings as main_bindings
from tui.keys import bindings as keys_bindings
from tui.kit.bindings import key_text
from tui.kit.help import HelpScreen
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session
from tui.producers import bindings as producers_bindings
from tui.reported import screen as reported_bindings
from tui.scalable import bindings as scalable_bindings


class Sister(NamedTuple):
    """One of them: a small app, its table of keys, a name that one row has, and a word of its legend."""

    app: Callable[[], RingsideApp]
    keys: Any
    name: str
    legend: str


SISTERS = {
    "main": Sister(app_of, main_bindings, "LLING-2", "hash map"),
    "keys": Sister(keys_app, keys_bindings, "R-2", "slots where messages wait"),
    "producers": Sister(producers_app, producers_bindings, "E-0-2", "the connection is lost"),
    "scalable": Sister(scalable_app, scalable_bindings, "rker-2", "share by buckets"),
}
BINDINGS_OF: Any = {
    "main": main_bindings,
    "keys": keys_bindings,
    "producers": producers_bindings,
    "scalable": scalable_bindings,
    "reported": reported_bindings,
}


def screen_of(app: RingsideApp) -> DashboardScreen[Any]:
    return next(screen for screen in app.screen_stack if isinstance(screen, DashboardScreen))


@pytest.fixture(params=SISTERS)
def sister(request: pytest.FixtureRequest) -> Sister:
    return SISTERS[request.param]


def test_no_key_has_two_meanings_and_every_action_exists(sister: Sister) -> None:
    """Keys that mean something elsewhere only are no keys of the screen."""
    keys = [key for binding in sister.keys.BINDINGS for key in binding.key.split(",")]
    assert len(keys) == len(set(keys))
    assert not set(keys) & set(sister.keys.ELSEWHERE)
    app = sister.app()

    async def story(pilot: Pilot[int]) -> None:
        for binding in sister.keys.BINDINGS:
            assert hasattr(screen_of(app), f"action_{binding.action.partition('(')[0]}"), binding.action

    run(app, story)


@pytest.mark.parametrize("own", BINDINGS_OF)
def test_a_key_of_any_sister_means_something_or_says_why_not(own: str) -> None:
    """Digits go to panels, of which screens have more or fewer."""
    tables = {name: _letters(module.BINDINGS) for name, module in BINDINGS_OF.items()}
    everywhere = set().union(*tables.values())
    assert everywhere - tables[own] == set(BINDINGS_OF[own].ELSEWHERE)


def _letters(bindings: Iterable[Binding]) -> set[str]:
    """Keys that a prompt could take for text."""
    keys = {key_text(key, binding) for binding in bindings for key in binding.key.split(",")}
    return {key for key in keys if len(key) == 1 and not key.isdigit()}


def test_question_mark_lists_every_key_and_what_the_drawing_shows(sister: Sister) -> None:
    app = sister.app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        screen = text_of(app)
        for binding in sister.keys.BINDINGS:
            assert binding.tooltip in screen
        assert sister.legend in screen

    run(app, story, (150, 70))


def test_slash_filters_the_table_by_names_and_escape_forgets_it(sister: Sister) -> None:
    """In small letters or capitals; the other panels keep all."""
    app = sister.app()

    async def story(pilot: Pilot[int]) -> None:
        panel = screen_of(app).query_one("#consumers")
        everybody = panel.border_title
        await pilot.press("slash", *sister.name, "enter")
        await pilot.pause()
        assert "[2] 1 of " in panel.border_title
        assert panel.border_subtitle == f"filter: {sister.name}"
        assert text_of(app).casefold().count(sister.name.casefold()) >= 2
        await pilot.press("escape")
        await pilot.pause()
        assert panel.border_title == everybody
        assert panel.border_subtitle == ""

    run(app, story)


def test_a_key_of_a_sister_screen_says_why_it_does_nothing_here(sister: Sister) -> None:
    """And changes nothing; typed into a prompt it is a letter like any other."""
    app = sister.app()

    async def story(pilot: Pilot[int]) -> None:
        for key, result in sister.keys.ELSEWHERE.items():
            await pilot.press(key)
            await pilot.pause()
            assert screen_of(app).sentence == ("refusal", result)
        assert app.store.timeline.length == 0
        await pilot.press("escape", "slash", *sister.keys.ELSEWHERE)
        await pilot.pause()
        assert screen_of(app).list_panel.filter_text == "".join(sister.keys.ELSEWHERE)
        assert screen_of(app).sentence[0] == "hint"

    run(app, story)


def test_the_keys_of_time_go_through_the_steps(sister: Sister) -> None:
    app = sister.app()
    for line in ("topic add persistent://shop/orders/new-1", "topic add persistent://shop/orders/new-2"):
        assert app.store.submit_line(line) is None

    async def story(pilot: Pilot[int]) -> None:
        steps = []
        for key in ("u", "ctrl+r", "left_square_bracket", "right_curly_bracket", "home", "end", "left_curly_bracket"):
            await pilot.press(key)
            steps.append(app.store.timeline.cursor)
        assert steps == [1, 2, 1, 2, 0, 2, 0]
        await pilot.press("space")
        assert screen_of(app).playing
        screen_of(app).playback.play_on(1.0)
        assert app.store.timeline.cursor == 1
        await pilot.press("space")
        assert not screen_of(app).playing

    run(app, story)


def test_f2_draws_everything_in_the_other_colours(sister: Sister) -> None:
    """The words stay the same; what is drawn may be blocks of other shapes."""
    app = sister.app()

    def words() -> list[str]:
        return re.findall(r"[a-z]{2,}", text_of(app))

    async def story(pilot: Pilot[int]) -> None:
        before = words()
        assert screen_of(app).colours.theme == "dark"
        await pilot.press("f2")
        await pilot.pause()
        assert screen_of(app).colours.theme == "light"
        assert app.theme == "ringside-light"
        assert words() == before

    run(app, story)


def two_of_one_name() -> Timeline:
    """A Failover subscription and a Key_Shared one of the same name in another namespace."""
    lines = ["topic add persistent://shop/bills/sent", "subscribe billing to persistent://shop/bills/sent", *joined(2)]
    start = cluster()
    return Timeline.start(state_after(lines[:2], start), 7, "a test")


def test_of_two_subscriptions_of_one_name_lists_and_dialogs_say_what_they_read() -> None:
    app = RingsideApp(Session(two_of_one_name()), animate=False, depth="truecolor")
    assert app.store.places.keys == ("billing", "billing#2")

    async def story(pilot: Pilot[int]) -> None:
        assert " billing on shop/orders/order-0 and 11 more (Failover) [1/2 n p]" in text_of(app)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Show billing on shop/bills/sent" in titles
        await pilot.press("a")
        await pilot.pause()
        assert "add a consumer to billing on shop/orders/" in text_of(app)
        await pilot.press("escape", "n")
        await pilot.pause()
        assert " billing on shop/bills/sent (Key_Shared) [2/2 n p]" in text_of(app)
        for key, title in (("a", "add a consumer to"), ("t", "send messages to"), ("m", "how")):
            await pilot.press(key)
            await pilot.pause()
            assert f"{title} billing on shop/bills/sent" in text_of(app)
            await pilot.press("escape")

    run(app, story, (200, 40))


def test_a_unique_name_is_shown_without_its_namespace() -> None:
    app = keys_app(state_after([*SUBSCRIBED, *joined(1)]))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "worker-1"
        assert "add a consumer to orders ─" in text_of(app)

    run(app, story)
