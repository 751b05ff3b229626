"""A histogram in a frame: told its pieces, it draws them in the room it has."""

from __future__ import annotations

from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from themes.palettes import Palette, palette
from tui.drawing.histogram import Piece, histogram_lines


class HistogramPanel(Widget):
    """One line for each piece of the axis, in two columns where it is wide and low."""

    pieces: reactive[tuple[Piece, ...]] = reactive(())
    colours: reactive[Palette] = reactive(palette)

    def __init__(self, *, id: str, classes: str = "", ascii_only: bool = False) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._ascii_only = ascii_only

    def render(self) -> Text:
        lines = histogram_lines(self.pieces, self.size.width, self.colours, ascii_only=self._ascii_only)
        return Text("\n").join(lines[: max(0, self.size.height)])
