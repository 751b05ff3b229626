"""A namespace over time as one JSON document: the forecast, every cycle's tree, loops, occupancy."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from engine.bundles.curve import FlowCurve
from engine.bundles.occupancy import CountedOccupancy, ExpectedOccupancy
from engine.bundles.sizing import BundlesNeeded
from engine.errors import Rejection
from engine.views.bundles.model import AttemptRow, BalanceFrame, BalanceView, TreeRow
from engine.views.bundles.view import balance_frame
from engine.views.bundles.words import curve_texts

FORMAT: Final = "ringside.bundles/1"
"""Changes when a member goes or changes its meaning."""


def balance_document(view: BalanceView) -> dict[str, Any]:
    """A view as plain values that ``json.dumps`` takes; trees with the bundles after the last cycle.

    Rates are msg/s and bytes/s, times are seconds from now. O(attempts + bundles).
    """
    configured = view.configured
    split, attempt = configured.next_split(), configured.next_attempt()
    return {
        "format": FORMAT,
        "namespace": view.namespace,
        "release": view.release,
        "load_manager": view.question.load_manager,
        "brokers": list(view.brokers),
        "cycles": view.question.cycles,
        "growth_per_cycle": view.question.growth_per_cycle,
        "intervals": asdict(view.question.intervals) | _cycle_limits(view),
        "bundles": view.bundles,
        "topics": view.topics,
        "assumed_topics": list(view.assumed_topics),
        "msgs_per_sec": view.msgs_per_sec,
        "bytes_per_sec": view.bytes_per_sec,
        "decides": not view.idle,
        "why_not": view.idle or None,
        "algorithm": configured.algorithm,
        "next_split": _attempt(split) if split is not None else None,
        "next_attempt": _attempt(attempt) if attempt is not None else None,
        "now": _rows(balance_frame(view, configured.algorithm, 0)),
        "trees": [_tree(view, tree) for tree in view.trees],
        "occupancy": _occupancy(view.occupancy),
        "bundles_needed": view.needed.bundles or None,
        "bad_topics": view.bad_topics,
        "problems": [asdict(problem) for problem in view.problems],
    }


def _cycle_limits(view: BalanceView) -> dict[str, int]:
    """What the extensible load manager may do in a cycle, by the names of the settings."""
    settings = view.forecast.trees[0].balance.start.settings
    names = (
        "loadBalancerMaxNumberOfBundlesToSplitPerCycle",
        "loadBalancerNamespaceBundleSplitConditionHitCountThreshold",
    )
    return {name: getattr(settings, name) for name in names}


def _tree(view: BalanceView, tree: TreeRow) -> dict[str, Any]:
    last = balance_frame(view, tree.algorithm, view.question.cycles)
    return {
        "algorithm": tree.algorithm,
        "configured": tree.configured,
        "splits": len(tree.splits),
        "attempts": [_attempt(attempt) for attempt in tree.attempts],
        "loops": [asdict(loop) | {"bundles": list(loop.bundles)} for loop in tree.loops],
        "empty_bundles": tree.empty_bundles,
        "hottest": {"bundle": tree.hottest, "msgs_per_sec": tree.hottest_msgs_per_sec},
        "after": _rows(last),
    }


def _attempt(row: AttemptRow) -> dict[str, Any]:
    return asdict(row) | {"cuts": list(row.cuts), "children": list(row.children)}


def _rows(frame: BalanceFrame) -> list[dict[str, Any]]:
    return [
        {
            "bundle": row.range_text,
            "broker": row.broker or None,
            "topics": row.topics,
            "sessions": row.sessions,
            "msgs_per_sec": row.msgs_per_sec,
            "bytes_per_sec": row.bytes_per_sec,
            "nearest_limit": asdict(row.nearest),
            "over": row.over,
            "since_cycle": row.born_in,
        }
        for row in frame.leaves
    ]


def _occupancy(occupancy: CountedOccupancy | Rejection) -> dict[str, Any]:
    return {"problem": asdict(occupancy)} if isinstance(occupancy, Rejection) else counted_document(occupancy)


def counted_document(occupancy: CountedOccupancy) -> dict[str, Any]:
    """Topics counted in bundles and on brokers, and what chance would do."""
    return {
        "topics": occupancy.topics,
        "per_bundle": {
            str(bundle): count for bundle, count in zip(occupancy.bundles, occupancy.per_bundle, strict=True)
        },
        "per_broker": dict(occupancy.per_broker),
        "empty_bundles": occupancy.empty_bundles,
        "idle_brokers": list(occupancy.idle_brokers),
        "fullest_bundle": occupancy.fullest_bundle,
        "fullest_broker": occupancy.fullest_broker,
        "unplaced": list(occupancy.unplaced),
        "expected": expected_document(occupancy.expected),
    }


def expected_document(occupancy: ExpectedOccupancy) -> dict[str, Any]:
    """What chance does on average."""
    return asdict(occupancy) | {
        "mean_per_bundle": occupancy.mean_per_bundle,
        "mean_per_broker": occupancy.mean_per_broker,
        "fullest_broker_packed": occupancy.fullest_broker_packed,
        "bundle_max_over_mean": occupancy.bundle_max_over_mean,
        "packed_max_over_mean": occupancy.packed_max_over_mean,
        "dealt_max_over_mean": occupancy.dealt_max_over_mean,
    }


def needed_document(needed: BundlesNeeded) -> dict[str, Any]:
    """How many bundles it takes, the bounds, and the table of other numbers beside it."""
    return {
        "bundles": needed.bundles,
        "max_over_mean": needed.max_over_mean,
        "idle_share": needed.idle_share,
        "governed_by": needed.governed_by,
        "within_maximum": needed.within_maximum,
        "expected": expected_document(needed.expected),
        "table": [expected_document(row) for row in needed.table],
        "explanation": list(needed.explanation),
    }


def curve_document(curve: FlowCurve) -> dict[str, Any]:
    """A curve with its points along the hash axis, limits, cuts and sentences."""
    return asdict(replace(curve, points=(), idle=())) | {
        "bundle": str(curve.bundle),
        "points": [asdict(point) for point in curve.points],
        "cuts": [asdict(cut) for cut in curve.cuts],
        "positions": list(curve.positions),
        "idle": list(curve.idle),
        "problems": [asdict(problem) for problem in curve.problems],
        "sentences": list(curve_texts(curve)),
    }
