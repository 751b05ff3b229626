"""The traffic of a bundle along its hashes, with the limits and the cuts that a split by flow makes."""

from __future__ import annotations

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip

from engine.bundles.curve import FlowCurve
from engine.errors import Rejection
from tui.drawing.flow_cells import FlowPicture
from tui.drawing.flow_curve import draw_flow
from tui.kit.flow_words import curve_title, flow_picture
from tui.kit.line_widget import LinePanel
from tui.kit.plain_text import set_subtitle, set_title


class FlowPanel(LinePanel):
    """The curve of a bundle's traffic, or why there is none."""

    DEFAULT_CSS = """
    FlowPanel { height: 1fr; width: 1fr; }
    """

    picture: reactive[FlowPicture | None] = reactive(None)
    words: reactive[str] = reactive("")
    """The sentence shown without a picture."""

    def show_curve(self, curve: FlowCurve | Rejection, range_text: str) -> None:
        """Draw the traffic of a range, or say why that cannot be."""
        set_title(self, curve_title(curve, range_text))
        if isinstance(curve, Rejection):
            self.picture, self.words = None, curve.message
        else:
            self.picture, self.words = flow_picture(curve), ""
        label = "no traffic" if self.picture is None else "area: messages, line: bytes, both in terms of their limits"
        set_subtitle(self, f"{label} ╌")

    def watch_picture(self) -> None:
        self.forget()

    def render_line(self, y: int) -> Strip:
        if self.picture is not None:
            return super().render_line(y)
        text = f" {self.words}" if y == 0 else ""
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)

    def draw(self, width: int, height: int) -> list[Strip]:
        assert self.picture is not None, "render_line shows words instead"
        return draw_flow(self.picture, width, height, self.colours, ascii_only=self.ascii_only)
