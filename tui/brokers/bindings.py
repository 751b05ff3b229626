"""The keys of the screen of brokers as one table; footer, help and palette are made from it.

Letters keep what they mean elsewhere: ``a`` adds, ``x`` kills, ``u`` takes back; ``m`` is the load manager and ``s``
goes on to where something happens, as on the screen of bundles. Settings are on ``=``, since ``s`` and ``e`` are taken.
"""

from __future__ import annotations

from typing import Final

from tui.kit.bindings import GIVE_AWAY, TABLE, TYPED, ZOOM, Binding

TIME: Final = (
    Binding("left_square_bracket", "step(-1)", "Back", key_display="[", tooltip="One cycle back"),
    Binding("right_square_bracket", "step(1)", "Forward", key_display="]", tooltip="One cycle forward"),
    Binding("left_curly_bracket", "step(-10)", "Back ten", key_display="{", show=False, tooltip="Ten cycles back"),
    Binding("right_curly_bracket", "step(10)", "On ten", key_display="}", show=False, tooltip="Ten cycles forward"),
    Binding("home", "cycle(0)", "Now", show=False, tooltip="The brokers as reported"),
    Binding("end", "cycle(-1)", "Last", show=False, tooltip="The last cycle of the forecast"),
    Binding("space", "play", "Play", show=False, tooltip="Play the cycles, or pause"),
    Binding("s", "next_unload", "To unload", show=False, tooltip="Go on to the next cycle that unloads"),
)
CHANGE: Final = (
    Binding("x", "kill", "Kill", tooltip="Kill the selected broker: where may its bundles land"),
    Binding("a", "add", "Add", tooltip="Add a broker without bundles: how long it stays idle"),
    Binding("m", "load_manager", "Manager", tooltip="The other load manager"),
    Binding("r", "shedder", "Shedder", tooltip="The next shedding strategy"),
    Binding("t", "placement", "Placement", tooltip="The next placement strategy"),
    Binding("equals_sign", "settings", "Settings", key_display="=", tooltip="Change thresholds and other settings"),
    Binding("u", "undo", "Undo", show=False, tooltip="Undo: take the last change back"),
)
PLACE: Final = (
    ZOOM,
    Binding("shift+down", "scroll_text(3)", "Down", show=False, tooltip="Scroll the next cycle down"),
    Binding("shift+up", "scroll_text(-3)", "Up", show=False, tooltip="Scroll the next cycle up"),
    Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys of this screen"),
    Binding("escape,B", "close", "Back", tooltip="Back to the screen before"),
)
ROWS: Final = (
    Binding("up,down", "none", "Broker", tooltip="Mark another broker"),
    Binding("enter", "none", "Bundles", tooltip="All bundles of the marked broker"),
)
"""Keys that the table has itself, for the help only."""

BINDINGS: Final = (*TIME, *CHANGE, *GIVE_AWAY, *PLACE)
GROUPS: Final = (("time", TIME), ("what if", CHANGE), ("tables", (*TABLE, TYPED)), ("place", (*PLACE, *ROWS)))
