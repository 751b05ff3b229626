"""How many partitions a state may have, so that a number from outside never decides how much memory is taken."""

from __future__ import annotations

from collections.abc import Mapping

from engine.cluster.limits import MAX_PARTITIONS, MAX_WITHOUT_STATISTICS
from engine.cluster.state import ClusterState
from engine.errors import Rejection


def without_statistics(state: ClusterState) -> int:
    """How many partitions have no statistics. O(topics)."""
    return int(state.topics.partitions.sum()) - len(state.loads)


def count_faults(partitions: Mapping[str, int], reported: int) -> list[str]:
    """Why topics with so many partitions, ``reported`` of them with statistics, are not modelled. O(topics)."""
    found = [
        f"topic {name!r} has {count} partitions: 0 to {MAX_PARTITIONS} are modelled"
        for name, count in partitions.items()
        if not 0 <= count <= MAX_PARTITIONS
    ]
    bare = sum(max(count, 1) for count in partitions.values()) - reported
    if not found and bare > MAX_WITHOUT_STATISTICS + len(partitions):
        found.append(f"{bare} partitions have no statistics: up to {MAX_WITHOUT_STATISTICS} are modelled")
    return found


def refuse_partitions(state: ClusterState, more: int, partitions: int) -> Rejection | None:
    """Why a topic cannot have ``partitions``, ``more`` than now. Pulsar's own limits are wider."""
    if partitions > MAX_PARTITIONS:
        return _refuse(f"{partitions} partitions: up to {MAX_PARTITIONS} of one topic are modelled here")
    bare = without_statistics(state) + more
    if more > 0 and bare > MAX_WITHOUT_STATISTICS:
        return _refuse(
            f"{bare} partitions would have no statistics: up to {MAX_WITHOUT_STATISTICS} in all are modelled here"
        )
    return None


def _refuse(message: str) -> Rejection:
    return Rejection("TooManyPartitions", message, "partitions", 406)
