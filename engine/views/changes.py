"""What one step changed in a slice: which partitions have another active consumer, and who gained or lost how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.views.slice import Slice

NEW_PARTITION = -2


@dataclass(frozen=True, eq=False, slots=True)
class Changes:
    """``moved`` is parallel to the partitions now; ``gained`` and ``lost`` count partitions by consumer id.

    A partition has moved when it had an active consumer before and has another one now (``facts.moves``). Gains and
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
    if before.topics is now.topics:
        earlier = ids_before
        gone = ids_before[:0]
    else:
        position = before.topics.position
        at = np.fromiter((position.get(name, -1) for name in now.topics.names), np.int64, count)
        earlier = np.append(ids_before, NEW_PARTITION)[at]
        kept = now.topics.position
        is_gone = np.fromiter((name not in kept for name in before.topics.names), np.bool_, len(before.topics))
        gone = ids_before[is_gone]
    different = earlier != ids_now
    moved: NDArray[np.bool_] = different & (earlier >= 0) & (ids_now >= 0)
    return Changes(moved, _counts(ids_now[different]), _counts(np.append(earlier[different], gone)))


def _counts(ids: NDArray[np.int64]) -> dict[int, int]:
    values, counts = np.unique(ids[ids >= 0], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
