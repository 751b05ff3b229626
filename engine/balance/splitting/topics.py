"""The topics of the bundles of a simulation, in columns: dealt out, summed up, dealt out again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, NamespaceBundles
from engine.bundles.columns import LoadColumns, PickedNames, Rows, dealt_rows, in_columns, sum_in_order
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.memo import Computed

HIGHEST_RATE: Final = 1e300
Sums = tuple[int, int, int, float, float, float, float]
"""Topics, producers, consumers, and the four rates."""


@dataclass(frozen=True, slots=True)
class BalancedTopic:
    """One topic over time: its load at the start, its sessions, and by what its traffic is multiplied.

    ``growth_per_cycle`` 1.1 is ten percent more at each full interval.
    """

    load: TopicLoad
    producers: int = 0
    consumers: int = 0
    growth_per_cycle: float = 1.0


class TopicColumns(Computed[BalancedTopic]):
    """Balanced topics in listing order: loads at the start, ``sessions`` (2, n) int64, ``growth`` (n,).

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

    @classmethod
    def of(cls, topics: Sequence[BalancedTopic]) -> TopicColumns:
        """The same topics in columns."""
        sessions = [[topic.producers for topic in topics], [topic.consumers for topic in topics]]
        growth = [topic.growth_per_cycle for topic in topics]
        loads = in_columns([topic.load for topic in topics])
        return cls(loads, np.array(sessions, dtype=np.int64), np.array(growth, dtype=np.float64))

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
            factor = _power(growth, interval)
            if factor != 1.0:
                mine = self.growth == growth
                rates = np.where(mine, _times(self.loads.rates, factor), rates)
        if rates is self.loads.rates:
            return self.loads
        return LoadColumns(self.loads.names, self.loads.hashes, rates, self.loads.has_stats)

    def dealt(self, bundles: NamespaceBundles) -> dict[BundleRange, TopicsOfBundle]:
        """The topics of each bundle; those below the first boundary are in none. O(topics × log bundles)."""
        rows = dealt_rows(self.loads.hashes, bundles.bundles)
        return {bundle: TopicsOfBundle(self, inside) for bundle, inside in zip(bundles, rows, strict=True)}

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


def _power(base: float, exponent: int) -> float:
    # Growth that leaves what floats can hold stays at a number that still can be added up.
    try:
        return min(base**exponent, HIGHEST_RATE)
    except OverflowError:
        return HIGHEST_RATE


@dataclass(frozen=True, eq=False, slots=True)
class TopicsOfBundle:
    """Those of one bundle, in listing order."""

    topics: TopicColumns
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> Sequence[str]:
        return self.topics.loads.names.take(self.rows)

    def loads_at(self, interval: int) -> Sequence[TopicLoad]:
        """Their loads after so many full intervals. O(n) copies."""
        return self.topics.loads_at(interval).take(self.rows)

    def among(self, bundles: Sequence[BundleRange]) -> list[TopicsOfBundle]:
        """Those in each of some smaller bundles, which ascend. O(n)."""
        dealt_out = dealt_rows(self.topics.loads.hashes[self.rows], bundles)
        return [TopicsOfBundle(self.topics, self.rows[rows]) for rows in dealt_out]

    def sums(self, interval: int, factor: float) -> Sums:
        """What is reported of them, all rates times ``factor``. O(n)."""
        return self.topics.sums(self.rows, interval, factor)
