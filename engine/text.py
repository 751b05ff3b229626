"""Text for people: untrusted text made visible, words quoted for a shell, numbers with their nouns."""

from __future__ import annotations

import shlex
import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
BLANK_LETTERS: Final = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that count as letters, marks or symbols and show nothing."""
_MARKS_AT_MOST: Final = 4
"""So many combining marks may share a cell with their letter; piles of them cover the lines above and below."""


def visible(text: str) -> str:
    """Return the text on one line: control, format, private, unassigned and blank characters as Python escapes.

    So nothing in it moves a cursor, ends a line, reverses the writing or stays unseen. O(length).

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


def shell_line(*words: str) -> str:
    """A command line that a POSIX shell splits into exactly these words.

    A word behind the command's name that begins with a dash is for options; a path of that form has ``./`` put before
    it by :func:`path_word`.

    >>> shell_line("pulsar-admin", "namespaces", "bundles", "t/n;$(reboot)")
    "pulsar-admin namespaces bundles 't/n;$(reboot)'"
    """
    return shlex.join(words)


def path_word(path: str) -> str:
    """A path as a word that no command takes for an option.

    >>> path_word("-x.json"), path_word("answers/")
    ('./-x.json', 'answers/')
    """
    return f"./{path}" if path.startswith("-") else path


def counted(count: int, noun: str, one: str = "", many: str = "") -> str:
    """A number with its noun, and if wanted the verb that goes with it.

    >>> counted(1, "slot"), counted(1200, "slot"), counted(1, "slot", "has", "have"), counted(2, "entry")
    ('1 slot', '1,200 slots', '1 slot has', '2 entries')
    """
    verb = one if count == 1 else many
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}" + (f" {verb}" if verb else "")
