"""Read fields of a TOML document and collect their problems with the line of each field.

``tomllib`` gives values without positions, so the lines of keys are searched here, in a text that it has accepted.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from engine.errors import Problem

Path = tuple[str | int, ...]
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")|\'\'\'.*?\'{3,5}(?!\')|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|\n|[\[{]|[\]}]|=',
    re.DOTALL,
)


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of each table and of each key by its path; tables of an array by their number. O(length).

    Keys inside an inline table or an array are not distinguished: their line is where the value begins.

    >>> lines_of('a = 1\\n[[b]]\\nc.d = [\\n2]\\n[[b]]\\nc = 3')
    {('a',): 1, ('b', 0): 2, ('b', 0, 'c', 'd'): 3, ('b', 1): 5, ('b', 1, 'c'): 6}
    """
    lines: dict[Path, int] = {}
    numbers: Counter[Path] = Counter()
    inside: Path = ()
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


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a path, or of its nearest parent that has one."""
    return next((lines[path[:size]] for size in range(len(path), 0, -1) if path[:size] in lines), None)


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


class Fields:
    """The fields of a document by path. A wrong field becomes a problem and its default, so that all are reported."""

    def __init__(self, source: str, lines: dict[Path, int]) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._lines = lines

    def line(self, path: Path) -> int:
        """The line of a path, 1 where it is unknown."""
        return line_of(self._lines, path) or 1

    def wrong(self, path: Path, reason: str, advice: str = "") -> None:
        self.problems.append(Problem(self._source, _dotted(path), reason, advice, line=line_of(self._lines, path)))

    def known(self, table: Mapping[str, Any], path: Path, known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key[:100], known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                self.wrong((*path, key), "no such field here", hint)

    def table(self, table: Mapping[str, Any], path: Path, known: Sequence[str] | None) -> dict[str, Any] | None:
        """The table of the last key of a path; None without it."""
        inner = table.get(str(path[-1]))
        if inner is None:
            return None
        if not isinstance(inner, dict):
            self.wrong(
                path,
                f"{shown(inner)} is not a table",
                f"write [{'.'.join(str(part) for part in path if isinstance(part, str))}]",
            )
            return None
        if known is not None:
            self.known(inner, path, known)
        return inner

    def tables(self, document: Mapping[str, Any], key: str, most: int) -> list[tuple[int, dict[str, Any]]]:
        values = document.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.wrong((key,), f"{key} is not a list of tables", f"write [[{key}]]")
            return []
        if len(values) > most:
            self.wrong((key,), f"{len(values):,} are more than a plan can have")
            return []
        return list(enumerate(values))

    def text(self, table: Mapping[str, Any], path: Path, key: str, default: str) -> str:
        value = table.get(key, default)
        if isinstance(value, str):
            return value
        self.wrong((*path, key), f"{shown(value)} is not a text", f'write {key} = "..."')
        return default

    def choice(self, table: Mapping[str, Any], path: Path, key: str, known: Sequence[str], default: str) -> str:
        value = self.text(table, path, key, default)
        if value in known:
            return value
        self.wrong((*path, key), f"{shown(value)} is none of {', '.join(known)}")
        return default

    def list(self, table: Mapping[str, Any], path: Path, key: str, most: int) -> list[Any]:
        value = table[key]
        if not isinstance(value, list):
            self.wrong((*path, key), f"{shown(value)} is not a list", f"write {key} = [...]")
            return []
        if len(value) > most:
            self.wrong((*path, key), f"{len(value):,} entries, more than {most:,}")
            return []
        return value

    def whole(self, table: Mapping[str, Any], path: Path, key: str, default: int, among: tuple[int, int]) -> int:
        """A whole number, ends included."""
        value, (low, high) = table.get(key, default), among
        if type(value) is int and low <= value <= high:
            return value
        self.wrong((*path, key), f"{shown(value)} is not a whole number from {low:,} to {high:,}")
        return default

    def number(
        self, table: Mapping[str, Any], path: Path, key: str, default: float, among: tuple[float, float]
    ) -> float:
        """A number of either kind, ends included."""
        value, (low, high) = table.get(key, default), among
        # A comparison with NaN is false, too.
        if type(value) in (int, float) and low <= value <= high:
            return float(value)
        self.wrong((*path, key), f"{shown(value)} is not a number from {low:g} to {high:g}")
        return default


def shown(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "such a number"
    return text if len(text) <= 80 else f"{text[:80]}…"


def _dotted(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
