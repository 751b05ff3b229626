"""The split algorithms that look at topics, for very many topics in columns: the same cuts as topic by topic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.bundles.bundle_pieces import first_fit_cuts
from engine.bundles.flow import FlowLimits
from engine.bundles.load_columns import LoadColumns, Rows, sum_in_order


def middle_cut(loads: LoadColumns) -> tuple[int, ...] | None:
    """``topic_count_equally_divide``. O(n).

    >>> from engine.bundles.load_columns import PickedNames
    >>> hashes = np.array([50, 10, 30])
    >>> middle_cut(LoadColumns(PickedNames("abc", np.arange(3)), hashes, np.zeros((4, 3)), np.ones(3, dtype=bool)))
    (20,)
    """
    if len(loads) <= 1:
        return None
    half = len(loads) // 2
    places = (max(half - 1, 0), half)
    parted = np.partition(loads.hashes, places)
    below, above = int(parted[places[0]]), int(parted[half])
    return (below + (above - below) // 2,)


def flow_cuts(loads: LoadColumns, limits: FlowLimits) -> tuple[int, ...] | None:
    """``flow_or_qps_equally_divide``. O(n log n); totals are added in listing order."""
    if len(loads) <= 1:
        return None
    msgs, size = loads.flow
    used = np.flatnonzero(loads.has_stats & ~((msgs <= 0) & (size <= 0)))
    hashes, msgs, size = loads.hashes[used], msgs[used], size[used]
    if not len(hashes) or (hashes == hashes[0]).all():
        return None
    factor = limits.gate_factor
    if sum_in_order(msgs) < limits.max_msgs_per_sec * factor and sum_in_order(size) < limits.max_bytes_per_sec * factor:
        return None
    order, last = along_the_axis(hashes)
    return first_fit_cuts(hashes[order], msgs[last], size[last], limits)


def along_the_axis(hashes: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """The places by ascending hash, and whose numbers count there: of topics of one hash the last one's for each."""
    order = np.argsort(hashes, kind="stable")
    ascending = hashes[order]
    return order, order[np.searchsorted(ascending, ascending, side="right") - 1]
