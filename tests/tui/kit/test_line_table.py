"""The virtual table: a million rows cost what one screen costs."""

from __future__ import annotations

import asyncio

from rich.text import Text
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui.kit.columns import Lines
from tui.kit.line_table import LineTable


class Listing(App[None]):
    """A table of a million rows that notes which it was asked for."""

    CSS = "Screen { layout: vertical; }"

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[int] = set()
        self.moved: list[int] = []
        self.opened: list[int] = []

    def compose(self) -> ComposeResult:
        yield LineTable()

    def on_mount(self) -> None:
        self.query_one(LineTable).lines = Lines(1_000_000, self.line, lambda width: Text("heading"))
        self.query_one(LineTable).focus()

    def line(self, index: int, width: int) -> Text:
        self.asked.add(index)
        return Text(f"row {index}")

    def on_line_table_moved(self, message: LineTable.Moved) -> None:
        self.moved.append(message.index)

    def on_line_table_opened(self, message: LineTable.Opened) -> None:
        self.opened.append(message.index)


def shown(app: Listing) -> list[str]:
    table = app.query_one(LineTable)
    return [table.render_line(y).text.rstrip() for y in range(table.size.height)]


def test_only_rows_in_sight_are_made() -> None:
    app = Listing()

    async def story() -> None:
        async with app.run_test(size=(40, 12)) as pilot:
            await pilot.press("G", "g", "pagedown", "j", "k", "enter")
            await pilot.pause()
            assert len(app.asked) < 200
            assert 999_999 in app.asked
            assert app.opened == [10]

    asyncio.run(story())


def test_the_heading_stays_and_the_cursor_is_in_sight() -> None:
    app = Listing()

    async def check(pilot: Pilot[None], cursor: int) -> None:
        await pilot.pause()
        table = app.query_one(LineTable)
        assert table.cursor == cursor
        lines = shown(app)
        assert lines[0] == "heading"
        assert f"row {cursor}" in lines

    async def story() -> None:
        async with app.run_test(size=(40, 12)) as pilot:
            for keys, cursor in (((), 0), (("G",), 999_999), (("k",), 999_998), (("pageup",), 999_988), (("g",), 0)):
                await pilot.press(*keys)
                await check(pilot, cursor)
            await pilot.resize_terminal(20, 4)
            await pilot.press("G")
            await check(pilot, 999_999)

    asyncio.run(story())


def test_fewer_rows_keep_the_cursor_inside() -> None:
    app = Listing()

    async def story() -> None:
        async with app.run_test(size=(40, 12)) as pilot:
            await pilot.press("G")
            table = app.query_one(LineTable)
            table.lines = Lines(3, app.line)
            await pilot.pause()
            assert table.cursor == 2
            table.lines = Lines(0, app.line)
            await pilot.press("j", "k", "enter", "G")
            assert table.cursor == 0
            assert app.opened == []

    asyncio.run(story())


def test_a_growing_list_gets_its_scrollbar_and_keeps_scrolling() -> None:
    """Rows are added one by one, as steps are to the events: the range follows them."""
    app = Listing()

    async def story() -> None:
        async with app.run_test(size=(40, 6)) as pilot:
            table = app.query_one(LineTable)
            for count in range(1, 30):
                table.lines = Lines(count, app.line)
                await pilot.press("G")
                await pilot.pause()
                assert table.show_vertical_scrollbar is (count > 6)
                assert f"row {count - 1}" in shown(app)
                assert table.max_scroll_y == max(0, count - 6)
            for count in range(29, 0, -1):
                table.lines = Lines(count, app.line)
                await pilot.pause()
                assert f"row {count - 1}" in shown(app)
                assert table.show_vertical_scrollbar is (count > 6)

    asyncio.run(story())
