"""The brokers as plain JSON, as ``ringside brokers --json`` prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from engine.balance.broker_lost import BrokerLost
from engine.views.brokers import brokers_frame
from engine.views.brokers_model import BrokerRow, BrokersView, ShedderRow
from engine.views.shed_document import evenness_document, shed_document

FORMAT: Final = "ringside.brokers/1"
_OF_THE_FORECAST: Final = ("assumptions", "unloads", "unloads_per_hour", "cycles", "before", "after")


def brokers_document(view: BrokersView, compared: Sequence[ShedderRow]) -> dict[str, Any]:
    """The brokers as they are before the first cycle, the forecast of ``ringside.shed``, and every other shedder."""
    forecast = shed_document(view.forecast)
    return {
        "format": FORMAT,
        "load_manager": view.load_manager,
        "shedder": view.shedder,
        "placement": view.placement or None,
        "threshold": {"setting": view.threshold[0], "value": view.threshold[1]},
        "lost": [_lost(each) for each in view.losses],
        "added": list(view.question.added),
        "brokers": [_broker(row, view) for row in brokers_frame(view, 1).brokers],
        "rounds": [
            {"kind": each.kind, "of": list(each.name), "times": each.times, "cycles": list(each.cycles)}
            for each in view.rounds
        ],
        "shedders": [_shedder(row) for row in compared],
        **{
            name: forecast[name] for name in ("assumptions", "unloads", "unloads_per_hour", "cycles", "before", "after")
        },
    }


def _broker(row: BrokerRow, view: BrokersView) -> dict[str, Any]:
    return {
        "broker": row.broker,
        "is_added": row.presence == "added",
        "usage": _number(row.usage),
        "resources": [
            {"resource": each.name, "used": _number(each.used) if each.is_known else None, "weight": each.weight}
            for each in row.resources
        ],
        "topics": row.topics,
        "msgs_per_sec": _number(row.msgs_per_sec),
        "bytes_per_sec": _number(row.bytes_per_sec),
        "verdict": row.judged,
        "figure": _number(row.figure),
        "limit": _number(row.limit),
        "has_no_bundle_until_cycle": row.idle_until,
        "bundles": [
            {
                "bundle": each.bundle,
                "namespace": view.namespaces[each.namespace],
                "topics": each.topics,
                "msgs_per_sec": _number(each.msgs_per_sec),
                "bytes_per_sec": _number(each.bytes_per_sec),
                "leaves": each.leaves,
            }
            for each in row.blocks
        ],
    }


def _lost(lost: BrokerLost) -> dict[str, Any]:
    return {
        "broker": lost.broker,
        "bundles": [
            {
                "bundle": each.bundle,
                "to": each.destination,
                "candidates": [{"broker": broker, "chance": chance} for broker, chance in each.chances.items()],
                "topics": each.topics,
                "msgs_per_sec": _number(each.msgs_per_sec),
            }
            for each in lost.landings
        ],
        "after": evenness_document(lost.after),
    }


def _shedder(row: ShedderRow) -> dict[str, Any]:
    return {
        "shedder": row.shedder,
        "refused": row.refused or None,
        "unloads": row.unloads,
        "unloads_per_hour": row.unloads_per_hour,
        "topics_interrupted": row.topics,
        "returned": row.returns,
        "quiet_after_cycles": row.quiet_after,
        "after": None if row.after is None else evenness_document(row.after),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
