"""The partitions of one subscription in columns, in the order of their ring hashes, with what flows to its consumers.

Results are cached by the identity of their inputs. ``owners`` computes their active consumers, ``moves`` what a step
moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.cluster.state import Subscription
from engine.cluster.tables.loads import LoadTable, filled
from engine.cluster.tables.topics import Load, NumberedNames, TopicTable, place_by_hash
from engine.failover.model import Consumer
from engine.memo import Remembered
from engine.names import PARTITION_SUFFIX, partition_index

Ids = NDArray[np.int32] | NDArray[np.int64]
"""Consumer ids or positions, -1 for nobody."""


class PartitionNames(NumberedNames):
    """Names of partitions in hash order, with searches by name."""

    __slots__ = ("hash",)

    def __init__(self, topics: TopicTable, numbers: NDArray[np.int32], hashes: NDArray[np.int32]) -> None:
        super().__init__(topics, numbers)
        self.hash = hashes

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.place(name) >= 0

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """The place of a name. Raises ValueError for an unknown one. O(log n)."""
        at = self.place(name)
        if at < start or (stop is not None and at >= stop):
            raise ValueError(f"{name!r} is not among them")
        return at

    def place(self, name: str) -> int:
        """The place of a name, -1 for an unknown one. O(log n)."""
        return place_by_hash(self.hash, name, self.__getitem__)


class PartitionColumns(Struct, frozen=True, eq=False):
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

    @property
    def without_index(self) -> int:
        """The number of partitions without an index. O(n) if there are any."""
        return int(np.count_nonzero(self.index < 0)) if self.without else 0

    @property
    def first_partitions_only(self) -> bool:
        """Whether all are partition 0 of their topic."""
        return not self.without and self.highest <= 0


class Traffic(Struct, frozen=True, eq=False):
    """Outgoing rates of a subscription and its unacknowledged messages, by partition: (n,) each.

    ``unknown``: whether no statistics have the rates, which then count as 0; None if all are known; ``unacked_unknown``
    is the same of unacknowledged messages.
    """

    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    unacked: NDArray[np.int64]
    unknown: NDArray[np.bool_] | None = None
    unacked_unknown: NDArray[np.bool_] | None = None


_own_loads: Remembered[LoadTable] = Remembered()
_indices: Remembered[NDArray[np.int32]] = Remembered()
_columns: Remembered[PartitionColumns] = Remembered()
_traffic: Remembered[Traffic] = Remembered()


def partition_columns(topics: TopicTable, subscription: Subscription) -> PartitionColumns:
    """The partitions of a subscription in hash order. O(n log n) once."""
    return _columns.get((topics, subscription.topics), (), lambda: _make_columns(topics, subscription.topics))


def traffic(columns: PartitionColumns, loads: LoadTable, own: Mapping[str, Load]) -> Traffic:
    """What a subscription dispatches beside ``columns``: its ``own`` numbers, else the topic's. O(n) once."""

    def compute() -> Traffic:
        at = columns.numbers
        msgs, octets, unacked = loads.rates[1][at], loads.rates[3][at], loads.counts[0][at]
        if own:
            theirs = _own_loads.get((columns.topics, own), (), lambda: LoadTable.of(columns.topics, own))
            known = np.ones(len(at), dtype=np.bool_) if theirs.known is None else theirs.known[at]
            msgs[known] = theirs.rates[1][at][known]
            octets[known] = theirs.rates[3][at][known]
            unacked[known] = theirs.counts[0][at][known]
        unknown, uncounted = np.isnan(msgs) | np.isnan(octets), unacked < 0
        flow = Traffic(
            filled(msgs),
            filled(octets),
            np.maximum(unacked, 0),
            unknown if unknown.any() else None,
            uncounted if uncounted.any() else None,
        )
        for array in (flow.msgs_per_sec, flow.bytes_per_sec, flow.unacked):
            array.setflags(write=False)
        return flow

    return _traffic.get((columns, loads, own), (), compute)


class ActiveConsumers(Mapping[str, Consumer | None]):
    """Partition name -> its active consumer, in hash order, without an object per partition."""

    __slots__ = ("_by_id", "_names", "_owners")

    def __init__(self, names: PartitionNames, owners: NDArray[np.int32], consumers: tuple[Consumer, ...]) -> None:
        self._names, self._owners = names, owners
        self._by_id = {consumer.consumer_id: consumer for consumer in consumers}

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> Consumer | None:
        at = self._names.place(name)
        if at < 0:
            raise KeyError(name)
        return self._by_id.get(int(self._owners[at]))

    def pairs(self) -> Iterator[tuple[str, Consumer | None]]:
        """Yield all names with their active consumers, without searches."""
        return zip(self._names, map(self._by_id.get, self._owners.tolist()), strict=True)


def _make_columns(topics: TopicTable, listed: Sequence[str]) -> PartitionColumns:
    if listed is topics.names:
        numbers, hashes = topics.by_hash.row, topics.by_hash.hash
    else:
        places = topics.places(listed)
        assert not len(places) or places.min() >= 0, "a subscription has a topic that does not exist"
        numbers = topics.numbers_of(places).astype(np.int32)
        numbers = numbers[np.argsort(topics.hash[numbers], kind="stable")]
        hashes = topics.hash[numbers]
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
    indices = np.arange(topics.partition_count, dtype=np.int64) - np.repeat(topics.first[:-1], counts)
    alone = np.flatnonzero(topics.partitions == 0)
    # A topic that is named "x-partition-3" has an index although it is not a partition.
    indices[topics.first[alone]] = -1
    for place in alone.tolist():
        name = topics.names[place]
        if PARTITION_SUFFIX in name:
            indices[topics.first[place]] = partition_index(name)
    narrow: NDArray[np.int32] = indices.astype(np.int32)
    return narrow
