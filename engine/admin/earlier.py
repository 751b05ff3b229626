"""Decoded answers of the reading before: what has the same bytes again is not decoded again.

Whoever reads a cluster every few seconds gets nearly the same answers each time. Holding one ``EarlierAnswers`` makes a
reading cost what has changed since the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class EarlierParts:
    """The parts of one answer by name, with their bytes and what they were decoded to."""

    __slots__ = ("_before", "_kept")

    def __init__(self, before: EarlierParts | None = None) -> None:
        self._before: dict[str, tuple[msgspec.Raw, Any]] = before._kept if before is not None else {}
        self._kept: dict[str, tuple[msgspec.Raw, Any]] = {}

    def get(self, name: str, raw: msgspec.Raw) -> Any | None:
        """What the part was decoded to when it had the same bytes, else None."""
        earlier = self._before.get(name)
        if earlier is None or earlier[0] != raw:
            return None
        # The new bytes replace the equal old ones, which would keep the whole answer before in memory.
        self._kept[name] = (raw, earlier[1])
        return earlier[1]

    def keep(self, name: str, raw: msgspec.Raw, decoded: object) -> None:
        self._kept[name] = (raw, decoded)

    def forget_before(self) -> None:
        """Drop what the parts were in the answer before, once all of this one is decoded."""
        self._before = {}


@dataclass(frozen=True, slots=True)
class _Answer:
    data: bytes
    decoded: Any
    parts: EarlierParts


class EarlierAnswers:
    """Decoded answers by the purpose of decoding and the name of the answer, which is the same at each reading."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], _Answer] = {}
        self._now: dict[tuple[str, str], _Answer] = {}

    def begin(self) -> None:
        """Begin another reading. What the last one did not ask for is forgotten."""
        self._before, self._now = self._now, {}

    def get(self, purpose: str, name: str, data: bytes, decode: Callable[[EarlierParts], T]) -> T:
        """What ``decode`` returned for the same bytes in this or the last reading, else what it returns now."""
        key = purpose, name
        earlier = self._now.get(key) or self._before.get(key)
        if earlier is not None and (earlier.data is data or earlier.data == data):
            self._now[key] = earlier
            decoded: T = earlier.decoded
            return decoded
        parts = EarlierParts(earlier.parts if earlier is not None else None)
        decoded = decode(parts)
        parts.forget_before()
        self._now[key] = _Answer(data, decoded, parts)
        return decoded


def remembered(
    earlier: EarlierAnswers | None, purpose: str, name: str, data: bytes, decode: Callable[[EarlierParts | None], T]
) -> T:
    """What ``earlier`` has of an answer; without one it is decoded, and nothing is kept."""
    return decode(None) if earlier is None else earlier.get(purpose, name, data, decode)
