"""Mend load reports with impossible members: each is reported with its place and replaced, and the rest is kept.

Java prints a double that is not a number as the text ``"NaN"``, and such a rate takes part in the rules, so it is
kept. A negative rate is impossible and counts as 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from engine.admin.facts import LARGEST
from engine.admin.text import child
from engine.errors import Problem

_TEXT_OR_BARE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|(?<=[:\[,\s])(-?(?:NaN|Infinity))(?=[\s,}\]])', re.DOTALL)
_NOT_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ZERO: Final = "it is taken as 0"


def quoted_numbers(data: bytes) -> bytes:
    """JSON with NaN and Infinity in quotes, as Java prints them; other tools print them bare.

    >>> quoted_numbers(b'{"cpu": NaN, "x": [-Infinity]}')
    b'{"cpu": "NaN", "x": ["-Infinity"]}'
    """
    if b"NaN" not in data and b"Infinity" not in data:
        return data
    return _TEXT_OR_BARE.sub(lambda match: b'"%s"' % match[1] if match[1] else match[0], data)


class Mending(Struct):
    """Reads members of a report one by one, and collects their problems."""

    source: str
    problems: list[Problem] = field(default_factory=list)

    def number(self, members: Mapping[str, Any], name: str, path: str, *, below_zero: bool = False) -> float:
        """A number, 0 if missing; ``below_zero``: whether it may be negative."""
        value = members.get(name)
        place = child(path, name)
        if value is None:
            return 0.0
        if isinstance(value, str) and value in _NOT_NUMBERS:
            self._say(place, f"is {value}, which is not a number", "it is kept, as the load manager goes on with it")
            return _NOT_NUMBERS[value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._say(place, f"is not a number: {_shortened(value)}", _ZERO)
            return 0.0
        if abs(value) > LARGEST:
            self._say(place, f"is {value:.3g}, more than anything can carry", _ZERO)
            return 0.0
        if value < 0 and not below_zero:
            self._say(place, f"is {value:g}, and cannot be negative", _ZERO)
            return 0.0
        return float(value)

    def count(self, members: Mapping[str, Any], name: str, path: str) -> int:
        """A whole number."""
        value = self.number(members, name, path)
        return int(value) if math.isfinite(value) else 0

    def text(self, members: Mapping[str, Any], name: str, path: str) -> str | None:
        value = members.get(name)
        if value is None or isinstance(value, str):
            return value
        self._say(child(path, name), f"is not a text: {_shortened(value)}", "it is left out")
        return None

    def flag(self, members: Mapping[str, Any], name: str, path: str) -> bool:
        """True or false; true if missing, as for brokers."""
        value = members.get(name)
        if value is None or isinstance(value, bool):
            return value is not False
        self._say(child(path, name), f"is neither true nor false: {_shortened(value)}", "it is taken as true")
        return True

    def texts(self, members: Mapping[str, Any], name: str, path: str) -> tuple[str, ...]:
        value = members.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._say(child(path, name), f"is not a list: {_shortened(value)}", "it is left out")
            return ()
        wrong = [at for at, item in enumerate(value) if not isinstance(item, str)]
        for at in wrong:
            self._say(f"{child(path, name)}[{at}]", f"is not a text: {_shortened(value[at])}", "it is left out")
        return tuple(item for item in value if isinstance(item, str))

    def object(self, members: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
        """An object; empty if missing."""
        value = members.get(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._say(child(path, name), f"is not an object: {_shortened(value)}", "it is left out")
        return {}

    def objects(self, members: Mapping[str, Any], path: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """The members that are objects."""
        for name, value in members.items():
            if isinstance(value, dict):
                yield name, value
            else:
                self._say(child(path, name), f"is not an object: {_shortened(value)}", "this one is set aside")

    def _say(self, place: str, reason: str, advice: str) -> None:
        self.problems.append(Problem(self.source, place, reason, advice))


def members_of(data: bytes) -> dict[str, Any] | None:
    """The members of a report; None for what is not an object of JSON."""
    try:
        decoded = msgspec.json.decode(quoted_numbers(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def _shortened(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:  # its depth was just still read
        return "nested too deep to be shown"
    return text if len(text) <= 40 else f"{text[:39]}…"
