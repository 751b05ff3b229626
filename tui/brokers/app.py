"""The application of the screen "brokers" alone, for load reports without anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import SystemCommand
from textual.screen import Screen

from engine.balance.shed_question import ShedQuestion
from themes import stylesheet
from themes.palettes import Depth, ThemeName
from tui.brokers.screen import BrokersScreen
from tui.kit.themed_app import ThemedApp


class BrokersApp(ThemedApp):
    """Shows the answer to ``question`` about the load reports of ``source``; escape leaves."""

    TITLE = "Ringside brokers"
    CSS_PATH: ClassVar = [stylesheet("main"), stylesheet("brokers")]

    def __init__(
        self,
        question: ShedQuestion,
        source: str,
        *,
        theme: ThemeName = "dark",
        mono: bool = False,
        depth: Depth | None = None,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(theme=theme, mono=mono, depth=depth, ascii_only=ascii_only)
        self._question = question
        self._source = source
        self.animation_level = "none"

    def get_default_screen(self) -> Screen[None]:
        """The brokers."""
        return BrokersScreen(self._question, self._source, self.colours, ascii_only=self._ascii_only)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The stock ones but for the one that writes a picture of the screen: nothing is written unless it is asked
        where."""
        return [each for each in super().get_system_commands(screen) if each.title != "Screenshot"]

    def action_help(self) -> None:
        """All keys."""
        screen = self.screen
        if isinstance(screen, BrokersScreen):
            screen.action_help()
