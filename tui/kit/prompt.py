"""What the user types: a line of bounded length, and the prompt above the footer for commands, topics and filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding as AnyBinding
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input

from tui.kit.bindings import Binding
from tui.kit.plain_text import PlainLabel
from tui.kit.wording import shorten_middle

JOINER: Final = "\u200d"
LONGEST_LINE: Final = 4_096
"""In characters. A longer text would slow every key down, and is usually a clipboard with something else."""


class TypedLine(Input):
    """Textual's field in one row. A paste longer than ``LONGEST_LINE`` is refused, and the reason is shown."""

    def __init__(self, value: str = "", *, max_length: int = LONGEST_LINE, **more: Any) -> None:
        super().__init__(value, max_length=max_length, compact=True, **more)

    async def on_key(self, event: events.Key) -> None:
        """Edit at once: on its way to the app, which looks for bindings, a key would be overtaken by the next ones."""
        action = _editing_actions(type(self)).get(event.key)
        if action is not None and not event.is_printable:
            event.stop()
            await self.run_action(action)

    def watch_value(self, before: str, _now: str) -> None:
        """Paint all again after joined characters: pieces of them may have taken more cells than the field has."""
        if JOINER in before and self.is_attached:
            self.screen.refresh()

    def on_hide(self) -> None:
        """Repaint as well when the field is hidden with such a text in it."""
        if JOINER in self.value and self.is_attached:
            self.screen.refresh()

    def restricted(self) -> None:
        """Say it in words: a terminal's bell may be silent."""
        super().restricted()
        if self.max_length == LONGEST_LINE:
            self.notify(f"A line takes up to {LONGEST_LINE:,} characters; nothing was inserted.", severity="warning")


@cache
def _editing_actions(field: type[Input]) -> Mapping[str, str]:
    """What each key of a field does; its own bindings come before those of the stock field."""
    bindings = [
        binding
        for above in reversed(field.mro())
        if issubclass(above, Input)
        for binding in above.__dict__.get("BINDINGS", ())
        if isinstance(binding, AnyBinding)
    ]
    return {key: binding.action for binding in bindings for key in binding.key.split(",")}


MANY_OPTIONS = 20_000
"""Above so many nothing is suggested, since all of them are looked through at every key."""
Complete = Callable[[str], Sequence[str]]
"""The lines that go on where a text ends."""
LONGEST_ERROR_CELLS = 320
"""Four lines of a narrow terminal. An error may quote what was pasted, which would push the panels out of sight."""


def among(lines: Sequence[str]) -> Complete:
    """Those of some lines that begin with the text, whatever its case.

    >>> among(("redo", "release "))("REL")
    ('release ',)
    """

    def complete(text: str) -> Sequence[str]:
        lower = text.casefold()
        return tuple(line for line in lines if line != text and line.casefold().startswith(lower))

    return complete


class _First(Suggester):
    """Shows the first of the lines that go on with the text."""

    def __init__(self, complete: Complete) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        return next(iter(self._complete(value)), None) if value else None


class Prompt(Vertical):
    """Closed most of the time. ``ask`` opens it; enter posts ``Answered``, which ``accept`` or ``complain`` answers."""

    DEFAULT_CSS = """
    Prompt { height: auto; display: none; }
    Prompt.-open { display: block; }
    Prompt Horizontal { height: 1; }
    Prompt Label { height: auto; }
    Prompt .prompt--mark { width: auto; padding: 0 1; }
    Prompt Input { border: none; height: 1; padding: 0; width: 1fr; }
    Prompt .prompt--error { display: none; padding: 0 1; width: 1fr; }
    Prompt .prompt--error.-shown { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
        Binding("up", "older", "Older", show=False),
        Binding("down", "newer", "Newer", show=False),
        Binding("tab", "complete", "Complete", show=False, priority=True),
    ]

    @dataclass
    class Answered(Message):
        """Enter was pressed: ``kind`` is what was asked for, ``text`` what was typed."""

        kind: str
        text: str

    @dataclass
    class Typed(Message):
        """The text changed."""

        kind: str
        text: str

    @dataclass
    class Closed(Message):
        """The prompt went away without an answer."""

        kind: str

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self.kind = ""
        self.return_to: Widget | None = None
        """Where the focus goes when the prompt closes."""
        self._history: dict[str, list[str]] = {}
        self._at = 0
        self._complete: Complete = among(())
        self._offered: Sequence[str] = ()
        """The lines that ``tab`` goes through."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield PlainLabel("", classes="prompt--mark")
            yield TypedLine()
        yield PlainLabel("", classes="prompt--error")

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def ask(
        self, kind: str, mark: str, *, text: str = "", placeholder: str = "", options: Sequence[str] | Complete = ()
    ) -> None:
        """Open for one question; ``options`` complete what is typed, unless they are very many."""
        if not self.is_open and self.screen.focused is not None:
            self.return_to = self.screen.focused
        self.kind = kind
        self._at = len(self._history.get(kind, []))
        self.query_one(".prompt--mark", PlainLabel).update(mark)
        field = self.query_one(Input)
        field.cursor_blink = False
        if not callable(options):
            options = among(options if len(options) <= MANY_OPTIONS else ())
        self._complete, self._offered = options, ()
        field.suggester = _First(options)
        field.placeholder = placeholder
        field.value = text
        field.cursor_position = len(text)
        self.complain("")
        self.add_class("-open")
        field.focus()

    def complain(self, error: str) -> None:
        """Say what is wrong with the answer; "" takes it back."""
        label = self.query_one(".prompt--error", PlainLabel)
        label.update(shorten_middle(error, LONGEST_ERROR_CELLS))
        label.set_class(bool(error), "-shown")

    def accept(self, text: str) -> None:
        """Close with an answer that was carried out, which the up key brings back."""
        entries = self._history.setdefault(self.kind, [])
        if text and (not entries or entries[-1] != text):
            entries.append(text)
        self._close()

    def _close(self) -> None:
        self.remove_class("-open")
        if self.return_to is not None and self.return_to.focusable:
            self.return_to.focus()
        else:
            self.screen.focus_next()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self.kind, event.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.complain("")
            self.post_message(self.Typed(self.kind, event.value))

    def action_close(self) -> None:
        self._close()
        self.post_message(self.Closed(self.kind))

    def action_complete(self) -> None:
        """Take the line that is suggested; pressed again, the next one that went on with what was typed."""
        field = self.query_one(Input)
        several = len(self._offered) > 1 and field.value in self._offered
        if not several:
            self._offered = self._complete(field.value)
        at = self._offered.index(field.value) + 1 if several else 0
        if self._offered:
            field.value = self._offered[at % len(self._offered)]
            field.cursor_position = len(field.value)

    def action_older(self) -> None:
        self._recall(-1)

    def action_newer(self) -> None:
        self._recall(1)

    def _recall(self, by: int) -> None:
        entries = self._history.get(self.kind, [])
        self._at = max(0, min(len(entries), self._at + by))
        field = self.query_one(Input)
        field.value = entries[self._at] if self._at < len(entries) else ""
        field.cursor_position = len(field.value)
