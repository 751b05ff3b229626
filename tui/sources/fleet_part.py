"""One namespace or subscription out of a fleet's tables, as the same values that reading answers gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, structs

from engine.admin.facts import BundleList, ConsumerFacts, Snapshot, SubscriptionFacts, TopicFacts
from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, read_moments
from engine.admin.text import SET_ASIDE
from engine.bundles.boundaries import namespace_bundles
from engine.config import DEFAULTS, BrokerSettings
from engine.errors import InputError, Problem, Rejection
from engine.names import refuse_namespace, topic_fault
from engine.scenarios.opening import FleetPart
from engine.scenarios.subscriptions import KEY_SHARED
from engine.text import natural_key
from engine.views.failover.model import Notice
from engine.views.fleet.runs import ResultFolder
from tui.sources.fleet_tables import read_table

MOST_BYTES: Final = 64_000_000
"""Of a namespace with longer answers only the tables are opened: a screen should be there at once."""
NO_REPORTS: Final = "fleet-keeps-no-reports"
MANY_TOPICS: Final = 5_000
"""With more of them in its namespace, one subscription is opened with its own topics alone."""
_Conditions: TypeAlias = Sequence[tuple[str, str, Any]]
_Key = tuple[str, str]
"""A subscription and one of its topics or partitions."""
_DISPATCHER: Final = (
    "subscription", "topic", "partitioned_topic", "type", "consumer_set", "reported_active_consumer", "msg_rate_out",
    "msg_throughput_out", "msg_backlog_entries", "unacked_messages", "partition_index",
)  # fmt: skip
_TOPIC: Final = (
    "topic", "domain", "namespace", "partition_index", "msg_rate_in", "msg_rate_out", "msg_throughput_in",
    "msg_throughput_out", "storage_size_bytes", "backlog_size_bytes", "publishers", "bundle", "kind", "file",
)  # fmt: skip


_BROKER_STATS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, msgspec.Raw]]]])
"""By namespace, bundle, domain and topic."""


class Reported(Struct, frozen=True):
    """A part of a fleet with what brokers reported of it, or with a notice that says where that is."""

    part: FleetPart
    moments: tuple[Moment, ...] = ()
    notes: tuple[Notice, ...] = ()


def part_of(
    folder: ResultFolder, cluster: str, namespace: str, subscription: str = "", *, listed_flag: bool | None = None
) -> FleetPart:
    """A namespace of a cluster with all its subscriptions, or with one of them.

    Raises ``InputError`` for missing tables.

    O(dispatchers + topics of the namespace), and the consumers of every Key_Shared dispatcher; of the others those of
    one dispatcher for each list of them.
    """
    refusal = refuse_namespace(namespace)
    if refusal is not None:
        raise InputError(f"{folder.name}: {refusal.message}")
    conditions: list[tuple[str, str, Any]] = [("cluster", "=", cluster), ("namespace", "=", namespace)]
    mine = [*conditions, ("subscription", "=", subscription)] if subscription else conditions
    dispatchers = read_table(folder, "subscriptions", _DISPATCHER, mine)
    dispatchers = dispatchers.sort_by([("partitioned_topic", "ascending"), ("partition_index", "ascending")])
    topics = read_table(folder, "topics", _TOPIC, conditions)
    left_out = 0
    if subscription and len(topics) > MANY_TOPICS:
        own = topics.filter(pc.is_in(topics.column("topic"), pc.unique(dispatchers.column("topic"))))
        topics, left_out = own, len(topics) - len(own)
    where = f"{namespace}, subscription {subscription}" if subscription else namespace
    where = f"{cluster}: {where}" if cluster else where
    facts, bundle_of_topic = _topics(topics, _subscriptions(folder, conditions, dispatchers))
    faults = {name: fault for name in facts if (fault := topic_fault(name))}
    if faults:
        facts = {name: topic_facts for name, topic_facts in facts.items() if name not in faults}
    problems = tuple(Problem(f"{folder.name}/topics", "$", fault, SET_ASIDE) for fault in faults.values())
    snapshot = Snapshot(
        source=f"{folder.name}: {where}",
        topics=facts,
        bundles=_bundles(folder, namespace, conditions),
        bundle_of_topic=bundle_of_topic,
        settings=_settings(folder, conditions[:1]),
        version=_release(folder, conditions[:1]),
        problems=problems,
    )
    return FleetPart(snapshot, listed_flag, subscription, left_out)


def with_reports(part: FleetPart, folder: ResultFolder, cluster: str, namespace: str) -> Reported:
    """A part with the release that the kept answers name, and what brokers reported in them, moment by moment.

    Where the import kept none, or so many that a screen should not wait for them, a notice names where the answers are.
    """
    try:
        own = part.snapshot.topics if part.topics_left_out else None
        moments = moments_of(folder, cluster, namespace, most_bytes=MOST_BYTES, topics=own)
    except InputError as error:
        files = sorted({topic.source for topic in part.snapshot.topics.values() if topic.source})
        where = f"; open its answers ({files[0]} and others) themselves" if files else ""
        return Reported(part, notes=(Notice(NO_REPORTS, f"{error}{where}: unacked, what waits and why are not known"),))
    version = next((moment.snapshot.version for moment in reversed(moments) if moment.snapshot.version), None)
    if part.snapshot.version is None and version is not None:
        part = structs.replace(part, snapshot=structs.replace(part.snapshot, version=version))
    return Reported(part, moments)


def moments_of(
    folder: ResultFolder,
    cluster: str,
    namespace: str,
    *,
    most_bytes: int | None = None,
    topics: Collection[str] | None = None,
) -> tuple[Moment, ...]:
    """The answers about a namespace of a cluster that the import kept, as their moments; of what brokers listed only
    these ``topics``, if any are given.

    Scalable topics are opened from them. Raises ``InputError`` where there are none, or more than ``most_bytes``.
    """
    rows = read_table(
        folder,
        "answers",
        ("namespace", "file", "body"),
        [("cluster", "=", cluster), ("namespace", "in", [namespace, ""])],
    )
    names, bodies = rows.column("file").to_pylist(), rows.column("body").to_pylist()
    if namespace not in rows.column("namespace").to_pylist():
        raise InputError(f"{folder.name}: the import kept no answer about {namespace}")
    if most_bytes is not None and (size := sum(map(len, bodies))) > most_bytes:
        raise InputError(f"{folder.name}: the answers about {namespace} have {size / 1e6:,.0f} MB")
    if topics is not None:
        bodies = [_with_topics(body, namespace, topics) for body in bodies]
    files = [AnswerFile(name, body) for name, body in zip(names, bodies, strict=True)]
    return read_moments(*sorted(files, key=lambda file: natural_key(file.name)))


def _with_topics(body: bytes, namespace: str, topics: Collection[str]) -> bytes:
    """An answer of broker-stats about a namespace with some of its topics; any other as it is. O(length)."""
    try:
        spaces = _BROKER_STATS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    if {*spaces} != {namespace}:
        return body
    return msgspec.json.encode(
        {
            namespace: {
                bundle: {
                    domain: {topic: raw for topic, raw in listed.items() if topic in topics}
                    for domain, listed in domains.items()
                }
                for bundle, domains in spaces[namespace].items()
            }
        }
    )


def _topics(
    rows: Any, subscriptions: Mapping[str, tuple[SubscriptionFacts, ...]]
) -> tuple[dict[str, TopicFacts], dict[str, str]]:
    by_topic: dict[str, TopicFacts] = {}
    ranges: dict[str, str] = {}
    for row in zip(*(rows.column(name).to_pylist() for name in _TOPIC), strict=True):
        topic, domain, namespace, index, *numbers, publishers, bundle, kind, file = row
        rate_in, rate_out, bytes_in, bytes_out, stored, waiting = numbers
        by_topic[topic] = TopicFacts(
            topic, domain, namespace, index, rate_in, rate_out, bytes_in, bytes_out, stored, waiting, publishers,
            subscriptions.get(topic, ()), kind, file,
        )  # fmt: skip
        if bundle is not None:
            ranges[topic] = bundle
    return by_topic, ranges


def _subscriptions(
    folder: ResultFolder, conditions: _Conditions, rows: Any
) -> dict[str, tuple[SubscriptionFacts, ...]]:
    """The subscriptions of each topic. Details of consumers are read of one dispatcher for each list of consumers.

    Other dispatchers with that list share them, except of Key_Shared, where each has ranges of its own.
    """
    names = _consumer_sets(folder, conditions[0][2], rows.column("consumer_set"))
    dispatchers = list(zip(*(rows.column(name).to_pylist() for name in _DISPATCHER), strict=True))
    first: dict[tuple[object, ...], _Key] = {}
    for subscription, topic, _, kind, number, *_ in dispatchers:
        if names.get(number):
            first.setdefault(_sharing(subscription, topic, kind, number), (subscription, topic))
    keyed = {source for (*_, kind), source in first.items() if kind == KEY_SHARED}
    consumers, unacked = _consumers(folder, conditions, set(first.values()), keyed)
    shared = {number: tuple(ConsumerFacts(name=name) for name in listed) for number, listed in names.items()}
    by_topic: dict[str, list[SubscriptionFacts]] = {}
    for subscription, topic, _, kind, number, active, rate, throughput, backlog, waiting, _ in dispatchers:
        source = first.get(_sharing(subscription, topic, kind, number))
        listed = consumers.get(source) if source is not None else None
        facts = SubscriptionFacts(
            subscription,
            kind,
            active,
            shared.get(number, ()) if listed is None else listed,
            rate,
            throughput,
            backlog,
            max((held for held in (waiting, unacked.get((subscription, topic))) if held is not None), default=None),
        )
        by_topic.setdefault(topic, []).append(facts)
    return {topic: tuple(subscriptions) for topic, subscriptions in by_topic.items()}


def _sharing(subscription: str, topic: str, kind: str, number: int) -> tuple[object, ...]:
    """Equal for dispatchers that share the details of their consumers."""
    return subscription, topic if kind == KEY_SHARED else number, kind


def _consumer_sets(folder: ResultFolder, cluster: str, numbers: Any) -> dict[int, tuple[str, ...]]:
    wanted = pc.unique(numbers)
    if not len(wanted):
        return {}
    rows = read_table(
        folder, "consumer_sets", None, (pc.field("cluster") == cluster) & pc.field("consumer_set").isin(wanted)
    ).to_pydict()
    return {number: tuple(names) for number, names in zip(rows["consumer_set"], rows["names"], strict=True)}


def _consumers(
    folder: ResultFolder, conditions: _Conditions, sources: set[_Key], keyed: set[_Key]
) -> tuple[dict[_Key, tuple[ConsumerFacts, ...]], dict[_Key, int]]:
    """The consumers of some dispatchers, and the unacknowledged messages of every dispatcher of their subscriptions.

    ``keyed``: the dispatchers of type Key_Shared among them.
    """
    if not sources or not folder.has("consumers"):
        return {}, {}
    subscriptions = sorted({name for name, _ in sources})
    columns = ("subscription", "topic", "position", "consumer", "connected_since", "unacked_messages",
               "key_hash_ranges")  # fmt: skip
    rows = read_table(folder, "consumers", columns, [*conditions, ("subscription", "in", subscriptions)])
    sums = rows.group_by(["subscription", "topic"]).aggregate([("unacked_messages", "sum")])
    known = (row for row in sums.to_pylist() if row["unacked_messages_sum"] is not None)
    waiting = {(row["subscription"], row["topic"]): row["unacked_messages_sum"] for row in known}
    topics = pa.array(sorted({name for _, name in sources}), pa.string())
    rows = rows.filter(pc.is_in(rows.column("topic"), topics)).sort_by("position")
    consumers: dict[_Key, list[ConsumerFacts]] = {}
    for row in rows.to_pylist():
        key = (row["subscription"], row["topic"])
        ranges = tuple((hash_range["start"], hash_range["end"]) for hash_range in row["key_hash_ranges"])
        if key in sources:
            # Except of Key_Shared, other dispatchers share these facts, so what waits is known of dispatchers only.
            held = row["unacked_messages"] if key in keyed else None
            facts = ConsumerFacts(
                name=row["consumer"],
                connected_since=row["connected_since"].isoformat() if row["connected_since"] else "",
                unacked_messages=held,
                range_arrays=ranges,
            )
            consumers.setdefault(key, []).append(facts)
    return {key: tuple(listed) for key, listed in consumers.items()}, waiting


def _bundles(folder: ResultFolder, namespace: str, conditions: _Conditions) -> dict[str, BundleList]:
    if not folder.has("bundles"):
        return {}
    rows = read_table(folder, "bundles", ("lower", "upper"), conditions).to_pydict()
    boundaries = tuple(sorted({*rows["lower"], *rows["upper"]}))
    whole = boundaries and not isinstance(namespace_bundles(namespace, boundaries), Rejection)
    return {namespace: BundleList(boundaries)} if whole else {}


def _settings(folder: ResultFolder, conditions: _Conditions) -> BrokerSettings | None:
    """The settings of a cluster's brokers, None where no answer had any: then they are inferred."""
    if not folder.has("settings"):
        return None
    rows: Iterable[Mapping[str, str]] = read_table(folder, "settings", ("name", "value"), conditions).to_pylist()
    settings = None
    for row in rows:
        settings = settings or BrokerSettings()
        if row["name"] in DEFAULTS:
            changed = settings.with_setting(row["name"], row["value"])
            settings = settings if isinstance(changed, Rejection) else changed
    return settings


def _release(folder: ResultFolder, conditions: _Conditions) -> str | None:
    """The release that most brokers have; the first by name of equally many."""
    if not folder.has("brokers"):
        return None
    rows = read_table(folder, "brokers", ("version",), conditions).to_pydict()
    versions = [version for version in rows["version"] if version]
    return max(sorted(set(versions)), key=versions.count) if versions else None
