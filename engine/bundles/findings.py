"""What a split cannot mend or brings along: the warnings of a plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.bundles.boundaries import FULL_UPPER_BOUND, NamespaceBundles, pulsar_lookup_fails
from engine.bundles.flow import FlowLimits
from engine.bundles.load_columns import LoadColumns
from engine.bundles.loads import TopicLoad, equal_hashes
from engine.bundles.plan import ChildShare, SplitWarning


def topic_findings(topics: Sequence[TopicLoad], limits: FlowLimits) -> list[SplitWarning]:
    """About the parent's topics: hashes shared by several, the hottest topic above a limit, the hash Pulsar loses.

    Shared hashes come in ascending order of the hash, each with its topics in list order. O(n log n).
    """
    found = [
        SplitWarning("equal-hashes", topics=names, positions=(position,)) for position, names in equal_hashes(topics)
    ]
    if isinstance(topics, LoadColumns):
        return [*found, *_of_columns(topics, limits)]
    too_hot = [
        topic for topic in topics if topic.has_stats and _exceeds(topic.msgs_per_sec, topic.bytes_per_sec, limits)
    ]
    if too_hot:
        hottest = max(too_hot, key=lambda topic: _times_limit(topic, limits))
        found.append(
            SplitWarning(
                "hot-topic",
                topics=(hottest.name,),
                msgs_per_sec=hottest.msgs_per_sec,
                bytes_per_sec=hottest.bytes_per_sec,
            )
        )
    lost = tuple(topic.name for topic in topics if pulsar_lookup_fails(topic.hash))
    return [*found, SplitWarning("lookup-fails", topics=lost)] if lost else found


def _of_columns(topics: LoadColumns, limits: FlowLimits) -> list[SplitWarning]:
    """The hottest topic and the hash Pulsar loses, of very many topics."""
    found: list[SplitWarning] = []
    msgs, size = topics.flow
    hot = np.flatnonzero(((msgs > limits.max_msgs_per_sec) | (size > limits.max_bytes_per_sec)) & topics.has_stats)
    if len(hot):
        times = np.maximum(msgs[hot] / max(limits.max_msgs_per_sec, 1), size[hot] / max(limits.max_bytes_per_sec, 1))
        hottest = topics[int(hot[times.argmax()])]
        found.append(
            SplitWarning(
                "hot-topic",
                topics=(hottest.name,),
                msgs_per_sec=hottest.msgs_per_sec,
                bytes_per_sec=hottest.bytes_per_sec,
            )
        )
    lost = np.flatnonzero(topics.hashes == FULL_UPPER_BOUND)
    return [*found, *([SplitWarning("lookup-fails", topics=tuple(topics.names.take(lost)))] if len(lost) else [])]


def child_findings(
    children: Sequence[ChildShare], after: NamespaceBundles, limits: FlowLimits, maximum_bundles: int
) -> list[SplitWarning]:
    """About the children: the empty ones, those still above a limit; and whether the namespace is full now."""
    found: list[SplitWarning] = []
    for child in children:
        if not child.topics:
            found.append(SplitWarning("empty-child", bundle=str(child.bundle)))
        elif _exceeds(child.msgs_per_sec, child.bytes_per_sec, limits):
            found.append(
                SplitWarning(
                    "child-over-limit",
                    bundle=str(child.bundle),
                    msgs_per_sec=child.msgs_per_sec,
                    bytes_per_sec=child.bytes_per_sec,
                )
            )
    if children and len(after) > maximum_bundles:
        found.append(SplitWarning("above-maximum-bundles"))
    return found


def _exceeds(msgs_per_sec: float, bytes_per_sec: float, limits: FlowLimits) -> bool:
    return msgs_per_sec > limits.max_msgs_per_sec or bytes_per_sec > limits.max_bytes_per_sec


def _times_limit(topic: TopicLoad, limits: FlowLimits) -> float:
    # A limit of 0 or less is exceeded by any traffic; 1 keeps the order of the topics without a division by zero.
    return max(
        topic.msgs_per_sec / max(limits.max_msgs_per_sec, 1), topic.bytes_per_sec / max(limits.max_bytes_per_sec, 1)
    )
