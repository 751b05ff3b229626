"""Decode statistics of topics: one topic, a partitioned topic, one broker's loaded topics.

Each topic is decoded on its own from its raw bytes, so a bad one loses only itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from engine.admin.earlier import EarlierAnswers, EarlierParts, remembered
from engine.admin.facts import NOT_REPORTED, BrokerStats, Count, PartitionSums, Place, SubscriptionFacts, TopicFacts
from engine.admin.salvage import salvage_broker_stats, salvage_topics
from engine.admin.text import (
    SET_ASIDE,
    WHOLE_CHECK_BYTES,
    child,
    malformed,
    plain_json,
    raw_object,
    repeated_members,
    value_problem,
    without_nulls,
)
from engine.admin.topic_wire import (
    DOMAINS,
    MISSING_SLOT,
    NotListed,
    TopicWire,
    decoded_wire,
    parsed_name,
    refuse_ends,
    unreadable_range,
    without_slotless,
)
from engine.errors import Decoded, Problem
from engine.names import refuse_namespace, refuse_range, refuse_subscription

STATS: Final = "stats"
PARTITIONED_STATS: Final = "partitioned-stats"
BROKER_STATS: Final = "broker-stats"
SUMS: Final = "sums"


class _Answer(Struct, frozen=True):
    """The answer that topics are decoded from.

    ``whole``: search each topic for repeated members. ``earlier``: topics with the same bytes as there are not decoded
    again. ``publishers``: keep what the answer says of each publisher, which few readers need.
    """

    source: str
    kind: str
    whole: bool = True
    earlier: EarlierParts | None = None
    publishers: bool = False


def decode_topic_stats(
    data: bytes, topic: str, source: str = "", *, publishers: bool = False
) -> Decoded[TopicFacts | None]:
    """Decode ``GET …/{topic}/stats``, which does not name its topic: ``topic`` is its full name."""
    data, repairs = plain_json(data, source)
    facts, problems = _one_topic(_Answer(source, STATS, publishers=publishers), data, topic, "")
    return Decoded(facts, repairs + problems, 0 if facts else 1)


def topic_stats_of(data: bytes, topic: str, source: str, earlier: EarlierAnswers | None) -> Decoded[TopicFacts | None]:
    """The same as :func:`decode_topic_stats` of an answer that may have been decoded before."""
    return remembered(earlier, f"{STATS} {topic}", source, data, lambda _: decode_topic_stats(data, topic, source))


def partitioned_stats_of(data: bytes, source: str, earlier: EarlierAnswers | None) -> Decoded[dict[str, TopicFacts]]:
    """The same as :func:`decode_partitioned_stats` of an answer that may have been decoded before."""
    return remembered(
        earlier, PARTITIONED_STATS, source, data, lambda parts: decode_partitioned_stats(data, source, earlier=parts)
    )


def broker_stats_of(data: bytes, source: str, earlier: EarlierAnswers | None) -> Decoded[BrokerStats]:
    """The same as :func:`decode_broker_stats_topics` of an answer that may have been decoded before."""
    return remembered(
        earlier, BROKER_STATS, source, data, lambda parts: decode_broker_stats_topics(data, source, parts)
    )


def decode_partitioned_stats(
    data: bytes, source: str = "", path: str = "$", *, whole: bool = True, earlier: EarlierParts | None = None,
    publishers: bool = False,
) -> Decoded[dict[str, TopicFacts]]:  # fmt: skip
    """Decode the partitions of ``GET …/{topic}/partitioned-stats`` by full name, without the aggregate.

    The aggregate attaches names to other consumers' numbers and loses the active consumer (``TopicStatsImpl.add``),
    so an answer without partitions (``perPartition=false``) is empty, with a problem. ``whole`` False omits the search
    for repeated members of the aggregate. ``earlier``: partitions with the same bytes as there are not decoded again.
    O(length).
    """
    data, repairs = plain_json(data, source)
    answer = _Answer(source, PARTITIONED_STATS, earlier=earlier, publishers=publishers)
    members, problems = raw_object(data, source, path, check_names=whole)
    if not members:
        salvaged = _decode_all(answer, salvage_topics(data), path)
        return Decoded(salvaged.good, repairs + problems + salvaged.problems, salvaged.set_aside)
    partitions = members.get("partitions")
    if partitions is None or bytes(partitions).strip() in (b"null", b"{}"):
        reason = "has no statistics of single partitions"
        advice = "ask with --per-partition (perPartition=true): sums do not say whose they are"
        return Decoded({}, (*repairs, *problems, Problem(source, child(path, "partitions"), reason, advice)))
    decoded = _decode_named(answer, partitions, child(path, "partitions"))
    return Decoded(decoded.good, repairs + problems + decoded.problems, decoded.set_aside)


class _MetadataWire(msgspec.Struct):
    partitions: Count | None = None


class _SumsWire(msgspec.Struct):
    metadata: _MetadataWire | None = None


def decode_partition_sums(data: bytes, topic: str, source: str = "") -> PartitionSums | None:
    """Decode the sums in ``GET …/{topic}/partitioned-stats``; None where they cannot be read, as other readers say."""
    data, _ = plain_json(data, source)
    facts, _ = _one_topic(_Answer(source, SUMS), data, topic, "")
    try:
        metadata = msgspec.json.decode(data, type=_SumsWire).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return PartitionSums(facts, metadata.partitions if metadata is not None else None) if facts is not None else None


def decode_named_stats(
    data: bytes, source: str = "", path: str = "$", kind: str = STATS, *, publishers: bool = False
) -> Decoded[dict[str, TopicFacts]]:
    """Decode an object of full topic name -> statistics of a topic or of a partitioned topic."""
    data, repairs = plain_json(data, source)
    decoded = _decode_named(_Answer(source, kind, publishers=publishers), data, path)
    return Decoded(decoded.good, repairs + decoded.problems, decoded.set_aside)


def _decode_named(answer: _Answer, data: bytes | msgspec.Raw, path: str) -> Decoded[dict[str, TopicFacts]]:
    members, problems = raw_object(data, answer.source, path)
    if problems and not members:
        salvaged = _decode_all(answer, salvage_topics(bytes(data)), path)
        return Decoded(salvaged.good, problems + salvaged.problems, salvaged.set_aside)
    whole = len(memoryview(data)) <= WHOLE_CHECK_BYTES
    decoded = _decode_all(replace(answer, whole=whole), list(members.items()), path)
    return Decoded(decoded.good, problems + decoded.problems, decoded.set_aside)


def decode_broker_stats_topics(
    data: bytes, source: str = "", earlier: EarlierParts | None = None, *, publishers: bool = False
) -> Decoded[BrokerStats]:
    """Decode ``GET /admin/v2/broker-stats/topics``: namespace -> bundle -> domain -> topic.

    Its rates are cut to three decimals. A topic whose statistics failed while being written leaves objects unclosed,
    and the whole is not JSON then: whole topics are salvaged. O(length).
    """
    data, repairs = plain_json(data, source)
    namespaces, problems = raw_object(data, source)
    out: list[Problem] = [*repairs, *problems]
    entries: list[tuple[str, bytes | msgspec.Raw, Place, str]] = []
    if problems and not namespaces:
        salvaged, broken = salvage_broker_stats(data)
        entries = [(name, raw, Place(namespace, bundle), "$") for namespace, bundle, name, raw in salvaged]
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
            for domain in DOMAINS:
                if domain in lists:
                    path = child(bundle_path, domain)
                    topics, more = raw_object(lists[domain], source, path)
                    out += more
                    place = Place(namespace, bundle)
                    # One name that is not UTF-8 makes the list unreadable; its other topics are salvaged.
                    entries += [(name, raw, place, path) for name, raw in topics.items()]
                    if more and not topics:
                        entries += [(name, raw, place, path) for name, raw in salvage_topics(bytes(lists[domain]))]
    answer = _Answer(source, BROKER_STATS, len(data) <= WHOLE_CHECK_BYTES, earlier, publishers)
    return _broker_stats(answer, entries, out, len(broken))


def _broker_stats(
    answer: _Answer, entries: list[tuple[str, bytes | msgspec.Raw, Place, str]], problems: list[Problem], broken: int
) -> Decoded[BrokerStats]:
    topics: dict[str, TopicFacts] = {}
    places: dict[str, Place] = {}
    faults: dict[Place, str] = {}
    for name, raw, place, path in entries:
        if place not in faults:
            refusal = refuse_namespace(place.namespace) or refuse_range(place.bundle) or refuse_ends(place.bundle)
            faults[place] = "" if refusal is None else refusal.message
            if refusal is not None:
                where = child(child("$", place.namespace), place.bundle)
                reason = refusal.message
                problems.append(Problem(answer.source, where, reason, "its topics are set aside; the rest is kept"))
        if faults[place]:
            broken += 1
            continue
        facts, more = _one_topic(answer, raw, name, path)
        problems += more
        if facts is None:
            broken += 1
            continue
        if name in places:
            reason = f"is listed in {place.bundle} and in {places[name].bundle}; the later one counts"
            problems.append(Problem(answer.source, child(path, name), reason, "record the answer again"))
        topics[name], places[name] = facts, place
    return Decoded(BrokerStats(topics, places), tuple(problems), broken)


def _decode_all(
    answer: _Answer, entries: Sequence[tuple[str, bytes | msgspec.Raw]], path: str
) -> Decoded[dict[str, TopicFacts]]:
    good: dict[str, TopicFacts] = {}
    problems: list[Problem] = []
    aside = 0
    for name, undecoded in entries:
        if answer.kind != PARTITIONED_STATS and _is_partitioned(bytes(undecoded)):
            inner = decode_partitioned_stats(
                bytes(undecoded), answer.source, child(path, name), whole=answer.whole, publishers=answer.publishers
            )
            good.update(inner.good)
            problems += inner.problems
            aside += inner.set_aside
            continue
        facts, more = _one_topic(answer, undecoded, name, path)
        problems += more
        if facts is None:
            aside += 1
        else:
            good[name] = facts
    return Decoded(good, tuple(problems), aside)


def _is_partitioned(raw: bytes) -> bool:
    # Statistics of one topic have no such member; searching the word first avoids decoding most topics twice.
    if b'"partitions"' not in raw:
        return False
    try:
        return "partitions" in msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _one_topic(
    answer: _Answer, undecoded: bytes | msgspec.Raw, topic: str, parent: str
) -> tuple[TopicFacts | None, tuple[Problem, ...]]:
    """Decode one topic, unless an earlier answer has it. ``parent``: the path of the enclosing object, "" without one.

    A topic with a problem is decoded each time.
    """
    earlier = answer.earlier
    if earlier is None or not isinstance(undecoded, msgspec.Raw):
        return _decode_topic(answer, bytes(undecoded), topic, parent)
    known: TopicFacts | None = earlier.get(topic, undecoded)
    if known is not None:
        return known, ()
    facts, problems = _decode_topic(answer, bytes(undecoded), topic, parent)
    if facts is not None and not problems:
        earlier.keep(topic, undecoded, facts)
    return facts, problems


def _decode_topic(
    answer: _Answer, raw: bytes, topic: str, parent: str
) -> tuple[TopicFacts | None, tuple[Problem, ...]]:
    source = answer.source
    domain, namespace, index = parsed_name(topic)
    if not namespace:
        return None, (Problem(source, _path(parent, topic), domain, SET_ASIDE),)
    try:
        wire, aside = _wire_of(answer, raw, _path(parent, topic))
        repeated = repeated_members(raw, source, _path(parent, topic)) if answer.whole else ()
        repeated += aside
    except msgspec.ValidationError as fault:
        return None, (_locate(raw, source, _path(parent, topic), fault),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return None, (malformed(raw, source, fault, _path(parent, topic)),)
    blank = [name for name in wire.subscriptions if not name or name.isspace()]
    nameless = [name for name in blank if refuse_subscription(name) is not None]
    if nameless:
        where = child(_path(parent, topic), "subscriptions")
        reason = "a subscription without a name"
        repeated += tuple(Problem(source, child(where, name), reason, SET_ASIDE) for name in nameless)
    subscriptions = tuple([replace(sub, name=name) for name, sub in wire.subscriptions.items() if name not in nameless])
    unreadable = unreadable_range(subscriptions)
    if unreadable is not None:
        reason = f"keyHashRanges has {unreadable!r}, which is not a range like [0, 16383]"
        return None, (Problem(source, _path(parent, topic), reason, SET_ASIDE),)
    facts = TopicFacts(
        name=topic,
        domain=domain,
        namespace=namespace,
        partition_index=index,
        msg_rate_in_msgs_per_sec=wire.msgRateIn,
        msg_rate_out_msgs_per_sec=wire.msgRateOut,
        msg_throughput_in_bytes_per_sec=wire.msgThroughputIn,
        msg_throughput_out_bytes_per_sec=wire.msgThroughputOut,
        storage_size_bytes=wire.storageSize,
        backlog_size_bytes=wire.backlogSize,
        publishers=wire.producers,
        subscriptions=NOT_REPORTED if isinstance(wire.subscriptions, NotListed) else subscriptions,
        kind=answer.kind,
        source=source,
        msg_in_counter=wire.msgInCounter,
        msg_out_counter=wire.msgOutCounter,
        backlog_quota_bytes=wire.backlogQuotaLimitSize,
        waiting_publishers=wire.waitingPublishers,
        last_publish_ms=wire.lastPublishTimeStamp,
        open_transactions=wire.ongoingTxnCount,
        replicators=tuple([replace(one, cluster=name) for name, one in wire.replication.items()]),
        publisher_entries=wire.publishers if answer.publishers else (),
    )
    return facts, repeated


def _wire_of(answer: _Answer, raw: bytes, path: str) -> tuple[TopicWire, tuple[Problem, ...]]:
    """The statistics, without the draining entries that do not name their slot, and a problem for each of those."""
    try:
        return decoded_wire(raw), ()
    except msgspec.ValidationError as fault:
        if MISSING_SLOT not in str(fault):
            raise
    mended, places = without_slotless(raw)
    advice = "this entry is set aside; the rest is kept"
    problems = tuple(
        Problem(
            answer.source,
            f"{child(child(path, 'subscriptions'), name)}.consumers[{consumer}].drainingHashes[{entry}]",
            "has no hash",
            advice,
        )
        for name, consumer, entry in places
    )
    return decoded_wire(mended), problems


def _path(parent: str, topic: str) -> str:
    return child(parent, topic) if parent else "$"


def _locate(raw: bytes, source: str, path: str, fault: msgspec.ValidationError) -> Problem:
    """Locate a wrong value; msgspec writes ``[...]`` for a key of a map, so subscriptions are decoded one by one.

    What follows the wrong value was not read before, and may not be JSON.
    """
    try:
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if "$.subscriptions[...]" in str(fault):
            for name, sub in msgspec.json.decode(members["subscriptions"], type=dict[str, msgspec.Raw]).items():
                try:
                    msgspec.convert(without_nulls(msgspec.json.decode(sub)) or {}, type=SubscriptionFacts)
                except msgspec.ValidationError as inner:
                    return value_problem(source, child(child(path, "subscriptions"), name), inner)
    except msgspec.ValidationError:
        pass  # not an object at all, as the fault says
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as worse:
        return malformed(raw, source, worse, path)
    return value_problem(source, path, fault)
