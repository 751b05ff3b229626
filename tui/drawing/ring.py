"""The ring: who owns which part of the hash space, and where the topics are.

From outside to inside: ticks at the ring's points while there is room, the ring of arcs in quadrant blocks, the band
that sums each consumer's share into one arc when arcs are too narrow to read, topic dots, labels of the quarters, and
a few words in the middle. Where brokers reported other owners than the model has, the ring has the model's and the band
the reported ones, hatched where they differ. Colours belong to consumers; letter tags say the same without colour.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from themes.palettes import Palette
from tui.drawing.arcs import Arcs, IntArray, contiguous, hash_counts, merged
from tui.drawing.canvas import BOLD, DIM, LEVELS, REVERSE, Canvas, joined, one_colour, spelled, two_colours, whole_cells
from tui.drawing.colour import NO_COLOUR, contrasting, pack, unpack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.inks import InkBook, arc_inks, cached_dominant, cached_shares, touched_bins
from tui.drawing.ring_dots import draw_dots, draw_ticks
from tui.drawing.ring_geometry import RingGeometry, ring_geometry
from tui.drawing.ring_picture import Flash, RingFrame, RingMode, RingPicture, TwoSides
from tui.drawing.ring_words import draw_tags, draw_words
from tui.drawing.shades import shades

BINS_PER_READABLE_ARC = 4
"""An arc narrower than this, on average, reads as dust: then the band of shares is drawn."""


def draw_ring(
    picture: RingPicture,
    width: int,
    height: int,
    palette: Palette,
    *,
    ascii_only: bool = False,
    flash: Flash | None = None,
) -> Canvas:
    """A ring of ``width`` x ``height`` cells; take its rows from :meth:`Canvas.line`.

    Without room for a circle the same arcs are drawn as a hash map. O(points log points) when the arcs are new,
    O(width * height + dots) for every further frame.
    """
    sides = picture.sides
    geometry = layout_of(picture, width, height, mono=palette.mono)
    if geometry is None:
        return draw_hash_map(picture, width, height, palette, ascii_only=ascii_only, flash=flash, labels=False)
    if palette.mono:
        canvas = Canvas(width, height, NO_COLOUR, NO_COLOUR)
    else:
        canvas = Canvas(width, height, pack(palette.text), pack(palette.background))
    frame = RingFrame(canvas, picture, geometry, palette, glyphs_of(ascii_only), flash)
    if palette.mono:
        draw_letter_ring(frame, band_arcs(picture) if sides is None else sides.reported)
        if sides is not None:
            _hatch_letters(frame, sides)
    else:
        _draw_colours(frame)
    if sides is None:
        draw_ticks(frame)
    draw_words(frame)
    draw_dots(frame)
    return canvas


def layout_of(picture: RingPicture, width: int, height: int, *, mono: bool) -> RingGeometry | None:
    """Where ring, band and dots of a picture are; None without room for a circle."""
    banded = picture.band
    if banded is None:
        banded = picture.sides is not None or is_dust(picture.arcs, width, height)
    # Why more air in mono: between letters only a whole blank cell separates one ring from the next.
    return ring_geometry(width, height, banded, 2.0 if mono else 1.0)


@lru_cache(maxsize=64)
def is_dust(arcs: Arcs, width: int, height: int) -> bool:
    """Whether arcs are too narrow to be read on a ring of this size. O(points), once per arcs and size."""
    geometry = ring_geometry(width, height, False)
    return geometry is not None and len(merged(arcs)[0]) * BINS_PER_READABLE_ARC > len(geometry.edges) - 1


def hash_edges(geometry: RingGeometry, size: int) -> IntArray:
    """The first hash of each bin, and ``size`` at the end."""
    return np.rint(geometry.edges * size).astype(np.int64)


def band_arcs(picture: RingPicture) -> Arcs:
    """The band's arcs: one per consumer, as long as its share."""
    if picture.shares is None:
        return _summed(picture.arcs)
    weights = np.ascontiguousarray(picture.shares, dtype=np.float64)
    return _weighted(weights.tobytes(), picture.arcs.size)


@lru_cache(maxsize=16)
def _summed(arcs: Arcs) -> Arcs:
    return contiguous(hash_counts(arcs), arcs.size)


@lru_cache(maxsize=16)
def _weighted(weights: bytes, size: int) -> Arcs:
    return contiguous(np.frombuffer(weights, dtype=np.float64), size)


def _draw_colours(frame: RingFrame) -> None:
    if frame.picture.sides is not None:
        _draw_sides(frame, frame.picture.sides)
        return
    book = InkBook(frame.palette)
    edges = hash_edges(frame.geometry, frame.picture.arcs.size)
    ring = arc_inks(frame.picture, edges, book, frame.flash, flat=frame.geometry.band is not None)
    band = band_arcs(frame.picture)
    sums = _band_inks(frame.picture, edges, book)
    before = frame.flash.before if frame.flash is not None else None
    if frame.flash is not None and before is not None and before.arcs.size == frame.picture.arcs.size:
        sums = book.blended(sums, _band_inks(before, edges, book), frame.flash.intensity)
    table = _fill(frame, ring, sums, book)
    if frame.geometry.band is None:
        draw_tags(frame, frame.picture.arcs, table[ring, LEVELS], in_band=False)
    else:
        draw_tags(frame, band, table[sums, LEVELS], in_band=True)


def _draw_sides(frame: RingFrame, sides: TwoSides) -> None:
    """Draw the model's owners on the ring and the reported ones on the band, at their hashes."""
    book = InkBook(frame.palette)
    edges = hash_edges(frame.geometry, frame.picture.arcs.size).tobytes()
    ring, band = (book.lit(cached_dominant(arcs, edges)) for arcs in (sides.modelled, sides.reported))
    table = _fill(frame, ring, band, book)
    grounds = one_colour(band[frame.geometry.bins], frame.geometry.levels, table)
    for number in hatched_cells(frame, sides).tolist():
        ground = int(grounds[number])
        frame.canvas.put(
            int(frame.geometry.rows[number]),
            int(frame.geometry.columns[number]),
            frame.glyphs.hatch,
            pack(contrasting(unpack(ground))),
            background=ground,
        )
    draw_tags(frame, sides.modelled, table[ring, LEVELS], in_band=False)
    draw_tags(frame, sides.reported, table[band, LEVELS], in_band=True)


def hatched_cells(frame: RingFrame, sides: TwoSides) -> IntArray:
    """The cells of the band at which a fact differs, as places in the geometry's arrays."""
    geometry = frame.geometry
    differs = touched_bins(sides.reported, sides.differs, hash_edges(geometry, sides.reported.size))[geometry.bins]
    of_band = geometry.in_band & (geometry.levels * 2 >= LEVELS)
    return np.flatnonzero(((differs & of_band).sum(axis=1) >= 2) & (of_band.sum(axis=1) >= 3))


def _hatch_letters(frame: RingFrame, sides: TwoSides) -> None:
    """Stroke every second cell, so that letters stay between."""
    for number in hatched_cells(frame, sides).tolist():
        row, column = int(frame.geometry.rows[number]), int(frame.geometry.columns[number])
        if (row + column) % 2:
            frame.canvas.put(row, column, frame.glyphs.hatch, NO_COLOUR, attributes=BOLD)


def _fill(frame: RingFrame, ring: IntArray, sums: IntArray, book: InkBook) -> IntArray:
    """Paint ring and band with the inks of their bins; the packed colour of each ink and level."""
    inks = np.where(frame.geometry.in_band, sums[frame.geometry.bins], ring[frame.geometry.bins])
    table = shades(book.inks, frame.palette, LEVELS)
    where = (frame.geometry.rows, frame.geometry.columns)
    if frame.glyphs.ascii_only:
        frame.canvas.background[where] = one_colour(inks, frame.geometry.levels, table)
    else:
        cells = two_colours(inks, frame.geometry.levels, table)
        frame.canvas.chars[where] = cells.glyphs
        frame.canvas.foreground[where] = cells.foreground
        frame.canvas.background[where] = cells.background
    return table


def _band_inks(picture: RingPicture, edges: IntArray, book: InkBook) -> IntArray:
    owners = cached_dominant(band_arcs(picture), edges.tobytes())
    if picture.mode is RingMode.LIT or (picture.mode is RingMode.MUTED and picture.shares is not None):
        return book.lit(owners)
    if picture.mode is RingMode.FOCUS and picture.focus is not None:
        return np.where(owners == picture.focus, book.lit(owners), book.muted(owners))
    return book.muted(owners)


def draw_letter_ring(frame: RingFrame, band: Arcs) -> None:
    """Draw arcs and band in letters; changed arcs are reversed while they flash."""
    edges = np.rint(frame.geometry.edges * frame.picture.arcs.size).astype(np.int64)
    key = edges.tobytes()
    sides = frame.picture.sides
    ring = cached_dominant(frame.picture.arcs if sides is None else sides.modelled, key)
    slight = np.zeros(len(ring), dtype=np.bool_)
    if frame.picture.mode is RingMode.FOCUS and frame.picture.focus is not None:
        shares = cached_shares(frame.picture.arcs, key, frame.picture.focus)
        slight = (shares > 0) & (ring != frame.picture.focus)
        ring = np.where(shares > 0, frame.picture.focus, ring)
    # An offset distinguishes band owners from ring owners, so that a cell on the gap never mixes the two.
    offset = frame.picture.arcs.consumers + 1
    sums = cached_dominant(band, key)
    owners = np.where(frame.geometry.in_band, sums[frame.geometry.bins] + offset, ring[frame.geometry.bins])
    owner, level = whole_cells(owners, frame.geometry.levels)
    in_band = owner >= offset - 1
    owner = np.where(in_band, owner - offset, owner)
    middle_bin = frame.geometry.bins[:, 3]
    shown = np.flatnonzero(level * 2 >= LEVELS)
    flashing = _flashing(frame.picture, frame.flash, edges, ring)
    letters = _letter_rows(frame, shown, owner, in_band)
    for number in shown.tolist():
        row, column = int(frame.geometry.rows[number]), int(frame.geometry.columns[number])
        of_band = bool(in_band[number])
        weak = bool(slight[middle_bin[number]]) and not of_band
        char, attributes = _letter(frame, letters[row][column], int(owner[number]), of_band, weak)
        if owner[number] >= 0:
            attributes |= joined(frame.picture.tag(int(owner[number])), char)
        if flashing[middle_bin[number]] and not of_band:
            attributes |= REVERSE
        frame.canvas.chars[row, column] = ord(char)
        frame.canvas.attributes[row, column] = attributes


def _letter_rows(frame: RingFrame, shown: IntArray, owners: IntArray, in_band: npt.NDArray[np.bool_]) -> list[str]:
    """The letters of each row of the picture; blanks where no ring is."""
    blank = -2
    keys = np.full((frame.geometry.height, frame.geometry.width), 2 * blank, dtype=np.int64)
    # Why doubled: ring and band of one owner may touch, and are two runs all the same.
    keys[frame.geometry.rows[shown], frame.geometry.columns[shown]] = 2 * owners[shown] + in_band[shown]

    def tag_of(key: int) -> str:
        owner = key // 2
        return " " if owner == blank else frame.glyphs.faded if owner < 0 else frame.picture.tag(owner)

    return [spelled(row, tag_of, frame.glyphs) for row in keys.tolist()]


def _letter(frame: RingFrame, letter: str, owner: int, of_band: bool, weak: bool) -> tuple[str, int]:
    """A letter in the manner of the mode, and its attributes."""
    if frame.picture.mode is RingMode.LIT or owner < 0:
        return letter, BOLD if of_band else 0
    if frame.picture.mode is RingMode.FOCUS:
        if owner != frame.picture.focus:
            return (letter.lower() if of_band else frame.glyphs.faded), DIM
        return (letter.lower() if weak else letter), BOLD
    lit = of_band and frame.picture.shares is not None
    return (letter if lit else letter.lower()), (BOLD if lit else DIM)


def _flashing(picture: RingPicture, flash: Flash | None, edges: IntArray, ring: IntArray) -> npt.NDArray[np.bool_]:
    """Bins to reverse: there is no half-way without colours, so a change shows in the fresher half of its flash."""
    result = np.zeros(len(ring), dtype=np.bool_)
    if flash is None or flash.intensity < 0.5:
        return result
    if flash.before is not None and flash.before.arcs.size == picture.arcs.size:
        now = cached_dominant(picture.arcs, edges.tobytes())
        result |= now != cached_dominant(flash.before.arcs, edges.tobytes())
    return result
