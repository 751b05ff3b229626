"""What brokers reported of a subscription as plain values, a part of the documents of its screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from msgspec.structs import asdict

from engine.views.reported.model import Comparison, ReportedConsumer, ReportedView, SeenTime
from engine.views.reported.subscription import SubscriptionView

BLOCKED_TOPICS_LISTED: Final = 1_000
"""Of more only the number is in the document."""
DIFFERENCES_LISTED: Final = 1_000
FORMAT: Final = "ringside.subscription/1"
"""Changes when a member goes or changes its meaning."""


class Row(Protocol):
    """A row of a table of consumers."""

    @property
    def consumer_id(self) -> int: ...


def reported_document(view: ReportedView | None, rows: Sequence[Row]) -> dict[str, Any] | None:
    """A view as plain values, with consumer ids instead of positions; None where nothing was reported."""
    if view is None:
        return None
    # After a step of the simulation there are rows, and nothing that was reported of them.
    ids = [row.consumer_id for row in rows] if len(rows) == len(view.consumers) else []

    def id_of(position: int) -> int | None:
        return ids[position] if 0 <= position < len(ids) else None

    return {
        "seen": _time(view.time),
        "computed_from_step": view.computed_from or None,
        "type": view.type,
        "dispatchers": view.dispatchers,
        "backlog_entries": view.backlog,
        "unacked_messages": view.unacked,
        "messages_in_replay": view.in_replay,
        "messages_delayed": view.delayed,
        "msgs_per_sec": view.msgs_per_sec,
        "blocked_dispatchers": view.blocked_dispatchers,
        "draining_slots": view.draining_slots,
        "consumers": [_consumer(row, id_of(at), id_of) for at, row in enumerate(view.consumers)],
        "waits": [
            {
                "topic": wait.topic,
                "slot": wait.slot,
                "owner": id_of(wait.owner),
                "holder": id_of(wait.holder),
                "unacked_messages": wait.unacked,
                "blocked_attempts": wait.blocked_attempts,
            }
            for wait in view.waits
        ],
        "pairs": [
            {
                "owner": id_of(pair.owner),
                "holder": id_of(pair.holder),
                "slots": pair.slots,
                "blocked_attempts": pair.blocked_attempts,
            }
            for pair in view.pairs
        ],
        "blocked_topics": {
            "count": len(view.blocked_topics),
            "first": list(view.blocked_topics[:BLOCKED_TOPICS_LISTED]),
        },
        "events": [asdict(event) | {"at_ms": _known(event.at_ms)} for event in view.events],
        "comparison": _comparison(view.comparison),
    }


def _comparison(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "compared": comparison.compared,
        "agree": comparison.agree,
        "differences": [
            {
                "fact": difference.kind,
                "topic": difference.topic,
                "reported": difference.reported,
                "modelled": difference.modelled,
                "rule": difference.rule,
            }
            for difference in comparison.disagreements[:DIFFERENCES_LISTED]
        ],
    }


def _time(time: SeenTime) -> dict[str, Any]:
    return {
        "at_ms": _known(time.at_ms),
        "not_before_ms": _known(time.not_before_ms),
        "moment": time.moment,
        "moments": time.moments,
    }


def _known(at_ms: int) -> int | None:
    return at_ms if at_ms >= 0 else None


def _consumer(row: ReportedConsumer, consumer_id: int | None, id_of: Any) -> dict[str, Any]:
    return {
        "consumer_id": consumer_id,
        "name": row.name,
        "permits": row.permits,
        "unacked_messages": row.unacked,
        "waiting_entries": row.waiting,
        "active_topics": row.active,
        "waiting_slots": row.waiting_slots,
        "blocked_attempts": row.blocked_attempts,
        "waits_for": [id_of(position) for position in row.holders],
        "draining_slots": row.draining,
        "obstacles": list(row.obstacles),
        "msgs_per_sec": row.msgs_per_sec,
        "last_acked_ms": row.last_acked_ms or None,
        "last_consumed_ms": row.last_consumed_ms or None,
        "connected_since": row.connected_since,
        "address": row.address,
        "client_version": row.client_version,
    }


def subscription_document(view: SubscriptionView) -> dict[str, Any]:
    """A view as plain values that ``json.dumps`` takes. O(size of the view)."""
    status = view.status
    return {
        "format": FORMAT,
        "status": {
            "subscription": status.subscription,
            "namespace": status.namespace,
            "type": status.type,
            "subscriptions": list(status.subscriptions),
            "release": status.release,
            "source": status.source,
            "step": status.step,
            "steps": status.steps,
        },
        "topics": [
            {
                "name": row.name,
                "backlog_entries": row.backlog,
                "unacked_messages": row.unacked,
                "messages_in_replay": row.in_replay,
                "messages_delayed": row.delayed,
                "msgs_per_sec": row.msgs_per_sec,
                "consumers": row.consumers,
                "active_consumer_id": row.active if row.active >= 0 else None,
                "blocked": row.blocked,
            }
            for row in view.topics
        ],
        "reported": reported_document(view.reported, view.consumers),
        "notices": [asdict(notice) for notice in view.notices],
    }
