"""The steps so far as one line: what each was, and where we stand."""

from __future__ import annotations

from typing import Final

from textual.reactive import reactive
from textual.strip import Strip

from engine.views.model import TimelineView
from tui.drawing.timeline import StepMark, TimelinePicture, draw_timeline
from tui.kit.line_widget import LineWidget
from tui.kit.wording import counted

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


class TimelineLine(LineWidget):
    """A word on whether time moves by itself, the marks, and the number of branches."""

    DEFAULT_CSS = """
    TimelineLine { height: 1; width: 1fr; }
    """

    timeline: reactive[TimelineView | None] = reactive(None)
    """What is shown."""
    playing: reactive[bool] = reactive(False)
    """Whether steps follow by themselves."""

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.timeline is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = self._words(self.timeline)
        room = max(0, width - len(before) - len(after))
        marks = tuple(MARKS.get(kind, OTHER) for kind in self.timeline.kinds)
        picture = TimelinePicture(marks, min(self.timeline.cursor, len(marks)))
        middle = draw_timeline(picture, room, self.colours, ascii_only=self.ascii_only)
        return self.between(before, middle, after)

    def _words(self, timeline: TimelineView) -> tuple[str, str]:
        state = "playing" if self.playing else "time"
        branches = f" {counted(timeline.branches, 'branch')}" if timeline.branches > 1 else ""
        return f" {state} ", f"{branches} [ ] step "
