"""Fields of a TOML document, each judged as it is read: what is wrong is collected with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from engine.errors import Problem
from engine.plan.lines import Path, line_of


class Fields:
    """What a document says, by path. A wrong field becomes a problem and its default, so that all are found at once."""

    def __init__(self, source: str, lines: dict[Path, int]) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._lines = lines

    def line(self, path: Path) -> int:
        """The line of a path, 1 where it is not told."""
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
        found = table.get(str(path[-1]))
        if found is None:
            return None
        if not isinstance(found, dict):
            self.wrong(
                path,
                f"{shown(found)} is no table",
                f"write [{'.'.join(str(each) for each in path if isinstance(each, str))}]",
            )
            return None
        if known is not None:
            self.known(found, path, known)
        return found

    def tables(self, document: Mapping[str, Any], key: str, most: int) -> list[tuple[int, dict[str, Any]]]:
        found = document.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.wrong((key,), f"{key} is no list of tables", f"write [[{key}]]")
            return []
        if len(found) > most:
            self.wrong((key,), f"{len(found):,} are more than a plan can have")
            return []
        return list(enumerate(found))

    def text(self, table: Mapping[str, Any], path: Path, key: str, default: str) -> str:
        value = table.get(key, default)
        if isinstance(value, str):
            return value
        self.wrong((*path, key), f"{shown(value)} is no text", f'write {key} = "..."')
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
            self.wrong((*path, key), f"{shown(value)} is no list", f"write {key} = [...]")
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
        self.wrong((*path, key), f"{shown(value)} is no whole number from {low:,} to {high:,}")
        return default

    def number(
        self, table: Mapping[str, Any], path: Path, key: str, default: float, among: tuple[float, float]
    ) -> float:
        """A number of either kind, ends included."""
        value, (low, high) = table.get(key, default), among
        # A comparison with what is no number is false, too.
        if type(value) in (int, float) and low <= value <= high:
            return float(value)
        self.wrong((*path, key), f"{shown(value)} is no number from {low:g} to {high:g}")
        return default


def shown(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "such a number"
    return text if len(text) <= 80 else f"{text[:80]}…"


def _dotted(path: Path) -> str:
    text = ""
    for each in path:
        text += f"[{each}]" if isinstance(each, int) else f".{each}" if text else each
    return text
