"""Key_Shared subscriptions of a snapshot, and which of the four modes explains the ranges that were reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from engine.admin.facts import ConsumerFacts, Snapshot
from engine.cluster.keys.state import (
    KEY_SETTINGS,
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyEvent,
    KeyIntervalsSeen,
    KeySubscription,
    KeySubscriptionCreated,
    SharingMode,
)
from engine.cluster.tables.topics import Topic
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.keyshared.model import RANGE_SIZE, Consumer, RangesById
from engine.names import is_segment
from engine.ranges import HashRange
from engine.scenarios.subscriptions import KEY_SHARED
from engine.views.failover.model import Notice

MODE_INFERRED: Final = "key-mode-inferred"
RANGES_DIFFER: Final = "key-ranges-differ"
MESSAGES_UNKNOWN: Final = "key-messages-unknown"

_Ranges = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(slots=True)
class KeyGroup:
    """Topics of one namespace whose Key_Shared dispatchers have one list of consumers with the same ranges."""

    name: str
    namespace: str
    consumers: tuple[ConsumerFacts, ...]
    topics: list[str] = field(default_factory=list)


def gather_keys(snapshot: Snapshot, topics: Sequence[Topic]) -> tuple[KeyGroup, ...]:
    """The Key_Shared subscriptions, those of most topics first; consumers in the order of connecting.

    Where the partitions of a topic disagree, the first one that has consumers counts. O(dispatchers x consumers).
    """
    groups: dict[tuple[str, str, tuple[str, ...], _Ranges], KeyGroup] = {}
    for topic in topics:
        for namespace, name, consumers in _dispatchers(snapshot, topic):
            ordered = _by_connecting(consumers)
            ranges = tuple(consumer.key_hash_ranges for consumer in ordered)
            key = (namespace, name, tuple(consumer.name for consumer in ordered), ranges)
            groups.setdefault(key, KeyGroup(name, namespace, ordered)).topics.append(topic.name)
    return tuple(sorted(groups.values(), key=lambda group: (-len(group.topics), group.name, group.namespace)))


def key_subscriptions_of(
    groups: Sequence[KeyGroup],
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour,
    taken: set[str],
    next_id: int,
) -> tuple[tuple[KeySubscription, ...], tuple[Notice, ...]]:
    """The groups as values of the model; ``taken`` are keys in use, consumer ids count on from ``next_id``."""
    subscriptions: list[KeySubscription] = []
    notes: list[Notice] = []
    for group in groups:
        key, number = group.name, 2
        while key in taken:
            key, number = f"{group.name}#{number}", number + 1
        taken.add(key)
        subscription, more = _opened(key, group, settings, behaviour, next_id)
        notes += more
        if subscription is not None:
            subscriptions.append(subscription)
            next_id = max((next_id, *(joined + 1 for joined in joined_ids(subscription))))
    return tuple(subscriptions), tuple(notes)


def ring_of(subscriptions: Sequence[KeySubscription], settings: BrokerSettings) -> bool:
    """``subscriptionKeySharedUseConsistentHashing`` by the modes that were recognised; unchanged where none shows it.

    Where subscriptions disagree (the broker's setting changed since), the one of most topics counts.
    """
    modes = {SharingMode.AUTO_SPLIT: False, SharingMode.CONSISTENT_AUTO_SPLIT: True}
    rings = (modes[subscription.mode] for subscription in subscriptions if subscription.mode in modes)
    return next(rings, settings.subscriptionKeySharedUseConsistentHashing)


def joined_ids(subscription: KeySubscription) -> tuple[int, ...]:
    """The ids of all consumers that ever joined, also of those inferred to have left."""
    return tuple(event.consumer_id for event in subscription.happened if isinstance(event, KeyConsumerJoined))


def _opened(
    key: str, group: KeyGroup, settings: BrokerSettings, behaviour: ReleaseBehaviour, first_id: int
) -> tuple[KeySubscription | None, list[Notice]]:
    from engine.cluster.keys.evolve import folded

    reported: RangesById = {
        first_id + at: tuple(HashRange(start, end) for start, end in consumer.key_hash_ranges if start <= end)
        for at, consumer in enumerate(group.consumers)
        if consumer.key_hash_ranges
    }
    notes: list[Notice] = []
    held = sum(consumer.unacked_messages or 0 for consumer in group.consumers)
    if held:
        text = f"{key}: {held:,} messages are unacknowledged; no answer has their keys, so they are not in the model"
        notes.append(Notice(MESSAGES_UNKNOWN, text))
    tried: list[KeySubscription] = []
    refused: list[str] = []
    for events in _Histories(key, group, settings, behaviour, first_id).that_could_give(reported):
        subscription = folded(events)
        if isinstance(subscription, str):
            refused.append(subscription)
            continue
        if not reported or subscription.delivery.selector.ranges() == reported:
            gone = len(joined_ids(subscription)) - len(subscription.consumers)
            text = f"{key}: mode {subscription.mode.value}, since it gives the ranges that were reported" + (
                f" if {gone} namesake{'s' if gone > 1 else ''} had left before" if gone else ""
            )
            return subscription, [*notes, *([Notice(MODE_INFERRED, text)] if reported else [])]
        tried.append(subscription)
    if not tried:
        text = f"{key}: no mode takes what was reported, so it is left out ({'; '.join(dict.fromkeys(refused))})"
        return None, [*notes, Notice(RANGES_DIFFER, text)]
    text = f"{key}: no mode gives exactly the ranges that were reported; shown is {tried[0].mode.value}"
    return tried[0], [*notes, Notice(RANGES_DIFFER, text)]


@dataclass(frozen=True, slots=True)
class _Histories:
    """The histories that could have led to what was reported: the ring, halved ranges, declared ranges."""

    key: str
    group: KeyGroup
    settings: BrokerSettings
    behaviour: ReleaseBehaviour
    first_id: int

    def that_could_give(self, reported: RangesById) -> Iterator[tuple[KeyEvent, ...]]:
        """The likeliest first, by the setting in force."""
        ring = self.settings.subscriptionKeySharedUseConsistentHashing
        automatic = [self._on_a_ring(reported)]
        intervals = _intervals(reported, len(self.group.consumers))
        if intervals:
            seen = KeyIntervalsSeen(self.key, intervals)
            automatic.append((*self._start(declares=False, ring=False), *self._joins(), seen))
        yield from automatic if ring else reversed(automatic)
        if len(reported) == len(self.group.consumers):
            yield (*self._start(declares=True, ring=ring), *self._joins(declares=True))

    def _start(self, *, declares: bool, ring: bool) -> tuple[KeySubscriptionCreated, KeyDispatcherStarted]:
        chosen = replace(self.settings, subscriptionKeySharedUseConsistentHashing=ring)
        texts = tuple((name, chosen.text_of(name)) for name in KEY_SETTINGS)
        group = self.group
        return (
            KeySubscriptionCreated(self.key, group.name, group.namespace, tuple(group.topics)),
            KeyDispatcherStarted(self.key, declares, 0, False, self.behaviour.label, texts),
        )

    def _joins(self, *, declares: bool = False) -> tuple[KeyConsumerJoined, ...]:
        return tuple(
            KeyConsumerJoined(
                self.key, self.first_id + at, consumer.name, consumer.key_hash_ranges if declares else None
            )
            for at, consumer in enumerate(self.group.consumers)
        )

    def _on_a_ring(self, reported: RangesById) -> tuple[KeyEvent, ...]:
        from engine.cluster.keys.evolve import dispatcher_of
        from engine.keyshared.name_indices import name_indices
        from engine.keyshared.ring import RingSelector, refuse_ring

        start, joins = self._start(declares=False, ring=True), self._joins()
        dispatcher = dispatcher_of(start[1])
        if isinstance(dispatcher, Rejection) or not isinstance(dispatcher.selector, RingSelector):
            return (*start, *joins)
        if refuse_ring(len(joins), dispatcher.selector.points) is not None:
            return (*start, *joins)  # folding them says why not
        indices = name_indices(dispatcher.selector, [(join.name, reported.get(join.consumer_id, ())) for join in joins])
        return (*start, *with_namesakes_that_left(joins, indices))


def _intervals(reported: Mapping[int, tuple[HashRange, ...]], consumers: int) -> tuple[tuple[int, int], ...]:
    """(upper, consumer id) when each consumer has one range and together they tile 0 .. 65536; else none."""
    rows = sorted((pieces[0].start, pieces[0].end, owner) for owner, pieces in reported.items() if len(pieces) == 1)
    if len(rows) != consumers or not rows or rows[0][0] != 0 or rows[-1][1] != RANGE_SIZE:
        return ()
    if any(later[0] != earlier[1] + 1 for earlier, later in pairwise(rows)):
        return ()
    return tuple((end, owner) for _, end, owner in rows)


def _dispatchers(snapshot: Snapshot, topic: Topic) -> Iterator[tuple[str, str, tuple[ConsumerFacts, ...]]]:
    seen: set[str] = set()
    for name in () if is_segment(topic.name) else topic.partition_names():
        facts = snapshot.topics.get(name)
        for subscription in facts.subscriptions if facts is not None else ():
            if (
                facts is not None
                and subscription.type == KEY_SHARED
                and subscription.consumers
                and subscription.name not in seen
            ):
                seen.add(subscription.name)
                yield facts.namespace, subscription.name, subscription.consumers


def _by_connecting(consumers: tuple[ConsumerFacts, ...]) -> tuple[ConsumerFacts, ...]:
    # Time stamps are texts of one form; without them the broker's order, which is that of joining.
    if all(consumer.connected_since for consumer in consumers):
        return tuple(sorted(consumers, key=lambda consumer: consumer.connected_since.rstrip("Z")))
    return consumers


def with_namesakes_that_left(
    joins: Sequence[KeyConsumerJoined], indices: Sequence[int]
) -> tuple[KeyConsumerJoined | KeyConsumerLeft, ...]:
    """The joins, with such namesakes before them as make everybody get its name index; they leave in the end.

    The ids of those that left follow the others.
    """
    from engine.keyshared.name_indices import joins_and_leaves

    subscription = joins[0].subscription if joins else ""
    given = {join.consumer_id: join for join in joins}
    consumers = [Consumer(join.consumer_id, join.name) for join in joins]
    return tuple(
        KeyConsumerLeft(subscription, step)
        if isinstance(step, int)
        else given.get(step.consumer_id) or KeyConsumerJoined(subscription, step.consumer_id, step.name)
        for step in joins_and_leaves(consumers, indices)
    )
