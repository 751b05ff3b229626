"""The screen of brokers on its own, for ``ringside brokers``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import SystemCommand
from textual.screen import Screen

from engine.views.brokers.model import BrokersInput, BrokersQuestion
from themes import stylesheet
from themes.palettes import Depth
from tui.brokers.screen import BrokersScreen
from tui.kit.command_palette import key_commands
from tui.kit.themed_app import ThemedApp


class BrokersApp(ThemedApp):
    """Shows one cluster from one question on; ``went_back`` tells whether escape ended it, and not ``q``."""

    TITLE = "Ringside brokers"
    CSS_PATH: ClassVar = [stylesheet("main"), stylesheet("brokers")]

    def __init__(
        self,
        given: BrokersInput,
        question: BrokersQuestion,
        *,
        theme: str = "dark",
        mono: bool = False,
        depth: Depth | None = None,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(theme=theme, mono=mono, depth=depth, ascii_only=ascii_only)
        self._given = given
        self._question = question
        self.animation_level = "none"
        self.went_back = False

    def get_default_screen(self) -> Screen[None]:
        """The brokers; leaving them is leaving."""
        screen = BrokersScreen(self._given, self.colours, self._question, ascii_only=self._ascii_only)
        screen.on_close = self._go_back
        return screen

    def _go_back(self) -> None:
        self.went_back = True
        self.exit(0)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every key of the screen by its words."""
        if isinstance(screen, BrokersScreen):
            yield from key_commands(screen.key_groups, screen)
        yield SystemCommand("Quit (q)", "", self.action_quit)

    def action_help(self) -> None:
        """All keys."""
        if isinstance(self.screen, BrokersScreen):
            self.screen.action_help()
