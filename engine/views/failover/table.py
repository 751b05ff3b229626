"""The table of consumers: the partitions of each, and how uneven they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import NamespaceBundles
from engine.compare.verdict import shares
from engine.hashing import crc32_hash
from engine.memo import LazyRows, Remembered
from engine.names import TopicName, parse_topic_name
from engine.views.failover.model import ConsumerRow, PartitionRow, TableFoot
from engine.views.failover.slice import Changes, Slice

NOBODY_COLOUR = 0
SORTED_AT_ONCE: Final = 1_024
"""More rows than a user pages through: of more partitions only the busiest are sorted at once."""
_totals: Remembered[float] = Remembered()


@lru_cache(maxsize=16_384)
def letter_tag(number: int) -> str:
    """The tag of the consumer with that number, counted from 0: A .. Z, AA, AB ..

    >>> [letter_tag(n) for n in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    tag = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        tag = chr(ord("A") + digit) + tag
    return tag


def consumer_rows(now: Slice, changes: Changes, colours: Mapping[int, int]) -> tuple[ConsumerRow, ...]:
    """One row a consumer in the dispatcher's order; ``colours`` gives each consumer id its number. O(n + t)."""
    order = now.order
    if not order:
        return ()
    counts, rates = shares(now.state, now.subscription)
    size, leading = len(order), now.cohort_size
    total = float(rates.sum())
    lacking = _lacking(now)
    some = any(lacking)
    ring = now.ring
    none = size - leading
    numbers = [colours.get(consumer.consumer_id, NOBODY_COLOUR) for consumer in order]
    # Column by column: a thousand rows made one by one with names for all their fields take twice as long.
    return tuple(
        map(
            ConsumerRow,
            [consumer.consumer_id for consumer in order],
            [consumer.name for consumer in order],
            map(letter_tag, numbers),
            [consumer.priority_level for consumer in order],
            [False] * leading + [now.levels_count] * none,
            counts.tolist(),
            (*(ring.shares() if ring else ()), *[0.0] * none),
            [None] * size if some else (rates / total).tolist() if total > 0 else [0.0] * size,
            [None if unknown else rate for rate, unknown in zip(rates.tolist(), lacking, strict=True)],
            (*(ring.point_counts() if ring else ()), *[0] * none),
            [changes.gained.get(consumer.consumer_id, 0) for consumer in order],
            [changes.lost.get(consumer.consumer_id, 0) for consumer in order],
            numbers,
        )
    )


def _lacking(now: Slice) -> list[bool]:
    """Whether no answer has the rate of a partition of each consumer, in the dispatcher's order."""
    ids = [] if now.unknown is None else np.unique(now.owners.ids[now.unknown]).tolist()
    return [consumer.consumer_id in ids for consumer in now.order]


def table_foot(now: Slice, rows: tuple[ConsumerRow, ...]) -> TableFoot:
    """The sums and the unevenness of the rows; standbys do not count into a mean."""
    leading = [row for row in rows if not row.standby]
    counts = [row.active_partitions for row in leading]
    rates = [row.msgs_per_sec for row in leading if row.msgs_per_sec is not None]
    return TableFoot(
        consumers=len(rows),
        partitions=len(now.topics),
        msgs_per_sec=None if now.unknown is not None else _total(now),
        max_over_mean_partitions=max_over_mean(counts),
        max_over_mean_ring_share=max_over_mean([row.ring_share for row in leading]),
        max_over_mean_rate=None if len(rates) < len(leading) else max_over_mean(rates),
        idle_consumers=counts.count(0),
    )


def _total(now: Slice) -> float:
    return _totals.get((now.msgs_per_sec,), (), lambda: float(now.msgs_per_sec.sum()))


def max_over_mean(values: list[float] | list[int]) -> float:
    """The largest value divided by the mean; 0.0 for no values or when all are 0.

    >>> max_over_mean([100, 0, 0, 0]), max_over_mean([])
    (4.0, 0.0)
    """
    total = sum(values)
    return max(values) * len(values) / total if total > 0 else 0.0


def partition_rows(now: Slice, changes: Changes, consumer_id: int) -> Sequence[PartitionRow]:
    """The partitions a consumer is active for, busiest first, then by name; rows are made when they are read.

    Among very many partitions of one rate those of the lower ring hash come first.
    """
    owned = _owned(now, consumer_id)
    place_of = _busiest(now, owned).place
    bundles: dict[str, NamespaceBundles] = {}

    def row(place: int) -> PartitionRow:
        at = place_of(place)
        name = now.topics.names[at]
        return PartitionRow(
            name=name,
            partition_index=int(now.topics.index[at]),
            msgs_per_sec=None if now.unknown is not None and now.unknown[at] else float(now.msgs_per_sec[at]),
            topic_hash=int(now.topics.hash[at]),
            bundle=_bundle_text(now, name, bundles),
            moved=bool(changes.moved[at]),
            unacked_messages=(
                None if now.unacked_unknown is not None and now.unacked_unknown[at] else int(now.unacked[at])
            ),
        )

    return LazyRows(len(owned), row)


class Busiest:
    """Indices by descending rate, then by name, sorted only as far as they are read.

    ``names`` are those of all indices. Very many of equal rate are not sorted by name.
    """

    __slots__ = ("_places", "_ranked", "_rates")

    def __init__(self, places: NDArray[np.int64], rates: NDArray[np.float64], names: Sequence[str]) -> None:
        self._places, self._rates = places, rates
        if len(rates) <= SORTED_AT_ONCE:
            first = np.arange(len(rates))
        else:
            # All that equal the last of the first ones are among them, so what follows is lower.
            first = np.flatnonzero(rates >= np.partition(rates, len(rates) - SORTED_AT_ONCE)[-SORTED_AT_ONCE])
        if len(first) <= 2 * SORTED_AT_ONCE:
            listed = [names[place] for place in places[first].tolist()]
            first = first[sorted(range(len(first)), key=listed.__getitem__)]
        self._ranked = first[np.argsort(-rates[first], kind="stable")]

    def place(self, rank: int) -> int:
        """The index at a rank, from 0."""
        if rank >= len(self._ranked):
            seen, rest = self._ranked, np.ones(len(self._rates), dtype=np.bool_)
            rest[seen] = False
            behind = np.flatnonzero(rest)
            self._ranked = np.concatenate((seen, behind[np.argsort(-self._rates[behind], kind="stable")]))
        return int(self._places[self._ranked[rank]])


def busiest_partition(now: Slice, consumer_id: int) -> str:
    """The name of the first of ``partition_rows``, "" for none. O(t)."""
    owned = _owned(now, consumer_id)
    if not len(owned):
        return ""
    return now.topics.names[_busiest(now, owned).place(0)]


def _busiest(now: Slice, owned: NDArray[np.int64]) -> Busiest:
    return Busiest(owned, now.msgs_per_sec[owned], now.topics.names)


def _owned(now: Slice, consumer_id: int) -> NDArray[np.int64]:
    """The places of the partitions a consumer is active for."""
    if consumer_id < 0:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(now.owners.ids == consumer_id)


def _bundle_text(now: Slice, name: str, known: dict[str, NamespaceBundles]) -> str:
    """The range text of a partition's bundle, "" for none."""
    parsed = parse_topic_name(name)
    namespace = parsed.namespace if isinstance(parsed, TopicName) else ""
    seen = now.state.namespaces.get(namespace)
    if seen is None:
        return ""
    bundles = known.setdefault(namespace, NamespaceBundles(namespace, seen.boundaries))
    index = bundles.index_of(crc32_hash(name))
    return str(bundles[index]) if index >= 0 else ""
