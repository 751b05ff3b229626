"""How many partitions a state may have, so that a number from outside never decides how much memory is taken."""

from __future__ import annotations

from engine.cluster.limits import MAX_PARTITIONS, MAX_WITHOUT_STATISTICS
from engine.cluster.state import ClusterState
from engine.errors import Rejection


def without_statistics(state: ClusterState) -> int:
    """How many partitions have no statistics. O(topics)."""
    return int(state.topics.partitions.sum()) - len(state.loads)


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
