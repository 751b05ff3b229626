"""Topics as producers use them: a partition that gets what others do not, and topics that nobody has subscribed to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from engine.admin.facts import NotReported, TopicFacts, total
from engine.admin.moments import Moment
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.seen import NOBODY, parent_of
from engine.names import namespace_of
from engine.text import counted, shell_line

HOT_PARTITION: Final = "producer_hot_partition"
NO_SUBSCRIPTION: Final = "fine_no_subscription"
_OF_BUSIEST: Final = 0.1
"""All other partitions together get less than this part of what the busiest gets."""
_MESSAGES_AT_LEAST: Final = 100
_RATE_AT_LEAST: Final = 10.0


def hot_partitions(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Diagnose the partitioned topics of which one partition gets nearly everything from producers open on all."""
    last, before = _last_two(moments)
    by_topic: defaultdict[str, list[TopicFacts]] = defaultdict(list)
    for topic in last.values():
        if topic.partition_index >= 0:
            by_topic[parent_of(topic.name)].append(topic)
    causes = {topic: _hot(topic, partitions, before) for topic, partitions in by_topic.items() if len(partitions) > 1}
    return [
        Diagnosis(namespace_of(topic), "", NOBODY, topic, len(by_topic[topic]), len(moments), 0, (cause,))
        for topic, cause in causes.items()
        if cause is not None
    ]


def without_subscriptions(moments: Sequence[Moment]) -> list[Diagnosis]:
    """Say of answers about topics without any subscription that nothing can wait; empty where there is one."""
    last, _ = _last_two(moments)
    if not last or any(topic.subscriptions for topic in last.values()):
        return []
    first = next(iter(last.values()))
    if any(isinstance(topic.subscriptions, NotReported) for topic in last.values()):
        again = shell_line("pulsar-admin", "topics", "stats", first.name)
        what, fix = "the answer lacks subscriptions", f"give the whole answer: {again}"
        lacking = Cause(NOT_REPORTED, Verdict.CANNOT_TELL, what, first.name, fix=fix, fields=())
        return [Diagnosis(first.namespace, "", NOBODY, first.name, len(last), len(moments), None, (lacking,))]
    rate = total(topic.msg_rate_in_msgs_per_sec for topic in last.values())
    cause = Cause(
        NO_SUBSCRIPTION,
        Verdict.FINE,
        f"{counted(len(last), 'topic')} without a subscription: nothing waits for anybody",
        topics=len(last),
        numbers=(("topics", len(last)), *((("in_rate", round(rate, 1)),) if rate is not None else ())),
        fields=("subscriptions",),
    )
    return [Diagnosis(first.namespace, "", NOBODY, first.name, len(last), len(moments), 0, (cause,))]


def _last_two(moments: Sequence[Moment]) -> tuple[dict[str, TopicFacts], dict[str, TopicFacts]]:
    """The last statistics of each topic, and the ones before them."""
    last: dict[str, TopicFacts] = {}
    before: dict[str, TopicFacts] = {}
    for moment in moments:
        for name, topic in moment.snapshot.topics.items():
            if name in last:
                before[name] = last[name]
            last[name] = topic
    return last, before


def _hot(topic: str, partitions: Sequence[TopicFacts], before: dict[str, TopicFacts]) -> Cause | None:
    producers = min(partition.publishers or 0 for partition in partitions)
    if not producers:
        return None  # a producer need not be open on partitions that it does not use, or the answer does not say
    came = [_came_in(partition, before.get(partition.name)) for partition in partitions]
    known = [count for count in came if count is not None]
    counts: list[float] = [*known] if len(known) == len(partitions) else []
    at_least: float = _MESSAGES_AT_LEAST
    unit, member = "messages between the moments", "msgInCounter"
    if not counts:
        rates = [partition.msg_rate_in_msgs_per_sec for partition in partitions]
        counts = [rate for rate in rates if rate is not None]
        if len(counts) < len(rates):
            return None
        at_least, unit, member = _RATE_AT_LEAST, "messages/s", "msgRateIn"
    whole, most = sum(counts), max(counts)
    if whole < at_least or whole - most >= _OF_BUSIEST * most:
        return None
    busiest = partitions[counts.index(most)]
    silent = sum(not count for count in counts)
    route = shell_line("ringside", "explain", "route", "--no-key", "--partitions", str(len(partitions)))
    return Cause(
        HOT_PARTITION,
        Verdict.UNEVEN,
        f"{counted(producers, 'producer')} {'is' if producers == 1 else 'are'} open on all {len(partitions)} partitions"
        f" of {topic.rpartition('/')[2]}, and partition {busiest.partition_index} gets {most:,.6g} of {whole:,.6g}"
        f" {unit} ({most / whole:.0%}); {silent} {'gets' if silent == 1 else 'get'} nothing. Likely: the messages"
        " have one key, the router is SinglePartition or one of its own, or batching keeps a partition"
        " until the batch is full",
        busiest.name,
        numbers=(
            ("partitions", len(partitions)),
            ("producers", producers),
            ("busiest", round(most, 2)),
            ("total", round(whole, 2)),
            ("busiest_share", round(most / whole, 4)),
            ("busiest_over_average", round(most * len(partitions) / whole, 2)),
            ("without_messages", silent),
        ),
        fix=f"look at the producer's messageRoutingMode, its keys and its batching: {route} says what such a client"
        " does, and with KEY instead of --no-key where a key goes",
        fields=(member, "publishers"),
        symptom=HOT_PARTITION,
    )


def _came_in(topic: TopicFacts, before: TopicFacts | None) -> int | None:
    if before is None or topic.msg_in_counter is None or before.msg_in_counter is None:
        return None
    grown = topic.msg_in_counter - before.msg_in_counter
    return grown if grown >= 0 else None
