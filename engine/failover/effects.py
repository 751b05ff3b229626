"""What a dispatcher does to the outside in one step, as data and in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class ActiveConsumerChanged:
    """The role passed from one consumer id to another; None stands for nobody. The clients are not told by this."""

    previous_id: int | None
    active_id: int | None


@dataclass(frozen=True, slots=True)
class Notified:
    """``CommandActiveConsumerChange`` went to a client."""

    consumer_id: int
    is_active: bool


@dataclass(frozen=True, slots=True)
class ConsumerDisconnected:
    """The dispatcher is closed: it cut the newcomer off, although the connect itself was answered without error."""

    consumer_id: int


@dataclass(frozen=True, slots=True)
class ReadCancelled:
    """A read that waited for entries was taken back."""

    consumer_id: int


@dataclass(frozen=True, slots=True)
class ReadStillRunning:
    """The pending read could not be cancelled: the hand-over happens when it ends, and then without delay."""

    consumer_id: int


@dataclass(frozen=True, slots=True)
class HandoverScheduled:
    """The hand-over task runs at ``due_ms``."""

    due_ms: int


@dataclass(frozen=True, slots=True)
class HandoverAlreadyWaiting:
    """A hand-over task waits since an earlier change; its clock is not started again."""

    due_ms: int


@dataclass(frozen=True, slots=True)
class Rewound:
    """The cursor reads from ``read_position`` again; ``sent_again`` are entries a client has already: duplicates."""

    read_position: int
    sent_again: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReadStarted:
    """A read for this consumer is pending."""

    consumer_id: int


@dataclass(frozen=True, slots=True)
class EntriesDispatched:
    """Entries went to the active consumer."""

    consumer_id: int
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EntriesDropped:
    """A read came back for a consumer that is no longer active (or the topic is moving): nobody gets its entries."""

    read_for_id: int
    entries: tuple[int, ...]


class IgnoredBecause(Enum):
    """Why a flow or redelivery command had no effect on reading."""

    NOT_ACTIVE = "not the active consumer"
    WAITING_FOR_HANDOVER = "the cursor waits to be rewound"
    READ_PENDING = "a read is pending"


@dataclass(frozen=True, slots=True)
class FlowIgnored:
    """Permits were counted, but no read was started."""

    consumer_id: int
    reason: IgnoredBecause


@dataclass(frozen=True, slots=True)
class RedeliveryIgnored:
    """A request to redeliver was dropped."""

    consumer_id: int
    reason: IgnoredBecause


Effect = (
    ActiveConsumerChanged
    | Notified
    | ConsumerDisconnected
    | ReadCancelled
    | ReadStillRunning
    | HandoverScheduled
    | HandoverAlreadyWaiting
    | Rewound
    | ReadStarted
    | EntriesDispatched
    | EntriesDropped
    | FlowIgnored
    | RedeliveryIgnored
)
