"""The traffic of a bundle's topics summed along the hash axis, with limits and cuts: a curve to draw.

For both rules of splitting by flow: as merged, where the sum restarts at each cut, and as first proposed, where the
only cut is at half of the total. Rates are msg/s, throughput is bytes/s, each in plus out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from engine.answer import about
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange
from engine.bundles.bulk_splits import along_the_axis, first_above, piece_ends
from engine.bundles.columns import LoadColumns, PickedNames, equal_hash_findings, sum_in_order
from engine.errors import Rejection
from engine.memo import Computed

FlowRule = Literal["merged", "proposed"]
FlowOutcome = Literal["cut", "fits", "below-gate", "too-few-topics", "too-few-hashes"]
CutCause = Literal["MsgRate", "Bandwidth", "both"]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One topic on the axis, with the traffic that the rule counts for it: of topics of one hash, that of the last.

    ``total_*``: summed from the bundle's start, this topic included. ``piece_*``: summed from the last cut; the
    proposed rule has one piece.
    """

    topic: Annotated[str, about("Its full name.")]
    hash: Annotated[int, about("Its hash.", 0)]
    msgs_per_sec: Annotated[float, about("Its messages per second.")]
    bytes_per_sec: Annotated[float, about("Its bytes per second.")]
    total_msgs_per_sec: Annotated[float, about("The sum from the bundle's start on.")]
    total_bytes_per_sec: Annotated[float, about("The same of bytes.")]
    piece_msgs_per_sec: Annotated[float, about("The sum from the last cut on.")]
    piece_bytes_per_sec: Annotated[float, about("The same of bytes.")]


@dataclass(frozen=True, slots=True)
class CurveCut:
    """A cut: its position, the hashes on both sides, and the sums including the next topic, which exceed a limit.

    The proposed rule can cut left of all topics; ``before`` is 0 there. ``inside``: strictly inside the bundle, as a
    split demands. ``parts``: it has ``before`` on its left and ``after`` on its right.
    """

    position: Annotated[int, about("Where it cuts.", 0)]
    before: Annotated[int, about("The hash left of it; 0 without one.", 0)]
    after: Annotated[int, about("The hash right of it.", 0)]
    cause: Annotated[CutCause, about("The limit that the next topic exceeds.")]
    msgs_per_sec: Annotated[float, about("The sum with the next topic.")]
    bytes_per_sec: Annotated[float, about("The same of bytes.")]
    inside: Annotated[bool, about("Whether it is strictly inside the bundle, as a split demands.")]
    parts: Annotated[bool, about("Whether it has `before` on its left and `after` on its right.")]


@dataclass(frozen=True, slots=True)
class FlowCurve:
    """The curve of one bundle under one rule.

    ``msg_limit`` and ``byte_limit`` are what the sums are compared with: the broker's limits, or half of the totals.
    ``gate_*``: the totals that open the merged rule's gate (one is enough); 0 for the proposed rule, which has none.
    ``total_*`` count all topics of one hash. ``idle``: topics that the rule ignores. ``problems``: bad topics left out,
    counted in ``bad_topics``, and topics of equal hash.
    """

    bundle: Annotated[BundleRange, about("Its range.", form=str)]
    rule: Annotated[FlowRule, about("The rule.")]
    points: Annotated[Sequence[CurvePoint], about("Its topics along the hash axis.")]
    cuts: Annotated[tuple[CurveCut, ...], about("Where it is cut.")]
    outcome: Annotated[FlowOutcome, about("What the rule does, or why it does nothing.")]
    total_msgs_per_sec: Annotated[float, about("Messages per second of all topics.")]
    total_bytes_per_sec: Annotated[float, about("The same of bytes.")]
    msg_limit: Annotated[float, about("What sums of messages are compared with.")]
    byte_limit: Annotated[float, about("What sums of bytes are compared with.")]
    gate_msgs_per_sec: Annotated[float, about("The total from which on the rule cuts at all; 0 without such a gate.")]
    gate_bytes_per_sec: Annotated[float, about("The same of bytes.")]
    idle: Annotated[Sequence[str], about("Topics that the rule ignores.")]
    problems: Annotated[tuple[Rejection, ...], about("Topics that were left out or have equal hashes.")]
    bad_topics: Annotated[int, about("Topics that were left out.", 0)]

    @property
    def positions(self) -> Annotated[tuple[int, ...], about("The cuts as the algorithm answers them.", 0)]:
        return tuple(cut.position for cut in self.cuts)


def empty_bundle(bundle: BundleRange) -> Rejection:
    """Why a bundle without topics has no curve."""
    message = f"bundle {bundle} holds none of the usable topics, so there is no traffic to sum up"
    return Rejection("EmptyBundle", message, field="topics")


def stopped(topics: int, hashes: int, totals: tuple[float, float], gates: tuple[float, float]) -> FlowOutcome | None:
    """Why the merged rule does not cut at all, None when it may; ``hashes`` is the number of distinct hashes."""
    if topics <= 1:
        return "too-few-topics"
    if hashes < 2:
        return "too-few-hashes"
    return "below-gate" if totals[0] < gates[0] and totals[1] < gates[1] else None


def curve_cut(
    bundle: BundleRange,
    position: int,
    neighbours: tuple[int, int],
    sums: tuple[float, float],
    levels: tuple[float, float],
) -> CurveCut:
    """A cut between two hashes, where the sums including the next topic exceed the levels."""
    over = (sums[0] > levels[0], sums[1] > levels[1])
    cause: CutCause = "both" if all(over) else "MsgRate" if over[0] else "Bandwidth"
    inside = bundle.lower < position < bundle.upper
    before, after = neighbours
    return CurveCut(position, before, after, cause, *sums, inside, before < position <= after)


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class CurvePoints(Computed[CurvePoint]):
    """The points in columns of (n,), ascending by hash; built on demand."""

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
        """The point at an index."""
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


def flow_curve(
    bundle: BundleRange, loads: LoadColumns, limits: FlowLimits, rule: FlowRule = "merged"
) -> FlowCurve | Rejection:
    """The curve of the topics in a bundle, all of them usable. O(n log n) in whole columns, some steps for each cut.

    Refused: a bundle without topics (EmptyBundle).

    >>> hashes, msgs = np.array([10, 20, 80, 90, 100, 110]), np.array([100.0, 200, 300, 400, 500, 2000])
    >>> rates = np.vstack((msgs, np.zeros((3, 6))))
    >>> loads = LoadColumns(PickedNames("abcdef", np.arange(6)), hashes, rates, np.ones(6, dtype=bool))
    >>> flow_curve(BundleRange(0, 512), loads, FlowLimits(1750, 10**8, 0)).positions
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
    """(n,) running sums that restart at every end."""
    sums = np.empty(len(values))
    for low, high in pairwise((0, *ends, len(values))):
        np.cumsum(values[low:high], out=sums[low:high])
    return sums


def _half(
    bundle: BundleRange, hashes: NDArray[np.int64], sums: tuple[Floats, Floats], levels: tuple[float, float]
) -> tuple[CurveCut, ...]:
    """The cut of the proposed rule, where half of the total is passed."""
    at = first_above(sums, levels)
    if at is None:
        return ()
    before, here = int(hashes[at - 1]) if at else 0, int(hashes[at])
    grown = float(sums[0][at]), float(sums[1][at])
    cut = curve_cut(bundle, before + (here - before) // 2, (before, here), grown, levels)
    # Left of the first topic there is nothing to part from the rest.
    return (cut if at else replace(cut, parts=False),)
