"""The keys of the screen of producers as one table; footer, help and palette are made from it."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from tui.screens.main_bindings import MOVING, TIME

CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add producers"),
    Binding("x", "close_producer", "Close", tooltip="Close the selected producer"),
    Binding("t", "send(False)", "Send", tooltip="Send messages by the selected producer"),
    Binding("T", "send(True)", "Send by all", tooltip="Send messages by every producer"),
    Binding("m", "grow", "More", tooltip="Give the topic more partitions"),
    Binding("b", "serve", "Break", tooltip="Break or repair the marked partition"),
    Binding("w", "wait(60000)", "Wait", tooltip="Let a minute of simulated time pass"),
    Binding("W", "wait(10)", "10 ms", show=False, tooltip="Let 10 ms of simulated time pass"),
    Binding("c", "merge", "Merge", show=False, tooltip="Merge statistics by name or position"),
)
ASK: Final = (
    Binding("f", "explain", "Explain", tooltip="Explain what the next message would do"),
    Binding("v", "next_look", "View", tooltip="Colours by reason, or by producer"),
    Binding("s", "statistics", "Statistics", show=False, tooltip="Add the merged statistics up"),
    Binding("i", "notices", "Notices", show=False, tooltip="Read everything about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the producers by name"),
    Binding("colon", "command", "Command", key_display=":", tooltip="Type a command, as in demo scripts"),
)
PLACE: Final = (
    Binding("1", "panel('ring')", "Matrix", show=False, tooltip="Go to the matrix"),
    Binding("2", "panel('consumers')", "Producers", show=False, tooltip="Go to the producers"),
    Binding("3", "panel('costs')", "Costs", show=False, tooltip="Go to what they cost"),
    Binding("4", "panel('stats')", "Statistics", show=False, tooltip="Go to the statistics"),
    Binding("5", "panel('events')", "Events", show=False, tooltip="Go to the events"),
    Binding("6", "panel('sent')", "Happened", show=False, tooltip="Go to what happened"),
    Binding("z", "zoom", "Zoom", tooltip="Zoom the panel in use, and back"),
    Binding("n", "subscription(1)", "Next", show=False, tooltip="Show the next subscription or topic"),
    Binding("p", "subscription(-1)", "Previous", show=False, tooltip="Show the previous one"),
    Binding("escape", "back", "Close", show=False, tooltip="Close what is open"),
)

BINDINGS: Final = (*CHANGE, *ASK, *TIME, *PLACE)
GROUPS: Final = (
    ("change", CHANGE),
    ("ask", ASK),
    ("time", TIME),
    ("panels", (*PLACE, *MOVING)),
)
