"""The keys of the screen of reported subscriptions as one table; footer, help and palette are made from it."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from tui.kit.bindings import BROKERS, CLOSE, COMMAND, SUBSCRIPTIONS, TIME, WHY, ZOOM, grouped, panel_keys, same_reason

ASK: Final = (
    WHY,
    Binding("f", "explain", "Details", tooltip="All that was reported of the selected consumer"),
    Binding("i", "notices", "Notices", tooltip="Read all notices about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", tooltip="Filter the consumer table by name"),
    BROKERS,
    COMMAND,
)
PANELS: Final = panel_keys(
    ("ring", "Topics", "the topics"),
    ("consumers", "Consumers", "the consumers"),
    ("events", "Events", "the events"),
)
PLACE: Final = (*PANELS, ZOOM, *SUBSCRIPTIONS, CLOSE)

BINDINGS: Final = (*ASK, *TIME, *PLACE)
GROUPS: Final = grouped((), ASK, PLACE)[1:]
ELSEWHERE: Final = same_reason(
    "axcmhdtToO.>vsb", "nothing is computed for this type of subscription: what brokers reported is shown (w: why)"
)
"""Keys of the sister screens, and why they do nothing here."""
