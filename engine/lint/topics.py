"""What the rules about namespaces ask of many topics: topic by topic, and in columns where the topics are columns.

Both forms give the same answers. Sums are rounded once (``fsum``), so the order of the topics does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TypeAlias

import numpy as np

from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.columns import LoadColumns, Rows, dealt_rows, equal_rows
from engine.bundles.loads import TopicLoad

Places: TypeAlias = Sequence[int] | Rows
"""Indices in a listing, ascending; an array where the topics are columns."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many topics have statistics, and what they carry together, in plus out."""

    topics: int
    msgs_per_sec: float
    bytes_per_sec: float


def traffic_of(topics: Sequence[TopicLoad]) -> Traffic:
    """The traffic of the topics that have statistics. O(n)."""
    if isinstance(topics, LoadColumns):
        msgs, size = (rates[topics.with_stats].tolist() for rates in topics.flow)
        return Traffic(len(msgs), fsum(msgs), fsum(size))
    loaded = [topic for topic in topics if topic.has_stats]
    return Traffic(
        len(loaded), fsum(topic.msgs_per_sec for topic in loaded), fsum(topic.bytes_per_sec for topic in loaded)
    )


def above(topics: Sequence[TopicLoad], msgs_per_sec: float, bytes_per_sec: float) -> Sequence[TopicLoad]:
    """The topics with statistics that alone carry more than one of these, in list order. O(n)."""
    if isinstance(topics, LoadColumns):
        msgs, size = topics.flow
        return topics.take(np.flatnonzero(((msgs > msgs_per_sec) | (size > bytes_per_sec)) & topics.has_stats))
    return [
        topic
        for topic in topics
        if topic.has_stats and (topic.msgs_per_sec > msgs_per_sec or topic.bytes_per_sec > bytes_per_sec)
    ]


def twins_of(topics: Sequence[TopicLoad]) -> Iterator[tuple[int, Sequence[TopicLoad]]]:
    """Each hash that several topics share, with these topics in list order. O(n log n) in columns, else O(n)."""
    if isinstance(topics, LoadColumns):
        for rows in equal_rows(topics.hashes):
            yield int(topics.hashes[rows[0]]), topics.take(rows)
        return
    at_hash: dict[int, list[TopicLoad]] = {}
    for topic in topics:
        at_hash.setdefault(topic.hash, []).append(topic)
    yield from ((position, twins) for position, twins in at_hash.items() if len(twins) > 1)


def places_by_bundle(bundles: NamespaceBundles, topics: Sequence[TopicLoad]) -> Iterator[tuple[BundleRange, Places]]:
    """The bundles that hold topics, ascending, with the places of their topics. O(n log b), in columns O(b) more."""
    if isinstance(topics, LoadColumns):
        every = bundles.bundles
        dealt = zip(every, dealt_rows(topics.hashes, every), strict=True)
        yield from ((bundle, rows) for bundle, rows in dealt if len(rows))
        return
    inside: dict[int, list[int]] = {}
    for place, topic in enumerate(topics):
        inside.setdefault(bundles.index_of(topic.hash), []).append(place)
    yield from ((bundles[at], inside[at]) for at in sorted(inside) if at >= 0)


def picked(topics: Sequence[TopicLoad], places: Places) -> Sequence[TopicLoad]:
    """The topics at these places."""
    if isinstance(topics, LoadColumns):
        return topics.take(np.asarray(places))
    return tuple(topics[at] for at in places)


def sessions_at(topics: Sequence[TopicLoad], sessions: Sequence[int], places: Places) -> int:
    """The sessions of those of the topics at these places that have statistics; ``sessions`` of each topic."""
    if isinstance(topics, LoadColumns):
        rows = np.asarray(places)
        return int(np.asarray(sessions)[rows[topics.has_stats[rows]]].sum())
    return sum(sessions[at] for at in places if topics[at].has_stats)
