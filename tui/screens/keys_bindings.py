"""The keys of the screen for Key_Shared subscriptions as one table; footer, help and palette are made from it."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from tui.screens.main_bindings import MOVING, TIME

CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add a consumer"),
    Binding("x", "kill", "Kill", tooltip="Kill the selected consumer"),
    Binding("m", "mode", "Mode", tooltip="Change how keys are shared"),
    Binding("t", "send", "Send", tooltip="Send messages with a key"),
    Binding("o", "acknowledge(1)", "Ack", tooltip="Let the consumer acknowledge its oldest"),
    Binding("O", "acknowledge(0)", "Ack all", show=False, tooltip="Let the consumer acknowledge everything"),
    Binding("w", "wait", "Wait", show=False, tooltip="Let 10 ms of simulated time pass"),
)
ASK: Final = (
    Binding("f", "explain", "Explain", tooltip="Explain a key: where it goes, and why"),
    Binding("v", "next_look", "View", tooltip="Next view of the slots"),
    Binding("i", "notices", "Notices", show=False, tooltip="Read everything about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the consumer table by name"),
    Binding("colon", "command", "Command", key_display=":", tooltip="Type a command, as in demo scripts"),
)
PLACE: Final = (
    Binding("1", "panel('ring')", "Slots", show=False, tooltip="Go to the slots"),
    Binding("2", "panel('consumers')", "Consumers", show=False, tooltip="Go to the consumers"),
    Binding("3", "panel('waits')", "Waits", show=False, tooltip="Go to what waits"),
    Binding("4", "panel('gaps')", "Gaps", show=False, tooltip="Go to the gaps"),
    Binding("5", "panel('events')", "Events", show=False, tooltip="Go to the events"),
    Binding("6", "panel('sent')", "Sent", show=False, tooltip="Go to what was sent"),
    Binding("z", "zoom", "Zoom", tooltip="Zoom the panel in use, and back"),
    Binding("n", "subscription(1)", "Next subscription", show=False, tooltip="Show the next subscription"),
    Binding("p", "subscription(-1)", "Previous", show=False, tooltip="Show the previous subscription"),
    Binding("escape", "back", "Close", show=False, tooltip="Close what is open"),
)

BINDINGS: Final = (*CHANGE, *ASK, *TIME, *PLACE)
GROUPS: Final = (
    ("change", CHANGE),
    ("ask", ASK),
    ("time", TIME),
    ("panels", (*PLACE, *MOVING)),
)
