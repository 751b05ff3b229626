"""Key_Shared subscriptions of a snapshot, and which of the four modes explains the ranges that were reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import Final

from msgspec import Struct, field, structs
from msgspec.structs import replace

from engine.admin.facts import ConsumerFacts, Snapshot
from engine.cluster.keys.state import (
    KEY_SETTINGS,
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyEvent,
    KeyIntervalsSeen,
    KeysRouted,
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
PARTITIONS_DIFFER: Final = "key-partitions-differ"
PARTITIONS_ASSUMED: Final = "key-partitions-assumed"

_Ranges = tuple[tuple[tuple[int, int], ...], ...]


class KeyGroup(Struct):
    """Topics of one namespace whose Key_Shared dispatchers have the same consumers with the same ranges.

    ``partitions``: the consumers of each partition, () where nobody is connected; empty where the topics have no
    partitions. ``consumers`` are those of the first partition that has any. What no answer says of a partition is taken
    to be as there: ``assumed`` counts such partitions.
    """

    name: str
    namespace: str
    consumers: tuple[ConsumerFacts, ...]
    topics: list[str] = field(default_factory=list)
    partitions: tuple[tuple[ConsumerFacts, ...], ...] = ()
    assumed: int = 0

    @property
    def agree(self) -> bool:
        """Whether all partitions have the same consumers in the same order, with the same ranges."""
        mine = _described(self.consumers)
        return all(consumers is self.consumers or _described(consumers) == mine for consumers in self.partitions)


_Described = tuple[tuple[str, ...], _Ranges]


def _described(consumers: Sequence[ConsumerFacts]) -> _Described:
    return tuple(consumer.name for consumer in consumers), tuple(consumer.key_hash_ranges for consumer in consumers)


def gather_keys(snapshot: Snapshot, topics: Sequence[Topic]) -> tuple[KeyGroup, ...]:
    """The Key_Shared subscriptions, those of most topics first; consumers in the order of connecting.

    All partitions of a topic are one group. O(dispatchers x consumers).
    """
    groups: dict[tuple[str, str, tuple[_Described | None, ...]], KeyGroup] = {}
    for topic in topics:
        for (namespace, name), each in _dispatchers(snapshot, topic).items():
            first = next((consumers for consumers in each if consumers), None)
            if first is None:
                continue
            key = (namespace, name, tuple(None if one is None else _described(one) for one in each))
            group = groups.get(key)
            if group is None:
                partitions = tuple(first if one is None else one for one in each) if topic.partitions else ()
                assumed = sum(one is None for one in each)
                group = groups[key] = KeyGroup(name, namespace, first, partitions=partitions, assumed=assumed)
            group.topics.append(topic.name)
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
    notes: list[Notice] = []
    every = group.partitions or (group.consumers,)
    held = sum(consumer.unacked_messages or 0 for consumers in set_of_lists(every) for consumer in consumers)
    if held:
        text = f"{key}: {held:,} messages are unacknowledged; no answer has their keys, so they are not in the model"
        notes.append(Notice(MESSAGES_UNKNOWN, text))
    ids = _ids_by_name(every, first_id)
    histories = _Histories(key, group, settings, behaviour, ids(group.consumers))
    if not group.partitions:
        subscription, more = _explained(key, histories, ())
    elif group.agree:
        subscription, more = _explained(key, histories, (_routed(key, group),))
    else:
        subscription, more = _of_partitions(key, histories, ids)
    if group.assumed and subscription is not None:
        text = f"{key}: no answer says anything of {group.assumed:,} partitions; they are taken to be as the others"
        more.append(Notice(PARTITIONS_ASSUMED, text))
    return subscription, [*notes, *more]


def _routed(key: str, group: KeyGroup) -> KeysRouted:
    from engine.routing.clients import JAVA_DEFAULT

    # No answer says how producers hash; the default of the Java client is the likeliest.
    return KeysRouted(key, len(group.partitions), JAVA_DEFAULT.client, JAVA_DEFAULT.hashing)


def _explained(
    key: str, histories: _Histories, routed: tuple[KeysRouted, ...]
) -> tuple[KeySubscription | None, list[Notice]]:
    """The likeliest history that gives what was reported; ``routed`` follows the start of the dispatcher."""
    from engine.cluster.keys.evolve import folded

    reported = histories.reported
    tried: list[KeySubscription] = []
    refused: list[str] = []
    for events in histories.that_could_give(reported):
        subscription = folded((*events[:2], *routed, *events[2:]))
        if isinstance(subscription, str):
            refused.append(subscription)
            continue
        if not reported or subscription.delivery.selector.ranges() == reported:
            gone = len(joined_ids(subscription)) - len(subscription.consumers)
            text = f"{key}: mode {subscription.mode.value}, since it gives the ranges that were reported" + (
                f" if {gone} namesake{'s' if gone > 1 else ''} had left before" if gone else ""
            )
            return subscription, [Notice(MODE_INFERRED, text)] if reported else []
        tried.append(subscription)
    if not tried:
        text = f"{key}: no mode takes what was reported, so it is left out ({'; '.join(dict.fromkeys(refused))})"
        return None, [Notice(RANGES_DIFFER, text)]
    text = f"{key}: no mode gives exactly the ranges that were reported; shown is {tried[0].mode.value}"
    return tried[0], [Notice(RANGES_DIFFER, text)]


def _of_partitions(
    key: str, histories: _Histories, ids: Callable[[Sequence[ConsumerFacts]], tuple[int, ...]]
) -> tuple[KeySubscription | None, list[Notice]]:
    """One subscription whose partitions have consumers, orders or ranges of their own.

    Each partition is explained by itself. One whose mode is not that of the first that has consumers cannot be of the
    same dispatcher's kind, so the joins of its consumers are all that is taken of it.
    """
    from engine.cluster.keys.evolve import folded

    group = histories.group
    known: dict[_Described, KeySubscription | None] = {}
    notes: list[Notice] = []
    for consumers in group.partitions:
        described = _described(consumers)
        if consumers and described not in known:
            one = replace(histories, group=replace(group, consumers=consumers), ids=ids(consumers))
            known[described], more = _explained(key, one, ())
            notes += more
    first = known[_described(group.consumers)]
    if first is None:
        return None, notes
    events: list[KeyEvent] = [*first.happened[:2], _routed(key, group)]
    start = first.happened[1]
    real = {number for consumers in group.partitions for number in ids(consumers)}
    spare = count(max(real, default=0) + 1)
    for partition, consumers in enumerate(group.partitions):
        mine = known.get(_described(consumers))
        if mine is None:
            continue
        same = mine.happened[1] == start
        given = set(ids(consumers))
        renamed: dict[int, int] = {}
        for event in mine.happened[2:] if same else [e for e in mine.happened[2:] if isinstance(e, KeyConsumerJoined)]:
            assert isinstance(event, KeyConsumerJoined | KeyConsumerLeft | KeyIntervalsSeen), event
            placed = structs.replace(event, partition=partition)
            if not isinstance(placed, KeyIntervalsSeen) and placed.consumer_id not in given:
                if placed.consumer_id not in renamed:
                    renamed[placed.consumer_id] = next(spare)
                placed = structs.replace(placed, consumer_id=renamed[placed.consumer_id])
            events.append(placed)
    subscription = folded(events)
    if isinstance(subscription, str):
        return None, [*notes, Notice(RANGES_DIFFER, f"{key}: left out, since its partitions disagree ({subscription})")]
    text = f"{key}: its partitions differ in consumers, their order or their ranges; each is shown as it was reported"
    return subscription, [*_distinct(notes), Notice(PARTITIONS_DIFFER, text)]


def _distinct(notes: Sequence[Notice]) -> list[Notice]:
    return list({(note.code, note.text): note for note in notes}.values())


def set_of_lists(every: Sequence[tuple[ConsumerFacts, ...]]) -> tuple[tuple[ConsumerFacts, ...], ...]:
    """The different lists, each object once."""
    return tuple({id(consumers): consumers for consumers in every}.values())


def _ids_by_name(
    every: Sequence[tuple[ConsumerFacts, ...]], first_id: int
) -> Callable[[Sequence[ConsumerFacts]], tuple[int, ...]]:
    """A function that gives consumers their ids: a consumer has one name in all partitions; namesakes go by place."""
    known: dict[tuple[str, int], int] = {}

    def ids(consumers: Sequence[ConsumerFacts]) -> tuple[int, ...]:
        seen: Counter[str] = Counter()
        numbers = []
        for consumer in consumers:
            number = known.setdefault((consumer.name, seen[consumer.name]), first_id + len(known))
            seen[consumer.name] += 1
            numbers.append(number)
        return tuple(numbers)

    for consumers in set_of_lists(every):
        ids(consumers)
    return ids


class _Histories(Struct, frozen=True):
    """The histories that could have led to what was reported: the ring, halved ranges, declared ranges."""

    key: str
    group: KeyGroup
    settings: BrokerSettings
    behaviour: ReleaseBehaviour
    ids: tuple[int, ...]

    @property
    def reported(self) -> RangesById:
        """The ranges that brokers reported, by consumer id."""
        return {
            number: tuple(HashRange(start, end) for start, end in consumer.key_hash_ranges if start <= end)
            for number, consumer in zip(self.ids, self.group.consumers, strict=True)
            if consumer.key_hash_ranges
        }

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
            KeyConsumerJoined(self.key, number, consumer.name, consumer.key_hash_ranges if declares else None)
            for number, consumer in zip(self.ids, self.group.consumers, strict=True)
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


def _dispatchers(snapshot: Snapshot, topic: Topic) -> dict[tuple[str, str], list[tuple[ConsumerFacts, ...] | None]]:
    """By namespace and name, the consumers of each partition in the order of connecting; None: no answer has it."""
    names = () if is_segment(topic.name) else topic.partition_names()
    found: dict[tuple[str, str], list[tuple[ConsumerFacts, ...] | None]] = {}
    for at, name in enumerate(names):
        facts = snapshot.topics.get(name)
        for subscription in facts.subscriptions if facts is not None else ():
            if facts is not None and subscription.type == KEY_SHARED:
                each = found.setdefault((facts.namespace, subscription.name), [None] * len(names))
                each[at] = _by_connecting(subscription.consumers)
    return found


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
