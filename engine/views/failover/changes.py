"""What one step changed in a slice: which partitions have another active consumer, and who gained or lost how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.cluster.differences import Difference, aligned, difference
from engine.cluster.facts import NEW_PARTITION
from engine.views.failover.slice import Integers, Slice


@dataclass(frozen=True, eq=False, slots=True)
class Changes:
    """``moved`` is parallel to the partitions now; ``gained`` and ``lost`` count partitions by consumer id.

    A partition has moved when it had an active consumer before and has another one now (``moves``). Gains and
    losses count more: partitions that came, went, were taken up or left alone. So before + gained - lost = now.
    """

    moved: NDArray[np.bool_]
    gained: Mapping[int, int]
    lost: Mapping[int, int]


def changes_between(before: Slice | None, now: Slice) -> Changes:
    """The changes of the last step; none without a step before. O(t) for t partitions."""
    count = len(now.topics)
    if before is None:
        return Changes(np.zeros(count, dtype=np.bool_), {}, {})
    ids_now, ids_before = now.active_ids(), before.active_ids()
    if ids_now is ids_before:
        return Changes(np.zeros(count, dtype=np.bool_), {}, {})
    if before.topics is now.topics:
        return _changes_in_bulk(difference(ids_before, ids_now))
    found = aligned(before.topics.names, now.topics.names)
    earlier = np.append(ids_before, NEW_PARTITION).astype(np.int64)[found.place]
    gone = ids_before[found.gone]
    different = np.flatnonzero(earlier != ids_now)
    old, new = earlier[different], ids_now[different]
    moved: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)
    moved[different] = (old >= 0) & (new >= 0)
    return Changes(moved, _counts(new), _counts(np.concatenate((old, gone)).astype(np.int64)))


def _changes_in_bulk(found: Difference) -> Changes:
    gained, lost = (dict(enumerate(each.tolist())) for each in (found.gained, found.lost))
    return Changes(found.moved, gained, lost)


def _counts(ids: Integers) -> dict[int, int]:
    values, counts = np.unique(ids[ids >= 0], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
