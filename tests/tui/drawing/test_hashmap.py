"""The hash map: the whole hash space, row by row, every arc visible."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace

from tests.tui.drawing.pictures import SIZES, colours_in, random_arcs, random_picture, texts
from themes.palettes import DEPTHS, Depth, palette
from tui.drawing.arcs import HASH_SPACE, arcs_of, hash_label
from tui.drawing.canvas import REVERSE, UNDERLINE
from tui.drawing.colour import mix, pack
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.ring_picture import Dots, Flash, RingMode, RingPicture

LABEL_WIDTH = len(hash_label(0, HASH_SPACE)) + 1

DARK = palette("dark")


def test_every_half_cell_has_the_colour_of_the_owner_bisect_finds() -> None:
    """With few points the dominant owner is the owner of all hashes of a half cell but at the ends of arcs."""
    arcs = random_arcs(7, 3)
    width, height = 40, 10
    canvas = draw_hash_map(RingPicture(arcs), width, height, DARK, labels=False)
    points, halves = arcs.points.tolist(), width * height * 2
    checked = 0
    for half in range(halves):
        first, last = half * HASH_SPACE // halves, (half + 1) * HASH_SPACE // halves - 1
        owners = {int(arcs.owners[bisect_left(points, value) % len(points)]) for value in (first, last)}
        row, column = half // 2 // width, half // 2 % width
        if len(owners) > 1 or chr(canvas.chars[row, column]).isalpha():
            continue
        right = half % 2 == 1 and canvas.chars[row, column] == ord("▐")
        shown = canvas.foreground[row, column] if right else canvas.background[row, column]
        assert int(shown) == pack(DARK.consumer_colour(owners.pop()))
        checked += 1
    assert checked > halves * 0.8


def test_rows_begin_with_their_first_hash() -> None:
    lines = texts(draw_hash_map(random_picture(4, 3, 0), 60, 8, DARK).strips())
    assert [line[:10] for line in lines] == [f"0x{row * 2**28:08x}" for row in range(8)]
    narrow = texts(draw_hash_map(random_picture(4, 3, 0), 20, 8, DARK).strips())
    assert not any("0x" in line for line in narrow)


@pytest.mark.parametrize(("size", "depth", "mode"), list(product(SIZES, DEPTHS, RingMode)))
@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_strip_has_exactly_the_width_asked_for(
    size: tuple[int, int], depth: Depth, mode: RingMode, ascii_only: bool
) -> None:
    for consumers in (0, 1, 40):
        picture = random_picture(consumers, 10, 30, mode, 0)
        strips = draw_hash_map(picture, *size, palette("dark", depth), ascii_only=ascii_only).strips()
        assert [strip.cell_length for strip in strips] == [size[0]] * size[1]
        assert [sum(segment.cell_length for segment in strip) for strip in strips] == [size[0]] * size[1]
        assert not ascii_only or all(line.isascii() for line in texts(strips))


def test_topics_are_marked_at_their_hash() -> None:
    """A hash's cell is its place in the space, in reading order; the highlighted one is on the text colour."""
    hashes = np.array([0, HASH_SPACE // 2, HASH_SPACE - 1], dtype=np.uint32)
    picture = RingPicture(random_arcs(4, 2), Dots(hashes, np.array([0, 1, 2], dtype=np.int32), 1))
    canvas = draw_hash_map(picture, 50, 4, DARK, labels=False)
    marks = list(zip(*(axis.tolist() for axis in np.nonzero(canvas.chars == ord("◆"))), strict=True))
    assert marks == [(0, 0), (2, 0), (3, 49)]
    assert int(canvas.background[2, 0]) == pack(DARK.text)


def test_with_modulo_topics_carry_the_colours() -> None:
    arcs = random_arcs(6, 4)
    muted = RingPicture(arcs, mode=RingMode.MUTED)
    assert not set(DARK.consumers) & colours_in(draw_hash_map(muted, 60, 10, DARK).strips())
    dots = Dots(np.array([5, 2**30], dtype=np.uint32), np.array([2, 4], dtype=np.int32))
    shown = colours_in(draw_hash_map(replace(muted, dots=dots), 60, 10, DARK).strips())
    assert set(DARK.consumers) & shown == {DARK.consumer_colour(2), DARK.consumer_colour(4)}


def test_focus_lights_one_consumer_only() -> None:
    picture = RingPicture(random_arcs(6, 4), mode=RingMode.FOCUS, focus=2)
    shown = colours_in(draw_hash_map(picture, 60, 10, DARK).strips())
    assert set(DARK.consumers) & shown == {DARK.consumer_colour(2)}


def test_without_colours_letters_follow_the_shares_and_modes_differ() -> None:
    arcs = arcs_of([2**30, 2**31 - 1], [0, 1], 2)
    mono = palette("dark", "mono")
    lit = Counter("".join(texts(draw_hash_map(RingPicture(arcs), 40, 6, mono, labels=False).strips())))
    muted = RingPicture(arcs, mode=RingMode.MUTED)
    focus = RingPicture(arcs, mode=RingMode.FOCUS, focus=1)
    assert lit == Counter({"A": 121, "B": 119}) or lit == Counter({"A": 120, "B": 120})
    assert set("".join(texts(draw_hash_map(muted, 40, 6, mono, labels=False).strips()))) == {"a", "b"}
    assert "A" not in "".join(texts(draw_hash_map(focus, 40, 6, mono, labels=False).strips()))


def test_without_colours_a_tag_of_two_letters_is_underlined_and_two_tags_of_one_are_not() -> None:
    """AB is one consumer, A beside B are two."""
    neighbours = np.array([HASH_SPACE // 2 - 1, HASH_SPACE - 1])
    two = RingPicture(arcs_of(neighbours, np.array([0, 1]), 2, HASH_SPACE))
    one = RingPicture(arcs_of(neighbours[1:], np.array([27]), 28, HASH_SPACE))
    mono = palette("dark", "mono")
    drawn = [draw_hash_map(picture, 2, 1, mono, labels=False) for picture in (two, one)]
    assert [texts(canvas.strips()) for canvas in drawn] == [["AB"], ["AB"]]
    assert [(canvas.attributes & UNDERLINE).tolist() for canvas in drawn] == [[[0, 0]], [[UNDERLINE, UNDERLINE]]]
    styles = [segment.style for strip in drawn[1].strips() for segment in strip]
    assert all(style is not None and style.underline for style in styles)


def test_without_colours_long_tags_are_spelled_out() -> None:
    picture = RingPicture(arcs_of([5], [27], 28))
    lines = texts(draw_hash_map(picture, 9, 1, palette("dark", "mono"), ascii_only=True).strips())
    assert lines == ["AB.AB.AB."]
    assert texts(draw_hash_map(picture, 1, 1, palette("dark", "mono"), ascii_only=True).strips()) == ["+"]


def test_wide_arcs_carry_their_tag() -> None:
    picture = RingPicture(arcs_of([2**30, 2**31 - 1], [0, 31], 32))
    lines = texts(draw_hash_map(picture, 40, 2, DARK, labels=False).strips())
    assert lines[0].strip() == "A"
    assert lines[1].strip() == "AF"


def test_a_flash_blends_the_old_owner_into_the_new() -> None:
    before, after = RingPicture(arcs_of([9], [0], 2)), RingPicture(arcs_of([9], [1], 2))
    for intensity in (1.0, 0.5, 0.0):
        canvas = draw_hash_map(after, 40, 2, DARK, flash=Flash(intensity, before=before))
        expected = mix(DARK.consumer_colour(1), DARK.consumer_colour(0), intensity)
        assert int(canvas.background[0, LABEL_WIDTH + 1]) == pack(expected)
    mono = draw_hash_map(after, 40, 2, palette("dark", "mono"), flash=Flash(1.0, before=before))
    assert bool((mono.attributes[:, LABEL_WIDTH:] == REVERSE).all())


def test_of_several_topics_in_a_cell_the_flashing_one_and_then_the_one_in_focus_shows() -> None:
    dots = Dots(np.array([3, 4, 5], dtype=np.uint32), np.array([0, 1, 2], dtype=np.int32))
    picture = RingPicture(random_arcs(4, 2), dots, RingMode.FOCUS, 1)
    canvas = draw_hash_map(picture, 40, 4, DARK, labels=False)
    assert int(canvas.foreground[0, 0]) == pack(DARK.consumer_colour(1))
    muted = replace(picture, mode=RingMode.MUTED, focus=None)
    flash = Flash(1.0, dots=np.array([True, False, False]))
    flashing = draw_hash_map(muted, 40, 4, DARK, labels=False, flash=flash)
    assert int(flashing.background[0, 0]) == pack(DARK.text)
    assert int(flashing.background[0, 30]) != pack(DARK.text)


def test_a_hundred_thousand_topics_are_drawn_once_per_cell() -> None:
    """A picture's cost is bounded by its cells; every cell with topics has its marker."""
    hashes = np.random.default_rng(3).integers(0, HASH_SPACE, 100_000).astype(np.uint32)
    picture = RingPicture(random_arcs(4, 2), Dots(hashes, np.zeros(100_000, dtype=np.int32)))
    canvas = draw_hash_map(picture, 60, 20, DARK, labels=False)
    assert bool((canvas.chars == ord("◆")).all())
