"""The iteration order of Java's hash maps over names, which decides nearly every tie of the load managers.

After ``HashMap`` (``HashSet`` is one) and ``ConcurrentHashMap`` of Java 8 and later. An order is a value: how many
buckets the table has and its keys as they come out, which is all that later insertions depend on.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal

from engine.hashing import utf16_order

MapKind = Literal["hash", "concurrent"]
INITIAL_CAPACITY: Final = 16
_TREEIFY_AT: Final = 9
"""As many keys in one bucket make a tree in a table of 64 buckets or more, and enlarge a smaller one."""
_MIN_TREEIFY_CAPACITY: Final = 64
_MASK_32: Final = 2**32 - 1


@lru_cache(maxsize=1 << 17)
def spread_hash(key: str) -> int:
    """``String.hashCode`` as an unsigned number, its upper half folded into the lower one, as both maps use it.

    >>> spread_hash("ab") == ord("a") * 31 + ord("b")
    True
    """
    data = utf16_order(key)
    code = 0
    for unit in struct.unpack(f">{len(data) // 2}H", data):
        code = (code * 31 + unit) & _MASK_32
    return code ^ (code >> 16)


@dataclass(frozen=True, slots=True)
class MapOrder:
    """The keys of one Java map in the order of its iteration, and how many buckets it has.

    A table never shrinks, so the same keys can come out in different orders. Nine keys in one bucket of a table of 64
    buckets or more make a tree, whose order is not modelled: the keys stay in order of insertion.

    >>> MapOrder("hash").updated(["b", "a", "p"]).keys
    ('p', 'a', 'b')
    """

    kind: MapKind
    keys: tuple[str, ...] = ()
    capacity: int = INITIAL_CAPACITY

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def updated(self, add: Iterable[str] = (), *, remove: Iterable[str] = ()) -> MapOrder:
        """The map after keys were removed and others put in this order; a known key keeps its place. O(n).

        One key more costs a copy of the keys and a search, as long as the table does not grow.
        """
        add, remove = tuple(add), tuple(remove)
        if self.keys and len(add) == 1 and not remove:
            found = self._with_one(add[0])
            if found is not None:
                return found
        if not self.keys:
            keys = tuple(dict.fromkeys(add))
            return _filled(self.kind, self.capacity, keys) if keys else self
        known = set(self.keys)
        gone = known.intersection(remove)
        fresh = [key for key in dict.fromkeys(add) if key not in known or key in gone]
        if not gone and not fresh:
            return self
        if not fresh:
            return replace(self, keys=tuple(key for key in self.keys if key not in gone))
        table = _Table(self.kind, self.capacity)
        for key in self.keys:
            if key not in gone:
                table.bucket_of(key).append(key)
        table.size = len(known) - len(gone)
        for key in fresh:
            table.insert(key)
        return MapOrder(self.kind, table.keys(), table.capacity)

    def _with_one(self, key: str) -> MapOrder | None:
        """The map with one key more; None where the table grows with it."""

        def bucket_of(name: str) -> int:
            return spread_hash(name) & (self.capacity - 1)

        bucket, size = bucket_of(key), len(self.keys) + 1
        end = bisect_right(self.keys, bucket, key=bucket_of)
        begin = bisect_left(self.keys, bucket, hi=end, key=bucket_of)
        if key in self.keys[begin:end]:
            return self
        quarter = self.capacity // 4
        grows = size > self.capacity * 3 // 4 if self.kind == "hash" else size >= self.capacity - quarter
        if grows or (end - begin + 1 >= _TREEIFY_AT and self.capacity < _MIN_TREEIFY_CAPACITY):
            return None
        return replace(self, keys=(*self.keys[:end], key, *self.keys[end:]))

    def replaced(self, keys: Iterable[str]) -> MapOrder:
        """The map after every other key was removed and these were put in order."""
        wanted = dict.fromkeys(keys)
        return self.updated(wanted, remove=[key for key in self.keys if key not in wanted])

    def cleared(self) -> MapOrder:
        """The same table, empty."""
        return MapOrder(self.kind, (), self.capacity)

    @property
    def doubtful(self) -> tuple[tuple[str, ...], ...]:
        """The groups of keys that share a bucket: another history of the map could have them in another order."""
        groups = (tuple(keys) for _, keys in groupby(self.keys, key=lambda key: spread_hash(key) & (self.capacity - 1)))
        return tuple(keys for keys in groups if len(keys) > 1)

    @property
    def turned_round(self) -> MapOrder:
        """The same map with the keys of each bucket the other way round: what another history could have made of it.

        >>> order = hash_order(["p", "a", "P"])
        >>> order.keys, order.turned_round.keys
        (('p', 'P', 'a'), ('P', 'p', 'a'))
        """
        buckets = groupby(self.keys, key=lambda key: spread_hash(key) & (self.capacity - 1))
        return replace(self, keys=tuple(key for _, keys in buckets for key in reversed(list(keys))))


@lru_cache(maxsize=64)
def _filled(kind: MapKind, capacity: int, keys: tuple[str, ...]) -> MapOrder:
    """An empty table once these keys were put; sets of candidates are filled with the same ones again and again."""
    table = _Table(kind, capacity)
    for key in keys:
        table.insert(key)
    return MapOrder(kind, table.keys(), table.capacity)


def hash_order(keys: Iterable[str]) -> MapOrder:
    """A new ``HashMap`` or ``HashSet`` filled in this order."""
    return MapOrder("hash").updated(keys)


def hash_order_of_all(keys: Iterable[str], *, roomy: bool) -> MapOrder:
    """A new ``HashSet`` made of a collection, whose table is large enough for all of it from the start.

    ``roomy``: up to Java 18 it is made for one key more, which doubles it for 12, 24, 48 … keys (JDK-8281631).

    >>> [hash_order_of_all(map(str, range(100, 112)), roomy=roomy).capacity for roomy in (True, False)]
    [32, 16]
    """
    wanted = tuple(keys)
    least = len(wanted) * 4 // 3 + 1 if roomy else (len(wanted) * 4 + 2) // 3
    return MapOrder("hash", (), _power_of_two(max(least, INITIAL_CAPACITY))).updated(wanted)


def concurrent_order(keys: Iterable[str]) -> MapOrder:
    """A new ``ConcurrentHashMap`` filled in this order."""
    return MapOrder("concurrent").updated(keys)


class _Table:
    """The buckets of one map while keys are put; lives no longer than the call."""

    __slots__ = ("buckets", "capacity", "kind", "size")

    def __init__(self, kind: MapKind, capacity: int) -> None:
        self.kind = kind
        self.capacity = capacity
        self.size = 0
        self.buckets: dict[int, list[str]] = {}

    def bucket_of(self, key: str) -> list[str]:
        return self.buckets.setdefault(spread_hash(key) & (self.capacity - 1), [])

    def insert(self, key: str) -> None:
        bucket = self.bucket_of(key)
        bucket.append(key)
        crowded = len(bucket) >= _TREEIFY_AT and self.capacity < _MIN_TREEIFY_CAPACITY
        if self.kind == "hash":
            if crowded:
                self._double()
            self.size += 1
            if self.size > self.capacity * 3 // 4:
                self._double()
            return
        if crowded:
            wanted = _power_of_two(2 * self.capacity + self.capacity + 1)
            while self.capacity - self.capacity // 4 < wanted:
                self._double()
        self.size += 1
        while self.size >= self.capacity - self.capacity // 4:
            self._double()

    def _double(self) -> None:
        dealt: dict[int, list[str]] = {}
        for index, bucket in self.buckets.items():
            split = _split_in_order if self.kind == "hash" else _split_around_tail
            lower, upper = split(bucket, self.capacity)
            dealt[index], dealt[index + self.capacity] = lower, upper
        self.capacity *= 2
        self.buckets = {index: bucket for index, bucket in dealt.items() if bucket}

    def keys(self) -> tuple[str, ...]:
        return tuple(key for index in sorted(self.buckets) for key in self.buckets[index])


def _split_in_order(bucket: Sequence[str], bit: int) -> tuple[list[str], list[str]]:
    """A bucket in two when a ``HashMap`` doubles: both halves keep their order."""
    return (
        [key for key in bucket if not spread_hash(key) & bit],
        [key for key in bucket if spread_hash(key) & bit],
    )


def _split_around_tail(bucket: Sequence[str], bit: int) -> tuple[list[str], list[str]]:
    """A bucket in two when a ``ConcurrentHashMap`` doubles.

    The longest tail whose keys all go to one half is kept as it is; the keys before it are put in front of their
    halves one by one, so these come out turned round.
    """
    halves: tuple[list[str], list[str]] = ([], [])
    if not bucket:
        return halves
    sides = [bool(spread_hash(key) & bit) for key in bucket]
    start = len(bucket) - 1
    while start and sides[start - 1] == sides[-1]:
        start -= 1
    halves[sides[-1]].extend(bucket[start:])
    for key, side in zip(bucket[:start], sides, strict=False):
        halves[side].insert(0, key)
    return halves


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
