"""The producers of one partitioned topic in the state: what happened to them, and what is folded from that.

The history *is* the state, as with Key_Shared; the fold (``engine.cluster.producers.evolve``) is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.cluster.producers.events import ProducerTopicEvent
from engine.routing.producers.model import ProducerEvent, ProducersState


@dataclass(frozen=True, slots=True)
class Tally:
    """What the last event came to, counted: messages by outcome, partitions opened, producers created and refused.

    ``created`` and ``refused`` are of producers, ``grown`` and ``held_back`` of their looks at the partitions,
    ``lost_connections`` and ``reconnected`` of partitions. ``error`` is the first refusal in Pulsar's words.
    """

    sent: int = 0
    queued: int = 0
    failed: int = 0
    opened: int = 0
    created: int = 0
    refused: int = 0
    fenced: int = 0
    grown: int = 0
    held_back: int = 0
    lost_connections: int = 0
    reconnected: int = 0
    lost_msgs: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProducerTopic:
    """``happened`` is all that counts when two are compared; the rest is folded from it.

    ``producers`` is the state of all of them and of the brokers' side. ``keys`` counts the messages of each key,
    ``results`` has for each producer the last that happened to it, ``recent`` the last events, newest last, and
    ``tally`` what the last of ``happened`` came to.
    """

    topic: str
    happened: tuple[ProducerTopicEvent, ...]
    producers: ProducersState = field(compare=False, repr=False)
    keys: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    results: Mapping[int, ProducerEvent] = field(default_factory=dict, compare=False, repr=False)
    recent: tuple[ProducerEvent, ...] = field(default=(), compare=False, repr=False)
    tally: Tally = field(default_factory=Tally, compare=False)

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return self.producers.topic.partitions

    @property
    def objects(self) -> int:
        """How many producer objects brokers have. O(partitions)."""
        return sum(map(len, self.producers.topic.connected))

    @property
    def now_ms(self) -> int:
        """The producers' clock."""
        return self.producers.now_ms
