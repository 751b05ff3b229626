"""The one reader of TOML, for plans and settings, which may come from strangers.

For a key with N dots ``tomllib`` keeps N keys of up to N parts: 40 kB took 9 s and 1.6 GB. Such keys are refused first.
``tomllib`` gives values without positions, so the lines of keys are searched here, in a text that it has accepted.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from engine.errors import Problem

KeyPath = tuple[str | int, ...]
"""Keys from the root down, and numbers of tables in an array."""
MOST_KEY_PARTS: Final = 8
"""More than any table of ours has levels; a longer key is a name that was not put in quotes."""
_AT: Final = re.compile(
    r"(?P<what>.*?) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL
)
_TOKEN: Final = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"{1,2}(?!"))[^"\\]*+)*+"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*+'{3,5}"
    r"|\"{3}|'{3}"
    r'|"(?:\\.|[^"\\\n])*+"'
    r"|'[^'\n]*+'|#[^\n]*+|[\[{\]}=,.\n]|[\"']",
    re.DOTALL,
)
"""Strings, comments and punctuation. Linear in any text."""
_UNENDED: Final = ('"', "'", '"' * 3, "'" * 3)
"""Where a string without an end begins."""
_BARE: Final = re.compile(r"\[{0,2}([A-Za-z0-9_-]+)(?:\]{1,2}|[ \t]*= 0)")


def read_toml(data: bytes, source: str) -> dict[str, Any] | Problem:
    """The document in these bytes, or its first fault with line and column. O(length)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem(source, "", f"byte {error.start:,} is not UTF-8", line=data[: error.start].count(b"\n") + 1)
    line = _line_of_long_key(text)
    if line is not None:
        reason, advice = f"a key has more than {MOST_KEY_PARTS} parts", "put a name that has dots into quotes"
        return Problem(source, "", reason, advice, line=line)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT.fullmatch(str(error))
        place = (None, None) if match is None or match["line"] is None else (int(match["line"]), int(match["column"]))
        what = str(error) if match is None else match["what"]
        return Problem(source, "", f"no TOML: {what}", line=place[0], column=place[1])
    except (RecursionError, ValueError) as error:
        # A million open brackets; a number with a million digits.
        return Problem(source, "", f"no TOML that can be read: {type(error).__name__}")


def _line_of_long_key(text: str) -> int | None:
    """The line of the first key of too many parts, None without one. Between two signs a value has one dot at most."""
    if all(line.count(".") < MOST_KEY_PARTS for line in text.split("\n")):
        return None
    line, dots = 1, 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _UNENDED:
            return None  # tomllib reads no further than that either
        if token == ".":
            dots += 1
            if dots == MOST_KEY_PARTS:
                return line
        elif token in "[{]}=,\n":
            dots = 0
        line += token.count("\n")
    return None


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of each table and of each key by its path; tables of an array by their number. O(length).

    Keys inside an inline table or an array are not distinguished: their line is where the value begins.

    >>> lines_of('a = 1\\n[[b]]\\nc.d = [\\n2]\\n[[b]]\\nc = 3')
    {('a',): 1, ('b', 0): 2, ('b', 0, 'c', 'd'): 3, ('b', 1): 5, ('b', 1, 'c'): 6}
    """
    lines: dict[KeyPath, int] = {}
    numbers: Counter[KeyPath] = Counter()
    inside: KeyPath = ()
    for line, statement, equals in _statements(text):
        if equals is not None:
            lines.setdefault((*inside, *_keys(f"{statement[:equals]}= 0")), line)
        elif statement.startswith("[["):
            path = _numbered(_keys(statement)[:-1], numbers) + _keys(statement)[-1:]
            inside = (*path, numbers[path])
            numbers[path] += 1
            lines[inside] = line
        else:
            inside = _numbered(_keys(statement), numbers)
            lines.setdefault(inside, line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str, int | None]]:
    """Line, text, and the column of the first ``=`` (None in the head of a table)."""
    text = text.replace("\r\n", "\n") + "\n"
    line, start, depth, begun_at = 1, 0, 0, 1
    equals: int | None = None
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "=":
            equals = match.start() - start if equals is None and depth == 0 else equals
        elif token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        elif token == "\n" and depth == 0:
            statement = text[start : match.start()]
            blank = len(statement) - len(statement.lstrip())
            if statement.strip() and not statement.lstrip().startswith("#"):
                yield begun_at, statement[blank:], None if equals is None else equals - blank
            start, equals, begun_at = match.end(), None, line + 1
        line += token.count("\n")


def _keys(statement: str) -> KeyPath:
    """The keys of a statement without its value, outermost first."""
    bare = _BARE.fullmatch(statement)
    if bare is not None:
        return (bare[1],)
    value: Any = tomllib.loads(statement)
    keys: list[str | int] = []
    while True:
        if isinstance(value, list):
            value = value[0]
        if not isinstance(value, dict) or not value:
            return tuple(keys)
        key = next(iter(value))
        keys.append(key)
        value = value[key]


def _numbered(keys: KeyPath, numbers: Counter[KeyPath]) -> KeyPath:
    """A path with the number of the last table of each array on the way."""
    path: KeyPath = ()
    for key in keys:
        path = (*path, key)
        if numbers[path]:
            path = (*path, numbers[path] - 1)
    return path
