"""The dashboard as one JSON document: everything the screen shows, with names instead of positions.

``schema/dashboard.schema.json`` (JSON Schema 2020-12) describes it, units included; ``FORMAT`` changes when a member
goes or changes its meaning.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numpy as np
from msgspec import structs

from engine.views.failover.model import (
    BundleNode,
    ConsumerRow,
    DashboardView,
    EventLine,
    NamespaceNode,
    RingView,
    StatusView,
)
from engine.views.reported.document import reported_document

FORMAT: Final = "ringside.dashboard/1"


def dashboard_document(view: DashboardView, *, points: bool = False) -> dict[str, Any]:
    """A view as plain values that ``json.dumps`` takes. O(size of the view).

    ``points`` adds every ring point with its owner, about 100 a consumer.
    """
    return {
        "format": FORMAT,
        "status": _status(view.status),
        "consumers": [_consumer(row) for row in view.consumers],
        "totals": structs.asdict(view.foot),
        "ring": _ring(view, points=points),
        "partitions": _partitions(view.ring, view.consumers),
        "namespaces": [_namespace(node) for node in view.namespaces],
        "brokers": [
            structs.asdict(broker) | {"at_ms": broker.at_ms if broker.at_ms >= 0 else None} for broker in view.brokers
        ],
        "events": [_event(line) for line in view.events],
        "timeline": structs.asdict(view.timeline) | {"kinds": list(view.timeline.kinds)},
        "notices": [structs.asdict(notice) for notice in view.notices],
        "flag_change": asdict(view.flag_change) if view.flag_change is not None else None,
        "reported": reported_document(view.reported, view.consumers),
    }


def _status(status: StatusView) -> dict[str, Any]:
    plain = structs.asdict(status) | {"rule": status.rule.value, "subscriptions": list(status.subscriptions)}
    del plain["flag_change"]  # the verdict has it
    return plain


def _consumer(row: ConsumerRow) -> dict[str, Any]:
    plain = structs.asdict(row)
    del plain["reported"]  # it is in a part of its own
    return plain


def _ring(view: DashboardView, *, points: bool) -> dict[str, Any]:
    ring = view.ring
    document: dict[str, Any] = {
        "space_size": ring.space_size,
        "lit": ring.lit,
        "points": len(ring.points),
        "changed_arcs": int(ring.changed_arcs.sum()),
        "centre": list(ring.centre),
    }
    if points:
        ids = [row.consumer_id for row in view.consumers]
        document["owners"] = [
            {"point": point, "consumer_id": ids[owner]}
            for point, owner in zip(ring.points.tolist(), ring.point_owners.tolist(), strict=True)
        ]
    return document


def _partitions(ring: RingView, consumers: tuple[ConsumerRow, ...]) -> list[dict[str, Any]]:
    columns = (ring.topic_names, ring.topic_hashes.tolist(), ring.topic_owners.tolist(), ring.topic_moved.tolist())
    rows = [*zip(*columns, strict=True)]
    places = range(len(rows)) if ring.topic_numbers is None else np.argsort(ring.topic_numbers).tolist()
    return [
        {
            "name": name,
            "ring_hash": ring_hash,
            "active_consumer": consumers[owner].name if owner >= 0 else None,
            "active_consumer_id": consumers[owner].consumer_id if owner >= 0 else None,
            "moved": moved,
        }
        for name, ring_hash, owner, moved in map(rows.__getitem__, places)
    ]


def _namespace(node: NamespaceNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "bundles": node.bundles,
        "topics": node.topics,
        "msgs_per_sec": node.msgs_per_sec,
        "roots": [_bundle(root) for root in node.roots],
        "reported": None if node.reported is None else structs.asdict(node.reported),
    }


def _bundle(node: BundleNode) -> dict[str, Any]:
    return {
        "range": node.range_text,
        "lower": node.lower,
        "upper": node.upper,
        "depth": node.depth,
        "topics": node.topics,
        "msgs_per_sec": node.msgs_per_sec,
        "bytes_per_sec": node.bytes_per_sec,
        "algorithm": node.algorithm or None,
        "fresh": node.fresh,
        "reported": None if node.reported is None else structs.asdict(node.reported),
        "children": [_bundle(child) for child in node.children],
    }


def _event(line: EventLine) -> dict[str, Any]:
    """A line without what only keys have."""
    plain = structs.asdict(line) | {"verdict": asdict(line.verdict) if line.verdict is not None else None}
    del plain["moved_keys"]
    return plain
