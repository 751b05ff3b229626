"""The job ``bundles`` with DuckDB, and with Arrow in one process, in Spark's place; judging and cutting are the job's.

Where a row has to go is all that differs: a join and a sort in DuckDB, the same in Arrow, or Spark's tasks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

from pipeline.batches import whole_groups
from pipeline.jobs.bundle_tasks import WRITTEN, BundleTask
from pipeline.jobs.bundling import plan_of, settings_of
from pipeline.pieces import pieces_of
from pipeline.stamps import Stamp
from pipeline.topic_blocks import READ, Share, blocks_of, together
from tests.bench_spark.comparing import check_same

_ROWS_TOGETHER: Final = 1 << 18


def _task(source: Path, target: Path) -> BundleTask:
    for table in WRITTEN:
        (target / table.name).mkdir(parents=True, exist_ok=True)
        for part in (target / table.name).iterdir():
            part.unlink()
    return BundleTask(plan_of(source, settings_of(source, {}), target, Stamp()), 0)


def by_duckdb(source: Path, target: Path, threads: int) -> None:
    """Joins, sorts and reads with so many threads."""
    task = _task(source, target)
    with duckdb.connect() as engine:
        engine.execute(f"set threads = {threads}")
        rows = engine.sql(
            f"""select t.topic, t.namespace, t.namespace || '/' || bundle as told_bundle, broker, true as has_stats,
                       publishers, coalesce(c.consumers, 0)::bigint as consumers, msg_rate_in, t.msg_rate_out,
                       msg_throughput_in, t.msg_throughput_out
                from '{source}/topics/*.parquet' t
                left join (select topic, sum(consumers) as consumers from '{source}/subscriptions/*.parquet'
                           group by topic) c on c.topic = t.topic
                order by t.namespace, t.topic"""
        )
        task.run(whole_groups(rows.to_arrow_reader(_ROWS_TOGETHER), ("namespace",)))


def by_arrow(source: Path, target: Path) -> None:
    """One process, everything in memory."""
    shares = [Share(table.name, tuple(pieces_of(table, source))) for table in READ]
    blocks = (block for share in shares for _, block in blocks_of(share, 1))
    _task(source, target).run(together(blocks))


def check_equal(ours: Path, peer: Path) -> int:
    """Every table holds the same rows; gives the number of topics."""
    counts = [
        check_same(table.name, ", ".join(table.names), *(f"'{each}/{table.name}/*.parquet'" for each in (ours, peer)))
        for table in WRITTEN
    ]
    return counts[0]
