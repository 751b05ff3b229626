"""Which panel has the focus, and which one has taken the whole body."""

from __future__ import annotations

from collections.abc import Mapping

from textual.screen import Screen
from textual.widget import Widget

from tui.kit.layouts import show_panels


class Zooming:
    """``zoomed`` is the id of the panel that has the whole body, "" for none.

    ``panels`` are the ids of those that can be zoomed. ``inside`` names the widget that takes the focus of a panel that
    cannot have it itself.
    """

    def __init__(self, screen: Screen[None], panels: tuple[str, ...], inside: Mapping[str, str]) -> None:
        self._screen = screen
        self._panels = panels
        self._inside = inside
        self.zoomed = ""

    def zoom(self, panel: str) -> None:
        """Give the body to one panel, or back to all with ""."""
        self.zoomed = panel
        # All at once: each change of classes styles every widget of the body again.
        classes = {f"-zoom-{other}": other == panel for other in self._panels}
        show_panels(self._screen, {"-zoomed": bool(panel), **classes})

    def toggle(self) -> None:
        """Zoom the panel that has the focus, or give the body back to all."""
        if self.zoomed:
            self.zoom("")
            return
        focused = self._screen.focused
        while focused is not None and focused.id not in (*self._panels, "why"):
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        panel = focused.id or "ring" if focused is not None else "ring"
        self.zoom("explain" if panel == "why" else panel)

    def focus(self, panel: str) -> None:
        """Give a panel the focus; when one is zoomed, or there is no room for this one, it takes the whole body."""
        if self.zoomed and self.zoomed != panel:
            self.zoom(panel)
        target = self._screen.query_one(f"#{self._inside.get(panel, panel)}")
        if not self._screen.query_one(f"#{panel}").display:
            self.zoom(panel)
        target.focus()
