"""Bundles in tasks: some read and send topics on, the others judge whole namespaces and write every table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.bulk_hashing import crc32_bulk
from engine.config import BrokerSettings
from pipeline.batches import codes_of
from pipeline.bundling import Bundles, Topics
from pipeline.schemas import (
    BUNDLE_CHILDREN,
    BUNDLE_LOADS,
    BUNDLE_SPLITS,
    BUNDLE_TOPICS,
    OCCUPANCY,
)
from pipeline.stamps import Stamp
from pipeline.storage import Place
from pipeline.topic_blocks import Share, blocks_of, together
from pipeline.writing import PartWriter

WRITTEN: Final = (BUNDLE_TOPICS, BUNDLE_LOADS, BUNDLE_SPLITS, BUNDLE_CHILDREN, OCCUPANCY)
_LOADS: Final = ("publishers", "consumers", "msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")


_LOADED: Final = ("producers", *_LOADS[1:])


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
    folder: Place
    stamp: Stamp


def sender(shares: Sequence[Share], parts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of the reading tasks: numbers of shares in, blocks of whole parts out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part, block in blocks_of(shares[number], parts):
                    columns = [pa.array([part], pa.int32()), pa.array([block], pa.binary())]
                    yield pa.RecordBatch.from_arrays(columns, ["part", "block"])

    return run


def bundler(plan: BundlePlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of the judging tasks: all blocks of some parts in, one account out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # noqa: PLC0415

        context = TaskContext.get()
        blocks = (block for batch in batches for block in batch.column(1).to_pylist())
        account = bundles_of_blocks(plan, blocks, context.partitionId() if context is not None else 0)
        yield pa.RecordBatch.from_pydict({"account": [account]})

    return run


def bundles_of_blocks(plan: BundlePlan, blocks: Iterable[bytes], number: int) -> bytes:
    """One judging task; an account as MessagePack."""
    return msgspec.msgpack.encode(BundleTask(plan, number).run(together(blocks)))


@dataclass
class BundleTask:
    """One task, or the driver for namespaces without a topic."""

    plan: BundlePlan
    number: int
    account: BundleAccount = field(default_factory=BundleAccount)

    def __post_init__(self) -> None:
        folder = self.plan.folder
        self._writers = {
            table.name: PartWriter(table, folder / table.name, self.number, self.plan.stamp) for table in WRITTEN
        }

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
            crc32_bulk(table["topic"].to_pylist()),
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
        loads = bundles.load_columns(full)
        self._writers[BUNDLE_LOADS.name].write(loads)
        for splits, children in bundles.split_columns(full):
            self._writers[BUNDLE_SPLITS.name].write(splits)
            self._writers[BUNDLE_CHILDREN.name].write(children)
        self._writers[OCCUPANCY.name].write(OCCUPANCY.columns_of(bundles.occupancy_rows()))
        self._count(loads)

    def _told_owners(self, table: Any, bundles: Bundles, full: Any) -> dict[str, str]:
        """Owners by whose statistics list the topics, for bundles no load report names: the last topic's counts."""
        brokers, told = codes_of(table["broker"].fill_null(""))
        known = np.flatnonzero((bundles.bundle >= 0) & (np.array([*map(bool, brokers)], dtype=bool)[told]))
        last = np.full(len(full), -1, dtype=np.int64)
        # Of assignments to one place the last one stays.
        last[bundles.bundle[known]] = told[known]
        owned = np.flatnonzero(last >= 0)
        names = full.take(pa.array(owned)).to_pylist()
        return dict(zip(names, (brokers[at] for at in last[owned].tolist()), strict=True))

    def _write_topics(self, table: Any, topics: Topics, bundles: Bundles, full: Any) -> None:
        places = bundles.bundle
        columns = {"hash": pa.array(topics.hashes), "bundle": full.take(pa.array(places, mask=places < 0))}
        self.account.rows += len(places)
        self.account.nowhere += int((bundles.bundle < 0).sum())
        differ = pc.not_equal(columns["bundle"], table["told_bundle"])
        self.account.elsewhere += pc.sum(differ).as_py() or 0
        arrays = [columns[name] if name in columns else table[name] for name in BUNDLE_TOPICS.names]
        self._writers[BUNDLE_TOPICS.name].write(pa.Table.from_arrays(arrays, names=list(BUNDLE_TOPICS.names)))

    def _count(self, loads: Any) -> None:
        told = zip(*(loads[name].to_pylist() for name in ("broker", "outcome", "topics", *_LOADED)), strict=True)
        for broker, outcome, *values in told:
            sums = self.account.brokers.setdefault(broker or "", [0.0] * 8)
            for place, value in enumerate((1, *values)):
                sums[place] += value
            self.account.outcomes[outcome] = self.account.outcomes.get(outcome, 0) + 1
