"""The projection of the producers of a partitioned topic for the screen "producers"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from engine.cluster.commands import PassTime, ProducerCommand, RepartitionTopic, SetProducerRate
from engine.cluster.producers.evolve import rate_of
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import (
    ClusterState,
    find_producer_topic,
    shown_places,
)
from engine.cluster.timeline import Step, Timeline
from engine.errors import Rejection
from engine.memo import Remembered
from engine.routing.growth import moved_keys
from engine.routing.producers.costs import CountsAt, Workload, counts_over_partitions
from engine.routing.producers.model import OpenReason, PartitionedProducer, PartitionProducer
from engine.routing.producers.rates import burst_of
from engine.routing.producers.settings import RouterKind
from engine.routing.producers.steps import counts_of
from engine.routing.routers import PartialRoundRobinRouter, SinglePartitionRouter
from engine.views.failover.model import Notice
from engine.views.failover.table import letter_tag
from engine.views.producers.model import (
    ADDED,
    EAGER,
    FRESH,
    LOST,
    OPENED_BY,
    REASON,
    CountsView,
    CurvePoint,
    FailingPartition,
    PartitionsView,
    ProducerRow,
    ProducersFoot,
    ProducersStatus,
    ProducerStep,
    ProducersView,
)
from engine.views.producers.rates import rates_view
from engine.views.producers.words import (
    event_text,
    full_partitions,
    name_of,
    producer_notices,
    rate_text,
    result_text,
    router_text,
    tally_text,
)
from engine.views.timeline import StepLines, first_shown, kind_of, state_before, timeline_view

DEFAULT_LIMIT: Final = 3
CURVE_POINTS: Final = 24
_NAMES: Final[dict[RouterKind, Literal["round robin", "single partition"]]] = {
    "RoundRobinPartition": "round robin",
    "SinglePartition": "single partition",
}

_counts: Remembered[CountsView] = Remembered()


def counts_view(topic: ProducerTopic, observed: int) -> CountsView:
    """The counts for as many producers, brokers and messages a producer as there are now; ``observed`` objects."""
    state = topic.producers
    ready = [producer for producer in state.producers if producer.state == "Ready"]
    taken = sum(mine.next_sequence_id for producer in ready for mine in producer.started.values())
    turns = round(taken / len(ready)) if ready else 0
    routers = [producer.router for producer in ready]
    limits = Counter(router.limit for router in routers if isinstance(router, PartialRoundRobinRouter))
    limit = limits.most_common(1)[0][0] if limits else min(DEFAULT_LIMIT, topic.partitions)
    others = [router for router in routers if not isinstance(router, PartialRoundRobinRouter)]
    single = sum(isinstance(other, SinglePartitionRouter) for other in others) * 2 > len(others)
    mode: RouterKind = "SinglePartition" if single else "RoundRobinPartition"
    how = _How(len(ready), state.brokers, turns, limit, mode, topic.partitions)
    return _counts.get((), (how, observed), lambda: _view(how, observed))


@dataclass(frozen=True, slots=True)
class _How:
    """All that the numbers depend on."""

    producers: int
    brokers: int
    messages: int
    limit: int
    mode: RouterKind
    partitions: int


def _view(how: _How, observed: int) -> CountsView:
    work = Workload(how.producers, how.messages)
    curve = _over(how, work, curve_partitions(how.partitions))
    (here,) = _over(how, work, (how.partitions,))
    (forever,) = _over(how, Workload(how.producers), (how.partitions,))
    connections = tuple(way.connections.value for way in (here.eager, here.lazy, here.partial))
    assert len(connections) == 3
    return CountsView(
        producers=how.producers,
        brokers=how.brokers,
        messages=how.messages,
        limit=how.limit,
        lazy_mode=_NAMES[how.mode],
        observed=observed,
        here=_point(here),
        connections=connections,
        forever=_point(forever),
        points=tuple(map(_point, curve)),
    )


def curve_partitions(partitions: int) -> tuple[int, ...]:
    """Numbers of partitions for a curve up to twice those of the topic, evenly spread, the topic's own among them.

    >>> curve_partitions(3), len(curve_partitions(1000))
    ((1, 2, 3, 4, 5, 6), 24)
    """
    most = 2 * partitions
    if most <= CURVE_POINTS:
        return tuple(range(1, most + 1))
    spread = {round(1 + at * (most - 1) / (CURVE_POINTS - 1)) for at in range(CURVE_POINTS)}
    nearest = min(sorted(spread)[1:-1], key=lambda count: abs(count - partitions))
    return tuple(sorted(spread - {nearest} | {partitions}))


def _over(how: _How, workload: Workload, partitions: tuple[int, ...]) -> tuple[CountsAt, ...]:
    counts = counts_over_partitions(workload, partitions, limit=how.limit, mode=how.mode, brokers=how.brokers)
    assert not isinstance(counts, Rejection), counts
    return counts


def _point(at: CountsAt) -> CurvePoint:
    return CurvePoint(
        at.partitions,
        at.eager.broker_producers.value,
        at.lazy.broker_producers.value,
        at.partial.broker_producers.value,
    )


CODES = {reason: code for code, reason in enumerate(OpenReason, start=1)}


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """What one producer has opened, in that order, side by side: partitions, cells, messages published and waiting.

    ``started`` is what it was made from; while that is the same object, this holds.
    """

    started: Mapping[int, PartitionProducer]
    partitions: NDArray[np.int64]
    cells: NDArray[np.uint8]
    sent: NDArray[np.int64]
    pending: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Matrix:
    """``cells`` is producers x partitions (uint8, without ``FRESH``), of what each producer has now (``_held``)."""

    opened: tuple[Opened, ...]
    cells: NDArray[np.uint8]

    def with_fresh(self, before: Matrix | None) -> NDArray[np.uint8]:
        """The cells, with ``FRESH`` where a partition is newly open; for a new producer all are."""
        cells = self.cells
        if before is None:
            return cells
        rows, columns = (min(now, then) for now, then in zip(cells.shape, before.cells.shape, strict=True))
        fresh = (cells & REASON) != 0
        fresh[:rows, :columns] &= (before.cells[:rows, :columns] & REASON) == 0
        return np.where(fresh, cells | np.uint8(FRESH), cells)


_matrices: Remembered[Matrix] = Remembered()
_latest: dict[int, Opened] = {}
"""Cache of the latest rows by producer number; the next state shares most of them."""


def matrix_of(topic: ProducerTopic) -> Matrix:
    """The matrix of a topic's producers. O(producers x partitions) bytes, and O(partitions opened) of changed ones."""
    return _matrices.get((topic.producers,), (), lambda: _matrix(topic))


def _matrix(topic: ProducerTopic) -> Matrix:
    producers = topic.producers.producers
    cells = np.zeros((len(producers), topic.partitions), dtype=np.uint8)
    opened = tuple(map(_opened, producers))
    for producer, opened_by_one in zip(producers, opened, strict=True):
        held = _held(producer, opened_by_one)
        cells[producer.number, opened_by_one.partitions[held]] = opened_by_one.cells[held]
    _latest.clear()
    _latest.update(enumerate(opened))
    return Matrix(opened, cells)


def _held(producer: PartitionedProducer, opened: Opened) -> NDArray[np.bool_]:
    """Which of the partitions that a producer opened it has now.

    A closed producer gave them up; one that it opened afterwards, in a send that failed, stays with the broker.
    """
    held: NDArray[np.bool_] = (opened.cells & LOST == 0) | (producer.state != "Closed")
    return held


def _opened(producer: PartitionedProducer) -> Opened:
    known = _latest.get(producer.number)
    if known is not None and known.started is producer.started:
        return known
    mine = producer.started.values()
    count = len(mine)
    return Opened(
        producer.started,
        np.fromiter(producer.started, np.int64, count),
        np.fromiter((_cell(started) for started in mine), np.uint8, count),
        np.fromiter((started.sent_msgs for started in mine), np.int64, count),
        np.fromiter((started.pending_msgs for started in mine), np.int64, count),
    )


def _cell(started: PartitionProducer) -> int:
    return CODES[started.opened] if started.connected else CODES[started.opened] | LOST


def summed(partitions: int, opened: Iterable[Opened], what: str) -> NDArray[np.int64]:
    """Per partition the sum over the producers of ``sent`` or ``pending``."""
    total = np.zeros(partitions, dtype=np.int64)
    for opened_by_one in opened:
        total[opened_by_one.partitions] += getattr(opened_by_one, what)
    return total


DELIVERIES_SHOWN: Final = 50
KEYS_COMPARED: Final = 10_000
"""With more known keys, steps do not count those that move."""


def producers_view(timeline: Timeline, topic: str, *, notes: Iterable[Notice] = ()) -> ProducersView:
    """Everything the screen shows at the cursor; producers of this topic must be there.

    Changes are those of the last step; there are none at the opening. O(producers x partitions) bytes, and
    O(partitions opened) for the producers that the step changed.
    """
    state = timeline.state
    now = find_producer_topic(state, topic)
    assert now is not None, f"there are no producers of {topic!r}"
    earlier = state_before(timeline)
    before = find_producer_topic(earlier, topic) if earlier is not None else None
    matrix = matrix_of(now)
    then = _before(before, now, earlier)
    cells = matrix.with_fresh(then)
    rows = tuple(
        _row(now, producer, opened, cells[producer.number])
        for producer, opened in zip(now.producers.producers, matrix.opened, strict=True)
    )
    partitions = _partitions(now, before, matrix)
    foot = _foot(now, rows, partitions)
    return ProducersView(
        status=_status(timeline, now),
        producers=rows,
        foot=foot,
        matrix=cells,
        partitions=partitions,
        counts=counts_view(now, foot.broker_producers),
        events=producer_steps(timeline, topic, earlier),
        timeline=timeline_view(timeline),
        notices=(*producer_notices(state, now), *notes),
        deliveries=_deliveries(now),
        rates=rates_view(now),
    )


def _before(before: ProducerTopic | None, now: ProducerTopic, earlier: ClusterState | None) -> Matrix | None:
    if before is not None:
        return matrix_of(before)
    if earlier is None:
        return None
    # The step that brought the producers opened all they have.
    return Matrix((), np.zeros((0, now.partitions), dtype=np.uint8))


def _row(topic: ProducerTopic, producer: PartitionedProducer, opened: Opened, cells: NDArray[np.uint8]) -> ProducerRow:
    mine = opened.cells[_held(producer, opened)]
    reasons = np.bincount(mine & REASON, minlength=ADDED + 1)[EAGER:].tolist()
    return ProducerRow(
        number=producer.number,
        name=name_of(producer),
        tag=letter_tag(producer.number),
        colour=producer.number,
        client=producer.settings.client.name,
        router=router_text(producer.router),
        access_mode=producer.settings.access_mode,
        lazy=producer.settings.starts_lazily,
        state=producer.state,
        known=producer.partitions,
        opened=mine.size,
        connected=int(np.count_nonzero((mine & LOST) == 0)),
        reasons=dict(zip(OPENED_BY, reasons, strict=True)),
        sent_msgs=int(opened.sent.sum()),
        pending_msgs=int(opened.pending.sum()),
        queue_limit=producer.max_pending_messages,
        gained=int(np.count_nonzero(cells & FRESH)),
        last=result_text(topic.results.get(producer.number)),
        msgs_per_sec=None if producer.rate is None else producer.rate.msgs_per_sec * (producer.state == "Ready"),
        msg_bytes=None if producer.rate is None else producer.rate.size_bytes,
        burst=burst_of(producer),
    )


def _partitions(now: ProducerTopic, before: ProducerTopic | None, matrix: Matrix) -> PartitionsView:
    brokers = now.producers.topic
    return PartitionsView(
        producers=np.fromiter(map(len, brokers.connected), np.int64, brokers.partitions),
        messages=summed(brokers.partitions, matrix.opened, "sent"),
        pending=summed(brokers.partitions, matrix.opened, "pending"),
        failing=tuple(FailingPartition(*one) for one in sorted(brokers.failing.items())),
        new_from=brokers.partitions if before is None else min(before.partitions, brokers.partitions),
    )


def _foot(now: ProducerTopic, rows: tuple[ProducerRow, ...], partitions: PartitionsView) -> ProducersFoot:
    counts = counts_of(now.producers)
    return ProducersFoot(
        producers=len(rows),
        ready=counts.producers,
        partitions=now.partitions,
        partitions_used=counts.partitions_used,
        broker_producers=counts.broker_producers,
        pairs=counts.producers * now.partitions,
        connections=counts.connections,
        sent_msgs=sum(row.sent_msgs for row in rows),
        pending_msgs=sum(row.pending_msgs for row in rows),
        busiest=int(partitions.producers.max(initial=0)),
        idle=now.partitions - counts.partitions_used,
        full=full_partitions(now),
    )


def _status(timeline: Timeline, now: ProducerTopic) -> ProducersStatus:
    state = timeline.state
    places = shown_places(state)
    return ProducersStatus(
        topic=now.topic,
        places=places,
        place=len(places)
        - len(state.producer_topics)
        + [topic.topic for topic in state.producer_topics].index(now.topic),
        partitions=now.partitions,
        producers=len(now.producers.producers),
        brokers=now.producers.brokers,
        by_name=state.settings.aggregatePublisherStatsByProducerName,
        release=state.release,
        source=timeline.source,
        step=timeline.cursor,
        steps=timeline.length,
        seed=timeline.seed,
        now_ms=now.now_ms,
    )


def _deliveries(now: ProducerTopic) -> tuple[str, ...]:
    return tuple(map(event_text, now.recent[-DELIVERIES_SHOWN:]))


def producer_steps(timeline: Timeline, topic: str, before: ClusterState | None) -> tuple[ProducerStep, ...]:
    """The opening and the steps of ``StepLines.up_to_cursor``."""
    opening = () if first_shown(timeline) else (ProducerStep(0, "open", f"open {timeline.source}".rstrip(), 0, 0, ""),)
    return (*opening, *_LINES.up_to_cursor(timeline, topic, before))


def _line(step: Step, topic: str, before: ClusterState, after: ClusterState) -> ProducerStep:
    was, now = find_producer_topic(before, topic), find_producer_topic(after, topic)
    opened = now.tally.opened if now is not None and now is not was else 0
    back = now.tally.reconnected if now is not None and now is not was else 0
    gone = max(0, _objects(was) + opened + back - _objects(now))
    return ProducerStep(step.depth, kind_of(step.command), step.text, opened, gone, _effect(step, was, now))


_LINES: Final = StepLines(_line)


def _objects(topic: ProducerTopic | None) -> int:
    return topic.objects if topic is not None else 0


def _effect(step: Step, was: ProducerTopic | None, now: ProducerTopic | None) -> str:
    if now is None or now is was:
        return ""
    if isinstance(step.command, RepartitionTopic):
        before = was.partitions if was is not None else now.partitions
        return f"{now.partitions - before:,} partitions more{_moved_keys(now, before)}"
    if isinstance(step.command, SetProducerRate):
        return rate_text(rate_of(step.command))
    return tally_text(now.tally) if isinstance(step.command, ProducerCommand | PassTime) else ""


def _moved_keys(now: ProducerTopic, before: int) -> str:
    """How many of the known keys go to another partition from now on, as Java hashes them."""
    if not now.keys or len(now.keys) > KEYS_COMPARED:
        return ""
    moves = moved_keys(now.keys, before, now.partitions)
    assert not isinstance(moves, Rejection), moves
    return f", {len(moves.moved):,} of {len(now.keys):,} known keys move"
