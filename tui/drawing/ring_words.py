"""Letters and words on and in the ring: tags on arcs, labels of the quarters, lines in the middle."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np
from msgspec import Struct

from themes.palettes import consumer_tag
from tui.drawing.arcs import Arcs, IntArray, hash_label, merged
from tui.drawing.canvas import BOLD, DIM, LEVELS
from tui.drawing.colour import contrasting, pack, unpack
from tui.drawing.glyphs import fitted
from tui.drawing.inks import cached_dominant
from tui.drawing.ring_dots import dots_breadth, dots_depth
from tui.drawing.ring_geometry import RingGeometry
from tui.drawing.ring_picture import RingFrame, RingMode

MAX_TAGS = 160
SHIFTS = (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9)
"""Where else to look for a cell that is all one owner's, in parts of the half arc and of the half ring width."""


class TagPlace(Struct, frozen=True):
    """One tag on one arc."""

    row: int
    column: int
    text: str
    owner: int
    bin: int


def draw_tags(frame: RingFrame, arcs: Arcs, ground: IntArray, *, in_band: bool) -> None:
    """Write letter tags on the arcs that are wide enough.

    Args:
        arcs: the arcs drawn in this ring.
        in_band: whether that is the inner band.
        ground: packed colour per bin; the tag is written on it.
    """
    faded = frame.palette.depth != "16" and (
        frame.picture.mode is RingMode.FOCUS
        or (frame.picture.mode is RingMode.MUTED and not (in_band and frame.picture.shares is not None))
    )
    for place in tag_places(frame.geometry, arcs, in_band, frame.picture.tags):
        back = int(ground[place.bin])
        fore = pack(contrasting(unpack(back)))
        if faded and place.owner != frame.picture.focus:
            fore = frame.dim
        for offset, char in enumerate(place.text):
            frame.canvas.put(place.row, place.column + offset, char, fore, background=back, attributes=BOLD)


@lru_cache(maxsize=32)
def tag_places(geometry: RingGeometry, arcs: Arcs, in_band: bool, tags: tuple[str, ...] | None) -> list[TagPlace]:
    """Where tags fit: the widest arcs first, each tag wholly on its own arc. O(arcs), once per arcs and size."""
    radii = geometry.band if in_band and geometry.band else geometry.outer
    middle = (radii[0] + radii[1]) / 2
    edges = np.rint(geometry.edges * arcs.size).astype(np.int64)
    owner_of_bin = cached_dominant(arcs, edges.tobytes())
    starts, lengths, owners = merged(arcs)
    places: list[TagPlace] = []
    taken: set[tuple[int, int]] = set()
    for number in np.argsort(-lengths, kind="stable")[:MAX_TAGS].tolist():
        owner = int(owners[number])
        if owner < 0:
            continue
        text = tags[owner] if tags is not None and owner < len(tags) else consumer_tag(owner)
        if lengths[number] / arcs.size * 2 * np.pi * middle < 1.0:
            break
        span = (float(starts[number] / arcs.size), float(lengths[number] / arcs.size))
        place = _place(Ring(geometry, owner_of_bin, in_band, radii), text, owner, span, taken)
        if place is not None:
            places.append(place)
            # One cell of air on both sides, lest two tags read as one.
            taken.update((place.row, place.column + k) for k in range(-1, len(text) + 1))
    return places


class Ring(Struct, frozen=True, eq=False):
    """One of the two rings of a picture, and who owns each bin of it."""

    geometry: RingGeometry
    owner_of_bin: IntArray
    in_band: bool
    radii: tuple[float, float]

    def is_all(self, owner: int, row: int, column: int) -> bool:
        """Whether at least three quadrants of a cell are this owner's and well covered."""
        geometry = self.geometry
        if not (0 <= row < geometry.height and 0 <= column < geometry.width):
            return False
        number = geometry.cell_number[row, column]
        if number < 0:
            return False
        good = (
            (geometry.in_band[number] == self.in_band)
            & (geometry.levels[number] * 2 > LEVELS)
            & (self.owner_of_bin[geometry.bins[number]] == owner)
        )
        return int(good.sum()) >= 3


def _place(
    ring: Ring, text: str, owner: int, span: tuple[float, float], taken: set[tuple[int, int]]
) -> TagPlace | None:
    """The place nearest to the middle of an arc (start and length in turns) where its tag fits."""
    geometry = ring.geometry
    half_ring = (ring.radii[1] - ring.radii[0]) / 2
    for along in SHIFTS:
        angle = (span[0] + span[1] / 2 * (1 + along * 0.8)) % 1.0
        for across in SHIFTS[:5]:
            row, column = geometry.position(angle, ring.radii[0] + half_ring * (1 + across))
            column -= (len(text) - 1) // 2
            cells = [(row, column + k) for k in range(len(text))]
            if not any(cell in taken for cell in cells) and all(ring.is_all(owner, *cell) for cell in cells):
                number = int(geometry.cell_number[row, column])
                own = ring.owner_of_bin[geometry.bins[number]] == owner
                return TagPlace(row, column, text, owner, int(geometry.bins[number][int(np.argmax(own))]))
    return None


def draw_words(frame: RingFrame) -> None:
    """Write the lines of the middle, and the labels of the quarters as far as there is room."""
    dots = len(frame.picture.dots.hashes)
    free = frame.geometry.inside - dots_depth(frame.geometry, dots)
    side = frame.geometry.inside - dots_breadth(frame.geometry, dots)
    lines = _lines_that_fit(frame, max(1, int(free) - 1), side)
    top = (frame.geometry.height - len(lines)) // 2
    widest = 0
    for number, line in enumerate(lines):
        row = top + number
        text = fitted(line, _room(frame.geometry, row, side), frame.glyphs)
        widest = max(widest, len(text))
        ink = frame.text if number == 0 else frame.dim
        frame.canvas.write(
            row, (frame.geometry.width - len(text)) // 2, text, ink, attributes=BOLD if number == 0 else 0
        )
    words = Words(widest, len(lines), frame.dim, DIM if frame.palette.mono else 0)
    _draw_quarters(frame, (free, side), words)


def _lines_that_fit(frame: RingFrame, most: int, side: float) -> tuple[str, ...]:
    """At most ``most`` lines for the middle, each of them whole: what is too long is left out.

    Where that leaves less than two, the short form is used. A headline is cut only where there is no short form.
    """
    picture, height = frame.picture, frame.geometry.height
    # Without colours partitions are letters, so words keep away from them.
    air = 2 if frame.palette.mono else 0
    for words, least in ((picture.centre, 2), (picture.few, 1)):
        lines = words[:most]
        while lines:
            top = (height - len(lines)) // 2
            over = [len(line) + air - _room(frame.geometry, top + at, side) for at, line in enumerate(lines)]
            if max(over) <= 0:
                break
            worst = over.index(max(over))
            lines = lines[:worst] + lines[worst + 1 :]
        if len(lines) >= min(least, len(words)) > 0:
            return lines
    return () if picture.few else picture.centre[:1]


class Words(Struct, frozen=True):
    """The block of lines in the middle, and how to write beside it."""

    columns: int
    rows: int
    ink: int
    attributes: int


def _draw_quarters(frame: RingFrame, room: tuple[float, float], words: Words) -> None:
    """Label the quarters: by their first hash where there is room, else by the fraction; nothing if neither fits."""
    free, side = room
    size = frame.picture.arcs.size
    hashes = [hash_label(size * quarter // 4, size).strip() for quarter in range(4)]
    middle = frame.geometry.height // 2 if words.rows % 2 else (frame.geometry.height - 1) // 2
    # Why: a label is as wide as it is because the circle is already that wide a little further in.
    above = int(np.ceil((frame.geometry.height - min(free, side - 2.5)) / 2))
    for label, row in ((0, above), (2, frame.geometry.height - 1 - above)):
        text = hashes[label] if _room(frame.geometry, row, side) >= len(hashes[label]) else frame.glyphs.quarters[label]
        if (frame.geometry.height - words.rows) // 2 - above >= 2 and _room(frame.geometry, row, side) >= len(text):
            frame.canvas.write(
                row, (frame.geometry.width - len(text)) // 2, text, words.ink, attributes=words.attributes
            )
    left = int(np.ceil(frame.geometry.width / 2 - side))
    wide = 2 * (side - 1) - words.columns - 4
    names = hashes if 2 * len(hashes[1]) <= wide else frame.glyphs.quarters
    if len(names[1]) + len(names[3]) <= wide:
        frame.canvas.write(
            middle, frame.geometry.width - left - len(names[1]), names[1], words.ink, attributes=words.attributes
        )
        frame.canvas.write(middle, left, names[3], words.ink, attributes=words.attributes)


def _room(geometry: RingGeometry, row: int, radius: float) -> int:
    """The number of cells of a row inside a circle around the middle."""
    farthest = max(abs(2 * row - geometry.height), abs(2 * row + 2 - geometry.height))
    return max(0, int(2 * sqrt(max(0.0, radius**2 - farthest**2))))
