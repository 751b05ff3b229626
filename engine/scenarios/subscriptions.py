"""Subscriptions of a snapshot: dispatchers with the same consumers put together, and what has to be inferred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from engine.admin.facts import ConsumerFacts, Snapshot, SubscriptionFacts, TopicFacts, unacked_of
from engine.admin.inference import InferredLevels, infer_priority_levels
from engine.cluster.state import Subscription
from engine.cluster.tables.topics import NOTHING_REPORTED, Load, Topic
from engine.config import FLAG, ReleaseBehaviour
from engine.failover.choose import Rule, rule_in_force
from engine.failover.model import Consumer
from engine.names import is_segment
from engine.views.failover.dashboard import PRIORITIES_INFERRED
from engine.views.failover.model import Notice

FAILOVER: Final = "Failover"
KEY_SHARED: Final = "Key_Shared"
OTHER_TYPES: Final = "other-types"
SCALABLE_TOPICS: Final = "scalable-topics"
UNEQUAL_PARTITIONS: Final = "unequal-partitions"
RECORD_UNEXPLAINED: Final = "record-unexplained"
_NOBODY_SINCE_LOAD: Final = "None"


class Group(Struct):
    """Topics of one namespace whose dispatchers have one list of consumers.

    ``actives`` is what brokers recorded: (partition name, partition index) -> name of the active consumer. ``loads`` is
    what goes out to these consumers, by partition, where that is not all that the topic sends out.
    """

    name: str
    namespace: str
    consumers: tuple[ConsumerFacts, ...]
    topics: list[str] = field(default_factory=list)
    actives: dict[tuple[str, int], str] = field(default_factory=dict)
    has_partitions: bool = False
    loads: dict[str, Load] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The consumers' names in the dispatcher's order."""
        return tuple(consumer.name for consumer in self.consumers)


def gather(snapshot: Snapshot, topics: Sequence[Topic]) -> tuple[tuple[Group, ...], tuple[Notice, ...]]:
    """The Failover subscriptions of a snapshot, those of most topics first; other types are counted in a notice.

    One group per namespace, subscription name and list of consumer names. Where the partitions of a topic disagree
    about the consumers (somebody was coming or going), the list that most of them have counts.
    O(dispatchers x consumers).
    """
    groups: dict[tuple[str, str, tuple[str, ...]], Group] = {}
    unequal = 0
    for topic in topics:
        for name, dispatchers in _failover_of(snapshot, topic).items():
            names = Counter(_names(facts) for _, facts in dispatchers).most_common(1)[0][0]
            agreeing = [(partition, facts) for partition, facts in dispatchers if _names(facts) == names]
            unequal += len(dispatchers) - len(agreeing)
            partition, facts = agreeing[0]
            key = (partition.namespace, name, names)
            group = groups.setdefault(key, Group(name, partition.namespace, facts.consumers))
            group.topics.append(topic.name)
            group.has_partitions |= partition.partition_index >= 0
            group.loads.update(
                (topic_facts.name, _own_load(facts)) for topic_facts, facts in dispatchers if not _is_alone(topic_facts)
            )
            group.actives.update(
                ((partition.name, partition.partition_index), facts.active_consumer_name)
                for partition, facts in agreeing
                if facts.active_consumer_name is not None
            )
    ordered = sorted(groups.values(), key=lambda group: (-len(group.topics), group.name, group.namespace))
    return tuple(ordered), (*_other_types(snapshot), *_scalable(snapshot), *_unequal(unequal))


def flag_of(groups: Iterable[Group], behaviour: ReleaseBehaviour, *, assumed: bool = False) -> tuple[bool, str]:
    """``activeConsumerFailoverConsistentHashing`` by what was recorded, and the sentence that says so.

    Each subscription votes with its partitions for the rule that explains them; without a vote, or where both rules
    explain everything, it is what is assumed, by default false as in Pulsar.
    """
    setting = FLAG
    votes: Counter[Rule] = Counter()
    for group in groups:
        actives = {key: active for key, active in group.actives.items() if key[1] >= 0}
        inferred = infer_priority_levels(group.names, actives)
        if inferred.rule is not None:
            votes[inferred.rule] += len(actives)
    if not behaviour.knows_failover_consistent_hashing:
        return False, f"no answer has the settings; Pulsar {behaviour.label} does not know {setting}"
    if not votes:
        is_on = str(assumed).lower()
        return assumed, f"no answer has {setting} or an active consumer to infer it from; {is_on} is assumed"
    flag = votes[Rule.RING] > votes[Rule.MODULO]
    rule = "the ring" if flag else "modulo"
    count = max(votes.values())
    return flag, f"{setting} is inferred to be {str(flag).lower()}: {rule} explains {count} recorded active consumers"


def subscriptions_of(
    groups: Sequence[Group], flag: bool, behaviour: ReleaseBehaviour
) -> tuple[tuple[Subscription, ...], tuple[Notice, ...]]:
    """The groups as values of the model, with inferred priority levels; consumer ids count from 0 over all of them."""
    subscriptions: list[Subscription] = []
    notes: list[Notice] = []
    used: Counter[str] = Counter()
    next_id = 0
    for group in groups:
        used[group.name] += 1
        key = group.name if used[group.name] == 1 else f"{group.name}#{used[group.name]}"
        inferred = _levels(group, flag, behaviour)
        consumers = _connected(group, inferred.levels, next_id)
        next_id += len(consumers)
        subscriptions.append(
            Subscription(
                key=key,
                name=group.name,
                namespace=group.namespace,
                topics=tuple(group.topics),
                consumers=consumers,
                # Only a pattern subscription covers topics that come later; one topic alone is taken for no pattern.
                accepts_new_topics=len(group.topics) > 1,
                loads=group.loads or NOTHING_REPORTED,
            )
        )
        notes += _level_notes(key, group, inferred)
    return tuple(subscriptions), tuple(notes)


def _is_alone(topic: TopicFacts) -> bool:
    """Whether all outgoing traffic goes to one subscription, whose numbers are then those of the topic."""
    return len(topic.subscriptions) == 1 and topic.subscriptions[0].msg_rate_out_msgs_per_sec == (
        topic.msg_rate_out_msgs_per_sec
    )


def _own_load(facts: SubscriptionFacts) -> Load:
    return Load(
        msg_rate_out=facts.msg_rate_out_msgs_per_sec,
        throughput_out_bytes_per_sec=facts.msg_throughput_out_bytes_per_sec,
        unacked_messages=unacked_of(facts),
        backlog_entries=facts.msg_backlog_entries,
    )


def _levels(group: Group, flag: bool, behaviour: ReleaseBehaviour) -> InferredLevels:
    if not group.has_partitions and behaviour.nonpartitioned_failover != "ring":
        # Before 3.0 this list is not sorted, so its order says nothing about levels.
        return InferredLevels((0,) * len(group.consumers), len(group.consumers), None, "order")
    rule = rule_in_force(0 if group.has_partitions else -1, consistent_hashing=flag, behaviour=behaviour)
    actives = {key: active for key, active in group.actives.items() if (key[1] >= 0) is group.has_partitions}
    return infer_priority_levels(group.names, actives, [rule])


def _connected(group: Group, levels: Sequence[int], first_id: int) -> tuple[Consumer, ...]:
    """Connect order by the broker's time stamps, which are texts of one form; without them the dispatcher's order."""
    facts = list(zip(group.consumers, levels, strict=True))
    if all(consumer.connected_since for consumer, _ in facts):
        # Without the Z, a time stamp with fewer digits sorts before a longer one that begins alike.
        facts.sort(key=lambda pair: pair[0].connected_since.rstrip("Z"))
    return tuple(Consumer(first_id + at, fact.name, level) for at, (fact, level) in enumerate(facts))


def _level_notes(key: str, group: Group, inferred: InferredLevels) -> list[Notice]:
    notes = []
    if any(inferred.levels):
        listed = ", ".join(f"{name} {level}" for name, level in zip(group.names, inferred.levels, strict=True) if level)
        why = "the order" if inferred.basis == "order" else "the order and the active consumers"
        notes.append(
            Notice(PRIORITIES_INFERRED, f"{key}: priority levels are inferred from {why} of its consumers: {listed}")
        )
    if inferred.basis == "no broker's order":
        notes.append(
            Notice(
                PRIORITIES_INFERRED,
                f"{key}: its consumers are not sorted by level and name, as a broker has them; all count as level 0",
            )
        )
    if inferred.basis == "contradiction":
        notes.append(
            Notice(
                RECORD_UNEXPLAINED,
                f"{key}: no priority levels explain all {len(group.actives)} recorded active consumers by the rule in "
                "force; a change may have been under way, so what is shown can differ from the recording",
            )
        )
    return notes


def _failover_of(snapshot: Snapshot, topic: Topic) -> Mapping[str, list[tuple[TopicFacts, SubscriptionFacts]]]:
    dispatchers: dict[str, list[tuple[TopicFacts, SubscriptionFacts]]] = {}
    for name in topic.partition_names():
        facts = snapshot.topics.get(name)
        if facts is None:
            continue
        for subscription in facts.subscriptions:
            if subscription.type == FAILOVER:
                dispatchers.setdefault(subscription.name, []).append((facts, subscription))
    return dispatchers


def _names(facts: SubscriptionFacts) -> tuple[str, ...]:
    return tuple(consumer.name for consumer in facts.consumers)


def _other_types(snapshot: Snapshot) -> list[Notice]:
    """Subscriptions of other types by namespace and name, counted once however many topics they have."""
    seen: dict[str, set[tuple[str, str]]] = {}
    for facts in snapshot.topics.values():
        for subscription in () if is_segment(facts.name) else facts.subscriptions:
            if subscription.type != FAILOVER and not (subscription.type == KEY_SHARED and subscription.consumers):
                seen.setdefault(subscription.type, set()).add((facts.namespace, subscription.name))
    if not seen:
        return []
    listed = ", ".join(
        f"{len(names)} {'without consumers' if kind == _NOBODY_SINCE_LOAD else kind}"
        for kind, names in sorted(seen.items())
    )
    return [Notice(OTHER_TYPES, f"nothing is computed for some subscriptions, which are shown as reported: {listed}")]


def _scalable(snapshot: Snapshot) -> list[Notice]:
    """The topics of which only segments are known."""
    segments = [name for name in snapshot.topics if is_segment(name)]
    if not segments:
        return []
    from engine.admin.scalable import topic_of_segment

    unknown = {topic for one in segments if (topic := topic_of_segment(one)) is not None} - snapshot.scalable.keys()
    if not unknown:
        return []
    noun = "scalable topic is" if len(unknown) == 1 else "scalable topics are"
    text = f"{len(unknown):,} {noun} not shown: the answers have their segments, and neither record nor statistics"
    return [Notice(SCALABLE_TOPICS, f"{text} (record admin/v2/scalable/TENANT/NAMESPACE/TOPIC and its /stats)")]


def _unequal(count: int) -> list[Notice]:
    if not count:
        return []
    noun = "partition had" if count == 1 else "partitions had"
    return [Notice(UNEQUAL_PARTITIONS, f"{count} {noun} other consumers than the rest of their topic; most count")]
