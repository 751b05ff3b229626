"""Bundles in tasks: whole namespaces come from Spark sorted by topic, and every table is written where it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.config import BrokerSettings
from engine.fleet.hashing import crc32_bulk
from pipeline.batches import byte_column, codes_of, whole_groups
from pipeline.bundling import Bundles, Topics
from pipeline.reading.rows import Row
from pipeline.schemas import (
    BUNDLE_CHILDREN,
    BUNDLE_LOADS,
    BUNDLE_SPLITS,
    BUNDLE_TOPICS,
    OCCUPANCY,
)
from pipeline.writing import PartWriter

WRITTEN: Final = (BUNDLE_TOPICS, BUNDLE_LOADS, BUNDLE_SPLITS, BUNDLE_CHILDREN, OCCUPANCY)
_LOADS: Final = ("publishers", "consumers", "msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")


class BundleAccount(msgspec.Struct):
    """What one task did; ``brokers``: bundles, topics and the six loads by owner ("" for none)."""

    parts: dict[str, list[str]] = {}
    rows: int = 0
    nowhere: int = 0
    elsewhere: int = 0
    namespaces: list[str] = []
    brokers: dict[str, list[float]] = {}
    outcomes: dict[str, int] = {}


@dataclass(frozen=True)
class BundlePlan:
    """What a task needs beside its rows: boundary lists by namespace, owners by full bundle name, the settings."""

    boundaries: Mapping[str, Sequence[int]]
    owners: Mapping[str, str]
    visiting: Sequence[str]
    settings: BrokerSettings
    folder: str


def bundler(plan: BundlePlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function the tasks run: topics sorted by namespace in, one account out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # noqa: PLC0415

        context = TaskContext.get()
        task = BundleTask(plan, context.partitionId() if context is not None else 0)
        account = task.run(whole_groups(batches, ("namespace",)))
        yield pa.RecordBatch.from_pydict({"account": [msgspec.msgpack.encode(account)]})

    return run


@dataclass
class BundleTask:
    """One task, or the driver for namespaces without a topic."""

    plan: BundlePlan
    number: int
    account: BundleAccount = field(default_factory=BundleAccount)

    def __post_init__(self) -> None:
        folder = self.plan.folder
        self._writers = {table.name: PartWriter(table, f"{folder}/{table.name}", self.number) for table in WRITTEN}

    def run(self, tables: Iterator[Any]) -> BundleAccount:
        """Take every table, then close the parts; a failure leaves none behind."""
        try:
            for table in tables:
                self.take(table)
            self.account.parts = {name: [part] for name, one in self._writers.items() if (part := one.close())}
        except BaseException:
            for writer in self._writers.values():
                writer.discard()
            raise
        return self.account

    def take(self, table: Any) -> None:
        """Some whole namespaces."""
        names, numbers = codes_of(table["namespace"])
        topics = Topics(
            numbers,
            crc32_bulk(byte_column(table["topic"])),
            np.asarray(table["has_stats"]).astype(bool),
            np.array([np.asarray(table[name]).astype(np.float64) for name in _LOADS]),
        )
        self.account.namespaces += names
        self.judge(names, topics, table)

    def judge(self, names: Sequence[str], topics: Topics, table: Any | None) -> None:
        """Bundles of some namespaces; ``table`` None where they have no topic."""
        plan = self.plan
        boundaries = [plan.boundaries.get(name, ()) for name in names]
        bundles = Bundles(names, boundaries, topics, plan.settings, plan.owners, plan.visiting)
        full = bundles.full_names()
        if table is not None:
            bundles.owners = {**self._told_owners(table, bundles, full), **plan.owners}
            self._write_topics(table, topics, bundles, full)
        loads = bundles.load_rows()
        splits, children = bundles.split_rows()
        for written, rows in (
            (BUNDLE_LOADS, loads), (BUNDLE_SPLITS, splits), (BUNDLE_CHILDREN, children),
            (OCCUPANCY, bundles.occupancy_rows()),
        ):  # fmt: skip
            self._writers[written.name].write(written.columns_of(rows))
        self._count(loads)

    def _told_owners(self, table: Any, bundles: Bundles, full: Sequence[str]) -> dict[str, str]:
        """Owners by whose statistics list the topics, for bundles no load report names."""
        brokers = table["broker"].to_pylist()
        told: dict[str, str] = {}
        for place, broker in zip(bundles.bundle.tolist(), brokers, strict=True):
            if broker is not None and place >= 0:
                told[full[place]] = broker
        return told

    def _write_topics(self, table: Any, topics: Topics, bundles: Bundles, full: Sequence[str]) -> None:
        names = pa.array([*full, None], pa.string())
        places = np.where(bundles.bundle < 0, len(full), bundles.bundle)
        columns = {"hash": pa.array(topics.hashes), "bundle": names.take(pa.array(places))}
        self.account.rows += len(places)
        self.account.nowhere += int((bundles.bundle < 0).sum())
        differ = pc.not_equal(columns["bundle"], table["told_bundle"])
        self.account.elsewhere += pc.sum(differ).as_py() or 0
        arrays = [columns[name] if name in columns else table[name] for name in BUNDLE_TOPICS.names]
        self._writers[BUNDLE_TOPICS.name].write(pa.Table.from_arrays(arrays, names=list(BUNDLE_TOPICS.names)))

    def _count(self, loads: Sequence[Row]) -> None:
        for row in loads:
            sums = self.account.brokers.setdefault(row[4] or "", [0.0] * 8)
            for place, value in enumerate((1, *row[5:6], *row[7:13])):
                sums[place] += value
            outcome = str(row[13])
            self.account.outcomes[outcome] = self.account.outcomes.get(outcome, 0) + 1
