"""A scalable topic in a line of numbers, for limits, metrics and tables over many topics; and the worst
that is seen of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.answer import Column, Kind, about
from engine.diagnosis.model import Verdict
from engine.text import counted, joined
from engine.views.scalable.model import Action, ScalableView
from engine.views.scalable.words import ids_text

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class TopicFigures:
    topic: Annotated[str, about("The full name."), Column("topic", Kind.NAME, 0)]
    blocked: Annotated[
        int, about("Segments that wait for an older one, of all subscriptions.", 0), Column("blocked", Kind.COUNT, 1)
    ]
    stuck: Annotated[
        int, about("Segments in a hand-over that never ends, by two moments.", 0), Column("stuck", Kind.COUNT, 6)
    ]
    unattached: Annotated[
        int, about("Segments that are dealt and have no attached consumer.", 0), Column("unattached", Kind.COUNT, 5)
    ]
    uncovered: Annotated[
        int, about("Active segments that lack a subscription of the topic.", 0), Column("uncovered", Kind.COUNT, 7)
    ]
    consumers: Annotated[int, about("Consumers of all subscriptions.", 0), Column("consumers", Kind.COUNT, 8)]
    idle: Annotated[int, about("Connected ones without a segment.", 0), Column("idle", Kind.COUNT, 2)]
    segments: Annotated[int, about("Active segments.", 0), Column("segments", Kind.COUNT, 9)]
    sealed: Annotated[int, about("Sealed ones that are still listed.", 0), Column("sealed", Kind.COUNT, 10)]
    score: Annotated[
        float | None,
        about("Of the hottest active segment, its greatest rate over the split limit; null without a load record.", 0),
        Column("score", Kind.RATIO, 3),
    ]
    flaps: Annotated[
        int | None,
        about("Splits, merges and rebuckets within the last hour, by their segments; null if the time is unknown.", 0),
        Column("flaps/h", Kind.COUNT, 11),
    ]
    backlog: Annotated[int, about("Messages that are not acknowledged, of all subscriptions."),
                       Column("backlog", Kind.COUNT, 4)]  # fmt: skip
    next: Annotated[Action, about("What the next evaluation does."), Column("next", Kind.WORD, 12)]
    reason: Annotated[str, about("Why, in Pulsar's word; empty where there is nothing to do."),
                      Column("reason", Kind.WORD, 13)]  # fmt: skip


LIMITED = ("blocked", "idle", "uncovered", "unattached", "stuck", "score", "flaps", "backlog", "segments", "sealed")
"""The numbers that a limit can be about."""


@dataclass(frozen=True, slots=True)
class FiguresDocument:
    """What `ringside scalable --all --json` prints: every scalable topic of the answers."""

    FORMAT: ClassVar[str] = ScalableView.FORMAT

    topics: Annotated[Sequence[TopicFigures], about("The topics, the worst first.")]


def figures_of(view: ScalableView) -> TopicFigures:
    rows = view.subscriptions
    consumers = [one for row in rows for one in row.consumers]
    step = view.next.steps[0] if view.next.steps else None
    active = (one for one in view.segments if one.state == "ACTIVE")
    return TopicFigures(
        topic=view.topic,
        blocked=sum(len({wait.segment for wait in row.waits}) for row in rows),
        stuck=sum(len(one.stuck) for one in consumers),
        unattached=sum(len(row.unassigned) for row in rows),
        uncovered=sum(len(row.uncovered) for row in rows),
        consumers=len(consumers),
        idle=sum(1 for one in consumers if one.idle and one.connected),
        segments=view.next.active,
        sealed=len(view.segments) - view.next.active,
        score=max((one.score for one in active if one.score is not None), default=None),
        flaps=None if view.time_ms is None else sum(abs(view.time_ms - at) < HOUR_MS for at in view.changes_ms),
        backlog=sum(row.backlog for row in rows),
        next=step.action if step is not None else "none",
        reason=(step.reason if step is not None else "") or view.next.blocked_reason or "",
    )


def worst_first(figures: Iterable[TopicFigures]) -> tuple[TopicFigures, ...]:
    """What harms most first: hand-overs that never end, segments without a consumer, waiting, idle consumers, heat."""
    return tuple(
        sorted(
            figures,
            key=lambda one: (-one.stuck, -one.unattached, -one.blocked, -one.idle, -(one.score or 0.0), one.topic),
        )
    )


@dataclass(frozen=True, slots=True)
class Trouble:
    verdict: Verdict
    cause: str
    what: str


def trouble_of(view: ScalableView) -> Trouble | None:
    """What somebody has to act on, the worst first; None for nothing."""
    found: list[Trouble] = []
    for row in view.subscriptions:
        for one in row.consumers:
            if one.stuck:
                text = f"{row.name}: {one.name} holds {ids_text(one.stuck)} in a hand-over that never ends"
                found.append(Trouble(Verdict.BLOCKS, "stuck_hand_over", text))
        nobody = [wait for wait in row.waits if wait.reason == "no_consumer"]
        waiting = {wait.segment for wait in row.waits}
        if nobody:
            first = nobody[0]
            text = f"{row.name}: {ids_text(waiting)} wait for {first.ancestor}, which nobody reads"
            found.append(Trouble(Verdict.BLOCKS, "segment_unread", text))
        elif row.unassigned:
            text = f"{row.name}: no consumer is attached to {ids_text(row.unassigned)}"
            found.append(Trouble(Verdict.BLOCKS, "segment_unassigned", text))
        elif waiting:
            rest = sum({wait.ancestor: wait.backlog for wait in row.waits}.values())
            text = f"{row.name}: {ids_text(waiting)} wait until {counted(rest, 'message')} are acknowledged"
            found.append(Trouble(Verdict.SLOWS, "segment_waits", text))
        idle = [one.name for one in row.consumers if one.idle and one.connected]
        if idle:
            text = f"{row.name}: {joined(idle)} {'has' if len(idle) == 1 else 'have'} no segment"
            found.append(Trouble(Verdict.UNEVEN, "consumer_idle", text))
    return min(found, key=lambda one: one.verdict.rank, default=None)
