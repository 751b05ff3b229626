"""The application of the fleet screen: it ends with what is to be opened in the simulator, or with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from themes import stylesheet
from themes.palettes import Depth, Palette, ThemeName, palette
from tui.look import depth_of, textual_theme, theme_name, variables_of
from tui.plain_ascii import AsciiFilter
from tui.screens.fleet import Chosen, FleetScreen, Place
from tui.sources.fleet_results import FleetResults


class FleetApp(App[int]):
    """Shows ``results`` from ``place`` on. ``chosen`` is set when it ends to open something, ``place`` where it was."""

    TITLE = "Ringside fleet"
    CSS_PATH: ClassVar = [stylesheet("fleet")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys"),
        Binding("q", "quit", "Quit", tooltip="Quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(
        self,
        results: FleetResults,
        place: Place | None = None,
        *,
        theme: ThemeName = "dark",
        mono: bool = False,
        depth: Depth | None = None,
        ascii_only: bool = False,
        complaint: str = "",
    ) -> None:
        self._depth: Depth | None = "mono" if mono else depth
        self._theme_name: ThemeName = theme
        super().__init__()
        self.chosen: Chosen | None = None
        self.place = place or Place()
        self._results = results
        self._ascii_only = ascii_only
        self._complaint = complaint
        self.animation_level = "none"
        for name in ("dark", "light"):
            self.register_theme(textual_theme(name, self.depth))
        self.theme = theme_name(theme)

    @property
    def depth(self) -> Depth:
        """The colour depth in use."""
        return self._depth or depth_of(self.console.color_system, mono=self.no_color)

    @property
    def colours(self) -> Palette:
        """The palette in use."""
        return palette(self._theme_name, self.depth)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables for themes that do not define them."""
        return variables_of(palette("dark" if self.current_theme.dark else "light", self.depth))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The stock filters, and with ``ascii_only`` the one that leaves nothing but ASCII."""
        return [*super().get_line_filters(), *([AsciiFilter()] if self._ascii_only else [])]

    def get_default_screen(self) -> Screen[None]:
        """The lists."""
        screen = FleetScreen(self._results, self.colours, self.place, ascii_only=self._ascii_only)
        if self._complaint:
            screen.call_after_refresh(screen.say, "refusal", self._complaint)
        return screen

    def action_help(self) -> None:
        """All keys."""
        screen = self.screen
        if isinstance(screen, FleetScreen):
            screen.action_help()

    @on(FleetScreen.Opened)
    def _opened(self, message: FleetScreen.Opened) -> None:
        screen = self.screen
        if isinstance(screen, FleetScreen):
            self.place = screen.place
        self.chosen = message.chosen
        self.exit(0)
