"""The active consumers of many topics in numpy, and lists of consumers before and after a change.

The bulk form of ``engine.failover.choose``; owners are positions in the given consumer lists, as in ``bulk_ring``.

A *unit* is one subscription name of one namespace with one list of consumers in one cluster: all its topics
have the same consumers and the same rules. The consumers of all units are numbered consecutively as *slots*; the last
slot of each unit means nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.bulk_ring import NOBODY, Cohorts, Rings, assign_modulo
from engine.failover.choose import Rule, rule_in_force


class SortedTopics(Struct, frozen=True):
    """Topics of one subscription in hash order.

    ``hash``: (n,) int32, ascending; ``row``: (n,) int32, the position before the sort; rows of equal hash keep their
    order.
    """

    hash: NDArray[np.int32]
    row: NDArray[np.int32]


def sort_topics(hashes: NDArray[np.integer]) -> SortedTopics:
    """Put topics into hash order, once for any number of assignments; ``hashes``: (n,) in 0 .. 2^31 - 1. O(n log n).

    >>> topics = sort_topics(np.array([7, 3, 7]))
    >>> topics.hash.tolist(), topics.row.tolist()
    ([3, 7, 7], [1, 0, 2])
    """
    assert len(hashes) < 2**31, f"{len(hashes)} topics are too many: their rows are kept in 32 bits"
    packed = hashes.astype(np.int64) << 32
    packed |= np.arange(len(hashes), dtype=np.int64)
    packed.sort()
    return SortedTopics((packed >> 32).astype(np.int32), packed.astype(np.int32))


def assign(
    cohorts: Cohorts,
    rings: Rings,
    list_no: NDArray[np.integer] | int,
    hashes: NDArray[np.integer],
    partition_index: NDArray[np.integer],
    *,
    consistent_hashing: bool,
    behaviour: ReleaseBehaviour = CURRENT,
) -> NDArray[np.int32]:
    """The active consumer of each topic under the rule in force for it: (n,) int32, ``NOBODY`` without consumers.

    ``list_no``, ``hashes``, ``partition_index``: (n,) each, or one number for all; a negative partition index means
    that the topic is not partitioned. Before 3.0 such a topic goes to the first connected consumer.

    >>> from engine.failover.bulk_ring import build_rings, cohorts
    >>> names = [["c", "a", "b"]]
    >>> hashes, indices = np.array([1, 1]), np.array([0, -1])
    >>> assign(cohorts(names), build_rings(names), 0, hashes, indices, consistent_hashing=False).tolist()[0]
    1
    """
    plain = rule_in_force(-1, consistent_hashing=consistent_hashing, behaviour=behaviour)
    partitioned = rule_in_force(0, consistent_hashing=consistent_hashing, behaviour=behaviour)
    number = np.broadcast_to(np.asarray(list_no, dtype=np.int64), np.shape(hashes))
    indices = np.broadcast_to(np.asarray(partition_index, dtype=np.int64), np.shape(hashes))
    owner = np.empty(np.shape(hashes), dtype=np.int32)
    for rule, rows in ((plain, indices < 0), (partitioned, indices >= 0)):
        if rule is Rule.RING:
            owner[rows] = rings.look_up(number[rows], hashes[rows])
        elif rule is Rule.MODULO:
            owner[rows] = assign_modulo(cohorts, number[rows], indices[rows])
        else:
            owner[rows] = np.where(cohorts.sizes[number[rows]] == 0, NOBODY, 0)
    return owner


Key = tuple[str, str, int, str]
"""Namespace, subscription, number of the list of consumers, and the cluster."""


class ConsumerList(Struct, frozen=True, dict=True):
    """Names in the dispatcher's (or connect) order and the priority level of each."""

    names: tuple[str, ...]
    levels: tuple[int, ...]


class Changes(Struct, frozen=True, dict=True):
    """A change: consumers that join or leave every subscription, or whole lists by subscription.

    ``lists`` go by (namespace, subscription); an empty namespace means any.
    """

    add: tuple[str, ...] = ()
    kill: tuple[str, ...] = ()
    lists: Mapping[tuple[str, str], ConsumerList] = field(default_factory=dict)

    def after(self, key: Key, before: ConsumerList) -> ConsumerList:
        """The list of one unit after the change: those who leave first, then those who join, on the leading level."""
        namespace, subscription, _, _ = key
        given = self.lists.get((namespace, subscription)) or self.lists.get(("", subscription)) or before
        kept = [(name, level) for name, level in zip(given.names, given.levels, strict=True) if name not in self.kill]
        leading = min((level for _, level in kept), default=0)
        kept += [(name, leading) for name in self.add]
        return ConsumerList(tuple(name for name, _ in kept), tuple(level for _, level in kept))

    @property
    def nothing(self) -> bool:
        return not (self.add or self.kill or self.lists)


class Slots(Struct, frozen=True, dict=True):
    """The slots of the consumers of each unit. ``start``: (units + 1,); unit i has ``start[i + 1] - start[i] - 1``
    consumers, and slot ``start[i + 1] - 1`` is nobody."""

    start: NDArray[np.int64]

    @property
    def nobody(self) -> NDArray[np.int64]:
        """(units,): the slot of nobody."""
        return self.start[1:] - 1

    def of(self, unit: NDArray[np.int64], place: NDArray[np.integer]) -> NDArray[np.int64]:
        """The slot of a place in a unit's list, a negative place being nobody."""
        return np.where(place < 0, self.nobody[unit], self.start[unit] + place)


def slots_of(lists: Sequence[ConsumerList]) -> Slots:
    """Slots for the consumers of so many lists, one more each for nobody."""
    sizes = np.fromiter((len(consumers.names) + 1 for consumers in lists), dtype=np.int64, count=len(lists))
    return Slots(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes))))


def carried_over(before: Sequence[ConsumerList], after: Sequence[ConsumerList]) -> NDArray[np.int64]:
    """For each slot before, the slot after of the same consumer; nobody's where it is gone.

    Of equal names the first stays the first, the second the second: nothing else distinguishes them.

    >>> one = [ConsumerList(("a", "a", "b"), (0, 0, 0))], [ConsumerList(("b", "a"), (0, 0))]
    >>> carried_over(*one).tolist()
    [1, 2, 0, 2]
    """
    slots: list[int] = []
    base = 0
    for old, new in zip(before, after, strict=True):
        places = {name: base + place for place, name in enumerate(numbered(new.names))}
        nobody = base + len(new.names)
        slots += [places.get(name, nobody) for name in numbered(old.names)]
        slots.append(nobody)
        base = nobody + 1
    return np.array(slots, dtype=np.int64)


def numbered(names: Sequence[str]) -> list[tuple[str, int]]:
    """Each name with the number of equal names before it."""
    seen: dict[str, int] = {}
    result: list[tuple[str, int]] = []
    for name in names:
        number = seen.get(name, 0)
        seen[name] = number + 1
        result.append((name, number))
    return result
