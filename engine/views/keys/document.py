"""The screen "keys" as one JSON document: everything it shows, with consumer ids instead of positions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Struct

from engine.answer import about, extended
from engine.compare.verdict import Verdict
from engine.documents import document
from engine.views.failover.model import Notice, Step, TimelineView
from engine.views.keys.model import (
    GapRow,
    KeyConsumerRow,
    KeysFoot,
    KeysStatus,
    KeysView,
    LuckView,
    PartitionsView,
    StepMoves,
    WaitRow,
)
from engine.views.reported.model import ReportedView


class KeyConsumer(KeyConsumerRow, frozen=True):
    """One consumer."""

    pieces: Annotated[
        tuple[tuple[int, int], ...],
        about("Its pieces of the hash space, first and last slot; a shared one is with the first that shares it.", 0),
    ] = ()


class KnownKey(Struct, frozen=True):
    key: Annotated[str, about("Its text; bytes that are not text are written hex:...")]
    partition: Annotated[
        int,
        about("The partition it goes to; null without partitions, or where the key does not decide.", 0, null=-1),
    ]
    slot: Annotated[int, about("The slot of its hash.", 0)]
    consumer: Annotated[str | None, about("Name of the consumer that gets it; null for nobody.")]
    consumer_id: Annotated[int, about("Id of that consumer.", 0, place=True)]
    moved: Annotated[bool, about("Whether the last step gave it to another consumer.")]


class KeysEvent(Step, frozen=True):
    """One step."""

    moved: Annotated[
        int,
        about(
            "Slots that had an owner before and have another one, or none, after the step; 0 where partitions is 0.", 0
        ),
    ]
    least: Annotated[int, about("How many of them had to.", 0)]
    partitions: Annotated[
        int,
        about("Slots that occur; 0 where the step led to another slot space, so that only keys can be compared.", 0),
    ]
    unacked_at_risk: Annotated[
        int,
        about("Always 0: a slot waits until its former consumer has acknowledged, or its messages come again.", 0),
    ]
    moved_keys: Annotated[
        int,
        about(
            "Known keys that had a consumer before and have another one, or none, after the step; also where slots"
            " cannot be compared.",
            0,
        ),
    ]
    verdict: Annotated[
        Verdict | None, about("The verdict on the step; null for one that gives nobody's work to others.")
    ]


class KeysDocument(Struct, frozen=True):
    """Everything that the screen "keys" shows of one Key_Shared subscription at one step."""

    FORMAT: ClassVar[str] = "ringside.keys/1"
    status: Annotated[KeysStatus, about("The status line.")]
    consumers: Annotated[tuple[KeyConsumer, ...], about("The consumers in the order of joining.")]
    totals: Annotated[
        KeysFoot,
        about("Sums over all consumers; ratios are largest divided by mean, 0 when there is nothing to divide."),
    ]
    keys: Annotated[tuple[KnownKey, ...], about("The known keys, ascending by slot.")]
    waits: Annotated[tuple[WaitRow, ...], about("Slots whose messages wait.")]
    gaps: Annotated[tuple[GapRow, ...], about("Ranges of slots that nobody has, the widest first.")]
    luck: Annotated[LuckView, about("How the known keys fall on the consumers, and what chance gives on equal shares.")]
    moves: Annotated[StepMoves, about("What the last step moved.")]
    events: Annotated[tuple[KeysEvent, ...], about("The opening and the latest steps, oldest first.")]
    timeline: Annotated[TimelineView, about("The current branch.")]
    notices: Annotated[tuple[Notice, ...], about("What to know about the numbers.")]
    partitions: Annotated[PartitionsView | None, about("All partitions, whatever is shown; null without partitions.")]
    reported: Annotated[
        ReportedView | None, about("What brokers reported of the subscription; null where no answer shows it.")
    ]
    deliveries: Annotated[tuple[str, ...], about("What was sent last, newest last; at most 50 lines.")]


def keys_document(view: KeysView) -> Any:
    """A view as plain values for JSON. O(size of the view)."""
    whole = extended(
        KeysDocument,
        view,
        consumers=[
            extended(KeyConsumer, row, pieces=pieces) for row, pieces in zip(view.consumers, _pieces(view), strict=True)
        ],
        totals=view.foot,
        keys=_keys(view),
        events=[extended(KeysEvent, line) for line in view.events],
    )
    return document(whole, [row.consumer_id for row in view.consumers])


def _pieces(view: KeysView) -> list[list[tuple[int, int]]]:
    """The pieces of the drawn hash space of each consumer, first and last slot; a shared one under its first owner."""
    ends, owners = view.ring.points.tolist(), view.ring.point_owners.tolist()
    counted = view.status.partitions if view.status.drawn_partition >= 0 else 1
    start = view.ring.space_size - view.foot.slots // counted
    pieces: list[list[tuple[int, int]]] = [[] for _ in view.consumers]
    for end, owner in zip(ends, owners, strict=True):
        if owner >= 0:
            pieces[owner].append((start, end))
        start = end + 1
    return pieces


def _keys(view: KeysView) -> tuple[KnownKey, ...]:
    ring = view.ring
    columns = (ring.topic_names, ring.topic_hashes.tolist(), ring.topic_owners.tolist(), ring.topic_moved.tolist())
    return tuple(
        KnownKey(name, partition, slot, view.consumers[owner].name if owner >= 0 else None, owner, moved)
        for name, slot, owner, moved, partition in zip(*columns, view.key_partitions, strict=True)
    )
