"""Which keys move when partitions are added, and which go to different partitions from different clients.

Adding partitions breaks the order of a key that moves: its older messages stay where they were (#299, #3454).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import Rejection
from engine.routing.clients import JAVA_DEFAULT, PYTHON_DEFAULT, KeyHash, KeyRouting, every_routing, partition_of


@dataclass(frozen=True, slots=True)
class KeyPlaces:
    """The partitions of one key: before and after, or with one client and with another.

    None where the key does not decide: the empty key for some clients, bytes for others.
    """

    key: str | bytes
    left: int | None
    right: int | None

    @property
    def differ(self) -> bool:
        """Whether the two are not the same."""
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class KeyMoves:
    """What a growth from ``before`` to ``after`` partitions does to keys of one client.

    ``expected_share`` is the share of all hashes that move, so what to expect of many random keys.
    """

    routing: KeyRouting
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

    left: KeyRouting
    right: KeyRouting
    partitions: int
    places: tuple[KeyPlaces, ...]
    expected_share: float

    @property
    def disagreeing(self) -> tuple[KeyPlaces, ...]:
        """The keys that the two put into different partitions, in the order given."""
        return tuple(place for place in self.places if place.differ)


def moved_keys(
    keys: Iterable[str | bytes], before: int, after: int, routing: KeyRouting = JAVA_DEFAULT
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
    places = tuple(
        KeyPlaces(key, partition_of(key, routing, before), partition_of(key, routing, after)) for key in keys
    )
    return KeyMoves(routing, before, after, places, expected_moved_share(before, after))


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


def moves_of_clients(
    keys: Iterable[str | bytes], before: int, after: int
) -> tuple[tuple[tuple[KeyRouting, ...], KeyMoves], ...] | Rejection:
    """``moved_keys`` for every client and hash that can be computed; those that do the same with these keys are one.

    The keys that move depend on the client, their number hardly does. The default of Java is the first.

    >>> moves = moves_of_clients(["k0"], 4, 6)
    >>> for clients, each in moves:
    ...     print(each.routing.hashing, *(routing.client for routing in clients))
    JavaStringHash java
    Murmur3_32Hash java cpp node go fsharp
    BoostHash cpp python node
    JavaStringHash cpp node
    JavaStringHash go
    Murmur3_32Hash rust dotpulsar
    """
    all_keys = tuple(keys)
    alike: dict[tuple[KeyHash, tuple[KeyPlaces, ...]], tuple[KeyMoves, list[KeyRouting]]] = {}
    for routing in every_routing():
        if routing.known:
            moves = moved_keys(all_keys, before, after, routing)
            if isinstance(moves, Rejection):
                return moves
            alike.setdefault((routing.key_hash, moves.places), (moves, []))[1].append(routing)
    return tuple((tuple(routings), moves) for moves, routings in alike.values())


def client_disagreements(
    keys: Iterable[str | bytes],
    partitions: int,
    left: KeyRouting = JAVA_DEFAULT,
    right: KeyRouting = PYTHON_DEFAULT,
) -> Disagreements | Rejection:
    """Where two clients put the same keys: by default the Java client and the Python client; linear in the keys.

    >>> disagreements = client_disagreements(["k0", "k1", ""], 6)
    >>> [(place.key, place.left, place.right) for place in disagreements.disagreeing]
    [('k1', 0, 1), ('', 0, None)]
    """
    if partitions < 1:
        return Rejection("IllegalArgumentException", f"{partitions} is below 1", field="partitions")
    places = tuple(
        KeyPlaces(key, partition_of(key, left, partitions), partition_of(key, right, partitions)) for key in keys
    )
    expected = 0.0 if left == right else 1 - 1 / partitions
    return Disagreements(left, right, partitions, places, expected)
