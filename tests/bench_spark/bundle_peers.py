"""The job ``bundles`` with DuckDB, and with Arrow in one process, in Spark's place; judging and cutting are the job's.

Where a row has to go is all that differs: a join and a sort in DuckDB, the same in Arrow, or Spark's shuffle.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from pipeline.broker_groups import settings_of
from pipeline.sink import Parts
from pipeline.stamps import Stamp
from pipeline.transforms.bundles import WRITTEN, BundleWork
from tests.bench_spark.comparing import check_same

_ROWS_TOGETHER: Final = 1 << 18


def _work(source: Path, target: Path, batches: Iterator[Any]) -> None:
    for table in WRITTEN:
        shutil.rmtree(target / table.name, ignore_errors=True)
        (target / table.name).mkdir(parents=True)
    parts = Parts(target, Stamp(), 0)
    BundleWork((), settings_of(source, {}))(batches, parts)
    parts.close()


def _sql(source: Path) -> str:
    """Topics with their consumers, and before those of each namespace its boundaries, as the job has them."""
    return f"""
        with known as (select namespace, list_append(list(lower order by lower), max(upper)) as boundaries
                       from '{source}/bundles/*.parquet' group by namespace)
        select t.namespace, t.topic, t.namespace || '/' || bundle as told_bundle, broker, true as has_stats,
               publishers::bigint as publishers, coalesce(c.consumers, 0)::bigint as consumers, msg_rate_in,
               t.msg_rate_out, msg_throughput_in, t.msg_throughput_out, null::bigint[] as boundaries,
               null::struct(bundle varchar, broker varchar)[] as owners
        from '{source}/topics/*.parquet' t
        left join (select topic, sum(consumers) as consumers from '{source}/subscriptions/*.parquet'
                   group by topic) c on c.topic = t.topic
        union all
        select namespace, null, null, null, false, 0, 0, 0, 0, 0, 0, boundaries, null from known
        order by namespace, topic nulls first"""


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
        check_same(table.name, ", ".join(table.names), *(f"'{each}/{table.name}/*.parquet'" for each in (ours, peer)))
        for table in WRITTEN
    ]
    return counts[0]
