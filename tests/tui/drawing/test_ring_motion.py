"""What changes hands runs from the old consumer to the new one, and ends at the exact picture."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from themes.palettes import Depth, palette
from tui.drawing.arcs import arcs_of
from tui.drawing.colour import mix, pack
from tui.drawing.ring import draw_ring, layout_of
from tui.drawing.ring_motion import MOST_RUNNERS, draw_motion, moved_dots, places_on_the_way, spread, ways
from tui.drawing.ring_picture import GHOST_S, SETTLED_S, Dots, Flash, RingPicture, freshness, ghost_strength

SPACE = 2**31
QUARTERS = arcs_of([SPACE // 4 - 1, SPACE // 2 - 1, 3 * SPACE // 4 - 1, SPACE - 1], [0, 1, 2, 3], 4)


def picture(owners: list[int], *, band: bool = True) -> RingPicture:
    hashes = (np.arange(len(owners)) * (SPACE // len(owners))).astype(np.uint32)
    return RingPicture(QUARTERS, Dots(hashes, np.array(owners, dtype=np.int32)), band=band)


def frame(now: RingPicture, before: RingPicture, intensity: float, depth: Depth = "truecolor") -> str:
    flash = Flash(intensity, before=before) if intensity else None
    canvas = draw_ring(now, 60, 30, palette("dark", depth), flash=flash)
    if flash is not None:
        draw_motion(canvas, now, flash, palette("dark", depth), ascii_only=False)
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


def ghost(before: RingPicture, strength: float, depth: Depth = "truecolor") -> dict[tuple[int, int], int]:
    """The colours of the ring before, by row and column, where the ring of now alone has a blank."""
    colours = palette("dark", depth)
    still = draw_ring(picture([2] * 8, band=False), 60, 30, colours)
    drawn = draw_ring(picture([2] * 8, band=False), 60, 30, colours)
    draw_motion(
        drawn, picture([2] * 8, band=False), Flash(0.0, before=before, ghost=strength), colours, ascii_only=False
    )
    rows, columns = np.nonzero(drawn.chars != still.chars)
    assert (still.chars[rows, columns] == ord(" ")).all()
    return {(row, column): int(drawn.foreground[row, column]) for row, column in zip(rows, columns, strict=True)}


def test_the_ring_before_is_around_the_ring_in_its_colours_and_fades() -> None:
    before = picture([0] * 8, band=False)
    fresh, weak = ghost(before, 1.0), ghost(before, 0.25)
    colours = palette("dark", "truecolor")
    assert len(fresh) > 60 and fresh.keys() == weak.keys()
    for (row, column), ink in fresh.items():
        owner = (1 if row >= 15 else 0) if column >= 30 else (2 if row >= 15 else 3)
        assert ink == pack(colours.consumer_colour(owner))
        assert weak[row, column] == pack(mix(colours.background, colours.consumer_colour(owner), 0.25))
    assert not ghost(before, ghost_strength(GHOST_S)) and not ghost(before, 1.0, "mono")
    assert not ghost(replace(before, sides=None, arcs=arcs_of([SPACE - 1], [-1], 4)), 1.0)


@pytest.mark.parametrize("band", [True, False])
def test_messages_run_from_their_slots_to_the_consumer_that_gets_them(band: bool) -> None:
    now = picture([0, 1, 2, 3], band=band)
    slots = np.array([SPACE // 100, SPACE // 3], dtype=np.uint32)
    flash = Flash(1.0, sent=Dots(slots, np.array([0, 1], dtype=np.int32)))
    geometry = layout_of(now, 60, 30, mono=False)
    assert geometry is not None
    _, (old, new, start, end) = ways(now, flash, geometry)
    assert old.tolist() == [-1, -1] and new.tolist() == [0, 1]
    assert np.allclose(start, slots / SPACE)
    assert np.allclose(end, [0.125, 0.375])  # the middles of their quarters
    still = draw_ring(now, 60, 30, palette("dark", "truecolor"))
    drawn = draw_ring(now, 60, 30, palette("dark", "truecolor"))
    draw_motion(drawn, now, flash, palette("dark", "truecolor"), ascii_only=False)
    assert (drawn.chars != still.chars).sum() == 2


@pytest.mark.parametrize("now", [[0] * 8, [-1] * 8])
def test_a_ring_without_consumers_is_a_past_and_a_present_too(now: list[int]) -> None:
    empty = RingPicture(arcs_of([], [], 0), picture([-1] * 8).dots)
    ring = picture(now, band=False) if now[0] >= 0 else empty
    flash = Flash(0.5, before=empty, ghost=1.0)
    drawn = draw_ring(ring, 60, 30, palette("dark", "truecolor"), flash=flash)
    still = drawn.chars.copy()
    draw_motion(drawn, ring, flash, palette("dark", "truecolor"), ascii_only=False)
    assert (drawn.chars == still).all()
