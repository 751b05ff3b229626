"""Why nothing arrives: which diagnosis of what brokers reported is shown, and where its causes lead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from textual.screen import Screen

from engine.diagnosis.model import Cause, Diagnosis
from engine.diagnosis.seen import parent_of
from engine.text import counted
from tui.kit.background import run_beside
from tui.kit.line_table import LineTable
from tui.kit.side_place import SidePlace
from tui.kit.store import Store
from tui.kit.why_panel import WhyPanel

NOTHING_REPORTED = "no broker reported anything about this cluster: open answers of one, saved to files"


class Diagnosing:
    """The diagnosis beside the panels: that of the shown subscription first, then of the others, the worst first."""

    def __init__(
        self,
        screen: Screen[None],
        store: Store,
        side: SidePlace,
        complain: Callable[[str], None],
        is_in_front: Callable[[], bool],
    ) -> None:
        self._screen = screen
        self._store = store
        self._side = side
        self._complain = complain
        self._is_in_front = is_in_front

    @property
    def _panel(self) -> WhyPanel:
        return self._screen.query_one(WhyPanel)

    @property
    def marked_text(self) -> str:
        """The marked cause and its fix."""
        return self._panel.marked_text

    def ask(self) -> None:
        """Show the diagnosis of the shown subscription, or the next one where one is shown already."""
        run_beside(self._screen, self._answer, exclusive=True, group="why")

    def follow(self) -> None:
        """Show the same subscription at the moment that is shown now, where one is shown."""
        if self._side.content == "why" and self._panel.moment != self._store.moment[0]:
            run_beside(self._screen, partial(self._answer, again=True), exclusive=True, group="why")

    async def _answer(self, *, again: bool = False) -> None:
        # Thousands of topics take a second: not in the thread that listens to keys.
        diagnoses = await asyncio.to_thread(self._store.diagnoses)
        if not self._is_in_front():
            return
        if not diagnoses:
            self._complain(NOTHING_REPORTED)
            return
        self._show(diagnoses, self._place(diagnoses, again=again))
        if not again:
            self._side.focus(self._panel.query_one(LineTable))

    def _place(self, diagnoses: Sequence[Diagnosis], *, again: bool) -> int:
        shown = self._panel.diagnosis
        if again and shown is not None:
            names = [(diagnosis.namespace, diagnosis.subscription) for diagnosis in diagnoses]
            same = shown.namespace, shown.subscription
            return names.index(same) if same in names else 0
        if self._side.content == "why" and shown in diagnoses:
            return (diagnoses.index(shown) + 1) % len(diagnoses)
        return self._place_of_shown(diagnoses)

    def _place_of_shown(self, diagnoses: Sequence[Diagnosis]) -> int:
        """The place of the shown subscription, or of one of the shown topic; 0, the worst, if brokers reported none."""
        namespace, name = self._store.shown.name
        for at, diagnosis in enumerate(diagnoses):
            if namespace and (diagnosis.namespace, diagnosis.subscription) == (namespace, name):
                return at
            if not namespace and parent_of(diagnosis.topic) == name:
                return at
        return 0

    def _show(self, diagnoses: Sequence[Diagnosis], at: int) -> None:
        panel, steps = self._panel, self._store.timeline.cursor
        panel.since = f"as reported, before {counted(steps, 'step')} of the simulation" if steps else ""
        moment, moments = self._store.moment
        if self._store.shows_earlier_moment:
            panel.since = f"as it was at moment {moment:,} of {moments:,}; later ones play no part"
        panel.moment = moment
        panel.place = (at, len(diagnoses))
        panel.diagnosis = diagnoses[at]
        self._side.turn_to("why")

    def go_to(self, cause: Cause) -> str:
        """Show the subscription of a cause; the name of the consumer that it is about, "" for none of this kind."""
        diagnosis = self._panel.diagnosis
        if diagnosis is None:
            return ""
        kind = self._store.shown.kind
        if not self._store.show_named(diagnosis.namespace, diagnosis.subscription):
            self._complain(f"{diagnosis.subscription} is of the type {diagnosis.type}, which has no screen of its own")
            return ""
        names = (*cause.by, *cause.blocked)
        return names[0] if names and self._store.shown.kind == kind else ""
