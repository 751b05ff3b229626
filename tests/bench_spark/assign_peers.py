"""The job ``assign`` under Pulsar's two rules, done by DuckDB and by plain numpy: the same rows from the same Parquet.

The flag is off, so modulo says who is active now, and the ring moves what it gives to another consumer.

Both use the engine's own kernels, as the tasks of the job do: what is compared is the way around them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk_ring import assign_modulo, cohorts, rings_of
from engine.views.fleet.tables import ASSIGNMENTS
from pipeline.batches import byte_column
from tests import fleet_results
from tests.bench_spark.comparing import check_same
from tests.bench_spark.synthetic import cluster_of, consumer_lists

_LOAD_COLUMNS: Final = "cluster, subscription, policy, active_consumer, partitions, rate"
_LOADS: Final = """select cluster, subscription, policy, active_consumer, count(*) as partitions,
                          sum(msg_rate_out) as rate
                   from (unpivot {rows} on flag_off, flag_on into name policy value active_consumer) group by all"""


class Rules:
    """Modulo and ring of every subscription of the made-up fleet; consumers are numbered through."""

    def __init__(self) -> None:
        lists = consumer_lists()
        self.made = cohorts(lists)
        self.rings = rings_of(self.made, lists)
        self.start = np.cumsum([0, *map(len, lists)])
        self.names = [name for each in lists for name in each]
        self.number = {f"subscription-{at}": at for at in range(len(lists))}

    def both(self, unit: Any, topics: Any, index: Any) -> Any:
        """Two consumers a partition, packed into one number: ring << 32 | modulo."""
        hashes = murmur3_bulk(byte_column(topics))
        modulo = assign_modulo(self.made, unit, index) + self.start[unit]
        return (self.rings.look_up(unit, hashes) + self.start[unit]) << 32 | modulo


def by_duckdb(source: Path, target: Path, threads: int) -> None:
    """Rows and loads; the rows are summed from what was written, as reading two columns back is the cheapest way."""
    rules = Rules()

    def both(unit: Any, topics: Any, index: Any) -> Any:
        return pa.array(rules.both(unit.to_numpy(), topics, index.to_numpy()))

    consumers = pa.table({"nr": np.arange(len(rules.names)), "name": rules.names})
    units = pa.table(
        {"subscription": list(rules.number), "unit": list(rules.number.values()), "start": rules.start[:-1]}
    )
    connection: Any = duckdb.connect()
    with connection as engine:
        engine.execute(f"set threads = {threads}")
        engine.execute("set preserve_insertion_order = false")
        engine.create_function("two_owners", both, ["BIGINT", "VARCHAR", "BIGINT"], "BIGINT", type="arrow")
        engine.register("consumers", consumers)
        engine.register("units", units)
        engine.execute(
            f"""copy (
              with owned as (
                select s.*, start, two_owners(unit, topic, partition_index::bigint) as packed
                from {fleet_results.sql(source, "subscriptions")} s
                join units using (subscription) where type = 'Failover'),
              named as (
                select owned.*, ring.name as flag_on, now.name as flag_off, ring.nr != now.nr as moved,
                       (ring.nr - start)::int as ringed, (now.nr - start)::int as place
                from owned join consumers ring on ring.nr = packed >> 32
                join consumers now on now.nr = packed & 4294967295)
              select cluster, subscription, topic, namespace, partition_index, consumer_set, reported_active_consumer,
                     flag_off as active_before, place as position_before,
                     flag_off, place as flag_off_position, 'modulo' as flag_off_rule, false as flag_off_moved,
                     flag_on, ringed as flag_on_position, 'ring' as flag_on_rule, moved as flag_on_moved,
                     msg_rate_out, msg_throughput_out
              from named) to '{target}/assignments.parquet' (format parquet, compression zstd)"""
        )
        loads = _LOADS.format(rows=f"'{target}/assignments.parquet'")
        engine.execute(f"copy ({loads}) to '{target}/loads.parquet' (format parquet, compression zstd)")


def by_numpy(source: Path, target: Path) -> None:
    """One process, one thread, part by part; sums while writing."""
    rules = Rules()
    counts, rates = np.zeros((2, len(rules.names))), np.zeros((2, len(rules.names)))
    names = pa.array(rules.names)
    few = list(ASSIGNMENTS.few or ())
    writer = None
    for part in fleet_results.parts(source, "subscriptions"):
        file = pq.ParquetFile(part, read_dictionary=["cluster", "subscription", "namespace"])
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False).combine_chunks()
            result = table["subscription"].chunk(0)
            unit = np.array([rules.number[name] for name in result.dictionary.to_pylist()])[result.indices.to_numpy()]
            packed = rules.both(unit, table["topic"], table["partition_index"].to_numpy().astype(np.int64))
            now = packed & 0xFFFFFFFF
            before = names.take(pa.array(now)).dictionary_encode()
            ring = packed >> 32
            for at, owner in enumerate((now, ring)):
                counts[at] += np.bincount(owner, minlength=len(names))
                rates[at] += np.bincount(owner, table["msg_rate_out"].to_numpy(), minlength=len(names))
            owners = (before, names.take(pa.array(ring)).dictionary_encode())
            rows = _rows(table, owners, (now - rules.start[unit], ring - rules.start[unit]), ring != now)
            if writer is None:
                path = target / "assignments.parquet"
                writer = pq.ParquetWriter(path, rows.schema, compression="zstd", use_dictionary=few)
            writer.write_table(rows)
    assert writer is not None, "there was nothing to assign"
    writer.close()
    held = [(at, nr) for at in (0, 1) for nr in np.flatnonzero(counts[at]).tolist()]
    whose = np.repeat(np.arange(len(rules.start) - 1), np.diff(rules.start))
    loads = {
        "cluster": [cluster_of(whose[nr]) for _, nr in held],
        "subscription": [f"subscription-{whose[nr]}" for _, nr in held],
        "policy": [("flag_off", "flag_on")[at] for at, _ in held],
        "active_consumer": [rules.names[nr] for _, nr in held],
        "partitions": [int(counts[at, nr]) for at, nr in held],
        "rate": [float(rates[at, nr]) for at, nr in held],
    }
    pq.write_table(pa.table(loads), target / "loads.parquet")


def _rows(table: Any, owners: tuple[Any, Any], places: tuple[Any, Any], moved: Any) -> Any:
    count = table.num_rows
    columns = {"active_before": owners[0], "position_before": pa.array(places[0].astype(np.int32))}
    for at, (policy, rule) in enumerate((("flag_off", "modulo"), ("flag_on", "ring"))):
        columns[policy] = owners[at]
        columns[f"{policy}_position"] = pa.array(places[at].astype(np.int32))
        columns[f"{policy}_rule"] = pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), pa.array([rule]))
        columns[f"{policy}_moved"] = pa.array(moved if at else np.zeros(count, dtype=bool))
    arrays = [columns[name] if name in columns else table[name] for name in ASSIGNMENTS.names]
    return pa.Table.from_arrays(arrays, names=list(ASSIGNMENTS.names))


def check_equal(ours: Path, peer: Path) -> int:
    """Both wrote the same rows and the same loads; gives the number of rows."""
    count = check_same(
        "the rows",
        ", ".join(ASSIGNMENTS.names),
        fleet_results.sql(ours, "assignments"),
        f"'{peer}/assignments.parquet'",
    )
    loads = f"""(select cluster, subscription, policy, consumer as active_consumer, partitions, msg_rate_out as rate
                 from {fleet_results.sql(ours, "consumer_loads")} where partitions > 0)"""
    check_same("the loads", _LOAD_COLUMNS, loads, f"'{peer}/loads.parquet'")
    return count
