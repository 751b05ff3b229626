"""Letter tags in rows of cells: how drawings name consumers without colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from tui.drawing.canvas import UNDERLINE
from tui.drawing.glyphs import Glyphs


def spelled(owners: Sequence[int], tag_of: Callable[[int], str], glyphs: Glyphs) -> str:
    """One character per cell of a row: each run of one owner spells its tag as often as the tag fits wholly.

    A run shorter than its tag shows ``+``, since a part of a tag would be the tag of somebody else. O(cells).

    >>> from themes.palettes import consumer_tag
    >>> from tui.drawing.glyphs import ASCII
    >>> spelled([0, 0, 27, 27, 27, 27, 27, 27, 1, 27], consumer_tag, ASCII)
    'AAAB.AB.B+'
    """
    parts = []
    for owner, cells in groupby(owners):
        tag, length = tag_of(owner), len(list(cells))
        if len(tag) > length:
            parts.append(glyphs.unnamed * length)
        elif len(tag) == 1:
            parts.append(tag * length)
        else:
            times = (length + 1) // (len(tag) + 1)
            parts.append(glyphs.faded.join([tag] * times).ljust(length, glyphs.faded))
    return "".join(parts)


def joined(tag: str, char: str) -> int:
    """The attribute of a character of a tag: several letters are underlined, lest ``AB`` be read as ``A`` beside ``B``.

    >>> joined("AB", "A") == UNDERLINE, joined("A", "A"), joined("AB", ".")
    (True, 0, 0)
    """
    return UNDERLINE if len(tag) > 1 and char.isalpha() else 0
