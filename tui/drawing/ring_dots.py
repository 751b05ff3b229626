"""Topics as dots inside the ring, which of very many are drawn, and ticks outside at the ring's points."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from themes.palettes import Palette
from tui.drawing.arcs import IntArray
from tui.drawing.canvas import BOLD, DIM, REVERSE
from tui.drawing.colour import NO_COLOUR, mix, pack
from tui.drawing.glyphs import Glyphs
from tui.drawing.ring_geometry import RingGeometry, track
from tui.drawing.ring_picture import RingFrame, RingMode, RingPicture, changed_dots


class Lanes(Struct, frozen=True, eq=False):
    """Cells for dots: shape (lanes, slots), the outermost lane first; slots go clockwise."""

    rows: IntArray
    columns: IntArray
    starts: npt.NDArray[np.float64]
    """Angle at which each slot begins."""


def lane_count(geometry: RingGeometry) -> int:
    """How many dots may be one behind the other."""
    return 3 if geometry.inside >= 16 else 2 if geometry.inside >= 11 else 1


def dots_depth(geometry: RingGeometry, dots: int) -> float:
    """How far dots reach into the ring's free disc at the top and at the bottom, in units; 1 when there are none."""
    return 1.0 + geometry.air + 2.0 * _lanes_in_use(geometry, dots) if dots else 1.0


def dots_breadth(geometry: RingGeometry, dots: int) -> float:
    """The same at the sides: less, since a cell is narrower than it is high."""
    return geometry.air + 1.2 * _lanes_in_use(geometry, dots) if dots else 1.3


def _lanes_in_use(geometry: RingGeometry, dots: int) -> int:
    return min(lane_count(geometry), 1 + dots // 24)


@lru_cache(maxsize=32)
def dot_lanes(geometry: RingGeometry) -> Lanes:
    """The cells dots are drawn in. O(radius), once per size."""
    first = geometry.inside - geometry.air - 0.3
    slots = track(geometry.width, geometry.height, first)
    turn = 2 * np.pi * slots.middles
    # Why: this is the shortest way inwards that reaches another row or another column.
    step = 1.0 / np.maximum(np.abs(np.sin(turn)), np.abs(np.cos(turn)) / 2)
    rows, columns = [slots.rows], [slots.columns]
    for lane in range(1, lane_count(geometry)):
        radius = first - lane * step
        rows.append(np.floor((geometry.height - radius * np.cos(turn)) / 2).astype(np.int64))
        columns.append(np.floor(geometry.width / 2 + radius * np.sin(turn)).astype(np.int64))
    return Lanes(np.stack(rows), np.stack(columns), slots.starts)


class Placed(Struct, frozen=True, eq=False):
    """Dots after they found their slots; arrays of one length."""

    slots: IntArray
    lanes: IntArray
    owners: IntArray
    several: npt.NDArray[np.bool_]
    """Whether a dot is more than one topic."""
    flashing: npt.NDArray[np.bool_]


def place_dots(slots: IntArray, owners: IntArray, flashing: npt.NDArray[np.bool_], lanes: int) -> Placed:
    """Give each dot a lane of its slot; where there are more dots than lanes, one dot per owner, the largest first.

    O(dots log dots).

    >>> placed = place_dots(np.array([4, 4, 4, 9]), np.array([1, 0, 1, 2]), np.zeros(4, dtype=bool), lanes=2)
    >>> list(zip(placed.slots.tolist(), placed.lanes.tolist(), placed.owners.tolist(), placed.several.tolist()))
    [(4, 0, 1, True), (4, 1, 0, False), (9, 0, 2, False)]
    """
    if len(slots) == 0:
        return Placed(slots, slots, owners, flashing, flashing)
    crowded = np.bincount(slots)[slots] > lanes
    # Dots of a slot that is not crowded stay apart: each gets a key of its own.
    key = np.where(crowded, owners + 1, np.arange(len(slots)) + owners.max() + 2)
    base = int(key.max()) + 1
    pairs, first, group, counts = np.unique(
        slots * base + key, return_index=True, return_inverse=True, return_counts=True
    )
    flash = np.bincount(group, weights=flashing, minlength=len(pairs)) > 0
    order = np.lexsort((pairs, -counts, pairs // base))
    slot = (pairs // base)[order]
    begins = np.searchsorted(slot, slot, side="left")
    lane = np.arange(len(slot)) - begins
    kept = lane < lanes
    chosen = order[kept]
    return Placed(slot[kept], lane[kept], owners[first[chosen]], counts[chosen] > 1, flash[chosen])


def draw_dots(frame: RingFrame) -> None:
    """Draw the topics; in ``FOCUS`` those of other consumers fade. In mono a dot is its consumer's letter."""
    dots = frame.picture.dots
    if (len(dots.hashes) == 0 and len(dots.marks) == 0) or frame.geometry.inside < 2.5:
        return
    lanes = dot_lanes(frame.geometry)
    slots = np.searchsorted(lanes.starts, dots.hashes / frame.picture.arcs.size, side="right") - 1
    flashing = changed_dots(frame.picture, frame.flash)
    owners = dots.owners.astype(np.int64)
    placed = place_dots(slots, owners, flashing, len(lanes.rows))
    inner_first = np.argsort(-placed.lanes, kind="stable")  # an outer dot covers an inner one, not the reverse
    intensity = frame.flash.intensity if frame.flash is not None else 0.0
    colours: dict[tuple[int, bool], int] = {}
    for number in inner_first.tolist():
        owner, lit = int(placed.owners[number]), bool(placed.flashing[number])
        slot, lane = placed.slots[number], placed.lanes[number]
        if (owner, lit) not in colours:
            colours[owner, lit] = _dot_colour(frame.picture, frame.palette, owner, intensity if lit else 0.0)
        if frame.palette.mono:
            char, attributes = _dot_letter(frame.picture, owner, frame.glyphs)
            attributes |= REVERSE if lit else 0
        else:
            char, attributes = frame.glyphs.dots if placed.several[number] else frame.glyphs.dot, 0
        frame.canvas.put(
            int(lanes.rows[lane, slot]),
            int(lanes.columns[lane, slot]),
            char,
            colours[owner, lit],
            attributes=attributes,
        )
    if dots.waiting is not None:
        _draw_waiting(frame, lanes, np.unique(slots[dots.waiting]))
    if len(dots.marks):
        marked = np.searchsorted(lanes.starts, dots.marks / frame.picture.arcs.size, side="right") - 1
        _draw_waiting(frame, lanes, np.unique(marked))
    if dots.highlighted is not None:
        _draw_highlight(frame, lanes, int(slots[dots.highlighted]))


def _draw_waiting(frame: RingFrame, lanes: Lanes, slots: IntArray) -> None:
    """A waiting key hides everything else of its slot."""
    ink = NO_COLOUR if frame.palette.mono else pack(frame.palette.bad)
    attributes = BOLD | (REVERSE if frame.palette.mono else 0)
    for slot in slots.tolist():
        row, column = int(lanes.rows[0, slot]), int(lanes.columns[0, slot])
        frame.canvas.put(row, column, frame.glyphs.waiting, ink, attributes=attributes)


def _draw_highlight(frame: RingFrame, lanes: Lanes, slot: int) -> None:
    """The highlighted topic: a diamond, and behind it the tag of its active consumer."""
    assert frame.picture.dots.highlighted is not None, "there is a highlighted topic"
    owner = int(frame.picture.dots.owners[frame.picture.dots.highlighted])
    frame.canvas.put(
        int(lanes.rows[0, slot]), int(lanes.columns[0, slot]), frame.glyphs.highlight, frame.text, attributes=BOLD
    )
    if owner < 0 or len(lanes.rows) < 2:
        return
    tag = frame.picture.tag(owner)
    row, column = int(lanes.rows[1, slot]), int(lanes.columns[1, slot])
    if column >= frame.canvas.width // 2:
        column -= len(tag) - 1
    ink = NO_COLOUR if frame.palette.mono else pack(frame.palette.consumer_colour(owner))
    for offset, char in enumerate(tag):
        frame.canvas.put(row, column + offset, char, ink, attributes=BOLD)


def _dot_colour(picture: RingPicture, palette: Palette, owner: int, intensity: float) -> int:
    if palette.mono:
        return NO_COLOUR
    if owner < 0 or (picture.mode is RingMode.FOCUS and owner != picture.focus):
        colour = palette.rim
    else:
        colour = palette.consumer_colour(owner)
    if palette.depth == "16":
        return pack(palette.text if intensity >= 0.5 else colour)
    return pack(mix(colour, palette.text, intensity))


def _dot_letter(picture: RingPicture, owner: int, glyphs: Glyphs) -> tuple[str, int]:
    """A topic without colours: its consumer's letter, and the attributes."""
    if owner < 0 or (picture.mode is RingMode.FOCUS and owner != picture.focus):
        return glyphs.faded, DIM
    tag = picture.tag(owner)
    return (tag if len(tag) == 1 else glyphs.unnamed), BOLD


def draw_ticks(frame: RingFrame) -> None:
    """Draw a tick outside the ring at each point, while points are few; in ``FOCUS`` only that consumer's."""
    points, owners = frame.picture.arcs.points, frame.picture.arcs.owners
    if frame.picture.mode is RingMode.FOCUS and frame.picture.focus is not None:
        mine = owners == frame.picture.focus
        points, owners = points[mine], owners[mine]
    if len(points) * 8 > len(frame.geometry.edges):
        return
    radius = frame.geometry.outer[1]
    for point, owner in zip(points.tolist(), owners.tolist(), strict=True):
        angle = point / frame.picture.arcs.size
        row, column = _outside(frame.geometry, angle, radius)
        stroke = frame.glyphs.ticks[int(angle * 8 + 0.5) % 8]
        ink = NO_COLOUR if frame.palette.mono else pack(frame.palette.consumer_colour(owner))
        if (owner < 0 or frame.picture.mode is RingMode.MUTED) and not frame.palette.mono:
            ink = pack(frame.palette.rim)
        frame.canvas.put(row, column, stroke, ink, attributes=BOLD)


def _outside(geometry: RingGeometry, angle: float, radius: float) -> tuple[int, int]:
    """The first cell beyond the rim, seen from the middle, that the ring does not touch."""
    sine, cosine = sin(2 * pi * angle), cos(2 * pi * angle)
    row = column = -1
    for step in range(1, 6):
        reach = radius + 0.4 * step
        row = int((geometry.height - reach * cosine) // 2)
        column = int((geometry.width / 2 + reach * sine) // 1)
        inside = 0 <= row < geometry.height and 0 <= column < geometry.width
        if not inside or geometry.cell_number[row, column] < 0:
            break
    return row, column


MANY_DOTS: Final = 20_000
"""Up to so many all are drawn."""
BIN_BITS: Final = 14
"""The hash space is cut into two to the power of this many pieces, more than a drawing has cells."""

Integers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def ascends(hashes: Integers | npt.NDArray[np.uint32]) -> bool:
    """Whether the hashes are in ascending order. O(n)."""
    return bool(np.all(hashes[1:] >= hashes[:-1]))


class Thinning:
    """Of one column of hashes the last of each piece of the hash space, for any number of drawings."""

    __slots__ = ("_last", "_start", "_taken", "hashes")

    def __init__(self, hashes: Integers, size: int) -> None:
        """``hashes`` ascend in 0 .. ``size`` - 1. O(pieces log n)."""
        pieces = 1 << BIN_BITS
        edges = (np.arange(1, pieces + 1, dtype=np.int64) * size // pieces).astype(np.int64)
        # A whole column of one narrow type is searched without a copy of it.
        ends = np.searchsorted(hashes, (edges - 1).astype(hashes.dtype), side="right")
        starts = np.concatenate(([0], ends[:-1]))
        self.hashes = hashes
        self._taken = ends > starts
        self._start, self._last = starts[self._taken], ends[self._taken] - 1

    def places(self, *always: Mask) -> IntArray:
        """The places of the topics to draw, ascending: the last of each piece, and the last of each mask in it.

        A mask (n,) marks highlighted topics. O(pieces), and O(n) for those of a piece whose last is not marked.
        """
        kept = [self._last]
        for mask in always:
            open_ = np.flatnonzero(~mask[self._last])
            start, last = self._start[open_], self._last[open_]
            # The last mark of a piece is wanted: where few are marked all marks are looked at, else the pieces' topics.
            if 2 * np.count_nonzero(mask) < len(mask):
                marked = np.flatnonzero(mask)
            else:
                counts = last - start
                marked = np.repeat(last - np.cumsum(counts), counts) + np.arange(int(counts.sum()))
                marked = marked[mask[marked]]
            at = np.searchsorted(marked, last, side="right") - 1
            slots = marked[at[at >= 0]]
            kept.append(slots[slots >= start[at >= 0]])
        places = np.sort(np.concatenate(kept))
        return places[np.append(places[1:] != places[:-1], True)] if len(places) else places


def thinned(hashes: Integers, size: int, *always: Mask) -> IntArray:
    """``Thinning.places``; a column that is drawn again is not searched again.

    >>> hashes = np.arange(0, 2**31, 2**12)
    >>> places = thinned(hashes, 2**31, np.arange(len(hashes)) == 77)
    >>> len(hashes), len(places), places[:3].tolist(), 77 in places
    (524288, 16385, [31, 63, 77], True)
    """
    if size not in _latest or _latest[size].hashes is not hashes:
        _latest.clear()
        _latest[size] = Thinning(hashes, size)
    return _latest[size].places(*always)


_latest: dict[int, Thinning] = {}
"""The column that was drawn last, by the size of its space: it stays the same from step to step."""
