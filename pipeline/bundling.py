"""Bundles of many namespaces at once: loads, verdicts, cuts and what they would leave, from the engine's bulk rules.

Arrays in, rows out; no Spark, no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.bundles import (
    BrokerReport,
    BundleRange,
    BundleStats,
    ModularObservation,
    ModularVerdict,
    TimeAverageMessageData,
    bandwidth_limit,
    flow_limits,
    modular_decision,
)
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, SPLIT_ALGORITHMS, BrokerSettings
from engine.fleet.bundle_splits import Answer, Cuts, flow_cuts, range_cuts, specified_cuts, topic_count_cuts
from engine.fleet.bundles import BundleMap, TopicColumns, bundle_map, sum_by
from pipeline.reading.rows import Row


@dataclass(frozen=True)
class Topics:
    """Topics of some whole namespaces in listing order, one array each of (n,); ``namespace`` counts in a list.

    ``loads``: (6, n) float64: publishers, consumers and the four rates, 0 where there are no statistics.
    """

    namespace: NDArray[np.int64]
    hashes: NDArray[np.int64]
    has_stats: NDArray[np.bool_]
    loads: NDArray[np.float64]


@dataclass
class Bundles:
    """Some namespaces with their topics put into bundles.

    ``owners``: broker by full bundle name, as far as it is known; ``sums``: (8, bundles): topics, loaded topics, then
    the six loads.
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

    def full_names(self) -> list[str]:
        """The full name of every bundle."""
        bounds = zip(self.namespace_no.tolist(), self.map.lower.tolist(), self.map.upper.tolist(), strict=True)
        return [f"{self.names[number]}/{BundleRange(lower, upper)}" for number, lower, upper in bounds]

    def load_rows(self) -> list[Row]:
        """Rows of ``bundle_loads``: the sums, the owner, and what the modular load manager would do about it."""
        names = self.full_names()
        verdicts = self._verdicts(names)
        rows: list[Row] = []
        for place, name in enumerate(names):
            sums = self.sums[:, place]
            verdict = verdicts[name]
            rows.append(
                (name, self.names[self.namespace_no[place]], int(self.map.lower[place]), int(self.map.upper[place]),
                 self.owners.get(name), *(int(value) for value in sums[:4]), *(float(value) for value in sums[4:]),
                 verdict.outcome, verdict.reason)
            )  # fmt: skip
        return rows

    def _verdicts(self, names: Sequence[str]) -> dict[str, ModularVerdict]:
        """The leader's verdict on each bundle, its current load standing in for the stored long-term average."""
        by_broker: dict[str, list[BundleStats]] = {broker: [] for broker in self.visiting}
        averages: dict[str, TimeAverageMessageData] = {}
        for place, name in enumerate(names):
            _, loaded, producers, consumers, *rates = self.sums[:, place].tolist()
            stats = BundleStats(name, int(loaded), int(producers), int(consumers), *rates)
            by_broker.setdefault(self.owners.get(name, ""), []).append(stats)
            averages[name] = TimeAverageMessageData(1, 1, *rates)
        reports = tuple(BrokerReport(broker, tuple(bundles)) for broker, bundles in by_broker.items() if bundles)
        counts = dict(zip(self.names, np.diff(self.map.start).tolist(), strict=True))
        decision = modular_decision(ModularObservation(reports, averages, counts), self.settings)
        return {verdict.bundle: verdict for verdict in decision.verdicts}

    def occupancy_rows(self) -> list[Row]:
        """Rows of ``occupancy``."""
        rows: list[Row] = []
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
        """The topics as the split algorithms see them."""
        rate_in, rate_out, bytes_in, bytes_out = self.topics.loads[2:]
        return TopicColumns(
            self.bundle, self.topics.hashes, rate_in + rate_out, bytes_in + bytes_out, self.topics.has_stats
        )

    def cuts(self) -> dict[str, Cuts]:
        """Where each algorithm would cut each bundle, by its name.

        ``specified_positions_divide`` needs positions: as in a preview those by topic count, or else the middle.
        ``flow_or_qps_equally_divide`` is taken as if it were the default, or it would have no statistics.
        """
        columns = self.columns()
        middle, counted = range_cuts(self.map), topic_count_cuts(columns, len(self.map))
        positions = [self._position(place, middle, counted) for place in range(len(self.map))]
        answers = (
            middle,
            counted,
            specified_cuts(self.map, columns, positions),
            flow_cuts(columns, len(self.map), flow_limits(self.settings)),
        )
        return dict(zip(SPLIT_ALGORITHMS, answers, strict=True))

    def _position(self, place: int, middle: Cuts, counted: Cuts) -> tuple[int, ...]:
        cuts = counted.of(place)
        if cuts and self.map.lower[place] < cuts[0] < self.map.upper[place]:
            return cuts
        return middle.of(place) or ()

    def split_rows(self) -> tuple[list[Row], list[Row]]:
        """Rows of ``bundle_splits`` and of ``bundle_children``, for every bundle and algorithm."""
        splits: list[Row] = []
        children: list[Row] = []
        names = self.full_names()
        for algorithm, cuts in self.cuts().items():
            made = Children(self, cuts)
            for place, name in enumerate(names):
                namespace = self.names[self.namespace_no[place]]
                refusal = made.refusals[place] or self._not_default(algorithm)
                below = made.of(place)
                splits.append(
                    (name, namespace, algorithm, list(cuts.of(place) or ()), len(below), refusal, *made.verdict(place))
                )
                children += [
                    (name, namespace, algorithm, f"{namespace}/{child}", child.lower, child.upper, topics, msgs, volume)
                    for child, topics, msgs, volume in below
                ]
        return splits, children

    def _not_default(self, algorithm: str) -> str | None:
        needs_default = algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE
        is_default = self.settings.defaultNamespaceBundleSplitAlgorithm == algorithm
        return "not-the-default-algorithm" if needs_default and not is_default else None


def sums_of(topics: Topics, bundle: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(8, count): topics, loaded topics, publishers, consumers and the four rates of each bundle, in listing order."""
    placed = bundle >= 0
    inside = bundle[placed]
    counted = [np.ones(int(placed.sum())), topics.has_stats[placed].astype(np.float64), *topics.loads[:, placed]]
    return np.array([sum_by(inside, values, count) for values in counted])


class Children:
    """What one algorithm's cuts would leave of each bundle.

    ``refusals`` by bundle, None where a broker would carry the cuts out: ``nothing-to-split`` (answered, and nothing
    happens), ``too-narrow``, ``boundary-not-inside``, ``equal-boundaries`` (never answered).
    """

    def __init__(self, bundles: Bundles, cuts: Cuts) -> None:
        self._bundles = bundles
        lower, upper = bundles.map.lower, bundles.map.upper
        count = len(bundles.map)
        owner = np.repeat(np.arange(count), np.diff(cuts.start))
        inside = (lower[owner] < cuts.positions) & (cuts.positions < upper[owner])
        outside = np.bincount(owner[~inside], minlength=count) > 0
        again = np.append(False, (np.diff(cuts.positions) == 0) & (np.diff(owner) == 0))[: len(owner)]
        repeated = np.bincount(owner[again], minlength=count) > 0
        nothing = (cuts.answer != Answer.CUTS) | (np.diff(cuts.start) == 0)
        self.refusals: list[str | None] = []
        for place in range(count):
            reasons = (
                ("nothing-to-split", nothing[place]),
                ("too-narrow", upper[place] - lower[place] <= 1),
                ("boundary-not-inside", outside[place]),
                ("equal-boundaries", repeated[place]),
            )
            self.refusals.append(next((reason for reason, holds in reasons if holds), None))
        refused = np.array([reason is not None for reason in self.refusals], dtype=bool).reshape(count)
        kept = ~refused[owner]
        starts = np.concatenate((np.arange(count), owner[kept]))
        order = np.lexsort((np.concatenate((lower, cuts.positions[kept])), starts))
        self.parent = starts[order]
        self.lower = np.concatenate((lower, cuts.positions[kept]))[order]
        self._start = np.searchsorted(self.parent, np.arange(count + 1))
        ends = np.append(self.lower[1:], 0)
        last = self._start[1:] - 1
        ends[last] = upper
        self.upper = ends
        placed = bundles.bundle >= 0
        key = (self.parent << 32) | self.lower
        wanted = (bundles.bundle[placed] << 32) | bundles.topics.hashes[placed]
        child = np.searchsorted(key, wanted, side="right") - 1
        loads = bundles.topics.loads[:, placed]
        topics = np.bincount(child, minlength=len(key))
        self.topics = topics
        self.sessions = sum_by(child, loads[0] + loads[1], len(key))
        self.msgs = sum_by(child, loads[2] + loads[3], len(key))
        self.volume = sum_by(child, loads[4] + loads[5], len(key))

    def of(self, place: int) -> list[tuple[BundleRange, int, float, float]]:
        """The children of one bundle with topics, messages/s and bytes/s; empty when it stays whole."""
        if self.refusals[place] is not None:
            return []
        inside = range(int(self._start[place]), int(self._start[place + 1]))
        return [
            (BundleRange(int(self.lower[at]), int(self.upper[at])), int(self.topics[at]), float(self.msgs[at]),
             float(self.volume[at]))
            for at in inside
        ]  # fmt: skip

    def verdict(self, place: int) -> tuple[int, float, float, int]:
        """Empty children, the largest child's share of topics and of messages, and children above a limit."""
        if self.refusals[place] is not None:
            return 0, 1.0, 1.0, 0
        inside = slice(int(self._start[place]), int(self._start[place + 1]))
        topics, msgs = self.topics[inside], self.msgs[inside]
        return (
            int((topics == 0).sum()),
            _largest_share(topics),
            _largest_share(msgs),
            int(self._over_limit(inside).sum()),
        )

    def _over_limit(self, inside: slice) -> NDArray[np.bool_]:
        settings = self._bundles.settings
        most_sessions = settings.loadBalancerNamespaceBundleMaxSessions
        over = self.topics[inside] > settings.loadBalancerNamespaceBundleMaxTopics
        over |= (self.sessions[inside] > most_sessions) & (most_sessions > 0)
        over |= self.msgs[inside] > settings.loadBalancerNamespaceBundleMaxMsgRate
        return over | (self.volume[inside] > bandwidth_limit(settings).pulsar_bytes_per_sec)


def _largest_share(values: NDArray[np.integer] | NDArray[np.floating]) -> float:
    whole = float(values.sum())
    return float(values.max()) / whole if whole > 0 else 1.0
