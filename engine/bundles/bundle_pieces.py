"""The pieces that ``flow_or_qps_equally_divide`` makes of one bundle with very many topics, piece by piece.

Sums are the same doubles as the scalar's: ``numpy.cumsum`` adds one by one, so many topics at a time that the end of a
piece is nearly always among them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.flow import FlowLimits

AT_ONCE: Final = 1_024
"""Topics added up at a time, at least, while the end of a piece is looked for."""
SHORT: Final = 64
"""Pieces of fewer topics on average are walked topic by topic."""


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
    ends: list[int] = []
    begin, count = 0, len(msgs_per_sec)
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
