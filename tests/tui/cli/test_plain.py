"""Tables and pages of plain text."""

from __future__ import annotations

from rich.cells import cell_len

from tui.cli.plain import plain, table, wrapped


def test_columns_align_by_cells_not_by_characters() -> None:
    lines = table([("日本", "1"), ("abc", "22"), ("é", "3")], ("<", ">"))
    assert {cell_len(line) for line in lines} == {8}


def test_a_column_without_content_takes_no_room() -> None:
    assert table([("a", "", "b"), ("c", "", "d")], ("<", "<", "<")) == ["a  b", "c  d"]


def test_ascii_pages_are_ascii_and_lose_nothing() -> None:
    page = plain("rate 3 · 10 → c-é 🎻", ascii_only=True)
    assert page.isascii()
    assert page == "rate 3 | 10 -> c-\\xe9 \\U0001f3bb"


def test_wrapping_keeps_every_word_and_breaks_no_name() -> None:
    name = "persistent://tenant/namespace/" + "x" * 90
    lines = wrapped(f"a topic {name} is long", width=40)
    assert " ".join(lines) == f"a topic {name} is long"
    assert name in lines
