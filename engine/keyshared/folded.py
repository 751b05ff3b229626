"""A trace of keys folded to slots: the luck of its consumers from sums, and keys that no number of them separates.

``luck_of`` takes every key; with a trace of any length only the sums by slot and the heaviest keys are known, and they
give the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.keyshared.bulk import NO_CONSUMER, consumer_loads, slot_owners
from engine.keyshared.luck import Luck, Weights, luck_of_placement
from engine.keyshared.model import Selector, SlotSpace
from engine.keyshared.ownership import placement_of_sums


@dataclass(frozen=True, slots=True)
class FoldedKeys:
    """By slot, ascending: the number of different ``keys``, their ``rows`` in the trace and messages; (n,) int64."""

    slots: NDArray[np.int64]
    keys: NDArray[np.int64]
    rows: NDArray[np.int64]
    msgs: NDArray[np.int64]

    @classmethod
    def nothing(cls) -> FoldedKeys:
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


@dataclass(frozen=True, slots=True)
class HotKey:
    """One of the heaviest keys, with its Murmur3 hash and its messages."""

    key: bytes
    hash: int
    msgs: int


def luck_of_folded(selector: Selector, folded: FoldedKeys, hottest: Sequence[HotKey]) -> Luck:
    """The same as ``luck_of`` with the sums of all keys; ``hottest``: the heaviest, if any has an owner.

    O(n log points), and the cost of ``fullest``.
    """
    owners = slot_owners(selector)
    keys, msgs = (consumer_loads(owners, folded.slots, sums.astype(np.float64)) for sums in (folded.keys, folded.msgs))
    placement = placement_of_sums(selector, keys.weight, msgs.weight, int(keys.unowned_weight))
    owner = owners.look_up(np.array([selector.slots.slot(key.hash) for key in hottest], dtype=np.int64))
    # Keys without an owner load no consumer, however hot they are.
    served = [key for key, number in zip(hottest, owner.tolist(), strict=True) if number != NO_CONSUMER]
    most = max(served, key=lambda key: key.msgs, default=None)
    weights = Weights(sum(placement.keys), sum(placement.messages), float(most.msgs) if most is not None else 0.0)
    return luck_of_placement(selector, placement, weights, most.key if most is not None else None)


@dataclass(frozen=True, slots=True)
class InseparableKeys:
    """A slot whose keys stay together whatever the number of consumers, and those of them that are hot.

    ``one key`` or all of ``one slot`` carry more than an even share, or ``hot keys meet`` in it.
    """

    slot: int
    keys: int
    hot: tuple[HotKey, ...]
    msgs: int
    reason: Literal["one key", "one slot", "hot keys meet"]


def inseparable_keys(
    space: SlotSpace, folded: FoldedKeys, hottest: Sequence[HotKey], *, consumers: int, most: int
) -> list[InseparableKeys]:
    """Slots above the even share of ``consumers``, at most so many, the heaviest first, then slots with several hot
    keys. O(n + most log most)."""
    whole, count = int(folded.msgs.sum()), max(consumers, 2)
    hot_in: dict[int, list[HotKey]] = defaultdict(list)
    for key in hottest:
        hot_in[space.slot(key.hash)].append(key)
    above = np.flatnonzero(folded.msgs * count > whole)
    above = above[np.lexsort((folded.slots[above], -folded.msgs[above]))][:most]
    chosen = dict.fromkeys(folded.slots[above].tolist())
    meeting = [slot for slot, keys in sorted(hot_in.items()) if len(keys) > 1 and slot not in chosen]
    found: list[InseparableKeys] = []
    for slot in (*chosen, *meeting):
        at, hot = int(np.searchsorted(folded.slots, slot)), tuple(hot_in.get(slot, ()))
        alone = bool(hot) and hot[0].msgs * count > whole
        reason: Literal["one key", "one slot", "hot keys meet"] = (
            "hot keys meet" if slot not in chosen else "one key" if alone else "one slot"
        )
        found.append(InseparableKeys(slot, int(folded.keys[at]), hot, int(folded.msgs[at]), reason))
    return found
