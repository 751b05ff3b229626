"""Topics and their traffic in columns: a million partitions without an object for each of them.

Both are mappings like the dictionaries they stand in for. Whoever wants many answers takes the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import crc32_bulk, murmur3_bulk
from engine.cluster.state import Load, Topic
from engine.cluster.texts import CHUNK, Texts
from engine.computed import Computed
from engine.failover.bulk import SortedTopics, sort_topics
from engine.hashing import murmur3_32
from engine.names import PARTITION_SUFFIX, TopicName, parse_topic_name, partition_name


@dataclass(frozen=True, slots=True)
class Recipe:
    """A made-up set of topics ``PREFIX0 ..`` of a namespace, with the traffic of a seed: all that a file must keep."""

    namespace: str
    prefix: str
    topics: int
    partitions: int
    seed: int


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """Where edited topics came from: the first ones, and the number there of each partition (-1: it is new)."""

    root: TopicTable
    numbers: NDArray[np.int64]


class TopicTable(Mapping[str, Topic]):
    """Topics in columns. Partitions (or the topic itself) are numbered through: those of topic 0, then of topic 1 ..

    ``names``: of the topics; ``partitions``: (t,) int32; ``first``: (t + 1,) int64, the number of each topic's first
    partition; ``namespaces`` and ``namespace_no``: (t,) int32, which of them. ``hash``: (n,) int32, the ring hash of
    each partition's name; ``crc32``: (n,) int64, its place among bundles; ``by_hash``: all of them in hash order.
    ``recipe`` is what they were made from, if they were made up. Immutable; some 40 bytes a partition besides names.
    """

    __slots__ = (
        "_origin", "by_hash", "crc32", "first", "hash", "names", "namespace_no", "namespaces", "partitions", "recipe",
    )  # fmt: skip

    def __init__(
        self,
        names: Texts,
        partitions: NDArray[np.int32],
        namespaces: Sequence[str],
        namespace_no: NDArray[np.int32],
        recipe: Recipe | None = None,
        *,
        hashes: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None,
        origin: Origin | None = None,
    ) -> None:
        """``hashes`` (ring, CRC-32) spare computing them; ``origin`` says where the partitions came from."""
        assert len(names) == len(partitions) == len(namespace_no), "one number of partitions and one namespace a topic"
        self.names = names
        self.partitions = partitions
        self.namespaces = tuple(namespaces)
        self.namespace_no = namespace_no
        self.recipe = recipe
        self.first = np.concatenate(([0], np.cumsum(np.maximum(partitions, 1), dtype=np.int64)))
        self.hash, self.crc32 = hashes or self._hashed()
        self.by_hash: SortedTopics = sort_topics(self.hash)
        self._origin = origin
        for array in (self.hash, self.crc32, self.by_hash.hash, self.by_hash.row):
            array.setflags(write=False)

    def _hashed(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        hashes = np.empty(self.partition_count, dtype=np.int32)
        crc32 = np.empty(self.partition_count, dtype=np.int64)
        at = 0
        for chunk in self.partition_name_chunks():
            hashes[at : at + len(chunk)] = murmur3_bulk(chunk)
            crc32[at : at + len(chunk)] = crc32_bulk(chunk)
            at += len(chunk)
        return hashes, crc32

    @property
    def root(self) -> TopicTable:
        """The topics from which these came by edits; themselves for a beginning."""
        return self if self._origin is None else self._origin.root

    @property
    def root_numbers(self) -> NDArray[np.int64]:
        """The number of each partition in ``root``, -1 for those that came since: (n,)."""
        return np.arange(self.partition_count) if self._origin is None else self._origin.numbers

    @classmethod
    def of(cls, topics: Mapping[str, Topic]) -> TopicTable:
        """The columns of any topics, in their order. A name that Pulsar refuses is in no namespace. O(bytes)."""
        found: dict[str, int] = {"": 0}
        numbers = []
        for name in topics:
            parsed = parse_topic_name(name)
            namespace = parsed.namespace if isinstance(parsed, TopicName) else ""
            numbers.append(found.setdefault(namespace, len(found)))
        counts = np.fromiter((topic.partitions for topic in topics.values()), dtype=np.int32, count=len(topics))
        return cls(Texts.of(tuple(topics)), counts, tuple(found), np.array(numbers, dtype=np.int32))

    @property
    def partition_count(self) -> int:
        """Names that have a dispatcher each."""
        return int(self.first[-1])

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> Topic:
        at = self.place(name)
        if at < 0:
            raise KeyError(name)
        return Topic(name, int(self.partitions[at]))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.place(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicTable):
            return isinstance(other, Mapping) and len(self) == len(other) and dict(self) == dict(other)
        return np.array_equal(self.partitions, other.partitions) and self.names == other.names

    __hash__ = None  # type: ignore[assignment]

    def place(self, name: str) -> int:
        """The place of a topic in ``names``, -1 for none. O(log n): by its first partition's hash, or its own."""
        for candidate, wanted in ((partition_name(name, 0), True), (name, False)):
            number = self.partition_number(candidate)
            at = self._topic_at(number) if number >= 0 else -1
            if at >= 0 and bool(self.partitions[at]) is wanted and self.names[at] == name:
                return at
        return -1

    def partition_number(self, name: str) -> int:
        """The number of a partition, -1 for none. O(log n)."""
        at = place_by_hash(self.by_hash.hash, name, lambda place: self.partition_name(int(self.by_hash.row[place])))
        return int(self.by_hash.row[at]) if at >= 0 else -1

    def topic_of(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """The topic of each of these partitions, as its place in ``names``."""
        if self.partition_count == len(self):
            return numbers.astype(np.int64)
        return np.searchsorted(self.first, numbers.astype(np.int64, copy=False), side="right") - 1

    def _topic_at(self, number: int) -> int:
        """``topic_of`` for one."""
        if self.partition_count == len(self.names):
            return number
        return int(np.searchsorted(self.first, np.int64(number), side="right")) - 1

    def partition_name(self, number: int) -> str:
        """The name of one partition."""
        at = self._topic_at(number)
        name = self.names[at]
        return partition_name(name, number - int(self.first[at])) if self.partitions[at] else name

    def partition_name_chunks(self) -> Iterator[list[str]]:
        """All names in order, so many at a time that they need little room."""
        low = 0
        for names in self.names.chunks():
            counts = self.partitions[low : low + len(names)]
            low += len(names)
            if (counts == 0).all():
                yield names
            elif (counts == 1).all():
                yield [name + PARTITION_SUFFIX + "0" for name in names]
            else:
                yield from _partition_chunks(names, counts.tolist())


def _partition_chunks(names: list[str], counts: list[int]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for name, count in zip(names, counts, strict=True):
        chunk += [f"{name}{PARTITION_SUFFIX}{index}" for index in range(count)] if count else [name]
        if len(chunk) >= CHUNK:
            yield chunk
            chunk = []
    yield chunk


class NumberedNames(Computed[str]):
    """Names of some partitions in any order, made when they are asked for."""

    __slots__ = ("numbers", "topics")

    def __init__(self, topics: TopicTable, numbers: NDArray[np.int32]) -> None:
        self.topics, self.numbers = topics, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def item(self, at: int) -> str:
        """The name at a place."""
        return self.topics.partition_name(int(self.numbers[at]))

    def __iter__(self) -> Iterator[str]:
        return map(self.topics.partition_name, self.numbers.tolist())


def place_by_hash(hashes: NDArray[np.int32], name: str, name_at: Callable[[int], str]) -> int:
    """Where a name stands among names in hash order, -1 for nowhere; ``hashes`` ascend. O(log n)."""
    # A number of another type would have the whole column copied.
    wanted = np.int32(murmur3_32(name))
    at = int(np.searchsorted(hashes, wanted, side="left"))
    while at < len(hashes) and hashes[at] == wanted:
        if name_at(at) == name:
            return at
        at += 1
    return -1


class LoadTable(Mapping[str, Load]):
    """The traffic of the partitions of ``topics``, in columns of (n,) by their numbers.

    ``rates``: (4, n) float64, as the first four fields of ``Load``; ``counts``: (2, n) int64, unacknowledged messages
    and backlog; ``known``: (n,) bool, which ones have statistics, None for all.
    """

    __slots__ = ("counts", "known", "rates", "topics")

    def __init__(
        self,
        topics: TopicTable,
        rates: NDArray[np.float64],
        counts: NDArray[np.int64],
        known: NDArray[np.bool_] | None = None,
    ) -> None:
        assert rates.shape == (4, topics.partition_count) and counts.shape == (2, topics.partition_count)
        self.topics, self.rates, self.counts = topics, rates, counts
        self.known = None if known is None or known.all() else known

    @classmethod
    def of(cls, topics: TopicTable, loads: Mapping[str, Load]) -> LoadTable:
        """The columns of any statistics, for these topics. O(n)."""
        if isinstance(loads, LoadTable) and loads.topics.root is topics.root:
            return _carried(topics, loads)
        nothing = Load()
        rows: list[tuple[float, ...]] = []
        known: list[bool] = []
        for chunk in topics.partition_name_chunks():
            for name in chunk:
                load = loads.get(name)
                known.append(load is not None)
                rows.append(astuple(load or nothing))
        table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
        return cls(topics, table[:4].copy(), table[4:].astype(np.int64), np.array(known, dtype=bool))

    def __len__(self) -> int:
        return self.topics.partition_count if self.known is None else int(self.known.sum())

    def __iter__(self) -> Iterator[str]:
        number = 0
        for chunk in self.topics.partition_name_chunks():
            for name in chunk:
                if self.known is None or self.known[number]:
                    yield name
                number += 1

    def __getitem__(self, name: str) -> Load:
        number = self.topics.partition_number(name)
        if number < 0 or (self.known is not None and not self.known[number]):
            raise KeyError(name)
        return self.at(number)

    def at(self, number: int) -> Load:
        """The traffic of the partition of that number; zeros where there are no statistics."""
        return Load(*self.rates[:, number].tolist(), *self.counts[:, number].tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LoadTable) or self.topics != other.topics:
            return isinstance(other, Mapping) and len(self) == len(other) and dict(self) == dict(other)
        if self.known is None or other.known is None:
            same = self.known is other.known
        else:
            same = np.array_equal(self.known, other.known)
        return same and np.array_equal(self.rates, other.rates) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]


def _carried(topics: TopicTable, loads: LoadTable) -> LoadTable:
    """The traffic of topics before an edit, or after it, for these."""
    numbers = numbers_in(topics, loads.topics)
    known = numbers >= 0
    if loads.known is not None:
        # Where no topic was left, there is no number to look at.
        known[known] = loads.known[numbers[known]]
    rates, counts = np.zeros((4, len(numbers))), np.zeros((2, len(numbers)), dtype=np.int64)
    rates[:, known], counts[:, known] = loads.rates[:, numbers[known]], loads.counts[:, numbers[known]]
    return LoadTable(topics, rates, counts, known)


def numbers_in(topics: TopicTable, others: TopicTable) -> NDArray[np.int64]:
    """The number that each partition has in ``others``, which come from the same root; -1 for none: (n,). O(n)."""
    assert topics.root is others.root, "these topics have nothing to do with each other"
    places = np.full(topics.root.partition_count + 1, -1, dtype=np.int64)
    old = others.root_numbers >= 0
    places[others.root_numbers[old]] = np.flatnonzero(old)
    found = places[topics.root_numbers]
    for number in np.flatnonzero(topics.root_numbers < 0).tolist():
        found[number] = others.partition_number(topics.partition_name(number))
    return found
