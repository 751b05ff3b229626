"""The keys of the screen of a scalable topic as one table; footer, help and palette are made from it."""

from __future__ import annotations

from typing import Final

from tui.kit.bindings import BROKERS, COMMAND, HOME, UNDO, WHY, Binding, same_reason, screen_keys

CHANGE: Final = (
    Binding("a", "join", "Join", tooltip="A consumer joins"),
    Binding("x", "leave(True)", "Close", tooltip="Close the selected consumer"),
    Binding("X", "leave(False)", "Lose", show=False, tooltip="Cut the consumer's connection"),
    Binding("t", "send", "Send", tooltip="Send messages with keys"),
    Binding("o", "acknowledge(False)", "Ack", tooltip="The consumer acknowledges all"),
    Binding("O", "acknowledge(True)", "Ack all", show=False, tooltip="Every consumer acknowledges all"),
    Binding("m", "split", "Split", show=False, tooltip="Split the marked segment"),
    Binding("r", "traffic", "Traffic", show=False, tooltip="Set messages a second"),
    Binding("full_stop", "wait(2000)", "2 s", key_display=".", show=False, tooltip="Let 2 s pass"),
    Binding(
        "greater_than_sign",
        "wait(60000)",
        "Minute",
        key_display=">",
        show=False,
        tooltip="Let a minute pass",
    ),
)
ASK: Final = (
    Binding("f", "explain", "Key", tooltip="Where a key goes"),
    WHY,
    Binding("b", "ahead", "Next", tooltip="The next automatic steps"),
    Binding("s", "changes", "Split?", tooltip="What a split or merge would move"),
    Binding("h", "heirs", "Heirs", tooltip="Who inherits if the consumer goes"),
    Binding("d", "diff", "Diff", tooltip="What the last step changed"),
    Binding("v", "next_view", "View", tooltip="Ring, one consumer, family tree"),
    Binding(
        "left_parenthesis", "group(-1)", "Back", key_display="(", show=False, tooltip="The previous subscription of it"
    ),
    Binding("right_parenthesis", "group(1)", "On", key_display=")", show=False, tooltip="The next subscription of it"),
    Binding("i", "notices", "Notices", show=False, tooltip="Read everything about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the consumers by name"),
    BROKERS,
    COMMAND,
)
BINDINGS, GROUPS = screen_keys(
    (*CHANGE, UNDO, *ASK[:7], HOME),
    CHANGE,
    ASK,
    ("ring", "Ring", "the ring"),
    ("consumers", "Consumers", "the consumers"),
    ("segments", "Segments", "the segments"),
    ("tree", "Tree", "the family tree"),
    ("events", "Events", "the events"),
)
ELSEWHERE: Final = {
    **same_reason("c", "consistent hashing is for Failover; a controller deals the segments of a scalable topic"),
    **same_reason("P", "a scalable topic has segments in place of partitions"),
    "M": "M shows what would become of a classic topic; this one is scalable",
    "R": "r sets the traffic of the segments; R is for producers",
    **same_reason("T", "t sends: every producer of a scalable topic sends to all segments"),
}
"""Keys of the sister screens, and why they do nothing here."""
