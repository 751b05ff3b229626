"""Bars, timeline and split: pictures of one to four lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.drawing.pictures import texts
from themes.palettes import DEPTHS, Depth, palette
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import UNICODE
from tui.drawing.split_bar import SplitPicture, column_of, density, draw_split
from tui.drawing.timeline import StepMark, TimelinePicture, draw_timeline, window

DARK = palette("dark")
EIGHTHS = " ▏▎▍▌▋▊▉█"


@settings(max_examples=100)
@given(st.floats(-0.5, 1.5), st.integers(0, 60))
def test_a_bar_is_as_long_as_its_share_to_an_eighth_of_a_cell(share: float, width: int) -> None:
    text = bar_text(share, width, UNICODE)
    eighths = sum(EIGHTHS.index(char) for char in text)
    exact = min(1.0, max(0.0, share)) * width * 8
    assert len(text) == width
    assert abs(eighths - exact) <= (1.0 if 0 < exact < 1 else 0.5) + 1e-9
    assert (eighths > 0) == (share > 0 and width > 0)


STEPS = (StepMark("+", "good"), StepMark("x", "bad"), StepMark("c", "accent"))


@settings(max_examples=80)
@given(st.integers(0, 120), st.integers(0, 60), st.data())
def test_the_timeline_has_its_width_and_always_shows_the_cursor(count: int, width: int, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, count))
    picture = TimelinePicture(tuple(STEPS[k % 3] for k in range(count)), cursor, frozenset({1, 5}))
    for depth in ("truecolor", "mono"):
        strip = draw_timeline(picture, width, palette("dark", depth), ascii_only=True)
        assert strip.cell_length == width == len(strip.text)
        assert strip.text.isascii()
        assert sum(bool(segment.style and segment.style.reverse) for segment in strip) == (1 if width else 0)


def test_the_timeline_shows_marks_cursor_and_forks() -> None:
    picture = TimelinePicture(STEPS, 2, frozenset({1}))
    strip = draw_timeline(picture, 10, DARK)
    assert strip.text == "──+┬x─c   "
    reversed_text = [segment.text for segment in strip if segment.style and segment.style.reverse]
    assert reversed_text == ["x"]


def test_a_long_timeline_scrolls_and_says_that_there_is_more() -> None:
    steps = tuple(STEPS[k % 3] for k in range(100))
    start, middle, end = (draw_timeline(TimelinePicture(steps, at), 21, DARK).text for at in (0, 50, 100))
    assert (start[0], start[-1]) == ("─", "›")
    assert (middle[0], middle[-1]) == ("‹", "›")
    assert (end[0], end[-1]) == ("‹", steps[-1].char)


@settings(max_examples=100)
@given(st.integers(1, 200), st.integers(0, 80), st.data())
def test_the_window_holds_the_cursor_and_leaves_no_room_unused(positions: int, width: int, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, positions - 1))
    first, pitch = window(positions, cursor, width)
    if width > 0:
        assert first <= cursor < first + (width + pitch - 1) // pitch
        assert first == 0 or first + width == positions or (first + width < positions and pitch == 1)


def test_the_split_shows_density_cuts_and_hashes() -> None:
    hashes = np.array([0x10] * 8 + [0x60] * 2 + [0xF0], dtype=np.uint32)
    picture = SplitPicture(0x00, 0x100, (0x80,), hashes, labels=("10 topics", "1 topic"))
    lines = texts(draw_split(picture, 64, DARK))
    assert lines[0][4] == "█"
    assert lines[0][24] == "▂"
    assert lines[0][60] == "▁"
    assert (lines[0][32], lines[1][32]) == ("│", "│")
    assert lines[2].startswith("0x00000000")
    assert lines[2].endswith("0x00000100")
    assert "0x00000080" in lines[2]
    assert lines[3].index("10 topics") < 32 < lines[3].index("1 topic", 33)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**32 - 1), max_size=60), st.integers(1, 70), st.integers(1, 8))
def test_density_is_zero_only_where_nothing_lies_and_full_at_the_fullest(
    hashes: list[int], width: int, top: int
) -> None:
    picture = SplitPicture(0, 2**32 - 1, hashes=np.array(hashes, dtype=np.uint32))
    heights = density(picture, width, top).tolist()
    assert len(heights) == width
    assert max(heights) == (top if hashes else 0)
    assert {column for column, height in enumerate(heights) if height} == {
        column_of(picture, value, width) for value in hashes
    }


@settings(max_examples=100)
@given(
    st.integers(0, 300),
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 9)), max_size=40),
    st.integers(1, 70),
    st.booleans(),
)
def test_density_is_the_same_for_hashes_in_any_order(
    lower: int, extent: int, topics: list[tuple[int, int]], width: int, weighted: bool
) -> None:
    """In order they are cut at the ends of columns, else each is put into its column; one out of order sees to that."""

    def drawn(listed: list[tuple[int, int]]) -> list[int]:
        hashes, weights = np.array(listed, dtype=np.int64).reshape(-1, 2).T
        picture = SplitPicture(
            lower,
            lower + extent,
            hashes=hashes.astype(np.uint32),
            weights=weights.astype(np.float64) if weighted else None,
        )
        return density(picture, width, 8).tolist()

    outside = lower + extent + 1
    ordered = sorted([*topics, (outside, 0), (outside + 1, 0)])
    assert drawn(ordered) == drawn(ordered[::-1])


def test_density_counts_weights_and_leaves_out_what_lies_outside() -> None:
    hashes = np.array([5, 15, 200], dtype=np.uint32)
    picture = SplitPicture(0, 20, hashes=hashes, weights=np.array([1.0, 4.0, 99.0]))
    assert density(picture, 2, 8).tolist() == [2, 8]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("width", [0, 1, 5, 20, 100])
def test_splits_have_their_width_and_four_lines_in_every_depth(depth: Depth, width: int) -> None:
    hashes = np.arange(0, 2**32 - 1, 2**26, dtype=np.uint32)
    picture = SplitPicture(0, 2**32 - 1, (2**20, 2**31, 2**31 + 9), hashes, labels=("a · b",) * 4)
    strips = draw_split(picture, width, palette("light", depth), ascii_only=True)
    assert [strip.cell_length for strip in strips] == [width] * 4
    assert all(line.isascii() and len(line) == width for line in texts(strips))
