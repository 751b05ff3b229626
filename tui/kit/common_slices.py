"""The slices of a view that all sister screens hold, and what all their parts share."""

from __future__ import annotations

from collections.abc import Callable

from textual.reactive import var

from engine.views.keys_model import KeysView
from engine.views.model import DashboardView, EventLine, RingView, TimelineView
from engine.views.producers_model import ProducersView
from themes.palettes import Palette, palette
from tui.kit.framed import FramedScreen
from tui.kit.player import Player, Stage
from tui.kit.remarks import Remark
from tui.kit.ring_panel import RingLook
from tui.kit.steady import Steady
from tui.kit.store import Store

Shown = DashboardView | KeysView | ProducersView
"""A view of one kind of screen."""


class CommonSlices(FramedScreen, Steady[None]):
    """State only: panels are bound to these, and the parts of a screen set them."""

    # Not ``reactive``: that would paint the whole screen anew for each of them. The panels paint themselves.
    saved: var[str] = var("")
    ring: var[RingView | None] = var(None)
    few_words: var[tuple[str, ...]] = var(())
    event_lines: var[tuple[EventLine, ...]] = var((), init=False)
    timeline: var[TimelineView | None] = var(None)
    sentence: var[tuple[str, str]] = var(("hint", ""))
    selected: var[int] = var(-1)
    look: var[RingLook | None] = var(None)
    topic: var[str] = var("")
    remarks: var[tuple[Remark, ...]] = var(())
    intensity: var[float] = var(0.0)
    playing: var[bool] = var(False)
    zoomed: var[str] = var("")
    colours: var[Palette] = var(palette, init=False)

    _shown: Shown | None = None
    store: Store
    stage: Stage
    ascii_only = False
    on_front: Callable[[], object] | None = None
    """Called when the screen comes to the front; whoever has several screens chooses then which one it is."""

    @property
    def player(self) -> Player | None:
        """The demo script that plays, if one does."""
        return self.stage.player

    @property
    def failed_expectations(self) -> int:
        """How many expectations of a demo script were not met."""
        return self.stage.failed_expectations

    @property
    def now(self) -> Shown:
        """The view that is shown."""
        raise NotImplementedError

    @property
    def in_front(self) -> bool:
        """Whether the store shows a subscription of the kind that this screen is for."""
        raise NotImplementedError
