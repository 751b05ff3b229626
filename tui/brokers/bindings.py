"""The keys of the screen "brokers" as one table; footer and help are made from it."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from engine.balance.shed_question import SHEDDERS
from tui.kit.footer import KeyHint

TIME: Final = (
    Binding("left_square_bracket", "step(-1)", "Back", key_display="[", tooltip="One cycle back"),
    Binding("right_square_bracket", "step(1)", "Forward", key_display="]", tooltip="One cycle forward"),
    Binding("left_curly_bracket", "step(-5)", "Back five", key_display="{", show=False, tooltip="Five cycles back"),
    Binding("right_curly_bracket", "step(5)", "On five", key_display="}", show=False, tooltip="Five cycles forward"),
    Binding("home", "cycle(1)", "First", show=False, tooltip="Before the first cycle, as reported"),
    Binding("end", "cycle(-1)", "Last", show=False, tooltip="After the last cycle"),
    Binding("s", "next_unload", "To unload", tooltip="Go on to the next cycle that unloads something"),
)
CHANGE: Final = (
    Binding("a", "add", "Add", tooltip="Add an empty broker"),
    Binding("x", "kill", "Kill", tooltip="Kill the selected broker: where its bundles may land"),
    Binding("u", "undo", "Undo", show=False, tooltip="Undo the last broker added or killed"),
)
RULES: Final = (
    *(
        Binding(str(place), f"shedder({place - 1})", name, show=False, tooltip=f"Shed by {name}")
        for place, name in enumerate(SHEDDERS, start=1)
    ),
    Binding("r", "next_shedder", "Shedder", tooltip="The next shedder"),
    Binding("t", "placement", "Placement", tooltip="The next placement strategy (modular load manager)"),
    Binding("m", "load_manager", "Load manager", tooltip="Modular or extensible load manager"),
    Binding("plus", "threshold(1)", "Threshold", key_display="+", show=False, tooltip="Raise the shedder's threshold"),
    Binding("minus", "threshold(-1)", "Lower", key_display="-", show=False, tooltip="Lower the shedder's threshold"),
)
PLACE: Final = (
    Binding("shift+down", "scroll_words(3)", "Scroll", show=False, tooltip="Scroll the words beside the brokers down"),
    Binding("shift+up", "scroll_words(-3)", "Scroll up", show=False, tooltip="Scroll them up"),
    Binding("z", "zoom", "Zoom", tooltip="One panel alone, and back"),
    Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys of this screen"),
    Binding("escape,B", "close", "Back", tooltip="Back to the main screen"),
)
TABLE: Final = (
    Binding("up,down", "none", "Broker", tooltip="Select another broker: its resources and bundles are below"),
    Binding("pageup,pagedown", "none", "Page", tooltip="A page up or down"),
)
"""Keys that the table has itself, for the help only."""

BINDINGS: Final = (*TIME, *CHANGE, *RULES, *PLACE)
GROUPS: Final = (("time", TIME), ("brokers", CHANGE), ("rules", RULES), ("place", (*PLACE, *TABLE)))


def key_hints() -> tuple[KeyHint, ...]:
    """Make the hints of the footer; keys that a small one leaves out come last."""
    always = ("close", "help")
    shown = [binding for binding in BINDINGS if binding.show and binding.action not in always]
    hidden = [binding for binding in BINDINGS if not binding.show]
    hints = [_hint(binding) for binding in shown]
    hints += [KeyHint("?", "Help", "screen.help", always=True), KeyHint("esc", "Back", "screen.close", always=True)]
    return (*hints, *(_hint(binding) for binding in hidden))


def _hint(binding: Binding) -> KeyHint:
    key = binding.key_display or binding.key.partition(",")[0]
    return KeyHint(key, binding.description, f"screen.{binding.action}")
