"""A subscription for which nothing is computed as one JSON document.

``schema/subscription.schema.json`` (JSON Schema 2020-12) describes it, units included.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from engine.views.reported.document import reported_document
from engine.views.reported.subscription import SubscriptionView

FORMAT: Final = "ringside.subscription/1"
"""Changes when a member goes or changes its meaning."""


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
