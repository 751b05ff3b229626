"""What the panels of the screen "bundles" are given, made from the view: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.binding import Binding
from textual.content import Content

from engine.views.balance_model import BalanceFrame, BalanceView, TreeRow
from engine.views.balance_words import span_text
from tui.bundles.algorithm_tabs import Tab
from tui.bundles.cycle_slider import FRUITLESS, QUIET, SPLITS, Cycles
from tui.bundles.words import SHORT_NAMES, forecast_lines, status_texts
from tui.kit.footer import KeyHint
from tui.kit.plain_text import NO_TEXT, assembled, below_each_other, plain
from tui.kit.wording import safe_name

STYLES: Final = {
    "head": "bold",
    "text": "$foreground",
    "dim": "$dim",
    "warn": "$warn",
    "bad": "$bad",
    "good": "$good",
}


def status_content(view: BalanceView, several: str, width: int) -> Content:
    """The first line: what is looked at, in as many words as fit."""
    name = f" {safe_name(view.namespace)}{several}  "
    room = width - len(" bundles ") - len(name) - 1
    texts = status_texts(view)
    told = next((text for text in texts if len(text) <= room), texts[-1])
    return assembled((" bundles ", "$accent bold"), (name, "bold"), (told, "$dim"))


def tabs_of(view: BalanceView) -> tuple[Tab, ...]:
    """One tab for each algorithm, with the number of bundles it ends with."""
    return tuple(
        Tab(tree.algorithm, SHORT_NAMES[tree.algorithm], tree.configured, f"{view.bundles} → {tree.bundles}")
        for tree in view.trees
    )


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


def forecast_content(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> Content:
    """The sentences of the forecast with their styles, an empty line before each heading but the first."""
    parts: list[Content] = []
    for text, role in forecast_lines(view, tree, frame):
        if role == "head" and parts:
            parts.append(NO_TEXT)
        parts.append(plain(text, STYLES[role]))
    return below_each_other(parts)


def key_hints(bindings: Sequence[Binding]) -> tuple[KeyHint, ...]:
    """The keys for the footer; those not meant for a small one come last."""
    always = ("close", "help")
    shown = [binding for binding in bindings if binding.show and binding.action not in always]
    hidden = [binding for binding in bindings if not binding.show]
    hints = [_hint(binding) for binding in shown]
    hints += [KeyHint("?", "Help", "screen.help", always=True), KeyHint("esc", "Back", "screen.close", always=True)]
    return (*hints, *(_hint(binding) for binding in hidden))


def _hint(binding: Binding) -> KeyHint:
    key = binding.key_display or binding.key.partition(",")[0]
    return KeyHint(key, binding.description, f"screen.{binding.action}")
