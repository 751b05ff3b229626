"""The cuts of Pulsar's four split algorithms for many bundles at once, or for one.

The answer can be null, an empty list, repeated, or the bundle's own edge. The algorithm by flow exists as Pulsar merged
it and as it was first proposed, and the two differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.algorithms import FlowLimits
from engine.bundles.columns import (
    BundleMap,
    Rows,
    TopicColumns,
    ascends,
    in_columns,
    running_sums,
    sum_by,
    sum_in_order,
)
from engine.bundles.loads import TopicLoad
from engine.config import SPLIT_ALGORITHMS

AT_ONCE: Final = 1_024
"""The smallest block of topics that is summed at once while searching for the end of a piece."""
SHORT: Final = 64
"""If pieces have fewer topics than this on average, it is faster to go topic by topic."""
SIDE_BY_SIDE: Final = 64
"""With fewer bundles, one numpy step for all of them costs more than a step per bundle."""


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
        with np.errstate(over="ignore", invalid="ignore"):  # Java does not warn about overflow either
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


def piece_ends(msgs_per_sec: NDArray[np.float64], bytes_per_sec: NDArray[np.float64], limits: FlowLimits) -> list[int]:
    """The index of the first topic of each piece except the first."""
    begin, count = 0, len(msgs_per_sec)
    if 0 < count <= AT_ONCE:
        return _step_by_step(0, msgs_per_sec, bytes_per_sec, limits)
    ends: list[int] = []
    while begin < count:
        end = _end_of_piece(begin, msgs_per_sec, bytes_per_sec, limits)
        if end < count:
            ends.append(end)
        begin = end
        if len(ends) == SHORT and end < SHORT * SHORT:
            ends += _step_by_step(end, msgs_per_sec, bytes_per_sec, limits)
            break
    return ends


def _end_of_piece(begin: int, msgs: NDArray[np.float64], size: NDArray[np.float64], limits: FlowLimits) -> int:
    """The first topic that does not fit into the piece that ``begin`` opens, which itself always fits."""
    at, step = begin, AT_ONCE
    msgs_so_far = size_so_far = 0.0
    while at < len(msgs):
        stop = min(at + step, len(msgs))
        msgs_sums = running_sums(np.concatenate(([msgs_so_far], msgs[at:stop])))[1:]
        size_sums = running_sums(np.concatenate(([size_so_far], size[at:stop])))[1:]
        # Compared as Java does it, so that a sum that is NaN fits.
        full = (msgs_sums > limits.max_msgs_per_sec) | (size_sums > limits.max_bytes_per_sec)
        if at == begin:
            full[0] = False
        if full.any():
            return at + int(full.argmax())
        msgs_so_far, size_so_far = float(msgs_sums[-1]), float(size_sums[-1])
        at, step = stop, step * 2
    return at


def _step_by_step(begin: int, msgs: NDArray[np.float64], size: NDArray[np.float64], limits: FlowLimits) -> list[int]:
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


class Answer(IntEnum):
    """The kind of an algorithm's answer for a bundle: a list of cuts (which may be empty), null, or a refusal."""

    CUTS = 0
    NULL = 1
    REFUSED = 2


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts of many bundles.

    ``positions``: (c,) int64, ascending inside a bundle; ``start``: (b + 1,) int64, those of bundle i are
    ``positions[start[i]:start[i + 1]]``; ``answer``: (b,) int8, values of ``Answer``.
    """

    positions: NDArray[np.int64]
    start: NDArray[np.int64]
    answer: NDArray[np.int8]

    def of(self, bundle: int) -> tuple[int, ...] | None:
        """The cuts of one bundle as the scalar algorithm gives them; None for null, empty for a refusal."""
        if self.answer[bundle] == Answer.NULL:
            return None
        return tuple(self.positions[self.start[bundle] : self.start[bundle + 1]].tolist())


def range_cuts(bundles: BundleMap) -> Cuts:
    """``range_equally_divide`` of every bundle: the middle, rounded down. O(b).

    >>> from engine.bundles.columns import bundle_map
    >>> hex(*range_cuts(bundle_map([(0, 0xFFFFFFFF)])).of(0))
    '0x7fffffff'
    """
    lower = bundles.lower
    return _at_most_one_cut(lower + (bundles.upper - lower) // 2, np.ones(len(bundles), dtype=bool))


def topic_count_cuts(topics: TopicColumns, bundles: int) -> Cuts:
    """``topic_count_equally_divide`` of ``bundles`` bundles: between their two middle hashes. O(n log n).

    >>> hashes = np.array([50, 10, 30])
    >>> columns = TopicColumns(hashes * 0, hashes, *np.zeros((2, 3)), hashes > 0)
    >>> topic_count_cuts(columns, 1).of(0)
    (20,)
    """
    placed = topics.bundle >= 0
    packed = np.sort((topics.bundle[placed] << 32) | topics.hash[placed])
    counts = np.bincount(packed >> 32, minlength=bundles)
    first = np.cumsum(counts) - counts
    enough = np.flatnonzero(counts > 1)
    half = counts[enough] // 2
    hashes = packed & 0xFFFFFFFF
    below = hashes[first[enough] + np.maximum(half - 1, 0)]
    above = hashes[first[enough] + half]
    middle = np.zeros(bundles, dtype=np.int64)
    middle[enough] = below + (above - below) // 2
    return _at_most_one_cut(middle, counts > 1)


def specified_cuts(
    bundles: BundleMap, topics: TopicColumns, positions: Sequence[Sequence[int]], *, force: bool = False
) -> Cuts:
    """``specified_positions_divide`` of every bundle at its own ``positions``: those strictly inside, ascending.

    Refused without positions. Null when none lies inside, or, unless forced, for fewer than two topics. O(p log p) for
    p positions in all.
    """
    assert len(positions) == len(bundles), "each bundle has its own list of positions"
    sizes = np.fromiter(map(len, positions), dtype=np.int64, count=len(positions))
    values = np.fromiter((position for row in positions for position in row), dtype=np.int64, count=int(sizes.sum()))
    owner = np.repeat(np.arange(len(bundles), dtype=np.int64), sizes)
    order = np.lexsort((values, owner))
    owner, values = owner[order], values[order]
    counts = np.bincount(topics.bundle[topics.bundle >= 0], minlength=len(bundles))
    kept = (bundles.lower[owner] < values) & (values < bundles.upper[owner])
    kept &= force | (counts[owner] > 1)
    cuts = np.bincount(owner[kept], minlength=len(bundles))
    answer = np.where(cuts > 0, Answer.CUTS, Answer.NULL)
    answer[sizes == 0] = Answer.REFUSED
    return Cuts(values[kept], _starts(cuts), answer.astype(np.int8))


def flow_cuts(topics: TopicColumns, bundles: int, limits: FlowLimits) -> Cuts:
    """``flow_or_qps_equally_divide`` of ``bundles`` bundles, with the limits of the broker. O(n log n).

    Sums are IEEE doubles added in the scalar order: totals in listing order, pieces by ascending hash.

    >>> rates = np.array([100.0, 200, 300, 400, 500, 2000])
    >>> hashes = np.array([10, 20, 80, 90, 100, 110])
    >>> columns = TopicColumns(hashes * 0, hashes, rates, rates * 0, rates > 0)
    >>> flow_cuts(columns, 1, FlowLimits(1750, 100, 0)).of(0)
    (106,)
    """
    counts = np.bincount(topics.bundle[topics.bundle >= 0], minlength=bundles)
    # Compared as Java does it, so that NaN rates count: only a topic without traffic is skipped.
    idle = (topics.msgs_per_sec <= 0) & (topics.bytes_per_sec <= 0)
    loaded = topics[(topics.bundle >= 0) & topics.has_stats & ~idle]
    total_msgs = sum_by(loaded.bundle, loaded.msgs_per_sec, bundles)
    total_bytes = sum_by(loaded.bundle, loaded.bytes_per_sec, bundles)
    # A stable sort: topics with one hash keep their order.
    loaded = loaded[np.argsort((loaded.bundle << 32) | loaded.hash, kind="stable")]
    new_hash = np.append(True, (np.diff(loaded.bundle) != 0) | (np.diff(loaded.hash) != 0))[: len(loaded)]
    distinct = np.bincount(loaded.bundle[new_hash], minlength=bundles)
    factor = limits.gate_factor
    below = (total_msgs < limits.max_msgs_per_sec * factor) & (total_bytes < limits.max_bytes_per_sec * factor)
    passed = (counts > 1) & (distinct >= 2) & ~below
    packed = loaded[passed[loaded.bundle]]
    cut_at, owner = pack_topics(_twins_share(packed), limits)
    answer = np.where(passed, Answer.CUTS, Answer.NULL).astype(np.int8)
    return Cuts(cut_at, _starts(np.bincount(owner, minlength=bundles)), answer)


def cuts_by_algorithm(bundles: BundleMap, topics: TopicColumns, limits: FlowLimits) -> dict[str, Cuts]:
    """Algorithm -> its cuts of all bundles. O(n log n).

    ``specified_positions_divide`` needs positions: as in a preview they are the cut by topic count where it is inside
    the bundle, else the middle. ``flow_or_qps_equally_divide`` is computed as if it were the broker's default, since
    otherwise it gets no statistics.
    """
    middle, counted = range_cuts(bundles), topic_count_cuts(topics, len(bundles))
    positions = []
    for place, (lower, upper) in enumerate(zip(bundles.lower.tolist(), bundles.upper.tolist(), strict=True)):
        cuts = counted.of(place)
        positions.append(cuts if cuts and lower < cuts[0] < upper else middle.of(place) or ())
    answers = (
        middle,
        counted,
        specified_cuts(bundles, topics, positions),
        flow_cuts(topics, len(bundles), limits),
    )
    return dict(zip(SPLIT_ALGORITHMS, answers, strict=True))


def _twins_share(topics: TopicColumns) -> TopicColumns:
    """Give all topics of one hash the numbers of the last of them."""
    if not len(topics):
        return topics
    last = np.append((np.diff(topics.bundle) != 0) | (np.diff(topics.hash) != 0), True)
    ends = np.flatnonzero(last)
    of_last = np.repeat(ends, np.diff(ends, prepend=-1))
    return TopicColumns(
        topics.bundle, topics.hash, topics.msgs_per_sec[of_last], topics.bytes_per_sec[of_last], topics.has_stats
    )


def _at_most_one_cut(positions: NDArray[np.int64], has_cut: NDArray[np.bool_]) -> Cuts:
    answer = np.where(has_cut, Answer.CUTS, Answer.NULL).astype(np.int8)
    return Cuts(positions[has_cut], _starts(has_cut.astype(np.int64)), answer)


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))


def topic_count_equally_divide(topics: Sequence[TopicLoad]) -> tuple[int, ...] | None:
    """Between the two middle hashes, rounded down (#6241). None for fewer than two topics. O(n).

    Odd numbers leave the smaller half on the left. When the two hashes are equal or neighbours the cut is the lower
    hash itself, so that its topic goes right as well: a half can be empty, or the cut can be the bundle's own edge.

    >>> topic_count_equally_divide([TopicLoad("a", 10), TopicLoad("b", 30), TopicLoad("c", 50)])
    (20,)
    >>> topic_count_equally_divide([TopicLoad("a", 10), TopicLoad("b", 11)])
    (10,)
    """
    if len(topics) <= 1:
        return None
    half = len(topics) // 2
    places = (max(half - 1, 0), half)
    parted = np.partition(in_columns(topics).hashes, places)
    below, above = int(parted[places[0]]), int(parted[half])
    return (below + (above - below) // 2,)


def flow_or_qps_equally_divide(topics: Sequence[TopicLoad], limits: FlowLimits) -> tuple[int, ...] | None:
    """Cuts that keep every piece within both limits, packing topics by ascending hash. O(n log n).

    As Pulsar merged it (PIP-169, #16557). Sums are plain IEEE doubles in the order of the list, as in Java.
    None: fewer than two topics, fewer than two different hashes with traffic, or both totals below
    limit × (1 + threshold).
    ``()``: the gate was passed by equality and no piece exceeds a limit. Several cuts are usual, and odd ones occur:
    topics of equal hash all count with the numbers of the last, and no cut separates them; a cut can be repeated, or be
    the upper end of the bundle.

    >>> hashes_and_rates = ((10, 100), (20, 200), (80, 300), (90, 400), (100, 500), (110, 2000))
    >>> topics = [TopicLoad(f"t{h}", h, rate) for h, rate in hashes_and_rates]
    >>> flow_or_qps_equally_divide(topics, FlowLimits(1750, 100 * 2**20, 0))
    (106,)
    """
    loads = in_columns(topics)
    msgs, size = loads.flow
    bundle = np.zeros(len(loads), dtype=np.int64)
    return flow_cuts(TopicColumns(bundle, loads.hashes, msgs, size, loads.has_stats), 1, limits).of(0)


def flow_or_qps_as_proposed(topics: Sequence[TopicLoad]) -> tuple[int, ...]:
    """The rule in the proposal's original text (#16782), which no release has: one cut where half of the traffic is
    passed. O(n log n).

    It has no limits and no guard for few topics, can cut left of everything or outside the bundle, and gives a cut one
    lower than the merged rule. The proposal's own example:

    >>> hashes_and_rates = ((10, 100), (20, 200), (80, 300), (90, 400), (100, 500), (110, 2000))
    >>> flow_or_qps_as_proposed([TopicLoad(f"t{h}", h, rate) for h, rate in hashes_and_rates])
    (105,)
    """
    loads = in_columns(topics)
    known = loads.with_stats
    msgs, size = (rates[known] for rates in loads.flow)
    order, last = along_the_axis(loads.hashes[known])
    sums = running_sums(msgs[last]), running_sums(size[last])
    at = first_above(sums, (sum_in_order(msgs) / 2, sum_in_order(size) / 2))
    if at is None:
        return ()
    hashes = loads.hashes[known][order]
    before, here = int(hashes[at - 1]) if at else 0, int(hashes[at])
    return (before + (here - before) // 2,)


def first_above(sums: tuple[NDArray[np.float64], NDArray[np.float64]], levels: tuple[float, float]) -> int | None:
    """The first index at which one of two running sums is above its level, None for none."""
    passed = (sums[0] > levels[0]) | (sums[1] > levels[1])
    return int(passed.argmax()) if passed.any() else None


def along_the_axis(hashes: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """The topics by ascending hash, and for each the topic whose numbers count: the last one of its hash."""
    order = np.arange(len(hashes)) if ascends(hashes) else np.argsort(hashes, kind="stable")
    ascending = hashes[order]
    ends = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)[: len(hashes)])
    return order, order[np.repeat(ends, np.diff(ends, prepend=-1))]
