"""What every line passes on its way to the terminal: nothing commands the terminal, and on demand all is ASCII."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tui.drawing.glyphs import ascii_text

COMMANDS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)
"""Control characters, those that turn the direction of writing, ends of lines, and halves of surrogate pairs."""


class VisibleFilter(LineFilter):
    """Takes out what would command the terminal.

    Texts show their hidden characters as escapes long before (``engine.visible``); this is for what a text field holds
    and for what was forgotten. Columns stay as they were arranged: what has no width goes, what has one is replaced.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same segments without commands; O(characters), without a copy where there are none."""
        if not COMMANDS.search("".join([text for text, _, _ in segments])):
            return segments
        return [
            Segment(text if control else COMMANDS.sub(_replaced, text), style, control)
            for text, style, control in segments
        ]


def _replaced(match: re.Match[str]) -> str:
    return "\ufffd" * cell_len(match[0])


class AsciiFilter(LineFilter):
    """Writes every line in ASCII, for terminals and fonts without box drawing: each character becomes one as wide."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same segments in ASCII."""
        return [Segment(ascii_text(text), style, control) for text, style, control in segments]
