"""The bundles of topics, their loads, verdicts and splits: the engine's bulk rules over Arrow batches.

The work runs inside a data source (``pipeline.sink``) on rows of ``transforms.bundle_topics``, some whole namespaces at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.balance.averages import TimeAverageMessageData
from engine.balance.limits import BundleStats, over_limits
from engine.balance.splitting.modular import BrokerReport, ModularObservation, ModularVerdict, modular_decision
from engine.bulk_hashing import crc32_bulk
from engine.bundles.algorithms import flow_limits
from engine.bundles.bulk_children import CARRIED_OUT, REFUSALS, Children, children_of
from engine.bundles.bulk_splits import cuts_by_algorithm
from engine.bundles.columns import BundleMap, TopicColumns, bundle_map, sum_by
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, BrokerSettings, ReleaseBehaviour
from engine.views.fleet.summary import unknown_of
from engine.views.fleet.tables import BUNDLE_CHILDREN, BUNDLE_LOADS, BUNDLE_SPLITS, BUNDLE_TOPICS, OCCUPANCY
from pipeline.batches import codes_of, same_text
from pipeline.clusters import ByCluster
from pipeline.runs import Parts
from pipeline.transforms.bundle_topics import LOADS, boundaries_of, known_and_topics, loads_of, owners_of

NOT_DEFAULT: Final = "not-the-default-algorithm"
"""No broker of these releases would take this algorithm: beside it the row says what it would do."""
_FEWEST_TOPICS: Final = 2
"""Both load managers leave a bundle with fewer loaded topics whole, however busy it is."""
_HEX: Final = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_SHIFTS: Final = np.arange(28, -1, -4)
_TEXT_BYTES: Final = 21


def range_texts(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Any:
    """``0x%08x_0x%08x`` of each range (``engine.bundles.BundleRange``) as an Arrow column; bounds 0 .. 0xffffffff.

    >>> range_texts(np.array([0x10]), np.array([0xffffffff])).to_pylist()
    ['0x00000010_0xffffffff']
    """
    count = len(lower)
    text = np.empty((count, _TEXT_BYTES), dtype=np.uint8)
    text[:] = np.frombuffer(b"0x--------_0x--------", dtype=np.uint8)
    text[:, 2:10] = _HEX[(lower[:, None] >> _SHIFTS) & 15]
    text[:, 13:21] = _HEX[(upper[:, None] >> _SHIFTS) & 15]
    offsets = np.arange(count + 1, dtype=np.int32) * _TEXT_BYTES
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


def split_columns(
    names: tuple[Any, Any, Any],
    algorithm: str,
    children: Children,
    settings: BrokerSettings,
    *,
    behaviour: ReleaseBehaviour,
) -> Any:
    """Rows of ``bundle_splits``, one per bundle; ``names``: its own, its cluster's, its namespace's, in Arrow."""
    bundles, clusters, namespaces = names
    count = len(bundles)
    whole = children.refusal != CARRIED_OUT
    needs_default = algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE and not behaviour.flow_by_name
    taken = not needs_default or settings.defaultNamespaceBundleSplitAlgorithm == algorithm
    refusals = np.where(~whole & (not taken), len(REFUSALS), children.refusal)
    # The load manager would split these again, but none that is loaded with a single topic.
    over = (
        over_limits(children.loaded, children.sessions, children.msgs_per_sec, children.bytes_per_sec, settings)
        & (children.loaded >= _FEWEST_TOPICS)
        & (children.upper - children.lower > 1)
    )
    arrays = [
        clusters,
        bundles,
        namespaces,
        pa.repeat(algorithm, count),
        pa.ListArray.from_arrays(pa.array(children.cuts.start.astype(np.int32)), pa.array(children.cuts.positions)),
        pa.array(np.where(whole, 0, np.diff(children.start))),
        pa.array((*REFUSALS, NOT_DEFAULT), pa.string()).take(pa.array(refusals, mask=refusals == CARRIED_OUT)),
        pa.array(np.where(whole, 0, children.count(children.topics == 0))),
        pa.array(np.where(whole, 1.0, children.largest_share(children.topics))),
        pa.array(np.where(whole, 1.0, children.largest_share(children.msgs_per_sec))),
        pa.array(np.where(whole, 0, children.count(over))),
    ]
    return pa.Table.from_arrays(arrays, names=list(BUNDLE_SPLITS.names))


def child_columns(names: tuple[Any, Any, Any], algorithm: str, children: Children) -> Any:
    """Rows of ``bundle_children``; a bundle that stays whole has none."""
    bundles, clusters, namespaces = names
    shown = np.flatnonzero((children.refusal == CARRIED_OUT)[children.parent])
    parent = pa.array(children.parent[shown])
    spaces = namespaces.take(parent)
    texts = range_texts(children.lower[shown], children.upper[shown])
    numbers = (children.lower, children.upper, children.topics, children.msgs_per_sec, children.bytes_per_sec)
    arrays = [
        clusters.take(parent),
        bundles.take(parent),
        spaces,
        pa.repeat(algorithm, len(shown)),
        pc.binary_join_element_wise(spaces, texts, "/"),
        *(pa.array(values[shown]) for values in numbers),
    ]
    return pa.Table.from_arrays(arrays, names=list(BUNDLE_CHILDREN.names))


WRITTEN: Final = (BUNDLE_TOPICS, BUNDLE_LOADS, BUNDLE_SPLITS, BUNDLE_CHILDREN, OCCUPANCY)
_SUMMED: Final = ("loaded_topics", "producers", *LOADS[1:], *map(unknown_of, LOADS[2:]))


@dataclass(frozen=True)
class Topics:
    """Topics of some whole namespaces in listing order, as arrays of shape (n,).

    ``namespace`` is an index into a list of names; ``loads`` is (6, n): publishers, consumers and the four rates, 0
    where there are no statistics, or where these lack a number. ``unknown`` is (4, n): whether they lack that rate.
    """

    namespace: NDArray[np.int64]
    hashes: NDArray[np.int64]
    has_stats: NDArray[np.bool_]
    loads: NDArray[np.float64]
    unknown: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        # The rest of a frozen value.
        object.__setattr__(self, "unknown", np.isnan(self.loads[2:]))
        object.__setattr__(self, "loads", np.nan_to_num(self.loads))


@dataclass
class Bundles:
    """Some whole namespaces of a cluster, their bundles, and the topics in each bundle.

    ``owners``: broker by full bundle name, as far as known. ``visiting``: all brokers in the order in which the load
    manager visits them. ``bundle``: (topics,) index of each topic's bundle, -1 for none. ``sums`` is (12, bundles):
    topics, loaded topics, then the six loads, and how many topics lack each rate.
    """

    cluster: str
    names: Sequence[str]
    boundaries: Sequence[Sequence[int]]
    topics: Topics
    settings: BrokerSettings
    behaviour: ReleaseBehaviour
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

    def clusters(self) -> Any:
        """The cluster of every bundle, as an Arrow column."""
        return same_text(self.cluster, len(self.map))

    def namespaces(self) -> Any:
        """The namespace of every bundle, as an Arrow column."""
        return pa.array(self.names, pa.string()).take(pa.array(self.namespace_no))

    def load_columns(self, full: Any) -> Any:
        """Rows of ``bundle_loads``: the sums, the owner, and the verdict of the modular load manager."""
        names = full.to_pylist()
        verdicts = self._verdicts(names)
        in_order = [verdicts[name] for name in names]
        arrays = [
            self.clusters(),
            full,
            self.namespaces(),
            pa.array(self.map.lower),
            pa.array(self.map.upper),
            pa.array([self.owners.get(name) for name in names], pa.string()),
            *(pa.array(self.sums[place].astype(np.int64)) for place in range(4)),
            # Of a rate that no loaded topic has nothing is known.
            *(
                pa.array(rate, mask=(lacking > 0) & (lacking == self.sums[1]))
                for rate, lacking in zip(self.sums[4:8], self.sums[8:], strict=True)
            ),
            *(pa.array(lacking.astype(np.int64)) for lacking in self.sums[8:]),
            pa.array([verdict.outcome for verdict in in_order], pa.string()),
            pa.array([verdict.reason for verdict in in_order], pa.string()),
        ]
        return pa.Table.from_arrays(arrays, names=list(BUNDLE_LOADS.names))

    def _verdicts(self, names: Sequence[str]) -> dict[str, ModularVerdict]:
        """The leader's verdict on each bundle, with its current load as the stored long-term average."""
        by_broker: dict[str, list[BundleStats]] = {broker: [] for broker in self.visiting}
        averages: dict[str, TimeAverageMessageData] = {}
        for name, (_, loaded, producers, consumers, *rates) in zip(names, self.sums[:8].T.tolist(), strict=True):
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
                    (self.cluster, name, len(topics), int((topics == 0).sum()), int(topics.sum()), int(topics.max()),
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
        namespaces, topics = self.namespaces(), self.columns()
        sessions = self.topics.loads[0] + self.topics.loads[1]
        names = full, self.clusters(), namespaces
        for algorithm, cuts in cuts_by_algorithm(self.map, topics, flow_limits(self.settings)).items():
            children = children_of(self.map, cuts, topics, sessions)
            splits = split_columns(names, algorithm, children, self.settings, behaviour=self.behaviour)
            yield splits, child_columns(names, algorithm, children)


def sums_of(topics: Topics, bundle: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(12, count): topics, loaded topics, publishers, consumers and the four rates of each bundle, in listing order,
    and how many topics lack each rate."""
    placed = bundle >= 0
    inside = bundle[placed]
    loads = (topics.has_stats, *topics.loads, *topics.unknown)
    counted = [np.ones(int(placed.sum())), *(each[placed].astype(np.float64) for each in loads)]
    return np.array([sum_by(inside, values, count) for values in counted])


class BundleAccount(msgspec.Struct):
    """What one task counted: topics, those in no bundle (``nowhere``) and those that the broker listed under another
    one (``elsewhere``); ``brokers``: bundles, loaded topics, the six loads and how many topics lack each rate, by
    cluster and owner ("" for none)."""

    rows: int = 0
    nowhere: int = 0
    elsewhere: int = 0
    brokers: dict[tuple[str, str], list[float]] = {}
    outcomes: dict[str, int] = {}


@dataclass(frozen=True)
class Brokers:
    """The brokers of a cluster: ``updated_ms`` has all in the order in which the load manager visits them, with the
    time of their load reports, 0 without one."""

    updated_ms: Mapping[str, int]
    settings: BrokerSettings
    behaviour: ReleaseBehaviour


@dataclass(frozen=True)
class BundleWork:
    """The work of a task: what to know of the brokers of each cluster."""

    brokers: ByCluster[Brokers]

    def __call__(self, batches: Iterator[Any], parts: Parts) -> BundleAccount:
        task = _Task(self, parts)
        for cluster, known, topics in known_and_topics(batches):
            task.take(cluster, known, topics)
        return task.account


@dataclass
class _Task:
    work: BundleWork
    parts: Parts

    def __post_init__(self) -> None:
        self.account = BundleAccount()

    def take(self, cluster: str, known: Any, rows: Any) -> None:
        """Write the rows of some whole namespaces."""
        brokers = self.work.brokers.of(cluster)
        boundaries = boundaries_of(known)
        owners = owners_of(known, brokers.updated_ms)
        # Namespaces without a topic come last; those without a boundary list have no bundles.
        names, numbers = codes_of(rows["namespace"])
        names = [*names, *sorted(boundaries.keys() - set(names))]
        topics = Topics(
            numbers,
            crc32_bulk(rows["topic"].to_pylist()),
            np.asarray(rows["has_stats"]).astype(bool),
            loads_of(rows),
        )
        bounds = [boundaries.get(name, ()) for name in names]
        bundles = Bundles(
            cluster, names, bounds, topics, brokers.settings, brokers.behaviour, owners, [*brokers.updated_ms]
        )
        full = bundles.full_names()
        bundles.owners = {**_owners_by_statistics(rows, bundles, full), **owners}
        self._write_topics(rows, topics, bundles, full)
        loads = bundles.load_columns(full)
        self.parts.write(BUNDLE_LOADS, loads)
        for splits, children in bundles.split_columns(full):
            self.parts.write(BUNDLE_SPLITS, splits)
            self.parts.write(BUNDLE_CHILDREN, children)
        self.parts.write(OCCUPANCY, OCCUPANCY.columns_of(bundles.occupancy_rows()))
        self._count(cluster, loads)

    def _write_topics(self, rows: Any, topics: Topics, bundles: Bundles, full: Any) -> None:
        places = bundles.bundle
        columns = {
            "hash": pa.array(topics.hashes),
            "bundle": full.take(pa.array(places, mask=places < 0)),
            "reported_bundle": pc.binary_join_element_wise(rows["namespace"], rows["bundle"], "/"),
        }
        self.account.rows += len(places)
        self.account.nowhere += int((places < 0).sum())
        differ = pc.not_equal(columns["bundle"], columns["reported_bundle"])
        self.account.elsewhere += pc.sum(differ).as_py() or 0
        arrays = [columns[name] if name in columns else rows[name] for name in BUNDLE_TOPICS.names]
        self.parts.write(BUNDLE_TOPICS, pa.Table.from_arrays(arrays, names=list(BUNDLE_TOPICS.names)))

    def _count(self, cluster: str, loads: Any) -> None:
        columns = (loads[name].to_pylist() for name in ("broker", "outcome", *_SUMMED))
        for broker, outcome, *values in zip(*columns, strict=True):
            sums = self.account.brokers.setdefault((cluster, broker or ""), [0.0] * (1 + len(_SUMMED)))
            for place, value in enumerate((1, *values)):
                sums[place] += value or 0
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
