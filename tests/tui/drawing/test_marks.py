"""Places that are marked although nothing of theirs is known: slots that drain by what brokers reported."""

from __future__ import annotations

import numpy as np
import pytest

from themes.palettes import Palette, palette
from tui.drawing.arcs import arcs_of
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.ring import draw_ring
from tui.drawing.ring_picture import Dots, RingPicture

SIZE = 65_536


def drawn(draw: object, marks: list[int], colours: Palette) -> str:
    points, owners = np.array([32_767, 65_535], dtype=np.int64), np.array([0, 1], dtype=np.int64)
    dots = Dots(marks=np.array(marks, dtype=np.uint32))
    picture = RingPicture(arcs=arcs_of(points, owners, 2, SIZE), dots=dots)
    canvas = draw(picture, 60, 30, colours, ascii_only=False, flash=None)  # type: ignore[operator]
    return "\n".join("".join(segment.text for segment in strip) for strip in canvas.strips())


@pytest.mark.parametrize("mono", [False, True])
@pytest.mark.parametrize("draw", [draw_ring, draw_hash_map])
def test_each_marked_place_has_a_sign_and_others_have_none(draw: object, mono: bool) -> None:
    colours = palette("dark", "mono" if mono else "truecolor")
    assert drawn(draw, [], colours).count("!") == 0
    assert drawn(draw, [100], colours).count("!") == 1
    assert drawn(draw, [100, 101], colours).count("!") == 1, "neighbours share a place"
    assert drawn(draw, [100, 20_000, 40_000, 60_000], colours).count("!") == 4


def test_the_last_slot_is_a_place_too() -> None:
    for draw in (draw_ring, draw_hash_map):
        assert drawn(draw, [0, 65_535], palette("dark", "truecolor")).count("!") == 2
