"""The leader of the modular load manager report by report: what ``RunningLeader`` does in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.balance.averages import BundleData, new_bundle_data
from engine.balance.splitting.modular import (
    BrokerReport,
    ModularDecision,
    ModularObservation,
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
    this broker decides at all is ``why_no_run``'s business.

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
