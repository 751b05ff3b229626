"""The topics of a state as one table in columns, without a Python object per topic or partition.

It is a mapping from names to topics; callers that need many topics read the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.bulk_hashing import crc32_bulk, murmur3_bulk
from engine.cluster.tables.texts import CHUNK, Texts
from engine.failover.bulk import SortedTopics, sort_topics
from engine.hashing import murmur3_32
from engine.memo import Computed
from engine.names import PARTITION_SUFFIX, TopicName, parse_topic_name, partition_name

MANY: Final = 8
"""If more than one in so many names is looked up, a pass over the table is cheaper than searches."""


class Topic(Struct, frozen=True):
    """A topic by its complete name without ``-partition-N``; ``partitions`` is 0 when it is not partitioned."""

    name: str
    partitions: int = 0

    def partition_names(self) -> tuple[str, ...]:
        """The names that have a dispatcher: the partitions, or the topic itself."""
        if self.partitions == 0:
            return (self.name,)
        return tuple(partition_name(self.name, index) for index in range(self.partitions))


class Load(Struct, frozen=True):
    """The traffic of one partition: messages and bytes per second, and what waits unacknowledged.

    What the statistics lack is None.
    """

    msg_rate_in: float | None = 0.0
    msg_rate_out: float | None = 0.0
    throughput_in_bytes_per_sec: float | None = 0.0
    throughput_out_bytes_per_sec: float | None = 0.0
    unacked_messages: int | None = 0
    backlog_entries: int | None = 0


NOTHING_REPORTED: Final[Mapping[str, Load]] = MappingProxyType({})


class Recipe(Struct, frozen=True):
    """Synthetic topics ``PREFIX0 ..`` of a namespace with the traffic of a seed: all that a file needs to store."""

    namespace: str
    prefix: str
    topics: int
    partitions: int
    seed: int


class Origin(Struct, frozen=True, eq=False):
    """The original table of edited topics, and the number of each partition in it (-1: it is new)."""

    root: TopicTable
    numbers: NDArray[np.int64]


class TopicTable(Mapping[str, Topic]):
    """Topics in columns. Partitions (or the topic itself) are numbered consecutively, topic by topic.

    ``names``: of the topics; ``partitions``: (t,) int32; ``first``: (t + 1,) int64, the number of each topic's first
    partition; ``namespaces``, and ``namespace_no``: (t,) int32 indices into it. ``hash``: (n,) int32, the ring hash of
    each partition's name; ``crc32``: (n,) int64, its hash for bundles; ``by_hash``: the partitions in order of the ring
    hash. ``recipe`` is that of synthetic topics. Immutable; some 40 bytes per partition besides names.
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
        """``hashes`` (ring, CRC-32), if known, are not computed again; ``origin`` is that of edited topics."""
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
        """The original table before all edits; the table itself without edits."""
        return self if self._origin is None else self._origin.root

    @property
    def root_numbers(self) -> NDArray[np.int64]:
        """(n,) the number of each partition in ``root``, -1 for those added since."""
        return np.arange(self.partition_count) if self._origin is None else self._origin.numbers

    @classmethod
    def of(cls, topics: Mapping[str, Topic] | Iterable[Topic]) -> TopicTable:
        """Build a table of topics, in their order. A name that Pulsar refuses has no namespace. O(bytes)."""
        if isinstance(topics, TopicTable):
            return topics
        listed = [*(topics.values() if isinstance(topics, Mapping) else topics)]
        namespaces: dict[str, int] = {"": 0}
        numbers = []
        for topic in listed:
            parsed = parse_topic_name(topic.name)
            namespace = parsed.namespace if isinstance(parsed, TopicName) else ""
            numbers.append(namespaces.setdefault(namespace, len(namespaces)))
        counts = np.fromiter((topic.partitions for topic in listed), dtype=np.int32, count=len(listed))
        names = Texts.of([topic.name for topic in listed])
        return cls(names, counts, tuple(namespaces), np.array(numbers, dtype=np.int32))

    @property
    def partition_count(self) -> int:
        """The number of partitions, topics without partitions included."""
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
            return isinstance(other, Mapping) and {topic.name: topic for topic in self.listed()} == dict(other)
        return np.array_equal(self.partitions, other.partitions) and self.names == other.names

    __hash__ = None  # type: ignore[assignment]

    def listed(self) -> Iterator[Topic]:
        """All topics in order."""
        return map(Topic, self.names, self.partitions.tolist())

    def places(self, names: Sequence[str]) -> NDArray[np.int64]:
        """``place`` of many names: O(log n) per name for few, O(topics) in all for many."""
        if names is self.names:
            return np.arange(len(self), dtype=np.int64)
        if len(names) * MANY < len(self):
            return np.fromiter(map(self.place, names), dtype=np.int64, count=len(names))
        known = {name: at for at, name in enumerate(self.names)}
        return np.fromiter((known.get(name, -1) for name in names), dtype=np.int64, count=len(names))

    def numbers_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of all partitions of the topics at these places, distinct, ascending."""
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[places] = True
        return np.flatnonzero(np.repeat(chosen, np.maximum(self.partitions, 1)))

    def by_namespace(self, numbers: NDArray[np.integer]) -> dict[str, NDArray[np.int64]]:
        """Namespace -> indices into ``numbers`` of its partitions; those of invalid names are left out. O(n)."""
        namespace_of = self.namespace_no[self.topic_of(numbers)]
        ends = np.cumsum(np.bincount(namespace_of, minlength=len(self.namespaces))).tolist()
        rows = np.argsort(namespace_of, kind="stable") if len(self.namespaces) > 1 else np.arange(len(numbers))
        pieces = zip(self.namespaces, pairwise((0, *ends)), strict=True)
        return {name: rows[low:high] for name, (low, high) in pieces if name and low < high}

    def place(self, name: str) -> int:
        """The place of a topic in ``names``, -1 for none. O(log n): by its first partition's hash, or its own."""
        for candidate, partitioned in ((partition_name(name, 0), True), (name, False)):
            number = self.partition_number(candidate)
            at = self._topic_at(number) if number >= 0 else -1
            if at >= 0 and bool(self.partitions[at]) is partitioned and self.names[at] == name:
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
        if len(numbers) * MANY > self.partition_count:
            owners: NDArray[np.int64] = np.repeat(np.arange(len(self)), np.maximum(self.partitions, 1))[numbers]
            return owners
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
        """Yield all names in order, in chunks, to save memory."""
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
    """Names of some partitions in any order, built on demand."""

    __slots__ = ("numbers", "topics")

    def __init__(self, topics: TopicTable, numbers: NDArray[np.int32]) -> None:
        self.topics, self.numbers = topics, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def item(self, at: int) -> str:
        """The name at an index."""
        return self.topics.partition_name(int(self.numbers[at]))

    def __iter__(self) -> Iterator[str]:
        if len(self.numbers) * MANY < self.topics.partition_count:
            return map(self.topics.partition_name, self.numbers.tolist())
        names = [*chain.from_iterable(self.topics.partition_name_chunks())]
        return map(names.__getitem__, self.numbers.tolist())


def place_by_hash(hashes: NDArray[np.int32], name: str, name_at: Callable[[int], str]) -> int:
    """The place of a name among names in hash order, -1 for none; ``hashes`` ascend. O(log n)."""
    # Searching for a number of another type would copy the whole column.
    name_hash = np.int32(murmur3_32(name))
    at = int(np.searchsorted(hashes, name_hash, side="left"))
    while at < len(hashes) and hashes[at] == name_hash:
        if name_at(at) == name:
            return at
        at += 1
    return -1


def numbers_in(topics: TopicTable, others: TopicTable) -> NDArray[np.int64]:
    """(n,) the number of each partition in ``others``, a table with the same root; -1 for none. O(n)."""
    assert topics.root is others.root, "these topics have nothing to do with each other"
    places = np.full(topics.root.partition_count + 1, -1, dtype=np.int64)
    old = others.root_numbers >= 0
    places[others.root_numbers[old]] = np.flatnonzero(old)
    numbers = places[topics.root_numbers]
    for number in np.flatnonzero(topics.root_numbers < 0).tolist():
        numbers[number] = others.partition_number(topics.partition_name(number))
    return numbers
