"""The topics of the bundles of a simulation, one by one or in columns: dealt out, summed up, dealt out again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.balance.start import BalancedTopic, scaled
from engine.balance.topic_columns import Sums, TopicColumns
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.load_columns import Rows, dealt_rows
from engine.bundles.loads import TopicLoad


class Topics(Protocol):
    """The topics of one bundle, in listing order."""

    def __len__(self) -> int: ...

    @property
    def names(self) -> Sequence[str]:
        """Their complete names."""

    def loads_at(self, interval: int) -> Sequence[TopicLoad]:
        """Their loads after so many full intervals."""

    def among(self, bundles: Sequence[BundleRange]) -> Sequence[Topics]:
        """Those that lie in each of some smaller bundles, which ascend."""

    def sums(self, interval: int, factor: float) -> Sums:
        """What is reported of them, all rates times ``factor``."""


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Topics as objects."""

    topics: list[BalancedTopic]

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(topic.load.name for topic in self.topics)

    def loads_at(self, interval: int) -> list[TopicLoad]:
        """O(n)."""
        return [topic.load_at(interval) for topic in self.topics]

    def among(self, bundles: Sequence[BundleRange]) -> list[OneByOne]:
        """O(n × bundles)."""
        return [OneByOne([topic for topic in self.topics if bundle.includes(topic.load.hash)]) for bundle in bundles]

    def sums(self, interval: int, factor: float) -> Sums:
        """O(n)."""
        producers = consumers = 0
        rates = [0.0, 0.0, 0.0, 0.0]
        for topic in self.topics:
            load = scaled(topic.load_at(interval), factor)
            producers, consumers = producers + topic.producers, consumers + topic.consumers
            if load.has_stats:
                rates[0] += load.msg_rate_in
                rates[1] += load.msg_rate_out
                rates[2] += load.throughput_in_bytes_per_sec
                rates[3] += load.throughput_out_bytes_per_sec
        return len(self.topics), producers, consumers, rates[0], rates[1], rates[2], rates[3]


@dataclass(frozen=True, eq=False, slots=True)
class InColumns:
    """Some rows of topics in columns."""

    topics: TopicColumns
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> Sequence[str]:
        return self.topics.loads.names.take(self.rows)

    def loads_at(self, interval: int) -> Sequence[TopicLoad]:
        """O(n) copies."""
        return self.topics.loads_at(interval).take(self.rows)

    def among(self, bundles: Sequence[BundleRange]) -> list[InColumns]:
        """O(n)."""
        dealt_out = dealt_rows(self.topics.loads.hashes[self.rows], bundles)
        return [InColumns(self.topics, self.rows[rows]) for rows in dealt_out]

    def sums(self, interval: int, factor: float) -> Sums:
        """O(n)."""
        return self.topics.sums(self.rows, interval, factor)


def dealt(topics: Sequence[BalancedTopic], bundles: NamespaceBundles) -> dict[BundleRange, Topics]:
    """The topics of each bundle; those below the first boundary are in none. O(topics × log bundles)."""
    if isinstance(topics, TopicColumns):
        return {bundle: InColumns(topics, rows) for bundle, rows in topics.dealt(bundles).items()}
    found: dict[BundleRange, list[BalancedTopic]] = {bundle: [] for bundle in bundles}
    for topic in topics:
        place = bundles.index_of(topic.load.hash)
        if place >= 0:
            found[bundles[place]].append(topic)
    return {bundle: OneByOne(inside) for bundle, inside in found.items()}


def is_steady(topics: Sequence[BalancedTopic]) -> bool:
    """Whether no traffic ever changes."""
    return topics.is_steady if isinstance(topics, TopicColumns) else all(topic.is_steady for topic in topics)


def loads_at(topics: Sequence[BalancedTopic], interval: int) -> Sequence[TopicLoad]:
    """The loads of any topics after so many full intervals.

    >>> [load.msg_rate_in for load in loads_at([BalancedTopic(TopicLoad("a", 1, 5.0), growth_per_cycle=2.0)], 2)]
    [20.0]
    """
    if isinstance(topics, TopicColumns):
        return topics.loads_at(interval)
    return [topic.load_at(interval) for topic in topics]


def hold_any(topics: Sequence[BalancedTopic]) -> Callable[[BundleRange], bool]:
    """Whether a range has a topic. O(n log n) once, O(log n) for each range."""
    if isinstance(topics, TopicColumns):
        return lambda bundle: bool(len(topics.rows_by_hash(bundle)))
    hashes = sorted(topic.load.hash for topic in topics)

    def holds(bundle: BundleRange) -> bool:
        at = bisect_left(hashes, bundle.lower)
        return at < len(hashes) and bundle.includes(hashes[at])

    return holds
