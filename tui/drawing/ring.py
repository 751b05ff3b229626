"""The ring: who owns which part of the hash space, and which topics lie where.

From outside to inside: ticks at the ring's points while there is room, the ring of arcs in quadrant blocks, the band
that sums each consumer's share into one arc when arcs are too narrow to read, topic dots, labels of the quarters, and
a few words in the middle. Colours belong to consumers; letter tags say the same without colour.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from themes.palettes import Palette
from tui.drawing.arcs import Arcs, IntArray, contiguous, hash_counts, merged
from tui.drawing.canvas import Canvas
from tui.drawing.colour import NO_COLOUR, pack, shades
from tui.drawing.frame import RingFrame
from tui.drawing.glyphs import glyphs_of
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.inks import InkBook, arc_inks, cached_dominant
from tui.drawing.quadrants import LEVELS, one_colour, two_colours
from tui.drawing.ring_dots import draw_dots, draw_ticks
from tui.drawing.ring_geometry import RingGeometry, ring_geometry
from tui.drawing.ring_letters import draw_letter_ring
from tui.drawing.ring_picture import Flash, RingMode, RingPicture
from tui.drawing.ring_words import draw_tags, draw_words

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
    banded = picture.band if picture.band is not None else is_dust(picture.arcs, width, height)
    # Why more air in mono: between letters only a whole blank cell tells one ring from the next.
    geometry = ring_geometry(width, height, banded, 2.0 if palette.mono else 1.0)
    if geometry is None:
        return draw_hash_map(picture, width, height, palette, ascii_only=ascii_only, flash=flash, labels=False)
    if palette.mono:
        canvas = Canvas(width, height, NO_COLOUR, NO_COLOUR)
    else:
        canvas = Canvas(width, height, pack(palette.text), pack(palette.background))
    frame = RingFrame(canvas, picture, geometry, palette, glyphs_of(ascii_only), flash)
    if palette.mono:
        draw_letter_ring(frame, band_arcs(picture))
    else:
        _draw_colours(frame)
    draw_ticks(frame)
    draw_words(frame)
    draw_dots(frame)
    return canvas


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
    book = InkBook(frame.palette)
    edges = hash_edges(frame.geometry, frame.picture.arcs.size)
    ring = arc_inks(frame.picture, edges, book, frame.flash, flat=frame.geometry.band is not None)
    band = band_arcs(frame.picture)
    sums = _band_inks(frame.picture, edges, book)
    before = frame.flash.before if frame.flash is not None else None
    if frame.flash is not None and before is not None and before.arcs.size == frame.picture.arcs.size:
        sums = book.blended(sums, _band_inks(before, edges, book), frame.flash.intensity)
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
    if frame.geometry.band is None:
        draw_tags(frame, frame.picture.arcs, table[ring, LEVELS], in_band=False)
    else:
        draw_tags(frame, band, table[sums, LEVELS], in_band=True)


def _band_inks(picture: RingPicture, edges: IntArray, book: InkBook) -> IntArray:
    owners = cached_dominant(band_arcs(picture), edges.tobytes())
    if picture.mode is RingMode.LIT or (picture.mode is RingMode.MUTED and picture.shares is not None):
        return book.lit(owners)
    if picture.mode is RingMode.FOCUS and picture.focus is not None:
        return np.where(owners == picture.focus, book.lit(owners), book.muted(owners))
    return book.muted(owners)
