"""What the screen of a scalable topic shows: one topic at one step, one of its subscriptions in full.

As opened, everything is as brokers printed it; from the first step on it is what the simulation would print.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Annotated, Final

from msgspec import Struct, structs

from engine.admin.moments import Moment
from engine.admin.scalable import ScalableFacts
from engine.answer import Column, Kind, about
from engine.cluster.scalable.opening import statistics_of
from engine.cluster.scalable.running import Happening, Running, passed
from engine.cluster.state import find_scalable_topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.memo import LazyRows, Remembered
from engine.text import joined
from engine.views.failover.model import Notice, TimelineView
from engine.views.failover.table import letter_tag
from engine.views.scalable.model import ConsumerRow, ScalableView, SegmentRow, SubscriptionRow
from engine.views.scalable.view import scalable_view
from engine.views.scalable.words import consumer_remark, share_text
from engine.views.timeline import timeline_view

AHEAD_MS: Final = 30 * 60_000
"""How far the automatic steps are shown ahead."""
NOBODY: Final = -1


@dataclass(frozen=True, slots=True)
class ScalableStatus:
    """The status line. ``places`` is everything that can be shown, ``topic`` is one of it."""

    topic: str
    places: tuple[str, ...]
    subscription: str
    subscriptions: int
    release: str
    source: str
    step: int
    steps: int
    seed: int
    now_ms: int
    as_reported: bool


class Piece(Struct, frozen=True):
    """An active segment on the ring, with numbers of consumers.

    ``dealt`` has the consumer of each bucket, one for a whole segment, none while it waits. ``reading`` are those that
    are attached to it now, or to what it waits for.
    """

    segment: int
    start: int
    end: int
    dealt: tuple[int, ...]
    reading: tuple[int, ...]
    waits: bool


class TreeSegment(Struct, frozen=True):
    """A segment in the family tree: ``generation`` is 0 for one without listed parents.

    ``consumers`` are numbers; a sealed segment that somebody still reads has them, too.
    """

    segment: int
    generation: int
    start: int
    end: int
    active: bool
    drained: bool
    waits: bool
    consumers: tuple[int, ...]


class SegmentLine(Struct, frozen=True):
    segment: Annotated[int, about("The segment's id."), Column("segment", Kind.ID, 0)]
    range: Annotated[str, about("Its hashes, of 0000 to ffff."), Column("range", Kind.WORD, 2)]
    state: Annotated[str, about("Active, waiting, draining, or sealed and drained."), Column("state", Kind.WORD, 1)]
    consumers: Annotated[str, about("Letters of the consumers that read it."), Column("read by", Kind.WORD, 4)]
    buckets: Annotated[int, about("Its entry buckets."), Column("buckets", Kind.COUNT, 8)]
    msg_rate_in: Annotated[
        float | None, about("Messages in per second, by its load record."), Column("in/s", Kind.RATE, 6)
    ]
    msg_rate_out: Annotated[
        float | None, about("Messages out per second, by its load record."), Column("out/s", Kind.RATE, 7)
    ]
    score: Annotated[
        float | None, about("Greatest rate over its split limit; above 1 it is split."), Column("score", Kind.RATIO, 5)
    ]
    backlog: Annotated[
        int | None, about("Messages of all subscriptions that are not acknowledged."), Column("backlog", Kind.COUNT, 3)
    ]
    owner: Annotated[str, about("The broker that owns it."), Column("broker", Kind.NAME, 9)]


class ConsumerLine(Struct, frozen=True):
    number: int
    tag: Annotated[str, about("Its letter."), Column("", Kind.WORD, 0)]
    name: Annotated[str, about("Its name."), Column("consumer", Kind.NAME, 1)]
    segments: Annotated[
        str, about("The segments that it is dealt; of shared ones its buckets."), Column("segments", Kind.NAME, 2)
    ]
    unacked: Annotated[int, about("Delivered, not acknowledged."), Column("unacked", Kind.COUNT, 4)]
    state: Annotated[str, about("What is unusual: idle, moving, stuck, lost."), Column("state", Kind.WORD, 3)]
    remark: Annotated[str, about("The same in a sentence."), Column("", Kind.NAME, 6)]


@dataclass(frozen=True, eq=False, slots=True)
class ScalableDashboard:
    """Everything on the screen. ``subscription`` is None where the topic has none."""

    status: ScalableStatus
    timeline: TimelineView
    notices: tuple[Notice, ...]
    view: ScalableView
    subscription: SubscriptionRow | None
    pieces: tuple[Piece, ...]
    tree: tuple[TreeSegment, ...]
    segments: Sequence[SegmentLine]
    consumers: tuple[ConsumerLine, ...]
    happenings: tuple[Happening, ...]
    running: Running


@dataclass(frozen=True, slots=True)
class Drawn:
    """What of it follows from the segments and the subscription that is shown; remembered while time passes."""

    pieces: tuple[Piece, ...]
    tree: tuple[TreeSegment, ...]
    segments: Sequence[SegmentLine]
    consumers: tuple[ConsumerLine, ...]


_views: Remembered[ScalableView] = Remembered()
_drawn: Remembered[Drawn] = Remembered()
_shown_of: Final = attrgetter(
    "id", "start", "end", "state", "parents", "buckets", "msg_rate_in", "msg_rate_out", "score", "backlog", "owner"
)
"""What is drawn of a segment: the age of its load record, which every step changes, is not."""
_UNNUMBERED: Final[Mapping[str, int]] = {}


def scalable_dashboard(
    timeline: Timeline,
    topic: str,
    subscription: str = "",
    *,
    places: tuple[str, ...] = (),
    reported: tuple[Moment, Moment | None] | None = None,
    notes: Iterable[Notice] = (),
) -> ScalableDashboard:
    """The topic at the cursor. ``reported`` is the moment that is shown, and the one before it.

    ``subscription`` is shown in full, the first one where there is none of that name.
    """
    now = find_scalable_topic(timeline.state, topic)
    assert now is not None, f"there is no scalable topic {topic!r}"
    running = now.running
    printed = reported if timeline.cursor == 0 and reported and topic in reported[0].snapshot.scalable else None
    view = _reported_view(running, *printed) if printed is not None else simulated_view(running)
    names = [one.name for one in view.subscriptions]
    chosen = next((one for one in view.subscriptions if one.name == subscription), None)
    row = chosen or next(iter(view.subscriptions), None)
    group = running.groups.get(row.name) if row is not None else None
    numbers = group.numbers if group is not None else _UNNUMBERED
    shown = tuple(map(_shown_of, view.segments))
    drawn = _drawn.get((row, numbers), (shown,), lambda: _new_drawn(view.segments, row, numbers))
    return ScalableDashboard(
        status=ScalableStatus(
            topic,
            places,
            row.name if row is not None else "",
            len(names),
            timeline.state.release,
            timeline.source,
            timeline.cursor,
            len(timeline.steps),
            timeline.seed,
            running.now_ms,
            printed is not None,
        ),
        timeline=timeline_view(timeline),
        notices=tuple(notes),
        view=view,
        subscription=row,
        pieces=drawn.pieces,
        tree=drawn.tree,
        segments=drawn.segments,
        consumers=drawn.consumers,
        happenings=running.log,
        running=running,
    )


def simulated_view(running: Running, keys: tuple[str, ...] = ()) -> ScalableView:
    """What the rules say of a topic that runs here; remembered by its state."""
    return _views.get((running,), (keys,), lambda: _view_of(_facts(running), running, keys, None))


def _facts(running: Running) -> ScalableFacts:
    return ScalableFacts(running.topic, running.layout, statistics_of(running))


def _view_of(
    facts: ScalableFacts, running: Running, keys: tuple[str, ...], before: ScalableFacts | None
) -> ScalableView:
    most = running.settings.entryBucketMaxPerSegment
    view = scalable_view(facts, running.now_ms, keys, before=before, max_buckets=most)
    assert not isinstance(view, Rejection), view
    return _with_stuck(view, running) if before is None else view


def _with_stuck(view: ScalableView, running: Running) -> ScalableView:
    """The view with the hand-overs that the simulation knows to be stuck."""
    stuck = {
        (name, consumer, segment_id)
        for name, group in running.groups.items()
        for segment_id, attachment in group.attached.items()
        for consumer in attachment.stuck
    }
    if not stuck:
        return view
    rows = []
    for row in view.subscriptions:
        consumers = tuple(
            structs.replace(one, stuck=tuple(at for at in one.losing if (row.name, one.name, at) in stuck))
            for one in row.consumers
        )
        rows.append(structs.replace(row, consumers=consumers))
    return structs.replace(view, subscriptions=tuple(rows))


def _reported_view(running: Running, moment: Moment, before: Moment | None) -> ScalableView:
    earlier = before.snapshot.scalable.get(running.topic) if before is not None else None
    facts = moment.snapshot.scalable[running.topic]
    return _views.get((facts, running), (), lambda: _view_of(facts, running, (), earlier or facts))


def keys_answered(dashboard: ScalableDashboard, keys: tuple[str, ...]) -> ScalableView:
    """The view with these keys, at the same state."""
    return simulated_view(dashboard.running, keys)


def _new_drawn(segments: tuple[SegmentRow, ...], row: SubscriptionRow | None, known: Mapping[str, int]) -> Drawn:
    # The numbers of consumers, for letters and colours, stay when others come and go.
    numbers = dict(known)
    consumers = row.consumers if row is not None else ()
    for one in consumers:
        numbers.setdefault(one.name, len(numbers))
    readers = _readers(row, numbers)
    waiting = {wait.segment for wait in row.waits} if row is not None else set()
    undrained = {wait.ancestor for wait in row.waits} if row is not None else set()
    return Drawn(
        _pieces(segments, row, numbers, readers),
        _tree(segments, waiting, undrained, readers),
        LazyRows(len(segments), lambda at: _segment_line(segments[at], waiting, undrained, readers)),
        tuple(_consumer_line(one, numbers) for one in consumers),
    )


def _readers(row: SubscriptionRow | None, numbers: Mapping[str, int]) -> dict[int, tuple[int, ...]]:
    """Who reads each segment now: those that are to leave it while there are any, else those that are printed."""
    reading: dict[int, list[int]] = {}
    leaving: dict[int, list[int]] = {}
    for one in row.consumers if row is not None else ():
        for segment_id in one.reported if one.connected else ():
            reading.setdefault(segment_id, []).append(numbers[one.name])
        for segment_id in one.losing if one.connected else ():
            leaving.setdefault(segment_id, []).append(numbers[one.name])
    return {one: tuple(leaving.get(one) or each) for one, each in reading.items()}


def _dealt(row: SubscriptionRow | None, numbers: Mapping[str, int]) -> dict[int, tuple[int, ...]]:
    """By segment the consumer of each bucket, or the one that has it whole."""
    dealt: dict[int, tuple[int, ...]] = {}
    buckets: dict[int, list[int]] = {}
    for one in row.consumers if row is not None else ():
        for share in one.computed or ():
            if share.buckets == 0:
                dealt[share.segment] = (numbers[one.name],)
            elif share.first_bucket is not None and share.last_bucket is not None:
                of_buckets = buckets.setdefault(share.segment, [NOBODY] * share.buckets)
                for at in range(share.first_bucket, share.last_bucket + 1):
                    of_buckets[at] = numbers[one.name]
    return dealt | {one: tuple(each) for one, each in buckets.items()}


def _pieces(
    segments: tuple[SegmentRow, ...],
    row: SubscriptionRow | None,
    numbers: Mapping[str, int],
    readers: Mapping[int, tuple[int, ...]],
) -> tuple[Piece, ...]:
    dealt = _dealt(row, numbers)
    ancestors: dict[int, list[int]] = {}
    for wait in row.waits if row is not None else ():
        ancestors.setdefault(wait.segment, []).append(wait.ancestor)
    queue = row is not None and row.type == "QUEUE"
    pieces: list[Piece] = []
    for one in segments:
        if one.state == "ACTIVE":
            reading = readers.get(one.id, ())
            for ancestor in ancestors.get(one.id, ()):
                reading = tuple(dict.fromkeys((*reading, *readers.get(ancestor, ()))))
            of_it = reading if queue else dealt.get(one.id, ())
            pieces.append(Piece(one.id, one.start, one.end, of_it, reading, one.id in ancestors))
    return tuple(pieces)


def _tree(
    segments: tuple[SegmentRow, ...], waiting: set[int], undrained: set[int], readers: Mapping[int, tuple[int, ...]]
) -> tuple[TreeSegment, ...]:
    by_id = {one.id: one for one in segments}
    generations: dict[int, int] = {}

    @cache
    def generation_below(parents: tuple[int, ...]) -> int:
        return max((generations[one] for one in parents if one in generations), default=-1) + 1

    for segment_id in sorted(by_id):  # parents have smaller ids; a layout that says otherwise loses only its order
        generations[segment_id] = generation_below(by_id[segment_id].parents)
    return tuple(
        TreeSegment(
            one.id,
            generations[one.id],
            one.start,
            one.end,
            one.state == "ACTIVE",
            one.state != "ACTIVE" and one.id not in undrained,
            one.id in waiting,
            readers.get(one.id, ()),
        )
        for one in segments
    )


def _segment_line(
    one: SegmentRow, waiting: set[int], undrained: set[int], readers: Mapping[int, tuple[int, ...]]
) -> SegmentLine:
    state = "waits" if one.id in waiting else "active"
    if one.state != "ACTIVE":
        state = "draining" if one.id in undrained else "sealed"
    return SegmentLine(
        segment=one.id,
        range=f"{one.start:04x}-{one.end:04x}",
        state=state,
        consumers=" ".join(letter_tag(number) for number in readers.get(one.id, ())[:8]),
        buckets=one.buckets,
        msg_rate_in=one.msg_rate_in,
        msg_rate_out=one.msg_rate_out,
        score=one.score,
        backlog=one.backlog,
        owner=one.owner or "",
    )


def _consumer_line(one: ConsumerRow, numbers: Mapping[str, int]) -> ConsumerLine:
    if one.computed is None:
        segments = "every one"
    else:
        segments = joined([share_text(share) for share in one.computed], at_most=6) if one.computed else "none"
    state = "stuck" if one.stuck else "moving" if one.losing or one.gaining else "idle" if one.idle else ""
    return ConsumerLine(
        number=numbers[one.name],
        tag=letter_tag(numbers[one.name]),
        name=one.name,
        segments=segments,
        unacked=one.unacked,
        state=state if one.connected else "lost",
        remark=consumer_remark(one),
    )


def steps_ahead(running: Running, duration_ms: int = AHEAD_MS) -> tuple[Happening, ...]:
    """What the controller and clients do by themselves within this time, if traffic stays and nobody acts."""
    return passed(replace(running, log=()), running.now_ms + duration_ms).log
