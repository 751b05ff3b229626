"""The line at the top of the producers of a topic: the topic, how many of what, how statistics are merged."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from engine.views.producers_model import ProducersStatus
from tui.ranked import KEPT, Part, Ranked, fitted_parts
from tui.wording import NOT_SAVED, counted, not_saved, safe_name, saved_text, short_topic, shorten_middle

GAP = "  "


class ProducersStatusLine(Widget):
    """One line; what does not fit is left out, the least important first."""

    DEFAULT_CSS = """
    ProducersStatusLine { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    status: reactive[ProducersStatus | None] = reactive(None)
    """What is told."""
    saved: reactive[str] = reactive("")
    """Where the steps are kept, in words; "" when nothing keeps them."""

    def render(self) -> Content:
        if self.status is None:
            return Content("")
        return Content.assemble(*producers_status_parts(self.status, self.saved, self.size.width))


def producers_status_parts(status: ProducersStatus, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the topic always stands."""
    return fitted_parts(lambda cells: _parts(status, saved, cells), width)


def _parts(status: ProducersStatus, saved: str, name_cells: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    several = f" [{status.place + 1}/{len(status.places)} n p]" if len(status.places) > 1 else ""
    kept = saved_text(saved, status.steps)
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(short_topic(status.topic), name_cells)}", "bold"),
        (10, " (producers)", "$dim"),
        (4, several, "$dim"),
        (0, f"{GAP}{status.producers:,} x {counted(status.partitions, 'partition')}", "$good bold"),
        (
            5,
            f"{GAP}statistics {'by name' if status.by_name else 'by position'}",
            "$good" if status.by_name else "$warn",
        ),
        (9, f"{GAP}{counted(status.brokers, 'broker')}", "$dim"),
        (7, f"{GAP}Pulsar {status.release}", ""),
        (2, f"{GAP}step {status.step}/{status.steps}", ""),
        (2, f"{GAP}{status.now_ms:,} ms", ""),
        (12, f"{GAP}seed {status.seed}", "$dim"),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        (1, f"{GAP}{NOT_SAVED}", "$bad bold")
        if not_saved(saved)
        else (KEPT if kept == NOT_SAVED else 11, f"{GAP}{kept}" if kept else "", "$dim"),
    ]
    return [part for part in parts if part[1]]
