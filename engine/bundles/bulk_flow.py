"""First-fit packing of topics into pieces, for many bundles at once: the loop inside ``flow_or_qps_equally_divide``.

Each topic's sum depends on where the piece before it ended, so a bundle is walked topic by topic. Bundles are walked
side by side while there are many of them; the few long ones that are left are walked alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.bulk import TopicColumns
from engine.bundles.flow import FlowLimits

SIDE_BY_SIDE: Final = 64
"""Bundles below which one step for all of them costs more than a step for each."""

_Found = tuple[NDArray[np.int64], NDArray[np.int64]]


def pack_topics(topics: TopicColumns, limits: FlowLimits, *, side_by_side: int = SIDE_BY_SIDE) -> _Found:
    """The cuts of topics sorted by bundle and hash, and the bundle of each cut: two (c,) int64, in that order.

    O(n), and one numpy step for each topic of the bundle that is the ``side_by_side``-th longest.
    """
    starts = np.flatnonzero(np.append(True, np.diff(topics.bundle) != 0)[: len(topics)])
    lengths = np.diff(starts, append=len(topics))
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest_first], lengths[longest_first]
    cut = np.zeros(len(topics), dtype=bool)
    msgs, volume = topics.msgs_per_sec[starts], topics.bytes_per_sec[starts]
    step = 1
    # How many bundles have a topic number ``step``: they are a prefix.
    having = len(lengths) - np.cumsum(np.bincount(lengths)) if len(lengths) else np.zeros(1, dtype=np.int64)
    while step < len(having) and having[step] >= side_by_side:
        rows = starts[: having[step]] + step
        msgs, volume = msgs[: len(rows)], volume[: len(rows)]
        here_msgs, here_bytes = topics.msgs_per_sec[rows], topics.bytes_per_sec[rows]
        with np.errstate(over="ignore", invalid="ignore"):  # as silent about sums beyond all numbers as the scalar
            sum_msgs, sum_bytes = msgs + here_msgs, volume + here_bytes
        full = (sum_msgs > limits.max_msgs_per_sec) | (sum_bytes > limits.max_bytes_per_sec)
        cut[rows] = full
        msgs, volume = np.where(full, here_msgs, sum_msgs), np.where(full, here_bytes, sum_bytes)
        step += 1
    left = int(having[step]) if step < len(having) else 0
    for at in range(left):
        rest = slice(int(starts[at]) + step, int(starts[at] + lengths[at]))
        _walk(topics, rest, (float(msgs[at]), float(volume[at])), limits, cut)
    found = np.flatnonzero(cut)
    before, here = topics.hash[found - 1], topics.hash[found]
    return before + (here - before) // 2 + 1, topics.bundle[found]


def _walk(
    topics: TopicColumns, rest: slice, piece: tuple[float, float], limits: FlowLimits, cut: NDArray[np.bool_]
) -> None:
    """Go on with one bundle, with what its open piece holds; mark in ``cut`` where a new piece begins."""
    msgs, volume = piece
    most_msgs, most_bytes = limits.max_msgs_per_sec, limits.max_bytes_per_sec
    loads = zip(topics.msgs_per_sec[rest].tolist(), topics.bytes_per_sec[rest].tolist(), strict=True)
    for at, (here_msgs, here_bytes) in enumerate(loads, start=rest.start):
        if msgs + here_msgs > most_msgs or volume + here_bytes > most_bytes:
            cut[at] = True
            msgs, volume = here_msgs, here_bytes
        else:
            msgs += here_msgs
            volume += here_bytes
