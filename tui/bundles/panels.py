"""The panels of the screen "bundles", and the values that they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from engine.views.bundles.model import BalanceFrame, BalanceView, TreeRow
from engine.views.bundles.words import span_text
from tui.bundles.words import SHORT_NAMES
from tui.drawing.timeline import CycleMark, draw_cycles
from tui.kit.line_widget import LineWidget
from tui.kit.plain_text import assembled

FORMS = ("full", "short", "least")


@dataclass(frozen=True, slots=True)
class Tab:
    """One algorithm: its name, a short form, whether the settings choose it, and the bundles before and after."""

    name: str
    short: str
    configured: bool
    result: str


class AlgorithmTabs(Widget):
    """A click chooses, as the digit does."""

    DEFAULT_CSS = """
    AlgorithmTabs { height: 1; width: 1fr; text-wrap: nowrap; link-style: none; link-style-hover: reverse; }
    """

    tabs: reactive[tuple[Tab, ...]] = reactive(())
    """All algorithms in their usual order."""
    chosen: reactive[int] = reactive(0)
    """The index of the algorithm shown."""

    def render(self) -> Content:
        forms = [self._parts(form) for form in FORMS]
        fitting = (parts for parts in forms if sum(len(text) for text, _ in parts) <= self.size.width)
        return assembled(*next(fitting, forms[-1]))

    def _parts(self, form: str) -> list[tuple[str, str]]:
        """All tabs: with full names, with short ones, or with short ones and the outcome alone."""
        parts: list[tuple[str, str]] = []
        for place, tab in enumerate(self.tabs):
            click = f"@click=screen.algorithm({place})"
            here = place == self.chosen
            mark = "*" if tab.configured else ""
            name = tab.name if form == "full" else tab.short
            result = f"{tab.result}  " if form != "least" else f"{tab.result.rpartition(' ')[2]} "
            parts.append((f" {place + 1} {name}{mark} ", f"{'reverse bold' if here else 'bold'} {click}"))
            parts.append((result, "$foreground" if here else "$dim"))
        return parts


def tabs_of(view: BalanceView) -> tuple[Tab, ...]:
    """One tab for each algorithm, with the number of bundles it ends with."""
    return tuple(
        Tab(tree.algorithm, SHORT_NAMES[tree.algorithm], tree.configured, f"{view.bundles} → {tree.bundles}")
        for tree in view.trees
    )


SPLITS: Final = CycleMark("/", "warn")
FRUITLESS: Final = CycleMark("x", "bad")
QUIET: Final = CycleMark("·", "dim")


@dataclass(frozen=True, slots=True)
class Cycles:
    """One mark for each cycle, the one shown (0: now), and where that is in words."""

    marks: tuple[CycleMark, ...]
    shown: int
    words: str


class CycleSlider(LineWidget):
    """A slash for a cycle that splits, a cross for one whose attempts change nothing, a dot for a quiet one."""

    DEFAULT_CSS = """
    CycleSlider { height: 1; width: 1fr; }
    """

    cycles: reactive[Cycles | None] = reactive(None)
    """None before the first answer."""

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
        # A bundle that is gone was chosen from a report older than its split: neither a split nor a failed attempt.
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
