"""The view of brokers as plain JSON, as ``ringside brokers --json`` prints it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from engine.views.brokers.model import BrokerRow, BrokersView, ChangeDone, Compared, LeftAlone, NextCycle
from engine.views.brokers.shed_document import shed_document
from engine.views.brokers.view import brokers_frame

FORMAT: Final = "ringside.brokers/1"


def brokers_document(view: BrokersView, compared: Sequence[Compared]) -> dict[str, Any]:
    """The brokers as they are after the changes, what the changes did, the forecast, loops, and all shedders."""
    frame = brokers_frame(view, 0)
    forecast = shed_document(view.ahead)
    return {
        "format": FORMAT,
        "source": view.given.source,
        "release": view.given.release,
        "load_manager": view.load_manager,
        "shedder": view.shedder,
        "placement": view.placement,
        "namespaces": list(view.namespaces),
        "brokers": [_broker(row) for row in frame.rows],
        "changes": [_change(change) for change in view.changes],
        "next": None if frame.next is None else _next(frame.next),
        "strip": [
            {
                "cycle": cell.number,
                "unloads": cell.unloads,
                "topics_interrupted": cell.topics,
                "msgs_per_sec_moved": cell.msgs_per_sec,
                "returns": cell.returns,
            }
            for cell in view.strip
        ],
        "loops": [
            {"bundle": loop.bundle, "cycles": list(loop.cycles), "times": loop.times, "way": loop.detail.split(", ")}
            for loop in view.loops
        ],
        "swaps": [
            {"brokers": [swap.first, swap.second], "there": swap.there, "back": swap.back, "cycles": list(swap.cycles)}
            for swap in view.swaps
        ],
        "compared": [_compared(each) for each in compared],
        "assumptions": forecast["assumptions"],
        "cycles": forecast["cycles"],
    }


def _broker(row: BrokerRow) -> dict[str, Any]:
    return {
        "broker": row.broker,
        "added": row.is_new,
        "report_older_ms": row.older_ms,
        "weighted_usage": _number(row.usage),
        "msgs_per_sec": _number(row.msgs_per_sec),
        "bytes_per_sec": _number(row.bytes_per_sec),
        "topics": row.topics,
        "resources": [
            {
                "resource": bar.resource,
                "share": _number(bar.share),
                "threshold": _number(bar.threshold),
                "fault": bar.fault or None,
            }
            for bar in row.bars
        ],
        "bundles": [
            {
                "bundle": block.bundle,
                "topics": block.topics,
                "msgs_per_sec": _number(block.msgs_per_sec),
                "bytes_per_sec": _number(block.bytes_per_sec),
                "leaves_next": block.leaves,
            }
            for block in row.blocks
        ],
    }


def _change(change: ChangeDone) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "broker": change.broker,
        "idle_cycles": change.idle_cycles,
        "bundles_at_end": change.gained,
        "usages": [
            {"broker": name, "before": _number(before), "after": _number(after)}
            for name, before, after in change.usages
        ],
        "landings": [
            {
                "bundle": landing.bundle,
                "to": landing.destination,
                "candidates": [{"broker": name, "chance": chance} for name, chance in landing.chances.items()],
                "topics": landing.stats.topics,
            }
            for landing in change.landings
        ],
    }


def _next(cycle: NextCycle) -> dict[str, Any]:
    return {
        "cycle": cycle.number,
        "at_ms": cycle.at_ms,
        "skipped": cycle.skipped,
        "unloads": [
            {
                "bundle": each.move.bundle,
                "from": each.move.source,
                "to": each.move.destination,
                "figure": each.figure,
                "limit": each.limit,
            }
            for each in cycle.moves
        ],
        "left_alone": [_left(left) for left in cycle.left_alone],
    }


def _left(left: LeftAlone) -> dict[str, Any]:
    return {
        "broker": left.broker,
        "other": left.other or None,
        "bundle": left.bundle or None,
        "bundles": left.count if left.bundle else 0,
        "why": left.why,
        "figure": left.figure,
        "limit": left.limit,
    }


def _compared(each: Compared) -> dict[str, Any]:
    usage = each.after.usage if each.after is not None else None
    return {
        "shedder": each.shedder,
        "in_force": each.in_force,
        "refused": each.refused or None,
        "unloads": each.unloads,
        "unloads_per_hour": each.unloads_per_hour,
        "topics_interrupted": each.topics,
        "returned": each.returned,
        "quiet_after_cycles": each.quiet_after,
        "max_over_mean": _number(usage.max_over_mean) if usage is not None else None,
        "deviation_over_mean": _number(usage.deviation_over_mean) if usage is not None else None,
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
