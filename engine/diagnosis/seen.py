"""Subscriptions as brokers reported them at one moment or two: the input of deciders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engine.admin.facts import ConsumerFacts, CursorFacts, LedgerFacts, Snapshot, SubscriptionFacts, TopicFacts
from engine.admin.moments import Moment
from engine.config import ReleaseBehaviour
from engine.diagnosis.limits import Limits, limits_of
from engine.diagnosis.release import ReleaseSeen, release_seen
from engine.names import PARTITION_SUFFIX, partition_index

NOBODY: Final = "None"
UNKNOWN_TYPE: Final = "unknown"
"""Metrics do not have the type."""
SHARED: Final = "Shared"
KEY_SHARED: Final = "Key_Shared"
FAILOVER: Final = "Failover"
EXCLUSIVE: Final = "Exclusive"
STILL_AFTER_MS: Final = 10_000
"""With a single moment, a consumer that was served within this time counts as being served."""
_AT_ONCE_MS: Final = 1_000
"""A message sent within this time after the last one was published is that one: the dispatcher was at the end."""
SYSTEM_TOPICS: Final = ("__change_events", "__transaction_buffer_snapshot", "transaction_coordinator_assign")
INTERNAL_SUBSCRIPTIONS: Final = ("__compaction", "pulsar.dedup")


class Reading(Struct, frozen=True):
    """One dispatcher at one moment.

    ``waits_for`` is the topic that a segment of a scalable topic waits for: this subscription must have read it to its
    end before anybody is given the segment. "" for none, and for all other topics.
    """

    at_ms: int | None
    topic: TopicFacts
    subscription: SubscriptionFacts
    ledger: LedgerFacts | None
    waits_for: str = ""

    @property
    def cursor(self) -> CursorFacts | None:
        return None if self.ledger is None else self.ledger.cursors.get(self.subscription.name)


# Not slotted: cached properties keep what several deciders need.
class ConsumerSeen(Struct, frozen=True, dict=True):
    """One consumer of a dispatcher. ``out`` counts the messages sent to it between the moments, None with one moment.

    ``stands_still`` is whether nothing was sent to it; None where a single moment does not show it.
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
        return self.facts.available_permits or 0

    @property
    def unacked(self) -> int:
        return self.facts.unacked_messages or 0

    @property
    def lacks_permits(self) -> bool:
        """Whether it had no permits at any of the moments."""
        known = [facts.available_permits for facts in (self.facts, self.before) if facts is not None]
        return all(permits is not None and permits <= 0 for permits in known)

    @property
    def never_asked(self) -> bool:
        """Whether it has no permits and the broker never got any from it."""
        first = self.facts.first_flow_ms if self.facts.first_flow_ms is not None else self.facts.last_flow_ms
        return first == 0 and self.lacks_permits and self.permits <= 0 and not self.facts.msg_out_counter

    @cached_property
    def connected_ms(self) -> int | None:
        """When it connected, in epoch milliseconds; None where the answer does not say it with a time zone."""
        try:
            at = datetime.fromisoformat(self.facts.connected_since)
        except ValueError:
            return None
        return None if at.tzinfo is None else int(at.astimezone(UTC).timestamp() * 1000)

    @property
    def acknowledged(self) -> bool | None:
        """Whether it acknowledged anything between the moments; None with one moment."""
        now, before = self.facts.last_acked_ms, self.before.last_acked_ms if self.before is not None else None
        return None if now is None or before is None else now > before


class Dispatcher(Struct, frozen=True, dict=True):
    """A subscription of one topic or partition, at the last moment and at the one before, if any."""

    last: Reading
    before: Reading | None = None

    @property
    def topic(self) -> str:
        return self.last.topic.name

    @property
    def sub(self) -> SubscriptionFacts:
        return self.last.subscription

    @cached_property
    def restarted(self) -> bool:
        """Whether the topic was reloaded between the moments, which resets its counters."""
        if self.before is None:
            return False
        pairs = (
            (self.before.topic.msg_in_counter, self.last.topic.msg_in_counter),
            (self.before.subscription.msg_out_counter, self.sub.msg_out_counter),
        )
        return any(old is not None and new is not None and new < old for old, new in pairs)

    @property
    def seconds(self) -> float | None:
        """The time between the moments in seconds, if known."""
        if self.before is None or self.before.at_ms is None or self.last.at_ms is None:
            return None
        return (self.last.at_ms - self.before.at_ms) / 1000

    @cached_property
    def out(self) -> int | None:
        """Messages sent between the moments; None if unknown."""
        before = None if self.before is None else self.before.subscription.msg_out_counter
        return self._grown(before, self.sub.msg_out_counter)

    @cached_property
    def came_in(self) -> int | None:
        """Messages published between the moments; None if unknown."""
        before = None if self.before is None else self.before.topic.msg_in_counter
        return self._grown(before, self.last.topic.msg_in_counter)

    def _grown(self, old: int | None, new: int | None) -> int | None:
        return None if old is None or new is None or self.restarted else new - old

    @property
    def backlog(self) -> int:
        return self.sub.msg_backlog_entries or 0

    @property
    def unacked(self) -> int:
        return self.sub.unacked_messages or 0

    @property
    def delayed(self) -> int:
        return self.sub.msg_delayed or 0

    @property
    def backlog_growth(self) -> int | None:
        before = None if self.before is None else self.before.subscription.msg_backlog_entries
        now = self.sub.msg_backlog_entries
        return None if before is None or now is None else now - before

    @property
    def replay(self) -> int:
        """Messages that were read and wait to be sent, usually to a single consumer."""
        return self.sub.msg_in_replay or 0

    @cached_property
    def unread(self) -> int:
        """Entries that the dispatcher has not read yet; without a cursor an upper bound."""
        ledger = self.last.ledger
        unread = None if ledger is None else ledger.entries_unread(self.sub.name)
        if unread is not None:
            return unread
        return max(0, self.backlog - self.unacked - self.replay - self.delayed)

    @property
    def before_backlog(self) -> int:
        """``backlog`` at the moment before; 0 without one."""
        return 0 if self.before is None else self.before.subscription.msg_backlog_entries or 0

    @property
    def unread_before(self) -> int:
        """``unread`` at the moment before; 0 without one."""
        return 0 if self.before is None else Dispatcher(self.before).unread

    @cached_property
    def sent_all(self) -> bool | None:
        """Whether all that was published went out to consumers; None where the answers do not show it.

        Unacknowledged messages are counted for Shared and Key_Shared alone. For the others a message that went out
        right after the last one was published is that one, since they are sent in order. What a Key_Shared dispatcher
        has read and keeps back for the consumer of a key did not go out.
        """
        may_keep_back = self.sub.type in (KEY_SHARED, NOBODY) and self.sub.unacked_messages is not None
        if may_keep_back and self.backlog > self.unacked + self.delayed:
            return False
        cursor, ledger = self.last.cursor, self.last.ledger
        if (
            cursor is not None
            and ledger is not None
            and None not in (ledger.last_confirmed_entry, cursor.read_position)
        ):
            return not self.unread
        if self.is_shared:
            return None if self.sub.unacked_messages is None else not self.unread
        published, sent = self.last.topic.last_publish_ms, self.sub.last_consumed_ms
        if published and sent and sent < published:
            return False
        at_once = published and sent and sent - published <= _AT_ONCE_MS
        return True if at_once or self._counted_all or self._took_all_that_came else None

    @property
    def _took_all_that_came(self) -> bool:
        """Whether the permits of the one consumer fell by what the backlog grew: in order, so all before went out.

        Only of answers without times and counters, where nothing better is known.
        """
        taker, grown = self.taker, self.backlog_growth
        if taker is None or taker.before is None or grown is None or self.knows_times or self.out is not None:
            return False
        permits, before = taker.facts.available_permits, taker.before.available_permits
        return None not in (permits, before) and (before or 0) - (permits or 0) >= grown * self.messages_per_entry > 0

    @property
    def _counted_all(self) -> bool:
        """Whether the one consumer that gets everything was sent as many messages as came since the topic was loaded.

        As nothing was acknowledged since, a backlog of that many has no older ones.
        """
        sub, taker = self.sub, self.taker
        if taker is None or sub.msg_rate_redeliver_msgs_per_sec or self.last_acked_ms or self.messages_per_entry > 1:
            return False
        came_in, sent = self.last.topic.msg_in_counter, taker.facts.msg_out_counter
        return came_in is not None and sent is not None and 0 < self.backlog == came_in <= sent

    @property
    def acknowledged_all(self) -> bool:
        """Whether its cursor shows that every entry is acknowledged."""
        return self.entries_left == 0

    @property
    def entries_left(self) -> int | None:
        """The entries behind the mark-delete position, those acknowledged singly included; None where unknown."""
        reading = self.last
        return None if reading.ledger is None else reading.ledger.entries_left(reading.subscription.name)

    @cached_property
    def now_ms(self) -> int:
        """The time of the last moment, or the latest time in its answer, which is not later; 0 without any."""
        if self.last.at_ms is not None:
            return self.last.at_ms
        topic = self.last.topic
        return max(topic.last_publish_ms, *(sub.latest_ms for sub in topic.subscriptions))

    @cached_property
    def last_sent_ms(self) -> int:
        """When a message last went out, 0 for never or unknown."""
        times = [self.sub.last_consumed_ms, *(consumer.last_consumed_ms for consumer in self.sub.consumers)]
        return max((time for time in times if time is not None), default=0)

    @cached_property
    def last_acked_ms(self) -> int:
        """When a message was last acknowledged, 0 for never or unknown."""
        times = [self.sub.last_acked_ms, *(consumer.last_acked_ms for consumer in self.sub.consumers)]
        return max((time for time in times if time is not None), default=0)

    @property
    def knows_times(self) -> bool:
        """Whether the answer says when messages were last sent and acknowledged, if ever."""
        consumers = self.sub.consumers
        sent = self.sub.last_consumed_ms is not None or any(each.last_consumed_ms is not None for each in consumers)
        return sent and (
            self.sub.last_acked_ms is not None or any(each.last_acked_ms is not None for each in consumers)
        )

    @cached_property
    def acknowledged(self) -> bool | None:
        """Whether anything was acknowledged between the moments; None where it is unknown."""
        if self.before is None or self.restarted:
            return None
        if self.sub.last_acked_ms is None and all(each.last_acked_ms is None for each in self.sub.consumers):
            return None
        return self.last_acked_ms > Dispatcher(self.before).last_acked_ms

    @cached_property
    def acks_per_s(self) -> float | None:
        """Messages acknowledged a second: between the moments, else the average of a minute; None where unknown."""
        if self.seconds and self.came_in is not None and self.backlog_growth is not None:
            return max(0.0, (self.came_in - self.backlog_growth * self.messages_per_entry) / self.seconds)
        if self.sub.ack_rate_msgs_per_sec is not None:
            return self.sub.ack_rate_msgs_per_sec
        rates = [consumer.ack_rate_msgs_per_sec for consumer in self.sub.consumers]
        return sum(rate or 0.0 for rate in rates) if any(rate is not None for rate in rates) else None

    @cached_property
    def messages_per_entry(self) -> int:
        """Messages for each entry, 1 if no answer says it: a backlog counts entries, and counters messages."""
        return max((consumer.avg_messages_per_entry or 1 for consumer in self.sub.consumers), default=1)

    @property
    def in_per_s(self) -> float | None:
        """Messages published a second: between the moments, else the average of a minute; None where unknown."""
        if self.seconds and self.came_in is not None:
            return self.came_in / self.seconds
        return self.last.topic.msg_rate_in_msgs_per_sec

    @property
    def nothing_goes_out(self) -> bool | None:
        """Whether nothing went out between the moments, or in the minute of a single one while messages came in."""
        if self.out is not None:
            return self.out == 0
        rate = self.sub.msg_rate_out_msgs_per_sec
        if self.stands_still is False or rate:
            return False
        if rate is None:
            return None
        return True if self.before is None and self.last.topic.msg_rate_in_msgs_per_sec else None

    @cached_property
    def throttled(self) -> Counter[str]:
        """Counts of dispatches held back by a rate limit between the moments, or since load with one moment."""
        return self.sub.throttle_events - (self.before.subscription.throttle_events if self.before else Counter())

    @property
    def has_read_all(self) -> bool:
        """Whether nothing is left to read, except what was published just now."""
        return self.unread <= max(2, (self.came_in or 0) // 20)

    @property
    def stands_still(self) -> bool | None:
        """Whether nothing was sent to any consumer; None where a single moment does not show it."""
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

    @property
    def changed_hands(self) -> bool:
        """Whether consumers came or went between the moments."""
        before = () if self.before is None else self.before.subscription.consumers
        return {(each.name, each.address) for each in before} != {
            (each.name, each.address) for each in self.sub.consumers
        }

    @cached_property
    def active(self) -> ConsumerSeen | None:
        """The reported active consumer, if it is connected."""
        if self.active_name is None:
            return None
        return next(consumer for consumer in self.consumers if consumer.name == self.active_name)

    @cached_property
    def active_name(self) -> str | None:
        """The name of the active consumer, if it is connected."""
        name = self.sub.active_consumer_name
        return name if any(consumer.name == name for consumer in self.sub.consumers) else None

    @property
    def is_shared(self) -> bool:
        """Whether messages go to several consumers, and the broker counts what each has not acknowledged."""
        return self.sub.type in (SHARED, KEY_SHARED)

    @property
    def taker(self) -> ConsumerSeen | None:
        """The consumer that gets everything, of Failover and Exclusive; None where no answer shows it."""
        if self.active is not None:
            return self.active
        return self.consumers[0] if self.sub.type == EXCLUSIVE and len(self.consumers) == 1 else None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing waits and no consumer is stopped, regardless of counters."""
        sub = self.sub
        if sub.msg_backlog_entries is None:
            return False  # unknown is not 0
        if self.backlog or sub.unacked_messages or sub.msg_in_replay or sub.msg_delayed or sub.blocked_on_unacked:
            return False
        if any(
            consumer.blocked_on_unacked or consumer.draining or consumer.unacked_messages for consumer in sub.consumers
        ):
            return False
        # Without a cursor the backlog shows what is unread.
        return self.last.ledger is None or not self.unread

    def consumer_at(self, slot: int) -> ConsumerSeen | None:
        """Return the owner of a slot by the reported ranges."""
        for consumer in self.consumers:
            if any(start <= slot <= end for start, end in consumer.facts.key_hash_ranges):
                return consumer
        return None


def _with_some_consumers(dispatcher: Dispatcher) -> Dispatcher:
    sub = dispatcher.sub
    consumers = tuple(consumer for consumer in sub.some_consumers if consumer.name)
    if not consumers:
        return dispatcher
    has_slots = sub.mode is not None or any(consumer.key_hash_ranges for consumer in consumers)
    type_ = KEY_SHARED if sub.type == NOBODY and has_slots else sub.type
    sub = replace(sub, type=type_, consumers=consumers)
    return Dispatcher(replace(dispatcher.last, subscription=sub), dispatcher.before)


class SubscriptionSeen(Struct, frozen=True, dict=True):
    """One subscription of a namespace on all its topics, with the limits in force.

    ``unloaded`` are its topics that some broker's list of loaded topics lacks.
    """

    namespace: str
    name: str
    dispatchers: tuple[Dispatcher, ...]
    limits: Limits
    release: ReleaseSeen
    moments: int
    unloaded: frozenset[str]

    @property
    def behaviour(self) -> ReleaseBehaviour:
        """The rules of the brokers' release."""
        return self.release.behaviour

    @cached_property
    def type(self) -> str:
        """The type, as Pulsar writes it, of dispatchers with consumers; ``None`` without any consumer."""
        types = [dispatcher.sub.type for dispatcher in self.dispatchers if dispatcher.sub.type != NOBODY]
        return types[0] if types else NOBODY

    @cached_property
    def with_some_consumers(self) -> SubscriptionSeen:
        """The same with those consumers that the answers still have where lists of them are cut.

        Enough for what one consumer proves; how many there are, and which of them is next, is not known.
        """
        if not any(dispatcher.sub.some_consumers for dispatcher in self.dispatchers):
            return self
        return replace(self, dispatchers=tuple(map(_with_some_consumers, self.dispatchers)))

    @property
    def backlog(self) -> int:
        return sum(dispatcher.backlog for dispatcher in self.dispatchers)

    @cached_property
    def busy(self) -> tuple[Dispatcher, ...]:
        """The dispatchers where something waits or a consumer is stopped."""
        return tuple(dispatcher for dispatcher in self.dispatchers if not dispatcher.is_quiet)

    @cached_property
    def largest(self) -> Dispatcher:
        """The first dispatcher with the largest backlog."""
        return max(self.dispatchers, key=lambda dispatcher: dispatcher.backlog)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics without partition suffixes."""
        return tuple(dict.fromkeys(parent_of(dispatcher.topic) for dispatcher in self.dispatchers))


@lru_cache(maxsize=1 << 16)
def parent_of(topic: str) -> str:
    """Return a topic's name without the suffix of a partition.

    >>> parent_of("persistent://t/n/x-partition-3")
    'persistent://t/n/x'
    """
    return topic.rpartition(PARTITION_SUFFIX)[0] if partition_index(topic) >= 0 else topic


Key = tuple[str, str, str]
"""Namespace, subscription, topic or partition."""


class MomentReadings(Struct, frozen=True):
    """The dispatchers of one moment. ``listed`` are those of lists of loaded topics, which say less than statistics."""

    full: Mapping[Key, Reading]
    listed: Mapping[Key, Reading]


def readings_of(moment: Moment, *, by_topic: bool = False) -> MomentReadings:
    """All dispatchers that a moment shows. Internal topics and subscriptions of brokers are left out.

    ``by_topic``: segments without statistics of their own are seen as those of their scalable topic show them.
    """
    full: dict[Key, Reading] = {}
    listed: dict[Key, Reading] = {}
    ledgers = moment.snapshot.ledgers
    waits = _waiting_segments(moment.snapshot)
    for topic in (*moment.snapshot.topics.values(), *_segments_alone(moment.snapshot, by_topic)):
        into = listed if topic.kind == "broker-stats" else full
        for sub in topic.subscriptions:
            if not is_internal(topic.name, sub.name):
                waits_for = waits.get((topic.name, sub.name), "")
                reading = Reading(moment.at_ms, topic, sub, ledgers.get(topic.name), waits_for)
                into[topic.namespace, sub.name, topic.name] = reading
    return MomentReadings(full, listed)


def _segments_alone(snapshot: Snapshot, by_topic: bool) -> Iterator[TopicFacts]:
    """Segments by their own statistics; with ``by_topic`` those that no list of topics has by those of their topic."""
    for facts in snapshot.scalable.values():
        layout = facts.layout()
        if layout is None or not (facts.printed or by_topic):
            continue
        from engine.admin.topics import decode_topic_stats
        from engine.scalable.model import backing_topic
        from engine.scalable.reported import as_segment_statistics

        for one, segment in layout.segments.items():
            name = backing_topic(facts.topic, segment)
            data = facts.printed.get(one)
            if data is None and by_topic and facts.statistics is not None and name not in snapshot.topics:
                data = as_segment_statistics(facts.statistics, one)
            if data is not None:
                topic = decode_topic_stats(data, name).good
                if topic is not None:
                    yield topic


def _waiting_segments(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    """By topic and subscription of a segment that is printed as blocked, the topic that it waits for."""
    waits: dict[tuple[str, str], str] = {}
    if not snapshot.scalable:
        return waits
    from engine.scalable.model import backing_topic
    from engine.scalable.reported import blocked_in, held_back_by, known_drained

    for facts in snapshot.scalable.values():
        layout = facts.layout()
        if layout is None or facts.statistics is None:
            continue
        for name, reported in facts.statistics.subscriptions.items():
            blocked = blocked_in(layout, reported)
            causes = held_back_by(layout, known_drained(layout, reported)) if blocked else {}
            for one in blocked & causes.keys():
                segment, root = layout.segments[one], layout.segments[causes[one]]
                waits[backing_topic(facts.topic, segment), name] = backing_topic(facts.topic, root)
    return waits


def subscriptions_seen(
    moments: Sequence[Moment], readings: Callable[[Moment], MomentReadings] = readings_of
) -> list[SubscriptionSeen]:
    """Collect each subscription from moments in the order of time. O(dispatchers x moments).

    The last two moments of a dispatcher count. ``readings`` may remember those of a moment.
    """
    snapshots = [moment.snapshot for moment in moments]
    release = release_seen(snapshots)
    limits = limits_of(snapshots, release.behaviour)
    grouped: defaultdict[tuple[str, str], list[Dispatcher]] = defaultdict(list)
    for (namespace, name, _), dispatcher in _dispatchers([readings(moment) for moment in moments]):
        grouped[namespace, name].append(dispatcher)
    return [
        SubscriptionSeen(
            namespace,
            name,
            tuple(sorted(dispatchers, key=_place)),
            limits,
            release,
            len(moments),
            _unloaded(snapshots, {dispatcher.topic for dispatcher in dispatchers}),
        )
        for (namespace, name), dispatchers in grouped.items()
    ]


def _place(dispatcher: Dispatcher) -> tuple[str, int]:
    """Sorts dispatchers by topic, then by partition."""
    topic = dispatcher.last.topic
    return parent_of(topic.name), topic.partition_index


def _dispatchers(moments: Sequence[MomentReadings]) -> Iterator[tuple[Key, Dispatcher]]:
    """Each dispatcher at its last two moments, in the order in which they were first seen.

    Lists of loaded topics are less complete than statistics, and must not replace earlier ones.
    """
    full, listed = (_last_two([getattr(readings, kind) for readings in moments]) for kind in ("full", "listed"))
    seen: dict[Key, object] = {}
    for moment in moments:
        seen.update(moment.full)
        seen.update(moment.listed)
    for key in seen:
        last, before = full if key in full[0] else listed
        yield key, Dispatcher(last[key], before.get(key))


def _last_two(moments: Sequence[Mapping[Key, Reading]]) -> tuple[Mapping[Key, Reading], Mapping[Key, Reading]]:
    """The last readings, and the ones before them."""
    last: dict[Key, Reading] = {}
    before: dict[Key, Reading] = {}
    for readings in reversed(moments):
        for key in readings.keys() - before.keys():
            (before if key in last else last)[key] = readings[key]
    return last, before


def is_internal(topic: str, subscription: str) -> bool:
    """Whether a topic or subscription is one of the broker's own."""
    return subscription in INTERNAL_SUBSCRIPTIONS or topic.rpartition("/")[2].startswith(SYSTEM_TOPICS)


def _unloaded(snapshots: Sequence[Snapshot], topics: Set[str]) -> frozenset[str]:
    """Return the topics missing from a list of loaded topics while another answer of the same moment has them."""
    return frozenset().union(
        *((topics & snapshot.known_names) - snapshot.loaded for snapshot in snapshots if snapshot.loaded is not None)
    )
