"""Hash resonance: which slots the keys of one partition can have, and which consumers can get any of them.

A router with Murmur3 takes the partition from the same hash as the broker takes the slot from. Both are remainders of
one number, so they agree modulo the greatest common divisor of the partitions and the slots: of 65,536 slots a
partition of 1,024 sees 64, and at most 64 consumers of one partition ever work. The ring has 65,535 slots, which is
3 * 5 * 17 * 257: there it is 3, 5, 6 or 12 partitions that resonate, and powers of two do not.

With another hash, such as JavaStringHash, partition and slot are independent: any slot occurs in any partition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.hashing import HASH_SPACE_SIZE
from engine.keyshared.model import Selector, SlotSpace
from engine.keyshared.ownership import OwnedSlots, slots_by_consumer

_FEW: Final = 1_000


@dataclass(frozen=True, slots=True)
class PartitionSlots:
    """The slots that occur among the keys of one partition.

    The *place* of a hash is its remainder by the number of slots; the slot is the place plus the lowest slot. A place
    occurs if its remainder by ``modulus`` is one of ``remainders``, or if it is one of ``strays`` (places of the few
    hashes beyond the last slot of a space that is almost as large as that of hashes).
    """

    space: SlotSpace
    modulus: int
    remainders: tuple[int, ...]
    strays: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """How many slots occur."""
        return self.count_in(OwnedSlots(self.space.range))

    def count_in(self, piece: OwnedSlots) -> int:
        """How many slots of a piece occur.

        >>> [partition_slots(SlotSpace(0, 65_535), 1024, partition, 31).count for partition in (0, 1, 2)]
        [64, 64, 64]
        """
        low = self.space.low
        first, last = max(piece.range.start, self.space.low) - low, min(piece.range.end, self.space.high) - low
        folds = self.space.folds_zero and low == 0
        if folds:
            first = max(first, 1)
        total = sum(
            _in_both((first, last), (self.modulus, remainder), (piece.divisor, piece.remainder - low))
            for remainder in self.remainders
        )
        strays = {1 if folds and place == 0 else place for place in self.strays}
        if folds and 0 in self.remainders:
            strays.add(1)  # slot 0 means no hash, so keys of place 0 have slot 1
        return total + sum(
            1
            for place in strays
            if piece.contains(place + low) and first <= place <= last and place % self.modulus not in self.remainders
        )


def _in_both(span: tuple[int, int], one: tuple[int, int], other: tuple[int, int]) -> int:
    """How many x of a span are in both classes, each a divisor and what x leaves when divided by it."""
    (first, last), (modulus, remainder), (divisor, rest) = span, one, other
    common = math.gcd(modulus, divisor)
    if first > last or (remainder - rest) % common:
        return 0
    step = math.lcm(modulus, divisor)
    turns = (rest - remainder) // common * pow(modulus // common, -1, divisor // common) if divisor > common else 0
    start = first + (remainder + modulus * turns - first) % step
    return (last - start) // step + 1 if start <= last else 0


def partition_slots(space: SlotSpace, partitions: int, partition: int, murmur_bits: int) -> PartitionSlots:
    """The slots of a partition's keys, where the router divides the lower ``murmur_bits`` bits of Murmur3.

    0 bits: another hash, so all slots. Exact for up to 32,768 partitions.

    >>> from engine.keyshared.model import RING_SLOTS
    >>> partition_slots(SlotSpace(0, 65_535), 12, 7, 31).modulus, partition_slots(RING_SLOTS, 12, 7, 31).modulus
    (4, 3)
    >>> partition_slots(RING_SLOTS, 12, 7, 32).remainders
    (1, 2)
    """
    if murmur_bits == 0 or partitions == 1:
        return PartitionSlots(space, 1, (0,))
    hashes = {partition}
    if murmur_bits == 32:
        # The slot comes from 31 bits: half of all hashes have lost 2^31, which changes the remainder.
        hashes.add(partition - HASH_SPACE_SIZE)
    beyond = HASH_SPACE_SIZE - space.size
    whole = beyond < _FEW
    modulus = partitions if whole else math.gcd(partitions, space.size)
    remainders = tuple(sorted({value % modulus for value in hashes}))
    strays = tuple(place for place in range(beyond) if (space.size + place) % modulus in remainders) if whole else ()
    return PartitionSlots(space, modulus, remainders, strays)


@dataclass(frozen=True, eq=False, slots=True)
class Resonance:
    """Who can get keys of which partition, all partitions having this selector.

    ``modulus`` 1: partition and slot are independent. ``slot_counts``: by partition, how many slots it sees.
    ``busy``: by partition, how many consumers can get a key of it. ``unreached``: consumer id -> the partitions of
    which it never gets a key, only consumers that own a slot at all and have such partitions.
    """

    partitions: int
    modulus: int
    slot_counts: tuple[int, ...]
    busy: NDArray[np.int64]
    unreached: Mapping[int, tuple[int, ...]]

    @property
    def slots(self) -> tuple[int, int]:
        """The fewest and the most slots that a partition sees."""
        return min(self.slot_counts), max(self.slot_counts)


@lru_cache(maxsize=4)
def _slots_of_all(
    space: SlotSpace, partitions: int, murmur_bits: int
) -> tuple[tuple[PartitionSlots, ...], tuple[int, ...]]:
    """The slots of every partition, and how many they are. Consumers come and go without changing them."""
    seen = tuple([partition_slots(space, partitions, partition, murmur_bits) for partition in range(partitions)])
    return seen, tuple([slots.count for slots in seen])


def resonance_of(selector: Selector, partitions: int, murmur_bits: int) -> Resonance:
    """Exactly who can get keys of which partition. O(pieces + consumers x partitions).

    >>> from engine.keyshared.model import Consumer
    >>> from engine.keyshared.sticky import sticky_selector
    >>> narrow = sticky_selector().join(Consumer(1, "a", ((0, 1),)))
    >>> resonance = resonance_of(narrow.join(Consumer(2, "b", ((2, 65_535),))), 4, 31)
    >>> resonance.modulus, resonance.busy.tolist(), resonance.unreached
    (4, [2, 2, 1, 1], {1: (2, 3)})
    """
    seen, counts = _slots_of_all(selector.slots, partitions, murmur_bits)
    modulus = seen[0].modulus
    remainders = np.array([slots.remainders[:1] + slots.remainders[-1:] for slots in seen], dtype=np.int64)
    stray = [partition for partition, slots in enumerate(seen) if slots.strays]
    busy = np.zeros(partitions, dtype=np.int64)
    unreached: dict[int, tuple[int, ...]] = {}
    for consumer_id, pieces in slots_by_consumer(selector).items():
        if not pieces:
            continue
        covered = _covered(pieces, modulus, selector.slots)
        reached: NDArray[np.bool_] = np.asarray(covered[remainders].any(axis=1))
        for partition in stray:
            reached[partition] |= any(seen[partition].count_in(piece) for piece in pieces)
        busy += reached
        if not reached.all():
            unreached[consumer_id] = tuple(np.flatnonzero(~reached).tolist())
    return Resonance(partitions, modulus, counts, busy, unreached)


def _covered(pieces: Iterable[OwnedSlots], modulus: int, space: SlotSpace) -> NDArray[np.bool_]:
    """Which remainders by ``modulus`` the places of these pieces have."""
    covered = np.zeros(modulus, dtype=np.bool_)
    folds = space.folds_zero and space.low == 0
    for piece in pieces:
        first = piece.range.start + (piece.remainder - piece.range.start) % piece.divisor - space.low
        number = min(piece.count, modulus)
        covered[(first + piece.divisor * np.arange(number, dtype=np.int64)) % modulus] = True
        if folds and piece.contains(1):
            covered[0] = True
    return covered
