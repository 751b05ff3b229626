"""Bundles of many namespaces at once: loads, verdicts, cuts and children, from the engine's bulk rules.

Arrays in, columns out; no Spark, no files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.balance.averages import TimeAverageMessageData
from engine.balance.limits import BundleStats
from engine.balance.splitting.modular import BrokerReport, ModularObservation, ModularVerdict, modular_decision
from engine.bundles.algorithms import flow_limits
from engine.bundles.bulk_splits import cuts_by_algorithm
from engine.bundles.columns import BundleMap, TopicColumns, bundle_map, sum_by
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, BrokerSettings
from pipeline.schemas import BUNDLE_LOADS
from pipeline.transforms.bundle_splits import Children, range_texts


@dataclass(frozen=True)
class Topics:
    """Topics of some whole namespaces in listing order, as arrays of shape (n,).

    ``namespace`` is an index into a list of names; ``loads`` is (6, n): publishers, consumers and the four rates, 0
    where there are no statistics.
    """

    namespace: NDArray[np.int64]
    hashes: NDArray[np.int64]
    has_stats: NDArray[np.bool_]
    loads: NDArray[np.float64]


@dataclass
class Bundles:
    """Some whole namespaces, their bundles, and the topics in each bundle.

    ``owners``: broker by full bundle name, as far as known. ``visiting``: all brokers in the order in which the load
    manager visits them. ``bundle``: (topics,) index of each topic's bundle, -1 for none. ``sums``: (8, bundles) topics,
    loaded topics, then the six loads.
    """

    names: Sequence[str]
    boundaries: Sequence[Sequence[int]]
    topics: Topics
    settings: BrokerSettings
    owners: Mapping[str, str]
    visiting: Sequence[str]
    map: BundleMap = field(init=False)
    bundle: NDArray[np.int64] = field(init=False)
    sums: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.map = bundle_map(self.boundaries)
        self.bundle = self.map.look_up(self.topics.namespace, self.topics.hashes)
        self.sums = sums_of(self.topics, self.bundle, len(self.map))
        self.namespace_no = np.repeat(np.arange(len(self.names)), np.diff(self.map.start))

    def full_names(self) -> Any:
        """The full name of every bundle, as an Arrow column."""
        return pc.binary_join_element_wise(self.namespaces(), range_texts(self.map.lower, self.map.upper), "/")

    def namespaces(self) -> Any:
        """The namespace of every bundle, as an Arrow column."""
        return pa.array(self.names, pa.string()).take(pa.array(self.namespace_no))

    def load_columns(self, full: Any) -> Any:
        """Rows of ``bundle_loads``: the sums, the owner, and the verdict of the modular load manager."""
        names = full.to_pylist()
        verdicts = self._verdicts(names)
        in_order = [verdicts[name] for name in names]
        arrays = [
            full,
            self.namespaces(),
            pa.array(self.map.lower),
            pa.array(self.map.upper),
            pa.array([self.owners.get(name) for name in names], pa.string()),
            *(pa.array(self.sums[place].astype(np.int64)) for place in range(4)),
            *(pa.array(self.sums[place]) for place in range(4, 8)),
            pa.array([verdict.outcome for verdict in in_order], pa.string()),
            pa.array([verdict.reason for verdict in in_order], pa.string()),
        ]
        return pa.Table.from_arrays(arrays, names=list(BUNDLE_LOADS.names))

    def _verdicts(self, names: Sequence[str]) -> dict[str, ModularVerdict]:
        """The leader's verdict on each bundle, with its current load as the stored long-term average."""
        by_broker: dict[str, list[BundleStats]] = {broker: [] for broker in self.visiting}
        averages: dict[str, TimeAverageMessageData] = {}
        for name, (_, loaded, producers, consumers, *rates) in zip(names, self.sums.T.tolist(), strict=True):
            stats = BundleStats(name, int(loaded), int(producers), int(consumers), *rates)
            by_broker.setdefault(self.owners.get(name, ""), []).append(stats)
            averages[name] = TimeAverageMessageData(1, 1, *rates)
        reports = tuple(BrokerReport(broker, tuple(bundles)) for broker, bundles in by_broker.items() if bundles)
        counts = dict(zip(self.names, np.diff(self.map.start).tolist(), strict=True))
        decision = modular_decision(ModularObservation(reports, averages, counts), self.settings)
        return {verdict.bundle: verdict for verdict in decision.verdicts}

    def occupancy_rows(self) -> list[tuple[Any, ...]]:
        """Rows of ``occupancy``, one per namespace that has bundles."""
        rows: list[tuple[Any, ...]] = []
        traffic = self.sums[4] + self.sums[5]
        for number, name in enumerate(self.names):
            inside = slice(int(self.map.start[number]), int(self.map.start[number + 1]))
            topics, rates = self.sums[0, inside], traffic[inside]
            if len(topics):
                rows.append(
                    (name, len(topics), int((topics == 0).sum()), int(topics.sum()), int(topics.max()),
                     float(topics.mean()), float(rates.max()), float(rates.mean()))
                )  # fmt: skip
        return rows

    def columns(self) -> TopicColumns:
        """The topics in the form that the split algorithms take."""
        rate_in, rate_out, bytes_in, bytes_out = self.topics.loads[2:]
        return TopicColumns(
            self.bundle, self.topics.hashes, rate_in + rate_out, bytes_in + bytes_out, self.topics.has_stats
        )

    def split_columns(self, full: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the rows of ``bundle_splits`` and of ``bundle_children`` of all bundles, per algorithm."""
        namespaces = self.namespaces()
        answers = cuts_by_algorithm(self.map, self.columns(), flow_limits(self.settings))
        for algorithm, cuts in answers.items():
            children = Children(
                self.map, cuts, self.bundle, self.topics.hashes, self.topics.loads, has_stats=self.topics.has_stats
            )
            splits = children.split_columns(
                full, namespaces, algorithm, self.settings, is_default=self._could_be_taken(algorithm)
            )
            yield splits, children.child_columns(full, namespaces, algorithm)

    def _could_be_taken(self, algorithm: str) -> bool:
        needs_default = algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE
        return not needs_default or self.settings.defaultNamespaceBundleSplitAlgorithm == algorithm


def sums_of(topics: Topics, bundle: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(8, count): topics, loaded topics, publishers, consumers and the four rates of each bundle, in listing order."""
    placed = bundle >= 0
    inside = bundle[placed]
    counted = [np.ones(int(placed.sum())), topics.has_stats[placed].astype(np.float64), *topics.loads[:, placed]]
    return np.array([sum_by(inside, values, count) for values in counted])
