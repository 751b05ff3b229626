"""The key hash of the C++ client and of the Python client built on it: ``boost::hash`` of a text, Boost 1.81 and later.

Source: ``BoostHash`` of the C++ client (``HashingScheme::BoostHash``, its default), over Boost's ``hash_range`` for
characters (the scheme of mulxp1). The result is cut to 31 bits, as with every hashing scheme of a Pulsar client.
"""

from __future__ import annotations

from typing import Final

from engine.hashing import HASH_SPACE_SIZE

_STEP: Final = 0x9E3779B97F4A7C15
_FACTOR: Final = 0xDF442D22CE4859B9
_MASK_64: Final = 2**64 - 1
_BLOCK_BYTES: Final = 8


def boost_hash(data: bytes) -> int:
    """The hash of these bytes, 0 .. 2**31 - 1; linear in their number.

    Blocks of 8 bytes are read little-endian and mixed one after another, then the rest of 0 to 7 bytes, then the
    length. The C++ client of another Boost release, or of a 32-bit machine, hashes otherwise.

    A text of one byte has no whole block; with mix = low half xor high half of a 128-bit product:

    >>> one = mix(_STEP, _FACTOR)
    >>> boost_hash(b"k") == mix((one ^ 1 ^ mix(ord("k") + one + _STEP, _FACTOR)) + one + _STEP, _FACTOR) % 2**31
    True
    >>> boost_hash(b"k0") % 6, boost_hash(b"k1") % 6
    (5, 1)
    """
    weight = mix(_STEP, _FACTOR)
    accumulator = weight ^ len(data)
    whole = len(data) - len(data) % _BLOCK_BYTES
    for at in range(0, whole, _BLOCK_BYTES):
        block = int.from_bytes(data[at : at + _BLOCK_BYTES], "little")
        weight = (weight + _STEP) & _MASK_64
        accumulator ^= mix(block + weight, _FACTOR)
    weight = (weight + _STEP) & _MASK_64
    accumulator ^= mix(_tail(data[whole:]) + weight, _FACTOR)
    return mix(accumulator + weight, _FACTOR) % HASH_SPACE_SIZE


def mix(left: int, right: int) -> int:
    """The two halves of the 128-bit product of two 64-bit numbers, one xor the other; numbers wrap at 64 bits.

    >>> mix(2**32, 2**33), mix(3, 5)
    (2, 15)
    """
    product = (left & _MASK_64) * (right & _MASK_64)
    return (product & _MASK_64) ^ (product >> 64)


def _tail(rest: bytes) -> int:
    """Up to 7 bytes as one number; parts of it overlap, and a byte that is met twice is the same twice."""
    size = len(rest)
    if size >= 4:
        low = int.from_bytes(rest[:4], "little")
        return int.from_bytes(rest[-4:], "little") << (8 * (size - 4)) | low
    if size == 0:
        return 0
    last = (size - 1) & 2
    middle = size >> 1
    return rest[last] << (8 * last) | rest[middle] << (8 * middle) | rest[0]
