"""The matrix of producers: every pair has one cell at every size, and all marks are inside the picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.views.producers.model import EAGER, FRESH, KEY, LOST, ROUTER
from themes.palettes import DEPTHS, Depth, palette
from tui.drawing.cost_curve import CostPicture, draw_costs
from tui.drawing.matrix_grid import MatrixPicture, grid_for
from tui.drawing.producer_matrix import HEAD, draw_matrix, reason_ink

Cells = dict[tuple[int, int], int]


def picture(producers: int, partitions: int, cells: Cells | None = None, **how: object) -> MatrixPicture:
    matrix = np.zeros((producers, partitions), dtype=np.uint8)
    for place, value in (cells or {}).items():
        matrix[place] = value
    sizes = np.arange(partitions, dtype=np.int64)
    return MatrixPicture(
        matrix,
        tuple(f"T{row}" for row in range(producers)),
        tuple(range(producers)),
        objects=sizes,
        messages=sizes,
        pending=sizes * 0,
        **how,  # type: ignore[arg-type]
    )


@given(
    producers=st.integers(1, 400),
    partitions=st.integers(1, 3000),
    width=st.integers(10, 200),
    height=st.integers(4, 60),
    halves=st.booleans(),
)
def test_every_pair_has_a_cell_inside_the_panel(
    producers: int, partitions: int, width: int, height: int, halves: bool
) -> None:
    grid = grid_for(producers, partitions, width, height, 5, halves=halves)
    for partition in {0, partitions // 2, partitions - 1}:
        assert grid.left <= grid.column_of(partition, partitions) < width
    for producer in {0, producers // 2, producers - 1}:
        assert HEAD <= grid.line_of(producer, producers) < HEAD + grid.lines
    assert HEAD + grid.lines + (2 * (grid.bars + 1) if grid.bars else 0) + 1 <= height
    assert halves or grid.per_line != 2


@given(
    shape=st.tuples(st.integers(0, 40), st.integers(1, 300)),
    size=st.tuples(st.integers(0, 90), st.integers(0, 40)),
    depth=st.sampled_from(DEPTHS),
    ascii_only=st.booleans(),
    by_producer=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_matrix_is_drawn_at_any_size(
    shape: tuple[int, int], size: tuple[int, int], depth: Depth, ascii_only: bool, by_producer: bool, seed: int
) -> None:
    """Exactly as large as it was asked for, and in ASCII where that is asked for."""
    producers, partitions = shape
    how = {"selected": producers - 1, "column": partitions // 2, "failing": (0,), "new_from": partitions - 1}
    result = picture(producers, partitions, None, by_producer=by_producer, **how)
    drawn = np.random.default_rng(seed).choice([0, 0, 1, 2, 3, 4, 5, 3 | LOST, 4 | FRESH], shape)
    canvas = draw_matrix(
        replace(result, cells=drawn.astype(np.uint8)), *size, palette("dark", depth), ascii_only=ascii_only
    )
    lines = [strip.text for strip in canvas.strips()]
    assert len(lines) == size[1] and all(len(line) == size[0] for line in lines)
    if ascii_only:
        assert all(line.isascii() for line in lines)


def test_without_colours_a_letter_says_why_and_a_capital_that_it_is_new() -> None:
    cells = {(0, 0): EAGER, (0, 1): ROUTER | FRESH, (1, 2): KEY, (1, 3): ROUTER | LOST}
    canvas = draw_matrix(picture(2, 4, cells), 8, 8, palette("dark", "mono"))
    grid = grid_for(2, 4, 8, 8, 4, halves=False)
    rows = [strip.text for strip in canvas.strips()]
    assert "eR.." in rows[grid.line_of(0, 2)] and "..kx" in rows[grid.line_of(1, 2)]


def test_a_block_has_the_colour_of_its_reason_and_red_where_the_connection_is_lost() -> None:
    colours = palette("dark", "truecolor")
    canvas = draw_matrix(picture(1, 3, {(0, 0): KEY, (0, 1): KEY | LOST}), 40, 8, colours)
    grid = grid_for(1, 3, 40, 8, 4)
    packed = [int(canvas.background[HEAD, grid.column_of(at, 3) + 1]) for at in range(3)]
    red, green, blue = reason_ink(KEY, colours)
    assert packed[0] == red << 16 | green << 8 | blue
    assert packed[1] == colours.bad[0] << 16 | colours.bad[1] << 8 | colours.bad[2]
    assert packed[2] not in packed[:2]


def test_one_open_pair_among_thousands_is_seen() -> None:
    colours = palette("dark", "truecolor")
    empty = draw_matrix(picture(100, 1000), 60, 30, colours)
    one = draw_matrix(picture(100, 1000, {(57, 333): ROUTER}), 60, 30, colours)
    differ = np.argwhere((empty.background != one.background) | (empty.foreground != one.foreground))
    inside = [(row, column) for row, column in differ.tolist() if row >= HEAD and row < 29]
    grid = grid_for(100, 1000, 60, 30, 5)
    assert inside and {row for row, _ in inside} == {grid.line_of(57, 100)}
    assert {column for _, column in inside} == {grid.column_of(333, 1000)}


def test_a_failed_a_new_and_the_marked_partition_have_their_signs() -> None:
    result = picture(2, 10, {}, failing=(3,), new_from=8, column=5)
    rows = [strip.text for strip in draw_matrix(result, 40, 10, palette("dark"), ascii_only=True).strips()]
    grid = grid_for(2, 10, 40, 10, 4, halves=False)
    assert [rows[1][grid.column_of(at, 10)] for at in (3, 5, 8, 9)] == ["x", "v", "+", "+"]
    assert rows[0][grid.column_of(5, 10)] == "5"


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("size", [(0, 0), (7, 3), (20, 4), (60, 8), (120, 20)])
def test_costs_are_drawn_at_any_size(size: tuple[int, int], depth: Depth, ascii_only: bool) -> None:
    points = np.arange(1.0, 25.0)
    result = CostPicture(points, (points * 100, points**0 * 1100, points**0 * 300), "elp", 12.0, 1100.0)
    strips = draw_costs(result, *size, palette("dark", depth), ascii_only=ascii_only).strips()
    assert len(strips) == size[1] and all(len(strip.text) == size[0] for strip in strips)
    text = "\n".join(strip.text for strip in strips)
    assert not ascii_only or text.isascii()
    if size[0] >= 60:
        assert "12 partitions" in text
        assert ("X" if ascii_only else "◆") in text


def test_nothing_costs_nothing() -> None:
    """No producers: lines at the bottom, and no logarithm of nought."""
    points = np.arange(1.0, 13.0)
    result = CostPicture(points, (points * 0, points * 0, points * 0), "elp", 6.0, 0.0)
    assert result.top == 1.0
    assert draw_costs(result, 40, 6, palette("dark")).height == 6
