"""Where each of Pulsar's four split algorithms would cut each of many bundles, or one bundle with very many topics.

Equal to ``engine.bundles.algorithms`` and ``engine.bundles.flow`` cut for cut, also where the answer is null, an empty
list, doubled, or the bundle's own edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.bundles.bulk import BundleMap, TopicColumns, sum_by
from engine.bundles.bulk_flow import pack_topics
from engine.bundles.flow import FlowLimits
from engine.bundles.load_columns import LoadColumns, Rows, ascends, sum_in_order


class Answer(IntEnum):
    """What an algorithm gave for a bundle: a list of cuts (it can be empty), null, or a refusal."""

    CUTS = 0
    NULL = 1
    REFUSED = 2


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts of many bundles.

    ``positions``: (c,) int64, ascending inside a bundle; ``start``: (b + 1,) int64, those of bundle i are
    ``positions[start[i]:start[i + 1]]``; ``answer``: (b,) int8, an ``Answer`` each.
    """

    positions: NDArray[np.int64]
    start: NDArray[np.int64]
    answer: NDArray[np.int8]

    def of(self, bundle: int) -> tuple[int, ...] | None:
        """The cuts of one bundle as the scalar algorithm gives them; None for null. A refused one has none."""
        if self.answer[bundle] == Answer.NULL:
            return None
        return tuple(self.positions[self.start[bundle] : self.start[bundle + 1]].tolist())


def range_cuts(bundles: BundleMap) -> Cuts:
    """``range_equally_divide`` of every bundle: the middle, rounded down. O(b).

    >>> from engine.bundles.bulk import bundle_map
    >>> hex(*range_cuts(bundle_map([(0, 0xFFFFFFFF)])).of(0))
    '0x7fffffff'
    """
    lower = bundles.lower
    return _at_most_one_cut(lower + (bundles.upper - lower) // 2, np.ones(len(bundles), dtype=bool))


def topic_count_cuts(topics: TopicColumns, bundles: int) -> Cuts:
    """``topic_count_equally_divide`` of each of so many bundles: between its two middle hashes. O(n log n).

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
    """``flow_or_qps_equally_divide`` of each of so many bundles, with the limits of the broker. O(n log n).

    Sums are IEEE doubles added in the scalar order: totals in listing order, pieces by ascending hash.

    >>> rates = np.array([100.0, 200, 300, 400, 500, 2000])
    >>> hashes = np.array([10, 20, 80, 90, 100, 110])
    >>> columns = TopicColumns(hashes * 0, hashes, rates, rates * 0, rates > 0)
    >>> flow_cuts(columns, 1, FlowLimits(1750, 100, 0)).of(0)
    (106,)
    """
    counts = np.bincount(topics.bundle[topics.bundle >= 0], minlength=bundles)
    # As the scalar writes it, so that NaN rates count: only a topic without any traffic is skipped.
    idle = (topics.msgs_per_sec <= 0) & (topics.bytes_per_sec <= 0)
    loaded = topics[(topics.bundle >= 0) & topics.has_stats & ~idle]
    total_msgs = sum_by(loaded.bundle, loaded.msgs_per_sec, bundles)
    total_bytes = sum_by(loaded.bundle, loaded.bytes_per_sec, bundles)
    # A stable sort: of topics with one hash the later one stays the later.
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


def _twins_share(topics: TopicColumns) -> TopicColumns:
    """The same topics, in which those of one hash all have the numbers of the last of them."""
    if not len(topics):
        return topics
    last = np.append((np.diff(topics.bundle) != 0) | (np.diff(topics.hash) != 0), True)
    ends = np.flatnonzero(last)
    of_last = ends[np.searchsorted(ends, np.arange(len(topics)))]
    return TopicColumns(
        topics.bundle, topics.hash, topics.msgs_per_sec[of_last], topics.bytes_per_sec[of_last], topics.has_stats
    )


def _at_most_one_cut(positions: NDArray[np.int64], has_cut: NDArray[np.bool_]) -> Cuts:
    answer = np.where(has_cut, Answer.CUTS, Answer.NULL).astype(np.int8)
    return Cuts(positions[has_cut], _starts(has_cut.astype(np.int64)), answer)


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))


def middle_cut_of_one(loads: LoadColumns) -> tuple[int, ...] | None:
    """``topic_count_equally_divide`` of one bundle. O(n).

    >>> from engine.bundles.load_columns import PickedNames
    >>> hashes, names = np.array([50, 10, 30]), PickedNames("abc", np.arange(3))
    >>> middle_cut_of_one(LoadColumns(names, hashes, np.zeros((4, 3)), np.ones(3, dtype=bool)))
    (20,)
    """
    if len(loads) <= 1:
        return None
    half = len(loads) // 2
    places = (max(half - 1, 0), half)
    parted = np.partition(loads.hashes, places)
    below, above = int(parted[places[0]]), int(parted[half])
    return (below + (above - below) // 2,)


def flow_cuts_of_one(loads: LoadColumns, limits: FlowLimits) -> tuple[int, ...] | None:
    """``flow_or_qps_equally_divide`` of one bundle. O(n log n); totals are added in listing order."""
    msgs, size = loads.flow
    bundle = np.zeros(len(loads), dtype=np.int64)
    return flow_cuts(TopicColumns(bundle, loads.hashes, msgs, size, loads.has_stats), 1, limits).of(0)


def half_cut_of_one(loads: LoadColumns) -> tuple[int, ...]:
    """``flow_or_qps_as_proposed`` of one bundle. O(n log n); totals are added in listing order.

    >>> from engine.bundles.load_columns import PickedNames
    >>> hashes, msgs = np.array([10, 20, 80, 90, 100, 110]), np.array([100.0, 200, 300, 400, 500, 2000])
    >>> rates = np.vstack((msgs, np.zeros((3, 6))))
    >>> half_cut_of_one(LoadColumns(PickedNames("abcdef", np.arange(6)), hashes, rates, np.ones(6, dtype=bool)))
    (105,)
    """
    known = np.flatnonzero(loads.has_stats)
    msgs, size = (each[known] for each in loads.flow)
    order, last = along_the_axis(loads.hashes[known])
    sums = np.cumsum(msgs[last]), np.cumsum(size[last])
    at = first_above(sums, (sum_in_order(msgs) / 2, sum_in_order(size) / 2))
    if at is None:
        return ()
    hashes = loads.hashes[known][order]
    before, here = int(hashes[at - 1]) if at else 0, int(hashes[at])
    return (before + (here - before) // 2,)


def first_above(sums: tuple[NDArray[np.float64], NDArray[np.float64]], levels: tuple[float, float]) -> int | None:
    """The first place where one of two running sums is above its level, None for none."""
    passed = (sums[0] > levels[0]) | (sums[1] > levels[1])
    return int(passed.argmax()) if passed.any() else None


def along_the_axis(hashes: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """The places by ascending hash, and whose numbers count there: of topics of one hash the last one's for each."""
    order = np.arange(len(hashes)) if ascends(hashes) else np.argsort(hashes, kind="stable")
    ascending = hashes[order]
    ends = np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)[: len(hashes)])
    return order, order[np.repeat(ends, np.diff(ends, prepend=-1))]
