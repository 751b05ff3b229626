"""Which columns fit which width, and what stands in them."""

from __future__ import annotations

import pytest
from msgspec import structs

from engine.views.failover.model import ConsumerRow
from tests.tui.screens_under_test import app_of, cluster
from themes.palettes import palette
from tui.failover.consumers import consumers_table
from tui.failover.dialogs import partitions_of
from tui.kit.columns import AS_THEY_COME, Columns, Lines
from tui.kit.event_list import event_line


def rows(**how: object) -> tuple[ConsumerRow, ...]:
    return app_of(cluster(**how)).store.shown.failover_view.consumers  # type: ignore[arg-type]


def lines_of(rows: tuple[ConsumerRow, ...]) -> Lines:
    return consumers_table(palette(), ascii_only=False).lines(rows, AS_THEY_COME)


def columns_at(rows: tuple[ConsumerRow, ...], width: int) -> Columns:
    lines = lines_of(rows)
    assert lines.columns is not None
    return lines.columns(width)


def cell_of(rows: tuple[ConsumerRow, ...], at: int, key: str, width: int = 80) -> str:
    """What stands in a column of a row."""
    columns = columns_at(rows, width)
    place = [column.key for column in columns].index(key)
    begin = sum(column.width for column in columns[:place])
    return lines_of(rows).line(at, width).plain[begin : begin + columns[place].width]


@pytest.mark.parametrize("width", [30, 38, 48, 58, 80, 120, 200])
def test_columns_fit_and_the_heading_has_their_width(width: int) -> None:
    columns = columns_at(rows(), width)
    assert sum(column.width for column in columns) <= width
    assert [column.key for column in columns][:2] == ["tag", "name"]
    assert "active" in [column.key for column in columns]
    assert all(column.heading(AS_THEY_COME).cell_len == column.width for column in columns)
    heading = lines_of(rows()).heading
    assert heading is not None
    assert heading(width).cell_len == sum(column.width for column in columns)


def test_more_room_shows_more() -> None:
    shown = [len(columns_at(rows(), width)) for width in (30, 38, 48, 58, 80, 120)]
    assert shown == sorted(shown)
    assert shown[-1] == 9


def test_levels_that_differ_are_worth_a_column_sooner() -> None:
    keys = [column.key for column in columns_at(rows(priorities=(0, 1, 1)), 50)]
    assert "prio" in keys
    assert "prio" not in [column.key for column in columns_at(rows(), 50)]


@pytest.mark.parametrize("name", ["", "x" * 500, "日本語" * 30, "a\nb"])
@pytest.mark.parametrize("width", [30, 38, 80, 200])
@pytest.mark.parametrize("level", [-7, 2**31 - 1])
def test_every_line_is_as_wide_as_its_columns(name: str, width: int, level: int) -> None:
    for row in rows(names=(name, "b"), priorities=(0, level)):
        gained = structs.replace(row, gained=100_000, lost=20)
        columns = columns_at((gained,), width)
        assert lines_of((gained,)).line(0, width).cell_len == sum(column.width for column in columns)


def test_a_million_partitions_push_no_rate_out_of_the_table() -> None:
    """A cell wider than its column would push the last one out of sight: 19.4M would be read as 19.4."""
    for width in (44, 58, 80):
        for row in rows():
            busy = structs.replace(row, active_partitions=1_000_000, gained=999_999, lost=0, msgs_per_sec=19.4e6)
            both = busy, structs.replace(busy, active_partitions=0)
            columns = columns_at(both, width)
            assert sum(column.width for column in columns) <= width
            line = lines_of(both).line(0, width).plain
            assert len(line) <= width and " 1,000,000 " in line
            if "msgs" in [column.key for column in columns]:
                assert line.endswith(" 19.4M ")


def test_who_has_how_many_changes_no_width() -> None:
    """A table with other widths is filled anew, so a step keeps them."""
    one, two = rows(names=("a", "b"))
    alone = (structs.replace(one, active_partitions=1_000_000), structs.replace(two, active_partitions=0))
    even = (structs.replace(one, active_partitions=500_000), structs.replace(two, active_partitions=500_000))
    assert columns_at(alone, 80) == columns_at(even, 80)


@pytest.mark.parametrize(
    ("gained", "lost", "expected"),
    [(12, 0, "+12"), (0, 999_999, "-1.0M"), (10, 20, "+10 -20"), (123, 120, "+123 -…"), (100_000, 20, "+100k …")],
)
def test_a_move_that_is_too_long_is_shortened_and_says_so(gained: int, lost: int, expected: str) -> None:
    row = structs.replace(rows()[0], gained=gained, lost=lost)
    assert cell_of((row,), 0, "change") == f"{expected:>7} "


def test_the_longest_bar_fills_its_column() -> None:
    shown = rows()
    width = {column.key: column.width for column in columns_at(shown, 80)}["bar"]
    assert cell_of(shown, 0, "bar") == "█" * (width - 1) + " "
    assert cell_of(shown, 1, "bar").strip() == ""


@pytest.mark.parametrize("width", [40, 60, 96, 150])
def test_partition_lines_stand_below_their_heading(width: int) -> None:
    partitions = app_of().store.shown.partitions_of(0)
    lines = partitions_of(palette()).lines(partitions, AS_THEY_COME)
    line = lines.line(0, width)
    assert lines.heading is not None
    assert line.cell_len == lines.heading(width).cell_len <= width
    assert lines.heading(width).plain.index("out/s") + 5 == line.plain.index("12 ") + 2


@pytest.mark.parametrize("width", [40, 80, 120])
def test_an_event_line_keeps_its_effect(width: int) -> None:
    app = app_of(cluster(unacked=3))
    assert app.store.submit_line("toggle activeConsumerFailoverConsistentHashing") is None
    event = app.store.shown.failover_view.events[-1]
    text = event_line(event, width, palette()).plain
    assert f"{event.moved}" in text
    assert "moved" in text
