"""``:suggest`` on the screen: answers in the panel of the explanation, from a thread, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from engine.compare.names import Fit
from engine.compare.suggestion import suggestion
from engine.compare.verdict import Goal
from engine.errors import Rejection
from tests.tui.screens_under_test import app_of, main_screen, run
from tui.app import RingsideApp
from tui.kit.command_line import command_groups
from tui.kit.help import HelpScreen
from tui.kit.prompt import Prompt
from tui.kit.suggesting import Question, question_of


async def type_command(app: RingsideApp, pilot: Pilot[int], text: str) -> None:
    await pilot.press("colon", *text, "enter")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def test_an_answer_stands_in_the_panel_and_stays_when_the_state_changes() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        await type_command(app, pilot, "suggest consumers 1.5")
        labels = [remark.label for remark in screen.remarks]
        assert labels[0] == "answer"
        assert {"2", "3", "4"} <= set(labels)
        assert screen.has_class("-explaining")
        before = screen.remarks
        app.store.submit_line("add another")
        await pilot.pause()
        assert screen.remarks == before
        await pilot.press("escape")
        assert not screen.has_class("-explaining")

    run(app, story)


def test_escape_ends_a_running_search(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    async def endless(question: Question, state: object, key: str, told: Callable[[int, int], None]) -> None:
        happened.append(question.kind)
        told(3, 10)
        try:
            await asyncio.Event().wait()
        finally:
            happened.append("ended")

    monkeypatch.setattr("tui.kit.side_place.answer_to", endless)
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        await pilot.press("colon", *"suggest names", "enter")
        await pilot.pause()
        assert happened == ["names"]
        assert screen.has_class("-explaining")
        assert "3 of at most 10" in screen.remarks[0].text
        await pilot.press("escape")
        await pilot.pause()
        assert happened == ["names", "ended"]
        assert not screen.has_class("-explaining")
        assert len(app.workers) == 0

    run(app, story)


def test_names_are_those_that_the_engine_finds() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await type_command(app, pilot, "suggest names 1.3 survive")
        result = suggestion(app.store.timeline.state, app.store.shown.key, "names", Goal(1.3, survive=True))
        assert isinstance(result, Fit)
        texts = [remark.text for remark in main_screen(app).remarks if remark.label == "name"]
        assert len(texts) == 3
        for text, name in zip(texts, result.names, strict=True):
            assert text.endswith(name)

    run(app, story)


def test_the_flag_and_what_is_refused() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await type_command(app, pilot, "suggest flag")
        assert "activeConsumerFailoverConsistentHashing=true" in main_screen(app).remarks[0].text
        await type_command(app, pilot, "suggest points")
        assert [remark.label for remark in main_screen(app).remarks] == ["no"]
        await type_command(app, pilot, "suggest everything")
        assert app.screen.query_one(Prompt).is_open

    run(app, story)


def test_help_lists_every_verb() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("colon", *"help", "enter")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)

    run(app, story)
    words = [line.keys for _, lines in command_groups() for line in lines]
    assert {"add", "kill", "split", "suggest", "help"} <= set(words)


@pytest.mark.parametrize(
    "text", ["suggest", "suggest name", "suggest names 0.5", "suggest names nan", "suggest flag x"]
)
def test_what_is_no_question_is_refused(text: str) -> None:
    assert isinstance(question_of(text), Rejection)


def test_questions() -> None:
    assert question_of("suggest partitions messages 1.1") == Question("partitions", Goal(1.1, by_messages=True))
    assert question_of("suggestion") is None
