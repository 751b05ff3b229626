"""What a change moved: topics, their owners before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Moves:
    """The topics whose owner a change replaced, one array each of (m,).

    ``topic``: int64, positions in the assignment's topics, ascending; ``old_owner`` and ``new_owner``: int32, consumer
    ids, -1 for nobody, never equal.
    """

    topic: NDArray[np.int64]
    old_owner: NDArray[np.int32]
    new_owner: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.topic)


def no_moves() -> Moves:
    """The moves of a change that concerns nobody who can be active."""
    return Moves(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


def moves_between(before: NDArray[np.int32], after: NDArray[np.int32]) -> Moves:
    """All topics whose owner differs; both (n,) int32. O(n).

    >>> made = moves_between(np.array([1, 2, 3], np.int32), np.array([1, 3, 3], np.int32))
    >>> made.topic.tolist(), made.old_owner.tolist(), made.new_owner.tolist()
    ([1], [2], [3])
    """
    topic = np.flatnonzero(before != after)
    return Moves(topic, before[topic], after[topic])


def after_each_other(first: Moves, second: Moves) -> Moves:
    """Two changes as one: a topic that came back did not move. O(m log m).

    >>> there, back = (moves_between(*np.array(pair, np.int32)) for pair in (([1, 1], [2, 2]), ([2, 2], [1, 3])))
    >>> both = after_each_other(there, back)
    >>> both.topic.tolist(), both.old_owner.tolist(), both.new_owner.tolist()
    ([1], [1], [3])
    """
    topic = np.union1d(first.topic, second.topic)
    old_owner, new_owner = np.empty((2, len(topic)), dtype=np.int32)
    in_first, in_second = np.searchsorted(topic, first.topic), np.searchsorted(topic, second.topic)
    old_owner[in_second], new_owner[in_first] = second.old_owner, first.new_owner
    old_owner[in_first], new_owner[in_second] = first.old_owner, second.new_owner
    moved = old_owner != new_owner
    return Moves(topic[moved], old_owner[moved], new_owner[moved])
