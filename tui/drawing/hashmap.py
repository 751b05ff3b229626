"""The hash map: the hash space wrapped over rows, left to right and top to bottom, so that every arc is visible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from themes.palettes import Palette
from tui.drawing.arcs import IntArray, hash_label
from tui.drawing.canvas import BOLD, DIM, LEVELS, REVERSE, SPACE, Canvas, joined, spelled
from tui.drawing.colour import NO_COLOUR, contrasting, mix, pack, unpack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.inks import InkBook, arc_inks, cached_dominant, cached_shares, touched_bins
from tui.drawing.ring_picture import Flash, MapFrame, RingMode, RingPicture, TwoSides, changed_dots
from tui.drawing.shades import shades

MIN_WIDTH_WITH_LABELS = 30
TAG_ROOM = 4
"""Cells that an arc must have in addition to its tag."""


def label_width(space: int, width: int) -> int:
    """How many columns the labels of the rows take."""
    return len(hash_label(0, space)) + 1 if width >= MIN_WIDTH_WITH_LABELS else 0


def draw_hash_map(
    picture: RingPicture,
    width: int,
    height: int,
    palette: Palette,
    *,
    ascii_only: bool = False,
    flash: Flash | None = None,
    labels: bool = True,
) -> Canvas:
    """A hash map of ``width`` x ``height`` cells; take its rows from :meth:`Canvas.line`.

    Each half cell shows the consumer that owns most of its hashes (each whole cell in ASCII and in mono). Each row
    begins with its first hash. O(points log points) when the arcs are new, O(width * height + dots) after that.
    """
    if picture.sides is not None:
        picture = replace(picture, arcs=picture.sides.modelled)
    text, ground = (NO_COLOUR, NO_COLOUR) if palette.mono else (pack(palette.text), pack(palette.background))
    canvas = Canvas(width, height, text, ground)
    if canvas.width == 0 or canvas.height == 0:
        return canvas
    left = label_width(picture.arcs.size, width) if labels else 0
    frame = MapFrame(canvas, picture, palette, glyphs_of(ascii_only), flash, left)
    if left:
        _draw_labels(frame)
    if palette.mono:
        _draw_letters(frame)
    else:
        _draw_colours(frame)
    if picture.sides is not None:
        _hatch(frame, picture.sides)
    _draw_topics(frame)
    return canvas


def map_edges(size: int, cells: int) -> IntArray:
    """The first hash of each of ``cells`` equal pieces of the space, and ``size`` at the end.

    >>> map_edges(10, 4).tolist()
    [0, 2, 5, 7, 10]
    """
    return np.arange(cells + 1, dtype=np.int64) * size // cells


def _draw_labels(frame: MapFrame) -> None:
    ink = NO_COLOUR if frame.palette.mono else pack(frame.palette.dim)
    for row in range(frame.canvas.height):
        first = row * frame.picture.arcs.size // frame.canvas.height
        frame.canvas.write(
            row, 0, hash_label(first, frame.picture.arcs.size), ink, attributes=DIM if frame.palette.mono else 0
        )


def _draw_colours(frame: MapFrame) -> None:
    parts = 1 if frame.glyphs.ascii_only else 2
    edges = map_edges(frame.picture.arcs.size, frame.columns * parts * frame.canvas.height)
    book = InkBook(frame.palette)
    inks = arc_inks(frame.picture, edges, book, frame.flash)
    packed = shades(book.inks, frame.palette, LEVELS)[inks, LEVELS].reshape(frame.canvas.height, frame.columns, parts)
    frame.canvas.background[:, frame.left :] = packed[..., 0]
    if parts == 2:
        split = packed[..., 0] != packed[..., 1]
        frame.canvas.foreground[:, frame.left :] = packed[..., 1]
        frame.canvas.chars[:, frame.left :] = np.where(split, ord("▐"), SPACE)
    owners = cached_dominant(frame.picture.arcs, edges.tobytes()).reshape(frame.canvas.height, frame.columns, parts)
    whole = np.where(owners[..., 0] == owners[..., -1], owners[..., 0], -1)
    _draw_tags(frame, whole)


def _draw_tags(frame: MapFrame, owners: IntArray) -> None:
    """A letter tag on each run of cells that has room for it."""
    breaks = np.ones((frame.canvas.height, owners.shape[1] + 1), dtype=np.bool_)
    breaks[:, 1:-1] = owners[:, 1:] != owners[:, :-1]
    for row in range(frame.canvas.height):
        starts = np.flatnonzero(breaks[row])
        for start, length in zip(starts.tolist(), np.diff(starts).tolist(), strict=False):
            owner = int(owners[row, start])
            if owner < 0 or length < TAG_ROOM:
                continue
            tag = frame.picture.tag(owner)
            if length < TAG_ROOM + len(tag) - 1:
                continue
            column = frame.left + start + (length - len(tag)) // 2
            back = int(frame.canvas.background[row, column])
            faded = frame.picture.mode is RingMode.MUTED or (
                frame.picture.mode is RingMode.FOCUS and owner != frame.picture.focus
            )
            fore = pack(frame.palette.dim) if faded and frame.palette.depth != "16" else pack(contrasting(unpack(back)))
            frame.canvas.write(row, column, tag, fore, attributes=BOLD)


def _draw_letters(frame: MapFrame) -> None:
    edges = map_edges(frame.picture.arcs.size, frame.columns * frame.canvas.height)
    key = edges.tobytes()
    owners = cached_dominant(frame.picture.arcs, key)
    changed = np.zeros(len(owners), dtype=np.bool_)
    if frame.flash is not None and frame.flash.intensity >= 0.5 and frame.flash.before is not None:
        changed |= owners != cached_dominant(frame.flash.before.arcs, key)
    focus = frame.picture.focus if frame.picture.mode is RingMode.FOCUS else None
    shown, small = owners, np.full(len(owners), frame.picture.mode is RingMode.MUTED)
    if focus is not None:
        shown = np.where(cached_shares(frame.picture.arcs, key, focus) > 0, focus, -1)
        small = owners != focus

    def tag_of(owner: int) -> str:
        return frame.picture.tag(owner) if owner >= 0 else frame.glyphs.faded

    for row, cells in enumerate(shown.reshape(frame.canvas.height, frame.columns).tolist()):
        for column, letter in enumerate(spelled(cells, tag_of, frame.glyphs)):
            number = row * frame.columns + column
            frame.canvas.chars[row, frame.left + column] = ord(letter.lower() if small[number] else letter)
            attributes = joined(tag_of(cells[column]), letter) | (REVERSE if changed[number] else 0)
            frame.canvas.attributes[row, frame.left + column] = attributes


def _hatch(frame: MapFrame, sides: TwoSides) -> None:
    """Stroke the cells in which a fact differs, in the colour of the owner that was reported.

    Without colours it is every second cell, so that letters stay between.
    """
    edges = map_edges(sides.reported.size, frame.columns * frame.canvas.height)
    owners = cached_dominant(sides.reported, edges.tobytes())
    for number in np.flatnonzero(touched_bins(sides.reported, sides.differs, edges)).tolist():
        row, column = divmod(number, frame.columns)
        if frame.palette.mono:
            if (row + column) % 2:
                frame.canvas.put(row, frame.left + column, frame.glyphs.hatch, NO_COLOUR, attributes=BOLD)
            continue
        if frame.canvas.attributes[row, frame.left + column]:  # a letter tag
            continue
        owner = int(owners[number])
        ink = pack(frame.palette.consumer_colour(owner) if owner >= 0 else frame.palette.rim)
        ground = int(frame.canvas.background[row, frame.left + column])
        if ink == ground:
            ink = pack(contrasting(unpack(ground)))
        frame.canvas.put(row, frame.left + column, frame.glyphs.hatch, ink, attributes=BOLD)


def _draw_topics(frame: MapFrame) -> None:
    """A marker per cell with topics; with muted arcs it has its active consumer's colour, in mono it is its letter.

    Of several topics in a cell the one shown is one that flashes, else one of the consumer in focus, else the last.
    """
    dots = frame.picture.dots
    cells = dots.hashes.astype(np.int64) * (frame.columns * frame.canvas.height) // frame.picture.arcs.size
    flashing = changed_dots(frame.picture, frame.flash)
    in_focus = dots.owners == (-2 if frame.picture.focus is None else frame.picture.focus)
    weakest_last = np.argsort(flashing * 2 + in_focus, kind="stable")[::-1]
    shown = weakest_last[np.unique(cells[weakest_last], return_index=True)[1]]
    rows, columns = np.divmod(cells[shown], frame.columns)
    markers = Markers(rows, frame.left + columns, dots.owners[shown].astype(np.int64), flashing[shown])
    if frame.palette.mono:
        _draw_letter_markers(frame, markers)
    else:
        _draw_markers(frame, markers)
    if dots.waiting is not None:
        _draw_waiting(frame, np.unique(cells[dots.waiting]))
    if len(dots.marks):
        all_cells = frame.columns * frame.canvas.height
        _draw_waiting(frame, np.unique(dots.marks.astype(np.int64) * all_cells // frame.picture.arcs.size))
    if dots.highlighted is not None:
        row, column = divmod(int(cells[dots.highlighted]), frame.columns)
        mono, palette = frame.palette.mono, frame.palette
        fore, back = (NO_COLOUR, None) if mono else (pack(palette.background), pack(palette.text))
        attributes = BOLD | (REVERSE if mono else 0)
        frame.canvas.put(row, frame.left + column, frame.glyphs.highlight, fore, background=back, attributes=attributes)


def _draw_waiting(frame: MapFrame, cells: IntArray) -> None:
    """A waiting key hides everything else of its cell."""
    mono, palette = frame.palette.mono, frame.palette
    fore, back = (NO_COLOUR, None) if mono else (pack(palette.background), pack(palette.bad))
    for cell in cells.tolist():
        row, column = divmod(cell, frame.columns)
        attributes = BOLD | (REVERSE if mono else 0)
        frame.canvas.put(row, frame.left + column, frame.glyphs.waiting, fore, background=back, attributes=attributes)


class Markers(Struct, frozen=True, eq=False):
    """Topics of which each has a cell of its own; arrays of one length."""

    rows: IntArray
    columns: IntArray
    owners: IntArray
    flashing: npt.NDArray[np.bool_]


def _draw_letter_markers(frame: MapFrame, markers: Markers) -> None:
    for row, column, owner in zip(
        markers.rows.tolist(), markers.columns.tolist(), markers.owners.tolist(), strict=True
    ):
        tag = frame.picture.tag(owner) if owner >= 0 else frame.glyphs.marker
        char = tag if len(tag) == 1 else frame.glyphs.unnamed
        frame.canvas.put(row, column, char, NO_COLOUR, attributes=BOLD | REVERSE)


def _draw_markers(frame: MapFrame, markers: Markers) -> None:
    mode, palette = frame.picture.mode, frame.palette
    where = (markers.rows, markers.columns)
    ground = frame.canvas.background[where].astype(np.int64)
    readable = _readable_on(ground)
    cycle = np.asarray([pack(consumer) for consumer in palette.consumers], dtype=np.int64)
    if mode is RingMode.LIT:
        # A range narrower than a cell leaves the cell to nobody: its marker alone shows the owner.
        lone = (markers.owners >= 0) & ~np.isin(ground, cycle)
        colour = np.where(lone, cycle[markers.owners % len(cycle)], readable)
    else:
        own = markers.owners >= 0 if mode is RingMode.MUTED else markers.owners == frame.picture.focus
        colour = np.where(own, cycle[markers.owners % len(cycle)], pack(palette.dim))
        colour = np.where(colour == ground, readable, colour)
    if frame.flash is not None:
        ground, colour = ground.copy(), colour.copy()
        for number in np.flatnonzero(markers.flashing).tolist():
            lit = mix(unpack(int(ground[number])), palette.text, frame.flash.intensity)
            ground[number] = pack(lit)
            colour[number] = pack(mix(unpack(int(colour[number])), contrasting(lit), frame.flash.intensity))
    frame.canvas.chars[where] = ord(frame.glyphs.marker)
    frame.canvas.foreground[where] = colour
    frame.canvas.background[where] = ground
    frame.canvas.attributes[where] = BOLD


def _readable_on(grounds: IntArray) -> IntArray:
    """Black or white for each packed ground."""
    different, where = np.unique(grounds, return_inverse=True)
    readable = [pack(contrasting(unpack(ground))) for ground in different.tolist()]
    return np.asarray(readable, dtype=np.int64)[where.ravel()]
