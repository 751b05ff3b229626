"""The cycles to come as one line: what each of them does, and which one is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from themes.palettes import Palette, palette
from tui.drawing.cycle_line import CycleMark, draw_cycles

SPLITS: Final = CycleMark("/", "warn")
FRUITLESS: Final = CycleMark("x", "bad")
QUIET: Final = CycleMark("·", "dim")


@dataclass(frozen=True, slots=True)
class Cycles:
    """One mark for each cycle, the one shown (0: now), and where that is in words."""

    marks: tuple[CycleMark, ...]
    shown: int
    words: str


class CycleSlider(Widget):
    """A slash for a cycle that splits, a cross for one whose attempts change nothing, a dot for a quiet one."""

    DEFAULT_CSS = """
    CycleSlider { height: 1; width: 1fr; }
    """

    cycles: reactive[Cycles | None] = reactive(None)
    """What is shown."""
    colours: reactive[Palette] = reactive(palette)
    """The palette in use."""
    ascii_only = False

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.cycles is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = " now ", f" {self.cycles.words}  [ ] step "
        room = max(0, width - len(before) - len(after))
        marks, shown = self.cycles.marks, self.cycles.shown
        middle = draw_cycles(marks, shown, room, self.colours, ascii_only=self.ascii_only)
        if self.colours.mono:
            middle = middle.apply_style(self.rich_style)
        parts = [self._words(before), middle, self._words(after)]
        return Strip.join(parts).adjust_cell_length(width, self.rich_style)

    def _words(self, text: str) -> Strip:
        return Strip([Segment(text, self.rich_style)], len(text))
