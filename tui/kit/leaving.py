"""Screens that are dismissed once, however many keys and clicks arrive before they are gone."""

from __future__ import annotations

from typing import Final, Generic

from textual import events
from textual.await_complete import AwaitComplete
from textual.dom import NoScreen
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from tui.kit.line_table import LineTable

REPORTED_BY: Final = ("textual.widgets.", "tui.")
"""Modules whose messages report what was done to a widget."""
CLOSING: Final = frozenset({"close", "cancel", "dismiss"})
"""What can be done with a dialog that is not there yet."""


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
        """Let a dialog do nothing but close before it has its parts, and nothing at all when it leaves or is gone."""
        is_there = self.is_mounted or action in CLOSING
        if self.is_modal and (self._leaving or not self.is_attached or not is_there):
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
