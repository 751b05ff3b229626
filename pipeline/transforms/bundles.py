"""The bundles of topics, their loads and where they would be split: the engine's bulk rules over Arrow batches.

The work runs inside a data source (``pipeline.sink``) on rows of ``transforms.bundle_topics``, some whole namespaces at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.bulk_hashing import crc32_bulk
from engine.config import BrokerSettings
from pipeline.batches import codes_of, whole_groups
from pipeline.schemas import BUNDLE_CHILDREN, BUNDLE_LOADS, BUNDLE_SPLITS, BUNDLE_TOPICS, OCCUPANCY
from pipeline.sink import Parts
from pipeline.transforms.bundle_sums import Bundles, Topics

WRITTEN: Final = (BUNDLE_TOPICS, BUNDLE_LOADS, BUNDLE_SPLITS, BUNDLE_CHILDREN, OCCUPANCY)
_LOADS: Final = ("publishers", "consumers", "msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")
_LOADED: Final = ("producers", *_LOADS[1:])


class BundleAccount(msgspec.Struct):
    """What one task counted: topics, those in no bundle (``nowhere``) and those that the broker listed under another
    one (``elsewhere``); ``brokers``: bundles, topics and the six loads by owner ("" for none)."""

    rows: int = 0
    nowhere: int = 0
    elsewhere: int = 0
    brokers: dict[str, list[float]] = {}
    outcomes: dict[str, int] = {}


@dataclass(frozen=True)
class BundleWork:
    """The work of a task; ``visiting``: all brokers in the order in which the load manager visits them."""

    visiting: Sequence[str]
    settings: BrokerSettings

    def __call__(self, batches: Iterator[Any], parts: Parts) -> BundleAccount:
        task = _Task(self, parts)
        for table in whole_groups(batches, ("namespace",)):
            task.take(table)
        return task.account


@dataclass
class _Task:
    work: BundleWork
    parts: Parts

    def __post_init__(self) -> None:
        self.account = BundleAccount()

    def take(self, table: Any) -> None:
        """Write the rows of some whole namespaces."""
        named = pc.is_valid(table["topic"])
        known, rows = table.filter(pc.invert(named)), table.filter(named).combine_chunks()
        namespaces = known.select(["namespace", "boundaries", "owners"]).to_pylist()
        boundaries = {row["namespace"]: row["boundaries"] or () for row in namespaces}
        owners = {entry["bundle"]: entry["broker"] for row in namespaces for entry in row["owners"] or ()}
        # Namespaces without a topic come last; those without a boundary list have no bundles.
        names, numbers = codes_of(rows["namespace"])
        names = [*names, *sorted(boundaries.keys() - set(names))]
        topics = Topics(
            numbers,
            crc32_bulk(rows["topic"].to_pylist()),
            np.asarray(rows["has_stats"]).astype(bool),
            np.array([np.asarray(rows[name]).astype(np.float64) for name in _LOADS]),
        )
        bounds = [boundaries.get(name, ()) for name in names]
        bundles = Bundles(names, bounds, topics, self.work.settings, owners, self.work.visiting)
        full = bundles.full_names()
        bundles.owners = {**_owners_by_statistics(rows, bundles, full), **owners}
        self._write_topics(rows, topics, bundles, full)
        loads = bundles.load_columns(full)
        self.parts.write(BUNDLE_LOADS, loads)
        for splits, children in bundles.split_columns(full):
            self.parts.write(BUNDLE_SPLITS, splits)
            self.parts.write(BUNDLE_CHILDREN, children)
        self.parts.write(OCCUPANCY, OCCUPANCY.columns_of(bundles.occupancy_rows()))
        self._count(loads)

    def _write_topics(self, rows: Any, topics: Topics, bundles: Bundles, full: Any) -> None:
        places = bundles.bundle
        columns = {"hash": pa.array(topics.hashes), "bundle": full.take(pa.array(places, mask=places < 0))}
        self.account.rows += len(places)
        self.account.nowhere += int((places < 0).sum())
        differ = pc.not_equal(columns["bundle"], rows["told_bundle"])
        self.account.elsewhere += pc.sum(differ).as_py() or 0
        arrays = [columns[name] if name in columns else rows[name] for name in BUNDLE_TOPICS.names]
        self.parts.write(BUNDLE_TOPICS, pa.Table.from_arrays(arrays, names=list(BUNDLE_TOPICS.names)))

    def _count(self, loads: Any) -> None:
        columns = (loads[name].to_pylist() for name in ("broker", "outcome", "topics", *_LOADED))
        for broker, outcome, *values in zip(*columns, strict=True):
            sums = self.account.brokers.setdefault(broker or "", [0.0] * 8)
            for place, value in enumerate((1, *values)):
                sums[place] += value
            self.account.outcomes[outcome] = self.account.outcomes.get(outcome, 0) + 1


def _owners_by_statistics(rows: Any, bundles: Bundles, full: Any) -> Mapping[str, str]:
    """Owners of bundles that no load report names: the broker whose statistics list the last of their topics."""
    brokers, listing = codes_of(rows["broker"].fill_null(""))
    known = np.flatnonzero((bundles.bundle >= 0) & (np.array([*map(bool, brokers)], dtype=bool)[listing]))
    last = np.full(len(full), -1, dtype=np.int64)
    # Of several assignments to one element the last one counts.
    last[bundles.bundle[known]] = listing[known]
    owned = np.flatnonzero(last >= 0)
    names = full.take(pa.array(owned)).to_pylist()
    return dict(zip(names, (brokers[at] for at in last[owned].tolist()), strict=True))
