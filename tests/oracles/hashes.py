"""Hashes written from their published descriptions, and narrowed so that collisions, ties and wraps happen often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

SHAPES = ("low", "edges", "slots")
"""How few bits are spread: the lowest numbers, both ends of equal parts of the space, or both ends of equal parts of
the 65536 slots."""


def utf8(text: str) -> bytes:
    """What Java hashes for a text: two halves of a pair side by side are one character, one half alone is "?"."""
    if text.isascii():
        return text.encode()
    units, result = list(java_units(text)), bytearray()
    while units:
        unit = units.pop(0)
        if 0xD800 <= unit < 0xDC00 and units and 0xDC00 <= units[0] < 0xE000:
            result += chr(0x10000 + (unit - 0xD800 << 10) + units.pop(0) - 0xDC00).encode()
        else:
            result += b"?" if 0xD800 <= unit < 0xE000 else chr(unit).encode()
    return bytes(result)


@cache
def java_units(text: str) -> tuple[int, ...]:
    """The UTF-16 code units of a text: Java compares and hashes texts by them."""
    data = text.encode("utf-16-be", "surrogatepass")
    return tuple(data[at] << 8 | data[at + 1] for at in range(0, len(data), 2))


def murmur3_x86_32(data: bytes) -> int:
    """The unsigned 32-bit MurmurHash3 with seed 0, byte by byte."""
    full = 0xFFFFFFFF
    state = 0

    def mixed(block: int) -> int:
        block = block * 0xCC9E2D51 & full
        block = (block << 15 | block >> 17) & full
        return block * 0x1B873593 & full

    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        state ^= mixed(data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24)
        state = (state << 13 | state >> 19) & full
        state = (state * 5 + 0xE6546B64) & full
    tail = 0
    for at in reversed(range(whole, len(data))):
        tail = tail << 8 | data[at]
    if len(data) % 4:
        state ^= mixed(tail)
    state ^= len(data)
    state ^= state >> 16
    state = state * 0x85EBCA6B & full
    state ^= state >> 13
    state = state * 0xC2B2AE35 & full
    return state ^ state >> 16


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ 0xEDB88320 if value & 1 else value >> 1
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def crc32(data: bytes) -> int:
    """The CRC-32 of zlib, from its polynomial."""
    state = 0xFFFFFFFF
    for byte in data:
        state = state >> 8 ^ _CRC_TABLE[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF


def java_string_hash(text: str) -> int:
    """``String.hashCode`` with its top bit cleared."""
    total = 0
    for unit in java_units(text):
        total = (31 * total + unit) % 2**32
    return total % 2**31


def boost_hash(data: bytes) -> int:
    """``boost::hash`` of a string since 1.81, cut to 31 bits: what the C++ and Python clients hash keys with."""
    q, k, wide = 0x9E3779B97F4A7C15, 0xDF442D22CE4859B9, 2**64

    def folded(a: int, b: int) -> int:
        product = a % wide * b
        return product % wide ^ product // wide

    w = folded(q, k)
    h = w ^ len(data)
    blocks, rest = len(data) // 8, data[len(data) // 8 * 8 :]
    for at in range(blocks):
        w = (w + q) % wide
        h ^= folded(int.from_bytes(data[8 * at : 8 * at + 8], "little") + w, k)
    r = len(rest)
    value = 0
    if r >= 4:
        value = int.from_bytes(rest[-4:], "little") << 8 * (r - 4) | int.from_bytes(rest[:4], "little")
    elif r:
        x1, x2 = (r - 1) & 2, r >> 1
        value = rest[x1] << 8 * x1 | rest[x2] << 8 * x2 | rest[0]
    w = (w + q) % wide
    h ^= folded(value + w, k)
    return folded(h + w, k) % 2**31


def narrowed(value: Any, bits: int, space_bits: int, shape: str) -> Any:
    """A hash of ``space_bits`` bits with ``bits`` bits of information; ``value`` is a number or an array of numbers."""
    few = value & (1 << bits) - 1
    room = 16 if shape == "slots" and space_bits == 31 else space_bits
    if shape == "low" or bits >= room:
        return few
    # The lowest of the few bits says which end of a part: its first number or its last one.
    spread = room - bits + 1
    return few >> 1 << spread | (few & 1) * ((1 << spread) - 1)


def lowered(value: Any) -> Any:
    """A hash of a point, in the lower three quarters of its space: so every fourth search goes past the last point."""
    return value - (value >> 2)


def is_looked_up(data: bytes) -> bool:
    """Topics and the keys of a soak have a colon, the texts of points have none."""
    return b":" in data


@dataclass(frozen=True)
class Hashing:
    """The two hashes of a broker, whole (``bits`` 0) or narrowed; ``gap``: points leave the top of the space free."""

    bits: int = 0
    shape: str = "low"
    gap: bool = False

    def __str__(self) -> str:
        return f"{self.bits}:{self.shape}{':gap' if self.gap else ''}" if self.bits else "whole"

    @classmethod
    def parse(cls, text: str) -> Hashing:
        """What ``str`` of one gave."""
        if text == "whole":
            return cls()
        bits, shape, *gap = text.split(":")
        return cls(int(bits), shape, bool(gap))

    def of_murmur(self, value: Any, *, looked_up: bool) -> Any:
        """The hash that stands for a whole one, a number or an array of them."""
        if not self.bits:
            return value
        few = narrowed(value, self.bits, 31, self.shape)
        return few if looked_up or not self.gap else lowered(few)

    def of_crc(self, value: int) -> int:
        """The same for the other hash."""
        return narrowed(value, self.bits, 32, self.shape) if self.bits else value

    def hashes(self) -> Hashes:
        """The functions, each with a memory of what it was asked."""

        def murmur(data: bytes) -> int:
            return self.of_murmur(murmur3_x86_32(data) % 2**31, looked_up=is_looked_up(data))

        def crc(data: bytes) -> int:
            return self.of_crc(crc32(data))

        return Hashes(_remembering(murmur), _remembering(crc))


@dataclass(frozen=True)
class Hashes:
    """``murmur``: 0 .. 2^31 - 1, ``crc``: 0 .. 2^32 - 1, of bytes."""

    murmur: Callable[[bytes], int]
    crc: Callable[[bytes], int]

    def __deepcopy__(self, _: dict[int, object]) -> Hashes:
        return self


def _remembering(function: Callable[[bytes], int]) -> Callable[[bytes], int]:
    known: dict[bytes, int] = {}

    def ask(data: bytes) -> int:
        if data not in known:
            known[data] = function(data)
        return known[data]

    return ask
