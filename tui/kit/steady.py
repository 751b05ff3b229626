"""Screens that paint once for what brings them to the front, and a dimmed ground below dialogs that is cheap to paint.

Textual arranges and paints a screen when it comes to the front, again at the resize event that this sends, again when
its timer finds something to arrange, and again because all containers have other sizes then: several pictures, of which
the last one is meant. Here just that one is painted. The methods that see to it are Textual's own inner ones; where a
later release has none of these names it paints as often as ever, and nothing else differs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Generic

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.color import Color
from textual.css.styles import RulesMap
from textual.geometry import Size
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from tui.kit.leaving import LeavesOnce

POSTPONED_AT_MOST: Final = 3
"""So often in a row a paint is put off for something to arrange: whatever arranges for ever must be seen."""
STYLES_KEPT: Final = 8192
"""More than a picture with a coloured ring has."""


class Steady(LeavesOnce[ScreenResultType], Generic[ScreenResultType]):
    """Painted when nothing is left to arrange, some sixtieths of a second later at most."""

    _arranging = False
    _owes_paint = False
    _postponed = 0
    _arranged: object = None
    """The map of all widgets that the last arrangement left."""

    def _screen_resized(self, size: Size) -> None:
        """Nothing to do where the size is the one it has: what else is to be arranged, the timer finds."""
        if size != self.outer_size:
            super()._screen_resized(size)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        """Arrange; on coming to the front and at another size without a paint."""
        if size is None:
            # After scrolling Textual arranges all widgets again when first asked where one is, and does not paint what
            # has moved until then: neither then nor when it arranges the next time and finds all at its place.
            unpainted = self._arranged is not None and self._map_of_all() is not self._arranged
            super()._refresh_layout(size, scroll)
            self._arranged = self._map_of_all()
            if unpainted and not scroll:
                self.refresh()
            return
        self._arranging = True
        try:
            super()._refresh_layout(size, scroll)
        finally:
            self._arranging = False
            self._arranged = self._map_of_all()
            self.refresh()

    def _map_of_all(self) -> object:
        return getattr(self._compositor, "_full_map", None)

    def _on_timer_update(self) -> None:
        """Arrange or paint: what is arranged sends events that change what is to be painted."""
        if not self.is_current or self.app._batch_count:
            super()._on_timer_update()
            if self._owes_paint:
                self.refresh()
            return
        self._arranging = self._layout_required and self._postponed < POSTPONED_AT_MOST
        try:
            super()._on_timer_update()
        finally:
            arranged, self._arranging = self._arranging, False
        if arranged:
            self._postponed += 1
            self._update_timer.resume()
        elif self._owes_paint:
            self._compositor_refresh()

    def _compositor_refresh(self) -> None:
        self._owes_paint = self._arranging
        if not self._arranging:
            self._postponed = 0
            super()._compositor_refresh()


class SteadyModal(ModalScreen[ScreenResultType], Steady[ScreenResultType], Generic[ScreenResultType]):
    """A dialog above the dimmed picture of the screen below."""

    def render(self) -> Any:
        """As the stock one, but every style is tinted once and not every time that it occurs."""
        ground: RenderableType = super().render()
        return DimmedScreen(ground) if isinstance(ground, BackgroundScreen) else ground


class DimmedScreen(Visual):
    """The picture of another screen, tinted, without links. O(segments), dear only for styles not met before."""

    def __init__(self, ground: BackgroundScreen) -> None:
        self._screen = ground.screen
        self._tint = ground.color

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """The lines of the screen below, as wide as they are; ``height`` of them at most."""
        base, tint = style.rich_style, self._tint
        return [
            Strip([Segment(text, tinted(base, told, tint)) for text, told, _ in strip])
            for strip in (line.crop(0, width) for line in self._screen._compositor.render_strips()[:height])
        ]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._screen.size.height


@lru_cache(STYLES_KEPT)
def tinted(base: RichStyle, style: RichStyle | None, tint: Color) -> RichStyle:
    """What the stock dialog makes of one style: on ``base``, with ``tint`` over both colours, without links."""
    (segment,) = BackgroundScreen.process_segments([Segment("", style)], tint)
    return base + (segment.style or RichStyle.null())
