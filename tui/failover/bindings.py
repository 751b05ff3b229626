"""The bindings of the main screen; footer, help and palette are made from the bindings."""

from __future__ import annotations

from typing import Final

from tui.kit.bindings import (
    BROKERS,
    COMMAND,
    DIFF,
    HEIRS,
    HOME,
    MIGRATION,
    UNDO,
    WHY,
    Binding,
    same_reason,
    screen_keys,
)

CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add a consumer"),
    Binding("x", "kill", "Kill", tooltip="Kill the selected consumer"),
    Binding("c", "toggle_flag", "Ring on/off", tooltip="Toggle the consistent-hashing flag"),
)
EXPLAIN: Final = Binding("f", "explain", "Explain", tooltip="Explain where a topic goes, and why")
FORECAST: Final = Binding("b", "bundles", "Forecast", tooltip="Bundles over time: what splits next")
ASK: Final = (
    EXPLAIN,
    WHY,
    HEIRS,
    DIFF,
    Binding("v", "next_view", "View", tooltip="Next view of the ring"),
    Binding("s", "split", "Split", tooltip="Preview splits of the marked bundle"),
    FORECAST,
    Binding("i", "notices", "Notices", show=False, tooltip="Read all notices about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the consumer table by name"),
    BROKERS,
    MIGRATION,
    COMMAND,
)
BINDINGS, GROUPS = screen_keys(
    (*CHANGE, UNDO, EXPLAIN, WHY, HEIRS, DIFF, FORECAST, BROKERS, HOME),
    CHANGE,
    ASK,
    ("ring", "Ring", "the ring"),
    ("consumers", "Consumers", "the consumers"),
    ("bundles", "Bundles", "the bundle tree"),
    ("events", "Events", "the events"),
)
ELSEWHERE: Final = {
    **same_reason("P()", "one partition is shown alone on the screen of a Key_Shared subscription"),
    "m": "m is for Key_Shared subscriptions (how keys are shared) and for producers (more partitions)",
    **same_reason("tT", "messages are sent to Key_Shared subscriptions and by producers; here rates are given"),
    **same_reason("rR", "producers and scalable topics have rates of their own; here t gives partitions theirs"),
    **same_reason("oO", "messages are acknowledged on Key_Shared subscriptions; here rates are given"),
    **same_reason(".>", "time passes for Key_Shared subscriptions and producers; here nothing waits"),
    "X": "X is for scalable topics: a lost connection",
}
"""Keys of the sister screens, and why they do nothing here."""
