"""The keys that work now, made from the bindings; what does not fit is left to the help screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from textual.app import App
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.kit.bindings import EVERYWHERE, Binding, in_force, key_text
from tui.kit.plain_text import assembled

TWINS: Final = {"[": "]", "{": "}", "+": "-"}
"""Pairs of keys of which one alone says only half."""
CLOSING: Final = frozenset({"close", "cancel", "dismiss"})
"""Actions that end a dialog."""


class KeyHint(Struct, frozen=True):
    """One key as people know it, what it does, the action behind it, and whether it must always be seen."""

    key: str
    label: str
    action: str
    always: bool = False
    enabled: bool = True


class KeyFooter(Widget):
    """One line of keys; a click does what the key does."""

    DEFAULT_CSS = """
    KeyFooter { height: 1; dock: bottom; width: 1fr; text-wrap: nowrap; link-style: none; link-style-hover: reverse; }
    """

    keys: reactive[tuple[KeyHint, ...]] = reactive(())
    """All keys worth showing, most useful first."""

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        for hint in fitting(self.keys, self.size.width):
            click = f"@click={hint.action}" if hint.enabled else ""
            parts.append((f" {hint.key}", f"$accent bold {click}" if hint.enabled else "$dim"))
            parts.append((f" {hint.label} ", click if hint.enabled else "$dim"))
        return assembled(*parts)


def fitting(hints: Sequence[KeyHint], width: int) -> tuple[KeyHint, ...]:
    """The hints that fit ``width`` cells in their order; those marked ``always`` have their room kept.

    Twins such as ``[`` and ``]`` are shown together or not at all.
    """
    kept_free = sum(_cells(hint) for hint in hints if hint.always)
    shown = []
    room = width - kept_free
    for hint in hints:
        if hint.always:
            shown.append(hint)
        elif _cells(hint) <= room:
            room -= _cells(hint)
            shown.append(hint)
        else:
            room = 0  # no gaps: a later, shorter one must not jump the queue
    keys, known = {hint.key for hint in shown}, {hint.key for hint in hints}
    return tuple(hint for hint in shown if TWINS.get(hint.key) in keys or TWINS.get(hint.key) not in known)


def _cells(hint: KeyHint) -> int:
    return len(hint.key) + len(hint.label) + 3


def key_hints(bindings: Sequence[Binding], app: App[Any]) -> tuple[KeyHint, ...]:
    """Make hints of a screen's keys; those that a small footer leaves out come last, help and quit are always shown."""
    ordered = sorted(in_force(bindings, app), key=lambda binding: not binding.show)
    last = (replace(_hint(binding, "app"), always=True) for binding in in_force(EVERYWHERE, app))
    own = (_hint(binding) for binding in ordered)
    return (*own, *last)


def before_always(hints: Sequence[KeyHint], hint: KeyHint) -> tuple[KeyHint, ...]:
    """Put a hint before those that are always shown."""
    others = (known for known in hints if not known.always)
    return (*others, hint, *(known for known in hints if known.always))


def key_hints_with_back(bindings: Sequence[Binding], app: App[Any]) -> tuple[KeyHint, ...]:
    """Make hints of a screen that was opened from another one: as ``key_hints``, but back takes the place of quit."""
    every = in_force(bindings, app)
    own = [binding for binding in every if binding.action not in ("close", "help")]
    last = [each for action in ("help", "close") for each in every if each.action == action]
    return (
        *(_hint(binding) for binding in own if binding.show),
        *(replace(_hint(binding), always=True) for binding in last),
        *(_hint(binding) for binding in own if not binding.show),
    )


def key_hints_of_dialog(bindings: Sequence[Binding], app: App[Any]) -> tuple[KeyHint, ...]:
    """Make hints of a dialog's keys; the one that closes it is always shown, as the last."""
    own = [_hint(binding) for binding in in_force(bindings, app)]
    closing = [f"screen.{action}" for action in CLOSING]
    last = [replace(hint, always=True) for hint in own if hint.action in closing]
    return (*(hint for hint in own if hint.action not in closing), *last)


def _hint(binding: Binding, node: str = "screen") -> KeyHint:
    key = key_text(binding.key.partition(",")[0], binding)
    action = binding.action if binding.action.startswith("app.") else f"{node}.{binding.action}"
    return KeyHint(key, binding.description, action)
