"""What the producers of a topic would cost with each way to start: eager, lazy, partial."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal

from engine.cluster.producers.state import ProducerTopic
from engine.errors import Rejection
from engine.memo import Remembered
from engine.routing.producers.costs import CountsAt, Workload, counts_over_partitions
from engine.routing.producers.settings import RouterKind
from engine.routing.routers import PartialRoundRobinRouter, SinglePartitionRouter
from engine.views.producers.model import CountsView, CurvePoint

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
