"""The whole screen in ASCII, for terminals and fonts without box drawing: each character becomes one as wide."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_TWINS: Final = str.maketrans(
    {
        **dict.fromkeys("─━═╌╍┄┅┈┉╴╶╸╺▔▁", "-"),
        **dict.fromkeys("│┃║╎╏┆┇┊┋▏▕▎╹╻", "|"),
        **dict.fromkeys("┌┍┎┏╭┐┑┒┓╮└┕┖┗╰┘┙┚┛╯├┝┠┣┤┥┨┫┬┯┰┳┴┷┸┻┼┿╂╋", "+"),
        **dict.fromkeys("█▇▆▅▄▃▂▉▊▋▌▍▀▐▖▗▘▙▚▛▜▝▞▟", "#"),
        **dict.fromkeys("●◉◆■", "o"),
        **dict.fromkeys("▶▸›»→", ">"),
        **dict.fromkeys("◀◂‹«←", "<"),
        **dict.fromkeys("▼▾", "v"),
        **dict.fromkeys("▲▴", "^"),
        **dict.fromkeys("–—−", "-"),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("“”", '"'),
        "…": "~",
        "·": "-",
        "×": "x",
        "•": "*",
        "±": "~",
        "🔎": "> ",
    }
)


@lru_cache(maxsize=4096)
def ascii_text(text: str) -> str:
    """``text`` in as many cells of ASCII; what has no twin becomes question marks.

    >>> ascii_text("╭─ é 日 ▶"), ascii_text("🔎Search")
    ('+- ? ?? >', '> Search')
    """
    if text.isascii():
        return text
    return "".join(char if char.isascii() else "?" * cell_len(char) for char in text.translate(_TWINS))


class AsciiFilter(LineFilter):
    """Runs over every line on its way to the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in ASCII."""
        return [Segment(ascii_text(text), style, control) for text, style, control in segments]
