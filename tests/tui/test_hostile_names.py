"""Names that are markup, that command a terminal or that hide: shown as they are, on every screen and dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from rich.segment import Segment
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Input

from engine.cluster.state import ClusterState
from engine.views.fleet.runs import result_at
from tests.tui.bundle_scenes import bundles_app
from tests.tui.fleet_scenes import small_result
from tests.tui.key_scenes import keys_app
from tests.tui.producer_scenes import producers_app
from tests.tui.screens_under_test import app_of, cluster, main_screen, run, text_of, until
from tui.app import RingsideApp
from tui.bundles.screen import BundlesScreen
from tui.failover.dialogs import PartitionsScreen
from tui.fleet.app import FleetApp
from tui.fleet.screen import FleetScreen
from tui.kit.themed_app import COMMANDS, ThemedApp, VisibleFilter
from tui.sources.fleet_results import read_results

CLOSES = "[/x]"
CLICK = "[@click=app.quit]all is well[/]"
MARKUP = (CLOSES, CLICK, "[/]", "[red", "[b]x[/b]", "\\[/]", "[", "]", "[$nothing]x", "[#12345]y")
CONTROL = ("\x1b[2J", "\x1b]0;t\x07", "a\nb", "a\rb", "\t", "\x9b31m", "\u202egnirts", "\u200b", "\ud800", "\u3164")
HOSTILE = (*MARKUP, *CONTROL)
SIZES = [(80, 24), (120, 40), (200, 60)]
OURS = ("screen.", "app.quit", "app.help", "app.focus_")
"""What a click on a key of the footer, or on a tab, does."""


def assert_plain(app: ThemedApp, *told: object) -> None:
    """The app runs; no character commands the terminal, and no text from outside can be clicked."""
    assert app.is_running, told
    for strip in app.screen._compositor.render_strips():
        for text, style, _ in strip:
            assert not COMMANDS.search(text), (told, text)
            if style is not None and "@click" in style.meta:
                assert "well" not in text, (told, text)
                assert str(style.meta["@click"]).startswith(OURS) or isinstance(style.meta["@click"], tuple), told
    assert all("\n" not in line for line in text_of(app).split("\n"))


def named(name: str) -> ClusterState:
    """Everything that has a name has this one."""
    state = cluster((name, f"{name}-1", "other"))
    (subscription,) = state.subscriptions
    return structs.replace(state, subscriptions=(replace(subscription, key=name, name=name),))


async def visit(app: ThemedApp, pilot: Pilot[int], doors: Sequence[Sequence[str]]) -> None:
    """Go through doors, one after the other, looking around behind each; escape comes back."""
    for door in doors:
        await pilot.press(*door)
        await pilot.pause()
        assert_plain(app, door)
        for _ in range(3):
            if len(app.screen_stack) > 1 or app.screen.query("Prompt.-open"):
                await pilot.press("escape")
                await pilot.pause()
    assert_plain(app)


MAIN_DOORS = (
    (), ("2", "enter"), ("a",), ("f",), ("f", "enter"), ("i",), ("s",), ("question_mark",), ("ctrl+p",), ("v",),
    ("slash", "left_square_bracket"), ("x",), ("u",), ("b",), ("colon", *"kill", "space", "left_square_bracket"),
)  # fmt: skip
KEY_DOORS = (
    (), ("2", "enter"), ("a",), ("m",), ("t",), ("t", "enter"), ("f", "enter"), ("i",), ("question_mark",), ("3",),
    ("x",),
)  # fmt: skip
PRODUCER_DOORS = ((), ("2", "enter"), ("a",), ("t",), ("t", "enter"), ("f",), ("f", "enter"), ("i",), ("T",), ("C",))


@pytest.mark.parametrize(("name", "size"), [(CLOSES, SIZES[0]), (CLICK, SIZES[1]), ("".join(CONTROL), SIZES[2])])
def test_a_hostile_name_is_shown_as_it_is_on_the_main_screen_and_its_dialogs(name: str, size: tuple[int, int]) -> None:
    app = app_of(named(name))

    async def story(pilot: Pilot[int]) -> None:
        await visit(app, pilot, MAIN_DOORS)

    run(app, story, size)


def test_the_partitions_of_every_hostile_name_are_listed_and_left() -> None:
    app = app_of(cluster(HOSTILE, topics=2 * len(HOSTILE), partitions=3))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("2")
        for _ in HOSTILE:
            await pilot.press("enter")
            await pilot.pause()
            assert_plain(app)
            assert isinstance(app.screen, PartitionsScreen)
            await pilot.press("escape", "down")

    run(app, story)


@pytest.mark.parametrize("size", SIZES)
def test_the_partitions_of_a_consumer_named_like_a_closing_tag_are_listed(size: tuple[int, int]) -> None:
    app = app_of(cluster((CLOSES,)))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("2", "enter")
        await pilot.pause()
        assert isinstance(app.screen, PartitionsScreen)
        assert f"{CLOSES} is active for 12 partitions" in text_of(app)

    run(app, story, size)


def test_a_name_with_an_action_makes_no_title_that_can_be_clicked() -> None:
    app = app_of(cluster((CLICK,)))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("2", "enter")
        await pilot.pause()
        row, line = next((at, line) for at, line in enumerate(text_of(app).split("\n")) if "all is well" in line)
        assert CLICK in line
        await pilot.click(offset=(line.index("well"), row))
        await pilot.pause()
        assert_plain(app)
        assert isinstance(app.screen, PartitionsScreen)

    run(app, story)


@pytest.mark.parametrize("name", [CLOSES, "[@click=app.quit]all-is-well[/]", "\x1b[2J"], ids=ascii)
@pytest.mark.parametrize(
    ("make", "doors"), [(keys_app, KEY_DOORS), (producers_app, PRODUCER_DOORS)], ids=["keys", "producers"]
)
def test_a_hostile_name_is_shown_as_it_is_on_keys_and_producers(
    make: Callable[[], RingsideApp], doors: Sequence[Sequence[str]], name: str
) -> None:
    app = make()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        fields = app.screen.query(Input)
        (fields.last() if make is producers_app else fields.first()).value = name
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("escape", "t")
        await pilot.pause()
        next(field for field in app.screen.query(Input) if field.id == "key").value = name
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.store.timeline.log) >= 1
        await pilot.press("escape", "2", "G")
        await visit(app, pilot, doors)

    run(app, story)


@pytest.mark.parametrize("typed", ["[/]", "[@click=app.quit]well", "\x1b[2J"], ids=ascii)
@pytest.mark.parametrize("make", [app_of, keys_app, producers_app])
def test_what_is_typed_into_a_filter_is_shown_as_it_is(make: Callable[[], RingsideApp], typed: str) -> None:
    app = make()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("slash")
        app.screen.query_one("Prompt Input", Input).value = typed
        await pilot.pause()
        assert_plain(app)
        await pilot.press("enter")
        await pilot.pause()
        assert_plain(app)
        assert f"filter: {typed}".replace("\x1b", "\\x1b") in text_of(app)

    run(app, story)


@pytest.mark.parametrize("typed", ["[/]", "[/x]", "[@click=app.quit]well", "\x1b[2J"], ids=ascii)
def test_a_closing_tag_in_the_filter_of_a_fleet_does_not_end_the_screen(tmp_path: Path, typed: str) -> None:
    app = FleetApp(
        read_results(result_at(small_result(tmp_path / "out"))), depth="truecolor", complaint=f"{typed} was not found"
    )

    async def story(pilot: Pilot[int]) -> None:
        for panel in "1234":
            await pilot.press(panel, "slash")
            app.screen.query_one("Prompt Input", Input).value = typed
            await pilot.press("enter")
            await pilot.pause()
            assert_plain(app)
            assert isinstance(app.screen, FleetScreen) and app.screen.listing.filter_text == typed
        await pilot.press("e")
        app.screen.query_one("Prompt Input", Input).value = f"{tmp_path}/no such folder/{typed}.csv"
        await pilot.press("enter")
        await pilot.pause()
        assert_plain(app)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        assert_plain(app)

    run(app, story)


@pytest.mark.parametrize("size", SIZES)
def test_a_namespace_is_shown_as_it_is_among_bundles_and_in_the_split_preview(size: tuple[int, int]) -> None:
    """No such namespace can exist, but a screen does not rely on who checked it."""
    name = f"t/{CLICK}\x1b"
    state = cluster()
    (namespace,) = state.namespaces.values()
    state = structs.replace(state, namespaces={name: structs.replace(namespace, name=name)})
    for keys in (("3",), ("b",), ("s",)):
        app = bundles_app(state)

        async def story(pilot: Pilot[int], app: RingsideApp = app, keys: tuple[str, ...] = keys) -> None:
            await pilot.press(*keys)
            await pilot.pause()
            assert_plain(app, keys)
            assert isinstance(app.screen, BundlesScreen) or "b" not in keys

        run(app, story, size)


@pytest.mark.parametrize("name", [CLOSES, CLICK, "[/]"])
def test_the_command_palette_finds_a_subscription_by_a_name_that_is_markup(name: str) -> None:
    state = cluster()
    (first,) = state.subscriptions
    app = app_of(structs.replace(state, subscriptions=(first, replace(first, key=name, name=name))))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("ctrl+p")
        await until(app, lambda text: "Add a consumer (a)" in text)
        assert_plain(app)
        await pilot.press(*"Show ", "left_square_bracket")
        await until(app, lambda text: f"Show {name}" in text and "Add a consumer (a)" not in text)
        assert_plain(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.store.shown.key == name and len(app.screen_stack) == 1

    run(app, story)


def test_a_double_click_in_the_command_palette_leaves_it_once() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("ctrl+p", *"Theme")
        text = await until(app, lambda text: "Theme: dark or light" in text and "Add a consumer (a)" not in text)
        row = next(at for at, line in enumerate(text.split("\n")) if "Theme: dark or light" in line)
        await pilot.click(offset=(10, row), times=3)
        await pilot.pause()
        assert app.is_running and app.screen is main_screen(app)

    run(app, story)


@pytest.mark.parametrize("message", [CLOSES, CLICK, "\x1b[2J"], ids=ascii)
def test_a_notification_is_shown_as_it_is(message: str) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        app.notify(message, title=message)
        await pilot.pause()
        assert_plain(app)

    run(app, story)


def test_the_last_guard_keeps_columns_and_lets_nothing_command_the_terminal() -> None:
    """Without a width it goes, with one it is replaced; text that may be shown is not even copied."""
    guard, ground = VisibleFilter(), Color(0, 0, 0)
    fine = [Segment("plain → 日本 👩‍👩‍👧 é"), Segment("[/x]")]
    assert guard.apply(fine, ground) is fine
    cleaned = guard.apply([Segment("a\x1b[2Jb\n\u202e"), Segment("\ud800c")], ground)
    assert "".join(text for text, _, _ in cleaned) == "a[2Jb\ufffdc"
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        (segment,) = guard.apply([Segment(f"x{chr(code)}y")], ground)
        assert segment.text in ("xy", "x\ufffdy"), hex(code)
