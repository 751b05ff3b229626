"""The curve of a bundle whose topics are in columns: :func:`engine.bundles.curve.flow_curve`, from columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import BundleRange
from engine.bundles.bulk_flow import piece_ends
from engine.bundles.bulk_splits import along_the_axis, first_above
from engine.bundles.curve import (
    CurveCut,
    CurvePoint,
    FlowCurve,
    FlowOutcome,
    FlowRule,
    curve_cut,
    empty_bundle,
    stopped,
)
from engine.bundles.flow import FlowLimits
from engine.bundles.load_columns import LoadColumns, PickedNames, sum_in_order
from engine.bundles.loads import equal_hash_findings
from engine.computed import Computed
from engine.errors import Rejection

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class CurvePoints(Computed[CurvePoint]):
    """The points in columns of (n,), ascending by hash; each is made when it is asked for."""

    names: PickedNames
    hashes: NDArray[np.int64]
    msgs_per_sec: Floats
    bytes_per_sec: Floats
    total_msgs_per_sec: Floats
    total_bytes_per_sec: Floats
    piece_msgs_per_sec: Floats
    piece_bytes_per_sec: Floats

    def __len__(self) -> int:
        return len(self.hashes)

    def item(self, at: int) -> CurvePoint:
        """The point at a place."""
        return CurvePoint(
            self.names[at],
            int(self.hashes[at]),
            float(self.msgs_per_sec[at]),
            float(self.bytes_per_sec[at]),
            float(self.total_msgs_per_sec[at]),
            float(self.total_bytes_per_sec[at]),
            float(self.piece_msgs_per_sec[at]),
            float(self.piece_bytes_per_sec[at]),
        )


def flow_curve_of_columns(
    bundle: BundleRange, loads: LoadColumns, limits: FlowLimits, rule: FlowRule = "merged"
) -> FlowCurve | Rejection:
    """``flow_curve`` of loads that are all usable. O(n log n) in whole columns, and some steps for each cut.

    >>> hashes, msgs = np.array([10, 20, 80, 90, 100, 110]), np.array([100.0, 200, 300, 400, 500, 2000])
    >>> rates = np.vstack((msgs, np.zeros((3, 6))))
    >>> loads = LoadColumns(PickedNames("abcdef", np.arange(6)), hashes, rates, np.ones(6, dtype=bool))
    >>> flow_curve_of_columns(BundleRange(0, 512), loads, FlowLimits(1750, 10**8, 0)).positions
    (106,)
    """
    inside = loads.inside(bundle)
    if not len(inside):
        return empty_bundle(bundle)
    msgs, size = inside.flow
    mask = inside.has_stats & ((rule == "proposed") | (msgs > 0) | (size > 0))
    used, idle = inside.take(np.flatnonzero(mask)), inside.names.take(np.flatnonzero(~mask))
    msgs, size = used.flow
    totals = sum_in_order(msgs), sum_in_order(size)
    order, last = along_the_axis(used.hashes)
    hashes, msgs, size = used.hashes[order], msgs[last], size[last]
    gates = (limits.max_msgs_per_sec * limits.gate_factor, limits.max_bytes_per_sec * limits.gate_factor)
    sums = np.cumsum(msgs), np.cumsum(size)
    pieces = sums
    outcome: FlowOutcome | None = None
    if rule == "proposed":
        levels, gates = (totals[0] / 2, totals[1] / 2), (0.0, 0.0)
        cuts = _half(bundle, hashes, sums, levels)
    else:
        levels = (float(limits.max_msgs_per_sec), float(limits.max_bytes_per_sec))
        outcome = stopped(len(inside), len(np.unique(hashes)), totals, gates)
        ends = piece_ends(msgs, size, limits) if outcome is None else []
        pieces = _restarting(msgs, ends), _restarting(size, ends)
        grown = ((float(pieces[0][end - 1] + msgs[end]), float(pieces[1][end - 1] + size[end])) for end in ends)
        neighbours = ((int(hashes[end - 1]), int(hashes[end])) for end in ends)
        cuts = tuple(
            curve_cut(bundle, before + (here - before) // 2 + 1, (before, here), sums_there, levels)
            for (before, here), sums_there in zip(neighbours, grown, strict=True)
        )
    return FlowCurve(
        bundle,
        rule,
        CurvePoints(used.names.take(order), hashes, msgs, size, *sums, *pieces),
        cuts,
        outcome or ("cut" if cuts else "fits"),
        *totals,
        *levels,
        *gates,
        idle,
        equal_hash_findings(used),
        0,
    )


def _restarting(values: Floats, ends: list[int]) -> Floats:
    """Sums from the last end on."""
    found = np.empty(len(values))
    for low, high in pairwise((0, *ends, len(values))):
        np.cumsum(values[low:high], out=found[low:high])
    return found


def _half(
    bundle: BundleRange, hashes: NDArray[np.int64], sums: tuple[Floats, Floats], levels: tuple[float, float]
) -> tuple[CurveCut, ...]:
    """The one cut of the proposed rule, where half of the total is passed."""
    at = first_above(sums, levels)
    if at is None:
        return ()
    before, here = int(hashes[at - 1]) if at else 0, int(hashes[at])
    grown = float(sums[0][at]), float(sums[1][at])
    found = curve_cut(bundle, before + (here - before) // 2, (before, here), grown, levels)
    # Left of the first topic there is nothing to part from the rest.
    return (found if at else replace(found, parts=False),)
