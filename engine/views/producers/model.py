"""What the screen "producers" shows of one partitioned topic, as plain values.

Producers are referred to by their number in the order of creation, which is their place in ``ProducersView.producers``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.answer import about
from engine.routing.clients import OtherRoute
from engine.routing.explain import SendExplanation
from engine.routing.producers.model import HandlerState
from engine.routing.producers.rates import Burst
from engine.routing.producers.settings import AccessMode
from engine.views.failover.model import Notice, Step, TimelineView

NOT_OPEN: Final = 0
EAGER, LAZY_START, ROUTER, KEY, ADDED = range(1, 6)
"""Why a producer has an object at a partition: the values of a cell of the matrix, below ``LOST``."""
OpenedBy = Literal["eager start", "lazy start", "router", "key", "partition added"]
OPENED_BY: Final[tuple[OpenedBy, ...]] = get_args(OpenedBy)
"""The words for the reasons of cells, from ``EAGER`` on."""
REASON: Final = 7
"""The bits of a cell that say why."""
LOST: Final = 8
"""This bit: opened once, the connection is lost."""
FRESH: Final = 16
"""This bit: opened by the last step."""


class ProducerRow(Struct, frozen=True):
    """One partitioned producer; its letters and colour follow its number."""

    number: Annotated[int, about("Its place in the order of creation.", 0)]
    name: Annotated[str, about("Its name at its first partition, empty where it never had one.")]
    tag: Annotated[str, about("Its letters on the screen.")]
    colour: Annotated[int, about("Its colour on the screen.", 0)]
    client: Annotated[str, about("The client library.")]
    router: Annotated[str, about("Its router in words.")]
    access_mode: Annotated[AccessMode, about("Its access mode.")]
    lazy: Annotated[bool, about("Whether it starts lazily.")]
    state: Annotated[HandlerState, about("Its state.")]
    known: Annotated[int, about("How many partitions it counts with.", 1)]
    opened: Annotated[int, about("How many it has opened.", 0)]
    connected: Annotated[int, about("To how many of them it is connected.", 0)]
    reasons: Annotated[Mapping[OpenedBy, int], about("How many partitions it opened for each reason.", 0)]
    sent_msgs: Annotated[int, about("Messages published.", 0)]
    pending_msgs: Annotated[int, about("Messages that wait for a connection.", 0)]
    queue_limit: Annotated[int, about("How many may wait at one partition, 0 for no limit.", 0)]
    gained: Annotated[int, about("How many the last step opened.", 0)]
    last: Annotated[str, about("What happened to it last.")]
    msgs_per_sec: Annotated[
        float | None,
        about("Messages a second that it sends, null where it has no rate.", 0),
    ]
    msg_bytes: Annotated[
        int | None,
        about("Bytes of each of these messages, null where it has no rate.", 0),
    ]
    burst: Annotated[
        Burst | None,
        about("What a partition sees of it while it goes round by batches; null where it does not, or has no rate."),
    ]


class FailingPartition(Struct, frozen=True):
    partition: Annotated[int, about("Its number.", 0)]
    error: Annotated[str, about("What brokers answer.")]


class PartitionsView(Struct, frozen=True, eq=False):
    """All partitions, one value for each."""

    producers: Annotated[NDArray[np.int64], about("Producer objects.", 0)]
    messages: Annotated[NDArray[np.int64], about("Messages published.", 0)]
    pending: Annotated[NDArray[np.int64], about("Messages waiting.", 0)]
    failing: Annotated[tuple[FailingPartition, ...], about("Those that are not served.")]
    new_from: Annotated[
        int, about("The first that the last step added, the number of partitions when it added none.", 0)
    ]

    @property
    def count(self) -> int:
        return int(self.producers.size)


class RatesView(Struct, frozen=True, eq=False):
    """What partitions get a second from producers with rates, (partitions,) float64."""

    msgs_per_sec: Annotated[NDArray[np.float64], about("Messages a second that each partition takes.", 0)]
    bytes_per_sec: Annotated[NDArray[np.float64], about("Bytes a second that each partition takes.", 0)]
    hottest: Annotated[int, about("The partition with most messages a second, null while nothing is sent.", 0, null=-1)]
    busiest_over_average: Annotated[
        float, about("Its messages a second beside the average of all partitions, 0 while nothing is sent.", 0)
    ]
    without: Annotated[int, about("How many partitions get nothing.", 0)]
    waiting_msgs_per_sec: Annotated[float, about("Messages a second for partitions whose connection is lost.", 0)]
    failing_msgs_per_sec: Annotated[float, about("Messages a second for partitions that could not be opened.", 0)]
    fastest: Annotated[
        int, about("The number of the producer that sends the hottest partition most, null for none.", 0, null=-1)
    ]
    fastest_msgs_per_sec: Annotated[float, about("Messages a second that it sends there.", 0)]
    peak_msgs_per_sec: Annotated[
        NDArray[np.float64],
        about(
            "Messages a second of each partition while bursts of batching producers are there: the most where clients'"
            " clocks agree.",
            0,
        ),
    ]


class ProducersFoot(Struct, frozen=True):
    """What the producers cost."""

    producers: Annotated[int, about("All of them.", 0)]
    ready: Annotated[int, about("Those that are neither closed nor fenced.", 0)]
    partitions: Annotated[int, about("Of the topic.", 1)]
    partitions_used: Annotated[int, about("Partitions with any producer.", 0)]
    broker_producers: Annotated[int, about("Producer objects on brokers.", 0)]
    pairs: Annotated[int, about("Objects that as many eager producers would have.", 0)]
    connections: Annotated[int, about("Connections of clients to brokers.", 0)]
    sent_msgs: Annotated[int, about("Messages published.", 0)]
    pending_msgs: Annotated[int, about("Messages waiting.", 0)]
    busiest: Annotated[int, about("The largest number of objects at one partition.", 0)]
    idle: Annotated[int, about("Partitions without any.", 0)]
    full: Annotated[int, about("Partitions with as many producers as maxProducersPerTopic allows.", 0)]


class CurvePoint(Struct, frozen=True):
    """Producer objects on brokers at one number of partitions, by the way to start; means over random draws."""

    partitions: Annotated[int, about("How many partitions.", 1)]
    eager: Annotated[float, about("Objects when all partitions are opened at creation.", 0)]
    lazy: Annotated[float, about("Objects of lazy producers with the routing mode lazy_mode.", 0)]
    partial: Annotated[float, about("Objects of lazy producers with partial round robin.", 0)]


class CountsView(Struct, frozen=True):
    """The same producers with each way to start; the work is ``messages`` without a key by each of them."""

    producers: Annotated[int, about("How many.", 0)]
    brokers: Annotated[int, about("How many.", 1)]
    messages: Annotated[int, about("Messages without a key that each takes.", 0)]
    limit: Annotated[int, about("The limit of partial round robin.", 1)]
    lazy_mode: Annotated[Literal["round robin", "single partition"], about("The routing mode of lazy.")]
    observed: Annotated[int, about("Objects there are.", 0)]
    here: Annotated[CurvePoint, about("At the topic's number of partitions.")]
    connections: Annotated[tuple[float, float, float], about("Connections there: eager, lazy, partial.", 0)]
    forever: Annotated[CurvePoint, about("After so many messages that all is open that will be.")]
    points: Annotated[tuple[CurvePoint, ...], about("Ascending by partitions.")]


class ProducersStatus(Struct, frozen=True):
    """The status line."""

    topic: Annotated[str, about("The partitioned topic.")]
    places: Annotated[tuple[str, ...], about("All subscriptions and topics that can be shown.")]
    place: Annotated[int, about("Where this topic stands among them.", 0)]
    partitions: Annotated[int, about("How many it has.", 1)]
    producers: Annotated[int, about("How many there are, closed ones included.", 0)]
    brokers: Annotated[int, about("How many brokers serve it; partition i is on broker i mod brokers.", 1)]
    by_name: Annotated[bool, about("The setting aggregatePublisherStatsByProducerName.")]
    release: Annotated[str, about("The Pulsar version.")]
    source: Annotated[str, about("Where the state is from.")]
    step: Annotated[int, about("The step shown.", 0)]
    steps: Annotated[int, about("Steps of this branch.", 0)]
    seed: Annotated[int, about("Decides what clients draw at random.")]
    now_ms: Annotated[int, about("Simulated time in milliseconds.", 0)]


class ProducerStep(Step, frozen=True):
    """What one step did."""

    opened: Annotated[int, about("Producer objects opened.", 0)]
    gone: Annotated[int, about("Producer objects gone.", 0)]
    effect: Annotated[str, about("The rest in words.")]


class StatisticsRow(Struct, frozen=True):
    """One entry of a merged list; several producers make a mixture."""

    name: Annotated[str, about("The producer's name, empty where the entry has none.")]
    producers: Annotated[
        tuple[int, ...], about("Numbers of the producers whose messages are added up in it, ascending.", 0)
    ]
    msgs_per_sec: Annotated[float, about("Messages per second; the whole history counts as one minute.", 0)]
    bytes_per_sec: Annotated[float, about("Bytes per second.", 0)]
    mean_msg_bytes: Annotated[float, about("Bytes of a message on average, as Pulsar takes the average.", 0)]

    @property
    def mixture(
        self,
    ) -> Annotated[bool, about("Whether it adds up several producers, so that its numbers are nobody's.")]:
        return len(self.producers) > 1


class MergedStatistics(Struct, frozen=True):
    entries: Annotated[tuple[StatisticsRow, ...], about("The list.")]
    torn: Annotated[int, about("Producers that are spread over several entries.", 0)]


class StatisticsView(Struct, frozen=True):
    """``PartitionedTopicStats`` both ways, and the truth."""

    in_force: Annotated[Literal["by name", "by position"], about("Which the setting asks for.")]
    sentence: Annotated[str, about("How right the list in force is.")]
    by_name: Annotated[MergedStatistics, about("Merged by the producers' names, where the client supports it.")]
    by_position: Annotated[MergedStatistics, about("Merged by the position in each partition's list.")]
    truth: Annotated[tuple[StatisticsRow, ...], about("What each connected producer really sent.")]


class SendAnswer(Struct, frozen=True):
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


class ProducersView(Struct, frozen=True, eq=False):
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
