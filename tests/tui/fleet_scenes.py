"""Result folders of fleets as the jobs write them, small or with as many rows as wanted."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from engine.admin.facts import Snapshot
from engine.config import DEFAULTS
from engine.views.fleet import tables as schemas
from engine.views.fleet.summary import (
    FILE_NAME,
    VERSION,
    Agreement,
    ClusterRules,
    FindingCount,
    FleetSummary,
    FleetTotals,
    PolicyTotals,
    QuarantineCount,
    summary_text,
)
from engine.views.fleet.tables import Table
from pipeline.reading.rows import FileClusters, Rows
from pipeline.reading.topics import topics_read
from tests import fleet_results

NAMESPACE = "shop/orders"
SHARED = "persistent://shop/loose/shared"
NAMES = ("billing-0", "billing-1", "billing-2")
WHOLE = (0,) * 6
"""Of how many topics each sum of a namespace is unknown."""


def write(folder: Path, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """One table of one part, of rows without their cluster: there is only one."""
    write_clusters(folder, table, [("", *row) for row in rows])


def write_clusters(folder: Path, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """One table of one part."""
    fleet_results.put_table(folder, table.name, table.columns_of(rows))


def small_result(folder: Path) -> Path:
    """Two namespaces: a Failover subscription of 12 partitions and a topic without, a Key_Shared one, a Shared one."""
    topics = [(f"persistent://{NAMESPACE}/order-{at // 4}-partition-{at % 4}", at // 4, at % 4) for at in range(12)]
    rows, loads = [], []
    for name, parent, index in topics:
        whole = f"persistent://{NAMESPACE}/order-{parent}"
        rows.append(("billing", name, NAMESPACE, whole, index, "Failover", 3, 1, None, 1.0, 9.0, 5, 2, "a.json"))
        loads.append((name, "persistent", NAMESPACE, whole, index, None, "b", 2.0 + index, 1.0, 200.0, 100.0, 0, 0, 1,
                      3, "stats", "a.json"))  # fmt: skip
    alone, keyed, shared = f"persistent://{NAMESPACE}/alone", f"persistent://{NAMESPACE}/keyed", SHARED
    rows.append(("billing", alone, NAMESPACE, alone, -1, "Failover", 3, 1, None, 1.0, 9.0, 5, 2, "a.json"))
    rows.append(("orders", keyed, NAMESPACE, keyed, -1, "Key_Shared", 2, 2, None, 1.0, 9.0, 5, 2, "a.json"))
    rows.append(("loose", shared, "shop/loose", shared, -1, "Shared", 2, 2, None, 1.0, 9.0, 5, 2, "a.json"))
    for name, namespace in ((alone, NAMESPACE), (keyed, NAMESPACE), (shared, "shop/loose")):
        loads.append((name, "persistent", namespace, name, -1, None, "b", 1.0, 1.0, 100.0, 100.0, 0, 0, 1, 3,
                      "stats", "a.json"))  # fmt: skip
    write(folder, schemas.SUBSCRIPTIONS, rows)
    write(folder, schemas.TOPICS, loads)
    write(folder, schemas.CONSUMER_SETS, [(1, list(NAMES)), (2, ["worker-0", "worker-1"])])
    write(folder, schemas.BROKERS, [("b:8080", "4.0.7", 0, 2, "a.json")])
    write(
        folder, schemas.BUNDLES,
        [(f"{NAMESPACE}/{low}", NAMESPACE, "", at, low, high, "a.json")
         for at, (low, high) in enumerate([(0, 0x80000000), (0x80000000, 0xFFFFFFFF)])],
    )  # fmt: skip
    write(
        folder, schemas.WORST_SUBSCRIPTIONS,
        [(NAMESPACE, "billing", "Failover", "flag_on", 13, 3, 0, 2.75, 4, 1, None, 2, "warning", 13.0, 65,
          2.5, 1, 4.5, None, None, None, 0, 0, True),
         (NAMESPACE, "orders", "Key_Shared", "auto_split", 1, 2, 0, None, 0, 0, "CHANCE", 0, None, 1.0, 5,
          1.25, 1, 0.0, None, None, None, 0, 0, True),
         ("shop/loose", "loose", "Shared", "none", 1, 2, 0, None, 0, 0, None, 1, "info", 1.0, 5, None, 1, 0.0,
          None, None, None, 0, 0, False)],
    )  # fmt: skip
    write(
        folder, schemas.WORST_NAMESPACES,
        [(NAMESPACE, 14, 2, 40.0, 14.0, 4e3, 2e3, 0, 2, 1, 2.5, "billing", 0, 2, "warning", 3, 0, *WHOLE),
         ("shop/loose", 1, 1, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, None, None, 0, 1, "info", 0, 0, *WHOLE)],
    )  # fmt: skip
    write(
        folder, schemas.FINDINGS,
        [(NAMESPACE, "billing", "failover-names-collide", "warning", 2, "", "", "billing-1", 12,
          "billing-1 keeps 90 of 100 points", "give all numbers one width", [{"name": "points_kept", "value": 90.0}]),
         ("", "", "bundle-hot-topic", "info", 1, "", "", "", 0, "one broker has all", "unload a bundle", [])],
    )  # fmt: skip
    write(
        folder, schemas.QUARANTINE,
        [("import", "b.json", "$.topics[3]", 7, 2, "topics", 4, "bad", "is half a document", "record it again, whole"),
         ("import", "c.json", "$", None, None, "topics", 9, "superseded", "a better or later answer is in a.json",
           "nothing has to be done")],
    )  # fmt: skip
    fleet_results.put_document(folder, FILE_NAME, summary_text(SUMMARY))
    return folder


SUMMARY = FleetSummary(
    VERSION, ("import", "assign", "lint"),
    FleetTotals(topics=15, namespaces=2, subscriptions=15, subscription_names=3, consumers=43, brokers=1, bundles=2,
                msg_rate_in=42.0, msg_rate_out=15.0),
    (PolicyTotals("flag_on", True, 13, 0, 4, 1, 2.5),), (), (), (), (),
    (FindingCount("failover-names-collide", "warning", 1), FindingCount("bundle-hot-topic", "info", 1)),
    (QuarantineCount("import", "topics", "bad", 4, 1), QuarantineCount("import", "topics", "superseded", 9, 1)), {},
    (ClusterRules("", "4.0.7", "reported", True, "inferred", 12, 12),), Agreement(12, 12),
)  # fmt: skip


def imported(snapshot: Snapshot, folder: Path) -> Path:
    """The tables that an import makes of answers, by the import's own rows."""
    rows = Rows()
    bundles = [snapshot.bundle_of_topic.get(name) for name in snapshot.topics]
    rows.add_topics(topics_read(rows, snapshot.topics.values(), bundles))
    for table in (schemas.TOPICS, schemas.SUBSCRIPTIONS, schemas.CONSUMERS):
        columns = rows.topic_tables(FileClusters())[table]
        write_clusters(folder, table, [tuple(row.values()) for row in columns.to_pylist()])
    write(folder, schemas.CONSUMER_SETS, [(number, list(names)) for (_, names), number in rows.sets.items()])
    write(folder, schemas.BROKERS, [("b:8080", snapshot.version or "", 0, 0, "b.json")])
    pieces = [
        (f"{name}/{at}", name, "", at, lower, upper, "b.json")
        for name, listed in snapshot.bundles.items()
        for at, (lower, upper) in enumerate(pairwise(listed.boundaries))
    ]
    write(folder, schemas.BUNDLES, pieces)
    if snapshot.settings is not None:
        write(folder, schemas.SETTINGS, [(name, snapshot.settings.text_of(name), "s.json") for name in DEFAULTS])
    return folder


def installation(folder: Path) -> Path:
    """Six hundred subscriptions in forty namespaces of a made-up installation, most of them even, a few far from it."""
    count, spaces = 600, 40
    at = np.arange(count)
    share = (at * 7919 % 601 + 1) / 603
    consumers, partitions = 3 + at * 31 % 14, 8 * (1 + at * 17 % 9)
    # As in any fleet: nobody has more than all, and if few have all of it the others are idle.
    uneven = np.minimum(np.round(1.0 - 0.75 * np.log(share) + (at % 3 == 0) * 0.25, 3), consumers)
    idle_at_most = consumers - np.ceil(consumers / uneven).astype(int)
    rate = np.round(40.0 / (((at * 5557 % 601) + 1) / 603) ** 0.8, 1)
    teams = np.array(["retail/orders", "retail/stock", "bank/ledger", "bank/cards", "fleet/tracks"])
    names = np.array(["billing", "shipping", "search-index", "fraud-check", "audit", "export", "mailer", "invoices"])
    space = np.char.add(np.char.add(teams[at % 5], "-"), (at % spaces // 5 + 1).astype(str))
    keyed = at % 6 == 5
    result = np.where(uneven > 2.2, 1 + at % 3, at % 11 == 0).astype(int)
    worst = np.where(uneven > 3.2, "error", np.where(uneven > 2.2, "warning", "info"))
    columns = {
        "cluster": pa.array([""] * count), "namespace": pa.array(space),
        "subscription": pa.array(np.char.add(np.char.add(names[at * 13 % 8], "-"), (at // spaces + 1).astype(str))),
        "type": pa.array(np.where(keyed, "Key_Shared", "Failover")),
        "policy": pa.array(np.where(keyed, "auto_split", "flag_on")),
        "partitions": pa.array(partitions), "consumers": pa.array(consumers),
        "idle": pa.array(np.clip((uneven - 1.6) * consumers / 4, 0, idle_at_most).astype(int)),
        "busiest_over_average_rate": pa.array(np.round(uneven * (1.0 + at % 7 / 10), 3), mask=at % 29 == 7),
        "moved": pa.array(at * 0), "least_moved": pa.array(at * 0), "verdict": pa.nulls(count, pa.string()),
        "findings": pa.array(result), "worst_severity": pa.array(worst, mask=result == 0),
        "msg_rate_out": pa.array(rate), "msg_backlog_entries": pa.array(at * 977 % 4_001 * (at % 4 == 0)),
        "busiest_over_average": pa.array(uneven, mask=at % 29 == 7), "lists": pa.array(1 + (at % 37 == 3)),
        "spare_msg_rate": pa.array(np.round(rate * (1.0 - 1.0 / uneven), 1)),
        "worst_topic": pa.nulls(count, pa.string()), "worst_consumers": pa.nulls(count, pa.int64()),
        "worst_active": pa.nulls(count, pa.int64()),
        "msg_rate_out_unknown": pa.array(at * 0), "msg_backlog_entries_unknown": pa.array(at * 0),
        "improvable": pa.array(uneven > 1.0),
    }  # fmt: skip
    table = pa.table(columns).cast(schemas.WORST_SUBSCRIPTIONS.arrow)
    table = table.sort_by([("busiest_over_average", "descending"), ("idle", "descending")])
    fleet_results.put_table(folder, schemas.WORST_SUBSCRIPTIONS.name, table)
    write(folder, schemas.WORST_NAMESPACES, [
        (name, 900, 15, 12.0, 34.0, 1.0, 1.0, 0, 16, 0, 2.0, "billing-1", 1, 2, "warning", 50, 0, *WHOLE)
        for name in sorted(set(space.tolist()))
    ])  # fmt: skip
    severities = {word: int(result[worst == word].sum()) for word in ("error", "warning", "info")}
    summary = FleetSummary(
        VERSION, ("import", "assign", "keys", "bundles", "lint"),
        FleetTotals(topics=21_380, namespaces=spaces, subscriptions=count * 36, subscription_names=count,
                    consumers=5_712, brokers=12, bundles=640, msg_rate_in=float(rate.sum()) / 2,
                    msg_rate_out=float(rate.sum())),
        (PolicyTotals("flag_on", True, int(partitions.sum()), 0, 0, 0, float(uneven.max())),), (), (), (), (),
        tuple(FindingCount("failover-names-collide", word, number) for word, number in severities.items()),
        (QuarantineCount("import", "topics", "bad", 3, 3), QuarantineCount("import", "topics", "superseded", 410, 9)),
        {},
    )  # fmt: skip
    fleet_results.put_document(folder, FILE_NAME, summary_text(summary))
    return folder


def large_result(folder: Path, rows: int) -> Path:
    """So many subscriptions in a thousand namespaces, uneven in another way each; the same numbers every time."""
    at = np.arange(rows)
    uneven = 1.0 + (at * 7919 % 100_003) / 5_000.0
    columns = {
        "cluster": pa.array([""] * rows),
        "namespace": pa.array(np.char.add("tenant/ns-", (at % 1000).astype(str))),
        "subscription": pa.array(np.char.add("sub-", at.astype(str))),
        "type": pa.array(["Failover"] * rows),
        "policy": pa.array(["flag_off"] * rows),
        "partitions": pa.array(at % 97 + 1),
        "consumers": pa.array(at % 13 + 1),
        "idle": pa.array(at % 5),
        "busiest_over_average_rate": pa.array(uneven * 1.5),
        "moved": pa.array(at * 0), "least_moved": pa.array(at * 0),
        "verdict": pa.nulls(rows, pa.string()), "findings": pa.array(at % 3),
        "worst_severity": pa.nulls(rows, pa.string()),
        "msg_rate_out": pa.array(at * 31 % 10_007 / 8.0), "msg_backlog_entries": pa.array(at * 13 % 1_009),
        "busiest_over_average": pa.array(uneven, mask=at % 11 == 0), "lists": pa.array(at * 0 + 1),
        "spare_msg_rate": pa.array(at * 0.0),
        "worst_topic": pa.nulls(rows, pa.string()), "worst_consumers": pa.nulls(rows, pa.int64()),
        "worst_active": pa.nulls(rows, pa.int64()),
        "msg_rate_out_unknown": pa.array(at * 0), "msg_backlog_entries_unknown": pa.array(at * 0),
        "improvable": pa.array(uneven > 1.0),
    }  # fmt: skip
    table = pa.table(columns).cast(schemas.WORST_SUBSCRIPTIONS.arrow)
    fleet_results.put_table(folder, "worst_subscriptions", table)
    write(folder, schemas.WORST_NAMESPACES, [])
    return folder


def with_brokers(folder: Path) -> Path:
    """A result with a forecast of two clusters, one of them in the top folder; of one broker no usage is known."""
    rows = [
        ("eu", "eu-1.example.org:8080", 0.93, 0.71, "cpu", 40, 34, 900, 12_000.0, 9e6, 2, 6, 0, 140, 0, "sheds",
         "usage-average", 0.93, 0.85, "ThresholdShedder"),
        ("", "b-1:8080", 0.62, 0.62, "bandwidth_in", 8, 8, 90, 300.0, 2e5, 0, 0, 0, 0, 0, "one-broker", None, None,
         None, "ThresholdShedder"),
        ("eu", "eu-2.example.org:8080", 0.31, 0.48, "memory", 22, 28, 500, 4_000.0, 3e6, 0, 0, 6, 0, 3,
         "below-threshold", "usage-average", 0.31, 0.85, "ThresholdShedder"),
        ("us", "us-1:8080", None, None, None, 3, 3, 12, 0.0, 0.0, 0, 0, 0, 0, 0, "no-forecast", None, None, None,
         ""),
    ]  # fmt: skip
    write_clusters(folder, schemas.BALANCE_BROKERS, rows)
    return folder
