"""The cycles to come as one line: what each of them does, and which one is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.reactive import reactive
from textual.strip import Strip

from engine.views.balance_model import BalanceFrame, BalanceView, TreeRow
from engine.views.balance_words import span_text
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


def slider_of(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> Cycles:
    """A mark for each cycle."""
    outcomes: dict[int, set[bool]] = {}
    for attempt in tree.attempts:
        # What was chosen from a report older than its split is neither here nor there.
        if attempt.outcome != "gone":
            outcomes.setdefault(attempt.cycle, set()).add(attempt.outcome == "split")
    for loop in tree.loops:
        for number in range(loop.first_cycle, loop.last_cycle + 1) if loop.kind == "repeats-without-effect" else ():
            outcomes.setdefault(number, set()).add(False)
    marks = tuple(
        SPLITS if True in outcomes.get(number, ()) else FRUITLESS if number in outcomes else QUIET
        for number in range(1, view.question.cycles + 1)
    )
    words = f"cycle {frame.cycle} of {view.question.cycles}, {span_text(frame.at_seconds)}"
    return Cycles(marks, frame.cycle, words if frame.cycle else f"{view.question.cycles} cycles")
