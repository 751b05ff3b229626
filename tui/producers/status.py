"""The line at the top of the producers of a topic: the topic, how many of what, how statistics are merged."""

from __future__ import annotations

from engine.text import counted
from engine.views.producers.model import ProducersStatus
from tui.kit.status_line import GAP, KEPT, Part, Ranked, RankedLine, fitted_parts, place_among, time_and_source
from tui.kit.wording import short_topic, shorten_middle


class ProducersStatusLine(RankedLine[ProducersStatus]):
    """The status of this kind of screen."""

    def parts(self, status: ProducersStatus, width: int) -> list[Part]:
        return producers_status_parts(status, self.saved, width)


def producers_status_parts(status: ProducersStatus, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the topic always stands."""
    return fitted_parts(lambda cells: _parts(status, saved, cells), width)


def _parts(status: ProducersStatus, saved: str, name_cells: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    several = place_among(status.place, len(status.places))
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
        *time_and_source(status, saved),
    ]
    return [part for part in parts if part[1]]
