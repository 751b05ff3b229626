"""The steps so far, one a line."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.model import EventLine
from themes.palettes import Palette, hex_colour
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


def event_line(event: EventLine, width: int, colours: Palette, noun: str = "partition") -> Text:
    """One step: number, a sign for its kind, what was done, and on the right what it moved."""
    role = {"add": colours.good, "kill": colours.bad, "open": colours.dim}.get(event.kind, colours.accent)
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
