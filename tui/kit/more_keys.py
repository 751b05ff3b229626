"""Keys of the user's own: one more key for what another one does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from textual.binding import Binding, BindingType
from textual.keys import _character_to_key

_NAMED: Final = frozenset({"insert", "delete", "backspace", "space", "enter", "escape", "tab"})


def key_name(typed: str) -> str:
    """The name that Textual has for a key; "" for what is none.

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
    found: dict[str, str] = {}
    for binding in bindings:
        if isinstance(binding, Binding):
            for key in binding.key.split(","):
                found.setdefault(key.strip(), binding.tooltip or binding.description)
    return found


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
            problems.append(f"{more!r} = {known!r}: {more!r} is no key; write a character, ctrl+n or f6")
        elif named in used:
            problems.append(f"{more!r} = {known!r}: {more!r} has a meaning already: {used[named]}")
        else:
            taken[named] = meant
    return taken, problems
