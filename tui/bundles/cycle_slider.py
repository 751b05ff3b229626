"""The cycles to come as one line: what each of them does, and which one is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.reactive import reactive
from textual.strip import Strip

from tui.drawing.cycle_line import CycleMark, draw_cycles
from tui.kit.line_widget import Drawn

SPLITS: Final = CycleMark("/", "warn")
FRUITLESS: Final = CycleMark("x", "bad")
QUIET: Final = CycleMark("·", "dim")


@dataclass(frozen=True, slots=True)
class Cycles:
    """One mark for each cycle, the one shown (0: now), and where that is in words."""

    marks: tuple[CycleMark, ...]
    shown: int
    words: str


class CycleSlider(Drawn):
    """A slash for a cycle that splits, a cross for one whose attempts change nothing, a dot for a quiet one."""

    DEFAULT_CSS = """
    CycleSlider { height: 1; width: 1fr; }
    """

    cycles: reactive[Cycles | None] = reactive(None)
    """What is shown."""

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.cycles is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = " now ", f" {self.cycles.words}  [ ] step "
        room = max(0, width - len(before) - len(after))
        marks, shown = self.cycles.marks, self.cycles.shown
        middle = draw_cycles(marks, shown, room, self.colours, ascii_only=self.ascii_only)
        return self.between(before, middle, after)
