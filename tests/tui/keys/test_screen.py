"""The screen of a Key_Shared subscription: each key does what its words say, seen in the state and on the screen."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label

from engine.cluster.state import ClusterState
from tests.tui.key_scenes import (
    SUBSCRIBED,
    before_a_move,
    in_mode,
    joined,
    keys_app,
    keys_screen,
    sent,
    state_after,
    with_a_gap,
)
from tests.tui.screens_under_test import after_keys, run, text_of
from tui.app import RingsideApp
from tui.keys.dialogs import AddKeyConsumerScreen, OwnedKeysScreen, SendKeysScreen, ShareKeysScreen
from tui.kit.line_table import LineTable
from tui.kit.prompt import Prompt
from tui.kit.ring_panel import RingPanel, ViewMode


def names(app: RingsideApp) -> list[str]:
    assert app.store.shown.keys_view is not None
    return [row.name for row in app.store.shown.keys_view.consumers]


def waiting(app: RingsideApp) -> int:
    assert app.store.shown.keys_view is not None
    return app.store.shown.keys_view.foot.waiting


def moved_app() -> RingsideApp:
    """Three workers hold messages; a fourth has joined, and three messages of order-1 wait for it."""
    return keys_app(before_a_move(), "add worker-3", "send order-1 times 3")


def test_the_first_screen_says_what_is_seen_and_which_key_to_press() -> None:
    screen = after_keys(keys_app())
    assert "40 keys on 4 consumers, consistent auto-split. f asks where a key goes" in screen
    assert "16-bit ring, 100 points each" in screen
    for words in (
        "[1] slots 0 to 65535",
        "[2] 4 consumers",
        "[3] what waits (nothing)",
        "uneven by chance? it can be",
        "[5] events",
    ):
        assert words in screen, words


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("consistent-auto-split", "consistent auto-split: 16-bit ring"),
        ("auto-split", "auto-split: ranges halved"),
        ("sticky", "sticky: declared ranges"),
        (
            "consistent-sticky points 4",
            "consistent sticky ranges (client-side technique): declared ranges from 4 points",
        ),
    ],
)
def test_the_status_line_names_the_mode_and_what_is_no_mode_of_the_broker(mode: str, words: str) -> None:
    assert words in after_keys(keys_app(in_mode(mode)))


def test_a_connects_the_next_name_and_selects_it() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert isinstance(app.screen, AddKeyConsumerScreen)
        assert app.screen.query_one("#name", Input).value == "worker-4"
        assert not app.screen.query("#ranges")
        await pilot.press("enter")
        await pilot.pause()
        assert names(app)[-1] == "worker-4"
        screen = keys_screen(app)
        assert screen.consumers[-1].consumer_id == screen.selected
        assert screen.query_one("#table", LineTable).cursor == 4
        assert "slots moved" in text_of(app)

    run(app, story)


def test_a_asks_for_ranges_in_sticky_mode_and_proposes_the_first_gap() -> None:
    app = keys_app(with_a_gap())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert app.screen.query_one("#ranges", Input).value == "32768-39999"
        await pilot.press("enter")
        await pilot.pause()
        assert names(app)[-1] == "worker-3"
        assert app.store.shown.keys_view.foot.unowned_slots == 65535 - 60000
        assert "[4] gaps (5,535 slots)" in text_of(app)

    run(app, story)


def test_a_names_the_field_of_ranges_that_cannot_be() -> None:
    """Not a range, an overlap (with the name of the other consumer) and no range at all; what was typed stays."""
    app = keys_app(with_a_gap())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a", "tab")
        for typed, refusal in (
            ("nonsense", "'nonsense' is not a range"),
            ("0-10", "worker-0"),
            ("", "must not be empty"),
        ):
            await pilot.press("ctrl+u", *typed, "enter")
            await pilot.pause()
            assert isinstance(app.screen, AddKeyConsumerScreen), typed
            assert refusal in str(app.screen.query_one(".dialog--error", Label).render()), typed
            assert app.focused is not None and app.focused.id == "ranges"
            assert app.focused.value == typed
        await pilot.press("ctrl+u", *"32768-32800, 33000-33001", "enter")
        await pilot.pause()
        assert app.store.shown.keys_view.consumers[-1].declared == "32768-32800,33000-33001"

    run(app, story)


def test_enter_on_a_gap_proposes_just_that_one() -> None:
    app = keys_app(with_a_gap())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("4", "j", "enter")
        await pilot.pause()
        assert app.screen.query_one("#ranges", Input).value == "60001-65535"

    run(app, story)


def test_a_with_consistent_sticky_ranges_says_that_all_stop() -> None:
    app = keys_app(in_mode("consistent-sticky points 4"))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert not app.screen.query("#ranges")
        assert "all nodes stop" in text_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert len(names(app)) == 5

    run(app, story)


def test_x_kills_the_selected_consumer_and_selects_its_neighbour() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("j", "x")
        await pilot.pause()
        assert names(app) == ["worker-0", "worker-2", "worker-3"]
        screen = keys_screen(app)
        assert screen.selected == screen.consumers[1].consumer_id

    run(app, story)


def test_x_until_nobody_is_left_and_once_more() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("G", *["x"] * 4)
        await pilot.pause()
        assert names(app) == []
        assert "nobody is connected" in text_of(app)
        await pilot.press("x", "o", "f", "escape", "4", "v", "v", "v")
        await pilot.pause()
        await pilot.press("x")
        await pilot.pause()
        assert "there is no consumer to kill; a adds one" in text_of(app)

    run(app, story)


def test_m_changes_the_mode_among_the_four() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("m")
        await pilot.pause()
        assert isinstance(app.screen, ShareKeysScreen)
        screen = text_of(app)
        assert "consistent auto-split  (now)" in screen
        assert "A client-side technique, no mode of the broker" in screen
        await pilot.press("j", "enter")
        await pilot.pause()
        assert app.store.shown.keys_view.status.mode.value == "auto-split"
        assert "auto-split: ranges halved" in text_of(app)
        await pilot.press("m", "down", "down", "k", "enter")
        await pilot.pause()
        assert app.store.shown.keys_view.status.mode.value == "sticky"

    run(app, story)


@pytest.mark.parametrize("key", ["pageup", "pagedown"])
def test_a_page_of_modes_without_room_for_a_line_is_nothing(key: str) -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("m")
        await pilot.resize_terminal(1, 1)
        await pilot.press(key)
        await pilot.resize_terminal(80, 24)
        await pilot.press(key)
        assert isinstance(app.screen, ShareKeysScreen)

    run(app, story)


def test_m_takes_points_for_consistent_sticky_ranges_and_refuses_none() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("m", "down", "down", "down")
        await pilot.pause()
        field = app.screen.query_one("#points", Input)
        assert field.display
        assert field.value == "100"
        await pilot.press("tab", "ctrl+u", "0", "enter")
        await pilot.pause()
        assert "a node needs 1 point or more" in text_of(app)
        await pilot.press("ctrl+u", "7", "enter")
        await pilot.pause()
        status = app.store.shown.keys_view.status
        assert (status.mode.value, status.points, status.client_side) == ("consistent-sticky", 7, True)

    run(app, story)


def test_t_sends_messages_and_known_keys_complete_what_is_typed() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        before = app.store.shown.keys_view.foot.messages
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, SendKeysScreen)
        await pilot.press("ctrl+u", *"order-3")
        await pilot.pause()
        await pilot.press("tab", "ctrl+u", "5", "enter")
        await pilot.pause()
        assert app.store.shown.keys_view.foot.messages == before + 5
        assert "got order-3" in text_of(app)
        await pilot.press("t")
        await pilot.pause()
        assert app.screen.query_one("#key", Input).value == "order-3"

    run(app, story)


def test_t_names_what_is_wrong_with_a_key_or_a_number() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("t", "ctrl+u", *"hex:0", "enter")
        await pilot.pause()
        assert isinstance(app.screen, SendKeysScreen)
        assert app.screen.query_one(".dialog--error").display
        await pilot.press("ctrl+u", "a", "tab", "ctrl+u", "enter")
        await pilot.pause()
        assert "write how many messages are sent" in text_of(app)
        await pilot.press("0", "enter")
        await pilot.pause()
        assert isinstance(app.screen, SendKeysScreen)
        assert app.focused is not None and app.focused.id == "times"
        await pilot.press("escape")
        assert app.store.timeline.cursor == 0

    run(app, story)


def test_what_waits_says_for_whom_after_whom_and_what_ends_it() -> None:
    app = moved_app()
    screen = after_keys(app)
    assert "[3] what waits (3 messages at 1 slot)" in screen
    assert "3 messages of order-1 wait for worker-3 since 40 ms" in screen
    assert "worker-2 holds 1 message" in screen
    assert "It ends when" in screen
    assert " ! waiting" in screen


def test_o_acknowledges_the_oldest_and_O_all_of_the_selected_consumer() -> None:
    app = moved_app()

    async def story(pilot: Pilot[int]) -> None:
        held = {row.name: row.unacked for row in app.store.shown.keys_view.consumers}
        await pilot.press("j", "j", "o")
        await pilot.pause()
        after = {row.name: row.unacked for row in app.store.shown.keys_view.consumers}
        assert (after["worker-2"], waiting(app)) == (held["worker-2"] - 1, 3)
        assert "read is due. Key . lets time pass" in text_of(app)
        await pilot.press("full_stop", "full_stop")
        await pilot.pause()
        assert waiting(app) == 0
        assert app.store.shown.keys_view.consumers[3].unacked == 3
        await pilot.press("O")
        await pilot.pause()
        assert app.store.shown.keys_view.consumers[2].unacked == 0
        assert app.store.shown.keys_view.consumers[0].unacked == held["worker-0"]

    run(app, story)


def test_a_full_stop_lets_ten_milliseconds_pass() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("full_stop", "full_stop")
        await pilot.pause()
        assert app.store.shown.keys_view.status.now_ms == 20
        assert " 20 ms" in text_of(app)

    run(app, story)


def test_f_explains_the_key_that_waits() -> None:
    app = moved_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "enter")
        await pilot.pause()
        screen = text_of(app)
        for words in (
            "worker-3",
            "6f 72 64 65 72 2d 31",
            "1,970,427,425 mod 65,535 + 1",
            "52,116",
            "worker-2 if it leaves",
        ):
            assert words in screen, words
        assert "until worker-2 has acknowledged" in " ".join(screen.replace("│", " ").split())
        assert keys_screen(app).query_one(RingPanel).picture().dots.highlighted is not None
        await pilot.press("escape")
        await pilot.pause()
        assert "[2] 4 consumers" in text_of(app)

    run(app, story)


def test_f_takes_any_key_and_says_what_is_none() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "ctrl+u", *"hex:0", "enter")
        await pilot.pause()
        assert keys_screen(app).query_one(Prompt).is_open
        await pilot.press("ctrl+u", *"never seen", "enter")
        await pilot.pause()
        assert keys_screen(app).topic == "never seen"
        assert "nothing blocks it" in text_of(app)
        await pilot.press("m", "down", "enter")
        await pilot.pause()
        assert "lies in [" in text_of(app)

    run(app, story)


def test_f_completes_a_known_key() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "ctrl+u")
        await pilot.pause()
        await pilot.press(*"order-4")
        await pilot.pause()
        await pilot.press("tab", "enter")
        await pilot.pause()
        assert keys_screen(app).topic in ("order-4", "order-40")

    run(app, story)


def test_enter_on_a_consumer_lists_its_slots_and_keys_and_enter_there_explains_one() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, OwnedKeysScreen)
        row = app.store.shown.keys_view.consumers[0]
        screen = text_of(app)
        assert f"worker-0: {row.slots:,} slots" in screen
        assert f"{row.keys} known keys" in screen
        keys = app.store.shown.keys_of_consumer(row.consumer_id).keys
        await pilot.press("comma", "comma")
        assert [each.slot for each in app.screen.table.listed] == sorted((key.slot for key in keys), reverse=True)
        first = max(keys, key=lambda each: each.slot).text
        await pilot.press("g", "enter")
        await pilot.pause()
        assert keys_screen(app).topic == first
        await pilot.press("escape", "enter", "escape")
        await pilot.pause()
        assert app.screen is keys_screen(app)

    run(app, story)


def test_enter_on_what_waits_explains_it() -> None:
    app = moved_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("3", "enter")
        await pilot.pause()
        assert keys_screen(app).topic == "order-1"

    run(app, story)


def test_v_goes_round_ring_map_and_focus() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        panel = keys_screen(app).query_one(RingPanel)
        seen, pictures = [panel.view_mode_in_use], []
        for _ in range(3):
            await pilot.press("v")
            await pilot.pause()
            seen.append(panel.view_mode_in_use)
            pictures.append(tuple(panel.render_line(y) for y in range(panel.size.height)))
        assert seen == [ViewMode.RING, ViewMode.HASH_MAP, ViewMode.FOCUS, ViewMode.RING]
        assert len(set(map(str, pictures))) == 3

    run(app, story)


def test_colon_runs_the_grammar() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("colon", *"send a b c times 2", "enter")
        await pilot.pause()
        assert app.store.shown.keys_view.foot.keys == 43
        await pilot.press("colon", *"share rond", "enter")
        await pilot.pause()
        assert keys_screen(app).query_one(Prompt).is_open
        assert "rond" in text_of(app)

    run(app, story)


def test_i_tells_everything_in_full() -> None:
    screen = after_keys(keys_app(with_a_gap()), "i", size=(140, 60))
    for words in (
        "the rule",
        "uneven by chance?",
        "what waits",
        "Nobody has the slots 32,768 to 39,999",
        "slot = hash mod",
    ):
        assert words in screen, words


def test_digits_go_to_panels_and_to_hidden_ones_by_zooming() -> None:
    app = keys_app(with_a_gap())

    async def story(pilot: Pilot[int]) -> None:
        screen = keys_screen(app)
        expected = (("1", "ring"), ("2", "table"), ("3", "waiting"), ("4", "gaps"), ("5", "events"), ("6", "sent"))
        for key, panel in expected:
            await pilot.press(key)
            assert screen.focused is not None
            assert screen.focused.id == panel
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        await pilot.press("2", "6")
        await pilot.pause()
        assert screen.zooming.zoomed == "sent"
        assert "got order-" in text_of(app)
        await pilot.press("z")
        await pilot.pause()
        assert "[2] 3 consumers" in text_of(app)

    run(app, story)


@pytest.mark.parametrize("panel", ["ring", "consumers", "waits", "gaps", "luck", "events", "sent"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_z_gives_the_whole_body_to_one_panel(panel: str, size: tuple[int, int]) -> None:
    app = keys_app(with_a_gap())

    async def story(pilot: Pilot[int]) -> None:
        screen = keys_screen(app)
        screen.zooming.zoom(panel)
        await pilot.pause()
        zoomed = screen.query_one(f"#{panel}")
        assert zoomed.size.width >= size[0] - 4
        assert zoomed.size.height >= size[1] - 9
        others = {"ring", "consumers", "waits", "gaps", "luck", "events", "sent"} - {panel}
        assert not [each for each in others if screen.query_one(f"#{each}").region.area]

    run(app, story, size)


def test_4_without_a_gap_says_so() -> None:
    assert "there are no gaps: every slot has an owner" in after_keys(keys_app(), "4")


def test_j_and_k_on_the_ring_select_consumers_in_the_table() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("1", "j", "j", "k")
        await pilot.pause()
        assert keys_screen(app).selected == keys_screen(app).consumers[1].consumer_id
        assert keys_screen(app).query_one("#table", LineTable).cursor == 1

    run(app, story)


def test_command_palette_runs_a_key_by_its_words() -> None:
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        commands = {command.title: command for command in app.get_system_commands(app.screen)}
        commands["Let 10 ms of simulated time pass (.)"].callback()
        await pilot.pause()
        assert app.store.shown.keys_view.status.now_ms == 10

    run(app, story)


STATES = {
    "nobody": lambda: state_after(SUBSCRIBED),
    "no key": lambda: in_mode("auto-split", keys=()),
    "one": lambda: state_after([*SUBSCRIBED, *joined(1), *sent()]),
    "messages before anybody": lambda: state_after([*SUBSCRIBED, *sent()]),
    "gaps": with_a_gap,
    "many": lambda: state_after([*SUBSCRIBED, *joined(40), *sent()]),
    "older": lambda: state_after(["release 3.0.7", *SUBSCRIBED, *joined(3), *sent()]),
}
TOUR = ["v", "v", "f", "enter", "z", "z", "escape", "a", "escape", "m", "escape", "t", "enter", "enter", "escape"]
TOUR += [
    "3",
    "j",
    "4",
    "5",
    "6",
    "z",
    "z",
    "2",
    "o",
    "full_stop",
    "w",
    "w",
    "i",
    "escape",
    "x",
    "u",
    "home",
    "end",
    "question_mark",
    "escape",
]
SIZES = [(120, 40), (80, 24), (60, 18), (59, 17), (200, 60), (20, 5), (100, 20), (80, 24)]


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_shown_and_explained_and_changes_its_mode(state: str) -> None:
    shown = after_keys(keys_app(STATES[state]()), "f", "enter", "escape", "m", "escape", "v", size=(80, 24))
    assert "[1] slots" in shown and "[5] events" in shown


@pytest.mark.parametrize("state", ["nobody", "gaps", "many"])
def test_resizing_at_every_key_keeps_the_screen_alive(state: str) -> None:
    results: ClusterState = STATES[state]()
    app = keys_app(results)

    async def story(pilot: Pilot[int]) -> None:
        for at, key in enumerate(TOUR):
            await pilot.resize_terminal(*SIZES[at % len(SIZES)])
            await pilot.press(key)
            await pilot.pause()
            assert len(text_of(app).split("\n")) <= app.size.height
        assert app.is_running

    run(app, story)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_main_things_are_visible_at_every_size(size: tuple[int, int]) -> None:
    screen = after_keys(keys_app(with_a_gap()), size=size)
    for words in (
        "[1] slots",
        "[2] 3 consumers",
        "[3] what waits",
        "[4] gaps",
        "uneven by chance?",
        "[5] events",
        "sticky",
        "? Help",
    ):
        assert words in screen, words


def test_what_keeps_keys_in_order_is_shown_anew_after_a_change_of_mode() -> None:
    before = after_keys(keys_app(in_mode("consistent-auto-split")))
    after = after_keys(keys_app(in_mode("consistent-auto-split"), "share sticky"))
    assert "draining hashes" in before and "draining hashes" not in after


def test_a_change_while_the_screen_is_open_tells_the_new_rule() -> None:
    app = keys_app(in_mode("consistent-auto-split"))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        assert "draining hashes" in text_of(app)
        app.store.submit_line("share consistent-sticky")
        await pilot.pause()
        await pilot.pause()
        assert "draining hashes" not in text_of(app)
        assert app.store.shown.keys_view is not None and app.store.shown.keys_view.status.points == 100

    run(app, story)
