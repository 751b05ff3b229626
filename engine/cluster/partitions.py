"""Facts about states too large for a value per partition: the same answers as ``engine.cluster.facts``, as arrays.

The partitions of a subscription stand in the order of their ring hashes; everything is remembered by the identity of
what it depends on. Who is active for them stands in ``owners``, what a step moves in ``differences``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.cluster.remember import Remembered
from engine.cluster.state import ClusterState, Load, Subscription, Topic
from engine.cluster.topic_table import LoadTable, NumberedNames, TopicTable, place_by_hash
from engine.failover.model import Consumer
from engine.names import PARTITION_SUFFIX, partition_index

LARGE_PARTITIONS: Final = 20_000
"""From so many partitions on a state is answered in columns."""
Ids = NDArray[np.int32] | NDArray[np.int64]
"""Consumer ids or positions, -1 for nobody."""


class PartitionNames(NumberedNames):
    """Names of partitions in hash order, which can be searched."""

    __slots__ = ("hash",)

    def __init__(self, topics: TopicTable, numbers: NDArray[np.int32], hashes: NDArray[np.int32]) -> None:
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

    topics: TopicTable
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
    """What goes out to the consumers of a subscription, and waits unacknowledged, by partition: (n,) each."""

    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    unacked: NDArray[np.int64]


_counted: Remembered[int] = Remembered()
_large: Remembered[TopicTable] = Remembered()
_large_loads: Remembered[LoadTable] = Remembered()
_indices: Remembered[NDArray[np.int32]] = Remembered()
_columns: Remembered[PartitionColumns] = Remembered()
_traffic: Remembered[Traffic] = Remembered()


def large_topics(state: ClusterState) -> TopicTable | None:
    """The topics of a state in columns; None for a state that is small enough for plain values.

    O(topics) once for topics that are not in columns yet.
    """
    if isinstance(state.topics, TopicTable):
        return state.topics
    if state.next_consumer_id >= 2**31:
        return None  # the arrays hold ids in 32 bits
    if _counted.get((state.topics,), (), lambda: _count(state.topics)) < LARGE_PARTITIONS:
        return None
    return _large.get((state.topics,), (), lambda: TopicTable.of(state.topics))


def _count(topics: Mapping[str, Topic]) -> int:
    return sum(max(topic.partitions, 1) for topic in topics.values())


def large_loads(topics: TopicTable, loads: Mapping[str, Load]) -> LoadTable:
    """The traffic of all partitions of these topics, in columns by their numbers."""
    if isinstance(loads, LoadTable) and loads.topics is topics:
        return loads
    return _large_loads.get((topics, loads), (), lambda: LoadTable.of(topics, loads))


def partition_columns(topics: TopicTable, subscription: Subscription) -> PartitionColumns:
    """The partitions of a subscription in hash order. O(n log n) once."""
    return _columns.get((topics, subscription.topics), (), lambda: _make_columns(topics, subscription.topics))


def traffic(columns: PartitionColumns, loads: Mapping[str, Load], own: Mapping[str, Load]) -> Traffic:
    """What a subscription dispatches beside ``columns``: its ``own`` numbers, else the topic's. O(n) once."""

    def compute() -> Traffic:
        found, at = large_loads(columns.topics, loads), columns.numbers
        made = Traffic(found.rates[1][at], found.rates[3][at], found.counts[0][at])
        if own:
            theirs = large_loads(columns.topics, own)
            known = np.ones(len(at), dtype=np.bool_) if theirs.known is None else theirs.known[at]
            made.msgs_per_sec[known] = theirs.rates[1][at][known]
            made.bytes_per_sec[known] = theirs.rates[3][at][known]
            made.unacked[known] = theirs.counts[0][at][known]
        for array in (made.msgs_per_sec, made.bytes_per_sec, made.unacked):
            array.setflags(write=False)
        return made

    return _traffic.get((columns, loads, own), (), compute)


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


def _make_columns(topics: TopicTable, listed: Sequence[str]) -> PartitionColumns:
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


def _all_indices(topics: TopicTable) -> NDArray[np.int32]:
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
