"""Text from outside made visible: nothing in it moves a cursor, ends a line, reverses the writing or stays unseen."""

from __future__ import annotations

import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
BLANK_LETTERS: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that count as letters, marks or symbols and show nothing."""
_MARKS_AT_MOST: Final = 4
"""So many combining marks may share a cell with their letter; piles of them cover the lines above and below."""


def visible(text: str) -> str:
    """The text on one line: control, format, private, unassigned and blank characters as Python escapes. O(length).

    >>> visible("a\\x1b[2J"), visible("[/x]"), visible("\\u202eb\\u200b")
    ('a\\\\x1b[2J', '[/x]', '\\\\u202eb\\\\u200b')
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        hidden = category in _HIDDEN or char in BLANK_LETTERS or marks > _MARKS_AT_MOST
        shown.append(char.encode("unicode_escape").decode("ascii") if hidden else char)
    return "".join(shown)
