"""The hash functions of Pulsar's broker and clients, how they read text, and their steps as data for explanations.

Every function is pure. A hash is an int in 0 .. ``HASH_SPACE_SIZE`` - 1 unless its name says ``raw`` or ``crc32``.
"""

from __future__ import annotations

import struct
import zlib
from typing import Annotated, Final, Literal

import mmh3
from msgspec import Struct

from engine.answer import about

HASH_SPACE_SIZE: Final = 2**31
"""How many values ``murmur3_32`` can take: Pulsar clears the top bit of a 32-bit hash."""

_MASK_31: Final = HASH_SPACE_SIZE - 1
_MASK_32: Final = 2**32 - 1
_MASK_64: Final = 2**64 - 1
_BOOST_STEP: Final = 0x9E3779B97F4A7C15
_BOOST_FACTOR: Final = 0xDF442D22CE4859B9
_BOOST_BLOCK_BYTES: Final = 8


def utf8(text: str) -> bytes:
    """The UTF-8 bytes Java's ``String.getBytes(UTF_8)`` gives for this text.

    A surrogate without its partner becomes ``?``, as in Java; two adjacent halves are one character.

    >>> utf8("\\u00e9"), utf8("a\\ud800b"), utf8("\\ud83d\\ude00") == "\\U0001f600".encode()
    (b'\\xc3\\xa9', b'a?b', True)
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        joined = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
        return joined.encode("utf-8", "replace")


def utf16_order(text: str) -> bytes:
    """A sort key that orders texts like Java's ``String.compareTo``: by UTF-16 code unit, then by length.

    It differs from Python's own order where one text has U+E000 .. U+FFFF and the other a supplementary character: the
    supplementary one is first, since its first unit is a surrogate.

    >>> "\\uffee" < "\\U0001f600", utf16_order("\\uffee") < utf16_order("\\U0001f600")
    (True, False)
    """
    return text.encode("utf-16-be", "surrogatepass")


def murmur3_32_raw(data: bytes | str) -> int:
    """MurmurHash3 (x86, 32 bit, seed 0) as a signed 32-bit number; a text is hashed as UTF-8.

    >>> murmur3_32_raw("ab")
    -1681926305
    """
    return mmh3.hash(utf8(data) if isinstance(data, str) else data)


def murmur3_32(data: bytes | str) -> int:
    """``Murmur3_32Hash`` and ``Murmur3Hash32`` of Pulsar: the raw hash with its top bit cleared (not negated).

    >>> murmur3_32("ab") == -1681926305 + 2**31
    True
    >>> murmur3_32(b"")
    0
    """
    return mmh3.hash(utf8(data) if isinstance(data, str) else data) & _MASK_31


def java_string_hash(text: str) -> int:
    """``JavaStringHash``: ``String.hashCode()`` over UTF-16 code units with the top bit cleared.

    >>> java_string_hash("ab") == ord("a") * 31 + ord("b")
    True
    """
    return java_hash_code(utf16_order(text)) & _MASK_31


def java_hash_code(units: bytes) -> int:
    """``String.hashCode()`` of big-endian UTF-16 units, signed.

    >>> java_hash_code(utf16_order("polygenelubricants"))
    -2147483648
    """
    accumulator = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        accumulator = (accumulator * 31 + unit) & _MASK_32
    return accumulator - 2**32 if accumulator >= 2**31 else accumulator


def java_hash_of_bytes(data: bytes, *, signed: bool) -> int:
    """JavaStringHash as Go and C++ compute it: over the UTF-8 bytes, 32 bits; C++ takes them as signed numbers.

    A text of ASCII has the same hash as in Java, before the top bit is cleared. (Signed is C++ on x86; where ``char``
    is unsigned, as on ARM, C++ does as Go does.)

    >>> java_hash_of_bytes(b"ab", signed=True) == java_hash_of_bytes(b"ab", signed=False) == 97 * 31 + 98
    True
    >>> java_hash_of_bytes("é".encode(), signed=False), java_hash_of_bytes("é".encode(), signed=True) - 2**32
    (6214, -1978)
    """
    accumulator = 0
    for byte in data:
        accumulator = (accumulator * 31 + (byte - 256 if signed and byte > 127 else byte)) & _MASK_32
    return accumulator


def boost_hash(data: bytes) -> int:
    """The hash of these bytes, 0 .. 2**31 - 1; linear in their number.

    Boost's ``hash_range`` for characters, 1.81 and later (the scheme of mulxp1), cut to 31 bits: ``BoostHash`` of the
    C++ client and those built on it.

    Blocks of 8 bytes are read little-endian and mixed one after another, then the rest of 0 to 7 bytes, then the
    length. The C++ client of another Boost release, or of a 32-bit machine, hashes otherwise.

    A text of one byte has no whole block; with mix = low half xor high half of a 128-bit product:

    >>> step, factor = _BOOST_STEP, _BOOST_FACTOR
    >>> one = mix(step, factor)
    >>> boost_hash(b"k") == mix((one ^ 1 ^ mix(ord("k") + one + step, factor)) + one + step, factor) % 2**31
    True
    >>> boost_hash(b"k0") % 6, boost_hash(b"k1") % 6
    (5, 1)
    """
    weight = mix(_BOOST_STEP, _BOOST_FACTOR)
    accumulator = weight ^ len(data)
    whole = len(data) - len(data) % _BOOST_BLOCK_BYTES
    for at in range(0, whole, _BOOST_BLOCK_BYTES):
        block = int.from_bytes(data[at : at + _BOOST_BLOCK_BYTES], "little")
        weight = (weight + _BOOST_STEP) & _MASK_64
        accumulator ^= mix(block + weight, _BOOST_FACTOR)
    weight = (weight + _BOOST_STEP) & _MASK_64
    accumulator ^= mix(_boost_tail(data[whole:]) + weight, _BOOST_FACTOR)
    return mix(accumulator + weight, _BOOST_FACTOR) & _MASK_31


def mix(left: int, right: int) -> int:
    """The two halves of the 128-bit product of two 64-bit numbers, one xor the other; numbers wrap at 64 bits.

    >>> mix(2**32, 2**33), mix(3, 5)
    (2, 15)
    """
    product = (left & _MASK_64) * (right & _MASK_64)
    return (product & _MASK_64) ^ (product >> 64)


def _boost_tail(rest: bytes) -> int:
    """Up to 7 bytes as one number; its parts overlap, so some bytes are read twice."""
    size = len(rest)
    if size >= 4:
        low = int.from_bytes(rest[:4], "little")
        return int.from_bytes(rest[-4:], "little") << (8 * (size - 4)) | low
    if size == 0:
        return 0
    last = (size - 1) & 2
    middle = size >> 1
    return rest[last] << (8 * last) | rest[middle] << (8 * middle) | rest[0]


def crc32_hash(topic: str) -> int:
    """CRC-32 of the UTF-8 bytes as an unsigned 32-bit number: the place of a topic among bundles (Guava ``crc32``).

    >>> crc32_hash("123456789") == 0xCBF43926
    True
    """
    return zlib.crc32(utf8(topic))


def sign_safe_mod(dividend: int, divisor: int) -> int:
    """``MathUtils.signSafeMod``: the remainder that is never negative; the divisor must be positive.

    >>> sign_safe_mod(-1, 10)
    9
    """
    assert divisor > 0, f"the divisor of signSafeMod is positive, not {divisor}"
    return dividend % divisor


HashFunction = Literal["murmur3_32", "crc32"]


class HashedText(Struct, frozen=True):
    """A text on its way to a hash: the UTF-8 bytes, the function's own 32-bit result, and the value Pulsar works with.

    ``raw`` is signed for ``murmur3_32`` (as Java prints it) and equals ``value`` for ``crc32``.
    """

    text: Annotated[str, about("The text.")]
    data: Annotated[bytes, about("Its UTF-8 bytes, in hexadecimal.")]
    function: Annotated[HashFunction, about("The hash function.")]
    raw: Annotated[int, about("Its 32-bit result, signed as Java prints it.")]
    value: Annotated[int, about("What Pulsar works with.")]


def hashed_by_murmur3(text: str) -> HashedText:
    """The steps from a text to its ``murmur3_32``: a topic name or a point key of a ring.

    >>> step = hashed_by_murmur3("ab")
    >>> step.data, step.raw, step.value
    (b'ab', -1681926305, 465557343)
    """
    return HashedText(text, utf8(text), "murmur3_32", murmur3_32_raw(text), murmur3_32(text))


class Division(Struct, frozen=True):
    """``dividend`` mod ``divisor`` = ``remainder``."""

    dividend: Annotated[int, about("What is divided.")]
    divisor: Annotated[int, about("By what.")]
    remainder: Annotated[int, about("What is left.")]
