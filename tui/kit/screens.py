"""What all screens and dialogs have: they leave once, are painted once, and dialogs dim what is below them cheaply.

Textual arranges and paints a screen when it comes to the front, again at the resize event that this sends, again when
its timer finds something to arrange, and again because all containers have other sizes then: four pictures, of which
only the last is wanted. These classes override private methods of Textual to paint that one alone. Without them the
longest turn of the event loop takes two to three times the CPU time: 29 against 84 ms for the help, 12 against 31 ms
for adding a consumer, 25 against 56 ms for another size of the terminal. Where a later Textual has no methods of these
names, it paints as often as before, and nothing else differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, Generic

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.color import Color
from textual.css.styles import RulesMap
from textual.dom import NoScreen
from textual.geometry import Offset, Size
from textual.message import Message
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widget import Widget

from tui.kit.bindings import Binding, Groups
from tui.kit.footer import CLOSING, KeyFooter, key_hints_of_dialog
from tui.kit.line_table import LineTable

REPORTED_BY: Final = ("textual.widgets.", "tui.")
"""Modules whose messages report what was done to a widget."""
POSTPONED_AT_MOST: Final = 3
"""How often in a row a paint is put off for something to arrange: a screen that arranges for ever must be seen."""
STYLES_KEPT: Final = 8192
"""More than a picture with a coloured ring has."""


class LeavesOnce(Screen[ScreenResultType], Generic[ScreenResultType]):
    """A screen that ignores input once it has been dismissed."""

    _leaving = False

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Leave once, and only from the front: Textual's method removes whatever screen is in front."""
        if self._leaving or self.app.screen is not self:
            return AwaitComplete()
        self._leaving = True
        return super().dismiss(result)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow a screen only to close before it has its parts, and a dialog nothing while it leaves or is gone."""
        if not self.is_mounted and action not in CLOSING:
            return False
        if self.is_modal and (self._leaving or not self.is_attached):
            return False
        return super().check_action(action, parameters)

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """Find no widget that is being removed, alone or with what it is part of: Textual would ask where it is."""
        try:
            widget, offset = super().get_widget_and_offset_at(x, y)
        except NoScreen:
            return None, None
        return (None, None) if widget is not None and widget is not self and widget.parent is None else (widget, offset)

    def check_message_enabled(self, message: Message) -> bool:
        """Refuse keys, clicks and reports of widgets while leaving: what they ask for is done already."""
        if self._leaving and (
            isinstance(message, events.InputEvent) or type(message).__module__.startswith(REPORTED_BY)
        ):
            return False
        return super().check_message_enabled(message)

    async def _dispatch_message(self, message: Message) -> None:
        """Skip messages that came too late: queued before the screen left, or about rows that are gone.

        A screen that is opened while the app ends, or is dismissed before it was mounted, has no widgets, and does
        nothing with them on being mounted.
        """
        if not self.check_message_enabled(message) or (isinstance(message, LineTable.OfRow) and message.is_stale):
            return
        if isinstance(message, events.Mount) and (self.app._exit or self._leaving):
            return
        await super()._dispatch_message(message)


class RingsideScreen(LeavesOnce[ScreenResultType], Generic[ScreenResultType]):
    """A screen that is painted when nothing is left to arrange, a few sixtieths of a second later at most."""

    key_groups: ClassVar[Groups] = ()
    """The keys by what they are for, as help and palette list them."""

    _arranging = False
    _owes_paint = False
    _postponed = 0
    _arranged: object = None
    """The map of all widgets that the last arrangement left."""

    def get_selected_text(self) -> str | None:
        """As the stock one; None where a mark ends below the last line of a text, for which Textual has no place."""
        try:
            return super().get_selected_text()
        except IndexError:
            return None

    def _screen_resized(self, size: Size) -> None:
        """Do nothing at the same size: the timer finds what else is to be arranged."""
        if size != self.outer_size:
            super()._screen_resized(size)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        """Arrange; when the screen comes to the front or changes its size, without a paint."""
        if size is None:
            # After scrolling, Textual arranges all widgets when it is first asked where one is. It does not paint what
            # has moved then, nor when it arranges the next time and finds everything in place. Scrolling alone compares
            # with what was visible, and paints.
            unpainted = self._arranged is not None and self._map_of_all() is not self._arranged
            only_scrolls = scroll and not self._layout_widgets
            super()._refresh_layout(size, scroll)
            self._arranged = self._map_of_all()
            if unpainted and not only_scrolls:
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


class RingsideModal(ModalScreen[ScreenResultType], RingsideScreen[ScreenResultType], Generic[ScreenResultType]):
    """A dialog above the dimmed picture of the screen below it, with its own keys in place of that screen's."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+p", "app.command_palette", "Commands", show=False)]

    def compose_box(self) -> ComposeResult:
        """Make the dialog itself."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield from self.compose_box()
        footer = KeyFooter()
        footer.set_reactive(KeyFooter.keys, key_hints_of_dialog(self.shown_keys(), self.app))
        yield footer

    def show_keys(self, keys: Sequence[Binding]) -> None:
        """Show these keys."""
        self.query_one(KeyFooter).keys = key_hints_of_dialog(keys, self.app)

    @classmethod
    def shown_keys(cls) -> list[Binding]:
        """The keys that the dialog shows: its own ones, then those of every dialog of its kind."""
        declared = (key for above in cls.__mro__ for key in above.__dict__.get("BINDINGS", ()))
        return [key for key in declared if isinstance(key, Binding) and key.show]

    @property
    def key_groups(self) -> Groups:  # type: ignore[override]
        """The keys for the palette."""
        return (("here", tuple(self.shown_keys())),)

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
