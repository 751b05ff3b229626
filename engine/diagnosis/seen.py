"""A subscription as brokers reported it, at one moment or at two: what deciders look at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from engine.admin.facts import ConsumerFacts, CursorFacts, LedgerFacts, Snapshot, SubscriptionFacts, TopicFacts
from engine.admin.moments import Moment
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.diagnosis.limits import Limits, limits_of
from engine.errors import Rejection
from engine.names import PARTITION_SUFFIX, partition_index

NOBODY: Final = "None"
SHARED: Final = "Shared"
KEY_SHARED: Final = "Key_Shared"
FAILOVER: Final = "Failover"
EXCLUSIVE: Final = "Exclusive"
STILL_AFTER_MS: Final = 10_000
"""With one moment alone: somebody who was served within this time is taken to be served still."""
SYSTEM_TOPICS: Final = ("__change_events", "__transaction_buffer_snapshot", "transaction_coordinator_assign")
INTERNAL_SUBSCRIPTIONS: Final = ("__compaction",)


@dataclass(frozen=True, slots=True)
class Reading:
    """One dispatcher at one moment."""

    at_ms: int | None
    topic: TopicFacts
    subscription: SubscriptionFacts
    ledger: LedgerFacts | None

    @property
    def cursor(self) -> CursorFacts | None:
        return None if self.ledger is None else self.ledger.cursors.get(self.subscription.name)


@dataclass(frozen=True, slots=True)
class ConsumerSeen:
    """One consumer of a dispatcher. ``out`` is how many messages it was sent between the moments, None with one.

    ``stands_still`` is whether nothing was sent to it; None where one moment alone does not say.
    """

    facts: ConsumerFacts
    before: ConsumerFacts | None
    out: int | None
    stands_still: bool | None

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def permits(self) -> int:
        return self.facts.available_permits

    @property
    def unacked(self) -> int:
        return self.facts.unacked_messages

    @property
    def lacks_permits(self) -> bool:
        """Whether it asked for no message at any of the moments."""
        return self.permits <= 0 and (self.before is None or self.before.available_permits <= 0)

    @property
    def acknowledged(self) -> bool | None:
        """Whether it acknowledged anything between the moments; None with one."""
        return None if self.before is None else self.facts.last_acked_ms > self.before.last_acked_ms


# Not slotted: what several deciders need is computed when it is first asked for.
@dataclass(frozen=True)
class Dispatcher:
    """A subscription of one topic or partition: how it was last seen, and how it was before that, if ever."""

    last: Reading
    before: Reading | None = None

    @cached_property
    def topic(self) -> str:
        return self.last.topic.name

    @cached_property
    def sub(self) -> SubscriptionFacts:
        return self.last.subscription

    @cached_property
    def restarted(self) -> bool:
        """Whether the topic was loaded anew between the moments: then counters begin from 0."""
        if self.before is None:
            return False
        pairs = (
            (self.before.topic.msg_in_counter, self.last.topic.msg_in_counter),
            (self.before.subscription.msg_out_counter, self.sub.msg_out_counter),
        )
        return any(old is not None and new is not None and new < old for old, new in pairs)

    @property
    def seconds(self) -> float | None:
        """The time between the moments."""
        if self.before is None or self.before.at_ms is None or self.last.at_ms is None:
            return None
        return (self.last.at_ms - self.before.at_ms) / 1000

    @cached_property
    def out(self) -> int | None:
        """Messages sent out between the moments; None where that is not known."""
        before = None if self.before is None else self.before.subscription.msg_out_counter
        return self._grown(before, self.sub.msg_out_counter)

    @cached_property
    def came_in(self) -> int | None:
        """Messages published between the moments; None where that is not known."""
        before = None if self.before is None else self.before.topic.msg_in_counter
        return self._grown(before, self.last.topic.msg_in_counter)

    def _grown(self, old: int | None, new: int | None) -> int | None:
        return None if old is None or new is None or self.restarted else new - old

    @cached_property
    def backlog(self) -> int:
        return self.sub.msg_backlog_entries

    @property
    def backlog_growth(self) -> int | None:
        return None if self.before is None else self.backlog - self.before.subscription.msg_backlog_entries

    @property
    def replay(self) -> int:
        """Messages that were read and wait to be sent, most of all for one consumer."""
        return self.sub.msg_in_replay or 0

    @cached_property
    def unread(self) -> int:
        """Entries that the dispatcher has not read yet; where no cursor says so, at most so many."""
        cursor, ledger = self.last.cursor, self.last.ledger
        if cursor is not None and ledger is not None:
            written, read = ledger.last_confirmed_entry, cursor.read_position
            if written is not None and read is not None:
                if read > written:
                    return 0
                if read.ledger == written.ledger:
                    return written.entry - read.entry + 1
        return max(0, self.backlog - self.sub.unacked_messages - self.replay - self.sub.msg_delayed)

    @cached_property
    def throttled(self) -> Counter[str]:
        """How often a limit of the dispatch rate held something back between the moments, or since load with one."""
        return self.sub.throttle_events - (self.before.subscription.throttle_events if self.before else Counter())

    @property
    def has_read_all(self) -> bool:
        """Whether nothing is left to read, but for what was published a moment ago."""
        return self.unread <= max(2, (self.came_in or 0) // 20)

    @property
    def stands_still(self) -> bool | None:
        """Whether nothing was sent to anybody; None where one moment alone does not say."""
        if self.out is not None:
            return self.out == 0
        still = [consumer.stands_still for consumer in self.consumers]
        if not still:
            return True
        return None if None in still else all(still)

    @cached_property
    def consumers(self) -> tuple[ConsumerSeen, ...]:
        old: dict[tuple[str, str], ConsumerFacts] = {}
        if self.before is not None and not self.restarted:
            old = {(consumer.name, consumer.address): consumer for consumer in self.before.subscription.consumers}
        return tuple(
            self._seen(consumer, old.get((consumer.name, consumer.address))) for consumer in self.sub.consumers
        )

    def _seen(self, facts: ConsumerFacts, before: ConsumerFacts | None) -> ConsumerSeen:
        if before is not None and before.msg_out_counter is not None and facts.msg_out_counter is not None:
            out = facts.msg_out_counter - before.msg_out_counter
            return ConsumerSeen(facts, before, out, out <= 0)
        if facts.msg_out_counter == 0:
            return ConsumerSeen(facts, before, None, True)
        if self.last.at_ms is None or not facts.last_consumed_ms:
            return ConsumerSeen(facts, before, None, None)
        return ConsumerSeen(facts, before, None, self.last.at_ms - facts.last_consumed_ms > STILL_AFTER_MS)

    @cached_property
    def active(self) -> ConsumerSeen | None:
        """The active consumer that the broker names, if it is connected."""
        if self.active_name is None:
            return None
        return next(consumer for consumer in self.consumers if consumer.name == self.active_name)

    @cached_property
    def active_name(self) -> str | None:
        """Its name."""
        name = self.sub.active_consumer_name
        return name if any(consumer.name == name for consumer in self.sub.consumers) else None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing waits and nobody is stopped, whatever the counters say."""
        sub = self.sub
        if self.backlog or sub.unacked_messages or sub.msg_in_replay or sub.msg_delayed or sub.blocked_on_unacked:
            return False
        if any(
            consumer.blocked_on_unacked or consumer.draining or consumer.unacked_messages for consumer in sub.consumers
        ):
            return False
        # Without a cursor the backlog says what is unread.
        return self.last.ledger is None or not self.unread

    def consumer_at(self, slot: int) -> ConsumerSeen | None:
        """Who owns a slot by the reported ranges."""
        for consumer in self.consumers:
            if any(start <= slot <= end for start, end in consumer.facts.key_hash_ranges):
                return consumer
        return None


@dataclass(frozen=True)
class SubscriptionSeen:
    """One subscription of a namespace on all topics that have it, and what limits it.

    ``unloaded`` are its topics that a broker did not have loaded at an earlier moment, since its list lacks them.
    """

    namespace: str
    name: str
    dispatchers: tuple[Dispatcher, ...]
    limits: Limits
    behaviour: ReleaseBehaviour
    moments: int
    unloaded: frozenset[str]

    @cached_property
    def type(self) -> str:
        """Pulsar's word; that of the dispatchers somebody is connected to, ``None`` where nobody is."""
        types = [dispatcher.sub.type for dispatcher in self.dispatchers if dispatcher.sub.type != NOBODY]
        return types[0] if types else NOBODY

    @cached_property
    def backlog(self) -> int:
        return sum(dispatcher.backlog for dispatcher in self.dispatchers)

    @cached_property
    def busy(self) -> tuple[Dispatcher, ...]:
        """Where something waits or somebody is stopped."""
        return tuple(dispatcher for dispatcher in self.dispatchers if not dispatcher.is_quiet)

    @cached_property
    def largest(self) -> Dispatcher:
        """The dispatcher with the largest backlog, the first of several."""
        return max(self.dispatchers, key=lambda dispatcher: dispatcher.backlog)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics without partition suffixes."""
        return tuple(dict.fromkeys(parent_of(dispatcher.topic) for dispatcher in self.dispatchers))


def parent_of(topic: str) -> str:
    """A topic's name without the suffix of a partition.

    >>> parent_of("persistent://t/n/x-partition-3")
    'persistent://t/n/x'
    """
    return topic.rpartition(PARTITION_SUFFIX)[0] if partition_index(topic) >= 0 else topic


def subscriptions_seen(moments: Sequence[Moment]) -> list[SubscriptionSeen]:
    """Put together what moments in the order of time say of each subscription. O(dispatchers x moments).

    The last two moments that show a dispatcher count. Topics and subscriptions that a broker keeps for itself are left
    out, unless they are all there is.
    """
    snapshots = [moment.snapshot for moment in moments]
    version = next((item.version for item in reversed(snapshots) if item.version), None)
    known = behaviour_of(version) if version is not None else CURRENT
    behaviour = CURRENT if isinstance(known, Rejection) else known
    limits = limits_of(snapshots, behaviour)
    readings: defaultdict[tuple[str, str, str], list[Reading]] = defaultdict(list)
    for moment in moments:
        for topic in moment.snapshot.topics.values():
            # Lists of loaded topics know less than statistics, and must not hide what those said before.
            for sub in topic.subscriptions:
                ledger = moment.snapshot.ledgers.get(topic.name)
                key = (topic.namespace, sub.name, topic.name)
                readings[key].append(Reading(moment.at_ms, topic, sub, ledger))
    grouped: defaultdict[tuple[str, str], list[Dispatcher]] = defaultdict(list)
    for (namespace, name, topic_name), reading in readings.items():
        if not _is_internal(topic_name, name):
            grouped[namespace, name].append(_dispatcher(reading))
    return [
        SubscriptionSeen(
            namespace,
            name,
            tuple(sorted(dispatchers, key=lambda item: (parent_of(item.topic), partition_index(item.topic)))),
            limits,
            behaviour,
            len(moments),
            _unloaded(snapshots, (item.topic for item in dispatchers)),
        )
        for (namespace, name), dispatchers in grouped.items()
    ]


def _dispatcher(readings: Sequence[Reading]) -> Dispatcher:
    fuller = [reading for reading in readings if reading.topic.kind != "broker-stats"]
    readings = fuller or readings
    return Dispatcher(readings[-1], readings[-2] if len(readings) > 1 else None)


def _is_internal(topic: str, subscription: str) -> bool:
    return subscription in INTERNAL_SUBSCRIPTIONS or topic.rpartition("/")[2].startswith(SYSTEM_TOPICS)


def _unloaded(snapshots: Sequence[Snapshot], topics: Iterable[str]) -> frozenset[str]:
    """Topics that some list of loaded topics lacks while another answer of the same moment names them."""
    return frozenset(
        topic
        for topic in topics
        for snapshot in snapshots
        if snapshot.loaded is not None and topic not in snapshot.loaded and topic in snapshot.known_names
    )
