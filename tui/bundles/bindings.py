"""The keys of the screen "bundles" as one table; footer and help are made from it."""

from __future__ import annotations

from typing import Final

from engine.config import SPLIT_ALGORITHMS
from tui.bundles.words import SHORT_NAMES
from tui.kit.bindings import GIVE_AWAY, TABLE, TYPED, Binding

TIME: Final = (
    Binding("left_square_bracket", "step(-1)", "Back", key_display="[", tooltip="One cycle back"),
    Binding("right_square_bracket", "step(1)", "Forward", key_display="]", tooltip="One cycle forward"),
    Binding("left_curly_bracket", "step(-5)", "Back five", key_display="{", show=False, tooltip="Five cycles back"),
    Binding("right_curly_bracket", "step(5)", "On five", key_display="}", show=False, tooltip="Five cycles forward"),
    Binding("home", "cycle(0)", "Now", show=False, tooltip="The bundles as they are now"),
    Binding("end", "cycle(-1)", "Last", show=False, tooltip="The last cycle of the forecast"),
    Binding("s", "next_split", "To split", tooltip="Go on to the next split"),
)
RULES: Final = (
    *(
        Binding(
            str(place + 1), f"algorithm({place})", SHORT_NAMES[name].capitalize(), show=False, tooltip=f"Cut by {name}"
        )
        for place, name in enumerate(SPLIT_ALGORITHMS)
    ),
    Binding("tab", "next_algorithm(1)", "Algorithm", tooltip="The next algorithm"),
    Binding("shift+tab", "next_algorithm(-1)", "Previous algorithm", show=False, tooltip="The previous algorithm"),
    Binding("m", "load_manager", "Load manager", tooltip="Modular or extensible load manager"),
    Binding("A", "as_if_on", "As if on", tooltip="As if automatic splits were on"),
    Binding("r", "rule", "Rule", tooltip="The merged or the proposed rule"),
)
CLUSTER: Final = (
    Binding("plus", "brokers(1)", "Broker", key_display="+", show=False, tooltip="One broker more"),
    Binding("minus", "brokers(-1)", "Fewer brokers", key_display="-", show=False, tooltip="One broker fewer"),
    Binding("t", "growth", "Traffic", tooltip="Let the traffic grow"),
    Binding("n", "namespace(1)", "Next namespace", show=False, tooltip="Show the next namespace"),
    Binding("p", "namespace(-1)", "Previous namespace", show=False, tooltip="Show the previous namespace"),
)
PLACE: Final = (
    Binding("shift+down", "scroll_forecast(3)", "Forecast", show=False, tooltip="Scroll the forecast down"),
    Binding("shift+up", "scroll_forecast(-3)", "Forecast up", show=False, tooltip="Scroll the forecast up"),
    Binding("z", "zoom", "Zoom", tooltip="One panel alone, and back"),
    Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys of this screen"),
    Binding("escape,b", "close", "Back", tooltip="Back to the main screen"),
)
TREE: Final = (
    Binding("up,down", "none", "Bundle", tooltip="Next or previous bundle"),
    Binding("pageup,pagedown", "none", "Page", tooltip="A page up or down"),
    Binding("enter", "none", "Next split", tooltip="Mark the bundle that splits next"),
)
"""Keys that the tree has itself, for the help only."""

BINDINGS: Final = (*TIME, *RULES, *CLUSTER, *GIVE_AWAY, *PLACE)
GROUPS: Final = (
    ("time", TIME),
    ("rules", RULES),
    ("cluster", CLUSTER),
    ("tables", (*TABLE, TYPED)),
    ("place", (*PLACE, *TREE)),
)
