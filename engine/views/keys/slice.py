"""One Key_Shared subscription of one state, with what the panels share: pieces of the hash space and known keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import ClusterState
from engine.keyshared.bulk import slot_owners
from engine.keyshared.fairness import Fairness, fairness_of
from engine.keyshared.keys import text_of_key
from engine.keyshared.model import Selector
from engine.keyshared.ownership import Gaps, OwnedSlots, slots_by_consumer
from engine.memo import Remembered
from engine.ranges import HashRange


@dataclass(frozen=True, eq=False, slots=True)
class Pieces:
    """The hash space as pieces that follow each other: ``ends`` ascending, ``owners`` consumer ids, -1 for nobody.

    ``first`` is the first slot that occurs. Neighbours of one consumer are joined. Where consumers share a piece, the
    first of them represents it (``shared`` is true then).
    """

    first: int
    ends: NDArray[np.int64]
    owners: NDArray[np.int64]
    shared: bool

    @property
    def widths(self) -> NDArray[np.int64]:
        """How many slots each piece has."""
        return np.diff(self.ends, prepend=self.first - 1)

    def owners_at(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """The owner ids of slots; past the last piece nobody."""
        if not len(self.ends):
            return np.full(len(slots), -1, dtype=np.int64)
        at = np.searchsorted(self.ends, slots, side="left")
        owners: NDArray[np.int64] = np.append(self.owners, -1)[at]
        return owners


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
    """What the panels read; ``gaps`` are slots without an owner."""

    state: ClusterState
    subscription: KeySubscription
    pieces: Pieces
    gaps: Gaps
    known: KnownKeys

    @property
    def selector(self) -> Selector:
        return self.subscription.delivery.selector

    @property
    def owned(self) -> Mapping[int, tuple[OwnedSlots, ...]]:
        """Each consumer's slots by the look-up, as ranges: expensive for many of them, so only for a single answer."""
        selector = self.selector
        return _owned.get((selector,), (), lambda: slots_by_consumer(selector))

    @property
    def slot_count(self) -> int:
        """How many slots occur: all of the space but slot 0 where that one is folded into 1."""
        return self.selector.slots.occurring

    def slot_counts(self) -> dict[int, int]:
        """Consumer id -> how many slots it has."""
        if self.pieces.shared:
            return {owner: sum(piece.count for piece in pieces) for owner, pieces in self.owned.items()}
        return self._summed(self.pieces.widths)

    def piece_counts(self) -> dict[int, int]:
        """Consumer id -> into how many pieces its slots fall."""
        if self.pieces.shared:
            return {owner: len(pieces) for owner, pieces in self.owned.items()}
        return self._summed(np.ones_like(self.pieces.ends))

    def _summed(self, weights: NDArray[np.int64]) -> dict[int, int]:
        by_consumer = {consumer.consumer_id: 0 for consumer in self.selector.consumers}
        ids, places = np.unique(self.pieces.owners, return_inverse=True)
        sums = np.bincount(places, weights, minlength=len(ids)).astype(np.int64)
        by_consumer.update(
            {owner: count for owner, count in zip(ids.tolist(), sums.tolist(), strict=True) if owner >= 0}
        )
        return by_consumer


@dataclass(frozen=True, eq=False, slots=True)
class _Placed:
    """What of ``KnownKeys`` does not depend on the consumers."""

    texts: tuple[str, ...]
    keys: tuple[bytes, ...]
    slots: NDArray[np.int64]
    messages: NDArray[np.int64]


_owned: Remembered[Mapping[int, tuple[OwnedSlots, ...]]] = Remembered()
_pieces: Remembered[Pieces] = Remembered()
_placed: Remembered[_Placed] = Remembered()
_known: Remembered[KnownKeys] = Remembered()
_fairness: Remembered[Fairness] = Remembered()


def fairness(now: KeysSlice) -> Fairness:
    """``fairness_of``, remembered: several panels ask for it."""
    return _fairness.get((now.selector,), (), lambda: fairness_of(now.selector, now.slot_counts()))


def keys_slice(state: ClusterState, subscription: KeySubscription) -> KeysSlice:
    """The slice of one subscription; what did not change is remembered. O(n log n + k log k): n pieces, k keys."""
    selector = subscription.delivery.selector
    pieces = _pieces.get((selector,), (), lambda: _divided(selector))
    known = _known.get((selector, subscription.keys), (), lambda: _known_keys(subscription, pieces))
    return KeysSlice(state, subscription, pieces, _gaps(selector, pieces), known)


def keys_slice_by_key(state: ClusterState, key: str) -> KeysSlice | None:
    """The slice of the subscription with that key; None when the state has none."""
    match = next((subscription for subscription in state.key_subscriptions if subscription.key == key), None)
    return keys_slice(state, match) if match is not None else None


def _divided(selector: Selector) -> Pieces:
    """The stretches of a look-up, cut to the slots that occur."""
    stretches = slot_owners(selector)
    first, last = selector.slots.lowest, selector.slots.high
    nobody = np.int64(-1)
    if not len(stretches.end):
        return Pieces(first, np.array([last], dtype=np.int64), np.array([nobody]), shared=False)
    served = stretches.count > 0
    owners = np.full(len(stretches.end), nobody)
    owners[served] = stretches.claimant[stretches.first[served]]
    ends = np.minimum(stretches.end, last)
    if ends[-1] < last:
        ends = np.append(ends, last)
        owners = np.append(owners, owners[0] if stretches.wraps else nobody)
    # A stretch before the first slot, or behind the last one, has no slot that occurs.
    real = np.diff(ends, prepend=first - 1) > 0
    real &= ends >= first
    ends, owners = ends[real], owners[real]
    lasting = np.append(owners[1:] != owners[:-1], True)
    return Pieces(first, ends[lasting], owners[lasting], shared=bool((stretches.count > 1).any()))


def _gaps(selector: Selector, pieces: Pieces) -> Gaps:
    free = pieces.owners < 0
    ends, widths = pieces.ends[free].tolist(), pieces.widths[free].tolist()
    ranges = tuple(HashRange(end - width + 1, end) for end, width in zip(ends, widths, strict=True))
    present = set(pieces.owners.tolist())
    idle = tuple(consumer.consumer_id for consumer in selector.consumers if consumer.consumer_id not in present)
    return Gaps(ranges, sum(widths), idle)


def _known_keys(subscription: KeySubscription, pieces: Pieces) -> KnownKeys:
    selector = subscription.delivery.selector
    placed = _placed.get((subscription.keys,), (selector.slots,), lambda: _place(subscription))
    if pieces.shared:
        owner_ids = [selector.owner(slot) for slot in placed.slots.tolist()]
        owners = np.array([-1 if owner is None else owner for owner in owner_ids], dtype=np.int64)
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
