"""The curve of one bundle topic by topic, as plainly as it can be said: what the form in columns is held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange
from engine.bundles.columns import equal_hash_findings, topics_in
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
from engine.bundles.loads import TopicLoad, check_loads
from engine.errors import Rejection


def flow_curve(
    bundle: BundleRange, topics: Sequence[TopicLoad], limits: FlowLimits, rule: FlowRule = "merged"
) -> FlowCurve | Rejection:
    """The curve of the topics in a bundle. O(n log n).

    Topics with rates that are NaN, negative or infinite are left out and counted, also those outside the bundle.
    Refused: a bundle without usable topics (EmptyBundle).

    The example of the proposal (#16782), under both rules:

    >>> rates, mega = ((10, 100, 1), (20, 200, 2), (80, 300, 3), (90, 400, 4), (100, 500, 5), (110, 2000, 190)), 10**6
    >>> topics = [TopicLoad(f"t{at}", at, rate, 0.0, thr * mega) for at, rate, thr in rates]
    >>> shipped = FlowLimits(30000, 100 * mega, 10)
    >>> [flow_curve(BundleRange(0, 512), topics, shipped, rule).positions for rule in ("proposed", "merged")]
    [(105,), (106,)]
    """
    usable, bad = check_loads(topics)
    loads = topics_in(bundle, [topics[place] for place in usable])
    if not loads:
        return empty_bundle(bundle)
    used = [load for load in loads if load.has_stats and (rule == "proposed" or _busy(load))]
    load_at = {load.hash: (load.msgs_per_sec, load.bytes_per_sec) for load in used}
    total_msgs = total_bytes = 0.0
    for load in used:
        total_msgs, total_bytes = total_msgs + load.msgs_per_sec, total_bytes + load.bytes_per_sec
    ordered = sorted(used, key=lambda load: load.hash)
    axis = [(load.name, load.hash, *load_at[load.hash]) for load in ordered]
    gates = (limits.max_msgs_per_sec * limits.gate_factor, limits.max_bytes_per_sec * limits.gate_factor)
    outcome: FlowOutcome | None = None
    if rule == "proposed":
        levels, gates = (total_msgs / 2, total_bytes / 2), (0.0, 0.0)
        points, cuts = _proposed(bundle, axis, levels)
    else:
        levels = (float(limits.max_msgs_per_sec), float(limits.max_bytes_per_sec))
        outcome = stopped(len(loads), len(load_at), (total_msgs, total_bytes), gates)
        points, cuts = _merged(bundle, axis, levels, cutting=outcome is None)
    busy = {load.name for load in used}
    return FlowCurve(
        bundle,
        rule,
        points,
        cuts,
        outcome or ("cut" if cuts else "fits"),
        total_msgs,
        total_bytes,
        *levels,
        *gates,
        tuple(load.name for load in loads if load.name not in busy),
        (*bad, *equal_hash_findings(used)),
        len(bad),
    )


def _busy(load: TopicLoad) -> bool:
    return load.msgs_per_sec > 0 or load.bytes_per_sec > 0


_Axis = Sequence[tuple[str, int, float, float]]


def _merged(
    bundle: BundleRange, axis: _Axis, levels: tuple[float, float], *, cutting: bool
) -> tuple[tuple[CurvePoint, ...], tuple[CurveCut, ...]]:
    points: list[CurvePoint] = []
    cuts: list[CurveCut] = []
    total = piece = (0.0, 0.0)
    before = 0
    for place, (name, here, msgs, octets) in enumerate(axis):
        grown = (piece[0] + msgs, piece[1] + octets)
        if cutting and place and (grown[0] > levels[0] or grown[1] > levels[1]):
            cuts.append(curve_cut(bundle, before + (here - before) // 2 + 1, (before, here), grown, levels))
            grown = (msgs, octets)
        piece, total, before = grown, (total[0] + msgs, total[1] + octets), here
        points.append(CurvePoint(name, here, msgs, octets, *total, *piece))
    return tuple(points), tuple(cuts)


def _proposed(
    bundle: BundleRange, axis: _Axis, levels: tuple[float, float]
) -> tuple[tuple[CurvePoint, ...], tuple[CurveCut, ...]]:
    points: list[CurvePoint] = []
    cuts: list[CurveCut] = []
    total = (0.0, 0.0)
    before = 0
    for name, here, msgs, octets in axis:
        total = (total[0] + msgs, total[1] + octets)
        points.append(CurvePoint(name, here, msgs, octets, *total, *total))
        if not cuts and (total[0] > levels[0] or total[1] > levels[1]):
            cut = curve_cut(bundle, before + (here - before) // 2, (before, here), total, levels)
            # Left of the first topic there is nothing to part from the rest.
            cuts.append(cut if len(points) > 1 else replace(cut, parts=False))
        before = here
    return tuple(points), tuple(cuts)
