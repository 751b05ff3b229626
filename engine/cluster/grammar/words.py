"""Words of a command line: blanks part them, quotes hold them together, and any text can be written as one word.

In double quotes a backslash begins ``\\"``, ``\\\\``, ``\\n``, ``\\r``, ``\\t``, ``\\uXXXX`` or ``\\UXXXXXXXX``; in
single quotes, and outside of quotes, it is an ordinary character.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from engine.errors import Rejection

LINE_LIMIT_CHARS: Final = 1_000_000
"""A longer command line is refused; the longest name that is allowed fits with every character escaped."""

_ESCAPES: Final = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_WRITTEN: Final = {value: f"\\{letter}" for letter, value in _ESCAPES.items()}
_NUMBERED: Final = re.compile(r"u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class Word:
    """One word; ``quoted`` when any part of it stood in quotes, ``column`` counts from 1."""

    text: str
    quoted: bool
    column: int


def split_words(line: str) -> tuple[Word, ...] | Rejection:
    """The words of a line. Refused: a quote that is not closed, an unknown escape, a line that is too long. O(n).

    >>> [word.text for word in split_words('add "my name" to billing')]
    ['add', 'my name', 'to', 'billing']
    """
    if len(line) > LINE_LIMIT_CHARS:
        return Rejection("CommandTooLong", f"a command has at most {LINE_LIMIT_CHARS} characters, this has {len(line)}")
    words: list[Word] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        start, quoted = at, False
        pieces: list[str] = []
        while at < len(line) and not line[at].isspace():
            if line[at] not in "\"'":
                pieces.append(line[at])
                at += 1
                continue
            piece = _quoted(line, at)
            if isinstance(piece, Rejection):
                return piece
            quoted = True
            pieces.append(piece[0])
            at = piece[1]
        words.append(Word("".join(pieces), quoted, start + 1))
    return tuple(words)


def quote(text: str, reserved: Collection[str] = ()) -> str:
    """The text as one printable word that reads back as the same text; in quotes when it must be or is ``reserved``.

    >>> quote("consumer-1"), quote("two words"), quote("to", ["to"]), quote("#3")
    ('consumer-1', '"two words"', '"to"', '"#3"')
    """
    plain = text.isprintable() and not any(char in " \"'\\" for char in text)
    if text and plain and not text.startswith("#") and text not in reserved:
        return text
    return '"' + "".join(map(_written, text)) + '"'


def _quoted(line: str, start: int) -> tuple[str, int] | Rejection:
    """The text of the quoted piece that begins at ``start``, and the place behind its closing quote."""
    mark = line[start]
    pieces: list[str] = []
    at = start + 1
    while at < len(line):
        char = line[at]
        if char == mark:
            return "".join(pieces), at + 1
        if char != "\\" or mark == "'":
            pieces.append(char)
            at += 1
            continue
        numbered = _NUMBERED.match(line, at + 1)
        if numbered is not None:
            pieces.append(chr(int(numbered[1] or numbered[2], 16)))
            at = numbered.end()
        elif line[at + 1 : at + 2] in _ESCAPES:
            pieces.append(_ESCAPES[line[at + 1]])
            at += 2
        else:
            wrong = line[at : at + 2]
            advice = 'write \\\\ for a backslash, or \\" \\n \\r \\t \\uXXXX \\UXXXXXXXX'
            return Rejection("SyntaxError", f"unknown escape {wrong!r} at column {at + 1}; {advice}", wrong)
    return Rejection("SyntaxError", f"the quote {mark} at column {start + 1} is not closed", line[start : start + 40])


def _written(char: str) -> str:
    if char in _WRITTEN:
        return _WRITTEN[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
