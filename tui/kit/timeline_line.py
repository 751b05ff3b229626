"""The timeline as one line of steps."""

from __future__ import annotations

from typing import Final

from textual.reactive import reactive
from textual.strip import Strip

from engine.text import counted
from engine.views.failover.model import TimelineView
from tui.drawing.timeline import StepMark, TimelinePicture, draw_timeline
from tui.kit.line_widget import LineWidget

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

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.timeline is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = self._words(self.timeline)
        room = max(0, width - len(before) - len(after))
        moment, moments = self.moments
        seen = max(0, moments - 1)
        marks = (*[SEEN] * seen, *(MARKS.get(kind, OTHER) for kind in self.timeline.kinds))
        cursor = moment - 1 if moment < moments else seen + self.timeline.cursor
        picture = TimelinePicture(marks, min(cursor, len(marks)))
        middle = draw_timeline(picture, room, self.colours, ascii_only=self.ascii_only)
        return self.between(before, middle, after)

    def _words(self, timeline: TimelineView) -> tuple[str, str]:
        state = "playing" if self.playing else "time"
        branches = f" {counted(timeline.branches, 'branch')}" if timeline.branches > 1 else ""
        moment, moments = self.moments
        which = f" moment {moment}/{moments}" if moments > 1 else ""
        return f" {state} ", f"{which}{branches} [ ] step "
