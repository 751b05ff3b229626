"""Result folders of fleets as the jobs write them, small or with as many rows as wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import schemas
from pipeline.schemas import Table

NAMESPACE = "shop/orders"
NAMES = ("billing-0", "billing-1", "billing-2")


def write(folder: Path, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """One table of one part."""
    (folder / table.name).mkdir(parents=True)
    pq.write_table(table.columns_of(rows), folder / table.name / "part-0.parquet")


def small_result(folder: Path) -> Path:
    """Two namespaces: a Failover subscription of 12 partitions and a topic without, a Key_Shared one, a Shared one."""
    topics = [(f"persistent://{NAMESPACE}/order-{at // 4}-partition-{at % 4}", at // 4, at % 4) for at in range(12)]
    rows, loads = [], []
    for name, parent, index in topics:
        whole = f"persistent://{NAMESPACE}/order-{parent}"
        rows.append(("billing", name, NAMESPACE, whole, index, "Failover", 3, 1, None, 1.0, 9.0, 5, 2, "a.json"))
        loads.append((name, "persistent", NAMESPACE, whole, index, None, "b", 2.0 + index, 1.0, 200.0, 100.0, 0, 0, 1,
                      "stats", "a.json"))  # fmt: skip
    alone, keyed, shared = (f"persistent://{NAMESPACE}/{local}" for local in ("alone", "keyed", "shared"))
    rows.append(("billing", alone, NAMESPACE, alone, -1, "Failover", 3, 1, None, 1.0, 9.0, 5, 2, "a.json"))
    rows.append(("orders", keyed, NAMESPACE, keyed, -1, "Key_Shared", 2, 2, None, 1.0, 9.0, 5, 2, "a.json"))
    rows.append(("loose", shared, "shop/loose", shared, -1, "Shared", 2, 2, None, 1.0, 9.0, 5, 2, "a.json"))
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
        [(NAMESPACE, "billing", "Failover", "flag_on", 13, 3, 0, 2.5, 2.75, 4, 1, None, 2, "warning", 13.0, 65),
         (NAMESPACE, "orders", "Key_Shared", "consistent-auto-split", 1, 2, 0, 1.25, None, 0, 0, "CHANCE", 0, None, 1.0, 5),
         ("shop/loose", "loose", "Shared", "none", 1, 2, 0, None, None, 0, 0, None, 1, "info", 1.0, 5)],
    )  # fmt: skip
    write(
        folder, schemas.WORST_NAMESPACES,
        [(NAMESPACE, 14, 2, 40.0, 14.0, 4e3, 2e3, 0, 2, 1, 2.5, "billing", 0, 2, "warning"),
         ("shop/loose", 1, 1, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, None, None, 0, 1, "info")],
    )  # fmt: skip
    return folder


def large_result(folder: Path, rows: int) -> Path:
    """So many subscriptions in a thousand namespaces, uneven in another way each; the same numbers every time."""
    at = np.arange(rows)
    uneven = 1.0 + (at * 7919 % 100_003) / 5_000.0
    columns = {
        "namespace": pa.array(np.char.add("tenant/ns-", (at % 1000).astype(str))),
        "subscription": pa.array(np.char.add("sub-", at.astype(str))),
        "type": pa.array(["Failover"] * rows),
        "policy": pa.array(["flag_off"] * rows),
        "partitions": pa.array(at % 97 + 1),
        "consumers": pa.array(at % 13 + 1),
        "idle": pa.array(at % 5),
        "max_over_mean": pa.array(uneven, mask=at % 11 == 0),
        "max_over_mean_rate": pa.array(uneven * 1.5),
        "moved": pa.array(at * 0), "least_moved": pa.array(at * 0),
        "verdict": pa.nulls(rows, pa.string()), "findings": pa.array(at % 3),
        "worst_severity": pa.nulls(rows, pa.string()),
        "msg_rate_out": pa.array(at * 31 % 10_007 / 8.0), "msg_backlog_entries": pa.array(at * 13 % 1_009),
    }  # fmt: skip
    (folder / "worst_subscriptions").mkdir(parents=True)
    table = pa.table(columns).cast(schemas.WORST_SUBSCRIPTIONS.arrow)
    pq.write_table(table, folder / "worst_subscriptions" / "part-0.parquet")
    write(folder, schemas.WORST_NAMESPACES, [])
    return folder
