"""What is under the mouse is what is drawn there."""

from __future__ import annotations

import numpy as np
import pytest

from themes.palettes import palette
from tui.drawing.arcs import arcs_of
from tui.drawing.colour import pack
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.pointing import owner_at, pointed
from tui.drawing.ring import band_arcs, draw_ring
from tui.drawing.ring_picture import Dots, RingMode, RingPicture

PALETTE = palette()
COLOURS = {pack(colour): number for number, colour in enumerate(PALETTE.consumers)}
SPACE = 2**31


def picture(points: int, *, band: bool) -> RingPicture:
    random = np.random.default_rng(7)
    hashes = np.sort(random.choice(SPACE, points, replace=False))
    owners = random.integers(0, 5, points)
    dots = Dots(np.array([5, SPACE // 3, SPACE - 9], dtype=np.uint32), np.array([0, 1, 2], dtype=np.int32))
    return RingPicture(arcs_of(hashes, owners, 5), dots, RingMode.LIT, band=band)


@pytest.mark.parametrize(("points", "band"), [(9, False), (9, True), (200, True)])
@pytest.mark.parametrize("size", [(60, 30), (44, 20)])
@pytest.mark.parametrize("as_map", [False, True])
def test_a_cell_of_one_colour_is_that_consumers(points: int, band: bool, size: tuple[int, int], as_map: bool) -> None:
    shown = picture(points, band=band)
    canvas = (draw_hash_map if as_map else draw_ring)(shown, *size, PALETTE)
    sure = 0
    for row in range(size[1]):
        for column in range(size[0]):
            number = COLOURS.get(int(canvas.background[row, column]))
            if number is None or chr(canvas.chars[row, column]) != " ":
                continue
            place = pointed(shown, size, (column, row), mono=False, as_map=as_map)
            assert place is not None
            if place.owner is not None:
                sure += place.owner == number
                assert place.owner in band_arcs(shown).owners
            elif place.at is not None:
                near = {owner_at(shown.arcs, (place.at + by) % SPACE) for by in range(-(2**24), 2**24 + 1, 2**20)}
                assert number in near, (column, row)
                sure += 1
    assert sure > 50


def test_dots_are_found_where_they_are_drawn_and_the_ground_is_nothing() -> None:
    shown = picture(9, band=True)
    canvas = draw_ring(shown, 60, 30, PALETTE)
    found = [
        (column, row, place.dots.tolist())
        for row in range(30)
        for column in range(60)
        if (place := pointed(shown, (60, 30), (column, row), mono=False, as_map=False)) is not None
        and place.dots is not None
    ]
    assert {dot for _, _, dots in found for dot in dots} == {0, 1, 2}
    assert any(chr(canvas.chars[row, column]) == "●" for column, row, _ in found)
    assert pointed(shown, (60, 30), (0, 0), mono=False, as_map=False) is None
    assert pointed(shown, (60, 30), (30, 15), mono=False, as_map=False) is None
