"""CSV that spreadsheets open: nothing in it runs, numbers stay numbers, and what was changed is said."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.disk import Exported, neutral
from tui.kit.exporting import written_sentence
from tui.sources.fleet_export import export
from tui.sources.fleet_listing import Columns, Listing

HARMFUL = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "+1": "'+1",
    "-2+3": "'-2+3",
    "@x": "'@x",
    " =1": "' =1",
    "\t=1": "'\\t=1",
    "\rx": "'\\rx",
    "\nx": "'\\nx",
    "\uff1d1": "'\uff1d1",
    "a\x1b[2Jb": "a\\x1b[2Jb",
    "a\u202eb": "a\\u202eb",
    "a\x9b2Jb": "a\\x9b2Jb",
}
HARMLESS = ("billing", "a-b", "a=b", "x+1", "it's", "1", "", "naïve", 'say "hi", twice')


def listing(**columns: Any) -> Listing:
    table = pa.table(columns)
    return Listing(Columns(table, tuple(columns)), rows=list(range(len(table))))


def written(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def test_a_csv_export_neutralises_formulas_and_escape_characters(tmp_path: Path) -> None:
    names = [*HARMFUL, *HARMLESS]
    result = export(listing(name=names, again=pa.array(names).dictionary_encode()), tmp_path / "list.csv")
    assert result == Exported(len(names), 2 * len(HARMFUL))
    expected = [*HARMFUL.values(), *HARMLESS]
    assert written(tmp_path / "list.csv") == [[each, each] for each in expected]


def test_numbers_of_a_csv_export_stay_numbers(tmp_path: Path) -> None:
    result = listing(rate=[-1.5, 2.0, None], count=[-3, 4, 5], name=["a", None, "c"])
    assert export(result, tmp_path / "list.csv") == Exported(3)
    assert written(tmp_path / "list.csv") == [["-1.5", "-3", "a"], ["2", "4", ""], ["", "5", "c"]]


def test_lists_in_a_csv_export_hold_no_formula(tmp_path: Path) -> None:
    result = listing(numbers=[[{"name": "=1", "value": 1.0}]])
    assert export(result, tmp_path / "list.csv") == Exported(1)
    assert json.loads(written(tmp_path / "list.csv")[0][0]) == [{"name": "=1", "value": 1.0}]


def test_json_keeps_names_as_they_are(tmp_path: Path) -> None:
    names = list(HARMFUL)
    assert export(listing(name=names), tmp_path / "list.json") == Exported(len(names))
    text = (tmp_path / "list.json").read_text()
    assert [row["name"] for row in json.loads(text)] == names
    assert "\x1b" not in text


def test_the_message_says_how_many_cells_were_changed() -> None:
    assert "cell" not in written_sentence(3, 0, Path("/x.csv"))
    assert "1 cell " in written_sentence(3, 1, Path("/x.csv"))
    assert "2,000 cells " in written_sentence(3, 2000, Path("/x.csv"))


@pytest.mark.parametrize(("text", "cell"), HARMFUL.items())
def test_one_cell_is_neutralised(text: str, cell: str) -> None:
    assert neutral(text) == cell
