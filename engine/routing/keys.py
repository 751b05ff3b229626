"""From the key of a message to a partition, and which keys move when partitions are added or clients differ.

Which text counts as the key, and how a client hashes it. Adding partitions breaks the order of a key that moves: its
older messages stay where they were (#299, #3454).

Sources: ``MessageRouterBase``, ``JavaStringHash``, ``Murmur3Hash32``, ``TypedMessageBuilderImpl`` of the Java client,
and ``BoostHash`` of the C++ client (``HashingScheme::BoostHash``, its default, and that of the Python client built on
it): Boost's ``hash_range`` for characters, 1.81 and later (the scheme of mulxp1), cut to 31 bits.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from engine.errors import Rejection
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


HASHING_SCHEMES: Final[tuple[HashingScheme, ...]] = ("JavaStringHash", "Murmur3_32Hash", "BoostHash")


@dataclass(frozen=True, slots=True)
class KeyPlaces:
    """The partitions of one key: before and after, or with one client and with another.

    None where the client does not count the key as one: the empty key for BoostHash.
    """

    key: str
    left: int | None
    right: int | None

    @property
    def differ(self) -> bool:
        """Whether the two are not the same."""
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class KeyMoves:
    """What a growth from ``before`` to ``after`` partitions does to keys hashed with one scheme.

    ``expected_share`` is the share of all hashes that move, so what to expect of many random keys.
    """

    hashing: HashingScheme
    before: int
    after: int
    places: tuple[KeyPlaces, ...]
    expected_share: float

    @property
    def moved(self) -> tuple[KeyPlaces, ...]:
        """The keys that change their partition, in the order given."""
        return tuple(place for place in self.places if place.differ)


@dataclass(frozen=True, slots=True)
class Disagreements:
    """Where two clients put the same keys; ``expected_share`` is what two independent hashes would disagree on."""

    left: HashingScheme
    right: HashingScheme
    partitions: int
    places: tuple[KeyPlaces, ...]
    expected_share: float

    @property
    def disagreeing(self) -> tuple[KeyPlaces, ...]:
        """The keys that the two put into different partitions, in the order given."""
        return tuple(place for place in self.places if place.differ)


def moved_keys(
    keys: Iterable[str], before: int, after: int, hashing: HashingScheme = "JavaStringHash"
) -> KeyMoves | Rejection:
    """Each key's partition among ``before`` and among ``after`` partitions; linear in the keys.

    >>> moves = moved_keys(["a", "b"], 4, 6)
    >>> [(place.key, place.left, place.right) for place in moves.places], moves.expected_share == 1 - 4 / 12
    ([('a', 1, 1), ('b', 2, 2)], True)
    """
    if before < 1:
        return Rejection("IllegalArgumentException", f"{before} is below 1", field="partitions")
    if after < before:
        message = f"partitions cannot be taken away: from {before} to {after}"
        return Rejection("NotSupportedException", message, field="partitions")
    places = tuple(KeyPlaces(key, _place(key, hashing, before), _place(key, hashing, after)) for key in keys)
    return KeyMoves(hashing, before, after, places, expected_moved_share(before, after))


def expected_moved_share(before: int, after: int) -> float:
    """The share of hashes whose remainder by ``before`` is not that by ``after``, both at least 1.

    In each stretch of lcm hashes exactly ``min(before, after)`` keep theirs. Hashes end at 2**31, so the share is right
    to within lcm / 2**31. Doubling moves half of all keys, adding one to n partitions all but 1 / (n + 1).

    Real keys do as random ones with Murmur3_32Hash and BoostHash. JavaStringHash multiplies by 31, which is 1 modulo
    every divisor of 30: with 2, 3, 5, 6, 10, 15 or 30 partitions the sum of a short key's characters decides, and
    numbered keys can move far less, or more, than this.

    >>> expected_moved_share(6, 12), round(expected_moved_share(4, 5), 9), expected_moved_share(3, 3)
    (0.5, 0.8, 0.0)
    """
    return 1 - min(before, after) / math.lcm(before, after)


def moved_keys_by_scheme(keys: Iterable[str], before: int, after: int) -> dict[HashingScheme, KeyMoves] | Rejection:
    """``moved_keys`` for each hashing scheme: the keys that move depend on the client, their number hardly does."""
    all_keys = tuple(keys)
    by_scheme: dict[HashingScheme, KeyMoves] = {}
    for hashing in HASHING_SCHEMES:
        moves = moved_keys(all_keys, before, after, hashing)
        if isinstance(moves, Rejection):
            return moves
        by_scheme[hashing] = moves
    return by_scheme


def client_disagreements(
    keys: Iterable[str],
    partitions: int,
    left: HashingScheme = "JavaStringHash",
    right: HashingScheme = "BoostHash",
) -> Disagreements | Rejection:
    """Where two clients put the same keys: by default the Java client and the Python client; linear in the keys.

    >>> disagreements = client_disagreements(["k0", "k1", ""], 6)
    >>> [(place.key, place.left, place.right) for place in disagreements.disagreeing]
    [('k1', 0, 1), ('', 0, None)]
    """
    if partitions < 1:
        return Rejection("IllegalArgumentException", f"{partitions} is below 1", field="partitions")
    places = tuple(KeyPlaces(key, _place(key, left, partitions), _place(key, right, partitions)) for key in keys)
    expected = 0.0 if left == right else 1 - 1 / partitions
    return Disagreements(left, right, partitions, places, expected)


def _place(key: str, hashing: HashingScheme, partitions: int) -> int | None:
    return partition_of_key(key, hashing, partitions) if Message(key).has_key(hashing) else None
