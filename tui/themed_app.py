"""What our applications share: the two themes, how many colours the terminal has, and pure ASCII on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter

from themes.palettes import Depth, Palette, ThemeName, palette
from tui.look import depth_of, textual_theme, theme_name, variables_of
from tui.plain_ascii import AsciiFilter


class ThemedApp(App[int]):
    """``depth`` overrules what the terminal says about its colours; ``mono`` is ``depth="mono"``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys"),
        Binding("q", "quit", "Quit", tooltip="Quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(
        self, *, theme: ThemeName = "dark", mono: bool = False, depth: Depth | None = None, ascii_only: bool = False
    ) -> None:
        self._theme_name: ThemeName = theme
        self._depth: Depth | None = "mono" if mono else depth
        self._ascii_only = ascii_only
        super().__init__()
        depth_used = self.depth
        for name in ("dark", "light"):
            self.register_theme(textual_theme(name, depth_used))
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
        """Our own variables for themes that do not define them, so that every built-in theme works."""
        return variables_of(palette("dark" if self.current_theme.dark else "light", self.depth))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The stock filters, and with ``ascii_only`` the one that leaves nothing but ASCII."""
        return [*super().get_line_filters(), *([AsciiFilter()] if self._ascii_only else [])]
