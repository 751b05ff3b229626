"""A ``client.conf`` as pulsar-admin reads it: a Java properties file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from engine.errors import InputError

_LONGEST: Final = 1 << 20
_PAIR: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:\s]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: str) -> dict[str, str]:
    """The names and values of a file. Raises ``InputError`` for one that cannot be read; no value is in its text."""
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_LONGEST)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return parsed_properties(text)


def parsed_properties(text: str) -> dict[str, str]:
    r"""The names and values of a text; a later one counts.

    >>> parsed_properties("# who asks\nauthPlugin = a.b\nauthParams=token:x=y\n! no\nlong = a\\\n   b")
    {'authPlugin': 'a.b', 'authParams': 'token:x=y', 'long': 'ab'}
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        pair = _PAIR.fullmatch(line)
        if pair is not None and pair[1]:
            found[_plain(pair[1])] = _plain(pair[2]).strip()
    return found


def _logical_lines(text: str) -> list[str]:
    """Lines without comments; one that ends in an odd number of backslashes goes on in the next one."""
    lines: list[str] = []
    open_line: str | None = None
    for raw in text.splitlines():
        line = raw.lstrip()
        if open_line is None and (not line or line[0] in "#!"):
            continue
        whole = (open_line or "") + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            open_line = whole[:-1]
        else:
            lines.append(whole)
            open_line = None
    return lines if open_line is None else [*lines, open_line]


def _plain(text: str) -> str:
    def letter(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _LETTERS.get(code, code)

    return _ESCAPE.sub(letter, text)
