"""A change of the ring in motion: what moved runs from its old consumer to the new one, the ring before stays a while.

Messages run from the slot of their key to the consumer that gets them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from themes.palettes import Palette
from tui.drawing.arcs import Arcs, FloatArray, IntArray
from tui.drawing.canvas import Canvas
from tui.drawing.colour import mix, pack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.inks import cached_dominant
from tui.drawing.ring import band_arcs, hash_edges, layout_of
from tui.drawing.ring_dots import dot_lanes
from tui.drawing.ring_geometry import RingGeometry
from tui.drawing.ring_picture import Flash, RingFrame, RingMode, RingPicture

MOST_RUNNERS: Final = 240
"""Of more topics only some run, evenly chosen: there are no more cells along the ring."""
TRAIL: Final = ((0.10, 0.3), (0.05, 0.6), (0.0, 1.0))
"""How far behind, as a part of the way, and how strong: the last one is the topic itself."""


def draw_motion(canvas: Canvas, picture: RingPicture, flash: Flash, palette: Palette, *, ascii_only: bool) -> None:
    """Draw on a ring what is in motion at the moment of the flash; nothing without colours. O(dots + radius)."""
    geometry = layout_of(picture, canvas.width, canvas.height, mono=palette.mono)
    if geometry is None or picture.sides is not None or palette.mono or palette.depth == "16":
        return
    frame = RingFrame(canvas, picture, geometry, palette, glyphs_of(ascii_only), flash)
    if flash.before is not None and flash.ghost > 0.0 and picture.mode is not RingMode.FOCUS:
        _draw_ghost(frame, flash.before, flash.ghost)
    if flash.intensity > 0.0 and geometry.inside >= 2.5:
        _draw_runners(frame, flash)


def _draw_ghost(frame: RingFrame, before: RingPicture, strength: float) -> None:
    """Draw who had what before, around the ring: by its band where there is one, else by its arcs."""
    canvas, palette = frame.canvas, frame.palette
    rows, columns, bins = rim_cells(frame.geometry)
    arcs = before.arcs if frame.geometry.band is None else band_arcs(before)
    owners = cached_dominant(arcs, hash_edges(frame.geometry, arcs.size).tobytes())[bins]
    for row, column, owner in zip(rows.tolist(), columns.tolist(), owners.tolist(), strict=True):
        if owner >= 0 and canvas.chars[row, column] == ord(" "):  # a tick stays
            ink = pack(mix(palette.background, palette.consumer_colour(owner), strength))
            canvas.put(row, column, frame.glyphs.ghost, ink)


@lru_cache(maxsize=32)
def rim_cells(geometry: RingGeometry) -> tuple[IntArray, IntArray, IntArray]:
    """Rows, columns and bins of the cells that touch the ring from outside. O(width * height), once per size."""
    ring = np.pad(geometry.cell_number >= 0, 1)
    beside = ring[:-2, 1:-1] | ring[2:, 1:-1] | ring[1:-1, :-2] | ring[1:-1, 2:]
    rows, columns = np.nonzero(beside & ~ring[1:-1, 1:-1])
    x, y = columns + 0.5 - geometry.width / 2, 2 * rows + 1.0 - geometry.height
    outside = np.hypot(x, y) > geometry.outer[1] - 1.0
    angles = np.mod(np.arctan2(x, -y) / (2 * np.pi), 1.0)
    return rows[outside], columns[outside], np.searchsorted(geometry.edges, angles[outside], side="right") - 1


def _draw_runners(frame: RingFrame, flash: Flash) -> None:
    parts = zip(*ways(frame.picture, flash, frame.geometry), strict=True)
    old, new, start, end = (np.concatenate(part) for part in parts)
    lanes, palette = dot_lanes(frame.geometry), frame.palette
    for behind, strength in TRAIL:
        passed = max(0.0, 1.0 - flash.intensity - behind)
        angles = places_on_the_way(start, end, passed)
        slots = np.searchsorted(lanes.starts, angles, side="right") - 1
        for slot, giver, taker in zip(slots.tolist(), old.tolist(), new.tolist(), strict=True):
            giving = palette.text if giver < 0 else palette.consumer_colour(giver)
            glyph = frame.glyphs.highlight if giver < 0 else frame.glyphs.dot
            colour = mix(giving, palette.consumer_colour(taker), passed)
            ink = pack(mix(palette.background, colour, strength))
            frame.canvas.put(int(lanes.rows[0, slot]), int(lanes.columns[0, slot]), glyph, ink)


Ways = tuple[IntArray, IntArray, FloatArray, FloatArray]
"""Old owners, -1 for a message, new ones, and the angles where they begin and end."""


def ways(picture: RingPicture, flash: Flash, geometry: RingGeometry) -> list[Ways]:
    """What moved goes from band to band, without one from the nearest arc of its old owner to its own place."""
    nobody, nowhere = np.zeros(0, dtype=np.int64), np.zeros(0)
    all_ways: list[Ways] = [(nobody, nobody, nowhere, nowhere)]
    before, sent, banded = flash.before, flash.sent, geometry.band is not None
    moved = nobody if before is None else moved_dots(before, picture)
    if before is not None and len(moved):  # without an owner there is no arc either
        old, new = before.dots.owners[moved].astype(np.int64), picture.dots.owners[moved].astype(np.int64)
        place = picture.dots.hashes[moved] / picture.arcs.size
        if banded:
            all_ways.append((old, new, spread(band_arcs(before), old), spread(band_arcs(picture), new)))
        else:
            all_ways.append((old, new, nearest(before.arcs, old, place), place))
    if sent is not None:
        getters, place = sent.owners.astype(np.int64), sent.hashes / picture.arcs.size
        end = spread(band_arcs(picture), getters) if banded else nearest(picture.arcs, getters, place)
        all_ways.append((np.full_like(getters, -1), getters, place, end))
    return all_ways


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
