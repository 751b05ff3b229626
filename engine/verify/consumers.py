"""Failover and Exclusive: the dispatcher's order, the active consumer and the standbys, as statistics show them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from engine.admin.facts import ConsumerFacts, SubscriptionFacts, TopicFacts
from engine.admin.inference import InferredLevels, infer_priority_levels
from engine.failover.choose import Choice, Rule, choose
from engine.failover.model import Consumer
from engine.keyshared.admission import KeySharedMode
from engine.names import NON_PERSISTENT
from engine.verify.report import FactKind, Ledger, Rules

ORDER_RULE: Final = "priority level, then name by UTF-16 code unit, then connect order"
UNNAMED_TOPIC: Final = "active consumers of topics whose full name was not recorded"
LEVELS_INFERRED: Final = "dispatcher order that only inferred priority levels explain"
_TIME: Final = re.compile(r"([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d|)$")

Group = tuple[str, tuple[str, ...], Rule]
"""Subscription, its consumers in listed order, and the rule: topics that one set of levels must explain together."""


Actives = dict[Group, dict[tuple[str, int], str]]
"""By group, the name of the active consumer of each topic (its name and partition index) where one is named."""


def observed_actives(rules: Rules, topics: Iterable[TopicFacts]) -> Actives:
    """The reported active consumers of Failover subscriptions, by group; a group may have none."""
    actives: Actives = {}
    for topic in topics:
        for subscription in topic.subscriptions:
            if subscription.type == "Failover" and subscription.consumers:
                seen = actives.setdefault(group_of(rules, topic, subscription), {})
                if subscription.active_consumer_name is not None:
                    seen[topic.name, topic.partition_index] = subscription.active_consumer_name
    return actives


def infer_levels(actives: Actives) -> dict[Group, InferredLevels]:
    """Priority levels by group, inferred from all topics on which a subscription lists the same consumers."""
    return {group: infer_priority_levels(group[1], seen, [group[2]]) for group, seen in actives.items()}


def group_of(rules: Rules, topic: TopicFacts, subscription: SubscriptionFacts) -> Group:
    """The group of a subscription for :func:`infer_levels`."""
    names = tuple(consumer.name for consumer in subscription.consumers)
    return subscription.name, names, rules.in_force(topic.partition_index)


def as_listed(
    rules: Rules, topic: TopicFacts, subscription: SubscriptionFacts, levels: Mapping[Group, InferredLevels]
) -> tuple[tuple[Consumer, ...], InferredLevels | None]:
    """The consumers of the model for a subscription that is only known from statistics, and the levels they got."""
    inferred = levels.get(group_of(rules, topic, subscription))
    ranks = (0,) * len(subscription.consumers)
    if inferred is not None and rules.in_force(topic.partition_index) is not Rule.FIRST_CONNECTED:
        ranks = inferred.levels
    consumers = tuple(
        Consumer(place, consumer.name, rank)
        for place, (consumer, rank) in enumerate(zip(subscription.consumers, ranks, strict=True))
    )
    return consumers, inferred


def compare_subscription(
    rules: Rules,
    ledger: Ledger,
    topic: TopicFacts,
    subscription: SubscriptionFacts,
    consumers: Sequence[Consumer],
    *,
    inferred: InferredLevels | None = None,
    name_known: bool = True,
) -> None:
    """Compare the list and the active consumer of one subscription with the model's choice among ``consumers``.

    ``inferred``: the levels were inferred from the list itself. ``name_known`` is False for a topic whose full name was
    not recorded, so that its ring cannot be asked.
    """
    exclusive = subscription.type == "Exclusive"
    choice = choose(
        consumers,
        topic.name,
        0 if exclusive else topic.partition_index,
        consistent_hashing=rules.consistent_hashing,
        behaviour=rules.behaviour,
    )
    assert choice is not None, "a subscription without consumers has no facts"
    subject = f"{topic.name} / {subscription.name}"
    from_actives = inferred is not None and max(inferred.levels) > 0
    if from_actives and not exclusive:
        ledger.skip(LEVELS_INFERRED)
    elif not exclusive:
        rule = "connect order" if choice.rule is Rule.FIRST_CONNECTED else ORDER_RULE
        compare_order(ledger, subject, subscription.consumers, choice.order, rule)
    if not name_known and rules.in_force(topic.partition_index) is Rule.RING and len(choice.order) > 1:
        ledger.skip(UNNAMED_TOPIC)
        return
    _compare_active(rules, ledger, topic, subscription, choice=choice, inferred=inferred if from_actives else None)


def _compare_active(
    rules: Rules,
    ledger: Ledger,
    topic: TopicFacts,
    subscription: SubscriptionFacts,
    *,
    choice: Choice,
    inferred: InferredLevels | None,
) -> None:
    subject = f"{topic.name} / {subscription.name}"
    recorded = subscription.active_consumer_name
    if topic.domain == NON_PERSISTENT and recorded is None:
        ledger.compare(FactKind.NO_ACTIVE_NAME, subject, recorded, None, "non-persistent statistics name nobody")
        return
    kind = FactKind.ACTIVE_PARTITION if topic.partition_index >= 0 else FactKind.ACTIVE_NONPARTITIONED
    if subscription.type == "Exclusive":
        kind = FactKind.ACTIVE_EXCLUSIVE
    elif inferred is not None and inferred.basis != "contradiction":
        kind = FactKind.ACTIVE_INFERRED_LEVELS
    active = choice.active.name
    ledger.compare(kind, subject, recorded, active, rules.described(topic.partition_index))
    if recorded is not None and kind is not FactKind.ACTIVE_INFERRED_LEVELS:
        listed = _without([consumer.name for consumer in subscription.consumers], recorded)
        modelled = _without([consumer.name for consumer in choice.order], active)
        ledger.compare(FactKind.STANDBYS, subject, listed, modelled, "all but the active consumer")


def _without(names: Sequence[str], active: str) -> tuple[str, ...]:
    at = names.index(active) if active in names else len(names)
    return (*names[:at], *names[at + 1 :])


def compare_order(
    ledger: Ledger, subject: str, listed: Sequence[ConsumerFacts], order: Sequence[Consumer], rule: str
) -> None:
    """Compare names in order; namesakes of one level are distinguished by the time they connected. O(n log n)."""
    levels: dict[str, set[int]] = {}
    for consumer in order:
        levels.setdefault(consumer.name, set()).add(consumer.priority_level)
    ranks = connect_ranks(listed, {name for name, known in levels.items() if len(known) == 1})
    modelled, recorded = [], []
    count: Counter[str] = Counter()
    for consumer in order:
        count[consumer.name] += 1
        modelled.append(_ranked(consumer.name, count[consumer.name]) if consumer.name in ranks else consumer.name)
    count.clear()
    for shown in listed:
        recorded.append(
            _ranked(shown.name, ranks[shown.name][count[shown.name]]) if shown.name in ranks else shown.name
        )
        count[shown.name] += 1
    ledger.compare(FactKind.ORDER, subject, tuple(recorded), tuple(modelled), rule)


def _ranked(name: str, rank: int) -> str:
    return f"{name} (connected {rank}.)"


def connect_ranks(consumers: Sequence[ConsumerFacts], names: set[str]) -> dict[str, list[int]]:
    """Name -> for each namesake in listed order, its place by connect time; only where the times differ."""
    times: dict[str, list[tuple[str, str, str]]] = {}
    for consumer in consumers:
        if consumer.name in names:
            times.setdefault(consumer.name, []).append(_time(consumer.connected_since))
    return {
        name: [sorted(known).index(time) + 1 for time in known]
        for name, known in times.items()
        if len(known) > 1 and len(set(known)) == len(known) and len({time[2] for time in known}) == 1
    }


def _time(text: str) -> tuple[str, str, str]:
    """Seconds, nanoseconds and zone, so that texts of one zone sort by time."""
    match = _TIME.fullmatch(text)
    return (match[1], (match[2] or "").ljust(9, "0"), match[3]) if match else (text, "", "")


HISTORY: Final = "Key_Shared ranges by consumer: they depend on who joined and left before"
_HIGHEST_SLOT: Final = 65_535
Pairs = tuple[tuple[int, int], ...]


def compare_key_ranges(ledger: Ledger, topic: TopicFacts, subscription: SubscriptionFacts) -> None:
    """Compare what needs no history: that every slot has one owner, and the sums of draining hashes.

    Which ranges a consumer has depends on who joined and left before, in the rings too once namesakes were there.
    """
    subject = f"{topic.name} / {subscription.name}"
    compare_disjoint(ledger, subject, subscription.consumers)
    if subscription.mode == KeySharedMode.AUTO_SPLIT.value:
        _compare_coverage(ledger, subject, subscription.consumers)
    if any(consumer.key_hash_ranges for consumer in subscription.consumers):
        ledger.skip(HISTORY)
    # A request can leave the consumers out; their sums are in the subscription all the same.
    if subscription.consumers and subscription.draining_count is not None:
        compare_draining_sums(ledger, subject, subscription)


def _compare_coverage(ledger: Ledger, subject: str, consumers: Sequence[ConsumerFacts]) -> None:
    """Compare that AUTO_SPLIT leaves no slot out; only the form in pairs of numbers shows slots in all modes."""
    pieces = sorted(pair for consumer in consumers for pair in consumer.range_arrays)
    if not pieces:
        return
    last = pieces[-1][1]
    gaps = [(end + 1, start - 1) for (_, end), (start, _) in pairwise(pieces) if start > end + 1]
    if pieces[0][0] > 1:
        gaps.insert(0, (1, pieces[0][0] - 1))
    if last < _HIGHEST_SLOT:
        gaps.append((last + 1, _HIGHEST_SLOT))
    ledger.compare(FactKind.KEY_RANGES_COMPLETE, subject, range_texts(tuple(gaps)), (), "AUTO_SPLIT leaves no slot out")


def compare_disjoint(ledger: Ledger, subject: str, consumers: Sequence[ConsumerFacts]) -> None:
    """Compare that no slot has two owners. O(n log n).

    The two oldest rings print a point that several consumers share for each of them, as equal texts; that is right.
    """
    pieces = sorted((piece, place) for place, consumer in enumerate(consumers) for piece in consumer.key_hash_ranges)
    clashes: list[str] = []
    furthest: tuple[int, int] | None = None
    for piece, place in pieces:
        shared_point = bool(consumers[place].range_texts) and piece == furthest
        if furthest is not None and piece[0] <= furthest[1] and not shared_point:
            clashes += range_texts((furthest, piece))
        if furthest is None or piece[1] > furthest[1]:
            furthest = piece
    if pieces:
        ledger.compare(FactKind.KEY_RANGES_DISJOINT, subject, tuple(clashes), (), "a slot goes to one consumer")


def compare_draining_sums(ledger: Ledger, subject: str, facts: SubscriptionFacts) -> None:
    """Compare the subscription's counts with its consumers', and theirs with the hashes that they list."""
    hashes = sum(consumer.draining_count or 0 for consumer in facts.consumers)
    messages = sum(consumer.draining_unacked_messages or 0 for consumer in facts.consumers)
    recorded = _counted(facts.draining_count or 0, facts.draining_unacked_messages or 0)
    rule = "the subscription's counts are the sums over its consumers"
    ledger.compare(FactKind.DRAINING_COUNT, subject, recorded, _counted(hashes, messages), rule)
    for consumer in facts.consumers:
        _compare_listed_hashes(ledger, f"{subject} / {consumer.name}", consumer)


def _compare_listed_hashes(ledger: Ledger, subject: str, consumer: ConsumerFacts) -> None:
    messages = sum(draining.unacked for draining in consumer.draining)
    recorded = _counted(consumer.draining_count or 0, consumer.draining_unacked_messages or 0)
    if consumer.unacked_messages is not None and messages > consumer.unacked_messages:
        recorded += f", of {consumer.unacked_messages} that the consumer holds"
    rule = "the counts are those of the listed hashes, and a consumer does not drain more than it holds"
    ledger.compare(FactKind.DRAINING_COUNT, subject, recorded, _counted(len(consumer.draining), messages), rule)


def _counted(hashes: int, messages: int) -> str:
    return f"{hashes} hashes with {messages} messages"


def where_they_differ(recorded: Pairs, modelled: Pairs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides as texts: the items that only one of them has; all items where only the order differs, or nothing."""
    if set(recorded) != set(modelled):
        one_side = tuple(pair for pair in recorded if pair not in set(modelled))
        modelled = tuple(pair for pair in modelled if pair not in set(recorded))
        recorded = one_side
    return range_texts(recorded), range_texts(modelled)


def range_texts(pairs: Pairs) -> tuple[str, ...]:
    """Ranges as brokers write them."""
    return tuple(f"[{start},{end}]" for start, end in pairs)
