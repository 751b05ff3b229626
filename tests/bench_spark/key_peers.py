"""The job ``keys`` done by DuckDB with the engine's own kernels: Murmur3 of each key, its slots, who owns which slot.

That groups, folds and ranks exactly, and gives the loads of every consumer in every mode that the job judges. What the
job tells besides, the spread by chance and keys that nothing separates, comes from its folded slots and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from engine.bulk_hashing import murmur3_bulk
from engine.config import CURRENT, BrokerSettings
from engine.keyshared.bulk import slots_bulk
from engine.keyshared.model import Consumer, Selector, SlotSpace
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.policies import KeyPolicy, selector_of
from engine.views.fleet.tables import HOT_KEYS, KEY_SLOTS
from pipeline.batches import byte_column
from pipeline.jobs.keys_judging import space_words
from tests import fleet_results
from tests.bench_spark.comparing import check_same
from tests.bench_spark.synthetic import key_consumer_lists

HOTTEST: Final = 20
"""Hot keys of each subscription."""
_LOADS: Final = "cluster, subscription, policy, consumer, keys, msgs"


def by_duckdb(source: Path, target: Path, threads: int) -> None:
    """Three tables from ``source/traces``: slots, loads and hot keys. The cluster of a trace has no name."""
    selectors = list(_selectors())
    spaces = dict.fromkeys(selector.slots for _, _, selector in selectors)
    connection: Any = duckdb.connect()
    with connection as engine:
        engine.execute(f"set threads = {threads}")
        engine.execute("set preserve_insertion_order = false")
        engine.create_function("key_hash", _hashes, ["VARCHAR"], "BIGINT", type="arrow")
        engine.execute(
            f"""create temp table keys as select *, key_hash(key) as hash from (
              select '' as cluster, namespace, subscription, key, count(*) as rows, sum(count)::bigint as msgs
              from '{source}/traces/*.parquet' group by all)"""
        )
        folds = []
        for number, space in enumerate(spaces):
            engine.create_function(f"slot_{number}", _slots_in(space), ["BIGINT"], "BIGINT", type="arrow")
            folds.append(
                f"""select cluster, namespace, subscription, '{space_words(space)}' as slot_space,
                           slot_{number}(hash) as slot,
                           count(*) as keys, sum(rows)::bigint as rows, sum(msgs)::bigint as msgs
                    from keys group by all"""
            )
        engine.execute(f"create temp table slots as {' union all '.join(folds)}")
        engine.register("owners", _owners(selectors))
        _write(engine, "slots", target / "slots.parquet")
        _write(
            engine,
            """(select cluster, o.subscription, o.policy, consumer, sum(keys)::bigint as keys, sum(msgs)::bigint as msgs
                from (select * from slots join (select distinct policy, slot_space from owners) using (slot_space)) s
                asof join owners o on s.subscription = o.subscription and s.policy = o.policy and s.slot >= o.start
                group by all)""",
            target / "loads.parquet",
        )
        _write(
            engine,
            f"""(select cluster, namespace, subscription, rank, key, hash, msgs, msgs / whole as share,
                        whole // msgs as even_up_to
                 from (select *, row_number() over (partition by subscription order by msgs desc, key)::int as rank,
                              (sum(msgs) over (partition by subscription))::bigint as whole from keys)
                 where rank <= {HOTTEST})""",
            target / "hottest.parquet",
        )


def _write(engine: Any, rows: str, path: Path) -> None:
    engine.execute(f"copy (from {rows}) to '{path}' (format parquet, compression zstd)")


def _hashes(keys: Any) -> Any:
    return pa.array(murmur3_bulk(byte_column(keys)))


def _slots_in(space: SlotSpace) -> Any:
    return lambda hashes: pa.array(slots_bulk(hashes.to_numpy(), space))


def _selectors() -> Iterator[tuple[str, KeyPolicy, Selector]]:
    for subscription, names in key_consumer_lists().items():
        consumers = [Consumer(place, name) for place, name in enumerate(names)]
        for policy in KeyPolicy:
            selector = selector_of(policy, consumers, BrokerSettings(), CURRENT)
            assert not isinstance(selector, str), selector
            if selector is not None:  # sticky: nobody has declared anything
                yield subscription, policy, selector


def _owners(selectors: list[tuple[str, KeyPolicy, Selector]]) -> Any:
    """One row for each range of slots: every slot has an owner in these modes, so where a range begins is enough."""
    rows = [
        (subscription, policy.value, space_words(selector.slots), selector.consumers[owner].name, piece.range.start)
        for subscription, policy, selector in selectors
        for owner, pieces in slots_by_consumer(selector).items()
        for piece in pieces
    ]
    names = ["subscription", "policy", "slot_space", "consumer", "start"]
    return pa.Table.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], names=names)


def check_equal(ours: Path, peer: Path) -> int:
    """Slots, loads and hot keys agree; gives the number of rows compared."""
    loads = f"(select {_LOADS} from {fleet_results.sql(ours, 'key_loads')} where keys > 0)"
    return (
        check_same("slots", ", ".join(KEY_SLOTS.names), fleet_results.sql(ours, "key_slots"), f"'{peer}/slots.parquet'")
        + check_same("loads", _LOADS, loads, f"'{peer}/loads.parquet'")
        + check_same(
            "hot keys", ", ".join(HOT_KEYS.names), fleet_results.sql(ours, "hot_keys"), f"'{peer}/hottest.parquet'"
        )
    )
