"""What the screen "producers" shows of one partitioned topic, as plain values.

Producers are referred to by their number in the order of creation, which is their place in ``ProducersView.producers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.routing.clients import OtherRoute
from engine.routing.explain import SendExplanation
from engine.routing.producers.rates import Burst
from engine.views.failover.model import Notice, TimelineView

NOT_OPEN: Final = 0
EAGER, LAZY_START, ROUTER, KEY, ADDED = range(1, 6)
"""Why a producer has an object at a partition: the values of a cell of the matrix, below ``LOST``."""
REASON: Final = 7
"""The bits of a cell that say why."""
LOST: Final = 8
"""This bit: opened once, the connection is lost."""
FRESH: Final = 16
"""This bit: opened by the last step."""


@dataclass(frozen=True, slots=True)
class ProducerRow:
    """One partitioned producer. ``name`` is that of its first partition, "" without any; ``tag`` and ``colour`` follow
    its number. ``router`` is in words ("round robin", "single", "partial(3)"). ``known`` partitions it counts with,
    ``opened`` it has objects for, ``connected`` of them are. ``reasons`` counts the opened ones from ``EAGER`` to
    ``ADDED``. ``gained`` is what the last step opened. ``last`` says what happened to it last. ``msgs_per_sec`` of
    ``msg_bytes`` is what it sends, None where it has no rate; ``burst`` is what a partition sees of it while it goes
    round by batches.
    """

    number: int
    name: str
    tag: str
    colour: int
    client: str
    router: str
    access_mode: str
    lazy: bool
    state: str
    known: int
    opened: int
    connected: int
    reasons: tuple[int, int, int, int, int]
    sent_msgs: int
    pending_msgs: int
    queue_limit: int
    gained: int
    last: str
    msgs_per_sec: float | None = None
    msg_bytes: int | None = None
    burst: Burst | None = None


@dataclass(frozen=True, eq=False, slots=True)
class PartitionsView:
    """All partitions side by side (int64, one value for each): producer objects, messages published and waiting.

    ``failing`` are those that are not served with the error that brokers give; ``new_from`` is the first that the last
    step added, the number of partitions when it added none.
    """

    producers: NDArray[np.int64]
    messages: NDArray[np.int64]
    pending: NDArray[np.int64]
    failing: tuple[tuple[int, str], ...]
    new_from: int

    @property
    def count(self) -> int:
        return int(self.producers.size)


@dataclass(frozen=True, eq=False, slots=True)
class RatesView:
    """What partitions get a second from producers with rates: messages and bytes, (partitions,) float64.

    ``hottest`` is the partition with most, -1 while nothing is sent; ``busiest_over_average`` its rate beside that of
    all. ``without`` counts partitions that get nothing. ``waiting_msgs_per_sec`` go to partitions whose connection is
    lost, ``failing_msgs_per_sec`` to those that could not be opened. ``fastest`` is the number of the producer that
    sends the hottest partition most, -1 for none, and ``fastest_msgs_per_sec`` that part of its rate. ``peaks`` are the
    messages a second of each partition while bursts of batching producers are there.
    """

    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    hottest: int
    busiest_over_average: float
    without: int
    waiting_msgs_per_sec: float
    failing_msgs_per_sec: float
    fastest: int
    fastest_msgs_per_sec: float
    peaks: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ProducersFoot:
    """What the producers cost: ``broker_producers`` objects of ``pairs`` that eager ones would have, and connections.

    ``busiest`` and ``idle`` partitions: the largest number of objects at one, and how many have none. ``full`` ones
    have as many as ``maxProducersPerTopic`` allows, so that they refuse another.
    """

    producers: int
    ready: int
    partitions: int
    partitions_used: int
    broker_producers: int
    pairs: int
    connections: int
    sent_msgs: int
    pending_msgs: int
    busiest: int
    idle: int
    full: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Producer objects on brokers at one number of partitions, by the way to start; means over random draws."""

    partitions: int
    eager: float
    lazy: float
    partial: float


@dataclass(frozen=True, slots=True)
class CountsView:
    """The same ``producers`` with each way to start: objects (``points``, ascending by partitions) and connections.

    The work is ``messages`` without a key by each producer (what they took, on average); ``lazy`` is meant with the
    routing mode ``lazy_mode``, ``partial`` with ``limit``. ``here`` is the point of the topic's own number of
    partitions, ``connections`` are (eager, lazy, partial) there, and ``forever`` the objects after so many messages
    that no more will be opened. ``observed`` are the objects there are.
    """

    producers: int
    brokers: int
    messages: int
    limit: int
    lazy_mode: str
    observed: int
    here: CurvePoint
    connections: tuple[float, float, float]
    forever: CurvePoint
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, slots=True)
class ProducersStatus:
    """The status line: the topic, how many producers on how many partitions, the setting that merges their statistics.

    ``places`` are all subscriptions and topics that can be shown, ``place`` is the index of this one among them.
    """

    topic: str
    places: tuple[str, ...]
    place: int
    partitions: int
    producers: int
    brokers: int
    by_name: bool
    release: str
    source: str
    step: int
    steps: int
    seed: int
    now_ms: int


@dataclass(frozen=True, slots=True)
class ProducerStep:
    """What one step did: ``opened`` and ``gone`` producer objects, and the rest in words (``effect``, "" for nothing).

    ``kind`` is a word for a glyph, as in ``EventLine``.
    """

    step: int
    kind: str
    text: str
    opened: int
    gone: int
    effect: str


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """One entry of a merged list: whose numbers are added up in it (``producers``, ascending); several: a mixture."""

    name: str
    producers: tuple[int, ...]
    msgs_per_sec: float
    bytes_per_sec: float
    mean_msg_bytes: float

    @property
    def mixture(self) -> bool:
        return len(self.producers) > 1


@dataclass(frozen=True, slots=True)
class StatisticsView:
    """``PartitionedTopicStats`` both ways, and the ``truth``: what each producer really sent.

    ``in_force`` is "by name" or "by position". ``torn_*`` count producers that are spread over several entries.
    """

    in_force: str
    by_name: tuple[StatisticsRow, ...]
    by_position: tuple[StatisticsRow, ...]
    truth: tuple[StatisticsRow, ...]
    torn_by_name: int
    torn_by_position: int
    sentence: str


@dataclass(frozen=True, slots=True)
class SendAnswer:
    """``f``: what the next message of a producer would do. ``elsewhere``: where other clients put its key.

    ``burst`` is that of its rate, None where it has none or goes round one by one.
    """

    number: int
    name: str
    client: str
    key: str | None
    explanation: SendExplanation
    elsewhere: tuple[OtherRoute, ...]
    burst: Burst | None


@dataclass(frozen=True, eq=False, slots=True)
class ProducersView:
    """One screenful of facts. ``matrix`` has a row for each producer and a column for each partition (uint8 cells).

    ``deliveries`` are the last lines of what happened to producers, newest last. ``rates`` is None where no producer
    has one.
    """

    status: ProducersStatus
    producers: tuple[ProducerRow, ...]
    foot: ProducersFoot
    matrix: NDArray[np.uint8]
    partitions: PartitionsView
    counts: CountsView
    events: tuple[ProducerStep, ...]
    timeline: TimelineView
    notices: tuple[Notice, ...]
    deliveries: tuple[str, ...]
    rates: RatesView | None = None
