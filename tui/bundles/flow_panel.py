"""The traffic of one bundle along the hash axis, drawn when asked for; in words where there is nothing to draw."""

from __future__ import annotations

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip

from tui.drawing.flow_cells import FlowPicture
from tui.drawing.flow_curve import draw_flow
from tui.kit.line_widget import LinePanel


class FlowPanel(LinePanel):
    """One picture for one size."""

    DEFAULT_CSS = """
    FlowPanel { height: 1fr; width: 1fr; }
    """

    picture: reactive[FlowPicture | None] = reactive(None)
    """What is drawn."""
    words: reactive[str] = reactive("")
    """What is said where there is no picture."""

    def watch_picture(self) -> None:
        """Another bundle or another cycle."""
        self.forget()

    def render_line(self, y: int) -> Strip:
        if self.picture is not None:
            return super().render_line(y)
        text = f" {self.words}" if y == 0 else ""
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)

    def draw(self, width: int, height: int) -> list[Strip]:
        assert self.picture is not None, "words are no drawing"
        return draw_flow(self.picture, width, height, self.colours, ascii_only=self.ascii_only)
