"""One Key_Shared subscription of one state, with what the panels share: pieces of the hash space and known keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.cluster.key_state import KeySubscription
from engine.cluster.remember import Remembered
from engine.cluster.state import ClusterState
from engine.keyshared.fairness import Fairness, fairness_of
from engine.keyshared.gaps import Gaps, gaps_of
from engine.keyshared.key_text import text_of_key
from engine.keyshared.model import RangesById, Selector
from engine.keyshared.ownership import OwnedSlots, owned_ranges, slots_by_consumer


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """The hash space as pieces that follow each other: ``ends`` ascending, ``owners`` consumer ids, -1 for nobody.

    Where consumers share a piece, the first of them stands for it (``shared`` is true then).
    """

    ends: NDArray[np.int64]
    owners: NDArray[np.int64]
    shared: bool

    def owners_at(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """The owner ids of slots; past the last piece nobody."""
        if not len(self.ends):
            return np.full(len(slots), -1, dtype=np.int64)
        at = np.searchsorted(self.ends, slots, side="left")
        found: NDArray[np.int64] = np.append(self.owners, -1)[at]
        return found


@dataclass(frozen=True, eq=False, slots=True)
class KnownKeys:
    """The known keys side by side, ascending by slot: texts, bytes, slots, owner ids (-1: nobody), messages so far."""

    texts: tuple[str, ...]
    keys: tuple[bytes, ...]
    slots: NDArray[np.int64]
    owners: NDArray[np.int64]
    messages: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class KeysSlice:
    """What the panels read; ``owned`` are each consumer's slots by the look-up, ``gaps`` what nobody has."""

    state: ClusterState
    subscription: KeySubscription
    owned: dict[int, tuple[OwnedSlots, ...]]
    pieces: Pieces
    gaps: Gaps
    known: KnownKeys

    @property
    def selector(self) -> Selector:
        return self.subscription.delivery.selector

    @property
    def lowest_slot(self) -> int:
        """The first slot that occurs."""
        slots = self.selector.slots
        return max(slots.low, 1) if slots.folds_zero else slots.low

    def slot_counts(self) -> dict[int, int]:
        """Consumer id -> how many slots it has."""
        return {owner: sum(each.count for each in pieces) for owner, pieces in self.owned.items()}


@dataclass(frozen=True, eq=False, slots=True)
class _Placed:
    """What of ``KnownKeys`` does not depend on the consumers."""

    texts: tuple[str, ...]
    keys: tuple[bytes, ...]
    slots: NDArray[np.int64]
    messages: NDArray[np.int64]


_owned: Remembered[tuple[dict[int, tuple[OwnedSlots, ...]], Pieces, Gaps]] = Remembered()
_placed: Remembered[_Placed] = Remembered()
_known: Remembered[KnownKeys] = Remembered()
_fairness: Remembered[Fairness] = Remembered()


def fairness(selector: Selector) -> Fairness:
    """``fairness_of``, remembered: several panels ask for it."""
    return _fairness.get((selector,), (), lambda: fairness_of(selector))


def keys_slice(state: ClusterState, subscription: KeySubscription) -> KeysSlice:
    """The slice of one subscription; what did not change is remembered. O(n log n + k log k): n pieces, k keys."""
    selector = subscription.delivery.selector
    owned, pieces, gaps = _owned.get((selector,), (), lambda: _divided(selector))
    known = _known.get((selector, subscription.keys), (), lambda: _known_keys(subscription, pieces))
    return KeysSlice(state, subscription, owned, pieces, gaps, known)


def keys_slice_by_key(state: ClusterState, key: str) -> KeysSlice | None:
    """The slice of the subscription with that key; None when the state has none."""
    found = next((each for each in state.key_subscriptions if each.key == key), None)
    return keys_slice(state, found) if found is not None else None


def _divided(selector: Selector) -> tuple[dict[int, tuple[OwnedSlots, ...]], Pieces, Gaps]:
    owned = slots_by_consumer(selector)
    served: RangesById = owned_ranges(selector)
    if not served:  # shared points: every slot is somebody's while anybody is there
        served = {owner: tuple(each.range for each in pieces) for owner, pieces in owned.items()}
    gaps = gaps_of(selector.consumers, served, selector.slots)
    return owned, _pieces(selector, owned), gaps


def _pieces(selector: Selector, owned: dict[int, tuple[OwnedSlots, ...]]) -> Pieces:
    found = sorted(
        (piece.range.start, piece.remainder, piece.range.end, owner)
        for owner, pieces in owned.items()
        for piece in pieces
    )
    ends: list[int] = []
    owners: list[int] = []
    at = selector.slots.low
    shared = False
    for start, _, end, owner in found:
        if ends and end <= ends[-1]:
            shared = True
            continue
        # Slot 0 alone is no gap, since it does not occur: the first piece covers it.
        if start > at and not (start == 1 and at == 0 and selector.slots.folds_zero):
            ends.append(start - 1)
            owners.append(-1)
        ends.append(end)
        owners.append(owner)
        at = end + 1
    if at <= selector.slots.high:
        ends.append(selector.slots.high)
        owners.append(-1)
    return Pieces(np.array(ends, dtype=np.int64), np.array(owners, dtype=np.int64), shared)


def _known_keys(subscription: KeySubscription, pieces: Pieces) -> KnownKeys:
    selector = subscription.delivery.selector
    placed = _placed.get((subscription.keys,), (selector.slots,), lambda: _place(subscription))
    if pieces.shared:
        found = [selector.owner(slot) for slot in placed.slots.tolist()]
        owners = np.array([-1 if each is None else each for each in found], dtype=np.int64)
    else:
        owners = pieces.owners_at(placed.slots)
    return KnownKeys(placed.texts, placed.keys, placed.slots, owners, placed.messages)


def _place(subscription: KeySubscription) -> _Placed:
    slots = subscription.delivery.selector.slots
    rows = sorted((slots.slot_of_key(key), key, count) for key, count in subscription.keys.items())
    return _Placed(
        texts=tuple(_text(key) for _, key, _ in rows),
        keys=tuple(key for _, key, _ in rows),
        slots=np.array([slot for slot, _, _ in rows], dtype=np.int64),
        messages=np.array([count for _, _, count in rows], dtype=np.int64),
    )


@lru_cache(maxsize=200_000)
def _text(key: bytes) -> str:
    return text_of_key(key)
