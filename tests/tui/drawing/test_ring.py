"""The ring: every cell shows the owner of its hashes, in every size, depth and mode."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise, product
from math import atan2, hypot, pi

import numpy as np
import pytest
from msgspec.structs import replace

from tests.tui.drawing.pictures import SIZES, colours_in, random_arcs, random_picture, texts
from themes.palettes import DEPTHS, THEMES, Depth, palette
from tui.drawing.arcs import HASH_SPACE, arcs_of, hash_counts
from tui.drawing.canvas import REVERSE
from tui.drawing.colour import mix, pack
from tui.drawing.ring import band_arcs, draw_ring, is_dust
from tui.drawing.ring_geometry import ring_geometry
from tui.drawing.ring_picture import Dots, Flash, RingMode, RingPicture

DARK = palette("dark")
WIDTH, HEIGHT = 64, 36


@pytest.mark.parametrize("seed", range(5))
def test_the_colour_at_an_angle_is_the_colour_of_the_owner_bisect_finds(seed: int) -> None:
    """Cells wholly on the ring whose four corners have one owner show that owner's colour as their ground."""
    arcs = random_arcs(5, 2, seed)
    picture = RingPicture(arcs, band=False)
    canvas = draw_ring(picture, WIDTH, HEIGHT, DARK)
    geometry = ring_geometry(WIDTH, HEIGHT, False)
    assert geometry is not None
    points, checked = arcs.points.tolist(), 0
    for row, column in product(range(HEIGHT), range(WIDTH)):
        corners = [
            (x - WIDTH / 2, 2 * y - HEIGHT) for x, y in product((column - 1, column + 2), (row - 0.5, row + 1.5))
        ]
        if not all(geometry.outer[0] < hypot(*corner) < geometry.outer[1] for corner in corners):
            continue
        hashes = [int((atan2(x, -y) / (2 * pi)) % 1.0 * HASH_SPACE) for x, y in corners]
        owners = {int(arcs.owners[bisect_left(points, value) % len(points)]) for value in hashes}
        between = max(hashes) - min(hashes) < HASH_SPACE // 2 and not any(
            min(hashes) <= point <= max(hashes) for point in points
        )
        if len(owners) == 1 and between:
            checked += 1
            assert int(canvas.background[row, column]) == pack(DARK.consumer_colour(owners.pop())), (row, column)
    assert checked > 60


def test_the_arc_across_zero_has_the_colour_of_the_first_point() -> None:
    """Left and right of the top belong to the consumer whose point comes first after zero."""
    picture = RingPicture(arcs_of([HASH_SPACE // 4, HASH_SPACE * 3 // 4], [0, 1], 2))
    canvas = draw_ring(picture, WIDTH, HEIGHT, DARK)
    sides = {int(canvas.background[3, WIDTH // 2 + shift]) for shift in (-4, -3, 3, 5)}
    assert sides == {pack(DARK.consumer_colour(0))}
    assert int(canvas.background[HEIGHT - 4, WIDTH // 2 + 5]) == pack(DARK.consumer_colour(1))


@pytest.mark.parametrize("size", SIZES)
def test_every_strip_has_exactly_the_width_asked_for(size: tuple[int, int]) -> None:
    width, height = size
    for mode in (RingMode.LIT, RingMode.FOCUS):
        picture = random_picture(6, 20, 50, mode, 2)
        for depth, theme, ascii_only in product(DEPTHS, THEMES, (False, True)):
            case = (mode, depth, theme, ascii_only)
            strips = draw_ring(picture, width, height, palette(theme, depth), ascii_only=ascii_only).strips()
            assert [strip.cell_length for strip in strips] == [width] * height, case
            assert [sum(segment.cell_length for segment in strip) for strip in strips] == [width] * height, case


@pytest.mark.parametrize(
    ("consumers", "replicas", "topics"), [(0, 0, 0), (0, 0, 9), (1, 1, 1), (1, 100, 50), (3, 0, 5)]
)
def test_rings_without_consumers_and_with_one_draw_in_every_size(consumers: int, replicas: int, topics: int) -> None:
    for mode in RingMode:
        picture = random_picture(consumers, replicas, topics, mode, 0)
        for size, depth in product(SIZES, DEPTHS):
            strips = draw_ring(picture, *size, palette("dark", depth)).strips()
            assert len(strips) == size[1], (mode, size, depth)


def test_a_thousand_consumers_with_a_hundred_points_each_draw() -> None:
    """Every colour of the palette is in sight, and the words stand in the middle."""
    strips = draw_ring(random_picture(1000, 100, 5000), 110, 56, DARK).strips()
    assert {DARK.consumer_colour(index) for index in range(24)} <= colours_in(strips)
    assert any("middle" in line for line in texts(strips))


def test_an_empty_ring_shows_the_bare_track() -> None:
    strips = draw_ring(random_picture(0, 0, 0), WIDTH, HEIGHT, DARK).strips()
    assert DARK.ring_track in colours_in(strips)
    assert not set(DARK.consumers) & colours_in(strips)


@pytest.mark.parametrize("mode", RingMode)
@pytest.mark.parametrize("depth", DEPTHS)
def test_ascii_strips_are_pure_ascii(mode: RingMode, depth: Depth) -> None:
    """Also with words that are not: they are rewritten."""
    for consumers, replicas in ((8, 4), (10, 100), (60, 30)):
        picture = replace(random_picture(consumers, replicas, 200, mode, 1), centre=("spread ±12% · Ω", "…"))
        lines = texts(draw_ring(picture, WIDTH, HEIGHT, palette("dark", depth), ascii_only=True).strips())
        assert all(line.isascii() for line in lines)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_without_colours_each_consumer_is_its_letter_and_no_colour_is_sent(ascii_only: bool) -> None:
    picture = random_picture(8, 4, 0)
    strips = draw_ring(picture, WIDTH, HEIGHT, palette("dark", "mono"), ascii_only=ascii_only).strips()
    letters = Counter(char for line in texts(strips) for char in line)
    assert all(letters[char] >= 4 for char in "ABCDEFGH")
    assert colours_in(strips) == set()


def test_without_colours_letters_follow_the_shares() -> None:
    """The number of letters on the ring is near the share of each consumer."""
    picture = RingPicture(random_arcs(4, 2), band=False)
    drawn = draw_ring(picture, 110, 56, palette("dark", "mono")).strips()
    letters = Counter(char for line in texts(drawn) for char in line if char in "ABCD")
    shares = hash_counts(picture.arcs) / HASH_SPACE
    for index, share in enumerate(shares.tolist()):
        assert letters["ABCD"[index]] / letters.total() == pytest.approx(share, abs=0.02)


def test_without_colours_modulo_writes_small_letters_and_focus_only_its_own() -> None:
    mono = palette("dark", "mono")
    ring = replace(random_picture(3, 2, 0), centre=())
    muted = "".join(texts(draw_ring(replace(ring, mode=RingMode.MUTED), WIDTH, HEIGHT, mono).strips()))
    focused = "".join(texts(draw_ring(replace(ring, mode=RingMode.FOCUS, focus=1), WIDTH, HEIGHT, mono).strips()))
    assert {char for char in muted if char in "abcABC"} == set("abc")
    assert {char for char in focused if char in "abcABC"} <= set("bB")
    assert "B" in focused
    assert "·" in focused


def test_muted_arcs_leave_the_colours_to_the_topics() -> None:
    """With modulo no arc has its owner's colour; the dots have those of their active consumers."""
    picture = RingPicture(random_arcs(6, 2), mode=RingMode.MUTED)
    assert not set(DARK.consumers) & colours_in(draw_ring(picture, WIDTH, HEIGHT, DARK).strips())
    dots = Dots(np.array([0, 2**29, 2**30], dtype=np.uint32), np.array([0, 1, 5], dtype=np.int32))
    shown = colours_in(draw_ring(replace(picture, dots=dots), WIDTH, HEIGHT, DARK).strips())
    assert set(DARK.consumers) & shown == {DARK.consumer_colour(owner) for owner in (0, 1, 5)}


@pytest.mark.parametrize("replicas", [3, 100])
def test_focus_lights_one_consumer_only(replicas: int) -> None:
    picture = replace(random_picture(8, replicas, 40, RingMode.FOCUS, 3), dots=Dots())
    shown = colours_in(draw_ring(picture, WIDTH, HEIGHT, DARK).strips())
    assert set(DARK.consumers) & shown == {DARK.consumer_colour(3)}


def test_focus_shows_arcs_that_dominate_nowhere() -> None:
    """One narrow arc among a thousand consumers' still leaves its mark."""
    arcs = random_arcs(1000, 100)
    picture = RingPicture(arcs, mode=RingMode.FOCUS, focus=17, band=False)
    canvas = draw_ring(picture, WIDTH, HEIGHT, DARK)
    plain = draw_ring(replace(picture, focus=None, mode=RingMode.MUTED), WIDTH, HEIGHT, DARK)
    assert int((canvas.background != plain.background).sum()) > 50


def test_dust_gets_a_band_whose_arcs_are_the_shares() -> None:
    picture = random_picture(10, 100, 0)
    assert is_dust(picture.arcs, WIDTH, HEIGHT)
    assert not is_dust(random_arcs(8, 4), WIDTH, HEIGHT)
    assert hash_counts(band_arcs(picture)).tolist() == hash_counts(picture.arcs).tolist()
    weighted = replace(picture, shares=np.arange(10, dtype=np.float64))
    assert hash_counts(band_arcs(weighted))[[0, 9]].tolist() == [0, round(HASH_SPACE * 9 / 45)]


def test_the_band_names_every_consumer_by_its_tag() -> None:
    """Each tag is written on its own consumer's colour."""
    canvas = draw_ring(replace(random_picture(10, 100, 0), centre=()), WIDTH, HEIGHT, DARK)
    for index, letter in enumerate("ABCDEFGHIJ"):
        rows, columns = np.nonzero(canvas.chars == ord(letter))
        assert len(rows) == 1, letter
        assert int(canvas.background[rows[0], columns[0]]) == pack(DARK.consumer_colour(index))


def test_tags_of_wide_arcs_stand_on_their_owner() -> None:
    canvas = draw_ring(replace(random_picture(3, 1, 0), centre=()), WIDTH, HEIGHT, DARK)
    for index, letter in enumerate("ABC"):
        rows, columns = np.nonzero(canvas.chars == ord(letter))
        assert {int(canvas.background[row, column]) for row, column in zip(rows, columns, strict=True)} == {
            pack(DARK.consumer_colour(index))
        }


def test_points_have_ticks_while_they_are_few() -> None:
    few = "".join(texts(draw_ring(RingPicture(random_arcs(4, 2)), WIDTH, HEIGHT, DARK).strips()))
    many = "".join(texts(draw_ring(RingPicture(random_arcs(10, 100)), WIDTH, HEIGHT, DARK).strips()))
    strokes = set("╻╱╸╲╹╺")
    assert sum(char in strokes for char in few) == 8
    assert not strokes & set(many)


def test_quarters_are_labelled_with_their_first_hash() -> None:
    lines = "".join(texts(draw_ring(RingPicture(random_arcs(4, 2)), WIDTH, HEIGHT, DARK).strips()))
    assert all(label in lines for label in ("0x00000000", "0x20000000", "0x40000000", "0x60000000"))


def test_words_that_do_not_fit_are_cut_and_say_so() -> None:
    picture = RingPicture(random_arcs(4, 2), centre=("a headline far too long for the middle of the ring",))
    lines = "".join(texts(draw_ring(picture, 30, 14, DARK).strips()))
    assert "…" in lines
    assert "a headline" in lines


@pytest.mark.parametrize(("width", "height"), [(30, 14), (38, 17), (44, 20), (58, 27), (100, 54)])
@pytest.mark.parametrize("mono", [False, True])
def test_the_lines_of_the_middle_stand_whole_or_not_at_all(width: int, height: int, mono: bool) -> None:
    """No name or number is cut: few words stand where the lines do not fit, all of them where they do."""
    long = ("10 consumers", "ring: 100 points each", "billing-4: 16 of 100")
    picture = replace(random_picture(10, 100, 100), centre=long, few=("ring", "of 10"))
    rows = texts(draw_ring(picture, width, height, palette("dark", "mono") if mono else DARK).strips())
    middle = "\n".join(rows[height // 2 - 3 : height // 2 + 3])
    assert "…" not in middle
    assert mono or width < 38 or "ring" in middle
    assert width < 100 or all(line in middle for line in long)


def test_a_flash_fades_from_the_old_colour_to_the_new_one() -> None:
    """Where the owner changed the ground is the blend of both; elsewhere it is as before; at 0 all is new."""
    before = RingPicture(arcs_of([2**30, 2**31 - 1], [0, 1], 3))
    after = RingPicture(arcs_of([2**30, 2**31 - 1], [0, 2], 3))
    old, new = DARK.consumer_colour(1), DARK.consumer_colour(2)
    left, right = (HEIGHT // 2 + 3, 3), (HEIGHT // 2 + 3, WIDTH - 4)
    for intensity in (1.0, 0.5, 0.25, 0.0):
        canvas = draw_ring(after, WIDTH, HEIGHT, DARK, flash=Flash(intensity, before=before))
        assert int(canvas.background[left]) == pack(mix(new, old, intensity))
        assert int(canvas.background[right]) == pack(DARK.consumer_colour(0))


def test_without_colours_a_flash_is_reversed_while_it_is_fresh() -> None:
    before = RingPicture(arcs_of([2**30, 2**31 - 1], [0, 1], 3))
    picture = RingPicture(arcs_of([2**30, 2**31 - 1], [2, 1], 3))
    mono = palette("dark", "mono")
    reversed_cells = [
        int((draw_ring(picture, WIDTH, HEIGHT, mono, flash=Flash(at, before=before)).attributes & REVERSE).sum())
        for at in (1.0, 0.6, 0.4, 0.0)
    ]
    assert reversed_cells[0] == reversed_cells[1] > 100
    assert reversed_cells[2:] == [0, 0]


def test_flashing_topics_blend_with_the_text_colour() -> None:
    dots = Dots(np.array([2**29, 2**30], dtype=np.uint32), np.array([0, 1], dtype=np.int32))
    picture = RingPicture(random_arcs(3, 1), dots, RingMode.MUTED)
    canvas = draw_ring(picture, WIDTH, HEIGHT, DARK, flash=Flash(0.5, dots=np.array([True, False])))
    inks = set(canvas.foreground[canvas.chars == ord("●")].tolist())
    assert inks == {pack(mix(DARK.consumer_colour(0), DARK.text, 0.5)), pack(DARK.consumer_colour(1))}


def test_the_highlighted_topic_is_a_diamond_with_its_consumers_tag() -> None:
    picture = replace(random_picture(30, 1, 80), centre=())
    lines = texts(draw_ring(picture, WIDTH, HEIGHT, DARK).strips())
    assert sum(line.count("◆") for line in lines) == 1


@pytest.mark.parametrize(
    ("width", "height", "banded"), [(64, 36, False), (64, 36, True), (38, 18, True), (110, 56, True)]
)
def test_geometry_covers_the_area_of_its_rings(width: int, height: int, banded: bool) -> None:
    """Summed coverage is the area of ring and band, to a hundredth; the bins cover the turn without overlap."""
    geometry = ring_geometry(width, height, banded)
    assert geometry is not None
    rings = [geometry.outer, *([geometry.band] if geometry.band else [])]
    area = sum(pi * (outer**2 - inner**2) for inner, outer in rings)
    assert geometry.levels.sum() / 8 * 0.5 == pytest.approx(area, rel=0.02)
    assert all(left < right for left, right in pairwise(geometry.edges.tolist()))
    assert geometry.edges[[0, -1]].tolist() == [0.0, 1.0]


def test_the_same_picture_drawn_twice_is_the_same() -> None:
    picture = random_picture(10, 100, 100)
    assert draw_ring(picture, 66, 38, DARK).strips() == draw_ring(picture, 66, 38, DARK).strips()


def test_the_flag_turned_on_fades_band_arcs_and_topics_from_modulo_to_the_ring() -> None:
    """At intensity 1 everything has the colours before, at 0 those after; topics that moved flash in between."""
    after = replace(random_picture(10, 100, 0), centre=())
    hashes = np.array([2**28, 2**30], dtype=np.uint32)
    after = replace(after, dots=Dots(hashes, np.array([1, 2], dtype=np.int32)))
    before = replace(after, mode=RingMode.MUTED, dots=Dots(hashes, np.array([1, 5], dtype=np.int32)))
    start = draw_ring(after, WIDTH, HEIGHT, DARK, flash=Flash(1.0, before=before))
    ground = draw_ring(replace(before, dots=Dots()), WIDTH, HEIGHT, DARK).background
    assert bool((start.background == ground).all())
    assert set(start.foreground[start.chars == ord("●")].tolist()) == {
        pack(DARK.consumer_colour(1)),
        pack(DARK.text),
    }
    end = draw_ring(after, WIDTH, HEIGHT, DARK, flash=Flash(0.0, before=before))
    assert end.strips() == draw_ring(after, WIDTH, HEIGHT, DARK).strips()
