"""First fit of topics into pieces, in columns: the loop inside ``flow_or_qps_equally_divide``, cut for cut.

One bundle with very many topics is cut piece by piece: ``numpy.cumsum`` adds one by one, as the scalar does, so many
topics at a time that the end of a piece is nearly always among them. Many bundles are walked side by side, one topic of
each at a time; the few long ones that are left are cut one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.bulk import TopicColumns
from engine.bundles.flow import FlowLimits

AT_ONCE: Final = 1_024
"""Topics added up at a time, at least, while the end of a piece is looked for; so few are walked one by one."""
SHORT: Final = 64
"""Pieces of fewer topics on average are walked topic by topic."""
SIDE_BY_SIDE: Final = 64
"""Bundles below which one numpy step for all of them costs more than a step for each."""


def pack_topics(
    topics: TopicColumns, limits: FlowLimits, *, side_by_side: int = SIDE_BY_SIDE
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cuts of topics sorted by bundle and hash, and the bundle of each cut: two (c,) int64, in that order.

    O(n), and one numpy step for each topic of the bundle that is the ``side_by_side``-th longest.
    """
    starts = np.flatnonzero(np.append(True, np.diff(topics.bundle) != 0)[: len(topics)])
    lengths = np.diff(starts, append=len(topics))
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest_first], lengths[longest_first]
    cut = np.zeros(len(topics), dtype=bool)
    msgs, volume = topics.msgs_per_sec[starts], topics.bytes_per_sec[starts]
    opening = starts  # the first topic of each bundle's open piece
    step = 1
    # How many bundles have a topic number ``step``: they are a prefix.
    having = len(lengths) - np.cumsum(np.bincount(lengths)) if len(lengths) else np.zeros(1, dtype=np.int64)
    while step < len(having) and having[step] >= side_by_side:
        rows = starts[: having[step]] + step
        msgs, volume, opening = msgs[: len(rows)], volume[: len(rows)], opening[: len(rows)]
        here_msgs, here_bytes = topics.msgs_per_sec[rows], topics.bytes_per_sec[rows]
        with np.errstate(over="ignore", invalid="ignore"):  # as silent about sums beyond all numbers as the scalar
            sum_msgs, sum_bytes = msgs + here_msgs, volume + here_bytes
        full = (sum_msgs > limits.max_msgs_per_sec) | (sum_bytes > limits.max_bytes_per_sec)
        cut[rows] = full
        msgs, volume = np.where(full, here_msgs, sum_msgs), np.where(full, here_bytes, sum_bytes)
        opening = np.where(full, rows, opening)
        step += 1
    left = int(having[step]) if step < len(having) else 0
    for begin, end in zip(opening[:left].tolist(), (starts + lengths)[:left].tolist(), strict=True):
        ends = piece_ends(topics.msgs_per_sec[begin:end], topics.bytes_per_sec[begin:end], limits)
        cut[begin + np.array(ends, dtype=np.int64)] = True
    at = np.flatnonzero(cut)
    before, here = topics.hash[at - 1], topics.hash[at]
    return before + (here - before) // 2 + 1, topics.bundle[at]


def first_fit_cuts(
    hashes: NDArray[np.int64],
    msgs_per_sec: NDArray[np.float64],
    bytes_per_sec: NDArray[np.float64],
    limits: FlowLimits,
) -> tuple[int, ...]:
    """The cuts of topics that stand ascending by hash, twins with the numbers that count for them: (n,) each.

    O(n) additions, and some numpy steps a piece; O(n) Python steps where pieces are short.

    >>> from engine.bundles.flow import BYTES_PER_MBYTE
    >>> rates = np.array([100.0, 200, 300, 400, 500, 2000])
    >>> limits = FlowLimits(1750, 100 * BYTES_PER_MBYTE, 0)
    >>> first_fit_cuts(np.array([10, 20, 80, 90, 100, 110]), rates, np.zeros(6), limits)
    (106,)
    """
    at = np.array(piece_ends(msgs_per_sec, bytes_per_sec, limits), dtype=np.int64)
    before, here = hashes[at - 1], hashes[at]
    return tuple((before + (here - before) // 2 + 1).tolist())


def piece_ends(msgs_per_sec: NDArray[np.float64], bytes_per_sec: NDArray[np.float64], limits: FlowLimits) -> list[int]:
    """The first topic of each piece but the first one, as its place."""
    begin, count = 0, len(msgs_per_sec)
    if 0 < count <= AT_ONCE:
        return _walked(0, msgs_per_sec, bytes_per_sec, limits)
    ends: list[int] = []
    while begin < count:
        end = _end_of_piece(begin, msgs_per_sec, bytes_per_sec, limits)
        if end < count:
            ends.append(end)
        begin = end
        if len(ends) == SHORT and end < SHORT * SHORT:
            ends += _walked(end, msgs_per_sec, bytes_per_sec, limits)
            break
    return ends


def _end_of_piece(begin: int, msgs: NDArray[np.float64], size: NDArray[np.float64], limits: FlowLimits) -> int:
    """The first topic that does not fit into the piece that ``begin`` opens, which itself always fits."""
    at, step = begin, AT_ONCE
    msgs_so_far = size_so_far = 0.0
    while at < len(msgs):
        stop = min(at + step, len(msgs))
        msgs_sums = np.cumsum(np.concatenate(([msgs_so_far], msgs[at:stop])))[1:]
        size_sums = np.cumsum(np.concatenate(([size_so_far], size[at:stop])))[1:]
        # Written as the scalar asks, so that a sum that is no number fits.
        full = (msgs_sums > limits.max_msgs_per_sec) | (size_sums > limits.max_bytes_per_sec)
        if at == begin:
            full[0] = False
        if full.any():
            return at + int(full.argmax())
        msgs_so_far, size_so_far = float(msgs_sums[-1]), float(size_sums[-1])
        at, step = stop, step * 2
    return at


def _walked(begin: int, msgs: NDArray[np.float64], size: NDArray[np.float64], limits: FlowLimits) -> list[int]:
    """The ends of all further pieces, topic by topic."""
    most_msgs, most_bytes = limits.max_msgs_per_sec, limits.max_bytes_per_sec
    ends: list[int] = []
    piece_msgs, piece_bytes = float(msgs[begin]), float(size[begin])
    loads = zip(msgs[begin + 1 :].tolist(), size[begin + 1 :].tolist(), strict=True)
    for at, (here_msgs, here_bytes) in enumerate(loads, start=begin + 1):
        if piece_msgs + here_msgs > most_msgs or piece_bytes + here_bytes > most_bytes:
            ends.append(at)
            piece_msgs, piece_bytes = here_msgs, here_bytes
        else:
            piece_msgs += here_msgs
            piece_bytes += here_bytes
    return ends
