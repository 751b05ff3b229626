"""What every part of one ring drawing needs: where to draw, what, in which colours and characters."""

from __future__ import annotations

from dataclasses import dataclass

from themes.palettes import Palette
from tui.drawing.canvas import Canvas
from tui.drawing.colour import NO_COLOUR, pack
from tui.drawing.glyphs import Glyphs
from tui.drawing.ring_geometry import RingGeometry
from tui.drawing.ring_picture import Flash, RingPicture


@dataclass(frozen=True, slots=True, eq=False)
class RingFrame:
    """One drawing in progress."""

    canvas: Canvas
    picture: RingPicture
    geometry: RingGeometry
    palette: Palette
    glyphs: Glyphs
    flash: Flash | None

    @property
    def text(self) -> int:
        """Packed colour of text."""
        return NO_COLOUR if self.palette.mono else pack(self.palette.text)

    @property
    def dim(self) -> int:
        """Packed colour of text that stands back."""
        return NO_COLOUR if self.palette.mono else pack(self.palette.dim)


@dataclass(frozen=True, slots=True, eq=False)
class MapFrame:
    """One hash map in progress."""

    canvas: Canvas
    picture: RingPicture
    palette: Palette
    glyphs: Glyphs
    flash: Flash | None
    left: int
    """Column of the first cell; labels stand before it."""

    @property
    def columns(self) -> int:
        """Cells per row."""
        return self.canvas.width - self.left
