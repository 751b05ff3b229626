"""The lower bound that Pulsar's own rules are held against: even numbers at the least number of moves."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

NOBODY: Final = -1

Places = NDArray[np.int64]


def fewest_moves(before: Places, members: int) -> Places:
    """Even numbers (they differ by one at most) at the least number of moves from where the topics are now.

    ``before``: the member each topic is at, ``NOBODY`` for one whose consumer is gone. Who holds most may keep one
    more; what is given up are the latest topics, and they go to whoever lacks some, in order. O(topics log topics).

    >>> fewest_moves(np.array([0, 0, 0, 0, -1, 1]), 3).tolist()
    [0, 0, 1, 2, 2, 1]
    """
    after = before.copy()
    if not members:
        return np.full(len(before), NOBODY, dtype=np.int64)
    have = np.bincount(before[before >= 0], minlength=members)
    quota = np.full(members, len(before) // members, dtype=np.int64)
    quota[np.argsort(-have, kind="stable")[: len(before) % members]] += 1
    placed = np.flatnonzero(before >= 0)
    order = placed[np.argsort(before[placed], kind="stable")]
    first = np.cumsum(have) - have
    rank = np.arange(len(order)) - first[before[order]]
    after[order[rank >= quota[before[order]]]] = NOBODY
    kept = np.bincount(after[after >= 0], minlength=members)
    after[after < 0] = np.repeat(np.arange(members), quota - kept)
    return after
