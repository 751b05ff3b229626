"""The ring without colours: every cell of an arc is its owner's letter.

Upper case is lit, lower case is faded by the rule in force, and in focus everybody else is a small dot.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tui.drawing.arcs import Arcs, IntArray
from tui.drawing.canvas import BOLD, DIM, REVERSE
from tui.drawing.frame import RingFrame
from tui.drawing.inks import cached_dominant, cached_shares, touched_bins
from tui.drawing.quadrants import LEVELS, whole_cells
from tui.drawing.ring_picture import Flash, RingMode, RingPicture
from tui.drawing.spelling import joined, spelled


def draw_letter_ring(frame: RingFrame, band: Arcs) -> None:
    """Draw arcs and band in letters; changed arcs are reversed while they flash."""
    edges = np.rint(frame.geometry.edges * frame.picture.arcs.size).astype(np.int64)
    key = edges.tobytes()
    ring = cached_dominant(frame.picture.arcs, key)
    slight = np.zeros(len(ring), dtype=np.bool_)
    if frame.picture.mode is RingMode.FOCUS and frame.picture.focus is not None:
        shares = cached_shares(frame.picture.arcs, key, frame.picture.focus)
        slight = (shares > 0) & (ring != frame.picture.focus)
        ring = np.where(shares > 0, frame.picture.focus, ring)
    # Band owners are told from ring owners by an offset, so that a cell on the gap never mixes the two.
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
    if flash.arcs is not None and flash.arcs.any():
        result |= touched_bins(picture.arcs, flash.arcs, edges)
    return result
