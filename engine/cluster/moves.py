"""What changed hands in one subscription between two states, and the least that would have led to the same loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.cluster.differences import MarkedNames, aligned, counts_by_id, difference, sum_where
from engine.cluster.facts import NEW_PARTITION, active_ids, columns_of
from engine.cluster.partitions import PartitionColumns, traffic
from engine.cluster.state import ClusterState, Subscription
from engine.failover.bulk_ring import NOBODY


@dataclass(frozen=True, slots=True)
class Moves:
    """What changed hands in one subscription between two states.

    ``moved``: partitions that had an active consumer before and have another one now, in the order of the topics after.
    Apart from these stand ``taken_up`` (nobody before, somebody now) and ``orphaned`` (somebody before, nobody now).
    ``least`` is the smallest number of moves that leads to the same loads: over the partitions with somebody before and
    after, the sum over consumers of max(0, after - before). ``partitions`` counts those that exist after.
    ``unacked_at_risk`` sums the messages that were sent to the old active consumer of a moved partition and not
    acknowledged (by the statistics before): the new one may get them again. ``msgs_per_sec`` and ``bytes_per_sec`` went
    out from the moved partitions, by the same statistics. ``gained`` and ``lost`` count moved partitions by consumer
    id.
    """

    moved: Sequence[str]
    least: int
    partitions: int
    unacked_at_risk: int
    msgs_per_sec: float
    bytes_per_sec: float
    taken_up: Sequence[str]
    orphaned: Sequence[str]
    gained: Mapping[int, int]
    lost: Mapping[int, int]


def moves(before: ClusterState, after: ClusterState, subscription_key: str) -> Moves:
    """Who lost what to whom; a subscription that one state does not have counts as one without topics. O(partitions).

    A consumer that left and came back is another consumer (its messages are sent again), also under its old name.

    Example: three partitions by modulo, ``b`` alone, then ``a`` connects and sorts first: indices 0 and 2 are its own.

    >>> from engine.cluster.tables.topics import Topic
    >>> from engine.failover.model import Consumer
    >>> def at(*consumers):
    ...     sub = Subscription("s", "s", "t/n", ("persistent://t/n/x",), consumers)
    ...     return ClusterState(topics={"persistent://t/n/x": Topic("persistent://t/n/x", 3)}, subscriptions=(sub,))
    >>> found = moves(at(Consumer(1, "b")), at(Consumer(1, "b"), Consumer(2, "a")), "s")
    >>> [name[-1] for name in found.moved], found.least, found.gained, found.lost
    (['0', '2'], 2, {2: 2}, {1: 2})
    """
    mine, theirs = _by_key(before, subscription_key), _by_key(after, subscription_key)
    if mine is None or theirs is None:
        partitions = 0 if theirs is None else len(columns_of(after, theirs))
        return Moves((), 0, partitions, 0, 0.0, 0.0, (), (), {}, {})
    old, new = columns_of(before, mine), columns_of(after, theirs)
    was, now = active_ids(before, mine), active_ids(after, theirs)
    place = None if old is new else aligned(old.names, new.names).place
    if place is not None:
        was = np.append(was, np.int32(NEW_PARTITION))[place]
    found = difference(was, now)
    # New partitions stand with -2 before: somebody has them, but nobody took them up.
    if found.moved_count == found.count:
        gained, lost = found.gained, found.lost
        taken_up: Sequence[str] = ()
        orphaned: Sequence[str] = ()
    else:
        gained, lost = counts_by_id(now[found.moved]), counts_by_id(was[found.moved])
        taken_up = _marked(new, found.different & (was == NOBODY))
        orphaned = _marked(new, found.different & (now == NOBODY) & (was >= 0))
    size = max(len(gained), len(lost))
    balance = np.pad(gained, (0, size - len(gained))) - np.pad(lost, (0, size - len(lost)))
    flow = traffic(old, before.loads, mine.loads)
    unacked, msgs_per_sec, bytes_per_sec = flow.unacked, flow.msgs_per_sec, flow.bytes_per_sec
    if place is not None:
        unacked = np.append(unacked, 0)[place]
        msgs_per_sec, bytes_per_sec = (np.append(each, 0.0)[place] for each in (msgs_per_sec, bytes_per_sec))
    return Moves(
        moved=MarkedNames(new, found.moved, found.moved_count),
        least=int(balance[balance > 0].sum()),
        partitions=len(new),
        unacked_at_risk=int(sum_where(unacked, found.moved, found.moved_count)),
        msgs_per_sec=sum_where(msgs_per_sec, found.moved, found.moved_count),
        bytes_per_sec=sum_where(bytes_per_sec, found.moved, found.moved_count),
        taken_up=taken_up,
        orphaned=orphaned,
        gained=_counted(gained),
        lost=_counted(lost),
    )


def _marked(columns: PartitionColumns, mask: NDArray[np.bool_]) -> Sequence[str]:
    return MarkedNames(columns, mask, int(np.count_nonzero(mask)))


def _counted(counts: NDArray[np.int64]) -> dict[int, int]:
    present = np.flatnonzero(counts)
    return dict(zip(present.tolist(), counts[present].tolist(), strict=True))


def _by_key(state: ClusterState, key: str) -> Subscription | None:
    return next((each for each in state.subscriptions if each.key == key), None)
