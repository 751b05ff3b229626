"""The traffic of the partitions of a table of topics, in columns beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.cluster.tables.topics import Load, TopicTable, numbers_in

_RATES: Final = ("msg_rate_in", "msg_rate_out", "throughput_in_bytes_per_sec", "throughput_out_bytes_per_sec")
_COUNTS: Final = ("unacked_messages", "backlog_entries")
_rates_of: Final = attrgetter(*_RATES)
_counts_of: Final = attrgetter(*_COUNTS)


class LoadTable(Mapping[str, Load]):
    """Partition name -> its traffic, in columns of (n,) by the numbers of ``topics``.

    ``rates``: (4, n) float64, as the first four fields of ``Load``; ``counts``: (2, n) int64, unacknowledged messages
    and backlog; ``known``: (n,) bool, which ones have statistics, None for all.
    ``made_up``: it is the traffic of the recipe of ``topics``.
    """

    __slots__ = ("counts", "known", "made_up", "rates", "topics")

    def __init__(
        self,
        topics: TopicTable,
        rates: NDArray[np.float64],
        counts: NDArray[np.int64],
        known: NDArray[np.bool_] | None = None,
        *,
        made_up: bool = False,
    ) -> None:
        assert rates.shape == (4, topics.partition_count) and counts.shape == (2, topics.partition_count)
        self.topics, self.rates, self.counts = topics, rates, counts
        self.known = None if known is None or known.all() else known
        self.made_up = made_up

    @classmethod
    def of(cls, topics: TopicTable, loads: Mapping[str, Load]) -> LoadTable:
        """Any statistics in columns beside these topics; those of other names are left out. O(n)."""
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
            counts[:, known] = np.array([*map(_counts_of, reported)], dtype=np.int64).reshape(-1, 2).T
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
    kept = min(len(numbers), loads.topics.partition_count)
    if not known[kept:].any() and np.array_equal(numbers[:kept], np.arange(kept)):
        return _prolonged(topics, loads, kept)
    if loads.known is not None:
        # Where no topic was left, there is no number to look at.
        known[known] = loads.known[numbers[known]]
    rates, counts = np.zeros((4, len(numbers))), np.zeros((2, len(numbers)), dtype=np.int64)
    rates[:, known], counts[:, known] = loads.rates[:, numbers[known]], loads.counts[:, numbers[known]]
    return LoadTable(topics, rates, counts, known)


def _prolonged(topics: TopicTable, loads: LoadTable, kept: int) -> LoadTable:
    """The first of these loads, and none for the partitions behind them: what an added topic leaves."""
    more = topics.partition_count - kept
    known = np.ones(kept, dtype=np.bool_) if loads.known is None else loads.known[:kept]
    return LoadTable(
        topics,
        np.concatenate((loads.rates[:, :kept], np.zeros((4, more))), axis=1),
        np.concatenate((loads.counts[:, :kept], np.zeros((2, more), dtype=np.int64)), axis=1),
        np.concatenate((known, np.zeros(more, dtype=np.bool_))),
    )
