"""A bundle's hash range with its topics and cuts, drawn in four lines."""

from __future__ import annotations

from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from themes.palettes import Palette, palette
from tui.drawing.split_bar import SplitPicture, draw_split


class SplitAxis(Widget):
    """One picture for one width; drawn when asked for."""

    DEFAULT_CSS = """
    SplitAxis { height: 4; width: 1fr; }
    """

    picture: reactive[SplitPicture | None] = reactive(None)
    """What is drawn."""
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
        self._drawn: tuple[tuple[SplitPicture, Palette, int], list[Strip]] | None = None

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.picture is None or width <= 0:
            return Strip.blank(width, self.rich_style)
        key = (self.picture, self.colours, width)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, draw_split(self.picture, width, self.colours, ascii_only=self._ascii_only)
        lines = self._drawn[1]
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        # Without colours the drawing leaves the ground to the terminal, so it takes the card's.
        return lines[y].apply_style(self.rich_style) if self.colours.mono else lines[y]
