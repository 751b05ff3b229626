"""The keys of the screen of producers as one table; footer, help and palette are made from it."""

from __future__ import annotations

from typing import Final

from tui.kit.bindings import BROKERS, COMMAND, HOME, MIGRATION, UNDO, WAIT, WHY, Binding, same_reason, screen_keys

CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add producers"),
    Binding("x", "close_producer", "Close", tooltip="Close the selected producer"),
    Binding("t", "send(False)", "Send", tooltip="Send messages by the selected producer"),
    Binding("T", "send(True)", "Send by all", tooltip="Send messages by every producer"),
    Binding("r", "rate(False)", "Rate", show=False, tooltip="Set the rate of the selected producer"),
    Binding("R", "rate(True)", "Rate of all", show=False, tooltip="Set the rate of every producer"),
    Binding("m", "grow", "More", tooltip="Give the topic more partitions"),
    Binding("b", "serve", "Break", tooltip="Break or repair the marked partition"),
    *WAIT,
    Binding("c", "merge", "Merge", show=False, tooltip="Merge statistics by name or position"),
)
EXPLAIN: Final = Binding("f", "explain", "Explain", tooltip="Explain what the next message would do")
ASK: Final = (
    EXPLAIN,
    Binding("v", "next_view", "View", tooltip="Colours by reason, or by producer"),
    Binding("s", "statistics", "Statistics", show=False, tooltip="Add the merged statistics up"),
    Binding("i", "notices", "Notices", show=False, tooltip="Read everything about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the producers by name"),
    WHY,
    BROKERS,
    MIGRATION,
    COMMAND,
)
BINDINGS, GROUPS = screen_keys(
    (*CHANGE, UNDO, EXPLAIN, WHY, HOME),
    CHANGE,
    ASK,
    ("ring", "Matrix", "the matrix"),
    ("consumers", "Producers", "the producers"),
    ("costs", "Costs", "what they cost"),
    ("stats", "Statistics", "the statistics"),
    ("events", "Events", "the events"),
    ("sent", "Happened", "what happened"),
)
ELSEWHERE: Final = {
    **same_reason("P()", "one partition is shown alone on the screen of a Key_Shared subscription"),
    **same_reason("oO", "producers acknowledge nothing; consumers of Key_Shared subscriptions do"),
    "h": "heirs are for consumers: nobody inherits what a producer sends",
    "X": "X is for scalable topics: a lost connection",
    "d": "steps are compared by what consumers have; here u and ctrl+r go back and forth",
}
"""Keys of the sister screens, and why they do nothing here."""
