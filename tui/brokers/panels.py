"""The panels of the screen "brokers": a tab for each shedder, a strip over all cycles, and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from engine.views.brokers_model import BrokersFrame, BrokersView, ShedderRow
from tui.brokers.words import SHORT_NAMES, short
from tui.drawing.cycle_line import CycleMark, draw_cycles
from tui.kit.line_widget import LineWidget
from tui.kit.plain_text import assembled
from tui.kit.wording import counted

FORMS: Final = ("full", "short", "least")
RETURNS: Final = CycleMark("!", "bad")
UNLOADS: Final = CycleMark("/", "warn")
QUIET: Final = CycleMark("·", "dim")


class ShedderTabs(Widget):
    """Every shedder on this cluster: unloads in all cycles, and the fullest broker over the mean after them.

    A click chooses, as the digit does.
    """

    DEFAULT_CSS = """
    ShedderTabs { height: 1; width: 1fr; text-wrap: nowrap; link-style: none; link-style-hover: reverse; }
    """

    rows: reactive[tuple[ShedderRow, ...]] = reactive(())
    """All shedders in their usual order."""
    chosen: reactive[str] = reactive("")
    """The one that is asked."""

    def render(self) -> Content:
        forms = [self._parts(form) for form in FORMS]
        fitting = (parts for parts in forms if sum(len(text) for text, _ in parts) <= self.size.width)
        return assembled(*next(fitting, forms[-1]))

    def _parts(self, form: str) -> list[tuple[str, str]]:
        parts: list[tuple[str, str]] = []
        for place, row in enumerate(self.rows):
            here = row.shedder == self.chosen
            name = row.shedder if form == "full" else SHORT_NAMES[row.shedder]
            style = f"{'reverse bold' if here else 'bold'} @click=screen.shedder({place})"
            parts.append((f" {place + 1} {name} ", style if not row.refused else "$dim"))
            if form != "least":
                parts.append((f"{_result(row, full=form == 'full')} ", "$foreground" if here else "$dim"))
        return parts


def _result(row: ShedderRow, *, full: bool) -> str:
    if row.refused:
        return "-"
    if row.after is None:
        return "…"
    even = short(row.after.msgs.max_over_mean)
    return f"{counted(row.unloads, 'unload')}, {even}x" if full else f"{row.unloads} {even}x"


@dataclass(frozen=True, slots=True)
class Cycles:
    """One mark for each cycle, the place of the frame shown, and where that is in words."""

    marks: tuple[CycleMark, ...]
    shown: int
    words: str


class ShedSlider(LineWidget):
    """A slash for a cycle that unloads, an exclamation mark where a bundle comes back, a dot for a quiet one."""

    DEFAULT_CSS = """
    ShedSlider { height: 1; width: 1fr; }
    """

    cycles: reactive[Cycles | None] = reactive(None)
    """What is shown."""

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.cycles is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = " now ", f" {self.cycles.words}  [ ] step "
        room = max(0, width - len(before) - len(after))
        middle = draw_cycles(self.cycles.marks, self.cycles.shown, room, self.colours, ascii_only=self.ascii_only)
        return self.between(before, middle, after)


def slider_of(view: BrokersView, frame: BrokersFrame) -> Cycles:
    """A mark for each cycle, and what this one interrupts."""
    marks = tuple(RETURNS if each.returns else UNLOADS if each.unloads else QUIET for each in view.cycles)
    total = len(view.cycles)
    if frame.number > total:
        return Cycles(marks, total, f"after {counted(total, 'cycle')}")
    here = view.cycles[frame.number - 1]
    done = f": {counted(here.unloads, 'unload')}, {counted(here.topics, 'topic')}" if here.unloads else ""
    return Cycles(marks, frame.number - 1, f"before cycle {frame.number} of {total}{done}")
