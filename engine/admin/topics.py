"""Statistics of topics: one topic, a partitioned topic, one broker's loaded topics.

Each topic is decoded on its own from its raw bytes, so a bad one costs only itself.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from engine.admin.facts import BrokerStats, ConsumerFacts, Decoded, Place, SubscriptionFacts, TopicFacts
from engine.admin.salvage import salvage_broker_stats, salvage_topics
from engine.admin.text import (
    WHOLE_CHECK_BYTES,
    child,
    malformed,
    plain_json,
    raw_object,
    repeated_members,
    value_problem,
)
from engine.admin.wire import ConsumerWire, SubscriptionWire, TopicWire
from engine.errors import Problem, Rejection
from engine.names import parse_topic_name

STATS: Final = "stats"
PARTITIONED_STATS: Final = "partitioned-stats"
BROKER_STATS: Final = "broker-stats"
_TOPIC: Final = msgspec.json.Decoder(TopicWire)
_RANGE_TEXT: Final = re.compile(r"\[\s*(\d+)\s*,\s*(\d+)\s*\]")
_PARTITION_LISTS: Final = ("persistent", "non-persistent")


def decode_topic_stats(data: bytes, topic: str, source: str = "") -> Decoded[TopicFacts | None]:
    """``GET …/{topic}/stats``: the answer does not name its topic, so ``topic`` is its full name."""
    data, told = plain_json(data, source)
    facts, problems = _one_topic(data, topic, source, "$", STATS, whole=True)
    return Decoded(facts, told + problems, 0 if facts else 1)


def decode_partitioned_stats(data: bytes, source: str = "", path: str = "$") -> Decoded[dict[str, TopicFacts]]:
    """``GET …/{topic}/partitioned-stats``: the partitions by full name; the aggregate is not used.

    The aggregate attaches names to other consumers' numbers and loses the active consumer (``TopicStatsImpl.add``),
    so an answer without partitions (``perPartition=false``) gives none, and says so. O(length).
    """
    data, told = plain_json(data, source)
    members, problems = raw_object(data, source, path)
    if not members:
        salvaged = _decode_all(salvage_topics(data), source, path, PARTITIONED_STATS)
        return Decoded(salvaged.good, told + problems + salvaged.problems, salvaged.set_aside)
    partitions = members.get("partitions")
    if partitions is None or bytes(partitions).strip() in (b"null", b"{}"):
        reason = "has no statistics of single partitions"
        advice = "ask with perPartition=true: the sums do not tell whose they are"
        return Decoded({}, (*told, *problems, Problem(source, child(path, "partitions"), reason, advice)))
    decoded = decode_named_stats(bytes(partitions), source, child(path, "partitions"), PARTITIONED_STATS)
    return Decoded(decoded.good, told + problems + decoded.problems, decoded.set_aside)


def decode_named_stats(
    data: bytes, source: str = "", path: str = "$", kind: str = STATS
) -> Decoded[dict[str, TopicFacts]]:
    """An object of full topic name -> answer, each either the statistics of a topic or of a partitioned topic."""
    members, problems = raw_object(data, source, path)
    if problems and not members:
        salvaged = _decode_all(salvage_topics(data), source, path, kind)
        return Decoded(salvaged.good, problems + salvaged.problems, salvaged.set_aside)
    decoded = _decode_all([(name, bytes(raw)) for name, raw in members.items()], source, path, kind)
    return Decoded(decoded.good, problems + decoded.problems, decoded.set_aside)


def decode_broker_stats_topics(data: bytes, source: str = "") -> Decoded[BrokerStats]:
    """``GET /admin/v2/broker-stats/topics``: namespace -> bundle -> domain -> topic.

    Rates in it are cut to three decimals. A topic whose statistics failed while being written leaves its objects
    unclosed and the whole is no JSON then: what still stands on its own is kept. O(length).
    """
    data, told = plain_json(data, source)
    namespaces, problems = raw_object(data, source)
    out: list[Problem] = [*told, *problems]
    found: list[tuple[str, bytes, Place, str]] = []
    if problems and not namespaces:
        salvaged, broken = salvage_broker_stats(data)
        found = [(name, raw, Place(namespace, bundle), "$") for namespace, bundle, name, raw in salvaged]
        out += [
            Problem(source, child(child(child("$", namespace), bundle), name), "is not closed", "it is set aside")
            for namespace, bundle, name in broken
        ]
    else:
        broken = []
    for namespace, below in namespaces.items():
        bundles, more = raw_object(below, source, child("$", namespace))
        out += more
        for bundle, domains in bundles.items():
            bundle_path = child(child("$", namespace), bundle)
            lists, more = raw_object(domains, source, bundle_path)
            out += more
            for domain in _PARTITION_LISTS:
                if domain in lists:
                    path = child(bundle_path, domain)
                    topics, more = raw_object(lists[domain], source, path)
                    out += more
                    place = Place(namespace, bundle)
                    found += [(name, bytes(raw), place, path) for name, raw in topics.items()]
    return _broker_stats(found, source, out, len(broken), whole=len(data) <= WHOLE_CHECK_BYTES)


def _broker_stats(
    found: list[tuple[str, bytes, Place, str]], source: str, problems: list[Problem], broken: int, *, whole: bool
) -> Decoded[BrokerStats]:
    topics: dict[str, TopicFacts] = {}
    places: dict[str, Place] = {}
    for name, raw, place, path in found:
        facts, more = _one_topic(raw, name, source, child(path, name), BROKER_STATS, whole=whole)
        problems += more
        if facts is None:
            broken += 1
            continue
        if name in places:
            reason = f"is listed in {place.bundle} and in {places[name].bundle}; the later one counts"
            problems.append(Problem(source, child(path, name), reason, "record the answer again"))
        topics[name], places[name] = facts, place
    return Decoded(BrokerStats(topics, places), tuple(problems), broken)


def _decode_all(found: list[tuple[str, bytes]], source: str, path: str, kind: str) -> Decoded[dict[str, TopicFacts]]:
    good: dict[str, TopicFacts] = {}
    problems: list[Problem] = []
    aside = 0
    whole = sum(len(raw) for _, raw in found) <= WHOLE_CHECK_BYTES
    for name, raw in found:
        here = child(path, name)
        if kind != PARTITIONED_STATS and _is_partitioned(raw):
            inner = decode_partitioned_stats(raw, source, here)
            good.update(inner.good)
            problems += inner.problems
            aside += inner.set_aside
            continue
        facts, more = _one_topic(raw, name, source, here, kind, whole=whole)
        problems += more
        if facts is None:
            aside += 1
        else:
            good[name] = facts
    return Decoded(good, tuple(problems), aside)


def _is_partitioned(raw: bytes) -> bool:
    # Statistics of one topic have no such member; a subscription of that name is followed by an object without ``{"``
    # only when it is empty, and then nothing is lost by looking twice.
    if b'"partitions"' not in raw:
        return False
    try:
        return "partitions" in msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _one_topic(
    raw: bytes, topic: str, source: str, path: str, kind: str, *, whole: bool
) -> tuple[TopicFacts | None, tuple[Problem, ...]]:
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        return None, (Problem(source, path, name.message, "this one is set aside; the rest is kept"),)
    try:
        wire = _TOPIC.decode(raw)
        repeated = repeated_members(raw, source, path) if whole else ()
        subscriptions = tuple(
            _subscription(sub_name, sub) for sub_name, sub in (wire.subscriptions or {}).items() if sub is not None
        )
    except msgspec.ValidationError as fault:
        return None, (_locate(raw, source, path, fault),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return None, (malformed(raw, source, fault, path),)
    except _BadRangeError as fault:
        return None, (Problem(source, path, str(fault), "this one is set aside; the rest is kept"),)
    facts = TopicFacts(
        name=topic,
        domain=name.domain,
        namespace=name.namespace,
        partition_index=name.partition_index,
        msg_rate_in_msgs_per_sec=wire.msgRateIn or 0.0,
        msg_rate_out_msgs_per_sec=wire.msgRateOut or 0.0,
        msg_throughput_in_bytes_per_sec=wire.msgThroughputIn or 0.0,
        msg_throughput_out_bytes_per_sec=wire.msgThroughputOut or 0.0,
        storage_size_bytes=wire.storageSize or 0,
        backlog_size_bytes=wire.backlogSize or 0,
        publishers=wire.producerCount if wire.producerCount is not None else len(wire.publishers or ()),
        subscriptions=subscriptions,
        kind=kind,
        source=source,
    )
    return facts, repeated


def _locate(raw: bytes, source: str, path: str, fault: msgspec.ValidationError) -> Problem:
    """msgspec writes ``[...]`` for a key of a map; decode the subscriptions one by one to name the right one."""
    if "$.subscriptions[...]" in str(fault):
        subscriptions = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])["subscriptions"]
        for name, sub in msgspec.json.decode(subscriptions, type=dict[str, msgspec.Raw]).items():
            try:
                msgspec.json.decode(sub, type=SubscriptionWire | None)
            except msgspec.ValidationError as inner:
                return value_problem(source, child(child(path, "subscriptions"), name), inner)
    return value_problem(source, path, fault)


class _BadRangeError(ValueError):
    """A hash range that is no range."""


def _subscription(name: str, wire: SubscriptionWire) -> SubscriptionFacts:
    return SubscriptionFacts(
        name=name,
        type=wire.type or "None",
        active_consumer_name=wire.activeConsumerName,
        consumers=tuple([_consumer(consumer) for consumer in wire.consumers or () if consumer is not None]),
        msg_rate_out_msgs_per_sec=wire.msgRateOut or 0.0,
        msg_throughput_out_bytes_per_sec=wire.msgThroughputOut or 0.0,
        msg_backlog_entries=wire.msgBacklog or 0,
        unacked_messages=wire.unackedMessages or 0,
    )


def _consumer(wire: ConsumerWire) -> ConsumerFacts:
    return ConsumerFacts(
        wire.consumerName or "",
        wire.address or "",
        wire.connectedSince or "",
        wire.clientVersion or "",
        wire.msgRateOut or 0.0,
        wire.msgThroughputOut or 0.0,
        wire.unackedMessages or 0,
        wire.availablePermits or 0,
        tuple(wire.keyHashRangeArrays) if wire.keyHashRangeArrays else _text_ranges(wire.keyHashRanges),
    )


def _text_ranges(texts: list[str] | None) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    for text in texts or ():
        match = _RANGE_TEXT.fullmatch(text.strip())
        if match is None:
            raise _BadRangeError(f"keyHashRanges has {text!r}, which is no range like [0, 16383]")
        ranges.append((int(match[1]), int(match[2])))
    return tuple(ranges)
