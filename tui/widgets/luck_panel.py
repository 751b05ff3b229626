"""Is it luck? What is observed beside what chance gives, as a scale and in words."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from engine.views.keys_model import LuckView
from themes.palettes import Palette, palette
from tui.drawing.luck_axis import LuckPicture, draw_luck
from tui.keys_words import luck_numbers, luck_reason, luck_title


class LuckAxis(Widget):
    """The scale: one line, drawn when asked for."""

    DEFAULT_CSS = """
    LuckAxis { height: 1; width: 1fr; }
    """

    picture: reactive[LuckPicture | None] = reactive(None)
    """What is drawn; None while there is nothing to judge."""
    colours: reactive[Palette] = reactive(palette)
    """The palette in use."""
    ascii_only = False

    def render_line(self, y: int) -> Strip:
        if self.picture is None or y > 0:
            return Strip.blank(self.size.width, self.rich_style)
        strip = draw_luck(self.picture, self.size.width, self.colours, ascii_only=self.ascii_only)
        return strip.apply_style(self.rich_style) if self.colours.mono else strip


class LuckPanel(VerticalScroll):
    """Numbers first, then the scale, then why."""

    DEFAULT_CSS = """
    LuckPanel { height: 5; padding: 0 1; scrollbar-size-vertical: 1; }
    LuckPanel Static { height: auto; }
    """

    luck: reactive[LuckView | None] = reactive(None)
    """What is told."""
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

    def compose(self) -> ComposeResult:
        yield Static(classes="numbers", markup=False)
        axis = LuckAxis()
        axis.ascii_only = self._ascii_only
        yield axis
        yield Static(classes="reason", markup=False)

    def on_mount(self) -> None:
        self._write()

    def on_resize(self) -> None:
        """Other words may fit."""
        self._write()

    def watch_luck(self) -> None:
        """Another answer."""
        self._write()

    def watch_colours(self) -> None:
        """Other colours."""
        self._write()

    def _write(self) -> None:
        luck, width = self.luck, self.scrollable_content_region.width
        if luck is None or not self.is_mounted or width <= 0:
            return
        self.border_title = luck_title(luck)
        texts = luck_numbers(luck)
        numbers = next((text for text in texts if len(text) <= width), texts[-1])
        judged = luck.expected_max > 0
        self.query_one(".numbers", Static).update(Content.styled(numbers, "$foreground bold" if judged else "$dim"))
        self.query_one(".reason", Static).update(Content.styled(luck_reason(luck) if judged else "", "$dim"))
        axis = self.query_one(LuckAxis)
        axis.colours = self.colours
        axis.picture = (
            LuckPicture(luck.observed_max, luck.expected_max, luck.low_max, luck.high_max, luck.keys)
            if judged
            else None
        )
