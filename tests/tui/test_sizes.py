"""Every terminal size has its arrangement, and none is a crash."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.tui.screens_under_test import after_keys, app_of, cluster, main_screen, run, text_of
from tui.failover.screen import status_parts
from tui.kit.footer import KeyHint, fitting
from tui.kit.layouts import Layout, layout_for
from tui.kit.sentence_line import SentenceLine

KEYS = [
    "c",
    "v",
    "v",
    "f",
    "enter",
    "z",
    "z",
    "escape",
    "s",
    "escape",
    "a",
    "escape",
    "enter",
    "escape",
    "3",
    "down",
    "enter",
    "question_mark",
    "escape",
    "colon",
    "escape",
    "4",
    "z",
    "u",
    "x",
    "home",
    "end",
]
SIZES = [(120, 40), (80, 24), (60, 18), (59, 17), (200, 60), (20, 5), (1, 1), (100, 20), (61, 50), (80, 24)]


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (80, 24, Layout.COMPACT),
        (60, 18, Layout.COMPACT),
        (99, 60, Layout.COMPACT),
        (120, 40, Layout.MEDIUM),
        (200, 40, Layout.MEDIUM),
        (200, 60, Layout.LARGE),
        (59, 18, Layout.TOO_SMALL),
        (60, 17, Layout.TOO_SMALL),
        (0, 0, Layout.TOO_SMALL),
    ],
)
def test_a_size_has_one_arrangement(width: int, height: int, expected: Layout) -> None:
    assert layout_for(width, height) is expected


def test_resizing_at_every_key_keeps_the_app_alive() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        for at, key in enumerate(KEYS):
            await pilot.resize_terminal(*SIZES[at % len(SIZES)])
            await pilot.press(key)
            await pilot.pause()
            assert len(text_of(app).split("\n")) <= app.size.height
        assert app.is_running

    run(app, story)


@pytest.mark.parametrize("size", [(59, 24), (80, 17), (30, 8), (10, 3), (1, 1)])
def test_too_small_is_reported_in_words_and_keys_still_work(size: tuple[int, int]) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        if size[0] >= 30:
            assert f"Ringside needs 60x18 characters; this terminal has {size[0]}x{size[1]}" in " ".join(
                text_of(app).split()
            )
        await pilot.press("c", "q")

    run(app, story, size)
    assert app.store.shown.failover_view.status.consistent_hashing
    assert app.return_code == 0


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 60)])
def test_the_main_things_are_visible_at_every_size(size: tuple[int, int]) -> None:
    """Ring, consumers, bundles, events, the rule, help and quit."""
    screen = after_keys(app_of(), size=size)
    for words in (
        "[1] hash ring",
        "[2] 3 consumers",
        "[3] bundles",
        "[4] events",
        "modulo",
        "billing-0",
        "0x00000000_0x8",
        "? Help",
        "q Quit",
    ):
        assert words in screen, words


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 60)])
def test_no_line_is_wider_than_the_terminal(size: tuple[int, int]) -> None:
    from rich.cells import cell_len

    for line in after_keys(app_of(), "c", size=size).split("\n"):
        assert cell_len(line) <= size[0]


def test_a_resized_screen_is_the_screen_of_that_size() -> None:
    """Nothing of the former size stays behind."""
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        await pilot.pause()
        assert text_of(app) == after

    after = ""
    fresh = app_of()

    async def small(pilot: Pilot[int]) -> None:
        nonlocal after
        after = text_of(fresh)

    run(fresh, small, (80, 24))
    run(app, story, (120, 40))


def test_the_ring_stays_a_circle_of_useful_size_at_80x24() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        assert main_screen(app).query_one("#ring").content_size.height >= 15
        assert main_screen(app).query_one("#table").content_size.height >= 5
        assert main_screen(app).query_one("#bundles").content_size.height >= 4

    run(app, story, (80, 24))


def test_names_that_fit_are_whole_beside_a_scrollbar() -> None:
    """A bar never takes a cell from a name, and a scrollbar that comes makes the columns narrower."""
    app = app_of(cluster([f"billing-{at}" for at in range(100)]))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        await pilot.pause()
        assert "billing-10 " in text_of(app)
        table = main_screen(app).query_one("#table")
        assert table.virtual_size.width <= table.scrollable_content_region.width

    run(app, story, (80, 24))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_sentence_too_long_for_two_lines_says_that_there_is_more(width: int) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        screen.complain("word " * 200 + "last")
        await pilot.pause()
        line = screen.query_one(SentenceLine)
        shown = line.render()
        assert shown.plain.endswith("word …")
        assert len(shown.wrap(line.content_size.width)) == 2
        screen.complain("a few words")
        await pilot.pause()
        assert line.render().plain == "! a few words"

    run(app, story, (width, 30))


def test_footer_keeps_help_and_quit_and_leaves_no_gaps() -> None:
    hints = [KeyHint(key, "word", "x") for key in "abcdef"]
    hints += [KeyHint("?", "Help", "x", always=True), KeyHint("q", "Quit", "x", always=True)]
    shown = {width: [hint.key for hint in fitting(hints, width)] for width in (200, 40, 16, 0)}
    assert shown == {200: [*"abcdef", "?", "q"], 40: ["a", "b", "c", "?", "q"], 16: ["?", "q"], 0: ["?", "q"]}


@pytest.mark.parametrize("width", range(10, 60))
def test_a_footer_tells_both_of_two_brackets_or_none(width: int) -> None:
    hints = [KeyHint(key, "Back", "x") for key in "a[]{}+-b"] + [KeyHint("q", "Quit", "x", always=True)]
    shown = {hint.key for hint in fitting(hints, width)}
    assert all(({*pair} <= shown) == bool({*pair} & shown) for pair in ("[]", "{}", "+-"))


@pytest.mark.parametrize(("width", "saved"), [(60, "not saved: disk full"), (80, ""), (80, "not saved: disk full")])
def test_status_line_keeps_rule_flag_and_that_nothing_is_saved(width: int, saved: str) -> None:
    """Also beside a long subscription, which is shortened for it."""
    status = replace(
        app_of().store.shown.failover_view.status, subscription="orders-of-the-whole-shop", step=1, steps=2
    )
    text = "".join(part for part, _ in status_parts(status, saved, width))
    assert len(text) <= width
    assert all(words in text for words in ("modulo: partition index mod 3", "flag off", "not saved"))
    assert ("step 1/2" in text and "shop" in text) == (width >= 80)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_status_line_fits_and_always_names_the_rule(width: int) -> None:
    status = app_of(cluster(["a" * 300])).store.shown.failover_view.status
    text = "".join(part for part, _ in status_parts(status, "saved to a very long file name.jsonl", width))
    assert len(text) <= width
    assert "modulo" in text
