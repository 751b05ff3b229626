"""Verify statistics: topics by name, the aggregate of a partitioned topic, and the sums and order of load reports.

An aggregate and its partitions are in one answer and were made from the same numbers, so the model's aggregate must be
equal up to the last digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.admin.earlier import EarlierAnswers
from engine.admin.facts import TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.load_reports import BundleReport
from engine.admin.publishers import PublishedPartitions, PublishedTopic, decode_named_publishers, publishers_of
from engine.admin.text import raw_object
from engine.admin.topics import decode_named_stats, partitioned_stats_of, topic_stats_of
from engine.balance.splitting.modular import visiting_order
from engine.config import ReleaseBehaviour
from engine.errors import Decoded, Problem
from engine.hashing import java_string_hash
from engine.names import NON_PERSISTENT, PARTITION_SUFFIX, PERSISTENT
from engine.routing.publishers import PublisherGroups
from engine.routing.stats import ConsumerStats, SubscriptionStats, TopicStats, aggregate
from engine.verify.report import FactKind, Ledger

_UNKNOWN_NAMESPACE: Final = "unknown/unknown"


@dataclass(frozen=True, slots=True)
class Statistics:
    """The topics of one answer by full name; ``named`` is False where nothing says which topic it is about."""

    topics: Mapping[str, TopicFacts]
    named: bool
    problems: tuple[Problem, ...]


def decode_statistics(
    data: bytes, file: str, kind: AnswerKind, topic: str | None, earlier: EarlierAnswers | None = None
) -> Statistics | None:
    """The topics of an answer that holds statistics; None for another kind. ``topic``: what it is about, if known."""
    if kind is AnswerKind.TOPIC_STATS:
        one = topic_stats_of(data, topic or placeholder_name(data, file), file, earlier)
        return Statistics({one.good.name: one.good} if one.good else {}, topic is not None, one.problems)
    if kind is AnswerKind.PARTITIONED_STATS:
        many = partitioned_stats_of(data, file, earlier)
    elif kind is AnswerKind.NAMED_STATS:
        many = decode_named_stats(data, file)
    else:
        return None
    return Statistics(many.good, True, many.problems)


def placeholder_name(data: bytes, file: str) -> str:
    """A substitute name for a topic without one; it keeps the partition index of the file name, for the modulo rule.

    Only statistics of non-persistent topics have a rate of dropped messages.
    """
    match = re.search(r"partition-(\d+)", file)
    stem = re.sub(r"[/\s]", "_", file)
    domain = NON_PERSISTENT if "msgDropRate" in raw_object(data, file)[0] else PERSISTENT
    return f"{domain}://{_UNKNOWN_NAMESPACE}/{stem}" + (f"-partition-{match[1]}" if match else "")


def decode_aggregates(
    data: bytes, file: str, kind: AnswerKind, topic: str | None, earlier: EarlierAnswers | None = None
) -> Decoded[Mapping[str, PublishedPartitions]]:
    """The partitioned topics of an answer with their aggregates, by name; none in statistics of a single topic."""
    if kind is AnswerKind.NAMED_STATS:
        return decode_named_publishers(data, file)
    if kind is not AnswerKind.PARTITIONED_STATS:
        return Decoded({})
    one = publishers_of(data, file, earlier)
    names = (name.rpartition(PARTITION_SUFFIX)[0] for name in one.good.partitions)
    return Decoded({topic or next(names, file): one.good}, one.problems)


RELATIVE: Final = 1e-9
"""Numbers within this relative distance count as equal: serialisers may cut the last digits."""
_PUBLISHER_SUMS: Final = ("msg_rate_in_msgs_per_sec", "msg_throughput_in_bytes_per_sec")
_TOPIC_SUMS: Final = (
    "msg_rate_in_msgs_per_sec",
    "msg_throughput_in_bytes_per_sec",
    "msg_rate_out_msgs_per_sec",
    "msg_throughput_out_bytes_per_sec",
    "bytes_in_counter",
    "msg_in_counter",
    "bytes_out_counter",
    "msg_out_counter",
    "storage_size_bytes",
    "backlog_size_bytes",
)
_SUBSCRIPTION_SUMS: Final = (
    "msg_rate_out_msgs_per_sec",
    "msg_throughput_out_bytes_per_sec",
    "bytes_out_counter",
    "msg_out_counter",
    "msg_backlog_entries",
    "unacked_messages",
)
_CONSUMER_SUMS: Final = (
    "msg_rate_out_msgs_per_sec",
    "msg_throughput_out_bytes_per_sec",
    "unacked_messages",
    "available_permits",
)


def compare_aggregate(ledger: Ledger, topic: str, answer: PublishedPartitions, behaviour: ReleaseBehaviour) -> None:
    """Compare one aggregate with the sum of its partitions."""
    if answer.aggregate is None or not answer.partitions:
        ledger.skip("aggregates of partitioned topics without their partitions")
        return
    if not answer.whole:
        ledger.skip("aggregates of partitioned topics of which a partition cannot be read")
        return
    recorded = answer.aggregate
    modelled = aggregate([_as_added(partition, behaviour) for partition in answer.partitions.values()], behaviour)
    rule = f"{len(answer.partitions)} partitions added up, Pulsar {behaviour.label}"
    sides = _members(recorded.stats, _TOPIC_SUMS), _members(modelled, _TOPIC_SUMS)
    ledger.compare(FactKind.PARTITIONED_SUM, topic, *_where_they_differ(*sides), rule)
    averages = _equal_if_close(recorded.stats.average_msg_size_bytes, modelled.average_msg_size_bytes)
    mean_rule = "the plain mean over the partitions, idle ones too"
    ledger.compare(FactKind.PARTITIONED_AVERAGE, topic, *averages, mean_rule)
    _compare_publishers(ledger, topic, recorded, modelled.publishers, behaviour)
    _compare_subscriptions(ledger, topic, recorded.stats, modelled, rule)


def _as_added(topic: PublishedTopic, behaviour: ReleaseBehaviour) -> TopicStats:
    """A partition with its publishers in the order in which they are added.

    Before #18807 that is the broker's own order, a Java map's by the hash of the name; statistics show them sorted.
    """
    stats = topic.stats
    if behaviour.unnamed_publishers == "added-once":
        return stats
    order = visiting_order([publisher.producer_name or "" for publisher in topic.publishers])
    place = {name: at for at, name in enumerate(order)}
    unnamed = sorted(stats.publishers.unnamed, key=lambda publisher: place[publisher.producer_name or ""])
    return TopicStats(
        **{name: getattr(stats, name) for name in _TOPIC_SUMS},
        average_msg_size_bytes=stats.average_msg_size_bytes,
        publishers=PublisherGroups(tuple(unnamed), stats.publishers.named),
        subscriptions=stats.subscriptions,
    )


def _compare_publishers(
    ledger: Ledger, topic: str, recorded: PublishedTopic, modelled: PublisherGroups, behaviour: ReleaseBehaviour
) -> None:
    entries = modelled.listed()
    rule = "named by name, the others by position" if modelled.named else "by position in each partition's list"
    if behaviour.unnamed_publishers != "added-once":
        rule = f"{rule}, too often before #18807"
    shown = tuple(_entry(entry.producer_name, entry.supports_partial_producer) for entry in recorded.publishers)
    expected = tuple(_entry(entry.producer_name, entry.supports_partial_producer) for entry in entries)
    if not ledger.compare(FactKind.PUBLISHER_ENTRIES, topic, shown, expected, rule):
        return
    for number, (one, other) in enumerate(zip(recorded.publishers, entries, strict=True), 1):
        subject = f"{topic}, publisher entry {number}"
        rates = _members(one.stats, _PUBLISHER_SUMS), _members(other, _PUBLISHER_SUMS)
        ledger.compare(FactKind.PUBLISHER_SUM, subject, *_where_they_differ(*rates), rule)
        averages = _equal_if_close(one.average_msg_size_bytes, other.average_msg_size_bytes)
        mean_rule = "the plain mean over the publishers added"
        ledger.compare(FactKind.PUBLISHER_AVERAGE, subject, *averages, mean_rule)


def _entry(name: str | None, flag: bool | None) -> str:
    """An entry in words; a release that leaves the flag out means false."""
    return f"{name or 'without a name'}{' (partial)' if flag else ''}"


def _compare_subscriptions(ledger: Ledger, topic: str, recorded: TopicStats, modelled: TopicStats, rule: str) -> None:
    names = (tuple(sorted(recorded.subscriptions)), tuple(sorted(modelled.subscriptions)))
    if any(names) and not ledger.compare(FactKind.SUBSCRIPTION_SUM, topic, *names, "subscriptions by name"):
        return
    for name, one in recorded.subscriptions.items():
        other = modelled.subscriptions[name]
        subject = f"{topic} / {name}"
        sums = _members(one, _SUBSCRIPTION_SUMS), _members(other, _SUBSCRIPTION_SUMS)
        ledger.compare(FactKind.SUBSCRIPTION_SUM, subject, *_where_they_differ(*sums), rule)
        if one.consumers or other.consumers:
            by_position = "by position while lists are of one length, else appended"
            texts = (_consumer_texts(one, one), _consumer_texts(other, one))
            ledger.compare(FactKind.CONSUMER_ENTRIES, subject, *_lines_that_differ(*texts), by_position)


def _consumer_texts(subscription: SubscriptionStats, recorded: SubscriptionStats) -> tuple[str, ...]:
    """Entries as texts; with names only where the release shows them in an aggregate at all."""
    named = any(consumer.consumer_name for consumer in recorded.consumers)
    return tuple(_consumer_text(consumer, named=named) for consumer in subscription.consumers)


def _consumer_text(consumer: ConsumerStats, *, named: bool) -> str:
    name = (consumer.consumer_name or "without a name") if named else "consumer"
    return " ".join((name, *(f"{getattr(consumer, member):.9g}" for member in _CONSUMER_SUMS)))


def _members(stats: object, names: Iterable[str]) -> dict[str, float]:
    return {name: getattr(stats, name) for name in names}


def _where_they_differ(
    recorded: Mapping[str, float], modelled: Mapping[str, float], smallest: float = 0.0
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides in words, only the members that differ by more than the ``smallest`` difference."""
    names = [
        name
        for name, value in recorded.items()
        if not math.isclose(value, modelled[name], rel_tol=RELATIVE, abs_tol=smallest)
    ]
    one, other = (tuple(f"{name} {side[name]:.9g}" for name in names) for side in (recorded, modelled))
    return one, other


def _equal_if_close(recorded: float, modelled: float) -> tuple[str, str]:
    near = math.isclose(recorded, modelled, rel_tol=RELATIVE)
    return f"{recorded:.9g}", f"{recorded if near else modelled:.9g}"


def _lines_that_differ(recorded: Sequence[str], modelled: Sequence[str]) -> tuple[object, object]:
    if len(recorded) != len(modelled):
        return f"{len(recorded)} entries", f"{len(modelled)} entries"
    places = [at for at, (one, other) in enumerate(zip(recorded, modelled, strict=True)) if one != other]
    return tuple(recorded[at] for at in places), tuple(modelled[at] for at in places)


HALF_A_REPORT: Final = "load reports of the instant in which a broker counted its bundles anew"
_MOST_BUCKETS: Final = 2**16


def compare_report(ledger: Ledger, broker: str, report: BundleReport) -> None:
    """Compare the totals of a report with the sums over its bundles, and their order with that of a Java map.

    A broker empties its map of bundles and fills it again once a minute, and a report of that instant has only some.
    """
    bundles = report.bundles
    if len(bundles) < report.listed:
        ledger.skip(HALF_A_REPORT)
        return
    sums = {
        "numTopics": sum(bundle.topics for bundle in bundles),
        "numBundles": len(bundles),
        "numConsumers": sum(bundle.consumers for bundle in bundles),
        "numProducers": sum(bundle.producers for bundle in bundles),
        "msgRateIn": sum(bundle.msg_rate_in for bundle in bundles),
        "msgRateOut": sum(bundle.msg_rate_out for bundle in bundles),
    }
    sides = _where_they_differ(report.totals, sums, RELATIVE)
    ledger.compare(FactKind.REPORT_TOTALS, broker, *sides, "the sums over its bundles")
    names = tuple(bundle.bundle for bundle in bundles)
    ledger.compare(FactKind.REPORT_ORDER, broker, names, _map_order(names), "a Java map's, by the hash of the name")


def _map_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as given if some Java map iterates over them so, else the order of a map that was just filled.

    A map that once held more names has more buckets than it needs now.
    """
    codes = [java_string_hash(name) for name in names]
    buckets = 16
    while buckets <= _MOST_BUCKETS:
        places = [(code ^ (code >> 16)) % buckets for code in codes]
        if len(names) <= buckets and places == sorted(places):
            return names
        buckets *= 2
    return visiting_order(names)
