"""What the leader of the modular load manager keeps between two reports, and how a report changes it.

After ``ModularLoadManagerImpl``: each report written by any broker makes the leader read the reports of all, take one
sample of every bundle in them, and decide. So with B brokers a bundle gets about B samples for each report of its own
broker, most of them repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.balance.averages import NUM_LONG_SAMPLES, BundleData, TimeAverageMessageData
from engine.balance.limits import BundleStats, bandwidth_limit
from engine.balance.splitting.modular import (
    BrokerReport,
    ModularDecision,
    ModularObservation,
    buckets_for,
    modular_decision,
    visiting_order,
)
from engine.config import BrokerSettings


@dataclass(slots=True, eq=False)
class Averages:
    """The long-term averages of some bundles in columns: ``mean`` (4, m) rates, ``count`` and ``window`` (m,)."""

    place: dict[str, int]
    mean: NDArray[np.float64]
    count: NDArray[np.float64]
    window: NDArray[np.float64]

    @classmethod
    def of(cls, known: Mapping[str, BundleData]) -> Averages:
        """The columns of what the leader has already."""
        long = [data.long_term for data in known.values()]
        mean = [
            (
                average.msg_rate_in,
                average.msg_rate_out,
                average.throughput_in_bytes_per_sec,
                average.throughput_out_bytes_per_sec,
            )
            for average in long
        ]
        return cls(
            {name: at for at, name in enumerate(known)},
            np.array(mean, dtype=np.float64).reshape(-1, 4).T.copy(),
            np.array([average.num_samples for average in long], dtype=np.float64),
            np.array([average.max_samples for average in long], dtype=np.float64),
        )

    def of_names(self, names: Iterable[str]) -> Averages:
        """Those of these bundles; new ones have no sample yet, others are forgotten."""
        place = {name: at for at, name in enumerate(names)}
        mean, count = np.zeros((4, len(place))), np.zeros(len(place))
        window = np.full(len(place), float(NUM_LONG_SAMPLES))
        for name, at in place.items():
            before = self.place.get(name)
            if before is not None:
                mean[:, at], count[at], window[at] = self.mean[:, before], self.count[before], self.window[before]
        return Averages(place, mean, count, window)

    def forget(self, name: str) -> None:
        """No sample of this bundle any more: the next one replaces the mean."""
        at = self.place[name]
        self.mean[:, at], self.count[at], self.window[at] = 0.0, 0.0, NUM_LONG_SAMPLES

    def at(self, name: str) -> TimeAverageMessageData:
        """One of them as a value."""
        at = self.place[name]
        rates = self.mean[:, at].tolist()
        return TimeAverageMessageData(int(self.window[at]), int(self.count[at]), *rates)


@dataclass(slots=True, eq=False)
class _Sample:
    """One sample of some bundles: their places (None for all, in order) and their rates (4, k)."""

    places: NDArray[np.int64] | None
    rates: NDArray[np.float64]

    def take(self, averages: Averages) -> None:
        """``((n - 1) × average + sample) / n``, the same doubles as ``TimeAverageMessageData.update``."""
        if self.places is None:
            mean, count = averages.mean, averages.count
            count += 1.0
            np.minimum(count, averages.window, out=count)
            mean *= count - 1.0
            mean += self.rates
            mean /= count
            return
        at = self.places
        count = np.minimum(averages.count[at] + 1.0, averages.window[at])
        averages.mean[:, at] = ((count - 1.0) * averages.mean[:, at] + self.rates) / count
        averages.count[at] = count


@dataclass(slots=True)
class RunningLeader:
    """The last reports and the averages while a simulation goes on; lives no longer than it.

    ``version`` counts the changes of the reports; of one version, reports and their order stay.

    >>> running = RunningLeader.starting(BrokerSettings(), {})
    >>> for rate in (20.0, 20.0, 120.0):
    ...     seen = BundleStats("t/n/0x00000000_0xffffffff", topics=2, msg_rate_in=rate)
    ...     running.written(BrokerReport("b:1", (seen,)))
    >>> average = running.averages.at("t/n/0x00000000_0xffffffff")
    >>> average.num_samples, round(average.msgs_per_sec, 1), running.decision("t/n", 1).chosen
    (3, 53.3, {})
    """

    settings: BrokerSettings
    averages: Averages
    version: int = 0
    reports: dict[str, BrokerReport] = field(default_factory=dict)
    in_order: tuple[BrokerReport, ...] = ()
    stats: dict[str, BundleStats] = field(default_factory=dict)
    _sampled: int = -1
    _samples: list[_Sample] = field(default_factory=list)
    _decided: dict[tuple[bytes, bytes, int], ModularDecision] = field(default_factory=dict)

    @classmethod
    def starting(cls, settings: BrokerSettings, known: Mapping[str, BundleData]) -> RunningLeader:
        return cls(settings, Averages.of(known))

    def written(self, report: BrokerReport) -> None:
        """Keep a report in place of its broker's last one, and take a sample.

        O(reported bundles) in whole columns while the report says nothing new.
        """
        last = self.reports.get(report.broker)
        buckets = buckets_for(len(self.reports))
        self.reports[report.broker] = report
        changed = bool(report.bundles) if last is None else report.bundles != last.bundles
        if changed or buckets_for(len(self.reports)) != buckets:
            self._arrange()
        self.sample()

    def sample(self) -> None:
        """One more sample of each bundle of each last report, also when the averages are stored."""
        if self._sampled != self.version:
            self.averages = self.averages.of_names(self.stats)
            self._sampled = self.version
        for sample in self._samples:
            sample.take(self.averages)

    def decision(self, namespace: str, bundles: int) -> ModularDecision:
        """What the leader chooses now, with so many bundles in the namespace."""
        rates, octets = self.rates()
        over_msgs = rates > self.settings.loadBalancerNamespaceBundleMaxMsgRate
        over_bytes = octets > bandwidth_limit(self.settings).pulsar_bytes_per_sec
        key = (over_msgs.tobytes(), over_bytes.tobytes(), bundles)
        found = self._decided.get(key)
        if found is None:
            # Only on which side of its limit an average is decides, so this holds until one changes sides.
            long_term = {name: self.averages.at(name) for name in self.averages.place}
            found = modular_decision(ModularObservation(self.in_order, long_term, {namespace: bundles}), self.settings)
            self._decided[key] = found
        return found

    def rates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Messages and bytes a second by long-term average, in plus out: (m,) each."""
        mean = self.averages.mean
        return mean[0] + mean[1], mean[2] + mean[3]

    def forget(self, bundle: str) -> None:
        """A split attempt deletes the bundle's history first, even if nothing changes after it."""
        self.averages.forget(bundle)

    def _arrange(self) -> None:
        self.version += 1
        self._decided.clear()
        full = [report for report in self.reports.values() if report.bundles]
        self.stats = {stats.bundle: stats for report in full for stats in report.bundles}
        place = {name: at for at, name in enumerate(self.stats)}
        # A bundle that two reports name gets two samples, one after the other.
        turns: list[dict[int, BundleStats]] = []
        for report in full:
            for stats in report.bundles:
                at = place[stats.bundle]
                turn = next((turn for turn in turns if at not in turn), None)
                if turn is None:
                    turn = {}
                    turns.append(turn)
                turn[at] = stats
        self._samples = [_sample(turn, len(place)) for turn in turns]
        by_broker = {report.broker: report for report in full}
        order = visiting_order(list(by_broker), buckets_for(len(self.reports)))
        self.in_order = tuple(by_broker[broker] for broker in order)


def _sample(turn: Mapping[int, BundleStats], count: int) -> _Sample:
    places = np.array(sorted(turn), dtype=np.int64)
    rates = [
        (
            turn[at].msg_rate_in,
            turn[at].msg_rate_out,
            turn[at].throughput_in_bytes_per_sec,
            turn[at].throughput_out_bytes_per_sec,
        )
        for at in places.tolist()
    ]
    columns = np.array(rates, dtype=np.float64).reshape(-1, 4).T.copy()
    return _Sample(None if len(places) == count else places, columns)
