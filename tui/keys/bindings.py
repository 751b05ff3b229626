"""The keys of the screen for Key_Shared subscriptions as one table; footer, help and palette are made from it."""

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
    WAIT,
    WHY,
    Binding,
    same_reason,
    screen_keys,
)

CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add a consumer"),
    Binding("x", "kill", "Kill", tooltip="Kill the selected consumer"),
    Binding("m", "mode", "Mode", tooltip="Change how keys are shared"),
    Binding("t", "send", "Send", tooltip="Send messages with a key"),
    Binding("o", "acknowledge(1)", "Ack", tooltip="Let the consumer acknowledge its oldest"),
    Binding("O", "acknowledge(0)", "Ack all", show=False, tooltip="Let the consumer acknowledge everything"),
    *WAIT,
)
EXPLAIN: Final = Binding("f", "explain", "Explain", tooltip="Explain where a key goes, and why")
ASK: Final = (
    EXPLAIN,
    WHY,
    HEIRS,
    DIFF,
    Binding("v", "next_view", "View", tooltip="Next view of the slots"),
    Binding("i", "notices", "Notices", show=False, tooltip="Read everything about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the consumer table by name"),
    BROKERS,
    MIGRATION,
    COMMAND,
    Binding("P", "partition", "Partition", show=False, tooltip="Show one partition, or all of them"),
    Binding(
        "right_parenthesis", "step_partition(1)", "Next", key_display=")", show=False, tooltip="Show the next partition"
    ),
    Binding(
        "left_parenthesis",
        "step_partition(-1)",
        "Previous",
        key_display="(",
        show=False,
        tooltip="Show the partition before, or all",
    ),
)
BINDINGS, GROUPS = screen_keys(
    (*CHANGE, UNDO, EXPLAIN, WHY, HEIRS, DIFF, BROKERS, HOME),
    CHANGE,
    ASK,
    ("ring", "Slots", "the slots"),
    ("consumers", "Consumers", "the consumers"),
    ("waits", "Waits", "what waits"),
    ("gaps", "Gaps", "the gaps"),
    ("events", "Events", "the events"),
    ("sent", "Sent", "what was sent"),
)
ELSEWHERE: Final = {
    "c": "the consistent-hashing flag is for Failover subscriptions; m changes how this one shares keys",
    "T": "T sends by all producers of a topic; t sends messages with a key",
    **same_reason("rR", "rates are given to producers and scalable topics; t sends messages with a key"),
    **same_reason("sb", "bundles are split and forecast on the screen of a Failover subscription"),
    "X": "X is for scalable topics: a lost connection",
}
"""Keys of the sister screens, and why they do nothing here."""
