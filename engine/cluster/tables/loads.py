"""The traffic of partitions in columns: reported, or synthetic by seed and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import isnan
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.cluster.tables.texts import Texts
from engine.cluster.tables.topics import Load, Recipe, TopicTable, numbers_in
from engine.hashing import murmur3_32

RATES: Final = ("msg_rate_in", "msg_rate_out", "throughput_in_bytes_per_sec", "throughput_out_bytes_per_sec")
_COUNTS: Final = ("unacked_messages", "backlog_entries")
UNKNOWN_COUNT: Final = -1
"""In the columns, a count that the statistics lack."""
_rates_of: Final = attrgetter(*RATES)
_counts_of: Final = attrgetter(*_COUNTS)


class LoadTable(Mapping[str, Load]):
    """Partition name -> its traffic, in columns of (n,) by the numbers of ``topics``.

    ``rates``: (4, n) float64, as the first four fields of ``Load``, NaN where the statistics lack one; ``counts``:
    (2, n) int64, unacknowledged messages and backlog, -1 where the statistics lack one; ``known``: (n,) bool, whether a
    partition has statistics, None if all have. What is computed takes ``filled`` rates.
    ``synthetic``: it is the traffic of the recipe of ``topics``.
    """

    __slots__ = ("counts", "known", "rates", "synthetic", "topics")

    def __init__(
        self,
        topics: TopicTable,
        rates: NDArray[np.float64],
        counts: NDArray[np.int64],
        known: NDArray[np.bool_] | None = None,
        *,
        synthetic: bool = False,
    ) -> None:
        assert rates.shape == (4, topics.partition_count) and counts.shape == (2, topics.partition_count)
        self.topics, self.rates, self.counts = topics, rates, counts
        self.known = None if known is None or known.all() else known
        self.synthetic = synthetic

    @classmethod
    def of(cls, topics: TopicTable, loads: Mapping[str, Load]) -> LoadTable:
        """Build a table of statistics for these topics; those of other names are left out. O(n)."""
        if isinstance(loads, LoadTable) and loads.topics is topics:
            return loads
        if isinstance(loads, LoadTable) and loads.topics.root is topics.root:
            return _carried(topics, loads)
        known = np.zeros(topics.partition_count, dtype=np.bool_)
        rates, counts = np.zeros((4, len(known))), np.zeros((2, len(known)), dtype=np.int64)
        if loads:
            listed = [loads.get(name) for name in chain.from_iterable(topics.partition_name_chunks())]
            reported = [load for load in listed if load is not None]
            known[:] = [load is not None for load in listed]
            rates[:, known] = np.array([*map(_rates_of, reported)], dtype=np.float64).reshape(-1, 4).T
            numbers = [UNKNOWN_COUNT if count is None else count for load in reported for count in _counts_of(load)]
            counts[:, known] = np.array(numbers, dtype=np.int64).reshape(-1, 2).T
        return cls(topics, rates, counts, known)

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
        into, out, bytes_in, bytes_out = (None if isnan(rate) else rate for rate in self.rates[:, number].tolist())
        unacked, backlog = (None if count == UNKNOWN_COUNT else count for count in self.counts[:, number].tolist())
        return Load(into, out, bytes_in, bytes_out, unacked, backlog)

    def with_rates(self, numbers: NDArray[np.int64], rates: NDArray[np.float64]) -> LoadTable:
        """The table with other rates, (4, k), of these partitions; the same object where they have them already."""
        known = self.known is None or bool(self.known[numbers].all())
        if known and np.array_equal(self.rates[:, numbers], rates, equal_nan=True):
            return self
        changed, present = self.rates.copy(), None if self.known is None else self.known.copy()
        changed[:, numbers] = rates
        if present is not None:
            present[numbers] = True
        return LoadTable(self.topics, changed, self.counts, present)

    def without(self, numbers: NDArray[np.int64]) -> LoadTable:
        """The table without the statistics of these partitions."""
        known = np.ones(len(self.counts[0]), dtype=np.bool_) if self.known is None else self.known.copy()
        known[numbers] = False
        return LoadTable(self.topics, self.rates, self.counts, known)

    def with_gaps(self) -> LoadTable:
        """The table with unknown numbers, and not none, where partitions have no statistics."""
        if self.known is None:
            return self
        rates, counts = np.where(self.known, self.rates, np.nan), np.where(self.known, self.counts, UNKNOWN_COUNT)
        return LoadTable(self.topics, rates, counts, self.known)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LoadTable) or self.topics != other.topics:
            return isinstance(other, Mapping) and len(self) == len(other) and dict(self) == dict(other)
        if self.known is None or other.known is None:
            same = self.known is other.known
        else:
            same = np.array_equal(self.known, other.known)
        rates = np.array_equal(self.rates, other.rates, equal_nan=True)
        return same and rates and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]


def filled(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rates with 0 for those that no statistics have, as rules and sums take them; a new array."""
    return np.where(np.isnan(rates), 0.0, rates)


def _carried(topics: TopicTable, loads: LoadTable) -> LoadTable:
    """The traffic for these topics, from that of the topics before or after an edit."""
    numbers = numbers_in(topics, loads.topics)
    known = numbers >= 0
    kept = min(len(numbers), loads.topics.partition_count)
    if not known[kept:].any() and np.array_equal(numbers[:kept], np.arange(kept)):
        return _prolonged(topics, loads, kept)
    if loads.known is not None:
        # Where no topic is left, the array is empty.
        known[known] = loads.known[numbers[known]]
    rates, counts = np.zeros((4, len(numbers))), np.zeros((2, len(numbers)), dtype=np.int64)
    rates[:, known], counts[:, known] = loads.rates[:, numbers[known]], loads.counts[:, numbers[known]]
    return LoadTable(topics, rates, counts, known)


def _prolonged(topics: TopicTable, loads: LoadTable, kept: int) -> LoadTable:
    """The first ``kept`` loads, and none for further partitions, as after a topic was added."""
    more = topics.partition_count - kept
    known = np.ones(kept, dtype=np.bool_) if loads.known is None else loads.known[:kept]
    return LoadTable(
        topics,
        np.concatenate((loads.rates[:, :kept], np.zeros((4, more))), axis=1),
        np.concatenate((loads.counts[:, :kept], np.zeros((2, more), dtype=np.int64)), axis=1),
        np.concatenate((known, np.zeros(more, dtype=np.bool_))),
    )


_MEDIAN_MSGS_PER_SEC: Final = 4.0
_TAIL: Final = 1.2
"""Exponent of the rates' Pareto tail: about a fifth of the topics carry most of the traffic."""
_BUSIEST_FACTOR: Final = 2_000.0
_MESSAGE_BYTES: Final = (64, 128, 256, 512, 1_024, 4_096)
_DRAW_SPACE: Final = 2**31
_LAG: Final = 0.05
_NEARLY_HALF: Final = 1e-6
"""Nearer than this to the middle between two thousandths, numpy rounds differently from Python."""


def load_of(seed: int, partition: str) -> Load:
    """The traffic of one partition, which depends on the seed and the name only.

    Rates follow a Pareto tail above half the median, cut at 2,000 times that; what goes out lags a little behind.
    """
    rate = _rate(_draw(seed, partition, 0))
    size = _MESSAGE_BYTES[int(_draw(seed, partition, 1) * len(_MESSAGE_BYTES))]
    lag = _draw(seed, partition, 2)
    out = round(rate * (1 - _LAG * lag), 3)
    return Load(
        msg_rate_in=rate,
        msg_rate_out=out,
        throughput_in_bytes_per_sec=rate * size,
        throughput_out_bytes_per_sec=out * size,
        unacked_messages=int(out * lag),
        backlog_entries=int(rate * lag * 10),
    )


def synthetic_topics(recipe: Recipe) -> TopicTable:
    """The topics of a recipe. O(partitions)."""
    names = [f"{recipe.prefix}{at}" for at in range(recipe.topics)]
    partitions = np.full(recipe.topics, recipe.partitions, dtype=np.int32)
    return TopicTable(Texts.of(names), partitions, (recipe.namespace,), np.zeros(recipe.topics, dtype=np.int32), recipe)


def synthetic_loads(topics: TopicTable) -> LoadTable:
    """``load_of`` of every partition of synthetic topics, bit for bit. O(partitions).

    >>> topics = synthetic_topics(Recipe("t/n", "persistent://t/n/x-", 2, 1, 7))
    >>> synthetic_loads(topics).at(1) == load_of(7, "persistent://t/n/x-1-partition-0")
    True
    """
    assert topics.recipe is not None, "these topics are not synthetic"
    seed, count = topics.recipe.seed, topics.partition_count
    rates, counts = np.empty((4, count)), np.empty((2, count), dtype=np.int64)
    at = 0
    for chunk in topics.partition_name_chunks():
        piece = slice(at, at + len(chunk))
        first = _draws(seed, chunk, 0)
        tail = np.minimum(first ** (-1 / _TAIL), _BUSIEST_FACTOR)
        rate = _rounded(_MEDIAN_MSGS_PER_SEC / 2 * tail)
        for doubtful in np.flatnonzero(np.isnan(rate)).tolist():
            rate[doubtful] = _rate(float(first[doubtful]))
        size = np.array(_MESSAGE_BYTES)[(_draws(seed, chunk, 1) * len(_MESSAGE_BYTES)).astype(np.int64)]
        lag = _draws(seed, chunk, 2)
        exact = rate * (1 - _LAG * lag)
        out = _rounded(exact)
        for doubtful in np.flatnonzero(np.isnan(out)).tolist():
            out[doubtful] = round(float(exact[doubtful]), 3)
        rates[:, piece] = rate, out, rate * size, out * size
        counts[:, piece] = (out * lag).astype(np.int64), (rate * lag * 10).astype(np.int64)
        at += len(chunk)
    return LoadTable(topics, rates, counts, synthetic=True)


def _rate(draw: float) -> float:
    rate: float = round(_MEDIAN_MSGS_PER_SEC / 2 * min(draw ** (-1 / _TAIL), _BUSIEST_FACTOR), 3)
    return rate


def _draw(seed: int, name: str, counter: int) -> float:
    """A number in (0, 1), excluding 0 and 1: a hash of seed, name and counter instead of a generator with a state."""
    return (murmur3_32(f"{seed}/{counter}/{name}") + 0.5) / _DRAW_SPACE


def _draws(seed: int, names: Sequence[str], counter: int) -> NDArray[np.float64]:
    prefix = f"{seed}/{counter}/"
    return (murmur3_bulk([prefix + name for name in names]) + 0.5) / _DRAW_SPACE


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to three decimals as ``round`` does; NaN where numpy cannot decide it."""
    thousandths = values * 1000
    rounded = np.rint(thousandths) / 1000
    rounded[np.abs(np.abs(thousandths - np.floor(thousandths)) - 0.5) < _NEARLY_HALF] = np.nan
    return rounded
