"""Which ink each piece of hash space is drawn in, given the mode of the picture.

An ink is a colour at full strength; shades towards the background are made later, per coverage.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from themes.palettes import Palette, Rgb
from tui.drawing.arcs import Arcs, FloatArray, IntArray, dominant_owners, shares_of_bins
from tui.drawing.colour import mix
from tui.drawing.ring_picture import Flash, RingMode, RingPicture

FOCUS_STEPS = 8


@lru_cache(maxsize=32)
def cached_dominant(arcs: Arcs, edges: bytes) -> IntArray:
    """:func:`dominant_owners`, kept per arcs and bin edges (given as bytes of int64)."""
    return dominant_owners(arcs, np.frombuffer(edges, dtype=np.int64))


@lru_cache(maxsize=32)
def cached_shares(arcs: Arcs, edges: bytes, owner: int) -> FloatArray:
    """:func:`shares_of_bins`, kept per arcs, bin edges and consumer."""
    return shares_of_bins(arcs, np.frombuffer(edges, dtype=np.int64), owner)


@lru_cache(maxsize=32)
def base_inks(palette: Palette) -> tuple[Rgb, ...]:
    """Inks every picture has: the bare track, then all consumers lit, then all consumers muted."""
    lit = palette.consumers
    muted = tuple(mix(palette.ring_track, colour, palette.muted_strength) for colour in lit)
    return (palette.ring_track, *lit, *muted)


class InkBook:
    """Inks of one frame: the base inks and those the frame adds. Index 0 is the bare track."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self._inks = list(base_inks(palette))
        self._added: dict[Rgb, int] = {}

    @property
    def inks(self) -> tuple[Rgb, ...]:
        """All inks so far, by index."""
        return tuple(self._inks)

    def add(self, colour: Rgb) -> int:
        """The index of an ink, added if it is new: rims are smooth only where one colour is one ink."""
        if colour not in self._added:
            self._added[colour] = self._inks.index(colour) if colour in self._inks else len(self._inks)
            if self._added[colour] == len(self._inks):
                self._inks.append(colour)
        return self._added[colour]

    def lit(self, owners: IntArray) -> IntArray:
        """Ink per owner at full colour; -1 (nobody) gives the bare track."""
        return np.where(owners < 0, 0, 1 + owners % len(self.palette.consumers))

    def muted(self, owners: IntArray) -> IntArray:
        """Ink per owner, faded."""
        count = len(self.palette.consumers)
        return np.where(owners < 0, 0, 1 + count + owners % count)

    def faded_in(self, inks: IntArray, focus: int, shares: FloatArray) -> IntArray:
        """These inks where the consumer in focus has nothing, its colour where it has something, brighter for more.

        Why not the dominant owner alone: one arc of a hundred in a bin would vanish, and its place is the question.
        """
        colour = self.palette.consumer_colour(focus)
        steps = [self.add(mix(self.palette.ring_track, colour, 0.35 + 0.65 * k / FOCUS_STEPS)) for k in range(1, 9)]
        step = np.clip(np.ceil(shares * FOCUS_STEPS), 0, FOCUS_STEPS).astype(np.int64)
        return np.where(step > 0, np.asarray([0, *steps])[step], inks)

    def blended(self, inks: IntArray, old_inks: IntArray, intensity: float) -> IntArray:
        """``inks`` where nothing changed, else a blend with the old ink; at intensity 1 the old one shows."""
        changed = np.flatnonzero(inks != old_inks)
        if len(changed) == 0 or intensity <= 0.0:
            return inks
        result = inks.copy()
        pairs, where = np.unique(np.stack((inks[changed], old_inks[changed])), axis=1, return_inverse=True)
        mixed = [self.add(mix(self._inks[new], self._inks[old], intensity)) for new, old in pairs.T.tolist()]
        result[changed] = np.asarray(mixed)[where.ravel()]
        return result


def arc_inks(
    picture: RingPicture, edges: IntArray, book: InkBook, flash: Flash | None, *, flat: bool = False
) -> IntArray:
    """Ink per bin of the hash space: the dominant owner's, in the manner of the picture's mode.

    With ``flat`` everybody outside the focus has the colour of the bare track: for arcs as narrow as dust, whose
    faded tints would only be noise around the one that is lit.
    """
    inks = _arc_inks(picture, edges, book, flat)
    if flash is None or flash.intensity <= 0.0:
        return inks
    if flash.before is not None and flash.before.arcs.size == picture.arcs.size:
        inks = book.blended(inks, _arc_inks(flash.before, edges, book, flat), flash.intensity)
    return inks


def _arc_inks(picture: RingPicture, edges: IntArray, book: InkBook, flat: bool) -> IntArray:
    key = np.ascontiguousarray(edges, dtype=np.int64).tobytes()
    owners = cached_dominant(picture.arcs, key)
    if picture.mode is RingMode.LIT:
        return book.lit(owners)
    if picture.mode is RingMode.FOCUS and picture.focus is not None:
        others = np.zeros_like(owners) if flat else book.muted(owners)
        return book.faded_in(others, picture.focus, cached_shares(picture.arcs, key, picture.focus))
    return book.muted(owners)


def touched_bins(arcs: Arcs, mask: npt.NDArray[np.bool_], edges: IntArray) -> npt.NDArray[np.bool_]:
    """Which bins hold at least one hash of the arcs in the mask."""
    assert mask.shape == arcs.points.shape, "one flag per point"
    flags = Arcs(arcs.points, mask.astype(np.int32), 2, arcs.size)
    return np.asarray(shares_of_bins(flags, edges, 1) > 0, dtype=np.bool_)
