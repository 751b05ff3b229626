"""A ring in a dialog: one of the states that it compares."""

from __future__ import annotations

from engine.views.failover.model import DashboardView
from engine.views.keys.model import KeysView
from themes.palettes import Palette
from tui.kit.ring_panel import RingPanel
from tui.kit.shown import Side, Sides


class SideRing(RingPanel, can_focus=False):
    """Shows a view of a subscription; the keys are those of the dialog's table."""

    def __init__(self, colours: Palette, *, ascii_only: bool, flashes: bool, id: str) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, ascii_only=ascii_only)
        self.flashes = flashes
        self.few_words = ("",)  # a middle too small for the words stays empty
        self.set_reactive(RingPanel.colours, colours)

    def show(self, view: Side) -> None:
        """Draw a state; where it does not have the subscription, nothing."""
        self.rows = () if view is None else view.consumers
        self.weights = tuple(row.active_partitions for row in view.consumers) if isinstance(view, DashboardView) else ()
        self.dots = "keys" if isinstance(view, KeysView) else "partitions"
        self.ring = None if view is None else view.ring

    def show_change(self, sides: Sides) -> None:
        """Draw the second state; what it has otherwise than the first one moves there."""
        before, after = sides
        self.show(before)
        self.picture()
        self.show(after)
        self.flash()
