"""Made-up traffic: a function of a seed and a name, one partition at a time or a million at once.

It stands down here because a journal keeps a large made-up cluster as its recipe and not as a million rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.texts import Texts
from engine.cluster.tables.topics import Load, Recipe, TopicTable
from engine.hashing import murmur3_32

_MEDIAN_MSGS_PER_SEC: Final = 4.0
_TAIL: Final = 1.2
"""Exponent of the rates' Pareto tail: about a fifth of the topics carry most of the traffic."""
_BUSIEST_FACTOR: Final = 2_000.0
_MESSAGE_BYTES: Final = (64, 128, 256, 512, 1_024, 4_096)
_DRAW_SPACE: Final = 2**31
_LAG: Final = 0.05
_NEARLY_HALF: Final = 1e-6
"""So near to the middle of two thousandths, numpy's rounding is not Python's."""


def load_of(seed: int, partition: str) -> Load:
    """The traffic of one partition: a function of the seed and the name, whatever else there is.

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


def made_up_topics(recipe: Recipe) -> TopicTable:
    """The topics of a recipe. O(partitions)."""
    names = [f"{recipe.prefix}{at}" for at in range(recipe.topics)]
    partitions = np.full(recipe.topics, recipe.partitions, dtype=np.int32)
    return TopicTable(Texts.of(names), partitions, (recipe.namespace,), np.zeros(recipe.topics, dtype=np.int32), recipe)


def made_up_loads(topics: TopicTable) -> LoadTable:
    """``load_of`` of every partition of made-up topics, bit for bit. O(partitions).

    >>> topics = made_up_topics(Recipe("t/n", "persistent://t/n/x-", 2, 1, 7))
    >>> made_up_loads(topics).at(1) == load_of(7, "persistent://t/n/x-1-partition-0")
    True
    """
    assert topics.recipe is not None, "these topics were not made up"
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
    return LoadTable(topics, rates, counts, made_up=True)


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
    """To three decimals as ``round`` does; not a number where that cannot be told from here."""
    thousandths = values * 1000
    found = np.rint(thousandths) / 1000
    found[np.abs(np.abs(thousandths - np.floor(thousandths)) - 0.5) < _NEARLY_HALF] = np.nan
    return found
