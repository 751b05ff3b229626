"""Aligned tables of plain text, and a page in ASCII where asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeVar

from rich.cells import cell_len

from engine.text import listed

Align = Literal["<", ">"]
Row = TypeVar("Row")
PageColumn = tuple[str, Align, Callable[[Row], str]]
"""A column of a page: its heading, its side, and what a row has there."""
BY_JSON: Final = "--json has them all"
BY_TOP: Final = "--top and --json have them"
_ASCII: Final = str.maketrans(
    {
        "·": "|", "…": "~", "→": "->", "×": "x", "–": "-", "—": "-", "≥": ">=", "≤": "<=", "−": "-", "’": "'",
        **dict(zip("▁▂▃▄▅▆▇█", ".:-=+*#@", strict=True)),
    }
)  # fmt: skip


def plain(text: str, *, ascii_only: bool) -> str:
    r"""A whole page of text, in ASCII where asked; characters without a twin become escapes.

    >>> plain("3 · é", ascii_only=True)
    '3 | \\xe9'
    >>> plain("▁▄█", ascii_only=True)
    '.=@'
    """
    if not ascii_only:
        return text
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def table(rows: Sequence[Sequence[str]], aligns: Sequence[Align], *, gap: str = "  ", indent: str = "") -> list[str]:
    """Rows as aligned lines, measured in terminal cells; a column that is empty in every row is left out.

    >>> table([("a", "", "10"), ("long", "", "9")], ("<", "<", ">"))
    ['a     10', 'long   9']
    """
    widths = [max((cell_len(row[column]) for row in rows), default=0) for column in range(len(aligns))]
    lines = []
    for row in rows:
        parts = [
            _padded(text, width, align) for text, width, align in zip(row, widths, aligns, strict=True) if width > 0
        ]
        lines.append((indent + gap.join(parts)).rstrip())
    return lines


def listing(rows: Iterable[Row], columns: Sequence[PageColumn[Row]], *, gap: str = "  ", indent: str = "") -> list[str]:
    """Rows as a table below the headings of their columns.

    >>> listing([3, 12], [("number", ">", str), ("in hex", "<", hex)])
    ['number  in hex', '     3  0x3', '    12  0xc']
    """
    cells = [[heading for heading, _, _ in columns], *([text(row) for _, _, text in columns] for row in rows)]
    return table(cells, [side for _, side, _ in columns], gap=gap, indent=indent)


def and_more(left: int, where: str = "", *, indent: str = "  ") -> list[str]:
    """How many rows are not listed, and ``where`` they are; nothing where all are.

    >>> and_more(1200, "--json has them all"), and_more(0)
    (['  and 1,200 more (--json has them all)'], [])
    """
    return [f"{indent}and {left:,} more{f' ({where})' if where else ''}"] if left > 0 else []


def labelled(label: str, text: str, cells: int = 11) -> list[str]:
    """A sentence behind a label of so many cells."""
    return wrapped(text, first=f"{label:<{cells}}", rest=" " * cells)


def wrapped(sentence: str, *, width: int = 79, first: str = "", rest: str = "") -> list[str]:
    """A sentence over lines of at most ``width`` cells, behind ``first`` and then ``rest``.

    It is broken at blanks only, so that names stay whole to be copied.

    >>> wrapped("one two three", width=10, first="- ", rest="  ")
    ['- one two', '  three']
    """
    lines: list[str] = []
    used = width
    for word in sentence.split(" "):
        if used + 1 + cell_len(word) <= width and lines:
            lines[-1] += f" {word}"
            used += 1 + cell_len(word)
        else:
            lines.append((rest if lines else first) + word)
            used = cell_len(lines[-1])
    return lines


def _padded(text: str, width: int, align: Align) -> str:
    space = " " * (width - cell_len(text))
    return text + space if align == "<" else space + text


_LIKENED: Final = 10_000
"""So many names are compared with one that is wrong."""


def nearest(wanted: str, names: Iterable[str], at_most: int = 5) -> str:
    """Names that could have been meant, those most like ``wanted`` first, and how many more there are; quoted.

    >>> nearest("c-9", ["a", "c-1", "b", "c-2"], 3), nearest("x", [])
    ("'c-2', 'c-1', 'a' and 1 more", 'none')
    """
    from difflib import get_close_matches

    known = list(dict.fromkeys(names))
    like = get_close_matches(wanted[:100], known[:_LIKENED], n=at_most)
    return listed([repr(name) for name in (*like, *(name for name in known if name not in like))], at_most) or "none"
