"""Going from panel to panel on the main screen."""

from __future__ import annotations

from typing import ClassVar

from tui.screens.main_slices import MainSlices


class MainPanels(MainSlices):
    """Focus and zoom."""

    zoomable: ClassVar[tuple[str, ...]] = ("ring", "consumers", "bundles", "explain", "events")

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
