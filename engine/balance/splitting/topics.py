"""The topics of the bundles of a simulation, one by one or in columns: dealt out, summed up, dealt out again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.balance.splitting.start import HIGHEST_RATE, BalancedTopic, ListedTopics, scaled
from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, NamespaceBundles
from engine.bundles.columns import LoadColumns, PickedNames, Rows, dealt_rows, sum_in_order
from engine.bundles.loads import RATE_FIELDS, TopicLoad

Sums = tuple[int, int, int, float, float, float, float]
"""Topics, producers, consumers, and the four rates."""


class TopicColumns(ListedTopics):
    """Balanced topics in listing order: loads at the start, ``sessions`` (2, n) int64, ``growth`` (n,), no steps.

    Each has its own name.

    >>> names = PickedNames(["persistent://t/n/a", "persistent://t/n/b"], np.arange(2))
    >>> loads = LoadColumns(names, np.array([7, 9]), np.full((4, 2), 5.0), np.array([True, True]))
    >>> topics = TopicColumns(loads, np.zeros((2, 2), dtype=np.int64), np.array([1.0, 2.0]))
    >>> topics.sums(np.arange(2), 1)
    (2, 0, 0, 15.0, 15.0, 15.0, 15.0)
    """

    __slots__ = ("_by_hash", "_growths", "_last", "_sums", "growth", "loads", "sessions")

    def __init__(self, loads: LoadColumns, sessions: NDArray[np.int64], growth: NDArray[np.float64]) -> None:
        self.loads, self.sessions, self.growth = loads, sessions, growth
        self._last = 0, loads
        self._growths: list[float] | None = None
        self._sums: dict[tuple[BundleRange, int], Sums] = {}
        self._by_hash: tuple[NDArray[np.int64], Rows] | None = None

    def __len__(self) -> int:
        return len(self.loads)

    def item(self, at: int) -> BalancedTopic:
        """The topic at a place."""
        producers, consumers = self.sessions[:, at].tolist()
        return BalancedTopic(self.loads[at], producers, consumers, float(self.growth[at]))

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether all numbers of each are finite and 0 or above: (n,)."""
        found = np.ones(len(self), dtype=np.bool_)
        for numbers in (*self.loads.rates, self.growth, *self.sessions):
            found &= np.isfinite(numbers) & (numbers >= 0)
        return found

    def take(self, rows: Rows) -> TopicColumns:
        """Those at these places."""
        return TopicColumns(self.loads.take(rows), self.sessions[:, rows], self.growth[rows])

    @property
    def is_steady(self) -> bool:
        """Whether no traffic ever changes."""
        return self._growth_kinds() in ([], [1.0])

    def has(self, topic: TopicLoad) -> bool:
        """Whether a topic of this name is among them."""
        same_hash = np.flatnonzero(self.loads.hashes == topic.hash)
        return topic.name in self.loads.names.take(same_hash)

    def with_topic(self, topic: BalancedTopic) -> TopicColumns:
        """These, and one more behind them."""
        load, loads = topic.load, self.loads
        rates = [getattr(load, name) for name in RATE_FIELDS]
        names = loads.names
        rows = np.append(names.rows, len(names.source) + len(names.more))
        return TopicColumns(
            LoadColumns(
                PickedNames(names.source, rows, (*names.more, load.name)),
                np.append(loads.hashes, load.hash),
                np.concatenate((loads.rates, np.array(rates).reshape(-1, 1)), axis=1),
                np.append(loads.has_stats, load.has_stats),
            ),
            np.concatenate((self.sessions, np.array([[topic.producers], [topic.consumers]])), axis=1),
            np.append(self.growth, topic.growth_per_cycle),
        )

    def loads_at(self, interval: int) -> LoadColumns:
        """The loads after so many full intervals; those of the last one asked for are kept."""
        # A forecast in a thread and the screen may ask at once: one value holds both, so it is right or another one.
        level, loads = self._last
        if level != interval:
            loads = self._scaled(interval)
            self._last = interval, loads
        return loads

    def _growth_kinds(self) -> list[float]:
        if self._growths is None:
            self._growths = np.unique(self.growth).tolist()
        return self._growths

    def _scaled(self, interval: int) -> LoadColumns:
        rates = self.loads.rates
        for growth in self._growth_kinds():
            factor = BalancedTopic(self.loads[0], growth_per_cycle=growth).factor_at(interval)
            if factor != 1.0:
                mine = self.growth == growth
                rates = np.where(mine, _times(self.loads.rates, factor), rates)
        if rates is self.loads.rates:
            return self.loads
        return LoadColumns(self.loads.names, self.loads.hashes, rates, self.loads.has_stats)

    def dealt(self, bundles: NamespaceBundles) -> dict[BundleRange, Rows]:
        """The rows of each bundle; topics below the first boundary are in none."""
        return dict(zip(bundles, dealt_rows(self.loads.hashes, bundles.bundles), strict=True))

    @property
    def by_hash(self) -> tuple[NDArray[np.int64], Rows]:
        """All hashes ascending, and their rows; of equal hashes in listing order."""
        if self._by_hash is None:
            order = np.argsort(self.loads.hashes, kind="stable")
            self._by_hash = self.loads.hashes[order], order
        return self._by_hash

    def rows_by_hash(self, bundle: BundleRange) -> Rows:
        """The rows of one bundle by ascending hash."""
        hashes, order = self.by_hash
        low = int(np.searchsorted(hashes, bundle.lower))
        past = FULL_UPPER_BOUND + 1 if bundle.upper_inclusive else bundle.upper
        return order[low : int(np.searchsorted(hashes, past))]

    def sums_by_hash(self, bundle: BundleRange, interval: int) -> Sums:
        """What ``sums`` says of one bundle, added by ascending hash; remembered. O(n of the bundle) once."""
        key = (bundle, 0 if self.is_steady else interval)
        if key not in self._sums:
            self._sums[key] = self.sums(self.rows_by_hash(bundle), interval)
        return self._sums[key]

    def sums(self, rows: Rows, interval: int, factor: float = 1.0) -> Sums:
        """Topics, producers, consumers and the four rates of some rows, added in their order."""
        loads = self.loads_at(interval)
        known = rows[loads.has_stats[rows]]
        producers, consumers = self.sessions[:, rows].sum(axis=1).tolist()
        every = [rate[known] for rate in loads.rates]
        if factor != 1.0:
            every = [_times(rates, factor) for rates in every]
        first, second, third, fourth = map(sum_in_order, every)
        return len(rows), producers, consumers, first, second, third, fourth


def _times(rates: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """The rates times a factor, each at most ``HIGHEST_RATE``; what floats cannot hold is above it and no warning."""
    with np.errstate(over="ignore"):
        return np.minimum(rates * factor, HIGHEST_RATE)


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
