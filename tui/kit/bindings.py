"""The bindings that several screens have, how a screen groups its own, and keys that a user adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from textual.binding import Binding, BindingType
from textual.keys import _character_to_key

Groups = tuple[tuple[str, tuple[Binding, ...]], ...]
"""Keys by what they are for."""

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


def panel_keys(*panels: tuple[str, str, str]) -> tuple[Binding, ...]:
    """Digits from 1 on go to panels: id, a word, what it is called in a sentence.

    >>> panel_keys(("ring", "Ring", "the ring"))[0].tooltip
    'Go to the ring'
    """
    return tuple(
        Binding(f"{digit}", f"panel('{panel}')", word, show=False, tooltip=f"Go to {name}")
        for digit, (panel, word, name) in enumerate(panels, start=1)
    )


def grouped(change: tuple[Binding, ...], ask: tuple[Binding, ...], place: tuple[Binding, ...]) -> Groups:
    """All keys of a screen by what they are for, as help, palette and footer want them."""
    return (("change", change), ("ask", ask), ("time", TIME), ("tables", TABLE), ("panels", (*place, *MOVING)))


def by_use(first: Iterable[Binding], *others: Iterable[Binding]) -> tuple[Binding, ...]:
    """All keys of a screen once; a narrow footer keeps those that come first."""
    return tuple(dict.fromkeys((*first, *(binding for group in others for binding in group))))


def same_reason(keys: str, reason: str) -> dict[str, str]:
    """Map several keys to the one reason why they do nothing here.

    >>> same_reason("sb", "no bundles here")
    {'s': 'no bundles here', 'b': 'no bundles here'}
    """
    return dict.fromkeys(keys, reason)


_SIGNS: Final = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "question_mark": "?",
    "colon": ":",
    "slash": "/",
    "circumflex_accent": "^",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
}


def key_text(key: str, binding: Binding) -> str:
    """A key as it is printed on the keyboard."""
    return binding.key_display or _SIGNS.get(key.strip(), key.strip())


_NAMED: Final = frozenset({"insert", "delete", "backspace", "space", "enter", "escape", "tab"})


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


def keys_in_use(bindings: Iterable[BindingType]) -> dict[str, str]:
    """The names of all keys of some bindings, with what the first of them does."""
    texts: dict[str, str] = {}
    for binding in bindings:
        if isinstance(binding, Binding):
            for key in binding.key.split(","):
                texts.setdefault(key.strip(), binding.tooltip or binding.description)
    return texts


def more_keys(pairs: Mapping[str, str], used: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The pairs that can be used, by the names of the keys, and what is wrong with the others.

    >>> more_keys({"K": "x", "c": "x", "J": "%"}, {"x": "Kill", "c": "Toggle"})[0]
    {'K': 'x'}
    """
    taken: dict[str, str] = {}
    problems = []
    for more, known in pairs.items():
        named, meant = key_name(more), key_name(known)
        if meant not in used:
            problems.append(f"{more!r} = {known!r}: no screen has the key {known!r}")
        elif not named:
            problems.append(f"{more!r} = {known!r}: {more!r} is not a key; write a character, ctrl+n or f6")
        elif named in used:
            problems.append(f"{more!r} = {known!r}: {more!r} has a meaning already: {used[named]}")
        else:
            taken[named] = meant
    return taken, problems
