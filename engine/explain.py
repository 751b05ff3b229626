"""What explanations are made of: data that a shell turns into sentences. Nothing here decides anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.hashing import crc32_hash, murmur3_32, murmur3_32_raw, utf8

HashFunction = Literal["murmur3_32", "crc32"]


@dataclass(frozen=True, slots=True)
class HashedText:
    """A text on its way to a hash: the UTF-8 bytes, the function's own 32-bit result, and the value Pulsar works with.

    ``raw`` is signed for ``murmur3_32`` (as Java prints it) and equals ``value`` for ``crc32``.
    """

    text: str
    data: bytes
    function: HashFunction
    raw: int
    value: int


def hashed_by_murmur3(text: str) -> HashedText:
    """The steps from a text to its ``murmur3_32``: a topic name or a point key of a ring.

    >>> step = hashed_by_murmur3("ab")
    >>> step.data, step.raw, step.value
    (b'ab', -1681926305, 465557343)
    """
    return HashedText(text, utf8(text), "murmur3_32", murmur3_32_raw(text), murmur3_32(text))


def hashed_by_crc32(text: str) -> HashedText:
    """The steps from a topic name to the hash that places it in a bundle."""
    value = crc32_hash(text)
    return HashedText(text, utf8(text), "crc32", value, value)


@dataclass(frozen=True, slots=True)
class Division:
    """``dividend`` mod ``divisor`` = ``remainder``."""

    dividend: int
    divisor: int
    remainder: int
