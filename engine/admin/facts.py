"""What a reader of broker answers gets: plain values, the same for every release and every kind of answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Generic, TypeVar

import msgspec

from engine.config import BrokerSettings
from engine.errors import Problem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decoded(Generic[T]):
    """The good part of an answer and everything that was wrong with it. ``set_aside`` counts topics left out."""

    good: T
    problems: tuple[Problem, ...] = ()
    set_aside: int = 0


LARGEST: Final = 2**53
"""No rate or number of things is above it, and beyond it JSON readers disagree about whole numbers."""
Rate = Annotated[float, msgspec.Meta(ge=0, le=float(LARGEST))]
Moment = Annotated[float, msgspec.Meta(ge=-float(LARGEST), le=float(LARGEST))]
Count = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Counter = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A Java long that only ever grows: at 1 GB/s a counter of bytes passes 2^53 within four months."""
Slot = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_RANGE_TEXT: Final = re.compile(r"\[\s*([0-9]{1,10})\s*,\s*([0-9]{1,10})\s*\]")


class ConsumerFacts(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={
        "name": "consumerName",
        "connected_since": "connectedSince",
        "client_version": "clientVersion",
        "msg_rate_out_msgs_per_sec": "msgRateOut",
        "msg_throughput_out_bytes_per_sec": "msgThroughputOut",
        "unacked_messages": "unackedMessages",
        "available_permits": "availablePermits",
        "range_arrays": "keyHashRangeArrays",
        "range_texts": "keyHashRanges",
    },
):
    """One consumer as statistics show it. Brokers expose neither its priority level nor its consumer id.

    ``connected_since`` is the broker's ISO text. ``available_permits`` may be negative. ``range_arrays`` and
    ``range_texts`` are the two spellings of one thing, see ``key_hash_ranges``. A struct and no dataclass: there are
    hundreds of thousands, and they are decoded straight from the answer.
    """

    name: str = ""
    address: str = ""
    connected_since: str = ""
    client_version: str = ""
    msg_rate_out_msgs_per_sec: Rate = 0.0
    msg_throughput_out_bytes_per_sec: Rate = 0.0
    unacked_messages: Count = 0
    available_permits: Count = 0
    range_arrays: tuple[tuple[Slot, Slot], ...] = ()
    range_texts: tuple[str, ...] = ()

    @property
    def key_hash_ranges(self) -> tuple[tuple[int, int], ...]:
        """Inclusive slots (0..65535) from either spelling, empty for other types than Key_Shared.

        >>> ConsumerFacts(range_texts=("[0, 16383]",)).key_hash_ranges
        ((0, 16383),)
        """
        return self.range_arrays or tuple(found for text in self.range_texts if (found := _range(text)) is not None)

    @property
    def unreadable_range(self) -> str | None:
        """A text among ``range_texts`` that is no range like ``[0, 16383]``."""
        return next((text for text in self.range_texts if _range(text) is None), None)


def _range(text: str) -> tuple[int, int] | None:
    """The ends of ``[0, 16383]``; up to 2^31 - 1, as releases with a ring over all integers print them."""
    match = _RANGE_TEXT.fullmatch(text.strip())
    if match is None or max(int(match[1]), int(match[2])) >= 2**31:
        return None
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True)
class SubscriptionFacts:
    """One subscription; ``consumers`` in the dispatcher's order.

    ``type`` is Pulsar's word (``Exclusive``, ``Shared``, ``Failover``, ``Key_Shared``), ``"None"`` when nobody has
    connected since load. ``active_consumer_name`` is None where the answer has none (broker-stats, non-persistent).
    ``msg_backlog_entries`` counts entries, not messages.
    """

    name: str
    type: str
    active_consumer_name: str | None
    consumers: tuple[ConsumerFacts, ...]
    msg_rate_out_msgs_per_sec: float = 0.0
    msg_throughput_out_bytes_per_sec: float = 0.0
    msg_backlog_entries: int = 0
    unacked_messages: int = 0


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic, or one partition of a topic, under its full name.

    ``partition_index`` is -1 for a topic that is no partition. ``publishers`` is the number of producers.
    ``source`` and ``kind`` say which answer told it: ``stats`` and ``partitioned-stats`` know the active consumer,
    ``broker-stats`` does not and has its numbers cut to three decimals.
    """

    name: str
    domain: str
    namespace: str
    partition_index: int
    msg_rate_in_msgs_per_sec: float
    msg_rate_out_msgs_per_sec: float
    msg_throughput_in_bytes_per_sec: float
    msg_throughput_out_bytes_per_sec: float
    storage_size_bytes: int
    backlog_size_bytes: int
    publishers: int
    subscriptions: tuple[SubscriptionFacts, ...]
    kind: str
    source: str

    @property
    def msg_backlog_entries(self) -> int:
        """Entries not yet acknowledged, over all subscriptions."""
        return sum(subscription.msg_backlog_entries for subscription in self.subscriptions)

    @property
    def unacked_messages(self) -> int:
        """Messages delivered and not yet acknowledged, over all subscriptions."""
        return sum(subscription.unacked_messages for subscription in self.subscriptions)


@dataclass(frozen=True, slots=True)
class BundleList:
    """The boundaries of one namespace, as numbers 0..0xffffffff; ``n`` bundles have ``n + 1`` boundaries.

    ``told_count`` is the number of bundles the answer itself tells, None without one.
    """

    boundaries: tuple[int, ...]
    told_count: int | None = field(default=None, compare=False)

    @property
    def ranges(self) -> tuple[str, ...]:
        """Canonical texts such as ``0x40000000_0x80000000``.

        >>> BundleList((0, 0x7FFFFFFF, 0xFFFFFFFF)).ranges
        ('0x00000000_0x7fffffff', '0x7fffffff_0xffffffff')
        """
        pairs = zip(self.boundaries, self.boundaries[1:], strict=False)
        return tuple(f"0x{lower:08x}_0x{upper:08x}" for lower, upper in pairs)


@dataclass(frozen=True, slots=True)
class Place:
    """Where broker-stats lists a topic: its namespace and the text of its bundle's range."""

    namespace: str
    bundle: str


@dataclass(frozen=True, slots=True)
class BrokerStats:
    """One broker's loaded topics with the bundle of each."""

    topics: Mapping[str, TopicFacts]
    places: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class HashPositions:
    """The broker's own CRC-32 position of each topic in one bundle."""

    namespace: str
    bundle: str
    positions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RuntimeConfiguration:
    """The settings this project knows, and how many others the answer had."""

    settings: BrokerSettings
    named: tuple[str, ...]
    others: int


@dataclass(frozen=True, slots=True)
class LoadReport:
    """From a load report: the broker's release and the full names of the bundles it has numbers of."""

    broker_version: str
    bundles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was read: files by what became of them, and topics by what became of them."""

    files_read: int = 0
    files_passed_over: int = 0
    bytes_read: int = 0
    topics: int = 0
    topics_set_aside: int = 0
    topics_superseded: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment of a cluster, as far as the answers tell it.

    ``topics`` by full name; ``bundles`` are boundaries by namespace; ``bundle_of_topic`` is the range text broker-stats
    lists a topic under. ``settings`` and ``version`` are None where no answer tells them. ``known_names`` are topics
    that lists and hash positions name, with or without statistics.
    """

    source: str
    topics: Mapping[str, TopicFacts]
    bundles: Mapping[str, BundleList] = field(default_factory=dict)
    bundle_of_topic: Mapping[str, str] = field(default_factory=dict)
    known_names: frozenset[str] = frozenset()
    settings: BrokerSettings | None = None
    version: str | None = None
    problems: tuple[Problem, ...] = ()
    counts: Counts = Counts()
