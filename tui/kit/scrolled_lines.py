"""What panels that draw lines on demand share: one style a paint, and a scrolling range that arranges nothing."""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class ScrolledLines(ScrollView):
    """A scrolled panel of lines that are drawn when they are painted."""

    _ground: Style | None = None

    @property
    def ground(self) -> Style:
        """The panel's own style. All ancestors have a part in it, so a paint asks for it once and not once a line."""
        return self.rich_style if self._ground is None else self._ground

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ground = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._ground = None

    def set_range(self, size: Size) -> None:
        """Set the scrolling range; only when the scrollbar comes or goes is the screen arranged again."""
        height = self.size.height
        if (size.height > height) is not (self.virtual_size.height > height):
            self.virtual_size = size
            return
        self.set_reactive(ScrollView.virtual_size, size)
        if size.height > height:
            self.vertical_scrollbar.window_virtual_size = size.height
