"""The keys of the main screen as one table; footer, help and palette are made from it."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add a consumer"),
    Binding("x", "kill", "Kill", tooltip="Kill the selected consumer"),
    Binding("c", "toggle_flag", "Ring on/off", tooltip="Toggle the consistent-hashing flag"),
)
ASK: Final = (
    Binding("f", "explain", "Explain", tooltip="Explain a topic: where it goes, and why"),
    Binding("v", "next_look", "View", tooltip="Next view of the ring"),
    Binding("s", "split", "Split", tooltip="Preview splits of the marked bundle"),
    Binding("b", "bundles", "Forecast", show=False, tooltip="Bundles over time: what splits next"),
    Binding("i", "notices", "Notices", show=False, tooltip="Read all notices about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", show=False, tooltip="Filter the consumer table by name"),
    Binding("colon", "command", "Command", key_display=":", tooltip="Type a command, as in demo scripts"),
)
TIME: Final = (
    Binding("u", "undo", "Undo", tooltip="Undo: one step back"),
    Binding("ctrl+r", "redo", "Redo", show=False, tooltip="Redo: one step forward"),
    Binding("left_square_bracket", "step(-1)", "Back", key_display="[", show=False, tooltip="One step back"),
    Binding("right_square_bracket", "step(1)", "Forward", key_display="]", show=False, tooltip="One step forward"),
    Binding("left_curly_bracket", "step(-10)", "Back ten", key_display="{", show=False, tooltip="Ten steps back"),
    Binding("right_curly_bracket", "step(10)", "On ten", key_display="}", show=False, tooltip="Ten steps forward"),
    Binding("home", "home", "First", show=False, tooltip="The state as opened"),
    Binding("end", "end", "Last", show=False, tooltip="The last step"),
    Binding("space", "play", "Play", tooltip="Play the steps, or pause"),
)
PLACE: Final = (
    Binding("1", "panel('ring')", "Ring", show=False, tooltip="Go to the ring"),
    Binding("2", "panel('consumers')", "Consumers", show=False, tooltip="Go to the consumers"),
    Binding("3", "panel('bundles')", "Bundles", show=False, tooltip="Go to the bundle tree"),
    Binding("4", "panel('events')", "Events", show=False, tooltip="Go to the events"),
    Binding("z", "zoom", "Zoom", tooltip="Zoom the panel in use, and back"),
    Binding("n", "subscription(1)", "Next subscription", show=False, tooltip="Show the next subscription"),
    Binding("p", "subscription(-1)", "Previous", show=False, tooltip="Show the previous subscription"),
    Binding("escape", "back", "Close", show=False, tooltip="Close what is open"),
)
MOVING: Final = (
    Binding("tab", "app.focus_next", "Next panel", show=False, tooltip="Next panel (shift+tab: back)"),
    Binding("arrows", "none", "Move", show=False, tooltip="Move in the panel, as h j k l do"),
    Binding("pageup,pagedown", "none", "Page", show=False, tooltip="A page up or down"),
    Binding("g,G", "none", "Ends", show=False, tooltip="First row, last row"),
    Binding("enter", "none", "Open", show=False, tooltip="Open the marked row"),
)
"""Keys that the panels have themselves; told here for the help only."""

BINDINGS: Final = (*CHANGE, *ASK, *TIME, *PLACE)
GROUPS: Final = (
    ("change", CHANGE),
    ("ask", ASK),
    ("time", TIME),
    ("panels", (*PLACE, *MOVING)),
)
