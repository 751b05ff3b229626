"""What changes hands runs from the old consumer to the new one, and ends at the exact picture."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from themes.palettes import Depth, palette
from tui.drawing.arcs import arcs_of
from tui.drawing.ring import draw_ring
from tui.drawing.ring_picture import SETTLED_S, Dots, Flash, RingPicture, freshness
from tui.drawing.ring_runners import MOST_RUNNERS, draw_runners, moved_dots, places_on_the_way, spread

SPACE = 2**31
QUARTERS = arcs_of([SPACE // 4 - 1, SPACE // 2 - 1, 3 * SPACE // 4 - 1, SPACE - 1], [0, 1, 2, 3], 4)


def picture(owners: list[int], *, band: bool = True) -> RingPicture:
    hashes = (np.arange(len(owners)) * (SPACE // len(owners))).astype(np.uint32)
    return RingPicture(QUARTERS, Dots(hashes, np.array(owners, dtype=np.int32)), band=band)


def frame(now: RingPicture, before: RingPicture, intensity: float, depth: Depth = "truecolor") -> str:
    flash = Flash(intensity, before=before) if intensity else None
    canvas = draw_ring(now, 60, 30, palette("dark", depth), flash=flash)
    if flash is not None:
        draw_runners(canvas, now, flash, palette("dark", depth), ascii_only=False)
    return "\n".join(canvas.line(row).text for row in range(30))


@pytest.mark.parametrize("band", [True, False])
def test_they_begin_at_the_old_owner_end_at_the_new_one_and_then_are_gone(band: bool) -> None:
    before, now = picture([0] * 8, band=band), picture([2] * 8, band=band)
    still = frame(now, before, 0.0)
    assert freshness(SETTLED_S) == 0.0 and frame(now, before, freshness(SETTLED_S + 1)) == still
    assert frame(now, before, 0.5) != still
    assert frame(now, replace(now), 0.5) == frame(now, before, 0.0)  # nothing moved, nothing runs


def test_a_way_is_the_shorter_one_and_passes_with_the_time_alone() -> None:
    start, end = spread(QUARTERS, np.array([0, 0, 3])), spread(QUARTERS, np.array([1, 1, 0]))
    assert ((start[:2] < 0.25) & (end[:2] >= 0.25) & (end[:2] < 0.5)).all()
    ways = np.array([places_on_the_way(start, end, at) for at in np.linspace(0, 1, 11)])
    assert np.allclose(ways[0], start) and np.allclose(ways[-1], end)
    steps = np.mod(np.diff(ways, axis=0) + 0.5, 1.0) - 0.5
    assert (np.abs(steps.sum(axis=0)) <= 0.5).all() and (
        (steps >= -1e-12).all(axis=0) | (steps <= 1e-12).all(axis=0)
    ).all()


def test_many_are_thinned_and_other_topics_do_not_run() -> None:
    assert 0 < len(moved_dots(picture([0] * 5000), picture([1] * 5000))) <= MOST_RUNNERS
    assert len(moved_dots(picture([0] * 9), picture([1] * 8))) == 0
    assert moved_dots(picture([0, -1, 1]), picture([1, 1, -1])).tolist() == [0]


def test_without_colours_nothing_runs() -> None:
    before, now = picture([0] * 8), picture([2] * 8)
    assert frame(now, before, 0.4, "mono") == frame(now, before, 0.0, "mono")
