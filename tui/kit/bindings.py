"""The bindings that several screens have, how a screen groups its own, and the keys that a user gives to actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct
from textual.app import App
from textual.binding import Binding as AnyBinding
from textual.keys import _character_to_key, key_to_character


class Binding(AnyBinding):
    """A binding whose id is the name of its action, for the user's own keys.

    >>> Binding("c", "toggle_flag", "Ring on/off").id, Binding("full_stop", "wait(10)", "10 ms").id
    ('toggle-flag', 'wait-10-ms')
    """

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        # What has priority, as ctrl+c, stays where it is.
        if self.id is None and not self.priority and self.action != "none":
            name, _, arguments = self.action.rpartition(".")[2].partition("(")
            words = f"{name} {self.description}" if arguments else name
            object.__setattr__(self, "id", "-".join(words.lower().replace("_", " ").split()))


Groups = tuple[tuple[str, tuple[Binding, ...]], ...]
"""Keys by what they are for."""

EVERYWHERE: Final = (
    Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys"),
    Binding("q", "quit", "Quit", tooltip="Quit"),
)
COMMAND: Final = Binding("colon", "command", "Command", key_display=":", tooltip="Type a command (:help lists all)")
WHY: Final = Binding("w", "why", "Why", tooltip="Why nothing arrives, as reported")
HEIRS: Final = Binding("h", "heirs", "Heirs", tooltip="Who inherits if the consumer goes")
BROKERS: Final = Binding("B", "brokers", "Brokers", tooltip="Brokers: which bundle moves next")
DIFF: Final = Binding("d", "diff", "Diff", tooltip="Compare steps, or with the other rule")
MIGRATION: Final = Binding("M", "migration", "Migrate", show=False, tooltip="What a scalable topic becomes of it")
WAIT: Final = (
    Binding("full_stop", "wait(10)", "10 ms", key_display=".", show=False, tooltip="Let 10 ms of simulated time pass"),
    Binding(
        "greater_than_sign",
        "wait(60000)",
        "Minute",
        key_display=">",
        show=False,
        tooltip="Let a minute of simulated time pass",
    ),
)
TABLE: Final = (
    Binding("comma", "sort", "Sort", key_display=",", show=False, tooltip="Sort by the next column"),
    Binding("semicolon", "reverse", "Reverse", key_display=";", show=False, tooltip="Reverse the order"),
    Binding("y", "copy", "Copy", show=False, tooltip="Copy the row or the explanation"),
    Binding("e", "export", "Export", show=False, tooltip="Export the table or the screen"),
)
"""Keys for tables; a click on a heading sorts, too."""
TYPED: Final = Binding(
    "colon", "command", "Command", key_display=":", show=False, tooltip="Type a command; :help lists them"
)
GIVE_AWAY: Final = (*(binding for binding in TABLE if binding.action in ("copy", "export")), TYPED)
"""Keys of a screen around a table; sorting is done by the table itself."""
ZOOM: Final = Binding("z", "zoom", "Zoom", tooltip="Zoom the panel in use, and back")
CLOSE: Final = Binding("escape", "back", "Close", show=False, tooltip="Close what is open")
HOME: Final = Binding("0", "home_list", "List", tooltip="List everything, the worst first")
SUBSCRIPTIONS: Final = (
    HOME,
    Binding("n", "subscription(1)", "Next subscription", show=False, tooltip="Show the next subscription or topic"),
    Binding("p", "subscription(-1)", "Previous", show=False, tooltip="Show the previous one"),
    Binding("ctrl+f", "find", "Find", show=False, tooltip="Find anything by a part of its name"),
)
UNDO: Final = Binding("u", "undo", "Undo", tooltip="Undo: one step back")
TIME: Final = (
    UNDO,
    Binding("ctrl+r", "redo", "Redo", show=False, tooltip="Redo: one step forward"),
    Binding("left_square_bracket", "step(-1)", "Back", key_display="[", show=False, tooltip="One step back"),
    Binding("right_square_bracket", "step(1)", "Forward", key_display="]", show=False, tooltip="One step forward"),
    Binding("left_curly_bracket", "step(-10)", "Back ten", key_display="{", show=False, tooltip="Ten steps back"),
    Binding("right_curly_bracket", "step(10)", "On ten", key_display="}", show=False, tooltip="Ten steps forward"),
    Binding("home", "home", "First", show=False, tooltip="The state as opened"),
    Binding("end", "end", "Last", show=False, tooltip="The last step"),
    Binding("space", "play", "Play", tooltip="Play the steps, or pause"),
)
MOVING: Final = (
    Binding("tab", "app.focus_next", "Next panel", show=False, tooltip="Next panel (shift+tab: back)"),
    Binding("arrows", "none", "Move", show=False, tooltip="Move in the panel, as j k do too"),
    Binding("pageup,pagedown", "none", "Page", show=False, tooltip="A page up or down"),
    Binding("g,G", "none", "Ends", show=False, tooltip="First row, last row"),
    Binding("enter", "none", "Open", show=False, tooltip="Open the marked row"),
)
"""Keys that the panels have themselves, for the help only."""


def screen_keys(
    first: Iterable[Binding], change: tuple[Binding, ...], ask: tuple[Binding, ...], *panels: tuple[str, str, str]
) -> tuple[tuple[Binding, ...], Groups]:
    """All keys of a screen once, those first that a narrow footer keeps; and by use, for help, palette and footer.

    ``change`` and ``ask`` are the screen's own; digits from 1 on go to ``panels``: id, a word, what it is called in a
    sentence.

    >>> bindings, groups = screen_keys([UNDO], (), (WHY,), ("ring", "Ring", "the ring"))
    >>> [binding.key for binding in bindings][:2], groups[-1][1][0].tooltip
    (['u', 'w'], 'Go to the ring')
    """
    digits = (
        Binding(f"{digit}", f"panel('{panel}')", word, show=False, tooltip=f"Go to {name}")
        for digit, (panel, word, name) in enumerate(panels, start=1)
    )
    place = (*digits, ZOOM, *SUBSCRIPTIONS, CLOSE)
    groups = (("change", change), ("ask", ask), ("time", TIME), ("tables", TABLE), ("panels", (*place, *MOVING)))
    return tuple(dict.fromkeys((*first, *ask, *TIME, *TABLE, *place))), groups


def same_reason(keys: str, reason: str) -> dict[str, str]:
    """Map several keys to the one reason why they do nothing here.

    >>> same_reason("sb", "no bundles here")
    {'s': 'no bundles here', 'b': 'no bundles here'}
    """
    return dict.fromkeys(keys, reason)


_SIGNS: Final = {"slash": "/", "plus": "+", "minus": "-", "escape": "esc", "pageup": "pgup", "pagedown": "pgdn"}


def key_text(key: str, binding: AnyBinding) -> str:
    """A key as it is printed on the keyboard.

    >>> [key_text(key, UNDO) for key in ("u", "left_square_bracket", "slash", "space", "f5")]
    ['u', '[', '/', 'space', 'f5']
    """
    key = key.strip()
    character = key_to_character(key) or ""
    seen = character if character.isprintable() and character != " " else ""
    return binding.key_display or _SIGNS.get(key) or seen or key


def in_force(bindings: Iterable[Binding], app: App[Any]) -> list[Binding]:
    """Give bindings the keys that the user chose."""
    chosen = app._keymap  # Textual has no public way to read it
    return [
        replace(each, key=keys, key_display=None) if (keys := chosen.get(each.id or "")) else each for each in bindings
    ]


_NAMED: Final = frozenset(
    {"insert", "delete", "backspace", "space", "enter", "escape", "tab"}
    | {"up", "down", "left", "right", "home", "end", "pageup", "pagedown"}
)


def key_name(typed: str) -> str:
    """Return Textual's name of a key; "" for a text that is not a key.

    >>> [key_name(each) for each in ("K", "[", "ctrl+n", "f6", "alt+x", "no key", "")]
    ['K', 'left_square_bracket', 'ctrl+n', 'f6', 'alt+x', '', '']
    """
    if len(typed) == 1:
        return _character_to_key(typed) if typed.isprintable() else ""
    *modifiers, last = typed.split("+")
    if not last or not set(modifiers) <= {"ctrl", "alt", "shift"}:
        return ""
    whole = len(last) == 1 or last in _NAMED or (last[0] == "f" and last[1:] in map(str, range(1, 25)))
    return typed if whole else ""


class ChosenKeys(Struct, frozen=True):
    """``keymap``: names of actions -> their keys, as Textual takes them. ``problems`` say what was left out."""

    keymap: Mapping[str, str]
    problems: Sequence[str] = ()


def chosen_keys(wishes: Mapping[str, Sequence[str]], screens: Sequence[Sequence[AnyBinding]]) -> ChosenKeys:
    """Give actions the keys that a user wrote for them, where no screen has another action at one of them.

    >>> keys = (Binding("x", "kill", "Kill"), Binding("c", "toggle_flag", "Ring on/off"))
    >>> chosen_keys({"kill": ["K", "f6"], "toggle-flag": ["x"]}, [keys]).keymap
    {'kill': 'K,f6', 'toggle-flag': 'x'}
    >>> chosen_keys({"kill": ["c"], "K": ["x"], "toggle-flag": ["no key"]}, [keys])  # doctest: +NORMALIZE_WHITESPACE
    ChosenKeys(keymap={}, problems=["'K' is not an action; ringside config keys lists them",
    "toggle-flag: 'no key' is not a key; write a character, ctrl+n or f6",
    "kill: 'c' is the key of toggle-flag (Ring on/off); give that another key, too"])
    """
    named = {each.id for screen in screens for each in screen}
    keymap: dict[str, str] = {}
    problems = []
    for name, keys in wishes.items():
        wrong = [key for key in keys if not key_name(key)]
        if name not in named:
            problems.append(f"{name!r} is not an action; ringside config keys lists them")
        elif wrong or not keys:
            problems.append(f"{name}: {(wrong or [''])[0]!r} is not a key; write a character, ctrl+n or f6")
        else:
            keymap[name] = ",".join(map(key_name, keys))
    while clash := next(filter(None, (_clash(keymap, screen) for screen in screens)), None):
        name, key, other = clash
        del keymap[name]
        of = f" of {other.id}" if other.id else ""
        words = other.tooltip or other.description
        problems.append(f"{name}: {key!r} is the key{of} ({words}); give that another key, too")
    return ChosenKeys(keymap, problems)


def _clash(keymap: Mapping[str, str], screen: Sequence[AnyBinding]) -> tuple[str, str, AnyBinding] | None:
    """A chosen action with one of its keys and the other binding that has it on a screen; None for no such."""
    holders: dict[str, list[AnyBinding]] = {}
    for each in screen:
        for key in keymap.get(each.id or "", each.key).split(","):
            holders.setdefault(key.strip(), []).append(each)
    for key, bindings in holders.items():
        chosen = next((each for each in reversed(bindings) if each.id in keymap), None)
        others = [each for each in bindings if chosen is not None and each.id != chosen.id]
        if chosen is not None and chosen.id is not None and others:
            return chosen.id, key_text(key, Binding(key, "none")), others[0]
    return None
