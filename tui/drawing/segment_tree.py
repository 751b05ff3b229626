"""The family tree of segments: generations from left to right, the hash ranges of each from top to bottom, to scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from themes.palettes import Palette
from tui.drawing.canvas import BOLD, DIM, Canvas
from tui.drawing.colour import NO_COLOUR, contrasting, mix, pack
from tui.drawing.glyphs import glyphs_of

LEAST_WIDTH: Final = 4
"""Cells of a generation; with more of them the oldest are left out."""
NOBODY: Final = -1
RING: Final = 2**16
"""Hashes of the ring of segments."""


@dataclass(frozen=True, slots=True)
class Block:
    """One segment. ``owner`` gives its colour and ``tag`` its letter, ``NOBODY`` for none.

    ``sealed`` fades it, ``waits`` strokes it.
    """

    name: str
    generation: int
    start: int
    end: int
    owner: int = NOBODY
    tag: str = ""
    sealed: bool = False
    waits: bool = False


def draw_tree(
    blocks: Sequence[Block], shape: tuple[int, int], palette: Palette, *, ascii_only: bool, marked: str = ""
) -> Canvas:
    """The tree of blocks in ``shape`` = width x height cells. O(blocks + cells)."""
    width, height = shape
    if palette.mono:
        canvas = Canvas(width, height, NO_COLOUR, NO_COLOUR)
    else:
        canvas = Canvas(width, height, pack(palette.text), pack(palette.background))
    by_generation: dict[int, list[Block]] = {}
    for block in blocks:
        by_generation.setdefault(block.generation, []).append(block)
    newest = max(by_generation, default=0)
    shown = min(newest + 1, max(1, width // LEAST_WIDTH))
    oldest = newest + 1 - shown
    # Of segments that fall on the same cells one is seen: the last, or the marked one.
    places: dict[tuple[int, int, int, int], Block] = {}
    for generation in range(oldest, newest + 1):
        left = (generation - oldest) * width // shown
        right = (generation - oldest + 1) * width // shown
        for lane, lanes, block in _lanes(by_generation.get(generation, ())):
            begin = left + lane * (right - left) // lanes
            end = max(begin + 1, left + (lane + 1) * (right - left) // lanes - (1 if right - left > 2 * lanes else 0))
            top = block.start * height // RING
            bottom = max(top + 1, (block.end + 1) * height // RING)
            place = begin, end, top, bottom
            if place not in places or places[place].name != marked:
                places[place] = block
    for place, block in places.items():
        _paint(canvas, block, place, palette, ascii_only=ascii_only, marked=block.name == marked)
    return canvas


def _lanes(blocks: Iterable[Block]) -> list[tuple[int, int, Block]]:
    """Each block with its lane and the number of lanes: ranges that overlap are drawn beside each other."""
    ends: list[int] = []
    placed: list[tuple[int, Block]] = []
    for block in sorted(blocks, key=lambda one: (one.start, one.end)):
        lane = next((at for at, end in enumerate(ends) if end < block.start), len(ends))
        ends[lane : lane + 1] = [block.end]
        placed.append((lane, block))
    return [(lane, len(ends), block) for lane, block in placed]


def _paint(
    canvas: Canvas, block: Block, place: tuple[int, int, int, int], palette: Palette, *, ascii_only: bool, marked: bool
) -> None:
    left, right, top, bottom = place
    glyphs = glyphs_of(ascii_only)
    ground = palette.ring_track if block.owner == NOBODY else palette.consumer_colour(block.owner)
    if block.sealed and block.owner != NOBODY:
        ground = mix(palette.ring_track, ground, palette.muted_strength)
    back = NO_COLOUR if palette.mono else pack(ground)
    fore = NO_COLOUR if palette.mono else pack(contrasting(ground))
    fill = (block.tag[:1] or glyphs.faded) if palette.mono else " "
    faded = DIM if palette.mono and (block.sealed or block.owner == NOBODY) else 0
    for row in range(top, bottom):
        for column in range(left, right):
            char = glyphs.hatch if block.waits and (row + column) % 2 else fill
            canvas.put(row, column, char, fore, background=back, attributes=faded)
    if bottom - top > 1:  # a line between neighbours of one colour
        line = "-" if ascii_only or palette.mono else "▔"
        for column in range(left, right):
            edge = NO_COLOUR if palette.mono else pack(palette.background)
            canvas.put(top, column, line, edge, background=back, attributes=faded)
    label = f" {block.name}{f' {block.tag}' if block.tag and not palette.mono else ''} "
    label = label if len(label) <= right - left else block.name
    if len(label) <= right - left:
        row, column = (top + bottom - 1) // 2, left + (right - left - len(label)) // 2
        canvas.write(row, column, label, fore, background=back, attributes=BOLD | (4 if marked else 0))
