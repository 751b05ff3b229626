"""What a person can ask on the screen of producers, and going from panel to panel there."""

from __future__ import annotations

from typing import ClassVar, Final

from engine.errors import Rejection
from engine.views.partition_growth import GrowthView
from tui.kit.help import HelpScreen, KeyHelp
from tui.kit.wording import safe_name
from tui.producers.explaining import send_remarks
from tui.producers.hints import state_hint
from tui.producers.screen_slices import ProducersSlices
from tui.producers.words import key_places, name_at

OBJECTS_AT_ONCE: Final = 4_000
"""So many producer objects are added up with every step; more only when somebody asks."""
NO_KEY: Final = "-"
"""What stands for no key where one is asked for."""


class ProducersQuestions(ProducersSlices):
    """The part of the screen that asks the store without changing anything; refusals are said above the panels."""

    zoomable: ClassVar[tuple[str, ...]] = ("ring", "consumers", "costs", "stats", "explain", "events", "sent")
    inside: ClassVar[dict[str, str]] = {"consumers": "table", "stats": "merged"}
    _explained: int = -1

    def action_explain(self) -> None:
        if self.selected < 0:
            self.complain("there is no producer whose message could be explained; a creates some")
            return
        name = name_at(self.now, self.selected)
        known = self.key if self.key is not None else NO_KEY
        self.ask("explain", f"next message of {name} with key", text=known, placeholder="a key; - for none")

    def explain(self, text: str) -> Rejection | None:
        """Open the explanation of the selected producer's next message with this key (``NO_KEY``: without one)."""
        self.key = None if text == NO_KEY else text
        return self.explain_next(self.selected)

    def explain_next(self, number: int) -> Rejection | None:
        """Open the explanation of the next message of a producer; the partition is marked in the matrix."""
        told = self.store.explain_send(number, self.key)
        if isinstance(told, Rejection):
            return told
        self._explained = number
        self.remarks = send_remarks(told)
        self.column = told.told.result.partition
        self.open_explanation()
        return None

    def explain_again(self) -> None:
        """The same question in another state."""
        if self.has_class("-explaining") and self._explained >= 0:
            told = self.store.explain_send(self._explained, self.key)
            if not isinstance(told, Rejection):
                self.remarks = send_remarks(told)

    def action_statistics(self) -> None:
        """Add the statistics up, however long it takes, and go to them."""
        self.statistics = self.store.producer_statistics()
        self.action_panel("stats")

    def add_up(self) -> None:
        """The statistics of the present view, where that is quick and somebody sees them."""
        if not self.in_front:
            return
        quick = self.now.foot.broker_producers <= OBJECTS_AT_ONCE
        self.statistics = self.store.producer_statistics() if quick and self.query_one("#stats").display else None

    def action_notices(self) -> None:
        view = self.now
        notices = [KeyHelp(f"{number}", notice.text) for number, notice in enumerate(view.notices, start=1)]
        down = [KeyHelp(f"{partition}", error) for partition, error in view.partitions.failing[:10]]
        groups = [
            ("what is to be seen", [KeyHelp("", state_hint(view))]),
            ("statistics", [KeyHelp("", self.statistics.sentence)] if self.statistics is not None else []),
            ("not served", down),
            ("known keys", known_keys_told(self.store.known_keys())),
            ("notices", notices or [KeyHelp("", "nothing else to note about what is shown")]),
        ]
        self.app.push_screen(HelpScreen([group for group in groups if group[1]], title="notices"))

    def action_panel(self, panel: str) -> None:
        super().action_panel(panel)
        if panel == "stats" and self.statistics is None:
            self.call_after_refresh(self.add_up)


def known_keys_told(view: GrowthView | None) -> list[KeyHelp]:
    """A line for each key: its partition from Java and from Python, and where it was before the last step."""
    return [KeyHelp(safe_name(each.key), key_places(each)) for each in view.keys] if view is not None else []
