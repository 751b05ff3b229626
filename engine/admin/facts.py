"""Values decoded from broker answers, the same for every release and every kind of answer."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec

from engine.config import BrokerSettings
from engine.errors import Problem
from engine.reading.shapes import SOME_CONSUMERS

if TYPE_CHECKING:
    from engine.admin.scalable import ScalableFacts
    from engine.balance.brokers import BrokerLoad
    from engine.balance.leadership.policies import ClusterPolicies
    from engine.balance.limits import BundleStats

T = TypeVar("T")
_Number = TypeVar("_Number", int, float)


LARGEST: Final = 2**53
"""The highest rate or count that is accepted; beyond it JSON readers disagree about whole numbers."""
Rate = Annotated[float, msgspec.Meta(ge=0, le=float(LARGEST))]
Count = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Counter = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A Java long that only ever grows: at 1 GB/s a counter of bytes passes 2^53 within four months."""
Slot = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_RANGE_TEXT: Final = re.compile(r"\[\s*([0-9]{1,10})\s*,\s*([0-9]{1,10})\s*\]")


def total(numbers: Iterable[_Number | None]) -> _Number | None:
    """The sum, which is not known where one of the numbers is not.

    >>> total([1, 2]), total([1, None]), total([])
    (3, None, 0)
    """
    known: list[_Number] = []
    for number in numbers:
        if number is None:
            return None
        known.append(number)
    return sum(known)


class NotReported(tuple[Any, ...]):
    """An empty list in the place of one that the answer does not have."""

    __slots__ = ()


NOT_REPORTED: Final = NotReported()


class DrainingHashFacts(
    msgspec.Struct, frozen=True, gc=False, rename={"unacked": "unackMsgs", "blocked_attempts": "blockedAttempts"}
):
    """One slot that drains (PIP-379): its unacknowledged messages, and how often a message was held back for it."""

    hash: Slot
    unacked: Count = 0
    blocked_attempts: Count = 0


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
        "msg_out_counter": "msgOutCounter",
        "blocked_on_unacked": "blockedConsumerOnUnackedMsgs",
        "draining_count": "drainingHashesCount",
        "draining_cleared_total": "drainingHashesClearedTotal",
        "draining_unacked_messages": "drainingHashesUnackedMessages",
        "draining": "drainingHashes",
        "last_acked_ms": "lastAckedTimestamp",
        "last_consumed_ms": "lastConsumedTimestamp",
        "first_sent_ms": "firstMessagesSentTimestamp",
        "last_flow_ms": "lastConsumedFlowTimestamp",
        "first_flow_ms": "firstConsumedFlowTimestamp",
        "avg_messages_per_entry": "avgMessagesPerEntry",
        "ack_rate_msgs_per_sec": "messageAckRate",
        "read_position_when_joining": "readPositionWhenJoining",
    },
):
    """One consumer as reported by statistics. Brokers expose neither its priority level nor its consumer id.

    ``connected_since`` is the broker's ISO text. ``available_permits`` may be negative. ``range_arrays`` and
    ``range_texts`` are two spellings of the same ranges, see ``key_hash_ranges``; texts come from releases before 4.0
    and from the classic dispatcher, with which they went in 5.0 (as did ``readPositionWhenJoining``). Times are epoch
    milliseconds, 0 for never. Numbers that an answer does not have are None. A struct instead of a dataclass, because
    hundreds of thousands are decoded straight from answers.
    """

    name: str = ""
    address: str = ""
    connected_since: str = ""
    client_version: str = ""
    msg_rate_out_msgs_per_sec: Rate | None = None
    msg_throughput_out_bytes_per_sec: Rate | None = None
    unacked_messages: Count | None = None
    available_permits: Count | None = None
    range_arrays: tuple[tuple[Slot, Slot], ...] = ()
    range_texts: tuple[str, ...] = ()
    msg_out_counter: Counter | None = None
    blocked_on_unacked: bool | None = None
    draining_count: Count | None = None
    draining_cleared_total: Count | None = None
    draining_unacked_messages: Count | None = None
    draining: tuple[DrainingHashFacts, ...] = ()
    last_acked_ms: Counter | None = None
    last_consumed_ms: Counter | None = None
    first_sent_ms: Counter | None = None
    last_flow_ms: Counter | None = None
    first_flow_ms: Counter | None = None
    avg_messages_per_entry: Counter | None = None
    ack_rate_msgs_per_sec: Rate | None = None
    read_position_when_joining: str = ""

    @property
    def key_hash_ranges(self) -> tuple[tuple[int, int], ...]:
        """Inclusive slots (0..65535) from either spelling, empty for types other than Key_Shared.

        >>> ConsumerFacts(range_texts=("[0, 16383]",)).key_hash_ranges
        ((0, 16383),)
        """
        return self.range_arrays or tuple(ends for text in self.range_texts if (ends := _range(text)) is not None)

    @property
    def unreadable_range(self) -> str | None:
        """The first of ``range_texts`` that is not a range like ``[0, 16383]``."""
        return next((text for text in self.range_texts if _range(text) is None), None)


def _range(text: str) -> tuple[int, int] | None:
    """Parse ``[0, 16383]``; numbers up to 2^31 - 1, as releases with a ring over all integers print."""
    match = _RANGE_TEXT.fullmatch(text.strip())
    if match is None or max(int(match[1]), int(match[2])) >= 2**31:
        return None
    return int(match[1]), int(match[2])


class SubscriptionFacts(
    msgspec.Struct,
    frozen=True,
    rename={
        "active_consumer_name": "activeConsumerName",
        "some_consumers": SOME_CONSUMERS,
        "msg_rate_out_msgs_per_sec": "msgRateOut",
        "msg_throughput_out_bytes_per_sec": "msgThroughputOut",
        "msg_backlog_entries": "msgBacklog",
        "unacked_messages": "unackedMessages",
        "mode": "keySharedMode",
        "allow_out_of_order_delivery": "allowOutOfOrderDelivery",
        "msg_delayed": "msgDelayed",
        "msg_in_replay": "msgInReplay",
        "msg_out_counter": "msgOutCounter",
        "msg_rate_redeliver_msgs_per_sec": "msgRateRedeliver",
        "blocked_on_unacked": "blockedSubscriptionOnUnackedMsgs",
        "deleted_ranges": "nonContiguousDeletedMessagesRanges",
        "draining_count": "drainingHashesCount",
        "draining_cleared_total": "drainingHashesClearedTotal",
        "draining_unacked_messages": "drainingHashesUnackedMessages",
        "last_acked_ms": "lastAckedTimestamp",
        "last_consumed_ms": "lastConsumedTimestamp",
        "ack_rate_msgs_per_sec": "messageAckRate",
        "drop_rate_msgs_per_sec": "msgDropRate",
        "after_mark_delete": "consumersAfterMarkDeletePosition",
        "throttled_msgs_by_subscription": "dispatchThrottledMsgEventsBySubscriptionLimit",
        "throttled_bytes_by_subscription": "dispatchThrottledBytesEventsBySubscriptionLimit",
        "throttled_msgs_by_topic": "dispatchThrottledMsgEventsByTopicLimit",
        "throttled_bytes_by_topic": "dispatchThrottledBytesEventsByTopicLimit",
        "throttled_msgs_by_broker": "dispatchThrottledMsgEventsByBrokerLimit",
        "throttled_bytes_by_broker": "dispatchThrottledBytesEventsByBrokerLimit",
    },
):
    """One subscription; ``consumers`` in the dispatcher's order.

    ``type`` is Pulsar's word (``Exclusive``, ``Shared``, ``Failover``, ``Key_Shared``), ``"None"`` when nobody has
    connected since load. ``active_consumer_name`` is None where the answer has none (broker-stats, non-persistent).
    ``mode`` is ``AUTO_SPLIT`` or ``STICKY``, of Key_Shared alone. ``msg_backlog_entries`` counts entries, not messages.
    Counters grow from 0 since the topic was loaded. Numbers that an answer does not have are None, and ``consumers`` is
    ``NOT_REPORTED`` without a list; ``some_consumers`` are those of a list that the text has only a part of.
    ``after_mark_delete``: before 4.0 and of its classic dispatcher, the consumers that
    joined at a position which acknowledgements have not reached yet, with that position. Not read, since nothing here
    needs it: ``oldestBacklogMessageAgeSeconds`` of 5.0 (-1 where a broker does not know it).
    """

    name: str = ""
    type: str = "None"
    active_consumer_name: str | None = None
    consumers: tuple[ConsumerFacts, ...] = NOT_REPORTED
    msg_rate_out_msgs_per_sec: Rate | None = None
    msg_throughput_out_bytes_per_sec: Rate | None = None
    msg_backlog_entries: Count | None = None
    unacked_messages: Count | None = None
    mode: str | None = None
    allow_out_of_order_delivery: bool | None = None
    msg_delayed: Count | None = None
    msg_in_replay: Count | None = None
    msg_out_counter: Counter | None = None
    msg_rate_redeliver_msgs_per_sec: Rate | None = None
    blocked_on_unacked: bool | None = None
    draining_count: Count | None = None
    draining_cleared_total: Count | None = None
    draining_unacked_messages: Count | None = None
    last_acked_ms: Counter | None = None
    last_consumed_ms: Counter | None = None
    deleted_ranges: Count | None = None
    ack_rate_msgs_per_sec: Rate | None = None
    drop_rate_msgs_per_sec: Rate | None = None
    after_mark_delete: dict[str, str] = {}
    throttled_msgs_by_subscription: Counter = 0
    throttled_bytes_by_subscription: Counter = 0
    throttled_msgs_by_topic: Counter = 0
    throttled_bytes_by_topic: Counter = 0
    throttled_msgs_by_broker: Counter = 0
    throttled_bytes_by_broker: Counter = 0
    some_consumers: tuple[ConsumerFacts, ...] = ()

    @property
    def latest_ms(self) -> int:
        """The latest time among its own and its consumers', in epoch milliseconds; 0 for none."""
        times = [self.last_consumed_ms, self.last_acked_ms]
        for consumer in self.consumers:
            times += (consumer.last_consumed_ms, consumer.last_acked_ms, consumer.last_flow_ms)
        return max((time for time in times if time is not None), default=0)

    @property
    def throttle_events(self) -> collections.Counter[str]:
        """Counts of dispatches held back by a dispatch rate limit since load, by the owner of the limit."""
        return collections.Counter(
            subscription=self.throttled_msgs_by_subscription + self.throttled_bytes_by_subscription,
            topic=self.throttled_msgs_by_topic + self.throttled_bytes_by_topic,
            broker=self.throttled_msgs_by_broker + self.throttled_bytes_by_broker,
        )


def unacked_of(sub: SubscriptionFacts) -> int | None:
    """Unacknowledged messages: a Failover subscription has them at its consumers only. None where they are nowhere."""
    own = sub.unacked_messages
    of_consumers = total(consumer.unacked_messages for consumer in sub.consumers)
    if isinstance(sub.consumers, NotReported) or of_consumers is None:
        return own
    return max(own or 0, of_consumers) if own is not None or sub.consumers else None


class ReplicatorFacts(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={"backlog": "replicationBacklog", "msg_rate_out_msgs_per_sec": "msgRateOut"},
):
    """The replicator of one topic to another cluster. None where an answer does not have a number."""

    cluster: str = ""
    backlog: Count | None = None
    connected: bool | None = None
    msg_rate_out_msgs_per_sec: Rate | None = None


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic, or one partition of a topic, under its full name.

    ``partition_index`` is -1 for a topic that is not a partition. ``publishers`` is the number of producers,
    ``publisher_entries`` what the answer says of each, undecoded and only if it was asked for. ``source`` and ``kind``
    name the answer: ``stats`` and ``partitioned-stats`` report the active consumer, ``broker-stats`` does not and cuts
    its numbers to three decimals. Numbers that an answer does not have are None, and ``subscriptions`` is
    ``NOT_REPORTED`` without them. Counters grow from 0 since the topic was loaded; ``backlog_quota_bytes`` is -1
    without a limit.
    """

    name: str
    domain: str
    namespace: str
    partition_index: int
    msg_rate_in_msgs_per_sec: float | None
    msg_rate_out_msgs_per_sec: float | None
    msg_throughput_in_bytes_per_sec: float | None
    msg_throughput_out_bytes_per_sec: float | None
    storage_size_bytes: int | None
    backlog_size_bytes: int | None
    publishers: int | None
    subscriptions: tuple[SubscriptionFacts, ...]
    kind: str
    source: str
    msg_in_counter: int | None = None
    msg_out_counter: int | None = None
    backlog_quota_bytes: int = -1
    waiting_publishers: int = 0
    last_publish_ms: int = 0
    open_transactions: int = 0
    replicators: tuple[ReplicatorFacts, ...] = ()
    publisher_entries: tuple[msgspec.Raw, ...] = field(default=(), compare=False, repr=False)

    @property
    def msg_backlog_entries(self) -> int:
        """Entries not yet acknowledged, over all subscriptions."""
        return sum(subscription.msg_backlog_entries or 0 for subscription in self.subscriptions)


class PartitionSums(msgspec.Struct, frozen=True):
    """What ``partitioned-stats`` says without its partitions: sums, in which names of consumers mean nothing.

    ``partitions`` is their number, None where the answer does not have it.
    """

    topic: TopicFacts
    partitions: int | None


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in a topic: entries are ordered by ledger, then by number; -1 is before a ledger's first entry."""

    ledger: int
    entry: int


class CursorFacts(msgspec.Struct, frozen=True):
    """One subscription's cursor. ``read_position`` is the next entry to read; the first one not acknowledged follows
    ``mark_delete_position``. ``has_pending_read`` is what the dispatcher believes, ``waits_for_entries`` and
    ``pending_reads`` what the cursor has: a read that waits for the next entry, and reads of stored ones.
    ``entries_to_read_position`` counts from behind the mark-delete position up to the read position itself. None where
    an answer does not have them.
    """

    mark_delete_position: Position | None
    read_position: Position | None
    has_pending_read: bool | None = None
    waits_for_entries: bool | None = None
    pending_reads: int | None = None
    entries_to_read_position: int | None = None

    @property
    def in_hands(self) -> int | None:
        """Entries between both positions, some of which may be acknowledged singly; None where that is unknown."""
        marked, read = self.mark_delete_position, self.read_position
        if marked is not None and read is not None and marked.ledger == read.ledger:
            return max(0, read.entry - marked.entry - 1)
        return None if self.entries_to_read_position is None else max(0, self.entries_to_read_position - 1)


class LedgerFacts(msgspec.Struct, frozen=True):
    """Internal statistics of one topic: the last confirmed entry, and the cursors by subscription.

    ``entries_by_ledger``: of each ledger that is still stored, by its id; 0 for the open one. Empty where an answer
    does not list them.
    """

    last_confirmed_entry: Position | None
    cursors: Mapping[str, CursorFacts]
    entries_by_ledger: Mapping[int, int] = {}

    def end_for(self, subscription: str) -> Position | None:
        """The last entry, None where it is unknown: a cursor that waits for the next one has read all before."""
        cursor = self.cursors.get(subscription)
        if self.last_confirmed_entry is not None or cursor is None or not cursor.waits_for_entries:
            return self.last_confirmed_entry
        read = cursor.read_position
        return None if read is None else Position(read.ledger, read.entry - 1)

    def entries_left(self, subscription: str) -> int | None:
        """Entries behind a mark-delete position; None where it is unknown, or in a ledger that is not listed."""
        cursor = self.cursors.get(subscription)
        marked = None if cursor is None else cursor.mark_delete_position
        return None if marked is None else self._entries_behind(marked, self.end_for(subscription))

    def entries_unread(self, subscription: str) -> int | None:
        """Entries from a read position on; None where it is unknown, or in a ledger that is not listed."""
        cursor = self.cursors.get(subscription)
        read = None if cursor is None else cursor.read_position
        if read is None:
            return None
        return self._entries_behind(Position(read.ledger, read.entry - 1), self.end_for(subscription))

    def _entries_behind(self, position: Position, end: Position | None) -> int | None:
        if end is None:
            return None
        if position >= end:
            return 0
        if position.ledger == end.ledger:
            return end.entry - position.entry
        listed = self.entries_by_ledger
        if end.ledger not in listed:
            return None
        if position.ledger in listed:
            rest = max(0, listed[position.ledger] - position.entry - 1)
        elif position.ledger < min(listed):
            rest = 0  # trimmed, so all of it was acknowledged
        else:
            return None
        between = (entries for ledger, entries in listed.items() if position.ledger < ledger < end.ledger)
        return rest + sum(between) + end.entry + 1


@dataclass(frozen=True, slots=True)
class BundleList:
    """The boundaries of one namespace, as numbers 0..0xffffffff; ``n`` bundles have ``n + 1`` boundaries.

    ``reported_count`` is the number of bundles that the answer names, None without one.
    """

    boundaries: tuple[int, ...]
    reported_count: int | None = field(default=None, compare=False)

    @property
    def ranges(self) -> tuple[str, ...]:
        """Canonical texts such as ``0x40000000_0x80000000``.

        >>> BundleList((0, 0x7FFFFFFF, 0xFFFFFFFF)).ranges
        ('0x00000000_0x7fffffff', '0x7fffffff_0xffffffff')
        """
        pairs = zip(self.boundaries, self.boundaries[1:], strict=False)
        return tuple(f"0x{lower:08x}_0x{upper:08x}" for lower, upper in pairs)


class Place(msgspec.Struct, frozen=True):
    """The namespace and bundle range under which broker-stats lists a topic."""

    namespace: str
    bundle: str


class BrokerStats(msgspec.Struct, frozen=True):
    """One broker's loaded topics with the bundle of each."""

    topics: Mapping[str, TopicFacts]
    places: Mapping[str, Place]


class HashPositions(msgspec.Struct, frozen=True):
    """The broker's own CRC-32 position of each topic in one bundle."""

    namespace: str
    bundle: str
    positions: Mapping[str, int]


class RuntimeConfiguration(msgspec.Struct, frozen=True):
    """The settings known here, and the number of others in the answer."""

    settings: BrokerSettings
    named: tuple[str, ...]
    others: int


class LoadReport(msgspec.Struct, frozen=True):
    """What a load report of either load manager says of its broker: id ("" where it names none), release, the time in
    milliseconds of the broker's clock (0: unknown), and its bundles in the order of the report.

    Those that it only lists, because they have no traffic yet, come last and without numbers.
    """

    broker: str
    broker_version: str
    updated_at_ms: int
    bundles: tuple[BundleStats, ...]


class WrittenLoad(msgspec.Struct, frozen=True):
    """A broker's load report with its time, in milliseconds of the broker's clock (0: unknown).

    ``lacks``: of what load managers need "usage", "rates" or both are not in the answer; the report has 0 there.
    """

    load: BrokerLoad
    updated_at_ms: int = 0
    lacks: frozenset[str] = frozenset()


class Counts(msgspec.Struct, frozen=True):
    """Counts of files and topics by what became of them."""

    files_read: int = 0
    files_passed_over: int = 0
    bytes_read: int = 0
    topics: int = 0
    topics_set_aside: int = 0
    topics_superseded: int = 0


class Snapshot(msgspec.Struct, frozen=True):
    """One moment of a cluster, as far as the answers show it.

    ``topics`` by full name; ``bundles`` are boundaries by namespace; ``bundle_of_topic`` is the range text broker-stats
    lists a topic under. ``settings`` and ``version`` are None where no answer has them. ``known_names`` are topics
    in lists and hash positions, with or without statistics. ``ledgers`` are internal statistics by topic,
    ``topic_policies`` the answers about single policies by topic and name, ``namespace_policies`` those of whole
    namespaces, as JSON values; ``configuration`` all run-time settings as texts. ``loaded`` are the topics that
    broker-stats lists, None where it is missing or empty, as it is until a broker's first statistics. ``owners``
    are the brokers of bundles (``tenant/namespace/range``) and topics as brokers and look-ups report them.
    ``broker_loads`` has the last load report of each broker, ``written_loads`` all of them with their files, and
    ``living`` the list of brokers with its file, None without one. ``sums`` are those of partitioned topics whose
    partitions are not in the answers. ``scalable`` are the scalable topics by full name, of which none is in
    ``topics``; their segments are, where broker-stats lists them. ``signs`` are those of a release
    (``engine.admin.release_signs``), looked for where no answer names it. ``metered`` is what metrics say of topics.
    ``ownership``: isolation policies, failure domains and anti-affinity groups, None without an answer about them.
    """

    source: str
    topics: Mapping[str, TopicFacts]
    bundles: Mapping[str, BundleList] = msgspec.field(default_factory=dict)
    bundle_of_topic: Mapping[str, str] = msgspec.field(default_factory=dict)
    known_names: frozenset[str] = frozenset()
    settings: BrokerSettings | None = None
    version: str | None = None
    problems: tuple[Problem, ...] = ()
    counts: Counts = Counts()
    ledgers: Mapping[str, LedgerFacts] = msgspec.field(default_factory=dict)
    topic_policies: Mapping[str, Mapping[str, object]] = msgspec.field(default_factory=dict)
    namespace_policies: Mapping[str, Mapping[str, object]] = msgspec.field(default_factory=dict)
    configuration: Mapping[str, str] = msgspec.field(default_factory=dict)
    loaded: frozenset[str] | None = None
    owners: Mapping[str, str] = msgspec.field(default_factory=dict)
    broker_loads: Mapping[str, WrittenLoad] = msgspec.field(default_factory=dict)
    ownership: ClusterPolicies | None = None
    written_loads: tuple[tuple[str, WrittenLoad], ...] = ()
    living: tuple[str, frozenset[str]] | None = None
    sums: Mapping[str, PartitionSums] = msgspec.field(default_factory=dict)
    scalable: Mapping[str, ScalableFacts] = msgspec.field(default_factory=dict)
    signs: frozenset[str] = frozenset()
    metered: Mapping[str, TopicFacts] = msgspec.field(default_factory=dict)
