"""Which keys change their partition: when partitions are added, and between two clients.

Adding partitions breaks the order of a key that moves: its older messages stay where they were (#299, #3454).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from engine.errors import Rejection
from engine.routing.keys import HashingScheme, Message, partition_of_key

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
