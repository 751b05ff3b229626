"""Going from panel to panel on the main screen."""

from __future__ import annotations

from typing import ClassVar

from tui.failover.screen_slices import MainSlices


class MainPanels(MainSlices):
    """Focus and zoom."""

    zoomable: ClassVar[tuple[str, ...]] = ("ring", "consumers", "bundles", "explain", "events")

    def action_panel(self, panel: str) -> None:
        """Where there is no subscription there are just bundles and events."""
        if panel in ("ring", "consumers") and self.has_class("-bundles-only"):
            self.complain("there is no Failover subscription here, so there is no ring and no consumer")
        else:
            super().action_panel(panel)

    def focus_of(self, panel: str) -> str:
        return "many" if panel == "consumers" and self.has_class("-many") else super().focus_of(panel)
