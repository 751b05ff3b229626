"""Read fields of a TOML document and collect their problems with the line of each field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from engine.errors import Problem
from engine.toml import KeyPath


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """The line of a path, or of its nearest parent that has one."""
    return next((lines[path[:size]] for size in range(len(path), 0, -1) if path[:size] in lines), None)


MOST_PROBLEMS: Final = 100
"""How many problems of a document are reported."""


class Fields:
    """The fields of a document by path. A wrong field becomes a problem and its default, so that all are reported."""

    def __init__(self, source: str, lines: dict[KeyPath, int]) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._lines = lines

    def line(self, path: KeyPath) -> int:
        """The line of a path, 1 where it is unknown."""
        return line_of(self._lines, path) or 1

    def wrong(self, path: KeyPath, reason: str, advice: str = "") -> None:
        self.problems.append(Problem(self._source, _dotted(path), reason, advice, line=line_of(self._lines, path)))

    def known(self, table: Mapping[str, Any], path: KeyPath, known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key[:100], known, n=1) if len(self.problems) < MOST_PROBLEMS else []
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                self.wrong((*path, key), "no such field here", hint)

    def table(self, table: Mapping[str, Any], path: KeyPath, known: Sequence[str] | None) -> dict[str, Any] | None:
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

    def text(self, table: Mapping[str, Any], path: KeyPath, key: str, default: str) -> str:
        value = table.get(key, default)
        if isinstance(value, str):
            return value
        self.wrong((*path, key), f"{shown(value)} is not a text", f'write {key} = "..."')
        return default

    def choice(self, table: Mapping[str, Any], path: KeyPath, key: str, known: Sequence[str], default: str) -> str:
        value = self.text(table, path, key, default)
        if value in known:
            return value
        self.wrong((*path, key), f"{shown(value)} is none of {', '.join(known)}")
        return default

    def list(self, table: Mapping[str, Any], path: KeyPath, key: str, most: int) -> list[Any]:
        value = table[key]
        if not isinstance(value, list):
            self.wrong((*path, key), f"{shown(value)} is not a list", f"write {key} = [...]")
            return []
        if len(value) > most:
            self.wrong((*path, key), f"{len(value):,} entries, more than {most:,}")
            return []
        return value

    def whole(self, table: Mapping[str, Any], path: KeyPath, key: str, default: int, among: tuple[int, int]) -> int:
        """A whole number, ends included."""
        value, (low, high) = table.get(key, default), among
        if type(value) is int and low <= value <= high:
            return value
        self.wrong((*path, key), f"{shown(value)} is not a whole number from {low:,} to {high:,}")
        return default

    def number(
        self, table: Mapping[str, Any], path: KeyPath, key: str, default: float, among: tuple[float, float]
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


def _dotted(path: KeyPath) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
