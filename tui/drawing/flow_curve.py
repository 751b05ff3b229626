"""The curve of a bundle's traffic along the hash axis, as coloured strips, laid out by ``flow_cells``."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from textual.strip import Strip

from themes.palettes import Palette
from tui.drawing.canvas import BOLD, DIM, REVERSE, Canvas
from tui.drawing.colour import NO_COLOUR, mix, pack
from tui.drawing.flow_cells import FlowPicture, Role, flow_cells

FILLED: Final = "█"


@lru_cache(maxsize=8)
def inks_of(palette: Palette) -> dict[Role, int]:
    """A packed colour for each role; none at all without colours."""
    if palette.mono:
        return dict.fromkeys(Role, NO_COLOUR)
    plain = palette.depth == "16"
    second = palette.good if plain else mix(palette.accent, palette.good, 0.75)
    colours = {
        Role.BLANK: palette.text,
        Role.PIECE: palette.accent if plain else mix(palette.background, palette.accent, 0.75),
        Role.OTHER_PIECE: second if plain else mix(palette.background, second, 0.75),
        Role.OVER: palette.bad,
        Role.LIMIT: palette.warn,
        Role.GATE: palette.dim,
        Role.BYTES: palette.text,
        Role.CUT: palette.text,
        Role.AXIS: palette.rim,
        Role.LABEL: palette.dim,
        Role.STRONG: palette.text,
    }
    return {role: pack(colour) for role, colour in colours.items()}


def draw_flow(
    picture: FlowPicture, width: int, height: int, palette: Palette, *, ascii_only: bool = False
) -> list[Strip]:
    """``height`` lines of ``width`` cells. O(points + width × height).

    Without colours the limit is a line, cuts are bold, and what is above the limit is in reverse video.
    """
    inks, mono = inks_of(palette), palette.mono
    cells = flow_cells(picture, width, height, ascii_only=ascii_only)
    ground = NO_COLOUR if mono else pack(palette.background)
    canvas = Canvas(width, height, NO_COLOUR if mono else inks[Role.BLANK], ground)
    for row in range(cells.height):
        for column, char in enumerate(cells.chars[row]):
            role, behind = cells.roles[row][column], cells.ground[row][column]
            filled = behind is not Role.BLANK and not mono and not ascii_only
            # A full block is a coloured ground: fonts leave seams between block characters.
            shown = " " if filled and char == FILLED else char
            attributes = BOLD if role in (Role.CUT, Role.STRONG) else 0
            if mono and role is Role.OVER and char != FILLED:
                attributes |= REVERSE if ascii_only else BOLD
            if mono and role in (Role.GATE, Role.LABEL, Role.AXIS, Role.OTHER_PIECE) and not ascii_only:
                attributes |= DIM
            canvas.put(
                row, column, shown, inks[role], background=inks[behind] if filled else None, attributes=attributes
            )
    return canvas.strips()
