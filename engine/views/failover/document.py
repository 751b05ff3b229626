"""The dashboard as one JSON document: everything the screen shows, with names and ids instead of positions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Struct

from engine.answer import about, extended
from engine.compare.verdict import Verdict
from engine.documents import document
from engine.views.failover.model import (
    ConsumerRow,
    DashboardView,
    NamespaceNode,
    Notice,
    RingView,
    StatusView,
    Step,
    TableFoot,
    TimelineView,
)
from engine.views.reported.model import ReportedBroker, ReportedView


class RingSummary(Struct, frozen=True):
    space_size: Annotated[int, about("Number of hash values.", 1)]
    lit: Annotated[bool, about("Whether the ring decides anything that is shown.")]
    points: Annotated[int, about("Distinct points on the ring.", 0)]
    changed_arcs: Annotated[int, about("Arcs that had another owner, wholly or in part, before the last step.", 0)]
    centre: Annotated[tuple[str, ...], about("Lines in the middle of the ring.")]


class Partition(Struct, frozen=True):
    """One partition, or a topic without partitions."""

    name: Annotated[str, about("Full topic name.")]
    ring_hash: Annotated[int, about("Murmur3 hash of the name, top bit cleared.", 0, 2147483647)]
    active_consumer: Annotated[str | None, about("Name of the active consumer, null for nobody.")]
    active_consumer_id: Annotated[int, about("Its id, null for nobody.", 0, place=True)]
    moved: Annotated[bool, about("Whether the last step gave it another active consumer.")]


class DashboardEvent(Step, frozen=True):
    """One step."""

    moved: Annotated[int, about("Partitions that changed from one active consumer to another.", 0)]
    least: Annotated[int, about("Fewest moves that lead to the same loads.", 0)]
    partitions: Annotated[int, about("Partitions of the subscription after the step.", 0)]
    unacked_at_risk: Annotated[
        int | None,
        about("Unacknowledged messages of moved partitions, which may be delivered again; null where unknown.", 0),
    ]
    handover_ms: Annotated[
        int,
        about(
            "How long a moved partition waits before the new active consumer is sent anything; 0 where brokers do not"
            " wait.",
            0,
        ),
    ]
    verdict: Annotated[
        Verdict | None, about("The verdict on the step; null for one that gives nobody's work to others.")
    ]


class DashboardDocument(Struct, frozen=True):
    """Everything that the main screen shows of one subscription at one step."""

    FORMAT: ClassVar[str] = "ringside.dashboard/1"
    status: Annotated[StatusView, about("The status line.")]
    consumers: Annotated[
        tuple[ConsumerRow, ...], about("The consumers in the dispatcher's order: priority level, then name.")
    ]
    totals: Annotated[TableFoot, about("Sums and unevenness of the table; standbys do not count into a mean.")]
    ring: Annotated[RingSummary, about("The hash ring of the cohort.")]
    partitions: Annotated[tuple[Partition, ...], about("The partitions of the subscription, topic by topic.")]
    namespaces: Annotated[tuple[NamespaceNode, ...], about("Namespaces by name.")]
    brokers: Annotated[
        tuple[ReportedBroker, ...], about("Brokers whose load reports are all that is known of bundles.")
    ]
    events: Annotated[tuple[DashboardEvent, ...], about("The opening and the latest steps, oldest first.")]
    timeline: Annotated[TimelineView, about("The current branch.")]
    notices: Annotated[tuple[Notice, ...], about("What to know about the numbers.")]
    flag_change: Annotated[
        Verdict | None,
        about("The verdict on turning activeConsumerFailoverConsistentHashing on or off here; null where it has none."),
    ]
    reported: Annotated[
        ReportedView | None, about("What brokers reported of the subscription; null where no answer shows it.")
    ]


def dashboard_document(view: DashboardView) -> Any:
    """A view as plain values for JSON. O(size of the view)."""
    ring = view.ring
    whole = extended(
        DashboardDocument,
        view,
        totals=view.foot,
        ring=extended(RingSummary, ring, points=len(ring.points), changed_arcs=int(ring.changed_arcs.sum())),
        partitions=_partitions(ring, view.consumers),
        events=[extended(DashboardEvent, line) for line in view.events],
    )
    return document(whole, [row.consumer_id for row in view.consumers])


def _partitions(ring: RingView, consumers: tuple[ConsumerRow, ...]) -> list[Partition]:
    columns = (ring.topic_names, ring.topic_hashes.tolist(), ring.topic_owners.tolist(), ring.topic_moved.tolist())
    rows = [*zip(*columns, strict=True)]
    places = range(len(rows)) if ring.topic_numbers is None else np.argsort(ring.topic_numbers).tolist()
    return [
        Partition(name, ring_hash, consumers[owner].name if owner >= 0 else None, owner, moved)
        for name, ring_hash, owner, moved in map(rows.__getitem__, places)
    ]
