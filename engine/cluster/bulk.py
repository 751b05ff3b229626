"""Facts about states too large for a value per partition: the same answers as ``engine.cluster.facts``, as arrays.

The partitions of a subscription stand in the order of their ring hashes. Neighbouring steps of a timeline share one
live assignment, so a step costs what it moves; everything is remembered by the identity of what it depends on.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.cluster.large_topics import LargeLoads, LargeTopics, NumberedNames, numbers_in, place_by_hash
from engine.cluster.remember import Remembered
from engine.cluster.state import ClusterState, Load, Subscription, Topic
from engine.config import ReleaseBehaviour
from engine.failover.choose import Rule, cohort, rule_in_force, sort_consumers
from engine.failover.model import Consumer
from engine.fleet.failover_ring import NOBODY
from engine.fleet.incremental import LiveRing
from engine.names import PARTITION_SUFFIX, partition_index

LARGE_PARTITIONS: Final = 20_000
"""From so many partitions on a state is answered in columns."""
FEW_CHANGES: Final = 32
"""Up to so many joins and leaves an assignment follows them; beyond it is made anew."""
LIVE_KEPT: Final = 4
Ids = NDArray[np.int32] | NDArray[np.int64]
"""Consumer ids or positions, -1 for nobody."""


class PartitionNames(NumberedNames):
    """Names of partitions in hash order, which can be searched."""

    __slots__ = ("hash",)

    def __init__(self, topics: LargeTopics, numbers: NDArray[np.int32], hashes: NDArray[np.int32]) -> None:
        super().__init__(topics, numbers)
        self.hash = hashes

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.place(name) >= 0

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Where a name stands. ValueError for nowhere. O(log n)."""
        at = self.place(name)
        if at < start or (stop is not None and at >= stop):
            raise ValueError(f"{name!r} is not among them")
        return at

    def place(self, name: str) -> int:
        """Where a name stands, -1 for nowhere. O(log n)."""
        return place_by_hash(self.hash, name, self.__getitem__)


class Places(Mapping[str, int]):
    """Name -> its place, by search: what a dictionary of all names would say."""

    __slots__ = ("names",)

    def __init__(self, names: PartitionNames) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> int:
        at = self.names.place(name)
        if at < 0:
            raise KeyError(name)
        return at


@dataclass(frozen=True, eq=False, slots=True)
class PartitionColumns:
    """The partitions of one subscription in hash order, arrays of (n,).

    ``numbers``: int32, as ``topics`` numbers them; ``hash``: int32, ascending; ``index``: int32, -1 for none.
    ``with_index`` and ``without``: whether there are partitions with an index, and without one; ``highest``: of them.
    """

    topics: LargeTopics
    names: PartitionNames
    numbers: NDArray[np.int32]
    hash: NDArray[np.int32]
    index: NDArray[np.int32]
    with_index: bool
    without: bool
    highest: int

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False, slots=True)
class Traffic:
    """In plus out, and what waits unacknowledged, of each partition: (n,) each."""

    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    unacked: NDArray[np.int64]


_counted: Remembered[int] = Remembered()
_large: Remembered[LargeTopics] = Remembered()
_large_loads: Remembered[LargeLoads] = Remembered()
_indices: Remembered[NDArray[np.int32]] = Remembered()
_columns: Remembered[PartitionColumns] = Remembered()
_traffic: Remembered[Traffic] = Remembered()
_owners: Remembered[NDArray[np.int32]] = Remembered()
_live: OrderedDict[int, tuple[PartitionColumns, LiveRing]] = OrderedDict()


def large_topics(state: ClusterState) -> LargeTopics | None:
    """The topics of a state in columns; None for a state that is small enough for plain values.

    O(topics) once for topics that are not in columns yet.
    """
    if isinstance(state.topics, LargeTopics):
        return state.topics
    if state.next_consumer_id >= 2**31:
        return None  # the arrays hold ids in 32 bits
    if _counted.get((state.topics,), (), lambda: _count(state.topics)) < LARGE_PARTITIONS:
        return None
    return _large.get((state.topics,), (), lambda: LargeTopics.of(state.topics))


def _count(topics: Mapping[str, Topic]) -> int:
    return sum(max(topic.partitions, 1) for topic in topics.values())


def large_loads(topics: LargeTopics, loads: Mapping[str, Load]) -> LargeLoads:
    """The traffic of all partitions of these topics, in columns by their numbers."""
    if isinstance(loads, LargeLoads) and loads.topics is topics:
        return loads
    return _large_loads.get((topics, loads), (), lambda: LargeLoads.of(topics, loads))


def partition_columns(topics: LargeTopics, subscription: Subscription) -> PartitionColumns:
    """The partitions of a subscription in hash order. O(n log n) once."""
    return _columns.get((topics, subscription.topics), (), lambda: _make_columns(topics, subscription.topics))


def traffic(topics: LargeTopics, columns: PartitionColumns, loads: Mapping[str, Load]) -> Traffic:
    """The traffic beside ``columns``. O(n) once."""

    def compute() -> Traffic:
        found, at = large_loads(topics, loads), columns.numbers
        made = Traffic(
            (found.rates[0] + found.rates[1])[at], (found.rates[2] + found.rates[3])[at], found.counts[0][at]
        )
        for array in (made.msgs_per_sec, made.bytes_per_sec, made.unacked):
            array.setflags(write=False)
        return made

    return _traffic.get((columns, loads), (), compute)


def owner_ids(
    columns: PartitionColumns, consumers: tuple[Consumer, ...], *, consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> NDArray[np.int32]:
    """The id of each partition's active consumer, -1 for nobody: (n,) int32 beside ``columns``, read-only.

    What ``engine.failover.choose.choose_many`` says of each. O(n) for the modulo rule; on the ring O(moved) and one
    copy after a few changes of the consumers, O(p log n + n) for p points after many.
    """

    def compute() -> NDArray[np.int32]:
        made = _owner_ids(columns, consumers, consistent_hashing, behaviour)
        made.setflags(write=False)
        return made

    return _owners.get((columns, consumers), (consistent_hashing, behaviour), compute)


class ActiveConsumers(Mapping[str, Consumer | None]):
    """Partition name -> its active consumer, without a value for each; in hash order."""

    __slots__ = ("_by_id", "_names", "_owners")

    def __init__(self, names: PartitionNames, owners: NDArray[np.int32], consumers: tuple[Consumer, ...]) -> None:
        self._names, self._owners = names, owners
        self._by_id = {each.consumer_id: each for each in consumers}

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> Consumer | None:
        at = self._names.place(name)
        if at < 0:
            raise KeyError(name)
        return self._by_id.get(int(self._owners[at]))


@dataclass(frozen=True, eq=False, slots=True)
class Alignment:
    """The partitions of one state in another: ``place``: (n,) int64, where each stood before, -1 for nowhere; ``gone``:
    places before of those that are no more.
    """

    place: NDArray[np.int64]
    gone: NDArray[np.int64]


_aligned: Remembered[Alignment] = Remembered()


def aligned(before: Sequence[str], now: Sequence[str]) -> Alignment:
    """Where each name stood before. O(n), once for a pair."""

    def compute() -> Alignment:
        if isinstance(before, PartitionNames) and isinstance(now, PartitionNames) and _related(before, now):
            places_of = np.full(before.topics.partition_count + 1, -1, dtype=np.int64)
            places_of[before.numbers] = np.arange(len(before))
            place = places_of[numbers_in(now.topics, before.topics)[now.numbers]]
        else:
            places = {name: at for at, name in enumerate(before)}
            place = np.fromiter((places.get(name, -1) for name in now), dtype=np.int64, count=len(now))
        kept = np.zeros(len(before), dtype=bool)
        kept[place[place >= 0]] = True
        return Alignment(place, np.flatnonzero(~kept))

    return _aligned.get((before, now), (), compute)


@dataclass(frozen=True, eq=False, slots=True)
class Difference:
    """Where two assignments of the same partitions differ: ``places`` (m,) int64 ascending, owners ``old`` and ``new``.

    ``gained`` and ``lost`` count them by consumer id: int64, as long as the highest id asks for.
    """

    places: NDArray[np.int64]
    old: Ids
    new: Ids
    gained: NDArray[np.int64]
    lost: NDArray[np.int64]


_differences: Remembered[Difference] = Remembered()


def difference(before: Ids, now: Ids) -> Difference:
    """What changed hands between two arrays of ``owner_ids``. O(n), once for a pair."""

    def compute() -> Difference:
        places = np.flatnonzero(before != now) if before is not now else np.zeros(0, dtype=np.int64)
        every = len(places) == len(now)
        old, new = (before, now) if every else (before[places], now[places])
        return Difference(places, old, new, counts_by_id(new), counts_by_id(old))

    return _differences.get((before, now), (), compute)


def counts_by_id(ids: Ids) -> NDArray[np.int64]:
    """How often each id stands there; nobody (-1) does not count. O(n)."""
    return np.bincount(ids[ids >= 0] if len(ids) and ids.min() < 0 else ids).astype(np.int64, copy=False)


def sums_by_run(owners: Ids, weights: NDArray[np.float64], size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How many partitions each owner 0 .. ``size`` - 1 has, and the sum of their weights; -1 is left out.

    In hash order neighbours have one owner, so whole runs are added up. O(n).

    >>> sums_by_run(np.array([1, 1, -1, 0], np.int32), np.array([1.0, 2.0, 4.0, 8.0]), 2)
    (array([1, 2]), array([8., 3.]))
    """
    if not len(owners):
        return np.zeros(size, dtype=np.int64), np.zeros(size)
    starts = np.concatenate(([0], np.flatnonzero(owners[1:] != owners[:-1]) + 1))
    heads = owners[starts].astype(np.int64) + 1
    lengths = np.diff(starts, append=len(owners))
    counts = np.bincount(heads, weights=lengths, minlength=size + 1)
    sums = np.bincount(heads, weights=np.add.reduceat(weights, starts), minlength=size + 1)
    return counts[1:].astype(np.int64), sums[1:].astype(np.float64)


def _related(one: PartitionNames, other: PartitionNames) -> bool:
    return one.topics.root is other.topics.root


def _owner_ids(
    columns: PartitionColumns, consumers: tuple[Consumer, ...], consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> NDArray[np.int32]:
    if not consumers:
        return np.full(len(columns), NOBODY, dtype=np.int32)

    def by(index: int) -> NDArray[np.int32]:
        rule = rule_in_force(index, consistent_hashing=consistent_hashing, behaviour=behaviour)
        if rule is Rule.RING:
            return _followed(columns, consumers).owner.copy()
        if rule is Rule.FIRST_CONNECTED:
            return np.full(len(columns), consumers[0].consumer_id, dtype=np.int32)
        ids = np.array([each.consumer_id for each in cohort(sort_consumers(consumers))], dtype=np.int32)
        # A division for each of a million costs more than all the rest; often there is nothing to divide.
        within = columns.index if columns.highest < len(ids) else columns.index % np.int32(len(ids))
        return ids.take(within, mode="clip")

    if not columns.without:
        return by(0)
    return np.where(columns.index < 0, by(-1), by(0)) if columns.with_index else by(-1)


def _followed(columns: PartitionColumns, consumers: tuple[Consumer, ...]) -> LiveRing:
    """The live ring of these partitions, brought to these consumers."""
    _, ring = _live.get(id(columns), (columns, None))
    if ring is None or not _follow(ring, consumers):
        ring = LiveRing(columns.hash, consumers)
    _live[id(columns)] = (columns, ring)
    _live.move_to_end(id(columns))
    if len(_live) > LIVE_KEPT:
        _live.popitem(last=False)
    return ring


def _follow(ring: LiveRing, consumers: tuple[Consumer, ...]) -> bool:
    """Let the ring take the leaves and joins that lead to these consumers; False where it must be made anew."""
    known = ring.members.consumers
    wanted = {each.consumer_id: each for each in consumers}
    gone = [number for number, each in known.items() if wanted.get(number) != each]
    came = [each for each in consumers if known.get(each.consumer_id) != each]
    if len(gone) + len(came) > min(FEW_CHANGES, len(consumers)):
        return False
    # Among namesakes who came first counts, and a ring only knows what came last.
    names = Counter(each.name for each in consumers)
    if any(names[each.name] > 1 for each in came):
        return False
    for each in came:
        ring_has = each.consumer_id in known
        if ring_has:
            ring.leave(each.consumer_id)
            gone.remove(each.consumer_id)
        ring.join(each)
    for number in gone:
        ring.leave(number)
    return True


def _make_columns(topics: LargeTopics, listed: Sequence[str]) -> PartitionColumns:
    if listed is topics.names:
        numbers, hashes = topics.by_hash.row, topics.by_hash.hash
    else:
        places = {name: at for at, name in enumerate(topics.names)}
        chosen = np.zeros(len(topics), dtype=bool)
        chosen[[places[name] for name in listed]] = True
        inside = np.repeat(chosen, np.maximum(topics.partitions, 1))[topics.by_hash.row]
        numbers, hashes = topics.by_hash.row[inside], topics.by_hash.hash[inside]
    index = _indices.get((topics,), (), lambda: _all_indices(topics))[numbers]
    for array in (numbers, hashes, index):
        array.setflags(write=False)
    without = bool((index < 0).any())
    with_index = bool((index >= 0).any()) or not len(index)
    highest = int(index.max(initial=-1))
    names = PartitionNames(topics, numbers, hashes)
    return PartitionColumns(topics, names, numbers, hashes, index, with_index, without, highest)


def _all_indices(topics: LargeTopics) -> NDArray[np.int32]:
    """The partition index of every partition by number, as the broker reads it from the name."""
    counts = np.maximum(topics.partitions, 1)
    found = np.arange(topics.partition_count, dtype=np.int64) - np.repeat(topics.first[:-1], counts)
    alone = np.flatnonzero(topics.partitions == 0)
    # "x-partition-3" has an index although nobody made it partitioned.
    found[topics.first[alone]] = -1
    for place in alone.tolist():
        name = topics.names[place]
        if PARTITION_SUFFIX in name:
            found[topics.first[place]] = partition_index(name)
    made: NDArray[np.int32] = found.astype(np.int32)
    return made
