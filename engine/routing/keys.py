"""From the key of a message to a partition: which text counts as the key, and how a client hashes it.

Sources: ``MessageRouterBase``, ``JavaStringHash``, ``Murmur3Hash32``, ``TypedMessageBuilderImpl`` of the Java client,
and ``BoostHash`` of the C++ client (``HashingScheme::BoostHash``, its default, and that of the Python client built on
it): Boost's ``hash_range`` for characters, 1.81 and later (the scheme of mulxp1), cut to 31 bits.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from engine.hashing import HASH_SPACE_SIZE, java_string_hash, murmur3_32, sign_safe_mod, utf8

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


HashingScheme = Literal["JavaStringHash", "Murmur3_32Hash", "BoostHash"]
"""How a client hashes keys. The Java client knows the first two, with JavaStringHash as its default; BoostHash is what
the Python client does, with no choice, so one key goes to different partitions from Java and from Python."""

_HASHES: Final[dict[HashingScheme, Callable[[str], int]]] = {
    "JavaStringHash": java_string_hash,
    "Murmur3_32Hash": murmur3_32,
    "BoostHash": lambda key: boost_hash(utf8(key)),
}


@dataclass(frozen=True, slots=True)
class Message:
    """What a router sees of a message: the partition key as a text, None without one. The ordering key plays no part.

    An empty key is a key for the Java client (its hash is 0, so partition 0) and none for the Python client. The size
    counts for the C++ client's round robin while batching, and for nothing else.
    """

    key: str | None = None
    size_bytes: int = 0

    @classmethod
    def of_key_bytes(cls, key: bytes) -> Message:
        """A message whose key was set with ``keyBytes``: clients hash the base64 form of such a key.

        A broker decodes it again for Key_Shared, so that one key has different hashes in the two places.

        >>> Message.of_key_bytes(b"\\x00\\xff").key
        'AP8='
        """
        return cls(base64.b64encode(key).decode("ascii"))

    def has_key(self, hashing: HashingScheme) -> bool:
        """Whether a client with this hashing scheme counts the message as keyed."""
        return bool(self.key) if hashing == "BoostHash" else self.key is not None


def key_hash(key: str, hashing: HashingScheme) -> int:
    """The hash of a key, 0 .. 2**31 - 1.

    >>> key_hash("ab", "JavaStringHash") == 97 * 31 + 98
    True
    """
    return _HASHES[hashing](key)


def partition_of_key(key: str, hashing: HashingScheme, partitions: int) -> int:
    """The partition of a key among ``partitions`` (at least 1); it changes when partitions are added.

    >>> [partition_of_key("a", "JavaStringHash", count) for count in (1, 10, 97, 98)]
    [0, 7, 0, 97]
    """
    return sign_safe_mod(key_hash(key, hashing), partitions)
