"""The split algorithms side by side as one line: which one is looked at, and how many bundles each one ends with."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from engine.views.balance_model import BalanceView
from tui.bundles.words import SHORT_NAMES
from tui.kit.plain_text import assembled

FORMS = ("full", "short", "least")


@dataclass(frozen=True, slots=True)
class Tab:
    """One algorithm: its name, a short form, whether the settings lead to it, and what becomes of the bundles."""

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
    """The place of the one looked at."""

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
