"""One Key_Shared subscription of one state, with what the panels share: pieces of the hash space and known keys.

All its partitions, or one of them. Where partitions differ in the owners of slots, the slice of all counts the slots of
each, and each known key has the owner that its own partition gives it; pieces to draw can only be those of one, the
first (``differs``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import ClusterState
from engine.keyshared.bulk import slot_owners
from engine.keyshared.delivery_state import DeliveryState
from engine.keyshared.fairness import Fairness, fairness_of
from engine.keyshared.keys import text_of_key
from engine.keyshared.model import Consumer, Selector
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
    """The known keys side by side, ascending by slot: texts, bytes, slots, owner ids (-1: nobody), messages so far.

    ``partitions`` are -1 where the key does not decide, and without partitions.
    """

    texts: tuple[str, ...]
    keys: tuple[bytes, ...]
    slots: NDArray[np.int64]
    partitions: NDArray[np.int64]
    owners: NDArray[np.int64]
    messages: NDArray[np.int64]

    @property
    def counts(self) -> dict[bytes, int]:
        """Key -> its messages so far."""
        return dict(zip(self.keys, self.messages.tolist(), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class KeysSlice:
    """What the panels read; ``gaps`` are slots without an owner; ``partition`` None: all of them.

    Where it ``differs``, ``pieces`` and ``owned`` are those of the first partition, and the rest is of all.
    """

    state: ClusterState
    subscription: KeySubscription
    pieces: Pieces
    gaps: Gaps
    known: KnownKeys
    partition: int | None = None
    differs: bool = False

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """One for all that agree, else that of each partition."""
        return self.subscription.selectors if self.differs else (self.selector,)

    @property
    def selector(self) -> Selector:
        return self.subscription.dispatchers[self.partition or 0].selector

    @property
    def dispatchers(self) -> tuple[tuple[int, DeliveryState], ...]:
        """The dispatchers that have messages, with their partitions (-1 without partitions)."""
        number = 0 if self.subscription.routing is not None else -1
        return tuple(
            (partition + number, dispatcher)
            for partition, dispatcher in enumerate(self.subscription.dispatchers)
            if dispatcher.backlog and self.partition in (None, partition)
        )

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """Those connected to what is in the slice."""
        return self.subscription.consumers if self.partition is None else self.selector.consumers

    @property
    def owned(self) -> Mapping[int, tuple[OwnedSlots, ...]]:
        """Each consumer's slots by the look-up, as ranges: expensive for many of them, so only for a single answer."""
        return _owned_of(self.selector)

    @property
    def slot_count(self) -> int:
        """How many slots occur: all of the space but slot 0 where that one is folded into 1."""
        return sum(selector.slots.occurring for selector in self.selectors)

    def slot_counts(self) -> dict[int, int]:
        """Consumer id -> how many slots it has."""
        return self._summed(slot_counts_of)

    def piece_counts(self) -> dict[int, int]:
        """Consumer id -> into how many pieces its slots fall."""
        return self._summed(_piece_counts_of)

    def _summed(self, counts_of: Callable[[Selector], dict[int, int]]) -> dict[int, int]:
        sums = Counter({consumer.consumer_id: 0 for consumer in self.consumers})
        for selector, times in _alike(self.selectors):
            sums.update({consumer: count * times for consumer, count in counts_of(selector).items()})
        return dict(sums)


def _alike(selectors: Sequence[Selector]) -> list[tuple[Selector, int]]:
    """The different selectors, each with how many partitions have it."""
    times = Counter(map(id, selectors))
    return [(selector, times[key]) for key, selector in {id(each): each for each in selectors}.items()]


def _owned_of(selector: Selector) -> Mapping[int, tuple[OwnedSlots, ...]]:
    return _owned.get((selector,), (), lambda: slots_by_consumer(selector))


def slot_counts_of(selector: Selector) -> dict[int, int]:
    """Consumer id -> how many slots it has in a partition."""
    pieces = pieces_of(selector)
    if pieces.shared:
        return {owner: sum(piece.count for piece in owned) for owner, owned in _owned_of(selector).items()}
    return _weighed(selector, pieces, pieces.widths)


def _piece_counts_of(selector: Selector) -> dict[int, int]:
    pieces = pieces_of(selector)
    if pieces.shared:
        return {owner: len(owned) for owner, owned in _owned_of(selector).items()}
    return _weighed(selector, pieces, np.ones_like(pieces.ends))


def _weighed(selector: Selector, pieces: Pieces, weights: NDArray[np.int64]) -> dict[int, int]:
    by_consumer = {consumer.consumer_id: 0 for consumer in selector.consumers}
    ids, places = np.unique(pieces.owners, return_inverse=True)
    sums = np.bincount(places, weights, minlength=len(ids)).astype(np.int64)
    by_consumer.update({owner: count for owner, count in zip(ids.tolist(), sums.tolist(), strict=True) if owner >= 0})
    return by_consumer


@dataclass(frozen=True, eq=False, slots=True)
class _Placed:
    """What of ``KnownKeys`` does not depend on the consumers."""

    texts: tuple[str, ...]
    keys: tuple[bytes, ...]
    slots: NDArray[np.int64]
    partitions: NDArray[np.int64]
    messages: NDArray[np.int64]


_owned: Remembered[Mapping[int, tuple[OwnedSlots, ...]]] = Remembered()
_pieces: Remembered[Pieces] = Remembered()
_placed: Remembered[_Placed] = Remembered()
_known: Remembered[KnownKeys] = Remembered()
_fairness: Remembered[Fairness] = Remembered()


def fairness(now: KeysSlice) -> Fairness:
    """``fairness_of`` the (first) partition, remembered: several panels ask for it."""
    return _fairness.get((now.selector,), (), lambda: fairness_of(now.selector, slot_counts_of(now.selector)))


def keys_slice(state: ClusterState, subscription: KeySubscription, partition: int | None = None) -> KeysSlice:
    """The slice of one subscription, or of one of its partitions; what did not change is remembered.

    O(n log n + k log k): n pieces, k keys.
    """
    selector = subscription.dispatchers[partition or 0].selector
    differs = partition is None and not subscription.agree
    each = subscription.selectors if differs else (selector,)
    known = _known.get(
        (*{id(selector): selector for selector in each}.values(), subscription.keys),
        (subscription.routing, subscription.partitions, partition, tuple(map(id, each))),
        lambda: _known_keys(subscription, partition, each),
    )
    return KeysSlice(state, subscription, pieces_of(selector), _gaps(each), known, partition, differs)


def keys_slice_by_key(state: ClusterState, key: str, partition: int | None = None) -> KeysSlice | None:
    """The slice of the subscription with that key; None when the state has none, or not that partition."""
    match = next((subscription for subscription in state.key_subscriptions if subscription.key == key), None)
    if match is None or (partition is not None and not 0 <= partition < match.partitions):
        return None
    return keys_slice(state, match, partition)


def pieces_of(selector: Selector) -> Pieces:
    """The pieces of a selector, remembered."""
    return _pieces.get((selector,), (), lambda: _divided(selector))


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


def _gaps(selectors: Sequence[Selector]) -> Gaps:
    """The ranges that have no owner, each once however many partitions have it, and all their slots counted."""
    ranges: dict[HashRange, None] = {}
    slot_count, present, consumers = 0, set[int](), dict[int, None]()
    for selector, times in _alike(selectors):
        pieces = pieces_of(selector)
        free = pieces.owners < 0
        ends, widths = pieces.ends[free].tolist(), pieces.widths[free].tolist()
        ranges.update(dict.fromkeys(HashRange(end - width + 1, end) for end, width in zip(ends, widths, strict=True)))
        slot_count += sum(widths) * times
        present.update(pieces.owners.tolist())
        consumers.update(dict.fromkeys(consumer.consumer_id for consumer in selector.consumers))
    return Gaps(tuple(ranges), slot_count, tuple(consumer for consumer in consumers if consumer not in present))


def _known_keys(subscription: KeySubscription, partition: int | None, selectors: Sequence[Selector]) -> KnownKeys:
    """The keys of a partition, or all; ``selectors``: the one of all partitions, or each partition's."""
    placed = _placed.get(
        (subscription.keys,),
        (selectors[0].slots, subscription.routing, subscription.partitions),
        lambda: _place(subscription),
    )
    if partition is not None:
        placed = _only(placed, placed.partitions == partition)
    owners = _owners(selectors[0], placed.slots)
    for number, selector in enumerate(selectors[1:], start=1):
        if selector is not selectors[0]:
            here = placed.partitions == number
            owners[here] = _owners(selector, placed.slots[here])
    return KnownKeys(placed.texts, placed.keys, placed.slots, placed.partitions, owners, placed.messages)


def _owners(selector: Selector, slots: NDArray[np.int64]) -> NDArray[np.int64]:
    pieces = pieces_of(selector)
    if not pieces.shared:
        return pieces.owners_at(slots)
    owner_ids = [selector.owner(slot) for slot in slots.tolist()]
    return np.array([-1 if owner is None else owner for owner in owner_ids], dtype=np.int64)


def _only(placed: _Placed, kept: NDArray[np.bool_]) -> _Placed:
    return _Placed(
        texts=tuple(compress(placed.texts, kept.tolist())),
        keys=tuple(compress(placed.keys, kept.tolist())),
        slots=placed.slots[kept],
        partitions=placed.partitions[kept],
        messages=placed.messages[kept],
    )


def _place(subscription: KeySubscription) -> _Placed:
    slots = subscription.delivery.selector.slots
    rows = sorted((slots.slot_of_key(key), key, count) for key, count in subscription.keys.items())
    is_partitioned = subscription.routing is not None
    partitions = [subscription.partition_of(key) if is_partitioned else None for _, key, _ in rows]
    return _Placed(
        texts=tuple(_text(key) for _, key, _ in rows),
        keys=tuple(key for _, key, _ in rows),
        slots=np.array([slot for slot, _, _ in rows], dtype=np.int64),
        partitions=np.array([-1 if partition is None else partition for partition in partitions], dtype=np.int64),
        messages=np.array([count for _, _, count in rows], dtype=np.int64),
    )


@lru_cache(maxsize=200_000)
def _text(key: bytes) -> str:
    return text_of_key(key)
