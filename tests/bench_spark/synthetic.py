"""Made-up fleets as an import leaves them, of any size: the same rows for the same size, in every engine.

Rates are multiples of 1/8, so that sums come out the same in whatever order they are added up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from engine.bundles.boundaries import BundleRange, NamespaceBundles, default_boundaries
from engine.errors import Rejection
from engine.views.fleet.tables import (
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    LISTED,
    SETTINGS,
    SUBSCRIPTIONS,
    TOPICS,
)
from pipeline.reading.rows import Row, consumer_set_id
from tests import fleet_results

SUBSCRIPTION_COUNT: Final = 200
NAMESPACE_COUNT: Final = 400
CLUSTERS: Final = ("east", "west")
"""The clusters of subscriptions and namespaces, by turns."""
BUNDLES_A_NAMESPACE: Final = 64
KEY_SUBSCRIPTION_COUNT: Final = 16
FLEET_SUBSCRIPTIONS: Final = 2_000
FLEET_BROKERS: Final = 20
EVENTS_A_KEY: Final = 10
ROWS_A_PART: Final = 1 << 20


def cluster_of(number: int) -> str:
    """The cluster of the subscription or namespace with this number."""
    return CLUSTERS[number % len(CLUSTERS)]


def consumer_lists() -> list[tuple[str, ...]]:
    """2 to 19 consumers for each subscription, in Pulsar's order."""
    sizes = [2 + number % 18 for number in range(SUBSCRIPTION_COUNT)]
    return [tuple(sorted(f"app-{number}-host-{at}" for at in range(size))) for number, size in enumerate(sizes)]


def write_failover(folder: Path, rows: int) -> None:
    """``subscriptions`` and ``consumer_sets``: so many partitions, 16 a topic, in 200 Failover subscriptions."""
    lists = consumer_lists()
    sets = [consumer_set_id(names) for names in lists]
    rows_of_sets: list[Row] = [
        (cluster_of(at), name, list(names)) for at, (name, names) in enumerate(zip(sets, lists, strict=True))
    ]
    fleet_results.put_table(folder, CONSUMER_SETS.name, CONSUMER_SETS.columns_of(rows_of_sets))
    chosen = ", ".join(f"('{cluster_of(at)}', {at}, {name}, {len(lists[at])})" for at, name in enumerate(sets))
    for part, (low, high) in enumerate(_ranges(rows)):
        sql = f"""
            with lists(cluster, nr, consumer_set, consumers) as (values {chosen}),
            row as (select range as i, range // 16 as parent, range // 16 % {SUBSCRIPTION_COUNT} as nr
                    from range({low}, {high}))
            select cluster, 'subscription-' || nr as subscription, parent_name || '-partition-' || i % 16 as topic,
                   'tenant-' || nr % 40 || '/namespace-' || nr as namespace, parent_name as partitioned_topic,
                   (i % 16)::int as partition_index, 'Failover' as type, consumers::int as consumers,
                   consumer_set::bigint as consumer_set, null::varchar as reported_active_consumer,
                   (i * 7919 % 4001) / 8.0::double as msg_rate_out,
                   (i * 104729 % 40009) / 8.0::double as msg_throughput_out,
                   (i % 100)::bigint as msg_backlog_entries, 0::bigint as unacked_messages, 'broker.json' as file
            from (select *, 'persistent://tenant-' || nr % 40 || '/namespace-' || nr || '/orders-' || parent
                  as parent_name from row) join lists using (nr) order by i"""
        _copy(sql, fleet_results.put_part(folder, SUBSCRIPTIONS.name, part=part))


def write_topics(folder: Path, rows: int) -> None:
    """What the job ``bundles`` reads: so many topics in 400 namespaces of 64 bundles."""
    boundaries = default_boundaries(BUNDLES_A_NAMESPACE)
    assert not isinstance(boundaries, Rejection), boundaries
    bundles: list[Row] = [
        (cluster, f"{name}/{bundle}", name, str(bundle), place, bundle.lower, bundle.upper, "bundles.json")
        for cluster, name in ((cluster_of(at), f"tenant-{at % 40}/namespace-{at}") for at in range(NAMESPACE_COUNT))
        for place, bundle in enumerate(NamespaceBundles(name, boundaries))
    ]
    fleet_results.put_table(folder, BUNDLES.name, BUNDLES.columns_of(bundles))
    for table in (LISTED, BUNDLE_REPORTS, BROKERS, SETTINGS):
        fleet_results.put_table(folder, table.name, table.columns_of([]))
    for part, (low, high) in enumerate(_ranges(rows)):
        row = f"""(select range as i, range % {NAMESPACE_COUNT} as nr, 'tenant-' || nr % 40 || '/namespace-' || nr
                   as namespace, 'persistent://' || namespace || '/orders-' || i as topic from range({low}, {high}))"""
        topics = f"""
            select {list(CLUSTERS)}[1 + nr % {len(CLUSTERS)}] as cluster,
                   topic, 'persistent' as domain, namespace, topic as partitioned_topic, -1::int as partition_index,
                   null::varchar as bundle, 'broker-' || i % 9 as broker, (i * 31 % 801) / 8.0::double as msg_rate_in,
                   (i * 37 % 401) / 8.0::double as msg_rate_out, (i * 41 % 80001) / 8.0::double as msg_throughput_in,
                   (i * 43 % 40001) / 8.0::double as msg_throughput_out, i as storage_size_bytes,
                   0::bigint as backlog_size_bytes, (i % 3)::int as publishers, (i % 4)::int as consumers,
                   'broker-stats' as kind, 'broker.json' as file from {row} order by i"""
        _copy(topics, fleet_results.put_part(folder, TOPICS.name, part=part))


def key_consumer_lists() -> dict[str, list[str]]:
    """4 to 19 consumers for each Key_Shared subscription, in the order they joined."""
    return {
        f"subscription-{number}": [f"app-{number}-host-{at}" for at in range(4 + number)]
        for number in range(KEY_SUBSCRIPTION_COUNT)
    }


def write_trace(folder: Path, rows: int) -> None:
    """``traces`` with so many events of 1 to 3 messages, ten a key, and ``consumers.json`` for ``consumers-from``.

    16 subscriptions; one event of twenty is of one of ten hot keys.
    """
    traces = folder / "traces"
    traces.mkdir(parents=True)
    (folder / "consumers.json").write_text(json.dumps(key_consumer_lists()), encoding="utf-8")
    keys = max(1, rows // (KEY_SUBSCRIPTION_COUNT * EVENTS_A_KEY))
    for part, (low, high) in enumerate(_ranges(rows)):
        # A Weyl sequence in 32 bits spreads the numbers of keys; dividing by 7 keeps hot keys in all subscriptions.
        sql = f"""
            select 'tenant/namespace' as namespace,
                   'subscription-' || i // 7 % {KEY_SUBSCRIPTION_COUNT} as subscription,
                   if(i % 20 = 0, 'hot-' || i // 20 % 10, 'customer-' || (i * 2654435761 % 4294967296 * {keys} >> 32))
                   as key, 1 + i % 3 as count
            from (select range as i from range({low}, {high})) order by i"""
        _copy(sql, traces / f"part-{part:06d}.parquet")


def write_broker_stats(path: Path, topics: int) -> int:
    """One ``broker-stats/topics`` document of so many topics, some 650 bytes each; gives its size in bytes."""
    by_namespace: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
    for at in range(topics):
        namespace, bundle = f"tenant-{at % 40}/namespace-{at % 400}", str(BundleRange(at % 16 << 28, _upper(at % 16)))
        inside = by_namespace.setdefault(namespace, {}).setdefault(bundle, {"persistent": {}, "non-persistent": {}})
        inside["persistent"][f"persistent://{namespace}/orders-{at}"] = _topic(at)
    text = json.dumps(by_namespace, separators=(",", ":"))
    path.write_text(text)
    return len(text)


def write_fleet(folder: Path, partitions: int, subscriptions: int = FLEET_SUBSCRIPTIONS) -> int:
    """What 20 brokers print of so many partitions, 16 a topic, in so many Failover subscriptions; bytes in all.

    Some 700 bytes a partition; each broker lists its share of them and reports its release.
    """
    size = 0
    for broker in range(FLEET_BROKERS):
        place = folder / f"broker-{broker:02d}"
        place.mkdir(parents=True)
        report = {"pulsarServiceUrl": "x", "webServiceUrl": f"http://broker-{broker:02d}:8080",
                  "brokerVersionString": "4.2.4", "lastStats": {}}  # fmt: skip
        (place / "load-report.json").write_text(json.dumps(report))
        by_namespace: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
        low, high = (partitions * each // FLEET_BROKERS for each in (broker, broker + 1))
        for at in range(low, high):
            number = at // 16 % subscriptions
            namespace, bundle = (
                f"tenant-{number % 40}/namespace-{number % 400}",
                str(BundleRange(at % 16 << 28, _upper(at % 16))),
            )
            inside = by_namespace.setdefault(namespace, {}).setdefault(bundle, {"persistent": {}, "non-persistent": {}})
            name = f"persistent://{namespace}/orders-{at // 16}-partition-{at % 16}"
            inside["persistent"][name] = _topic(at, number)
        text = json.dumps(by_namespace, separators=(",", ":"))
        (place / "broker-stats-topics.json").write_text(text)
        size += len(text)
    return size


def _upper(sixteenth: int) -> int:
    return 0xFFFFFFFF if sixteenth == 15 else sixteenth + 1 << 28


def _topic(at: int, number: int | None = None) -> dict[str, object]:
    """Statistics of one topic; ``number`` of its subscription, whose topics have the same consumers then."""
    whose, several = (at % 200, at % 2) if number is None else (number, number % 2)
    consumers = [
        {
            "msgRateOut": (at * 7 + place) % 800 / 8,
            "msgThroughputOut": (at * 11 + place) % 80000 / 8,
            "consumerName": f"app-{whose}-host-{place}",
            "availablePermits": 1000,
            "unackedMessages": 0,
            "address": f"/10.0.{at % 250}.{place}:{40000 + at % 9999}",
            "connectedSince": "2026-01-01T00:00:00.000Z",
            "clientVersion": "Pulsar-Java-v4.2.4",
        }
        for place in range(1 + several)
    ]
    publisher = {
        "producerName": f"producer-{at}",
        "producerId": at % 50,
        "msgRateIn": at % 801 / 8,
        "address": f"/10.1.{at % 250}.7:{40000 + at % 9999}",
    }
    return {
        "msgRateIn": at % 801 / 8,
        "msgRateOut": at % 401 / 8,
        "msgThroughputIn": at % 80001 / 8,
        "msgThroughputOut": at % 40001 / 8,
        "storageSize": at,
        "backlogSize": 0,
        "publishers": [publisher],
        "subscriptions": {
            f"subscription-{whose}": {"type": "Failover", "msgBacklog": at % 100, "consumers": consumers}
        },
    }


def _ranges(rows: int) -> Iterator[tuple[int, int]]:
    return ((low, min(low + ROWS_A_PART, rows)) for low in range(0, rows, ROWS_A_PART))


def _copy(sql: str, target: Path) -> None:
    with duckdb.connect() as engine:
        engine.execute("set threads = 1")
        engine.execute(f"copy ({sql}) to '{target}' (format parquet, compression zstd)")
