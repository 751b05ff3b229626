"""The bundle tree: each namespace's first bundles, the splits since, and what lies in every range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.cluster.facts import NO_STATISTICS
from engine.cluster.partitions import large_loads, large_topics
from engine.cluster.remember import Remembered
from engine.cluster.state import BundleSplit, ClusterState, Load, Namespace, Topic
from engine.cluster.topic_table import NumberedNames, TopicTable
from engine.hashing import crc32_hash
from engine.names import TopicName, parse_topic_name
from engine.views.model import BundleNode, NamespaceNode

_NUMBER_BITS: Final = 31


@dataclass(frozen=True, eq=False, slots=True)
class HashedTopics:
    """The partitions of one namespace ascending by CRC-32 of the name (parallel)."""

    names: Sequence[str]
    hashes: NDArray[np.int64]

    def inside(self, lower: int, upper: int) -> tuple[int, int]:
        """First and one-past-last place of the partitions in ``[lower, upper)``, closed at 0xffffffff."""
        past = upper + 1 if upper == FULL_UPPER_BOUND else upper
        start, end = np.searchsorted(self.hashes, (lower, past), side="left").tolist()
        return start, end


EMPTY = HashedTopics((), np.zeros(0, dtype=np.int64))
_hashed: Remembered[Mapping[str, HashedTopics]] = Remembered()


@dataclass(frozen=True, eq=False, slots=True)
class _Traffic:
    """Running sums over ``topics``, so that any range costs two look-ups; in a large state also what is summed up."""

    topics: HashedTopics
    msgs: NDArray[np.float64]
    size: NDArray[np.float64]
    each: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def of(self, lower: int, upper: int) -> tuple[int, float, float]:
        start, end = self.topics.inside(lower, upper)
        # Differences of running sums can fall a hair below zero where nothing flows.
        return (
            end - start,
            max(float(self.msgs[end] - self.msgs[start]), 0.0),
            max(float(self.size[end] - self.size[start]), 0.0),
        )


_sums: Remembered[_Traffic] = Remembered()


def namespace_nodes(before: ClusterState | None, now: ClusterState) -> tuple[NamespaceNode, ...]:
    """All namespaces by name, each with its tree; bundles that the last step made are fresh. O(t + b log t)."""
    hashed = hashed_topics(now)
    nodes = []
    for name in sorted(now.namespaces):
        namespace = now.namespaces[name]
        earlier = before.namespaces.get(name) if before else None
        old_splits = len(namespace.splits) if before is None else len(earlier.splits) if earlier else 0
        topics = hashed.get(name, EMPTY)
        traffic = _traffic_of(topics, now.loads)
        roots = _roots(namespace, old_splits, traffic, is_new=before is not None and earlier is None)
        nodes.append(
            NamespaceNode(
                name=name,
                bundles=len(namespace.boundaries) - 1,
                topics=len(traffic.topics.names),
                msgs_per_sec=float(traffic.msgs[-1]),
                roots=roots,
            )
        )
    return tuple(nodes)


def hashed_topics(state: ClusterState) -> Mapping[str, HashedTopics]:
    """The partitions of each namespace by hash; remembered while the topics are the same."""
    large = large_topics(state)
    if large is not None:
        return _hashed.get((large,), (), lambda: _hash_large(large))
    return _hashed.get((state.topics,), (), lambda: _hash_topics(state.topics.values()))


def flow_of(topics: HashedTopics, loads: Mapping[str, Load]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Messages and bytes a second beside a large state's ``topics``, in plus out: (n,) each. O(n) once."""
    return _traffic_of(topics, loads).each


def _traffic_of(topics: HashedTopics, loads: Mapping[str, Load]) -> _Traffic:
    return _sums.get((topics, loads), (), partial(_traffic, topics, loads))


def _hash_large(topics: TopicTable) -> Mapping[str, HashedTopics]:
    counts = np.maximum(topics.partitions, 1)
    result = {}
    for number, namespace in enumerate(topics.namespaces):
        inside = np.repeat(topics.namespace_no == number, counts)
        numbers = np.flatnonzero(inside)
        if not namespace or not len(numbers):
            continue
        # Number and hash in one word: a plain sort keeps those of one hash in their order.
        packed = np.sort((topics.crc32[numbers] << _NUMBER_BITS) | numbers)
        rows = (packed & ((1 << _NUMBER_BITS) - 1)).astype(np.int32)
        result[namespace] = HashedTopics(NumberedNames(topics, rows), packed >> _NUMBER_BITS)
    return result


def _hash_topics(topics: Iterable[Topic]) -> Mapping[str, HashedTopics]:
    found: dict[str, list[tuple[int, str]]] = {}
    for topic in topics:
        parsed = parse_topic_name(topic.name)
        if isinstance(parsed, TopicName):
            placed = found.setdefault(parsed.namespace, [])
            placed.extend((crc32_hash(name), name) for name in topic.partition_names())
    result = {}
    for namespace, placed in found.items():
        placed.sort()
        hashes = np.fromiter((at for at, _ in placed), dtype=np.int64, count=len(placed))
        result[namespace] = HashedTopics(tuple(name for _, name in placed), hashes)
    return result


def _traffic(topics: HashedTopics, loads: Mapping[str, Load]) -> _Traffic:
    if isinstance(topics.names, NumberedNames):
        columns = large_loads(topics.names.topics, loads)
        rates = columns.rates[:, topics.names.numbers]
        msgs, size = rates[0] + rates[1], rates[2] + rates[3]
        return _Traffic(topics, _running(msgs), _running(size), (msgs, size))
    found = [loads.get(name, NO_STATISTICS) for name in topics.names]
    msgs = [load.msg_rate_in + load.msg_rate_out for load in found]
    size = [load.throughput_in_bytes_per_sec + load.throughput_out_bytes_per_sec for load in found]
    return _Traffic(topics, _running(np.array(msgs, dtype=np.float64)), _running(np.array(size, dtype=np.float64)))


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
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
