"""What brokers reported of one subscription, as a screen shows it beside what is computed.

Consumers are referred to by their *position* among the rows of the view; -1 means one that has no row.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

SUBSCRIPTION_LIMIT: Final = "subscription-unacked"
"""The subscription is blocked on unacknowledged messages, so nobody gets any."""
CONSUMER_LIMIT: Final = "consumer-unacked"
"""The consumer is blocked on its unacknowledged messages."""
NO_PERMITS: Final = "no-permits"
"""The consumer has asked for no message, although some could be sent to it."""
DRAINING: Final = "draining"
"""Messages for the consumer were held back for slots that drain at another one."""


class ReportedConsumer(Struct, frozen=True):
    """One consumer, summed over the topics and partitions that are shown.

    ``active`` counts those where the broker names it as the active one, and ``waiting`` the entries of their backlog.
    ``waiting_slots`` are the slots (Key_Shared) at which messages for it were held back, ``blocked_attempts`` how
    often, and ``holders`` the positions of those who must acknowledge first. ``draining`` slots drain at this consumer.
    ``obstacles`` are codes, the worst first; empty for one that can be served. Times are epoch milliseconds, 0 for
    never; texts are as the broker printed them where it was seen first. Sums are None where an answer lacks one
    of their numbers.
    """

    name: str
    permits: int | None = 0
    unacked: int | None = 0
    waiting: int | None = 0
    active: int = 0
    waiting_slots: int = 0
    blocked_attempts: int = 0
    holders: tuple[int, ...] = ()
    draining: int = 0
    obstacles: tuple[str, ...] = ()
    msgs_per_sec: float | None = 0.0
    last_acked_ms: int = 0
    last_consumed_ms: int = 0
    connected_since: str = ""
    address: str = ""
    client_version: str = ""


class ReportedWait(Struct, frozen=True):
    """One draining slot of a topic: ``owner`` gets its messages once ``holder`` has acknowledged ``unacked`` of it."""

    topic: str
    slot: int
    owner: int
    holder: int
    unacked: int
    blocked_attempts: int


class WaitingPair(Struct, frozen=True):
    """``owner`` waits for ``holder`` at so many slots, where messages were held back so often."""

    owner: int
    holder: int
    slots: int
    blocked_attempts: int


class SeenTime(Struct, frozen=True):
    """When something was seen: ``at_ms``, or not before ``not_before_ms``; each is -1 where it is unknown.

    ``moment`` counts from 1 to ``moments``.
    """

    at_ms: int
    not_before_ms: int
    moment: int
    moments: int


Fact = tuple[str, str, str]
"""What a fact is about: its kind, a topic, a subscription."""


class Disagreement(Struct, frozen=True):
    """A fact that a broker reported otherwise than the model has it; ``subscription`` "" where it is about none.

    ``kind`` is that of a fact of ``verify``; ``rule`` is what the model went by. ``likely`` is the likeliest reason,
    "" where none of the known ones fits.
    """

    kind: str
    topic: str
    subscription: str
    reported: str
    modelled: str
    rule: str
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

    compared: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    points: NDArray[np.int64] = field(default_factory=_nothing)
    modelled: NDArray[np.int64] = field(default_factory=_nothing)
    reported: NDArray[np.int64] = field(default_factory=_nothing)
    differs: NDArray[np.bool_] = field(default_factory=_no_marks)
    topic: str = ""

    @property
    def agree(self) -> int:
        return self.compared - len(self.disagreements)


class SeenEvent(Struct, frozen=True):
    """What happened between two moments, inferred from the answers at both. ``moment`` is the later one, from 2 on.

    ``kind`` is joined, left, active, ranges, type, gone, new, bundles, owner, partitions or backlog; differs is a fact
    on which the model and a broker disagreed.
    """

    moment: int
    at_ms: int
    kind: str
    text: str


class ReportedView(Struct, frozen=True, eq=False):
    """One subscription as brokers reported it.

    ``computed_from`` is 0 while this is what a screen shows, else the first step of the simulation, from which on
    numbers are computed and these are left behind. ``dispatchers`` counts topics and partitions. ``blocked_topics``
    are those with an active consumer, or a subscription, that cannot be served. Sums are None where an answer lacks one
    of their numbers. ``waits`` are the draining slots, those
    with most attempts first, ``pairs`` who waits for whom. ``events`` are those up to this moment, the oldest first.
    ``marks`` are the places on the ring where messages are held back: slots, or hashes of topics. ``comparison`` holds
    what was reported beside the model; None where it was not compared.
    """

    time: SeenTime
    type: str
    dispatchers: int
    backlog: int | None
    unacked: int | None
    in_replay: int | None
    delayed: int | None
    msgs_per_sec: float | None
    blocked_dispatchers: int
    draining_slots: int
    consumers: tuple[ReportedConsumer, ...]
    waits: tuple[ReportedWait, ...] = ()
    pairs: tuple[WaitingPair, ...] = ()
    blocked_topics: tuple[str, ...] = ()
    events: tuple[SeenEvent, ...] = ()
    marks: tuple[int, ...] = ()
    computed_from: int = 0
    comparison: Comparison | None = None

    @property
    def blocked(self) -> tuple[int, ...]:
        """The positions of consumers that cannot be served."""
        return tuple(at for at, consumer in enumerate(self.consumers) if consumer.obstacles)


class ReportedLoad(Struct, frozen=True):
    """What a load report says of a bundle, or the sums of a namespace (``owner`` "" then); rates are in plus out."""

    owner: str
    topics: int
    producers: int
    consumers: int
    msgs_per_sec: float
    bytes_per_sec: float


class ReportedBroker(Struct, frozen=True):
    """A broker by its own load report. ``cpu`` is in percent of one core, ``memory`` in MiB, both with their limits.

    ``at_ms`` is -1 where the report does not say when that was.
    """

    broker: str
    at_ms: int
    bundles: int
    msgs_per_sec: float
    bytes_per_sec: float
    cpu: tuple[float, float] | None
    memory: tuple[float, float] | None
