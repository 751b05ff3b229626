"""What all screens and dialogs have: they leave once, and they are painted as they are arranged."""

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

STYLES_KEPT: Final = 8192
"""More than a picture with a coloured ring has."""


class RingsideScreen(LeavesOnce[ScreenResultType], Generic[ScreenResultType]):
    """A screen that is painted again where Textual moves widgets without saying so.

    After scrolling, Textual arranges all widgets when it is first asked where one is. It does not paint what has moved
    then, nor when it arranges the next time and finds everything in place.
    """

    _arranged: object = None
    """The map of all widgets that the last arrangement left."""

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        was_moved = self._arranged is not None and self._map_of_all() is not self._arranged
        super()._refresh_layout(size, scroll)
        self._arranged = self._map_of_all()
        if was_moved and not scroll:
            self.refresh()

    def _map_of_all(self) -> object:
        return getattr(self._compositor, "_full_map", None)


class RingsideModal(ModalScreen[ScreenResultType], RingsideScreen[ScreenResultType], Generic[ScreenResultType]):
    """A dialog above the dimmed picture of the screen below it."""

    def render(self) -> Any:
        """Draw the background as Textual does, but tint each style once instead of each time it occurs."""
        ground: RenderableType = super().render()
        return DimmedScreen(ground) if isinstance(ground, BackgroundScreen) else ground


class DimmedScreen(Visual):
    """The picture of another screen, tinted and without links. O(segments), expensive only for new styles."""

    def __init__(self, ground: BackgroundScreen) -> None:
        self._screen = ground.screen
        self._tint = ground.color

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """Return the lines of the screen below, at most ``height`` of them."""
        base, tint = style.rich_style, self._tint
        return [
            Strip([Segment(text, tinted(base, segment_style, tint)) for text, segment_style, _ in strip])
            for strip in (line.crop(0, width) for line in self._screen._compositor.render_strips()[:height])
        ]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._screen.size.height


@lru_cache(STYLES_KEPT)
def tinted(base: RichStyle, style: RichStyle | None, tint: Color) -> RichStyle:
    """Return a style as Textual's dialogs show it: on ``base``, with ``tint`` over both colours, without links."""
    (segment,) = BackgroundScreen.process_segments([Segment("", style)], tint)
    return base + (segment.style or RichStyle.null())
