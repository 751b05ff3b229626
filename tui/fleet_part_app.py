"""The simulator on a part of a fleet: as always, and escape goes back to the fleet's lists."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui.app import RingsideApp
from tui.kit.footer import KeyFooter, KeyHint
from tui.kit.screen import DashboardScreen

BACK: Final = Binding(
    "escape", "to_fleet", "Fleet", key_display="esc", priority=True, show=False, tooltip="Back to the fleet's lists"
)


class FleetPartApp(RingsideApp):
    """``went_back`` tells whether escape ended it; ``q`` leaves for good."""

    BINDINGS: ClassVar[list[BindingType]] = [BACK, *RingsideApp.BINDINGS]
    went_back = False

    def action_to_fleet(self) -> None:
        """Go back, unless escape has something to close first."""
        screen = self.screen
        if not isinstance(screen, DashboardScreen) or screen.has_something_to_close:
            raise SkipAction
        self.went_back = True
        self.exit(0)

    def install_screen(self, screen: Screen[Any], name: str) -> None:
        """Each screen of the simulator names the way back among its keys."""
        super().install_screen(screen, name)
        if isinstance(screen, DashboardScreen):
            screen.call_after_refresh(_name_way_back, screen)


def _name_way_back(screen: DashboardScreen[Any]) -> None:
    footer = screen.query_one(KeyFooter)
    always = [hint for hint in footer.keys if hint.always]
    others = [hint for hint in footer.keys if not hint.always]
    footer.keys = (*others, KeyHint("esc", "Fleet", "app.to_fleet", always=True), *always)
