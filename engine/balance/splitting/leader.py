"""What the leader of the modular load manager keeps between two reports, and how a report changes it.

After ``ModularLoadManagerImpl``: each report written by any broker makes the leader read the reports of all, take one
sample of every bundle in them, and decide. So with B brokers a bundle gets about B samples for each report of its own
broker, most of them repeats. ``RunningLeader`` is the same in columns, for many reports one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.balance.averages import NUM_LONG_SAMPLES, BundleData, TimeAverageMessageData, new_bundle_data
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


@dataclass(frozen=True, slots=True)
class LeaderMemory:
    """The last report of each broker, in order of arrival, and the averages of every bundle in them, by full name."""

    reports: tuple[BrokerReport, ...] = ()
    averages: Mapping[str, BundleData] = field(default_factory=dict)

    def samples_of(self, bundle: str) -> int:
        """How many samples the long-term average of a bundle has; 0 without one."""
        data = self.averages.get(bundle)
        return 0 if data is None else data.long_term.num_samples


def report_written(
    memory: LeaderMemory, report: BrokerReport, bundle_counts: Mapping[str, int], settings: BrokerSettings
) -> tuple[LeaderMemory, ModularDecision]:
    """The leader's memory and choice after one more report. O(all reported bundles).

    The choice comes from all last reports, old ones too: one written before a split still names the parent. Whether
    this broker decides at all is :func:`engine.balance.splitting.modular.why_no_run`'s business.

    >>> name = "t/n/0x00000000_0xffffffff"
    >>> from engine.balance.limits import BundleStats
    >>> memory = LeaderMemory()
    >>> for rate in (20.0, 20.0, 120.0):
    ...     seen = BrokerReport("b:1", (BundleStats(name, topics=2, msg_rate_in=rate),))
    ...     memory, choice = report_written(memory, seen, {"t/n": 1}, BrokerSettings())
    >>> memory.samples_of(name), round(memory.averages[name].long_term.msgs_per_sec, 1), choice.chosen
    (3, 53.3, {})
    """
    following = sampled(with_reports(memory, (report,)))
    by_broker = {known.broker: known for known in following.reports}
    observation = ModularObservation(
        tuple(by_broker[broker] for broker in visiting_order(list(by_broker))),
        {bundle: data.long_term for bundle, data in following.averages.items()},
        bundle_counts,
    )
    return following, modular_decision(observation, settings)


def with_reports(memory: LeaderMemory, reports: Iterable[BrokerReport]) -> LeaderMemory:
    """The memory with these reports in place of their brokers' last ones, and no sample taken."""
    kept = {known.broker: known for known in memory.reports}
    kept.update((report.broker, report) for report in reports)
    return LeaderMemory(tuple(kept.values()), memory.averages)


def sampled(memory: LeaderMemory) -> LeaderMemory:
    """One more sample of each bundle of each last report; what also happens when the averages are stored.

    A bundle no report names any more loses its average; one that two reports name gets two samples.
    """
    averages: dict[str, BundleData] = {}
    for report in memory.reports:
        for stats in report.bundles:
            data = averages.get(stats.bundle) or memory.averages.get(stats.bundle) or new_bundle_data()
            averages[stats.bundle] = data.update(stats)
    return LeaderMemory(memory.reports, averages)


def broker_appeared(memory: LeaderMemory, report: BrokerReport) -> LeaderMemory:
    """The memory before the first report of a broker that has just started is acted on: one sample too many.

    Its node and the list of all brokers change at once, so the leader hears of it twice; what comes after this is
    :func:`report_written` with the same report.
    """
    return sampled(with_reports(memory, (report,)))


def broker_left(memory: LeaderMemory, broker: str) -> LeaderMemory:
    """The memory once a broker's report has gone: two samples of the others' bundles, none of its own.

    >>> from engine.balance.limits import BundleStats
    >>> reports = tuple(BrokerReport(b, (BundleStats(f"t/{b}/0x00000000_0xffffffff"),)) for b in ("b:1", "b:2"))
    >>> memory = broker_left(sampled(LeaderMemory(reports)), "b:2")
    >>> [(name, memory.samples_of(name)) for name in memory.averages]
    [('t/b:1/0x00000000_0xffffffff', 3)]
    """
    kept = tuple(report for report in memory.reports if report.broker != broker)
    return sampled(sampled(LeaderMemory(kept, memory.averages)))


def attempted(memory: LeaderMemory, bundle: str) -> LeaderMemory:
    """The memory after a split attempt: the bundle's history is deleted first, even if nothing changes after it."""
    return LeaderMemory(memory.reports, {name: data for name, data in memory.averages.items() if name != bundle})


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
        """Keep a report in place of its broker's last one, and take a sample (:func:`leader.report_written`).

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
        """One more sample of each bundle of each last report (:func:`leader.sampled`)."""
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
        """A split attempt deletes the bundle's history (:func:`leader.attempted`)."""
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
