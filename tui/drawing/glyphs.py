"""The characters drawings are made of, with a plain ASCII twin for each."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct
from rich.cells import split_graphemes


class Glyphs(Struct, frozen=True):
    """One character per thing drawn; every one is exactly one cell wide."""

    ascii_only: bool
    dot: str
    dots: str
    highlight: str
    marker: str
    waiting: str
    hatch: str
    """Where what was reported differs from the model."""
    faded: str
    ghost: str
    """Where something was before."""
    unnamed: str
    ellipsis: str
    ticks: str
    """Eight strokes that point at the ring: top, then clockwise by an eighth of a turn."""
    quarters: tuple[str, str, str, str]
    fork: str
    more_left: str
    more_right: str
    rule: str
    cut: str
    bar: str
    """Filled parts of a bar cell, from an eighth to full; a single character means whole cells only."""
    levels: str
    """Heights of a column, from nothing to full."""


UNICODE: Final = Glyphs(
    ascii_only=False,
    dot="●",
    dots="◉",
    highlight="◆",
    marker="◆",
    waiting="!",
    hatch="╱",
    faded="·",
    ghost="•",
    unnamed="+",
    ellipsis="…",
    ticks="╻╱╸╲╹╱╺╲",
    quarters=("0", "¼", "½", "¾"),
    fork="┬",
    more_left="‹",
    more_right="›",
    rule="─",
    cut="│",
    bar="▏▎▍▌▋▊▉█",
    levels=" ▁▂▃▄▅▆▇█",
)
ASCII: Final = Glyphs(
    ascii_only=True,
    dot="o",
    dots="@",
    highlight="X",
    marker="*",
    waiting="!",
    hatch="/",
    faded=".",
    ghost=".",
    unnamed="+",
    ellipsis="~",
    ticks="|/-\\|/-\\",
    quarters=("0", "1/4", "1/2", "3/4"),
    fork="+",
    more_left="<",
    more_right=">",
    rule="-",
    cut="|",
    bar="#",
    levels=" .:-=+*#@",
)


def glyphs_of(ascii_only: bool) -> Glyphs:
    """The character set for a terminal with or without Unicode."""
    return ASCII if ascii_only else UNICODE


def plain(text: str, ascii_only: bool) -> str:
    """The text, or when asked for ASCII, as much of it as ``ascii_text`` can spell.

    >>> plain("spread ±12% · Ω", ascii_only=True)
    'spread ~12% - ?'
    """
    return ascii_text(text) if ascii_only else text


def fitted(text: str, width: int, glyphs: Glyphs) -> str:
    """The text cut to ``width`` cells, with an ellipsis when something is missing.

    >>> fitted("consumer-12", 8, ASCII)
    'consume~'
    """
    text = plain(text, glyphs.ascii_only)
    if len(text) <= width:
        return text
    return text[: width - 1] + glyphs.ellipsis if width > 0 else ""


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
        "╱": "/",
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

    Characters that are joined into one picture take the cells of that picture.

    >>> ascii_text("\\N{WAVING WHITE FLAG}\\N{VARIATION SELECTOR-16}")
    '??'
    """
    if text.isascii():
        return text
    spelt = text.translate(_TWINS)
    pieces = ((spelt[start:end], cells) for start, end, cells in split_graphemes(spelt)[0])
    return "".join(piece if piece.isascii() else "?" * cells for piece, cells in pieces)
