"""The screen "producers" as one JSON document: everything it shows, the matrix as what each producer has opened.

``schema/producers.schema.json`` (JSON Schema 2020-12) describes it, units included.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numpy as np
from msgspec import structs

from engine.views.producers.model import (
    FRESH,
    LOST,
    REASON,
    PartitionsView,
    ProducerRow,
    ProducersView,
    RatesView,
    StatisticsRow,
    StatisticsView,
)

FORMAT: Final = "ringside.producers/1"
"""Changes when a member goes or changes its meaning."""
REASONS: Final = ("eager start", "lazy start", "router", "key", "partition added")
"""The words for the reasons of cells, from ``EAGER`` on."""


def producers_document(view: ProducersView, statistics: StatisticsView) -> dict[str, Any]:
    """A view and its statistics as plain values that ``json.dumps`` takes. O(size of the view)."""
    status = asdict(view.status) | {"places": list(view.status.places)}
    return {
        "format": FORMAT,
        "status": status,
        "producers": [_producer(row, view) for row in view.producers],
        "totals": asdict(view.foot),
        "partitions": _partitions(view.partitions),
        "rates": None if view.rates is None else _rates(view.rates),
        "counts": asdict(view.counts)
        | {
            "points": [asdict(point) for point in view.counts.points],
            "connections": list(view.counts.connections),
        },
        "statistics": _statistics(statistics),
        "events": [asdict(step) for step in view.events],
        "timeline": structs.asdict(view.timeline) | {"kinds": list(view.timeline.kinds)},
        "notices": [structs.asdict(notice) for notice in view.notices],
        "deliveries": list(view.deliveries),
    }


def _producer(row: ProducerRow, view: ProducersView) -> dict[str, Any]:
    """A row with its opened partitions by reason, those whose connection is lost, and those the last step opened."""
    cells = view.matrix[row.number]
    opened = {reason: np.flatnonzero((cells & REASON) == code).tolist() for code, reason in enumerate(REASONS, start=1)}
    return asdict(row) | {
        "reasons": dict(zip(REASONS, row.reasons, strict=True)),
        "partitions": opened,
        "lost": np.flatnonzero(cells & LOST).tolist(),
        "fresh": np.flatnonzero(cells & FRESH).tolist(),
    }


def _partitions(view: PartitionsView) -> dict[str, Any]:
    return {
        "producers": view.producers.tolist(),
        "messages": view.messages.tolist(),
        "pending": view.pending.tolist(),
        "failing": [{"partition": partition, "error": error} for partition, error in view.failing],
        "new_from": view.new_from,
    }


def _rates(rates: RatesView) -> dict[str, Any]:
    return {
        "msgs_per_sec": rates.msgs_per_sec.tolist(),
        "bytes_per_sec": rates.bytes_per_sec.tolist(),
        "hottest": rates.hottest if rates.hottest >= 0 else None,
        "busiest_over_average": rates.busiest_over_average,
        "without": rates.without,
        "waiting_msgs_per_sec": rates.waiting_msgs_per_sec,
        "failing_msgs_per_sec": rates.failing_msgs_per_sec,
        "fastest": rates.fastest if rates.fastest >= 0 else None,
        "fastest_msgs_per_sec": rates.fastest_msgs_per_sec,
    }


def _statistics(view: StatisticsView) -> dict[str, Any]:
    return {
        "in_force": view.in_force,
        "sentence": view.sentence,
        "by_name": {"entries": [_entry(row) for row in view.by_name], "torn": view.torn_by_name},
        "by_position": {"entries": [_entry(row) for row in view.by_position], "torn": view.torn_by_position},
        "truth": [_entry(row) for row in view.truth],
    }


def _entry(row: StatisticsRow) -> dict[str, Any]:
    return asdict(row) | {"producers": list(row.producers), "mixture": row.mixture}
