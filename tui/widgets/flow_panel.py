"""The traffic of one bundle along the hash axis, drawn when asked for; in words where there is nothing to draw."""

from __future__ import annotations

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from themes.palettes import Palette, palette
from tui.drawing.flow_cells import FlowPicture
from tui.drawing.flow_curve import draw_flow


class FlowPanel(Widget):
    """One picture for one size."""

    DEFAULT_CSS = """
    FlowPanel { height: 1fr; width: 1fr; }
    """

    picture: reactive[FlowPicture | None] = reactive(None)
    """What is drawn."""
    words: reactive[str] = reactive("")
    """What is said where there is no picture."""
    colours: reactive[Palette] = reactive(palette)
    """The palette in use."""

    def __init__(
        self,
        *,
        ascii_only: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._ascii_only = ascii_only
        self._drawn: tuple[tuple[FlowPicture, Palette, int, int], list[Strip]] | None = None

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self.picture is None:
            text = f" {self.words}" if y == 0 else ""
            return Strip([Segment(text, self.rich_style)]).adjust_cell_length(width, self.rich_style)
        key = (self.picture, self.colours, width, height)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, draw_flow(self.picture, width, height, self.colours, ascii_only=self._ascii_only)
        lines = self._drawn[1]
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        # Without colours the drawing leaves the ground to the terminal, so it takes the panel's.
        return lines[y].apply_style(self.rich_style) if self.colours.mono else lines[y]
