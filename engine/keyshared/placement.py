"""Where known keys fall: what each consumer of a selector has, and which keys are served by a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.keyshared.model import Selector
from engine.keyshared.ownership import OwnedSlots, slots_by_consumer

_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Placement:
    """What each consumer has, side by side in join order; ``shares`` add up to 1 while anything is served.

    ``ownerless`` keys have no consumer; ``misplaced`` are served by another one than the one that has their slot.
    """

    ids: tuple[int, ...]
    shares: tuple[float, ...]
    keys: tuple[int, ...]
    messages: tuple[float, ...]
    ownerless: int
    misplaced: tuple[bytes, ...]


def place(selector: Selector, counts: Mapping[bytes, float], received: Mapping[bytes, int]) -> Placement:
    """Each key with its messages at the consumer that it was ``received`` by, else at the one the selector names.

    Two accounts are compared: the look-up of single slots, and the slots each consumer has in all. Every slot is
    looked up once, however many keys it has. O(k + s log n) for k keys on s slots.
    """
    owned = slots_by_consumer(selector)
    ids = tuple(each.consumer_id for each in selector.consumers)
    position = {number: at for at, number in enumerate(ids)}
    keys = list(counts)
    every_slot = np.fromiter(map(selector.slots.slot_of_key, keys), np.int64, len(keys))
    slots, where = np.unique(every_slot, return_inverse=True)
    looked_up = np.array([position.get(_or_nobody(selector.owner(slot)), _NOBODY) for slot in slots.tolist()], np.int64)
    receivers, rightful = looked_up[where], _holders(owned, position, slots)[where]
    strangers = np.zeros(len(keys), dtype=np.bool_)
    if received:
        for at, key in enumerate(keys):
            if key in received:
                receivers[at] = position.get(received[key], _NOBODY)
                strangers[at] = received[key] not in position
    # A key that somebody unknown got counts for nobody, but it is not without an owner.
    wrong = strangers | (receivers != rightful)
    served = receivers != _NOBODY
    messages = np.fromiter(counts.values(), np.float64, len(keys))
    sizes = [sum(piece.count for piece in owned[number]) for number in ids]
    whole = sum(sizes)
    return Placement(
        ids=ids,
        shares=tuple(each / whole if whole else 0.0 for each in sizes),
        keys=tuple(np.bincount(receivers[served], minlength=len(ids)).tolist()),
        messages=tuple(np.bincount(receivers[served], messages[served], len(ids)).tolist()),
        ownerless=int((~served & ~strangers).sum()),
        misplaced=tuple(keys[at] for at in np.flatnonzero(wrong).tolist()),
    )


def _or_nobody(owner: int | None) -> int:
    return _NOBODY if owner is None else owner


def _holders(
    owned: Mapping[int, tuple[OwnedSlots, ...]], position: Mapping[int, int], slots: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The position of the consumer that has each slot, ``_NOBODY`` where none has."""
    ends: dict[tuple[int, int], int] = {}
    holders: dict[tuple[int, int], int] = {}
    for number, pieces in owned.items():
        for each in pieces:
            ends[each.range.start, each.divisor] = each.range.end
            holders[each.range.start, each.remainder] = position[number]
    if not ends:
        return np.full(len(slots), _NOBODY, dtype=np.int64)
    order = sorted(ends)
    starts = np.array([start for start, _ in order], dtype=np.int64)
    lasts = np.array([ends[piece] for piece in order], dtype=np.int64)
    divisors = np.array([divisor for _, divisor in order], dtype=np.int64)
    # The pieces one after another, each with as many places as consumers share it.
    first = np.cumsum(divisors) - divisors
    table = np.full(int(divisors.sum()), _NOBODY, dtype=np.int64)
    for offset, (start, divisor) in zip(first.tolist(), order, strict=True):
        for remainder in range(divisor):
            table[offset + remainder] = holders.get((start, remainder), _NOBODY)
    at = np.searchsorted(starts, slots, side="right") - 1
    found: NDArray[np.int64] = table[first[at] + slots % divisors[at]]
    found[(at < 0) | (slots > lasts[at])] = _NOBODY
    return found
