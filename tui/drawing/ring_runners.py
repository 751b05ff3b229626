"""What changes hands runs along the ring, from the consumer that had it to the one that has it now."""

from __future__ import annotations

from typing import Final

import numpy as np

from themes.palettes import Palette
from tui.drawing.arcs import Arcs, FloatArray, IntArray
from tui.drawing.canvas import Canvas
from tui.drawing.colour import mix, pack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.ring import band_arcs, layout_of
from tui.drawing.ring_dots import dot_lanes
from tui.drawing.ring_picture import Flash, RingPicture

MOST_RUNNERS: Final = 240
"""Of more topics only some run, evenly chosen: there are no more cells along the ring."""
TRAIL: Final = ((0.10, 0.3), (0.05, 0.6), (0.0, 1.0))
"""How far behind, as a part of the way, and how strong: the last one is the topic itself."""


def draw_runners(canvas: Canvas, picture: RingPicture, flash: Flash, palette: Palette, *, ascii_only: bool) -> None:
    """Draw them on a ring where they are at the moment of the flash: from the band before to the band of now.

    Without a band from the nearest arc that the consumer had to the place of the topic. O(dots).
    """
    before = flash.before
    if before is None or flash.intensity <= 0.0 or palette.mono or palette.depth == "16":
        return
    geometry = layout_of(picture, canvas.width, canvas.height, mono=palette.mono)
    moved = moved_dots(before, picture)
    if picture.sides is not None or geometry is None or geometry.inside < 2.5 or not len(moved):
        return
    lanes, glyph = dot_lanes(geometry), glyphs_of(ascii_only).dot
    bands = (band_arcs(before), band_arcs(picture)) if geometry.band is not None else None
    old, new = before.dots.owners[moved].astype(np.int64), picture.dots.owners[moved].astype(np.int64)
    start, end = _ways(before, picture, moved, bands)
    for behind, strength in TRAIL:
        passed = max(0.0, 1.0 - flash.intensity - behind)
        angles = places_on_the_way(start, end, passed)
        slots = np.searchsorted(lanes.starts, angles, side="right") - 1
        for slot, giver, taker in zip(slots.tolist(), old.tolist(), new.tolist(), strict=True):
            colour = mix(palette.consumer_colour(giver), palette.consumer_colour(taker), passed)
            ink = pack(mix(palette.background, colour, strength))
            canvas.put(int(lanes.rows[0, slot]), int(lanes.columns[0, slot]), glyph, ink)


def _ways(
    before: RingPicture, picture: RingPicture, moved: IntArray, bands: tuple[Arcs, Arcs] | None
) -> tuple[FloatArray, FloatArray]:
    old, new = before.dots.owners[moved].astype(np.int64), picture.dots.owners[moved].astype(np.int64)
    if bands is not None:
        return spread(bands[0], old), spread(bands[1], new)
    end = picture.dots.hashes[moved] / picture.arcs.size
    return nearest(before.arcs, old, end), end


def nearest(arcs: Arcs, owners: IntArray, angles: FloatArray) -> FloatArray:
    """The middle of the arc of each owner that is nearest to its angle; the angle itself where it has none.

    >>> from tui.drawing.arcs import arcs_of
    >>> nearest(arcs_of([24, 49, 99], [0, 1, 0], 2, 100), np.array([0, 1]), np.array([0.2, 0.9])).round(3).tolist()
    [0.115, 0.365]
    """
    ends = arcs.points / arcs.size
    middles = np.mod(ends - np.mod(np.diff(ends, prepend=ends[-1]), 1.0) / 2, 1.0)
    found = angles.copy()
    for owner in np.unique(owners).tolist():
        its, of_owner = np.flatnonzero(owners == owner), middles[arcs.owners == owner]
        if len(of_owner):
            away = np.abs(np.mod(of_owner[None, :] - angles[its, None] + 0.5, 1.0) - 0.5)
            found[its] = of_owner[np.argmin(away, axis=1)]
    return found


def moved_dots(before: RingPicture, picture: RingPicture) -> IntArray:
    """The places of the topics that went from one consumer to another; none where there are other topics."""
    if not np.array_equal(before.dots.hashes, picture.dots.hashes):
        return np.zeros(0, dtype=np.int64)
    old, new = before.dots.owners, picture.dots.owners
    moved = np.flatnonzero((old != new) & (old >= 0) & (new >= 0))
    return moved[:: -(-len(moved) // MOST_RUNNERS)] if len(moved) else moved


def spread(homes: Arcs, owners: IntArray) -> FloatArray:
    """An angle on the arc of each owner, in turns; several of one owner are evenly spread over its arc.

    >>> from tui.drawing.arcs import arcs_of
    >>> spread(arcs_of([49, 99], [0, 1], 2, 100), np.array([0, 1, 1])).round(3).tolist()
    [0.25, 0.625, 0.875]
    """
    ends = (homes.points.astype(np.float64) + 1) / homes.size
    begins = np.concatenate(([0.0], ends[:-1]))
    angles = np.zeros(len(owners))
    for owner in np.unique(owners).tolist():
        its = np.flatnonzero(owners == owner)
        at = np.flatnonzero(homes.owners == owner)
        if len(at):
            first, length = begins[at[0]], ends[at[-1]] - begins[at[0]]
            angles[its] = first + length * (np.arange(len(its)) + 0.5) / len(its)
    return angles


def places_on_the_way(start: FloatArray, end: FloatArray, passed: float) -> FloatArray:
    """Where they are after a part of the time, the shorter way round: they start and stop gently.

    >>> places_on_the_way(np.array([0.9, 0.2]), np.array([0.1, 0.4]), 0.5).round(3).tolist()
    [0.0, 0.3]
    """
    way = np.mod(end - start + 0.5, 1.0) - 0.5
    return np.asarray(np.mod(start + way * passed * passed * (3.0 - 2.0 * passed), 1.0))
