"""A bundle's hash range with its topics and cuts, drawn in four lines."""

from __future__ import annotations

from textual.reactive import reactive
from textual.strip import Strip

from tui.drawing.split_bar import SplitPicture, draw_split
from tui.drawn import LinePanel


class SplitAxis(LinePanel):
    """One picture for one width; drawn when asked for."""

    DEFAULT_CSS = """
    SplitAxis { height: 4; width: 1fr; }
    """

    picture: reactive[SplitPicture | None] = reactive(None)
    """What is drawn."""

    def watch_picture(self) -> None:
        """Another bundle or another cut."""
        self.forget()

    def draw(self, width: int, height: int) -> list[Strip]:
        return [] if self.picture is None else draw_split(self.picture, width, self.colours, ascii_only=self.ascii_only)
