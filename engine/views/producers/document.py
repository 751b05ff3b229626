"""The screen "producers" as one JSON document: everything it shows, the matrix as what each producer has opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Struct

from engine.answer import about, extended
from engine.documents import document
from engine.views.failover.model import Notice, TimelineView
from engine.views.producers.model import (
    FRESH,
    LOST,
    OPENED_BY,
    REASON,
    CountsView,
    OpenedBy,
    PartitionsView,
    ProducerRow,
    ProducersFoot,
    ProducersStatus,
    ProducerStep,
    ProducersView,
    RatesView,
    StatisticsView,
)


class Producer(ProducerRow, frozen=True):
    """One producer."""

    partitions: Annotated[Mapping[OpenedBy, tuple[int, ...]], about("The partitions it has opened, by reason.", 0)]
    lost: Annotated[tuple[int, ...], about("Opened partitions whose connection is lost.", 0)]
    fresh: Annotated[tuple[int, ...], about("Partitions the last step opened.", 0)]


class ProducersDocument(Struct, frozen=True):
    """Everything that the screen "producers" shows of the producers of one partitioned topic at one step."""

    FORMAT: ClassVar[str] = "ringside.producers/1"
    status: Annotated[ProducersStatus, about("The status line.")]
    producers: Annotated[tuple[Producer, ...], about("In the order of creation.")]
    totals: Annotated[ProducersFoot, about("The line below the table.")]
    partitions: Annotated[PartitionsView, about("One number for each partition, in their order.")]
    rates: Annotated[
        RatesView | None, about("What producers with rates send in the long run, null where none has a rate.")
    ]
    counts: Annotated[
        CountsView,
        about("What the same producers would cost with each way to start; means over random draws."),
    ]
    statistics: Annotated[StatisticsView, about("PartitionedTopicStats, merged both ways.")]
    events: Annotated[tuple[ProducerStep, ...], about("What each step did, oldest first.")]
    timeline: Annotated[TimelineView, about("The steps of this branch.")]
    notices: Annotated[tuple[Notice, ...], about("What to know about what is shown, in a fixed order.")]
    deliveries: Annotated[tuple[str, ...], about("The last things that happened to producers, newest last.")]


def producers_document(view: ProducersView, statistics: StatisticsView) -> Any:
    """A view and its statistics as plain values for JSON. O(size of the view)."""
    producers = [_producer(row, view) for row in view.producers]
    return document(extended(ProducersDocument, view, producers=producers, totals=view.foot, statistics=statistics))


def _producer(row: ProducerRow, view: ProducersView) -> Producer:
    """A row with its opened partitions by reason, those whose connection is lost, and those the last step opened."""
    cells = view.matrix[row.number]
    opened = {word: np.flatnonzero((cells & REASON) == code).tolist() for code, word in enumerate(OPENED_BY, start=1)}
    lost, fresh = (np.flatnonzero(cells & bit).tolist() for bit in (LOST, FRESH))
    return extended(Producer, row, partitions=opened, lost=lost, fresh=fresh)
