"""Going from panel to panel, and giving one of them the whole body."""

from __future__ import annotations

from typing import Final

from textual.widget import Widget

from tui.screens.main_sentence import MainSentence

ZOOMABLE: Final = ("ring", "consumers", "bundles", "explain", "events")


class MainPanels(MainSentence):
    """Focus and zoom."""

    def action_panel(self, panel: str) -> None:
        """Focus a panel; when one is zoomed, that one takes its place."""
        if panel in ("ring", "consumers") and self.has_class("-bundles-only"):
            self.complain("there is no Failover subscription here, so there is no ring and no consumer")
            return
        if self.zoomed and self.zoomed != panel:
            self.zoomed = panel
        if panel in ("consumers", "bundles") and self.has_class("-explaining"):
            self.remove_class("-explaining")
            self.topic = ""
        target = self.query_one(f"#{panel}")
        if panel == "consumers":
            target = self.query_one("#many" if self.has_class("-many") else "#table")
        target.focus()

    def action_zoom(self) -> None:
        if self.zoomed:
            self.zoomed = ""
            return
        focused = self.focused
        while focused is not None and focused.id not in ZOOMABLE:
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        self.zoomed = focused.id or "ring" if focused is not None else "ring"
