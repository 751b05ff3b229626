"""A subscription for which nothing is computed, as one JSON document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from engine.answer import about, extended
from engine.documents import document
from engine.views.failover.model import Notice
from engine.views.reported.model import ReportedView
from engine.views.reported.subscription import SubscriptionStatus, SubscriptionView, TopicRow


@dataclass(frozen=True, slots=True)
class SubscriptionDocument:
    """A subscription for which nothing is computed: what brokers reported of it."""

    FORMAT: ClassVar[str] = "ringside.subscription/1"
    status: Annotated[SubscriptionStatus, about("The status line.")]
    topics: Annotated[tuple[TopicRow, ...], about("Topics and partitions, the largest backlog first.")]
    reported: Annotated[ReportedView, about("What brokers reported of the subscription.")]
    notices: Annotated[tuple[Notice, ...], about("What to know about the numbers.")]


def subscription_document(view: SubscriptionView) -> Any:
    """A view as plain values for JSON. O(size of the view)."""
    return document(extended(SubscriptionDocument, view), [row.consumer_id for row in view.consumers])
