"""Where each key of a TOML text stands: ``tomllib`` says what a document holds, and not where.

Only called for a text that ``tomllib`` has read: statements are cut apart here, what they mean is left to it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

Path = tuple[str | int, ...]
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")|\'\'\'.*?\'{3,5}(?!\')|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|\n|[\[{]|[\]}]|=',
    re.DOTALL,
)


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of each table and of each key by its path; tables of an array by their number. O(length).

    Keys inside an inline table or an array are not told apart: they stand where the value begins.

    >>> lines_of('a = 1\\n[[b]]\\nc.d = [\\n2]\\n[[b]]\\nc = 3')
    {('a',): 1, ('b', 0): 2, ('b', 0, 'c', 'd'): 3, ('b', 1): 5, ('b', 1, 'c'): 6}
    """
    found: dict[Path, int] = {}
    numbers: Counter[Path] = Counter()
    inside: Path = ()
    for line, statement, equals in _statements(text):
        if equals is not None:
            found.setdefault((*inside, *_keys(f"{statement[:equals]}= 0")), line)
        elif statement.startswith("[["):
            path = _numbered(_keys(statement)[:-1], numbers) + _keys(statement)[-1:]
            inside = (*path, numbers[path])
            numbers[path] += 1
            found[inside] = line
        else:
            inside = _numbered(_keys(statement), numbers)
            found.setdefault(inside, line)
    return found


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a path, or of the nearest thing around it."""
    return next((lines[path[:size]] for size in range(len(path), 0, -1) if path[:size] in lines), None)


def _statements(text: str) -> Iterator[tuple[int, str, int | None]]:
    """Line, text, and where the first ``=`` stands in it (None in the head of a table)."""
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


def _keys(statement: str) -> Path:
    """The keys of a statement without its value, outermost first."""
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


def _numbered(keys: Path, numbers: Counter[Path]) -> Path:
    """A path with the number of the last table of each array on the way."""
    path: Path = ()
    for key in keys:
        path = (*path, key)
        if numbers[path]:
            path = (*path, numbers[path] - 1)
    return path
