"""The narrow slices of a view that the main screen holds, and what all its parts share."""

from __future__ import annotations

from textual.reactive import var

from engine.views.model import ConsumerRow, EventLine, NamespaceNode, RingView, StatusView, TimelineView
from themes.palettes import Palette, palette
from tui.explaining import Remark
from tui.screens.framed import FramedScreen
from tui.store import Store
from tui.widgets.ring_panel import RingLook


class MainSlices(FramedScreen):
    """State only: panels are bound to these, and the parts of the main screen set them."""

    # Not ``reactive``: that would paint the whole screen anew for each of them. The panels paint themselves.
    status: var[StatusView | None] = var(None)
    saved: var[str] = var("")
    consumers: var[tuple[ConsumerRow, ...]] = var(())
    consumers_listed: var[tuple[ConsumerRow, ...]] = var((), init=False)
    ring: var[RingView | None] = var(None)
    namespaces: var[tuple[NamespaceNode, ...]] = var(())
    event_lines: var[tuple[EventLine, ...]] = var((), init=False)
    timeline: var[TimelineView | None] = var(None)
    sentence: var[tuple[str, str]] = var(("hint", ""))
    selected: var[int] = var(-1)
    look: var[RingLook | None] = var(None)
    topic: var[str] = var("")
    remarks: var[tuple[Remark, ...]] = var(())
    intensity: var[float] = var(0.0)
    playing: var[bool] = var(False)
    filter_text: var[str] = var("", init=False)
    zoomed: var[str] = var("")
    colours: var[Palette] = var(palette, init=False)

    store: Store
    ascii_only = False
    failed_expectations = 0
    """How many expectations of a demo script were not met."""
