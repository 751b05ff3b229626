"""Lists of what happened, the newest first: the steps of a timeline, messages that were sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import var

from engine.views.failover.model import EventLine
from engine.views.reported.model import ReportedView, SeenEvent
from themes.palettes import Palette, hex_colour, palette
from tui.kit.columns import REPORTED_SIGN, Lines
from tui.kit.line_table import LineTable
from tui.kit.plain_text import set_title
from tui.kit.verdict_words import judgement_colour
from tui.kit.wording import event_effect, event_effect_short, safe_name, shorten_middle

GLYPHS: Final = {
    "add": "+",
    "kill": "-",
    "setting": "~",
    "topic": "#",
    "split": "/",
    "release": "^",
    "send": ">",
    "ack": "=",
    "wait": ".",
    "fail": "!",
    "recover": "=",
    "open": "o",
}


SEEN_GLYPHS: Final = {
    "joined": "+",
    "left": "-",
    "new": "+",
    "gone": "-",
    "backlog": "=",
    "bundles": "/",
    "active": ">",
    "differs": "!",
}
Happened = EventLine | SeenEvent


def happened(steps: Sequence[EventLine], reported: ReportedView | None) -> tuple[Happened, ...]:
    """The opening, what happened between the moments that were seen, then the steps of the simulation."""
    if reported is None:
        return tuple(steps)
    opening = [step for step in steps[:1] if step.kind == "open"]
    return (*opening, *reported.events, *steps[len(opening) :])


def seen_line(event: SeenEvent, width: int, colours: Palette) -> Text:
    """What happened between two moments: a star for seen, the time of the later one, a sign for its kind, and what."""
    role = {"joined": colours.good, "left": colours.bad, "gone": colours.bad, "differs": colours.bad}.get(
        event.kind, colours.accent
    )
    text = Text(no_wrap=True)
    text.append(f"{REPORTED_SIGN}{event.moment:>2} ", hex_colour(colours.dim))
    text.append(f"{SEEN_GLYPHS.get(event.kind, '~')} ", f"bold {hex_colour(role)}")
    text.append(shorten_middle(safe_name(event.text), max(8, width - text.cell_len)))
    return text


def event_line(event: Happened, width: int, colours: Palette, noun: str = "partition") -> Text:
    """One step: number, a sign for its kind, what was done, and on the right what it moved."""
    if isinstance(event, SeenEvent):
        return seen_line(event, width, colours)
    role = colours.dim if event.kind == "open" else colours.accent
    if event.verdict is not None:
        role = judgement_colour(event.verdict.judgement, colours)
    dim = hex_colour(colours.dim)
    text = Text(no_wrap=True)
    text.append(f"{event.step:>3} ", dim)
    text.append(f"{GLYPHS.get(event.kind, '*')} ", f"bold {hex_colour(role)}")
    effect = event_effect(event, noun)
    words = safe_name(event.text)
    if text.cell_len + cell_len(words) + cell_len(effect) + 3 > width:
        effect = event_effect_short(event)
    room = max(8, width - text.cell_len - (cell_len(effect) + 2 if effect else 0))
    text.append(shorten_middle(words, room))
    if effect:
        text.append("  ")
        text.append(effect, dim if event.moved == 0 else "")
    if event.unacked_at_risk and effect:
        at = text.plain.rfind(";") if ";" in effect else text.plain.rfind(",")
        text.stylize(hex_colour(colours.warn), max(at, 0))
    return text


class EventList(LineTable):
    """Entries that come in the order of time, shown the newest first with the cursor on that one."""

    entries: var[tuple[Any, ...]] = var(())
    """What happened, the oldest first."""
    colours: var[Palette] = var(palette)

    def __init__(self, line: Callable[[Any, int, Palette], Text], *, title: str = "", id: str) -> None:  # noqa: A002
        """``line`` writes an entry at a width; ``title`` names the panel and is followed by the number of entries."""
        super().__init__(id=id, classes="panel")
        self._line = line
        self._title = title

    def watch_entries(self) -> None:
        self._write()

    def watch_colours(self) -> None:
        self._write()

    def _write(self) -> None:
        entries, colours = self.entries, self.colours
        self.lines = Lines(len(entries), lambda at, width: self._line(entries[-1 - at], width, colours))
        self.cursor = 0
        if self._title:
            set_title(self, f"{self._title} ({len(entries):,})")
