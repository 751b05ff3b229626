"""The partitions whose active consumer changed between two states, and the fewest moves to the same loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, overload

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.cluster.owners import NEW_PARTITION, active_ids, columns_of, runs_of
from engine.cluster.partitions import Ids, PartitionColumns, PartitionNames, traffic
from engine.cluster.state import ClusterState, Subscription
from engine.cluster.tables.topics import NumberedNames, numbers_in
from engine.failover.bulk_ring import NOBODY
from engine.memo import Remembered


class Alignment(Struct, frozen=True, eq=False):
    """The partitions of one state in another: ``place``: (n,) int64, the earlier place of each, -1 for none; ``gone``:
    earlier places of those that are gone.
    """

    place: NDArray[np.int64]
    gone: NDArray[np.int64]


_aligned: Remembered[Alignment] = Remembered()


def aligned(before: PartitionNames, now: PartitionNames) -> Alignment:
    """The earlier place of each name. O(n), once per pair."""

    def compute() -> Alignment:
        if before.topics.root is now.topics.root:
            places_of = np.full(before.topics.partition_count + 1, -1, dtype=np.int64)
            places_of[before.numbers] = np.arange(len(before))
            place = places_of[numbers_in(now.topics, before.topics)[now.numbers]]
        else:
            places = {name: at for at, name in enumerate(before)}
            place = np.fromiter((places.get(name, -1) for name in now), dtype=np.int64, count=len(now))
        kept = np.zeros(len(before), dtype=bool)
        kept[place[place >= 0]] = True
        return Alignment(place, np.flatnonzero(~kept))

    return _aligned.get((before, now), (), compute)


class Difference(Struct, frozen=True, eq=False):
    """Where two assignments of the same partitions differ.

    ``different``: (n,) bool, read-only; ``moved``: those that had somebody before and have another one now, the same
    array where all partitions have a consumer. ``count`` and ``moved_count`` say how many. ``gained`` and ``lost``
    count the different ones by consumer id: int64, as long as the highest id requires.
    """

    different: NDArray[np.bool_]
    count: int
    moved: NDArray[np.bool_]
    moved_count: int
    gained: NDArray[np.int64]
    lost: NDArray[np.int64]


_differences: Remembered[Difference] = Remembered()
_counts: Remembered[NDArray[np.int64]] = Remembered()
_totals: Remembered[float] = Remembered()
FEW_RUNS: Final = 8
"""With at least so many partitions per run on average, whole runs are counted, which is faster."""


def difference(before: Ids, now: Ids) -> Difference:
    """Compare two arrays of ``owner_ids``. O(n), once per pair."""

    def compute() -> Difference:
        different = before != now if before is not now else np.zeros(len(now), dtype=np.bool_)
        count = int(np.count_nonzero(different))
        moved, moved_count = different, count
        if _has_nobody(before) or _has_nobody(now):
            moved = different & (before >= 0) & (now >= 0)
            moved_count = int(np.count_nonzero(moved))
        for array in (different, moved):
            array.setflags(write=False)
        gained, lost = (_counted_where(ids, different, count) for ids in (now, before))
        return Difference(different, count, moved, moved_count, gained, lost)

    return _differences.get((before, now), (), compute)


def _has_nobody(ids: Ids) -> bool:
    return bool(len(ids)) and int(ids.min()) < 0


def _counted_where(ids: Ids, mask: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
    """``counts_by_id`` of those in a mask: of the fewer ones, inside or outside."""
    if 2 * count < len(ids):
        return counts_by_id(ids[mask])
    every = _counts.get((ids,), (), lambda: counts_by_id(ids))
    if count == len(ids):
        return every
    outside = counts_by_id(ids[~mask])
    return every - np.pad(outside, (0, len(every) - len(outside)))


def counts_by_id(ids: Ids) -> NDArray[np.int64]:
    """Count each id; nobody (-1) does not count. O(n).

    >>> counts_by_id(np.array([2, -1, 0, 2], np.int32)).tolist()
    [1, 0, 2]
    """
    if len(ids) and np.count_nonzero(ids[1:] != ids[:-1]) * FEW_RUNS < len(ids):
        runs = runs_of(ids)
        some = runs.owner >= 0
        return np.bincount(runs.owner[some], weights=runs.length[some]).astype(np.int64)
    return np.bincount(ids[ids >= 0] if _has_nobody(ids) else ids).astype(np.int64, copy=False)


def sum_where(values: NDArray[np.int64] | NDArray[np.float64], mask: NDArray[np.bool_], count: int) -> float:
    """The sum of the ``count`` values in a mask: of the fewer ones, inside or outside. O(n)."""
    if 2 * count <= len(values):
        return _sum(values[mask]) if count else 0
    total = _totals.get((values,), (), lambda: _sum(values))
    return total if count == len(values) else total - _sum(values[~mask])


def _sum(values: NDArray[np.int64] | NDArray[np.float64]) -> float:
    """The sum; an int for whole numbers."""
    total: float = values.sum().item()
    return total


class MarkedNames(Sequence[str]):
    """The names of the partitions in a mask, topic by topic; the count is known, the names are computed on demand."""

    __slots__ = ("_columns", "_count", "_mask", "_numbered")

    def __init__(self, columns: PartitionColumns, mask: NDArray[np.bool_], count: int) -> None:
        self._columns, self._mask, self._count = columns, mask, count
        self._numbered: NumberedNames | None = None

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        at = self._columns.names.place(name) if isinstance(name, str) else -1
        return at >= 0 and bool(self._mask[at])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        return self._names()[at]

    def _names(self) -> NumberedNames:
        if self._numbered is None:
            self._numbered = NumberedNames(self._columns.topics, np.sort(self._columns.numbers[self._mask]))
        return self._numbered


class Moves(Struct, frozen=True):
    """The changes of active consumers in one subscription between two states.

    ``moved``: partitions that had an active consumer before and have another one now, in the order of the topics after.
    Counted separately: ``taken_up`` (nobody before, somebody now) and ``orphaned`` (somebody before, nobody now).
    ``least`` is the smallest number of moves that leads to the same loads: over the partitions with somebody before and
    after, the sum over consumers of max(0, after - before). ``partitions`` counts those that exist after.
    ``unacked_at_risk`` sums the messages that were sent to the old active consumer of a moved partition and not
    acknowledged (by the statistics before): the new one may get them again. ``msgs_per_sec`` and ``bytes_per_sec`` went
    out from the moved partitions, by the same statistics; these three are None where statistics lack one of them.
    ``gained`` and ``lost`` count moved partitions by consumer id.
    """

    moved: Sequence[str]
    least: int
    partitions: int
    unacked_at_risk: int | None
    msgs_per_sec: float | None
    bytes_per_sec: float | None
    taken_up: Sequence[str]
    orphaned: Sequence[str]
    gained: Mapping[int, int]
    lost: Mapping[int, int]


def moves(before: ClusterState, after: ClusterState, subscription_key: str) -> Moves:
    """The moves between two states; a subscription that one of them lacks counts as one without topics. O(partitions).

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
    changed = difference(was, now)
    # New partitions have -2 before: a consumer has them now, but they do not count as taken up.
    if changed.moved_count == changed.count:
        gained, lost = changed.gained, changed.lost
        taken_up: Sequence[str] = ()
        orphaned: Sequence[str] = ()
    else:
        gained, lost = counts_by_id(now[changed.moved]), counts_by_id(was[changed.moved])
        taken_up = _marked(new, changed.different & (was == NOBODY))
        orphaned = _marked(new, changed.different & (now == NOBODY) & (was >= 0))
    size = max(len(gained), len(lost))
    balance = np.pad(gained, (0, size - len(gained))) - np.pad(lost, (0, size - len(lost)))
    flow = traffic(old, before.loads, mine.loads)

    def of_moved(column: NDArray[Any], unknown: NDArray[np.bool_] | None) -> float | None:
        if place is not None:
            column = np.append(column, column.dtype.type(0))[place]
            unknown = None if unknown is None else np.append(unknown, False)[place]
        if unknown is not None and bool((unknown & changed.moved).any()):
            return None
        return sum_where(column, changed.moved, changed.moved_count)

    at_risk = of_moved(flow.unacked, flow.unacked_unknown)
    return Moves(
        moved=MarkedNames(new, changed.moved, changed.moved_count),
        least=int(balance[balance > 0].sum()),
        partitions=len(new),
        unacked_at_risk=None if at_risk is None else int(at_risk),
        msgs_per_sec=of_moved(flow.msgs_per_sec, flow.unknown),
        bytes_per_sec=of_moved(flow.bytes_per_sec, flow.unknown),
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
    return next((subscription for subscription in state.subscriptions if subscription.key == key), None)
