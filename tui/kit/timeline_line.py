"""The timeline as one line of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from engine.text import counted
from engine.views.failover.model import TimelineView
from tui.drawing.timeline import StepMark, TimelinePicture, draw_timeline, window
from tui.kit.line_widget import LineWidget
from tui.kit.plain_text import set_tooltip

MARKS: Final = {
    "add": StepMark("+", "good"),
    "kill": StepMark("-", "bad"),
    "setting": StepMark("~", "accent"),
    "topic": StepMark("#", "text"),
    "split": StepMark("/", "warn"),
    "release": StepMark("^", "accent"),
    "send": StepMark(">", "text"),
    "ack": StepMark("=", "good"),
    "wait": StepMark(".", "dim"),
    "fail": StepMark("!", "bad"),
    "recover": StepMark("=", "good"),
}
OTHER: Final = StepMark("*", "text")
SEEN: Final = StepMark("o", "accent")
"""A moment that was seen, after the first one."""


class TimelineLine(LineWidget):
    """A word on whether time moves by itself, the marks, and the number of branches."""

    DEFAULT_CSS = """
    TimelineLine { height: 1; width: 1fr; }
    """

    timeline: reactive[TimelineView | None] = reactive(None)
    moments: reactive[tuple[int, int]] = reactive((0, 0))
    """Which moment that was seen is shown, from 1, and of how many; steps follow behind the last one."""
    playing: reactive[bool] = reactive(False)
    """Whether steps follow by themselves."""

    @dataclass
    class Chosen(Message):
        """A step was clicked on: so many ahead of the one that is shown, or behind it."""

        by: int

    def _position(self, column: int) -> int | None:
        """The step in a column, 0 for the state as opened; None beside them."""
        if self.timeline is None:
            return None
        before, after = self._words(self.timeline)
        steps, cursor = self._marks(self.timeline)
        first, pitch = window(len(steps) + 1, cursor, max(0, self.size.width - len(before) - len(after)))
        at = first + (column - len(before)) // pitch
        return at if len(before) <= column and at <= len(steps) else None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say which step is under the mouse."""
        at = self._position(event.x)
        if at is None or self.timeline is None:
            set_tooltip(self)
            return
        seen = max(0, self.moments[1] - 1)
        kind = f": {self.timeline.kinds[at - seen - 1]}" if at > seen else ""
        which = f"step {at - seen}{kind}" if at > seen else f"moment {at + 1}" if seen else "as opened"
        set_tooltip(self, which)

    def on_click(self, event: events.Click) -> None:
        """Go to the step that was clicked on."""
        at = self._position(event.x)
        if at is not None and self.timeline is not None:
            self.post_message(self.Chosen(at - self._marks(self.timeline)[1]))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.timeline is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = self._words(self.timeline)
        room = max(0, width - len(before) - len(after))
        picture = TimelinePicture(*self._marks(self.timeline))
        middle = draw_timeline(picture, room, self.colours, ascii_only=self.ascii_only)
        return self.between(before, middle, after)

    def _marks(self, timeline: TimelineView) -> tuple[tuple[StepMark, ...], int]:
        """What was seen and done, and how many of these are behind the state that is shown."""
        moment, moments = self.moments
        seen = max(0, moments - 1)
        marks = (*[SEEN] * seen, *(MARKS.get(kind, OTHER) for kind in timeline.kinds))
        return marks, min(moment - 1 if moment < moments else seen + timeline.cursor, len(marks))

    def _words(self, timeline: TimelineView) -> tuple[str, str]:
        state = "playing" if self.playing else "time"
        branches = f" {counted(timeline.branches, 'branch')}" if timeline.branches > 1 else ""
        moment, moments = self.moments
        which = f" moment {moment}/{moments}" if moments > 1 else ""
        return f" {state} ", f"{which}{branches} [ ] step "
