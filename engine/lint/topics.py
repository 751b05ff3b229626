"""What the rules about namespaces ask of many topics.

Sums are rounded once (``fsum``), so the order of the topics does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.columns import LoadColumns, Rows, dealt_rows, equal_rows, in_columns
from engine.bundles.loads import TopicLoad


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many topics have statistics, and what they carry together, in plus out."""

    topics: int
    msgs_per_sec: float
    bytes_per_sec: float


def traffic_of(topics: Sequence[TopicLoad]) -> Traffic:
    """The traffic of the topics that have statistics. O(n)."""
    loads = in_columns(topics)
    msgs, size = (rates[loads.with_stats].tolist() for rates in loads.flow)
    return Traffic(len(msgs), fsum(msgs), fsum(size))


def above(topics: Sequence[TopicLoad], msgs_per_sec: float, bytes_per_sec: float) -> LoadColumns:
    """The topics with statistics that alone carry more than one of these, in list order. O(n)."""
    loads = in_columns(topics)
    msgs, size = loads.flow
    return loads.take(np.flatnonzero(((msgs > msgs_per_sec) | (size > bytes_per_sec)) & loads.has_stats))


def twins_of(topics: Sequence[TopicLoad]) -> Iterator[tuple[int, LoadColumns]]:
    """Each hash that several topics share, with these topics in list order. O(n log n)."""
    loads = in_columns(topics)
    for rows in equal_rows(loads.hashes):
        yield int(loads.hashes[rows[0]]), loads.take(rows)


def places_by_bundle(bundles: NamespaceBundles, topics: LoadColumns) -> Iterator[tuple[BundleRange, Rows]]:
    """The bundles that hold topics, ascending, with the places of their topics. O(n log b)."""
    every = bundles.bundles
    dealt = zip(every, dealt_rows(topics.hashes, every), strict=True)
    yield from ((bundle, rows) for bundle, rows in dealt if len(rows))


def sessions_at(topics: LoadColumns, sessions: Sequence[int], places: Rows) -> int:
    """The sessions of those of the topics at these places that have statistics; ``sessions`` of each topic."""
    return int(np.asarray(sessions)[places[topics.has_stats[places]]].sum())
