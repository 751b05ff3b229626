"""The table of consumers: who is active for how much, and how uneven it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.cluster.facts import NO_STATISTICS
from engine.views.changes import Changes
from engine.views.model import ConsumerRow, PartitionRow, TableFoot
from engine.views.slice import Slice

NOBODY_COLOUR = 0


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
    counts, rates = per_consumer(now)
    total = float(rates.sum())
    ring = now.ring
    shares = ring.shares() if ring else ()
    points = ring.point_counts() if ring else ()
    rows = []
    for at, (consumer, active, rate) in enumerate(zip(order, counts.tolist(), rates.tolist(), strict=True)):
        leading = at < now.cohort_size
        colour = colours.get(consumer.consumer_id, NOBODY_COLOUR)
        rows.append(
            ConsumerRow(
                consumer_id=consumer.consumer_id,
                name=consumer.name,
                tag=letter_tag(colour),
                priority_level=consumer.priority_level,
                standby=not leading and now.levels_count,
                active_partitions=active,
                ring_share=shares[at] if leading else 0.0,
                rate_share=rate / total if total > 0 else 0.0,
                msgs_per_sec=rate,
                ring_points=points[at] if leading else 0,
                gained=changes.gained.get(consumer.consumer_id, 0),
                lost=changes.lost.get(consumer.consumer_id, 0),
                colour=colour,
            )
        )
    return tuple(rows)


def table_foot(now: Slice, rows: tuple[ConsumerRow, ...]) -> TableFoot:
    """The sums and the unevenness of the rows; standbys do not count into a mean."""
    leading = [row for row in rows if not row.standby]
    return TableFoot(
        consumers=len(rows),
        partitions=len(now.topics),
        msgs_per_sec=float(now.msgs_per_sec.sum()),
        max_over_mean_partitions=max_over_mean([row.active_partitions for row in leading]),
        max_over_mean_ring_share=max_over_mean([row.ring_share for row in leading]),
        max_over_mean_rate=max_over_mean([row.msgs_per_sec for row in leading]),
        idle_consumers=sum(row.active_partitions == 0 for row in leading),
    )


def max_over_mean(values: list[float] | list[int]) -> float:
    """The largest value divided by the mean; 0.0 for no values or when all are 0.

    >>> max_over_mean([100, 0, 0, 0]), max_over_mean([])
    (4.0, 0.0)
    """
    total = sum(values)
    return max(values) * len(values) / total if total > 0 else 0.0


def per_consumer(now: Slice) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Active partitions and messages per second (in plus out) of each position in the dispatcher's order."""
    size = len(now.order)
    owned = now.owners.active >= 0
    active = now.owners.active[owned]
    counts = np.bincount(active, minlength=size)
    rates: NDArray[np.float64] = np.zeros(size, dtype=np.float64)
    np.add.at(rates, active, now.msgs_per_sec[owned])
    return counts, rates


def partition_rows(
    now: Slice, changes: Changes, consumer_id: int, bundles: Mapping[str, str]
) -> tuple[PartitionRow, ...]:
    """The partitions a consumer is active for, busiest first, then by name; ``bundles`` gives each its range text."""
    position = next((at for at, each in enumerate(now.order) if each.consumer_id == consumer_id), None)
    if position is None:
        return ()
    rows = []
    for at in np.flatnonzero(now.owners.active == position).tolist():
        name = now.topics.names[at]
        load = now.state.loads.get(name, NO_STATISTICS)
        rows.append(
            PartitionRow(
                name=name,
                partition_index=int(now.topics.indices[at]),
                msgs_per_sec=load.msg_rate_in + load.msg_rate_out,
                topic_hash=int(now.topics.hashes[at]),
                bundle=bundles.get(name, ""),
                moved=bool(changes.moved[at]),
                unacked_messages=load.unacked_messages,
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.msgs_per_sec, row.name)))
