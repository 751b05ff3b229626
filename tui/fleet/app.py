"""The application of the fleet screen: it ends with what is to be opened in the simulator, or with nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.app import SystemCommand
from textual.screen import Screen

from themes import stylesheet
from themes.palettes import Depth
from tui.fleet.screen import Chosen, FleetScreen, Place
from tui.kit.command_palette import key_commands
from tui.kit.themed_app import ThemedApp
from tui.sources.fleet_results import FleetResults


class FleetApp(ThemedApp):
    """Shows ``results``, starting at ``place``. When it ends, ``place`` is where it was, ``chosen`` what to open."""

    TITLE = "Ringside fleet"
    CSS_PATH: ClassVar = [stylesheet("fleet")]

    def __init__(
        self,
        results: FleetResults,
        place: Place | None = None,
        *,
        theme: str = "dark",
        mono: bool = False,
        depth: Depth | None = None,
        ascii_only: bool = False,
        complaint: str = "",
    ) -> None:
        super().__init__(theme=theme, mono=mono, depth=depth, ascii_only=ascii_only)
        self.chosen: Chosen | None = None
        self.place = place or Place(results.first)
        self._results = results
        self._complaint = complaint
        self.animation_level = "none"

    def get_default_screen(self) -> Screen[None]:
        """The lists."""
        screen = FleetScreen(self._results, self.colours, self.place, ascii_only=self._ascii_only)
        if self._complaint:
            screen.call_after_refresh(screen.say, "refusal", self._complaint)
        return screen

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The keys of the lists, and all stock commands but Screenshot, which writes a file without asking where."""
        if isinstance(screen, FleetScreen):
            yield from key_commands(screen.key_groups, screen)
        yield from (command for command in super().get_system_commands(screen) if command.title != "Screenshot")

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
