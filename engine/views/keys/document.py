"""The screen "keys" as one JSON document: everything it shows, with consumer ids instead of positions.

``schema/keys.schema.json`` (JSON Schema 2020-12) describes it, units included.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from msgspec import structs

from engine.views.failover.model import EventLine
from engine.views.keys.model import KeyConsumerRow, KeysView, PartitionsView, WaitRow
from engine.views.reported.document import reported_document

FORMAT: Final = "ringside.keys/1"
"""Changes when a member goes or changes its meaning."""


def keys_document(view: KeysView) -> dict[str, Any]:
    """A view as plain values that ``json.dumps`` takes. O(size of the view)."""
    ids = [row.consumer_id for row in view.consumers]
    return {
        "format": FORMAT,
        "status": asdict(view.status)
        | {"subscriptions": list(view.status.subscriptions), "partition": _partition(view.status.partition)},
        "consumers": [_consumer(row, view, at) for at, row in enumerate(view.consumers)],
        "totals": asdict(view.foot),
        "keys": _keys(view, ids),
        "waits": [_wait(row, ids) for row in view.waits],
        "gaps": [asdict(row) | {"keys": list(row.keys)} for row in view.gaps],
        "luck": asdict(view.luck),
        "moves": asdict(view.moves) | {"bystanders": [ids[at] for at in view.moves.bystanders]},
        "events": [_event(line) for line in view.events],
        "timeline": structs.asdict(view.timeline) | {"kinds": list(view.timeline.kinds)},
        "notices": [structs.asdict(notice) for notice in view.notices],
        "partitions": partitions_document(view.partitions),
        "reported": reported_document(view.reported, view.consumers),
        "deliveries": list(view.deliveries),
    }


def _event(line: EventLine) -> dict[str, Any]:
    """A line without what only Failover has."""
    plain = structs.asdict(line) | {"verdict": asdict(line.verdict) if line.verdict is not None else None}
    del plain["handover_ms"]
    return plain


def _consumer(row: KeyConsumerRow, view: KeysView, at: int) -> dict[str, Any]:
    """A row with its pieces of the hash space as (first slot, last slot), a shared one under its first owner."""
    ends, owners = view.ring.points.tolist(), view.ring.point_owners.tolist()
    starts = [view.ring.space_size - view.foot.slots, *(end + 1 for end in ends)]
    pieces = [[start, end] for start, end, owner in zip(starts, ends, owners, strict=False) if owner == at]
    plain = asdict(row)
    del plain["reported"]  # it is in a part of its own
    return plain | {"pieces": pieces}


def _keys(view: KeysView, ids: list[int]) -> list[dict[str, Any]]:
    ring, consumers = view.ring, view.consumers
    columns = (ring.topic_names, ring.topic_hashes.tolist(), ring.topic_owners.tolist(), ring.topic_moved.tolist())
    return [
        {
            "key": name,
            "partition": _partition(partition),
            "slot": slot,
            "consumer": consumers[owner].name if owner >= 0 else None,
            "consumer_id": ids[owner] if owner >= 0 else None,
            "moved": moved,
        }
        for name, slot, owner, moved, partition in zip(*columns, view.key_partitions, strict=True)
    ]


def partitions_document(view: PartitionsView | None) -> dict[str, Any] | None:
    """All partitions as plain values; None without partitions."""
    if view is None:
        return None
    return asdict(view) | {
        "rows": [asdict(row) for row in view.rows],
        "unreached": [asdict(row) | {"partitions": list(row.partitions)} for row in view.unreached],
    }


def _partition(number: int) -> int | None:
    return number if number >= 0 else None


def _wait(row: WaitRow, ids: list[int]) -> dict[str, Any]:
    return asdict(row) | {
        "keys": list(row.keys),
        "owner": ids[row.owner] if row.owner >= 0 else None,
        "holders": [{"consumer_id": ids[at] if at >= 0 else None, "unacked": count} for at, count in row.holders],
        "since_ms": row.since_ms if row.since_ms >= 0 else None,
        "partition": _partition(row.partition),
    }
