"""What random keys have found once, replayed as ``make soak-ui`` printed it."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from textual import events
from textual.css import stylesheet
from textual.css.stylesheet import Stylesheet
from textual.message import Message

from tests.soak_ui.loop import simulated
from tests.soak_ui.playing import replay
from tests.soak_ui.steps import session_of
from tests.soak_ui.twin import disagreement
from tests.tui.screens_under_test import app_of, cluster
from tui.kit.prompt import LONGEST_LINE, TypedLine
from tui.kit.themed_app import ParsedOnce, theme_name


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("small 80x24 ctrl+p up pageup ~ =", id="a page of the command list before it is arranged"),
        pytest.param("small 80x24 ctrl+p ~3 pagedown ~ =", id="a page of the command list before it has lines"),
        pytest.param("small 1x1 ctrl+p ~ pageup ~ =", id="a page of the command list where there is no room"),
        pytest.param(
            "one 80x24 s ~ j ~ y ~ ctrl+p ~3 move@18,9 escape ~ right move@18,9 ~ ~1200 ~1200 ~1200 ~1200 =",
            id="cards that move up after they were scrolled",
        ),
        pytest.param(
            "part 110x10 size@80x24 ~ question_mark double@69,23 ~", id="a dialog that opens while the app ends"
        ),
        pytest.param(
            "keys+animate 100x30 ctrl+p click@57,29 ctrl+p ~", id="a command list that opens while another one closes"
        ),
        pytest.param(
            "fleet 81x25 ctrl+p up enter ~ enter enter ~", id="enter twice at once on the first theme of the list"
        ),
        pytest.param("keys-sticky 60x20 triple@28,19 ~", id="a click on a key of a dialog that is the app's"),
        pytest.param(
            "consumers-320 79x23 s size@100x30 enter s = drag@89,20,0,17 super+c ~",
            id="a copy of what was marked below the end of a text",
        ),
        pytest.param(
            "demo-scalable-preview 120x40 left_parenthesis a enter =", id="the sentence about one partition of keys"
        ),
        pytest.param(
            "demo-keys-resonance+light+ascii 80x24 right_parenthesis =", id="the numbers of consumers in one partition"
        ),
        pytest.param("fleet 81x25 6 tab ~", id="the list after one that has no tab, since it is empty"),
        pytest.param("part 110x10 n escape ~", id="a part of a fleet that is left while its next screen opens"),
        pytest.param("small 80x24 enter k 3 1 2 escape ~", id="a dialog that is closed before it was mounted"),
        pytest.param(
            "producers+ascii 60x20 colon ~ escape paste=topic%20remove%20persistent://public/default/topic-0 enter ~",
            id="a key for a screen that is not mounted yet",
        ),
        pytest.param(
            "demo-keys-autosplit-skew 80x24 m ~ size@1x1 ~ pageup ~", id="a page of modes where there is no room"
        ),
        pytest.param("small 80x24 f ~ slash paste:digits ~ enter ~300 =", id="an error that quotes a very long text"),
        pytest.param("small 80x24 slash ~ paste=zz enter ~ x ~ =", id="the number of consumers, none listed"),
        pytest.param("keys 80x24 slash ~ paste=zz enter ~ x ~ =", id="the number of consumers of keys, none listed"),
        pytest.param(
            "producers-few 80x24 slash ~ paste=zz enter ~ colon ~ paste=producer%20add enter ~ =",
            id="the number of producers, none listed",
        ),
        pytest.param(
            "demo-flow-split+ascii 80x24 size@200x60 colon paste:combining right ctrl+p n ~ double@80,21 enter ~",
            id="a double click on a command that the first click took away",
        ),
        pytest.param("fleet 80x24 e ~ paste:surrogate enter ~", id="half a character in the name of an export"),
        pytest.param(
            "demo-keys-equal-ranges+animate 80x24 enter ~ e ~ paste:emoji A ~ ctrl+u ~ =",
            id="joined characters that are gone from a field in a dialog",
        ),
        pytest.param(
            "priorities+animate+ascii 120x40 enter escape end 2 4 slash ~", id="a key for a dialog that is going"
        ),
        pytest.param("demo-keys-blocked 80x24 pageup click@64,23 ctrl+p ~", id="a key for a palette without its list"),
        pytest.param("demo-pip392 80x24 B ~ enter tab left_square_bracket k ~", id="a key for a help that is going"),
        pytest.param("keys-sticky 100x30 ctrl+f ~ pagedown ctrl+p escape ~ enter =", id="a topic that was found"),
        pytest.param(
            "pip392 80x24 ctrl+f ~ paste:surrogate click@56,15 tab ctrl+x ~", id="half a character that is cut out"
        ),
        pytest.param("fleet 80x24 e ~ paste:zeros enter ~", id="NUL in the name of an export"),
        pytest.param("demo-keys-points 80x24 size@120x40 size@80x24 =", id="larger and back at once"),
        pytest.param("small 80x24 c size@20x5 size@80x24 =", id="smaller and back at once"),
        pytest.param(
            "producers 60x20 colon ~ paste=topic%20partitions%20persistent://public/default/topic-0%2065536 ~ =",
            id="a topic of many partitions that is only typed",
        ),
        pytest.param("small 80x24 colon ~ paste=kill%20billing-0 ~ =", id="a preview in place of the hint"),
        pytest.param(
            "hostile 120x40 enter a paste=send%20h-19 enter ~ paste:combining enter =", id="accents without a cell"
        ),
        pytest.param(
            "two-kinds+light+loading 120x40 n ~ m ~ click@70,19 tab ctrl+r ~ right_square_bracket =",
            id="a longer sentence than the one that room was made for",
        ),
        pytest.param(
            "priorities+light 120x40 size@300x12 colon ~ paste:long ~ double@269,9 click@244,9 ~",
            id="text selected in a widget that is being removed",
        ),
        pytest.param(
            "old+animate+ascii 80x24 d e ~20 paste:emoji enter =", id="a picture of several characters in ASCII"
        ),
        pytest.param(
            "keys-sticky 120x40 colon ~ paste=share%20consistent-sticky%20points%2065536 enter ~ a ~ enter ~ "
            "left_square_bracket ~ u ~ x ~ enter ~ escape ~ f ~ ctrl+u paste=order-3 enter ~ =",
            id="steps that are computed beside the screen",
        ),
        pytest.param("demo-keys-sticky-gap 80x24 x full_stop =", id="time that passes while nobody is connected"),
        pytest.param(
            "producers 60x20 a ~ paste:emoji paste=add%20h-23 ~ t enter =", id="several characters in one cell"
        ),
        pytest.param(
            "producers 60x20 colon ~ paste=subscribe%20a%20to%20persistent://public/default/topic-0 enter ~ =",
            id="a Key_Shared subscription beside producers, in the list of all that can be shown",
        ),
        pytest.param(
            "keys-moving 60x20 h ~ comma comma comma comma comma comma ~ =",
            id="sorting by the column behind the last one",
        ),
        pytest.param(
            "small 80x24 question_mark ~ click@28,8 ~ ~ ~ ~ down end ~ =", id="scrolling while something is arranged"
        ),
        pytest.param(
            "small+ascii 80x24 h ~ a ~ comma comma comma enter ~ =", id="rows without the column of the order"
        ),
        pytest.param(
            "producers-few 20x5 colon ~ paste:long ~ double@14,1 down@17,0 ~",
            id="the mouse on a part of a widget that is being removed",
        ),
        pytest.param(
            "one 120x40 colon ~ paste=add%20 paste:surrogate enter ~ x ~ enter ~ =",
            id="half a character in the middle of the ring",
        ),
    ],
)
def test_a_line_that_once_failed(line: str) -> None:
    assert replay(session_of(line), disagreement).failure is None


def test_a_text_that_no_line_takes_is_reported_and_not_inserted() -> None:
    app = app_of(cluster())

    async def paste() -> None:
        async with app.run_test() as pilot:
            await pilot.press("slash", "z")
            for length, value in ((LONGEST_LINE, "z"), (LONGEST_LINE - 1, "z" + "x" * (LONGEST_LINE - 1))):
                app.screen.query_one(TypedLine).post_message(events.Paste("x" * length))
                await pilot.pause()
                assert app.screen.query_one(TypedLine).value == value
                assert len(app._notifications) == 1

    asyncio.run(paste())


def test_each_of_many_keys_at_once_has_its_own_turn_of_the_event_loop() -> None:
    app = app_of(cluster())
    turns: list[int] = []

    async def press() -> None:
        def note(message: Message) -> None:
            if isinstance(message, events.Key) and not message.is_forwarded:
                turns.append(loop.measured.callbacks)

        async with app.run_test(message_hook=note):
            await asyncio.sleep(1)
            for key in ("down", "up", "end", "home", "v"):
                app.post_message(events.Key(key, None))
            await asyncio.sleep(1)

    with simulated() as loop:
        loop.run_until_complete(press())
    # A turn begins after the message is taken out of the queue: what is handled in it is the key before.
    assert len(turns) == 5
    assert len(set(turns)) == 5


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sheets that are parsed, in order; tests share no parsed sheets meanwhile."""
    sheets: list[str] = []
    real: Any = stylesheet.parse

    def counted(scope: str, css: str, *given: Any, **named: Any) -> Any:
        sheets.append(css)
        return real(scope, css, *given, **named)

    monkeypatch.setattr(Stylesheet, "_parse_rules", inspect.unwrap(Stylesheet._parse_rules))
    monkeypatch.setattr(stylesheet, "parse", counted)
    return sheets


def test_a_style_sheet_is_parsed_once_for_a_theme(parsed: list[str]) -> None:
    one, other = {"ink": "red"}, {"ink": "blue"}
    sheet = ParsedOnce(variables=one)
    sheet.add_source("Label { color: $ink; }", ("a", ""))
    sheet.reparse()
    sheet.add_source("Input { color: $ink; }", ("b", ""))
    sheet.reparse()
    assert len(parsed) == 2
    sheet.prepare(other)
    assert len(parsed) == 4
    for variables in (other, one, other):
        sheet.set_variables(variables)
        sheet.reparse()
        stock = Stylesheet(variables=variables)
        stock.source = sheet.source.copy()
        stock.parse()
        assert [rule.css for rule in sheet.rules] == [rule.css for rule in stock.rules]
    assert len(parsed) == 4 + 3 * 2  # those of the stock sheets alone


@pytest.mark.parametrize("depth", ["truecolor", "mono"])
def test_what_is_parsed_ahead_is_what_the_other_theme_needs(depth: Any) -> None:
    """Also where the terminal has few colours."""
    app = app_of(cluster(), depth=depth)

    async def switch() -> None:
        async with app.run_test() as pilot:
            sheet = app.stylesheet
            assert isinstance(sheet, ParsedOnce)
            known = len(sheet._kept)
            for name in ("light", "dark", "light"):
                ahead = app._variables_with(app.available_themes[theme_name(name)])
                await pilot.press("f2")
                await pilot.pause()
                assert app.theme == theme_name(name)
                assert app.get_css_variables() == ahead
            assert len(sheet._kept) == known + 1

    asyncio.run(switch())


def test_screens_below_take_the_other_theme_too() -> None:
    """They are styled in later turns, and dialogs show them."""
    assert replay(session_of("two-kinds 120x40 n ~ f2 ~ a ~ ="), disagreement).failure is None
    assert replay(session_of("small 80x24 b ~ f2 escape ~ = f2 ~ b ~ ="), disagreement).failure is None


def test_rows_are_filtered_before_they_have_an_order() -> None:
    assert replay(session_of("keys 100x30 h slash ~ k ~"), disagreement).failure is None
