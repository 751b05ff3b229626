"""What brokers reported of one subscription, as a screen shows it beside what is computed.

Consumers are referred to by their *position* among the rows of the view; -1 means one that has no row.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from engine.answer import about

Obstacle = Literal["subscription-unacked", "consumer-unacked", "no-permits", "draining"]
SUBSCRIPTION_LIMIT: Final[Obstacle] = "subscription-unacked"
"""The subscription is blocked on unacknowledged messages, so nobody gets any."""
CONSUMER_LIMIT: Final[Obstacle] = "consumer-unacked"
"""The consumer is blocked on its unacknowledged messages."""
NO_PERMITS: Final[Obstacle] = "no-permits"
"""The consumer has asked for no message, although some could be sent to it."""
DRAINING: Final[Obstacle] = "draining"
"""Messages for the consumer were held back for slots that drain at another one."""


BLOCKED_TOPICS_LISTED: Final = 1_000
"""Of more only the number is in the document."""
DIFFERENCES_LISTED: Final = 1_000

Backlog = Annotated[int | None, about("Entries of the backlog; null where the answers lack it.", key="backlog_entries")]
Unacked = Annotated[
    int | None,
    about("Messages that were sent and are not acknowledged; null where the answers lack it.", key="unacked_messages"),
]
InReplay = Annotated[
    int | None,
    about("Messages that were read and wait to be sent; null where the answers lack it.", key="messages_in_replay"),
]
Delayed = Annotated[
    int | None,
    about("Messages that are to be delivered later; null where the answers lack it.", key="messages_delayed"),
]
MsgsOut = Annotated[float | None, about("Messages per second that go out; null where the answers lack it.", 0)]


class ReportedConsumer(Struct, frozen=True):
    """One consumer, summed over the topics and partitions that are shown; texts are as printed first."""

    position: Annotated[int, about("Its row; null for one without.", 0, key="consumer_id", place=True)]
    name: Annotated[str, about("Consumer name; empty when the client sent none.")]
    permits: Annotated[int | None, about("Messages it asks for; may be negative; null where the answers lack it.")] = 0
    unacked: Annotated[
        int | None, about("Messages it holds unacknowledged; null where the answers lack it.", key="unacked_messages")
    ] = 0
    waiting: Annotated[
        int | None,
        about(
            "Entries of the backlog where it is the one that is served; null where the answers lack it.",
            key="waiting_entries",
        ),
    ] = 0
    active: Annotated[
        int, about("Topics and partitions where the broker names it as the active one.", 0, key="active_topics")
    ] = 0
    waiting_slots: Annotated[int, about("Slots at which messages for it were held back.", 0)] = 0
    blocked_attempts: Annotated[int, about("How often.")] = 0
    holders: Annotated[
        tuple[int, ...], about("Consumers that must acknowledge first.", 0, key="waits_for", place=True)
    ] = ()
    draining: Annotated[int, about("Slots that drain at it.", 0, key="draining_slots")] = 0
    obstacles: Annotated[tuple[Obstacle, ...], about("Why it cannot be served, the worst first.")] = ()
    msgs_per_sec: Annotated[
        float | None, about("Messages per second that go out to it; null where the answers lack it.", 0)
    ] = 0.0
    last_acked_ms: Annotated[
        int, about("When it last acknowledged, in epoch milliseconds; null for never.", null=0)
    ] = 0
    last_consumed_ms: Annotated[int, about("When a message was last sent to it; null for never.", null=0)] = 0
    connected_since: Annotated[str, about("Text of the broker.")] = ""
    address: Annotated[str, about("Text of the broker.")] = ""
    client_version: Annotated[str, about("Text of the broker.")] = ""


class ReportedWait(Struct, frozen=True):
    """One draining slot of a topic."""

    topic: Annotated[str, about("Topic or partition.")]
    slot: Annotated[int, about("Slot.", 0)]
    owner: Annotated[int, about("Who gets its messages next.", 0, place=True)]
    holder: Annotated[int, about("Who must acknowledge first.", 0, place=True)]
    unacked: Annotated[int, about("Messages of the slot that the holder has not acknowledged.", key="unacked_messages")]
    blocked_attempts: Annotated[int, about("How often messages were held back for it.")]


class WaitingPair(Struct, frozen=True):
    """Who waits for whom."""

    owner: Annotated[int, about("Who waits.", 0, place=True)]
    holder: Annotated[int, about("For whom.", 0, place=True)]
    slots: Annotated[int, about("At how many slots.", 0)]
    blocked_attempts: Annotated[int, about("How often messages were held back there.")]


class SeenTime(Struct, frozen=True):
    """When something was seen; -1 where a time is unknown."""

    at_ms: Annotated[int, about("Epoch milliseconds; null where nothing says it.", 0, null=-1)]
    not_before_ms: Annotated[int, about("Where that is unknown: the latest time that the answers name.", 0, null=-1)]
    moment: Annotated[int, about("Which moment, from 1.", 1)]
    moments: Annotated[int, about("Of how many.", 1)]


Fact = tuple[str, str, str]
"""What a fact is about: its kind, a topic, a subscription."""


class Disagreement(Struct, frozen=True):
    """A fact that a broker reported otherwise than the model has it; ``subscription`` "" where it is about none.

    ``kind`` is that of a fact of ``verify``. ``likely`` is the likeliest reason, "" where none of the known ones fits.
    """

    kind: Annotated[str, about("What was compared.", key="fact")]
    topic: Annotated[str, about("The topic or partition.")]
    subscription: str
    reported: Annotated[str, about("What the broker reported.")]
    modelled: Annotated[str, about("What the model gives.")]
    rule: Annotated[str, about("The rule that the model went by.")]
    likely: str = ""

    @property
    def fact(self) -> Fact:
        return self.kind, self.topic, self.subscription


class Agreement(Struct, frozen=True):
    """How many facts of one reading were compared with the model, and those that differ."""

    compared: int = 0
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def agree(self) -> int:
        return self.compared - len(self.disagreements)


def _nothing() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _no_marks() -> NDArray[np.bool_]:
    return np.zeros(0, dtype=np.bool_)


class Comparison(Struct, frozen=True, eq=False):
    """Who has what by brokers and by the model, for one subscription.

    ``compared`` counts facts: active consumers of topics, or consumers with their hash ranges. Only where some differ
    there are ``points``: the last hashes of pieces of the hash space, ascending, with the positions of their owners by
    the model and by brokers (-1 for nobody, or nothing reported), and whether a fact differs there. ``topic`` is the
    one whose ranges those are.
    """

    compared: Annotated[
        int, about("Facts that were compared: active consumers of topics, or consumers with their hash ranges.", 0)
    ] = 0
    disagreements: tuple[Disagreement, ...] = ()
    points: NDArray[np.int64] = field(default_factory=_nothing)
    modelled: NDArray[np.int64] = field(default_factory=_nothing)
    reported: NDArray[np.int64] = field(default_factory=_nothing)
    differs: NDArray[np.bool_] = field(default_factory=_no_marks)
    topic: str = ""

    @property
    def agree(self) -> Annotated[int, about("How many of them agree.", 0)]:
        return self.compared - len(self.disagreements)

    @property
    def differences(self) -> Annotated[tuple[Disagreement, ...], about("The first 1,000 that do not.")]:
        return self.disagreements[:DIFFERENCES_LISTED]


class SeenEvent(Struct, frozen=True):
    """What happened between two moments; differs is a fact on which the model and a broker disagreed."""

    moment: Annotated[int, about("The later one of the two moments.", 2)]
    at_ms: Annotated[int, about("When that was; null where nothing says it.", 0, null=-1)]
    kind: Annotated[str, about("What happened: the kind of a change as in diff, or differs.")]
    text: Annotated[str, about("In words.")]


class BlockedTopics(Struct, frozen=True):
    names: tuple[str, ...] = ()

    @property
    def count(self) -> Annotated[int, about("How many.", 0)]:
        return len(self.names)

    @property
    def first(self) -> Annotated[tuple[str, ...], about("The first of them.")]:
        return self.names[:BLOCKED_TOPICS_LISTED]


class ReportedView(Struct, frozen=True, eq=False):
    """One subscription as brokers reported it.

    ``marks`` are the places on the ring where messages are held back: slots, or hashes of topics.
    """

    time: Annotated[SeenTime, about("When it was seen.", key="seen")]
    computed_from: Annotated[
        int,
        about(
            "The first step of the simulation, from which on everything else in this document is computed; null while"
            " nothing was changed.",
            1,
            key="computed_from_step",
            null=0,
        ),
    ]
    type: Annotated[str, about("Pulsar's word for the type of the subscription.")]
    dispatchers: Annotated[int, about("Topics and partitions it is on.", 0)]
    backlog: Backlog
    unacked: Unacked
    in_replay: InReplay
    delayed: Delayed
    msgs_per_sec: MsgsOut
    blocked_dispatchers: Annotated[
        int | None,
        about(
            "Topics and partitions where it is blocked on unacknowledged messages; null where answers lack it.",
            0,
        ),
    ]
    draining_slots: Annotated[int, about("Slots that drain.", 0)]
    consumers: Annotated[
        tuple[ReportedConsumer, ...],
        about("Its consumers in the order of the rows; empty after a step of the simulation."),
    ]
    waits: Annotated[tuple[ReportedWait, ...], about("Draining slots, those with most attempts first.")] = ()
    pairs: Annotated[tuple[WaitingPair, ...], about("Who waits for whom.")] = ()
    blocked_topics: Annotated[BlockedTopics, about("Topics and partitions where nobody can be served.")] = field(
        default_factory=BlockedTopics
    )
    events: Annotated[
        tuple[SeenEvent, ...], about("What happened between moments up to this one, inferred from the answers.")
    ] = ()
    marks: tuple[int, ...] = ()
    comparison: Annotated[
        Comparison | None,
        about("Reported owners compared with those of the model; null where none were, and after a step."),
    ] = None

    @property
    def blocked(self) -> tuple[int, ...]:
        """The positions of consumers that cannot be served."""
        return tuple(at for at, consumer in enumerate(self.consumers) if consumer.obstacles)


class ReportedLoad(Struct, frozen=True):
    """What a load report says of a bundle, or the sums of a namespace."""

    owner: Annotated[str, about("Broker that reported it; empty for sums.")]
    topics: Annotated[int, about("Topics that are loaded.", 0)]
    producers: Annotated[int, about("Producers.", 0)]
    consumers: Annotated[int, about("Consumers.", 0)]
    msgs_per_sec: Annotated[float, about("Messages per second, in plus out.", 0)]
    bytes_per_sec: Annotated[float, about("Bytes per second, in plus out.", 0)]


class ReportedBroker(Struct, frozen=True):
    """A broker by its own load report."""

    broker: Annotated[str, about("Its id, host and port.")]
    at_ms: Annotated[int, about("When it reported, in epoch milliseconds.", 0, null=-1)]
    bundles: Annotated[int, about("Bundles it owns.", 0)]
    msgs_per_sec: Annotated[float, about("Messages per second, in plus out.", 0)]
    bytes_per_sec: Annotated[float, about("Bytes per second, in plus out.", 0)]
    cpu: Annotated[tuple[float, float] | None, about("Percent of one core, used and limit.")]
    memory: Annotated[tuple[float, float] | None, about("MiB, used and limit.")]
