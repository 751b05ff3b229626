"""Nothing, one, very many, and names that want to break the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs
from rich.cells import cell_len
from textual.pilot import Pilot

from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from tests.tui.screens_under_test import after_keys, app_of, cluster, main_screen, run, text_of
from tui.failover.dialogs import PartitionsScreen
from tui.kit.line_table import LineTable
from tui.kit.ring_panel import RingPanel

EVERY_KEY = [
    "c",
    "v",
    "v",
    "v",
    "f",
    "escape",
    "s",
    "escape",
    "enter",
    "escape",
    "u",
    "x",
    "home",
    "end",
    "i",
    "escape",
    "left_square_bracket",
    "space",
    "n",
    "p",
    "1",
    "2",
    "3",
    "4",
    "z",
    "z",
    "slash",
    "escape",
    "tab",
    "j",
    "k",
]
HOSTILE = [
    "",
    "a\nb",
    "\x1b[2J\x1b[31mred",
    "[bold]markup[/bold]",
    "[@click=app.quit]x[/]",
    "日本語の消費者",
    "👩‍👩‍👧 family",
    "e\u0301" * 30,
    "x" * 5000,
    "\u202egnirts",
    "tab\there",
    "\ud800",
    "$accent",
    "consumer \u0000 nul",
]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_an_empty_cluster_is_shown_and_every_key_is_safe(size: tuple[int, int]) -> None:
    app = app_of(ClusterState())

    async def story(pilot: Pilot[int]) -> None:
        for key in EVERY_KEY:
            await pilot.press(key)
        await pilot.pause()
        assert app.is_running
        assert text_of(app)

    run(app, story, size)


@pytest.mark.parametrize("state", [cluster(()), cluster(topics=0), cluster(("one",)), cluster(("one",), topics=1)])
def test_little_is_no_trouble(state: ClusterState) -> None:
    app = app_of(state)

    async def story(pilot: Pilot[int]) -> None:
        for key in EVERY_KEY:
            await pilot.press(key)
        await pilot.pause()
        assert app.is_running

    run(app, story)


def test_hostile_names_stay_in_their_cells() -> None:
    """Control characters are shown as escapes, markup is text, wide characters keep the columns aligned."""
    state = cluster(HOSTILE)
    app = app_of(state)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("2", "z")
        await pilot.pause()
        screen = text_of(app)
        assert "(no name)" in screen
        assert "a\\nb" in screen
        assert "\\x1b[2J" in screen
        assert "\x1b" not in screen
        assert "[bold]markup[/bold]" in screen
        assert "日本語の消費者" in screen
        for line in screen.split("\n"):
            assert cell_len(line) <= 120
        await pilot.press("z", "c", "f", "escape", "enter", "escape", "x", "v", "v")
        assert app.is_running

    run(app, story)


def test_a_hostile_name_is_said_safely_everywhere() -> None:
    app = app_of(cluster(["\x1b]0;title\x07", "[red]b"]))
    for keys in ((), ("enter",), ("f", "enter"), ("c", "f", "enter"), ("x",), ("question_mark",)):
        assert "\x1b" not in after_keys(app_of(cluster(["\x1b]0;title\x07", "[red]b"])), *keys), keys
    assert app.store.shown.failover_view.consumers


def test_two_consumers_of_one_name_are_two_rows() -> None:
    app = app_of(cluster(["same", "same", "same"]))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("j", "x")
        await pilot.pause()
        assert [row.consumer_id for row in app.store.shown.failover_view.consumers] == [0, 2]
        assert main_screen(app).query_one("#table", LineTable).lines.count == 2

    run(app, story)


def test_rows_stand_in_the_dispatchers_order_after_joins_and_leaves() -> None:
    app = app_of(cluster(["b", "d", "f"]))

    async def story(pilot: Pilot[int]) -> None:
        panel = main_screen(app).list_panel
        for line in ("add c", "add a", "kill d", "add d", "add e priority -1", "kill b", "undo", "undo"):
            assert app.store.submit_line(line) is None
            await pilot.pause()
            shown = [row.consumer_id for row in panel.listed]
            assert shown == [row.consumer_id for row in app.store.shown.failover_view.consumers]

    run(app, story)


def test_standbys_are_distinguished_without_colour() -> None:
    screen = after_keys(app_of(cluster(priorities=(0, 0, 1)), mono=True))
    assert "standby" in screen


def test_a_thousand_consumers_are_one_scrollable_table() -> None:
    app = app_of(cluster([f"c-{at:04d}" for at in range(1000)], topics=50))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("G")
        await pilot.pause()
        assert main_screen(app).selected == 999
        assert "c-0999" in text_of(app)
        await pilot.press("x", "c")
        await pilot.pause()
        assert main_screen(app).query_one("#table", LineTable).lines.count == 999
        assert main_screen(app).selected == 998

    run(app, story)


def test_more_than_two_thousand_are_one_table() -> None:
    app = app_of(cluster([f"c-{at:04d}" for at in range(2500)], topics=20))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        await pilot.press("2", "G")
        await pilot.pause()
        assert screen.focused is screen.query_one("#table")
        assert screen.selected == 2499
        assert "c-2499" in text_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, PartitionsScreen)

    run(app, story)


def test_ten_thousand_partitions_are_listed_without_making_them_all() -> None:
    app = app_of(cluster(("only",), topics=10, partitions=1000))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        table = app.screen.query_one(LineTable)
        asked: list[int] = []
        lines = table.lines
        assert lines.count == 10_000
        table.lines = structs.replace(
            lines, line=lambda index, width: (asked.append(index), lines.line(index, width))[1]
        )
        await pilot.press("G")
        await pilot.pause()
        assert len(set(asked)) < 200
        assert 9999 in asked

    run(app, story)


def test_subscriptions_are_switched_with_n_and_p() -> None:
    state = cluster()
    first = state.subscriptions[0]
    state = structs.replace(
        state, subscriptions=(first, replace(first, key="audit", name="audit", consumers=first.consumers[:1]))
    )
    app = app_of(state)

    async def story(pilot: Pilot[int]) -> None:
        shown = [app.store.shown.key]
        for key in ("n", "n", "p"):
            await pilot.press(key)
            await pilot.pause()
            shown.append(app.store.shown.key)
            assert len(main_screen(app).consumers) == len(app.store.shown.failover_view.consumers)
        assert shown == ["billing", "audit", "billing", "audit"]
        commands = {command.title: command for command in app.get_system_commands(app.screen)}
        commands["Show billing"].callback()
        assert app.store.shown.key == "billing"

    run(app, story)


@pytest.mark.parametrize("key", ["n", "p"])
def test_where_one_subscription_is_all_n_and_p_say_so(key: str) -> None:
    assert "! there is no other subscription" in after_keys(app_of(), key)


def test_ascii_only_leaves_no_other_character_on_any_screen() -> None:
    app = app_of(cluster(["日本", "é", "plain"]), ascii_only=True)

    async def story(pilot: Pilot[int]) -> None:
        for keys in (
            (),
            ("c",),
            ("v",),
            ("v",),
            ("f", "enter"),
            ("escape", "s"),
            ("escape", "a"),
            ("escape", "question_mark"),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            assert text_of(app).isascii(), keys

    run(app, story)


def test_a_full_disk_is_reported_at_every_size_and_the_session_goes_on() -> None:
    class FullDisk:
        def record(self, timeline: Timeline) -> str:
            return "not saved: /x: No space left on device" if timeline.log else ""

        def close(self) -> str:
            return ""

    for size in ((60, 18), (120, 40)):
        app = app_of(journal=FullDisk())
        screen = after_keys(app, "c", size=size)
        assert "not saved" in screen.split("\n")[0]
        assert "No space left on device" in screen
        assert app.store.shown.failover_view.status.consistent_hashing


def test_without_colours_every_consumer_keeps_its_letter() -> None:
    screen = after_keys(app_of(mono=True), "c")
    for tag in "ABC":
        assert f" {tag} billing-" in screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_without_a_subscription_the_bundles_have_the_screen(size: tuple[int, int]) -> None:
    """No empty ring and no empty table; keys that would go there say why they do not."""
    app = app_of(structs.replace(cluster(), subscriptions=()))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        screen = main_screen(app)
        tree = screen.query_one("#bundles")
        assert screen.focused is tree
        assert tree.size.width >= size[0] - 4
        await pilot.press("1", "v", "2")
        await pilot.pause()
        assert screen.focused is tree
        assert "no Failover subscription" in screen.sentence[1]
        await pilot.press("s", "enter")
        await pilot.pause()
        assert "split: range_equally_divide" in text_of(app)
        assert "! " not in text_of(app)

    run(app, story, size)


@pytest.mark.parametrize(
    ("release", "partitions", "words"),
    [("4.2.4", 1, "index"), ("2.10.0", 0, "first")],
)
def test_few_words_in_a_small_ring_name_the_rule_in_force(release: str, partitions: int, words: str) -> None:
    """Before 3.0 a topic without partitions goes to the consumer that connected first, which is no modulo."""
    app = app_of(cluster(release=release, partitions=partitions))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        picture = main_screen(app).query_one(RingPanel).picture()
        assert picture is not None
        assert picture.few[0] == words

    run(app, story, (80, 24))


def test_a_notice_that_comes_with_a_step_stands_behind_what_the_step_did() -> None:
    """It is shown once; later steps show their own result, and i still has it."""
    app = app_of(cluster(("c-1", "c-2")))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        await pilot.press("c")
        assert app.store.submit_line("add c-11") is None
        await pilot.pause()
        kind, text = screen.sentence
        assert kind == "notice"
        assert text.startswith("add c-11")
        assert "New (i): names collide" in text
        await pilot.press("u")
        await pilot.pause()
        assert screen.sentence[0] == "hint"
        assert screen.sentence[1].startswith("The flag is on: ")

    run(app, story)
