"""The bundle tree: each namespace's first bundles, the splits since, and the contents of every range."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.bundles.columns import LoadColumns, equal_rows
from engine.cluster.bundles import in_listing_order, loads_of
from engine.cluster.state import BundleSplit, ClusterState, Namespace
from engine.cluster.tables.topics import NumberedNames, TopicTable
from engine.memo import Remembered
from engine.views.failover.model import BundleNode, NamespaceNode

_NUMBER_BITS: Final = 31


class HashedTopics(Struct, frozen=True, eq=False):
    """The partitions of one namespace ascending by CRC-32 of the name (parallel)."""

    names: NumberedNames
    hashes: NDArray[np.int64]

    def inside(self, lower: int, upper: int) -> tuple[int, int]:
        """First and one-past-last place of the partitions in ``[lower, upper)``, closed at 0xffffffff."""
        past = upper + 1 if upper == FULL_UPPER_BOUND else upper
        start, end = np.searchsorted(self.hashes, (lower, past), side="left").tolist()
        return start, end


EMPTY = HashedTopics(NumberedNames(TopicTable.of(()), np.zeros(0, dtype=np.int32)), np.zeros(0, dtype=np.int64))
_hashed: Remembered[Mapping[str, HashedTopics]] = Remembered()


class _Traffic(Struct, frozen=True, eq=False):
    """Running sums over ``topics``, so that any range costs two look-ups; ``lacking`` counts those without a rate."""

    topics: HashedTopics
    loads: LoadColumns
    msgs: NDArray[np.float64]
    size: NDArray[np.float64]
    lacking: NDArray[np.float64]

    def of(self, lower: int, upper: int) -> tuple[int, float | None, float | None]:
        start, end = self.topics.inside(lower, upper)
        if self.lacking[end] > self.lacking[start]:
            return end - start, None, None
        # Differences of running sums can fall slightly below zero where nothing flows.
        return (
            end - start,
            max(float(self.msgs[end] - self.msgs[start]), 0.0),
            max(float(self.size[end] - self.size[start]), 0.0),
        )


_sums: Remembered[Mapping[str, _Traffic]] = Remembered()


def namespace_nodes(before: ClusterState | None, now: ClusterState) -> tuple[NamespaceNode, ...]:
    """All namespaces by name, each with its tree; bundles that the last step made are fresh. O(t + b log t)."""
    traffics = _traffic_of(now)
    nothing = _Traffic(EMPTY, loads_of(now, EMPTY.names.numbers), np.zeros(1), np.zeros(1), np.zeros(1))
    nodes = []
    for name in sorted(now.namespaces):
        namespace = now.namespaces[name]
        earlier = before.namespaces.get(name) if before else None
        old_splits = len(namespace.splits) if before is None else len(earlier.splits) if earlier else 0
        traffic = traffics.get(name, nothing)
        roots = _roots(namespace, old_splits, traffic, is_new=before is not None and earlier is None)
        nodes.append(
            NamespaceNode(
                name=name,
                bundles=len(namespace.boundaries) - 1,
                topics=len(traffic.topics.names),
                msgs_per_sec=None if traffic.lacking[-1] else float(traffic.msgs[-1]),
                roots=roots,
            )
        )
    return tuple(nodes)


def hashed_topics(state: ClusterState) -> Mapping[str, HashedTopics]:
    """The partitions of each namespace by hash, those of one hash by name. O(n log n) once for the topics."""
    return _hashed.get((state.topics,), (), lambda: _hash_topics(state.topics))


def _hash_topics(topics: TopicTable) -> Mapping[str, HashedTopics]:
    # Number and hash in one word: a plain sort is faster than an argsort.
    packed = np.sort((topics.crc32 << _NUMBER_BITS) | np.arange(topics.partition_count))
    numbers = (packed & ((1 << _NUMBER_BITS) - 1)).astype(np.int32)
    hashes = packed >> _NUMBER_BITS
    for rows in equal_rows(hashes):
        numbers[rows] = sorted(numbers[rows].tolist(), key=topics.partition_name)
    return {
        namespace: HashedTopics(NumberedNames(topics, numbers[rows]), hashes[rows])
        for namespace, rows in topics.by_namespace(numbers).items()
    }


def loads_by_hash(state: ClusterState, namespace: str) -> LoadColumns:
    """The topics of a namespace ascending by hash, those of one hash as a broker lists them. O(n) once for a traffic.

    Sorting all of them as a broker lists them would take longer and change only the last digits of sums.
    """
    traffic = _traffic_of(state).get(namespace)
    return loads_of(state, EMPTY.names.numbers) if traffic is None else traffic.loads


def _traffic_of(state: ClusterState) -> Mapping[str, _Traffic]:
    return _sums.get((state.topics, state.loads), (), lambda: _traffic(state))


def _traffic(state: ClusterState) -> Mapping[str, _Traffic]:
    traffics = {}
    for namespace, topics in hashed_topics(state).items():
        numbers = topics.names.numbers.copy()
        for rows in equal_rows(topics.hashes):
            numbers[rows] = in_listing_order(state, numbers[rows])
        loads = loads_of(state, numbers)
        lacking = np.isnan(state.loads.rates.take(numbers, axis=1).sum(axis=0))
        traffics[namespace] = _Traffic(topics, loads, *map(_running, (*loads.flow, lacking)))
    return traffics


def _running(values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum before each value, and of all."""
    return np.concatenate(([0.0], np.cumsum(values)))


def _roots(namespace: Namespace, old_splits: int, traffic: _Traffic, *, is_new: bool) -> tuple[BundleNode, ...]:
    splits = {(split.lower, split.upper): (split, at >= old_splits) for at, split in enumerate(namespace.splits)}
    return tuple(
        _node(namespace.name, bounds, splits, traffic, depth=0, fresh=is_new)
        for bounds in pairwise(namespace.initial_boundaries)
    )


def _node(
    namespace: str,
    bounds: tuple[int, int],
    splits: Mapping[tuple[int, int], tuple[BundleSplit, bool]],
    traffic: _Traffic,
    *,
    depth: int,
    fresh: bool,
) -> BundleNode:
    topics, msgs, size = traffic.of(*bounds)
    split, new = splits.get(bounds, (None, False))
    children: tuple[BundleNode, ...] = ()
    if split is not None:
        children = tuple(
            _node(namespace, piece, splits, traffic, depth=depth + 1, fresh=new)
            for piece in pairwise((split.lower, *sorted(split.cuts), split.upper))
        )
    return BundleNode(
        namespace=namespace,
        range_text=str(BundleRange(*bounds)),
        lower=bounds[0],
        upper=bounds[1],
        depth=depth,
        topics=topics,
        msgs_per_sec=msgs,
        bytes_per_sec=size,
        algorithm=split.algorithm if split else "",
        children=children,
        fresh=fresh,
    )
