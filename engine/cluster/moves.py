"""What changed hands in one subscription between two states, and the least that would have led to the same loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.cluster.differences import MarkedNames, aligned, counts_by_id, difference, sum_where
from engine.cluster.facts import NEW_PARTITION, active_consumers, active_ids, columns_of, dispatched_load
from engine.cluster.partitions import PartitionColumns, traffic
from engine.cluster.state import ClusterState, Subscription
from engine.failover.bulk_ring import NOBODY
from engine.failover.model import Consumer


@dataclass(frozen=True, slots=True)
class Moves:
    """What changed hands in one subscription between two states.

    ``moved``: partitions that had an active consumer before and have another one now, in the order of names after.
    Apart from these stand ``taken_up`` (nobody before, somebody now) and ``orphaned`` (somebody before, nobody now).
    ``least`` is the smallest number of moves that leads to the same loads: over the partitions with somebody before and
    after, the sum over consumers of max(0, after - before). ``partitions`` counts those that exist after.
    ``unacked_at_risk`` sums the messages that were sent to the old active consumer of a moved partition and not
    acknowledged (by the statistics before): the new one may get them again. ``gained`` and ``lost`` count moved
    partitions by consumer id.
    """

    moved: Sequence[str]
    least: int
    partitions: int
    unacked_at_risk: int
    taken_up: Sequence[str]
    orphaned: Sequence[str]
    gained: Mapping[int, int]
    lost: Mapping[int, int]


def moves(before: ClusterState, after: ClusterState, subscription_key: str) -> Moves:
    """Who lost what to whom; a subscription that one state does not have counts as one without topics. O(partitions).

    A consumer that left and came back is another consumer (its messages are sent again), also under its old name.

    Example: three partitions by modulo, ``b`` alone, then ``a`` connects and sorts first: indices 0 and 2 are its own.

    >>> from engine.cluster.state import Topic
    >>> def at(*consumers):
    ...     sub = Subscription("s", "s", "t/n", ("persistent://t/n/x",), consumers)
    ...     return ClusterState(topics={"persistent://t/n/x": Topic("persistent://t/n/x", 3)}, subscriptions=(sub,))
    >>> found = moves(at(Consumer(1, "b")), at(Consumer(1, "b"), Consumer(2, "a")), "s")
    >>> [name[-1] for name in found.moved], found.least, found.gained, found.lost
    (['0', '2'], 2, {2: 2}, {1: 2})
    """
    in_bulk = _moves_in_bulk(before, after, subscription_key)
    if in_bulk is not None:
        return in_bulk
    was = _active_by_key(before, subscription_key)
    now = _active_by_key(after, subscription_key)
    moved: list[str] = []
    taken_up: list[str] = []
    orphaned: list[str] = []
    balance: Counter[int] = Counter()
    gained: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    if was is not now:
        for name, new in now.items():
            old = was.get(name)
            if old is None and new is not None and name in was:
                taken_up.append(name)
            elif old is not None and new is None:
                orphaned.append(name)
            elif old is not None and new is not None and old.consumer_id != new.consumer_id:
                moved.append(name)
                gained[new.consumer_id] += 1
                lost[old.consumer_id] += 1
                # Partitions that stay add one before and one after, so the moved ones alone make the difference.
                balance[new.consumer_id] += 1
                balance[old.consumer_id] -= 1
    return Moves(
        moved=tuple(moved),
        least=sum(count for count in balance.values() if count > 0),
        partitions=len(now),
        unacked_at_risk=_unacked(before, subscription_key, moved),
        taken_up=tuple(taken_up),
        orphaned=tuple(orphaned),
        gained=dict(gained),
        lost=dict(lost),
    )


def _unacked(state: ClusterState, key: str, names: Sequence[str]) -> int:
    subscription = _by_key(state, key)
    if subscription is None:
        return 0
    return sum(dispatched_load(state, subscription, name).unacked_messages for name in names)


def _moves_in_bulk(before: ClusterState, after: ClusterState, key: str) -> Moves | None:
    """``moves`` of two large states; None where one of them is not, or lacks the subscription."""
    subscriptions = [_by_key(state, key) for state in (before, after)]
    if subscriptions[0] is None or subscriptions[1] is None:
        return None
    old, new = columns_of(before, subscriptions[0]), columns_of(after, subscriptions[1])
    if old is None or new is None:
        return None
    was, now = active_ids(before, subscriptions[0], old), active_ids(after, subscriptions[1], new)
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
    at_risk = traffic(old, before.loads, subscriptions[0].loads).unacked
    if place is not None:
        at_risk = np.append(at_risk, 0)[place]
    return Moves(
        moved=MarkedNames(new, found.moved, found.moved_count),
        least=int(balance[balance > 0].sum()),
        partitions=len(new),
        unacked_at_risk=sum_where(at_risk, found.moved, found.moved_count),
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


def _active_by_key(state: ClusterState, key: str) -> Mapping[str, Consumer | None]:
    subscription = _by_key(state, key)
    return {} if subscription is None else active_consumers(state, subscription)
