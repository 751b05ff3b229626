"""Canvas, quadrants and dots: the small parts pictures are made of."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.drawing.pictures import ground_at, texts
from themes.palettes import consumer_tag
from tui.drawing.canvas import BOLD, GLYPHS, LEVELS, Canvas, one_colour, spelled, style_of, two_colours
from tui.drawing.glyphs import ASCII
from tui.drawing.ring_dots import place_dots

SHADES = np.array([[index << 16 | level * 31 for level in range(LEVELS + 1)] for index in (10, 90, 170, 250)])


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, LEVELS)), min_size=4, max_size=4))
def test_cells_of_at_most_two_colours_are_drawn_exactly(quadrants: list[tuple[int, int]]) -> None:
    """With more colours each shown colour is still one ink at some coverage, never two inks mixed."""
    inks = np.array([[ink for ink, _ in quadrants]])
    levels = np.array([[level for _, level in quadrants]])
    cell = two_colours(inks, levels, SHADES)
    glyph = GLYPHS.tolist().index(int(cell.glyphs[0]))
    shown = [int(cell.foreground[0] if glyph >> bit & 1 else cell.background[0]) for bit in range(4)]
    expected = [int(SHADES[ink, level]) for ink, level in quadrants]
    assert set(shown) <= set(SHADES.ravel().tolist())
    if len(set(expected)) == 1:
        assert shown == expected
    if len(set(expected)) == 2 and len({level for _, level in quadrants}) == 1:
        assert shown == expected


def test_one_colour_takes_the_ink_that_covers_most() -> None:
    """Ink 1 covers 10 of 32 parts, ink 0 only 8; together all inks cover 20, which is level 5 of 8."""
    inks, levels = np.array([[0, 1, 1, 2]]), np.array([[8, 5, 5, 2]])
    assert one_colour(inks, levels, SHADES).tolist() == [int(SHADES[1, 5])]


def test_a_canvas_cuts_off_what_lies_outside_and_keeps_its_width() -> None:
    canvas = Canvas(5, 2, 0xFFFFFF, 0)
    canvas.write(0, 3, "abcdef", 0xFF0000, background=0x00FF00, attributes=BOLD)
    canvas.write(7, 0, "nowhere", 0)
    canvas.put(-1, 0, "x", 0)
    assert texts(canvas.strips()) == ["   ab", "     "]
    assert ground_at(canvas.strips(), 0, 4) == (0, 255, 0)
    assert canvas.line(9).cell_length == 5


def test_characters_of_another_width_do_not_shift_a_row() -> None:
    canvas = Canvas(6, 1, 0, 0)
    canvas.write(0, 0, "a語b", 0)
    assert texts(canvas.strips()) == ["a?b   "]


def test_half_a_character_is_no_end_of_a_row() -> None:
    canvas = Canvas(4, 1, 0, 0)
    canvas.write(0, 0, "a\ud800\udfffb", 0)
    assert texts(canvas.strips()) == ["a??b"]


def test_blanks_on_one_ground_are_one_segment() -> None:
    """A row of few runs is few segments, which is what makes a frame cheap."""
    canvas = Canvas(40, 1, 1, 2)
    canvas.foreground[0, ::2] = 9
    assert len(list(canvas.line(0))) == 1
    assert style_of(1, 2, BOLD) is style_of(1, 2, BOLD)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 3), st.booleans()), max_size=40), st.integers(1, 3))
def test_dots_keep_their_slot_and_crowded_slots_show_their_largest_owners(
    dots: list[tuple[int, int, bool]], lanes: int
) -> None:
    slots, owners = np.array([d[0] for d in dots], dtype=np.int64), np.array([d[1] for d in dots], dtype=np.int64)
    placed = place_dots(slots, owners, np.array([d[2] for d in dots], dtype=np.bool_), lanes)
    places = list(zip(placed.slots.tolist(), placed.lanes.tolist(), strict=True))
    assert len(set(places)) == len(places)
    for slot in {d[0] for d in dots}:
        here = [d[1] for d in dots if d[0] == slot]
        shown = [owner for at, owner in zip(placed.slots.tolist(), placed.owners.tolist(), strict=True) if at == slot]
        if len(here) <= lanes:
            assert sorted(shown) == sorted(here)
        else:
            assert sorted(map(here.count, shown), reverse=True) == [
                here.count(owner) for owner in sorted(set(here), key=here.count, reverse=True)[:lanes]
            ]


@settings(max_examples=100)
@given(st.lists(st.integers(0, 60), max_size=40))
def test_spelled_rows_never_show_a_part_of_a_tag(owners: list[int]) -> None:
    """Each run reads as whole tags of its owner with dots between, or as pluses when the tag is too long."""
    text = spelled(owners, consumer_tag, ASCII)
    assert len(text) == len(owners)
    at = 0
    for owner, cells in groupby(owners):
        length = len(list(cells))
        run, at = text[at : at + length], at + length
        tag = consumer_tag(owner)
        pieces = {piece for piece in run.split(".") if piece}
        expected = {"+" * length} if length < len(tag) else {tag * length} if len(tag) == 1 else {tag}
        assert pieces == expected
