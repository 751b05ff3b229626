"""A cache of decoded answers of the previous reading: equal bytes are not decoded again.

A cluster that is read every few seconds gives nearly the same answers each time. With an ``EarlierAnswers`` the cost of
a reading is what has changed since the previous one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class EarlierParts:
    """The parts of one answer by name, with their bytes and decoded values."""

    __slots__ = ("_before", "_kept")

    def __init__(self, before: EarlierParts | None = None) -> None:
        self._before: dict[str, tuple[msgspec.Raw, Any]] = before._kept if before is not None else {}
        self._kept: dict[str, tuple[msgspec.Raw, Any]] = {}

    def get(self, name: str, raw: msgspec.Raw) -> Any | None:
        """The decoded part if it had the same bytes, else None."""
        earlier = self._before.get(name)
        if earlier is None or earlier[0] != raw:
            return None
        # The new bytes replace the equal old ones, which would keep the whole previous answer in memory.
        self._kept[name] = (raw, earlier[1])
        return earlier[1]

    def keep(self, name: str, raw: msgspec.Raw, decoded: object) -> None:
        self._kept[name] = (raw, decoded)

    def forget_before(self) -> None:
        """Drop the parts of the previous answer, once all of this one is decoded."""
        self._before = {}


class _Answer(Struct, frozen=True):
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
        """Begin another reading. Answers that the last one did not use are dropped."""
        self._before, self._now = self._now, {}

    def get(self, purpose: str, name: str, data: bytes, decode: Callable[[EarlierParts], T]) -> T:
        """The result of ``decode`` for the same bytes in this or the last reading, else a new one."""
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
    """The decoded answer from ``earlier``; without a cache it is decoded, and nothing is kept."""
    return decode(None) if earlier is None else earlier.get(purpose, name, data, decode)
