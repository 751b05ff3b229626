"""The job ``bundles`` with DuckDB, and with Arrow in one process, in Spark's place; judging and cutting are the job's.

Where a row has to go is all that differs: a sort in DuckDB, the same in Arrow, or Spark's shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from engine.config import CURRENT
from engine.views.fleet.runs import Manifest
from pipeline.clusters import reported
from pipeline.runs import new_run
from pipeline.stamps import new_run_id
from pipeline.tables import tables_at
from pipeline.transforms.bundles import WRITTEN, Brokers, BundleWork
from tests import fleet_results
from tests.bench_spark.comparing import check_same

_ROWS_TOGETHER: Final = 1 << 18


def _work(source: Path, target: Path, batches: Iterator[Any]) -> None:
    known = reported(tables_at(source))
    brokers = known.each(lambda own, cluster: Brokers({}, own.settings_of(cluster, {}, CURRENT), CURRENT))
    with new_run(target, "peer", Manifest(new_run_id()), alone=True, keep=1) as draft, draft.writer() as parts:
        BundleWork(brokers)(batches, parts)


def _sql(source: Path) -> str:
    """Topics, and before those of each namespace its bundles, as the job has them."""
    return f"""
        select cluster, namespace, topic, true as has_stats, bundle, broker, publishers, consumers, msg_rate_in,
               msg_rate_out, msg_throughput_in, msg_throughput_out, null::bigint as lower, null::bigint as upper
        from {fleet_results.sql(source, "topics")}
        union all by name
        select cluster, namespace, lower, upper from {fleet_results.sql(source, "bundles")}
        order by cluster, namespace, topic nulls first"""


def by_duckdb(source: Path, target: Path, threads: int) -> None:
    """Joins, sorts and reads with so many threads."""
    with duckdb.connect() as engine:
        engine.execute(f"set threads = {threads}")
        _work(source, target, iter(engine.sql(_sql(source)).to_arrow_reader(_ROWS_TOGETHER)))


def by_arrow(source: Path, target: Path) -> None:
    """One process, one thread, everything in memory."""
    with duckdb.connect() as engine:
        engine.execute("set threads = 1")
        table = pa.Table.from_batches([*engine.sql(_sql(source)).to_arrow_reader(_ROWS_TOGETHER)])
    _work(source, target, iter(table.to_batches(max_chunksize=_ROWS_TOGETHER)))


def check_equal(ours: Path, peer: Path) -> int:
    """Every table holds the same rows; gives the number of topics."""
    counts = [
        check_same(table.name, ", ".join(table.names), *(fleet_results.sql(each, table.name) for each in (ours, peer)))
        for table in WRITTEN
    ]
    return counts[0]
