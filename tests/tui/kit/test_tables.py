"""Tables of rows: sorted by key and click, filtered, copied and exported; what was seen has names that say so."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App
from textual.pilot import Pilot

from engine.compare.verdict import Judgement
from engine.disk import export_records
from engine.text import natural_key
from engine.views.failover.model import ConsumerRow
from tests.tui.screens_under_test import app_of, cluster, main_screen, run, text_of, until
from tui.failover.dialogs import PartitionsScreen
from tui.kit.columns import NameColumn, Order, fitting, places_in_order
from tui.kit.heirs_screen import HeirsScreen
from tui.kit.line_table import ARRANGED_AT_ONCE, LineTable, RowsTable
from tui.kit.plain_text import PlainStatic
from tui.kit.prompt import Prompt
from tui.kit.table_screens import TableDialog

NAMES = ("b-10", "b-9", "a-1")


def listed(app: App[int]) -> list[str]:
    table: RowsTable[ConsumerRow] = main_screen(app).list_panel.table
    return [row.name for row in table.listed]


@given(st.lists(st.none() | st.floats()), st.booleans())
def test_rows_without_a_value_come_last_in_both_directions(rows: list[float | None], descending: bool) -> None:
    places = places_in_order(rows, Order("n", descending=descending), lambda row, _: row)
    assert sorted(places) == list(range(len(rows)))
    ordered = [rows[at] for at in places]
    known = [value for value in rows if value is not None and not math.isnan(value)]
    assert ordered[: len(known)] == sorted(known, reverse=descending)
    unknown = list(places[len(known) :])
    assert unknown == sorted(unknown)
    assert places_in_order(rows, Order(), lambda row, _: row) == range(len(rows))


@given(st.text("ab c", max_size=20), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(1, 120))
def test_a_column_of_names_has_room_for_its_heading(label: str, whole: int, easy: int, least: int, width: int) -> None:
    (column,) = fitting(width, NameColumn(label, whole, easy, least), (), (), ("name",))
    assert column.heading(Order()).plain.startswith(f"{label} ")
    assert column.heading(Order("name")).plain.startswith(f"{label}^")


def test_rows_that_do_not_fit_are_left_out_and_equal_ones_stay_in_their_order() -> None:
    rows = [("b", 1), ("a", 2), ("c", 1), ("d", 2)]
    kept = places_in_order(rows, Order("n", descending=True), lambda row, _: row[1], lambda row: row[0] != "c")
    assert kept == [1, 3, 0]
    no_column: dict[str, int] = {}
    assert places_in_order(rows, Order(), lambda _, key: no_column[key], lambda row: row[0] > "b") == [2, 3]


def test_a_number_of_many_digits_in_a_name_is_sorted_like_any_other() -> None:
    names = ["a-" + "9" * 9_000, "a-10", "a-9"]
    assert places_in_order(names, Order("name"), lambda row, _: row) == [2, 1, 0]


def test_comma_sorts_by_one_column_after_the_other_and_semicolon_turns_round() -> None:
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        table = main_screen(app).list_panel.table
        as_given = listed(app)
        await pilot.press("comma")
        assert (table.order, listed(app)) == (Order("name"), ["a-1", "b-9", "b-10"])
        assert "consumer^" in text_of(app)
        await pilot.press("semicolon")
        assert listed(app) == ["b-10", "b-9", "a-1"]
        await pilot.press("comma")
        assert table.order == Order("active", descending=True)
        columns = table.lines.columns
        assert columns is not None
        for _ in [column for column in columns(table.scrollable_content_region.width) if column.label][2:]:
            await pilot.press("comma")
        await pilot.press("comma")
        assert (table.order, listed(app)) == (Order(), as_given)
        await pilot.press("semicolon")
        assert table.order == Order()

    run(app, story)


def test_the_selected_row_stays_selected_and_a_step_keeps_the_order() -> None:
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        chosen = screen.selected
        await pilot.press("comma", "semicolon")
        assert screen.selected == chosen
        await pilot.press("c")
        await pilot.pause()
        assert listed(app) == ["b-10", "b-9", "a-1"]
        assert screen.list_panel.table.listed[screen.list_panel.table.cursor].consumer_id == chosen

    run(app, story)


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_round() -> None:
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        table = main_screen(app).list_panel.table
        assert table.lines.heading is not None
        x = table.lines.heading(table.scrollable_content_region.width).plain.index("active") + 2
        await pilot.click(table, offset=(x, 0))
        assert table.order == Order("active", descending=True)
        await pilot.click(table, offset=(x, 0))
        assert table.order == Order("active")
        await pilot.click(table, offset=(0, 0))  # the letters have no heading
        assert table.order == Order("active")

    run(app, story)


def test_rows_are_exported_in_their_order_with_all_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("comma", "e", "enter")
        await pilot.pause()
        kind, _ = main_screen(app).sentence
        assert kind == "done"
        await pilot.press("e", "enter")  # the file is there now
        await until(app, lambda text: "is there already" in " ".join(text.split()))
        await pilot.press(*["backspace"] * 20, *"two.json", "enter")
        await pilot.pause()
        await pilot.press("e", *["backspace"] * 20, *"three.svg", "enter")
        await pilot.pause()
        await pilot.press("e", *["backspace"] * 20, *"four.txt", "enter")
        await until(app, lambda text: ".csv, .json" in " ".join(text.split()))

    run(app, story)
    rows = list(csv.DictReader((tmp_path / "consumers.csv").open()))
    assert [row["name"] for row in rows] == ["a-1", "b-9", "b-10"]
    assert {"name", "active", "ring", "rate", "msgs", "prio", "change"} == set(rows[0])
    assert [row["name"] for row in json.loads((tmp_path / "two.json").read_text())] == ["a-1", "b-9", "b-10"]
    picture = (tmp_path / "three.svg").read_text()
    assert picture.startswith("<svg") and "export to" not in picture and "three.svg" not in picture
    assert sorted(path.name for path in tmp_path.iterdir()) == ["consumers.csv", "three.svg", "two.json"]


def test_cells_that_a_spreadsheet_would_run_are_changed_and_counted(tmp_path: Path) -> None:
    records: list[dict[str, float | str | None]] = [{"name": "=1+1", "n": 1}, {"name": "b\x1b", "n": None}]
    assert export_records(records, tmp_path / "x.csv").changed_cells == 2
    assert (tmp_path / "x.csv").read_text() == "name,n\n'=1+1,1\nb\\x1b,\n"
    assert export_records([], tmp_path / "none.csv").rows == 0
    assert (tmp_path / "none.csv").read_bytes() == b""


def test_the_row_and_the_explanation_are_copied() -> None:
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("y")
        await pilot.pause()
        record = dict(line.split("\t") for line in app.clipboard.splitlines())
        assert record["name"] == main_screen(app).list_panel.listed[0].name
        await pilot.press("f", "enter")
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert "hash" in app.clipboard
        assert main_screen(app).sentence[0] == "done"

    run(app, story)


def test_a_dialog_filters_sorts_and_gives_the_row_that_is_meant() -> None:
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, PartitionsScreen)
        count = len(screen.table.listed)
        await pilot.press("slash", *"order-1", "enter")
        await pilot.pause()
        assert [row.name.rpartition("/")[2] for row in screen.table.listed] == [
            row.name.rpartition("/")[2] for row in screen._partitions if "order-1" in row.name
        ]
        await pilot.press("comma")
        assert screen.table.order == Order("name")
        await pilot.press("escape")
        await pilot.pause()
        assert len(screen.table.listed) == count
        await pilot.press("semicolon")
        last = screen.table.listed[0]
        await pilot.press("g", "enter")
        await pilot.pause()
        assert main_screen(app).topic == last.name

    run(app, story)


def test_very_many_rows_are_arranged_beside_the_screen_and_the_cursor_stays_on_its_row() -> None:
    app = app_of(cluster(("only",), topics=ARRANGED_AT_ONCE + 200))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, PartitionsScreen)
        table = screen.table
        await pilot.press("down", "down")
        marked, as_they_came = table.listed[2].name, list(table.listed)
        table.sort_by("name")
        assert (table.order, list(table.listed)) == (Order("name"), as_they_came)
        await app.workers.wait_for_complete()
        names = [row.name for row in table.listed]
        assert names == sorted(names, key=natural_key) != [row.name for row in as_they_came]
        assert (names[table.cursor], table.cursor) == (marked, names.index(marked))
        await pilot.press("slash", *"-120", "enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        fitting = [name for name in names if "-120" in name]
        assert [row.name for row in table.listed] == fitting
        assert f"{len(fitting)} of {len(names):,} rows" in text_of(app)
        table.sort_by("rate")
        await pilot.press("escape")  # takes the filter away before the rows that fit it are sorted
        await app.workers.wait_for_complete()
        assert [row.name for row in table.listed] == [row.name for row in as_they_came]

    run(app, story)


def test_a_dialog_exports_what_it_lists_and_keeps_its_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_of(cluster(NAMES, unacked=1))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("h")
        await app.workers.wait_for_complete()
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, HeirsScreen)
        listed_rows = len(screen.table.listed)
        await pilot.press("e", "enter")
        await pilot.pause()
        rows = list(csv.DictReader((tmp_path / "heirs.csv").open()))
        assert len(rows) == listed_rows
        assert set(rows[0]) == {"name", "from", "to", "rate", "unacked"}
        await pilot.press("y")
        assert app.clipboard.startswith("name\t")
        await pilot.press("a")
        await app.workers.wait_for_complete()
        await pilot.pause()
        losses = screen.table.as_records()
        assert [row["name"] for row in losses] != [] and {row["verdict"] for row in losses} <= set(get_args(Judgement))
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, TableDialog)

    run(app, story)


def test_very_many_rows_are_written_when_the_prompt_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_of(cluster(("only",), topics=ARRANGED_AT_ONCE + 1))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("e", "ctrl+u", *"rows.xls", "enter")
        await pilot.pause()
        assert app.screen.query_one(Prompt).is_open  # an ending that nobody writes
        await pilot.press("ctrl+u", *"rows.csv", "enter")
        await pilot.pause()
        assert not app.screen.query_one(Prompt).is_open
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert len(list(csv.DictReader((tmp_path / "rows.csv").open()))) == ARRANGED_AT_ONCE + 1
        assert "1,001 rows written" in text_of(app)
        await pilot.press("e", "ctrl+u", *"rows.csv", "enter")
        await pilot.pause()
        assert app.screen.query_one(Prompt).is_open  # it is there already
        await pilot.press("ctrl+u", *"none/rows.csv", "enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert not (tmp_path / "none").exists()
        said = str(app.screen.query_one("#said", PlainStatic).render())  # a long path is wrapped on the screen
        assert said.startswith(str(tmp_path / "none")) and "cannot be written" in said

    run(app, story)


def test_a_table_without_columns_has_no_order() -> None:
    class Plain(App[None]):
        def compose(self):  # type: ignore[no-untyped-def]
            yield RowsTable()

    app = Plain()

    async def story(pilot: Pilot[None]) -> None:
        table = app.query_one(RowsTable)
        await pilot.press("comma", "semicolon")
        assert table.order == Order()
        assert (table.as_records(), table.marked_record()) == ([], {})
        assert isinstance(table, LineTable)

    import asyncio

    async def play() -> None:
        async with app.run_test() as pilot:
            await story(pilot)

    asyncio.run(play())


class Drawing:
    """Stands in for cairosvg, which not everybody has."""

    def __init__(self) -> None:
        self.drawn: list[bytes] = []

    def svg2png(self, *, bytestring: bytes, scale: float) -> bytes:
        self.drawn.append(bytestring)
        return b"\x89PNG" + str(scale).encode()


def test_a_screen_is_written_as_png_where_it_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drawing = Drawing()
    monkeypatch.setitem(sys.modules, "cairosvg", drawing)
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("e", *["backspace"] * 20, *"a.png", "enter")
        await pilot.pause()
        assert main_screen(app).sentence[0] == "done"

    run(app, story)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert drawing.drawn[0].startswith(b"<svg")


def test_a_png_is_refused_where_it_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    app = app_of(cluster(NAMES))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("e", *["backspace"] * 20, *"a.png", "enter")
        await until(app, lambda text: "[pictures]" in " ".join(text.split()))

    run(app, story)
    assert not list(tmp_path.iterdir())
