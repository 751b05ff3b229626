"""One dispatcher's state (one subscription on one topic partition), its cursor, and what a step does to the outside.

The cursor is modelled as far as a hand-over moves it; positions are plain entry numbers. Effects are data, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.model import Consumer


@dataclass(frozen=True, slots=True)
class Cursor:
    """``read_position`` is the entry that is read next; all entries up to ``mark_delete`` are acknowledged.

    ``acknowledged`` are those above ``mark_delete`` that were acknowledged one by one. ``read_position`` always
    lies above ``mark_delete``.
    """

    read_position: int = 0
    mark_delete: int = -1
    acknowledged: frozenset[int] = frozenset()

    @property
    def unacknowledged(self) -> tuple[int, ...]:
        """Entries that were sent and wait for their acknowledgement: the ones a rewind sends again."""
        sent = range(self.mark_delete + 1, self.read_position)
        return tuple(entry for entry in sent if entry not in self.acknowledged)

    def next_entries(self, count: int) -> tuple[int, ...]:
        """What a read of ``count`` entries brings: acknowledged ones are skipped."""
        entries: list[int] = []
        entry = self.read_position
        while len(entries) < count:
            if entry not in self.acknowledged:
                entries.append(entry)
            entry += 1
        return tuple(entries)

    def after_reading(self, entries: tuple[int, ...]) -> Cursor:
        return replace(self, read_position=entries[-1] + 1) if entries else self

    def rewound(self) -> Cursor:
        """Back to just after the mark-delete position (``ManagedCursor.rewind``).

        >>> Cursor(read_position=5, mark_delete=1, acknowledged=frozenset({3})).rewound().next_entries(3)
        (2, 4, 5)
        """
        return replace(self, read_position=self.mark_delete + 1)

    def acknowledge(self, *entries: int) -> Cursor:
        """Acknowledge entries one by one; a late acknowledgement by a former active consumer counts too.

        >>> Cursor(read_position=3).acknowledge(1).acknowledge(0)
        Cursor(read_position=3, mark_delete=1, acknowledged=frozenset())
        """
        acknowledged = self.acknowledged.union(entries)
        mark_delete = self.mark_delete
        while mark_delete + 1 in acknowledged:
            mark_delete += 1
        return Cursor(
            read_position=max(self.read_position, mark_delete + 1),
            mark_delete=mark_delete,
            acknowledged=frozenset(entry for entry in acknowledged if entry > mark_delete),
        )


@dataclass(frozen=True, slots=True)
class ActiveConsumerChanged:
    """The active role passed from one consumer id to another (None: no consumer); no client is notified by this."""

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
    """A hand-over task from an earlier change is still scheduled; its delay does not start again."""

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
    """Why a flow command had no effect on reading."""

    NOT_ACTIVE = "not the active consumer"
    WAITING_FOR_HANDOVER = "the cursor waits to be rewound"
    READ_PENDING = "a read is pending"


@dataclass(frozen=True, slots=True)
class FlowIgnored:
    """Permits were counted, but no read was started."""

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
)


NOTICE_PROTOCOL_VERSION = 12
"""``ProtocolVersion.v12``: the first that knows ``CommandActiveConsumerChange``."""


class SubscriptionType(Enum):
    """The two types that have a single active consumer."""

    FAILOVER = "Failover"
    EXCLUSIVE = "Exclusive"


@dataclass(frozen=True, slots=True)
class Terms:
    """The constants of one dispatcher.

    ``topic`` is the full name with ``-partition-N``; ``partition_index`` is -1 for a non-partitioned topic.
    ``max_consumers`` 0 means no limit. ``delay_ms`` is ``activeConsumerFailoverDelayTimeMillis``.
    """

    topic: str
    partition_index: int
    subscription_type: SubscriptionType = SubscriptionType.FAILOVER
    persistent: bool = True
    consistent_hashing: bool = False
    max_consumers: int = 0
    delay_ms: int = 1000
    behaviour: ReleaseBehaviour = CURRENT


@dataclass(frozen=True, slots=True)
class Connection:
    """A consumer and the protocol version its client speaks. The consumer's id is its identity."""

    consumer: Consumer
    protocol_version: int = 21

    @property
    def consumer_id(self) -> int:
        return self.consumer.consumer_id


@dataclass(frozen=True, slots=True)
class PendingRead:
    """A read that has not come back; ``cancellable`` while it only waits for new entries."""

    consumer_id: int
    cancellable: bool = True


@dataclass(frozen=True, slots=True)
class DispatcherState:
    """The state of one dispatcher.

    ``connections`` are in the order of the last choice. ``permits``: by consumer id, how many entries that client still
    accepts. ``handover_due_ms`` is set while a hand-over task waits.
    """

    terms: Terms
    connections: tuple[Connection, ...] = ()
    active_id: int | None = None
    closed: bool = False
    cursor: Cursor = field(default_factory=Cursor)
    permits: Mapping[int, int] = field(default_factory=dict)
    pending_read: PendingRead | None = None
    handover_due_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The next state and what happened on the way, in order."""

    state: DispatcherState
    effects: tuple[Effect, ...] = ()
