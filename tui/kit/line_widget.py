"""Widgets that draw their lines: with a palette, ASCII on demand and strips kept until they change, or scrolled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from themes.palettes import Palette, palette


class LineWidget(Widget):
    """A widget that draws, or has parts that do."""

    colours: reactive[Palette] = reactive(palette)

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
        self.ascii_only = ascii_only

    def painted(self, strip: Strip) -> Strip:
        """Give a drawing without colours the widget's background; otherwise it would have the terminal's."""
        return strip.apply_style(self.rich_style) if self.colours.mono else strip

    def between(self, before: str, middle: Strip, after: str) -> Strip:
        """One line: words, a drawing, words."""
        left, right = (Strip([Segment(words, self.rich_style)], len(words)) for words in (before, after))
        return Strip.join([left, self.painted(middle), right]).adjust_cell_length(self.size.width, self.rich_style)


class LinePanel(LineWidget):
    """A line-API widget: one drawing for a state and a size, whose lines are handed out one by one."""

    _strips: Sequence[Strip] | None = None
    _drawn_for: Size | None = None

    def draw(self, width: int, height: int) -> Sequence[Strip]:
        """The lines of the drawing from the top; what is missing below stays blank. Both sizes are above 0."""
        raise NotImplementedError

    def forget(self) -> None:
        """Draw again with the next paint."""
        self._strips = None
        self.refresh()

    def draw_next_frame(self) -> None:
        """Draw again, and paint the lines that differ."""
        before, (width, height) = self._strips, self.size
        if before is None or self._drawn_for != self.size or not self.is_on_screen:
            self.forget()
            return
        self._strips = self.draw(width, height)
        pairs = zip_longest(before, self._strips)
        self.refresh(*(Region(0, y, width, 1) for y, (old, new) in enumerate(pairs) if old != new))

    def watch_colours(self) -> None:
        self.forget()

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self._strips is None or self._drawn_for != self.size:
            self._strips = self.draw(width, height) if width > 0 and height > 0 else ()
            self._drawn_for = self.size
        return self.painted(self._strips[y]) if y < len(self._strips) else Strip.blank(width, self.rich_style)


class FittedPanel(LineWidget):
    """A container whose words and drawings are written again when its room or its colours change."""

    def write(self) -> None:
        """Write what fits; called only where there is room."""
        raise NotImplementedError

    def write_again(self) -> None:
        if self.is_mounted and self.scrollable_content_region.width > 0:
            self.write()

    def on_mount(self) -> None:
        self.write_again()

    def on_resize(self) -> None:
        self.write_again()

    def watch_colours(self) -> None:
        self.write_again()


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
