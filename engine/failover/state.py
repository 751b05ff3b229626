"""The state of one dispatcher: one subscription on one topic partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.cursor import Cursor
from engine.failover.effects import Effect
from engine.failover.model import Consumer

NOTICE_PROTOCOL_VERSION = 12
"""``ProtocolVersion.v12``: the first that knows ``CommandActiveConsumerChange``."""


class SubscriptionType(Enum):
    """The two types that have a single active consumer."""

    FAILOVER = "Failover"
    EXCLUSIVE = "Exclusive"


@dataclass(frozen=True, slots=True)
class Terms:
    """What never changes while a dispatcher lives.

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
    """Everything one dispatcher knows.

    ``connections`` stand in the order the last choice left them. ``permits`` is, by consumer id, how many entries that
    client still asks for. ``handover_due_ms`` is set while a hand-over task waits.
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
