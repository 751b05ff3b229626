"""Key_Shared in bulk: slots of many keys, the owner of every slot, what each consumer gets of a trace, and hot keys.

Every selector of ``engine.keyshared`` has its table here (``engine.keyshared.bulk_owners``), and look-ups agree slot by
slot. Consumers go by their id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import Names, murmur3_bulk
from engine.keyshared.bulk_owners import NO_CONSUMER, SlotOwners
from engine.keyshared.model import RANGE_SIZE, SlotSpace

TABLE_SLOTS: Final = RANGE_SIZE
"""Slots that a table holds at most: those of all selectors but the rings that look up 31 bits."""


def slots_bulk(hashes: NDArray[np.integer], space: SlotSpace) -> NDArray[np.int64]:
    """``SlotSpace.slot`` of each hash: (n,) int64; ``hashes``: (n,) in 0 .. 2^31 - 1. O(n).

    >>> slots_bulk(np.array([65_535, 65_536]), SlotSpace(0, 65_535)).tolist()
    [65535, 1]
    """
    slots = hashes.astype(np.int64) % space.size
    slots += space.low
    if space.folds_zero:
        slots[slots == 0] = 1
    return slots


def slots_of_keys(keys: Names, space: SlotSpace) -> NDArray[np.int64]:
    """The slot of each sticky key, given as bytes or text: (n,) int64. O(bytes)."""
    return slots_bulk(murmur3_bulk(keys), space)


def slot_weights(
    slots: NDArray[np.int64], space: SlotSpace, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """How much falls on each slot: (space.high + 1,) float64, indexed by slot; without weights, how many. O(n + slots).

    Fold a trace so once, whatever it is long: all selectors with this slot space are then answered from the table.

    >>> slot_weights(np.array([1, 3, 3]), SlotSpace(1, 4)).tolist()
    [0.0, 1.0, 0.0, 2.0, 0.0]
    """
    assert space.high < TABLE_SLOTS, f"a table of {space.high + 1} slots is too large: use consumer_loads"
    return np.bincount(slots, weights=weights, minlength=space.high + 1).astype(np.float64, copy=False)


def owner_table(owners: SlotOwners) -> NDArray[np.int64]:
    """The consumer id of every slot: (65536,) int64, indexed by slot, ``NO_CONSUMER`` where nobody has it.

    Slots that do not occur (0 where it is folded, those beyond the space) have nobody. O(slots log points).
    """
    space = owners.space
    assert space.high < TABLE_SLOTS, f"{space.high} is beyond a table of {TABLE_SLOTS} slots: look slots up instead"
    low = max(space.low, 1) if space.folds_zero else space.low
    table = np.full(TABLE_SLOTS, NO_CONSUMER, dtype=np.int64)
    # A space of the slot 0 alone folds it into slot 1, beyond the space.
    occurring = np.arange(low, max(space.high, low) + 1)
    table[occurring] = owners.look_up(occurring)
    return table


@dataclass(frozen=True, slots=True)
class ConsumerLoads:
    """What each consumer gets, one array each of (c,), in the order the consumers joined; and what nobody gets.

    ``consumer_id``: int64; ``slots``: int64, slots with an entry in the trace; ``weight``: float64.
    """

    consumer_id: NDArray[np.int64]
    slots: NDArray[np.int64]
    weight: NDArray[np.float64]
    unowned_weight: float

    @property
    def max_over_mean(self) -> float:
        """The largest weight over the mean of all consumers, idle ones included; 0 without weight or consumers."""
        total = float(self.weight.sum())
        return float(self.weight.max()) * len(self.weight) / total if total > 0 else 0.0


def consumer_loads(
    owners: SlotOwners, slots: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> ConsumerLoads:
    """The load of each consumer of a selector. O(n log points).

    ``slots``: (n,) int64, of events, keys or folded slots (a slot may repeat); ``weights``: (n,) float64, 1 without.
    """
    ids = np.array(owners.consumer_ids, dtype=np.int64)
    by_id = np.argsort(ids, kind="stable")
    owner = owners.look_up(slots)
    # Nobody stands behind all consumers.
    place = np.full(len(slots), len(ids), dtype=np.int64)
    owned = owner != NO_CONSUMER
    place[owned] = by_id[np.searchsorted(ids[by_id], owner[owned])]
    weight = np.bincount(place, weights=weights, minlength=len(ids) + 1).astype(np.float64, copy=False)
    _, first = np.unique(slots, return_index=True)
    distinct = np.bincount(place[first], minlength=len(ids) + 1)
    return ConsumerLoads(ids, distinct[:-1], weight[:-1], float(weight[-1]))


@dataclass(frozen=True, slots=True)
class HotKey:
    """One key of a trace with all its weight; ``share`` of the whole trace, 0 .. 1."""

    key: bytes
    weight: float
    share: float


def hot_keys(keys: Sequence[bytes], weights: Iterable[float] | None = None, *, top: int = 10) -> tuple[HotKey, ...]:
    """The ``top`` heaviest keys, exactly; of equal weight the smaller key first. O(n + k log k) for k distinct keys.

    ``weights``: one for each key, 1 without.

    >>> [(hot.key, hot.weight, hot.share) for hot in hot_keys([b"b", b"a", b"b", b"c"], top=2)]
    [(b'b', 2, 0.5), (b'a', 1, 0.25)]
    """
    total: Counter[bytes] = Counter()
    if weights is None:
        total.update(keys)
    else:
        for key, weight in zip(keys, weights, strict=True):
            total[key] += weight  # type: ignore[assignment]
    whole = sum(total.values())
    hottest = sorted(total.items(), key=lambda entry: (-entry[1], entry[0]))[:top]
    return tuple(HotKey(key, weight, weight / whole if whole else 0.0) for key, weight in hottest)
