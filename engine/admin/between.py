"""Changes between two moments of a cluster, as far as the answers at both show them.

What only one of them shows is unknown, not removed: a dump may hold fewer answers than the one before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final, Literal, get_args

from engine.admin.facts import ConsumerFacts, Snapshot, SubscriptionFacts, TopicFacts, unacked_of
from engine.answer import about
from engine.bundles.boundaries import BundleRange
from engine.names import PARTITION_SUFFIX, TopicName, parse_topic_name

JOINED: Final = "joined"
LEFT: Final = "left"
ACTIVE: Final = "active"
RANGES: Final = "ranges"
TYPE: Final = "type"
GONE: Final = "gone"
NEW: Final = "new"
BUNDLES: Final = "bundles"
OWNER: Final = "owner"
PARTITIONS: Final = "partitions"
BLOCKED: Final = "blocked"
PERMITS: Final = "permits"
BACKLOG: Final = "backlog"
ChangeKind = Literal[
    "partitions", "bundles", "owner", "new", "gone", "type", "left", "joined", "active", "ranges", "blocked", "permits",
    "backlog", "unacked", "replay", "draining",
]  # fmt: skip
"""In the order in which changes are listed; the order in which they happened is unknown."""
KINDS: Final[tuple[ChangeKind, ...]] = get_args(ChangeKind)


@dataclass(frozen=True, slots=True)
class Change:
    kind: Annotated[ChangeKind, about("What changed.")]
    namespace: Annotated[str, about("Tenant and namespace.")]
    subscription: Annotated[
        str, about("Its name; empty where the change concerns a namespace, or all subscriptions of the topic.")
    ] = ""
    topic: Annotated[str, about("The only topic it was found on; empty for several.")] = ""
    topics: Annotated[int, about("On how many topics, each partition as one.")] = 0
    before: Annotated[
        str,
        about("A name or a number before; a consumer that was blocked by unacknowledged messages or without permits."),
    ] = ""
    after: Annotated[str, about("The same after it.")] = ""
    number: Annotated[
        int, about("Slots that changed their owner, or by how much a backlog or a count grew (negative: shrank).")
    ] = 0


def changes_between(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """Return the changes from one moment to the next, in the order of ``KINDS``. O(dispatchers x consumers)."""
    changes = [*_partitions(before, after), *_bundles(before, after), *_owners(before, after)]
    changes += _subscriptions(before, after)
    return tuple(sorted(changes, key=lambda change: KINDS.index(change.kind)))


def _partitions(before: Snapshot, after: Snapshot) -> list[Change]:
    old, new = _partition_counts(before), _partition_counts(after)
    return [
        Change(PARTITIONS, name.namespace, topic=topic, topics=1, before=str(old[topic]), after=str(count))
        for topic, count in new.items()
        if old.get(topic, count) < count and isinstance(name := parse_topic_name(topic), TopicName)
    ]


def _partition_counts(snapshot: Snapshot) -> dict[str, int]:
    """The highest partition index + 1 that an answer names, by topic."""
    counts: dict[str, int] = {}
    for name in (*snapshot.topics, *snapshot.known_names):
        if PARTITION_SUFFIX in name:
            parsed = parse_topic_name(name)
            if isinstance(parsed, TopicName) and parsed.partition_index >= 0:
                parent = parsed.partitioned_topic
                counts[parent] = max(counts.get(parent, 0), parsed.partition_index + 1)
    return counts


def _bundles(before: Snapshot, after: Snapshot) -> list[Change]:
    """Return the splits: bundles with new boundaries inside. Bundles are never merged."""
    changes = []
    for namespace, now in after.bundles.items():
        then = before.bundles.get(namespace)
        if then is None or then.boundaries == now.boundaries:
            continue
        ends = sorted(now.boundaries)
        for lower, upper in pairwise(then.boundaries):
            cuts = [end for end in ends if lower < end < upper]
            if cuts:
                text = str(BundleRange(lower, upper))
                cut = ", ".join(f"0x{end:08x}" for end in cuts)
                changes.append(Change(BUNDLES, namespace, before=text, after=cut, number=len(cuts)))
    return changes


def _owners(before: Snapshot, after: Snapshot) -> list[Change]:
    """Return the bundles, and topics that were looked up, whose broker changed."""
    return [
        Change(OWNER, _namespace_of(what), topic=what, topics=1, before=before.owners[what], after=owner)
        for what, owner in after.owners.items()
        if before.owners.get(what, owner) != owner
    ]


def _namespace_of(what: str) -> str:
    """The namespace of a topic, or of a bundle written with it."""
    parsed = parse_topic_name(what) if "://" in what else None
    return parsed.namespace if isinstance(parsed, TopicName) else what.rpartition("/")[0]


@dataclass(slots=True)
class _Places:
    """The topics on which a change was seen."""

    first: str = ""
    count: int = 0
    number: int = 0

    def add(self, topic: str, number: int = 0) -> None:
        self.first = self.first or topic
        self.count += 1
        self.number += number


_Who = tuple[str, str, str]
_States = list[tuple[_Who, bool | None]]
_WHOLE: Final[_Who] = ("all consumers", "", "")
"""Whose name a change has that concerns the whole subscription."""
_Key = tuple[ChangeKind, str, str, str, str]
"""Kind, namespace, subscription, before and after."""


def _subscriptions(before: Snapshot, after: Snapshot) -> list[Change]:
    seen: defaultdict[_Key, _Places] = defaultdict(_Places)
    counts: defaultdict[tuple[ChangeKind, str, str], _Places] = defaultdict(_Places)
    for name, topic in after.topics.items():
        old_topic = before.topics.get(name)
        if old_topic is None or old_topic is topic:
            continue
        old, new = _by_name(old_topic), _by_name(topic)
        for sub_name in dict.fromkeys((*old, *new)):  # in the order of the answers, not of a set
            then, now = old.get(sub_name), new.get(sub_name)
            if then is None or now is None:
                seen[NEW if then is None else GONE, topic.namespace, sub_name, "", ""].add(name)
                continue
            for kind, was, became, number in _of_dispatcher(then, now, _knows_consumers(old_topic, topic)):
                seen[kind, topic.namespace, sub_name, was, became].add(name, number)
            for kind, first, last in zip(_COUNTED, _counts(then), _counts(now), strict=True):
                if first is not None and last is not None and first != last:
                    counts[kind, topic.namespace, sub_name].add(name, last - first)
    changes = [
        Change(
            kind, namespace, sub, places.first if places.count == 1 else "", places.count, was, became, places.number
        )
        for (kind, namespace, sub, was, became), places in seen.items()
    ]
    changes += [
        Change(kind, namespace, sub, places.first if places.count == 1 else "", places.count, number=places.number)
        for (kind, namespace, sub), places in counts.items()
        if places.number
    ]
    return changes


_COUNTED: Final[tuple[ChangeKind, ...]] = ("backlog", "unacked", "replay", "draining")


def _counts(sub: SubscriptionFacts) -> tuple[int | None, ...]:
    """What grows and shrinks."""
    return sub.msg_backlog_entries, unacked_of(sub), sub.msg_in_replay, sub.draining_count


def _by_name(topic: TopicFacts) -> Mapping[str, SubscriptionFacts]:
    return {subscription.name: subscription for subscription in topic.subscriptions}


def _knows_consumers(before: TopicFacts, after: TopicFacts) -> bool:
    """Whether both answers list consumers: an answer requested without them has none, however many are connected."""
    return all(
        any(subscription.consumers for subscription in topic.subscriptions) or before.kind == after.kind
        for topic in (before, after)
    )


def _of_dispatcher(
    then: SubscriptionFacts, now: SubscriptionFacts, knows_consumers: bool
) -> Iterable[tuple[ChangeKind, str, str, int]]:
    """Yield kind, before, after and number of each change of one subscription on one topic."""
    if then.type != now.type and "None" not in (then.type, now.type):
        yield TYPE, then.type, now.type, 0
    before, after = (
        [_identity(consumer) for consumer in then.consumers],
        [_identity(consumer) for consumer in now.consumers],
    )
    if knows_consumers and before != after:  # nearly always they are the same
        old, new = Counter(before), Counter(after)
        for (name, *_), count in (old - new).items():
            yield LEFT, name, "", count
        for (name, *_), count in (new - old).items():
            yield JOINED, "", name, count
    was, became = then.active_consumer_name, now.active_consumer_name
    if was is not None and became is not None and was != became:
        yield ACTIVE, was, became, 0
    moved = slots_moved(then.consumers, now.consumers) if now.type == then.type == "Key_Shared" else 0
    if moved:
        yield RANGES, "", "", moved
    for kind, stops in _STOPS.items():
        yield from _stopped(
            kind,
            [(_WHOLE, stops(then)), *zip(before, map(stops, then.consumers), strict=True)],
            [(_WHOLE, stops(now)), *zip(after, map(stops, now.consumers), strict=True)],
        )


def _is_blocked(facts: SubscriptionFacts | ConsumerFacts) -> bool | None:
    return facts.blocked_on_unacked


def _is_without_permits(facts: SubscriptionFacts | ConsumerFacts) -> bool | None:
    if isinstance(facts, SubscriptionFacts) or facts.available_permits is None:
        return None
    return facts.available_permits <= 0


_STOPS: Final[Mapping[ChangeKind, Callable[[SubscriptionFacts | ConsumerFacts], bool | None]]] = {
    BLOCKED: _is_blocked,
    PERMITS: _is_without_permits,
}


def _stopped(kind: ChangeKind, then: _States, now: _States) -> Iterable[tuple[ChangeKind, str, str, int]]:
    """Yield those for which something began or ended, as far as both moments show it."""
    if then == now:  # nearly always
        return
    states = dict(then)
    for who, became in now:
        was = states.get(who)
        if was is not None and became is not None and was != became:
            yield kind, who[0] if was else "", who[0] if became else "", 1


def _identity(consumer: ConsumerFacts) -> _Who:
    """Distinguish a consumer from another that connects later under the same name."""
    return consumer.name, consumer.connected_since, consumer.address


def slots_moved(then: Iterable[ConsumerFacts], now: Iterable[ConsumerFacts]) -> int:
    """Count the slots whose consumer changed, by name, unassigned slots included; 0 unless both have ranges."""
    old, new = _pieces(then), _pieces(now)
    if not old or not new:
        return 0
    edges = sorted({edge for start, end, _ in (*old, *new) for edge in (start, end + 1)})
    moved = at_old = at_new = 0
    for start, end in pairwise(edges):
        while at_old < len(old) and old[at_old][1] < start:
            at_old += 1
        while at_new < len(new) and new[at_new][1] < start:
            at_new += 1
        if _owner(old, at_old, start) != _owner(new, at_new, start):
            moved += end - start
    return moved


def _pieces(consumers: Iterable[ConsumerFacts]) -> list[tuple[int, int, str]]:
    return sorted(
        (start, end, consumer.name) for consumer in consumers for start, end in consumer.key_hash_ranges if start <= end
    )


def _owner(pieces: list[tuple[int, int, str]], at: int, slot: int) -> str | None:
    return pieces[at][2] if at < len(pieces) and pieces[at][0] <= slot else None
