"""A cycle of the modular load manager the plain way: at each report everything is looked at again.

What the product computes with sums kept and decisions remembered has to be equal to this.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.bundles.balance_input import BalanceStart
from engine.bundles.balance_model import (
    Attempt,
    AttemptOutcome,
    Balance,
    BalanceCycle,
    BalanceRun,
    BalanceVerdict,
    BundleLoad,
    Move,
)
from engine.bundles.balance_settings import MS_PER_MINUTE
from engine.bundles.balance_world import World
from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.leader import LeaderMemory, attempted, report_written, sampled
from engine.bundles.limits import BundleStats, LimitMeasure, SplitReason, limit_measures
from engine.bundles.modular import BrokerReport, ModularVerdict, visiting_order, why_no_run
from engine.bundles.split import plan_split
from engine.errors import Rejection


@dataclass(slots=True)
class PlainModularCycles:
    """The leader and the brokers' reports from cycle to cycle. Every broker writes in the order they were given."""

    world: World
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    at_ms: int = 0
    _moves: list[Move] = field(default_factory=list)
    _loads: tuple[BundleLoad, ...] = ()

    def __post_init__(self) -> None:
        self.memory = LeaderMemory((), self.world.start.averages)

    def next(self, number: int) -> BalanceCycle:
        """Advance to the next time a report is written, and do what follows from it."""
        changed = self._changed() if number > 1 else ()
        intervals = self.world.start.intervals
        if not changed:
            self.world.interval += number > 1
        waited = intervals.loadBalancerReportUpdateMinIntervalMillis if changed else intervals.interval_ms("modular")
        self._store(waited)
        self.at_ms += waited
        reports = self._reports(changed or self.world.start.brokers)
        self.world.fresh.clear()
        self._moves = []
        runs: list[BalanceRun] = []
        loads: tuple[BundleLoad, ...] = ()
        for report in reports:
            runs.append(self._run(report))
            loads = loads or self._loads
        return BalanceCycle(
            number,
            self.at_ms,
            self.world.interval,
            bool(changed),
            loads,
            tuple(runs),
            tuple(self._moves),
            self.world.bundles,
            self.world.owned(),
        )

    def _store(self, waited_ms: int) -> None:
        quota_ms = self.world.start.intervals.loadBalancerResourceQuotaUpdateIntervalMinutes * MS_PER_MINUTE
        for _ in range((self.at_ms + waited_ms) // quota_ms - self.at_ms // quota_ms):
            self.memory = sampled(self.memory)

    def _report(self, broker: str) -> BrokerReport:
        stats = {self.world.full_name(bundle): each for bundle, each in self.world.stats().items()}
        own = [each for bundle, each in self.world.stats().items() if self.world.owners[bundle] == broker]
        return BrokerReport(broker, tuple(stats[name] for name in visiting_order([each.bundle for each in own])))

    def _reports(self, brokers: tuple[str, ...]) -> list[BrokerReport]:
        return [self._report(broker) for broker in brokers]

    def _changed(self) -> tuple[str, ...]:
        """The brokers whose next report is written early: a total moved by more than the threshold."""
        threshold = self.world.start.intervals.loadBalancerReportUpdateThresholdPercentage
        last = {report.broker: report for report in self.memory.reports}
        found = []
        for broker in self.world.start.brokers:
            before, now = _totals(last[broker]), _totals(self._report(broker))
            if max(_percent(old, new) for old, new in zip(before, now, strict=True)) > threshold:
                found.append(broker)
        return tuple(found)

    def _run(self, report: BrokerReport) -> BalanceRun:
        start = self.world.start
        self.memory, decision = report_written(
            self.memory, report, {start.bundles.namespace: len(self.world.bundles)}, start.settings
        )
        self._loads = self._loads_now()
        no_run = why_no_run(start.settings, is_leader=True, known_brokers=len(start.brokers))
        if no_run is not None:
            return BalanceRun(report.broker, (), (), no_run=no_run)
        measures = {stats.bundle: self._measures(stats) for known in self.memory.reports for stats in known.bundles}
        reasons = {verdict.bundle: verdict.reason for verdict in decision.verdicts}
        verdicts = tuple(_verdict(verdict, measures[verdict.bundle]) for verdict in decision.verdicts)
        attempts = tuple(
            self._attempt(bundle, broker, reasons[bundle], _measure(measures[bundle], reasons[bundle]))
            for bundle, broker in decision.chosen.items()
        )
        return BalanceRun(report.broker, verdicts, attempts, decision.full_namespaces)

    def _measures(self, stats: BundleStats) -> tuple[LimitMeasure, ...]:
        average = self.memory.averages[stats.bundle].long_term
        return limit_measures(stats, average.msgs_per_sec, average.bytes_per_sec, self.world.start.settings)

    def _loads_now(self) -> tuple[BundleLoad, ...]:
        loads = []
        for bundle, stats in self.world.stats().items():
            data = self.memory.averages.get(stats.bundle)
            if data is not None:
                average = data.long_term
                rates = (average.msgs_per_sec, average.bytes_per_sec)
                loads.append(self.world.load_of(bundle, stats, *rates, average.num_samples))
        return tuple(loads)

    def _attempt(self, bundle: str, broker: str, reason: SplitReason, measure: LimitMeasure | None) -> Attempt:
        world, start = self.world, self.world.start
        parent = parse_range(bundle.rpartition("/")[2])
        if not isinstance(parent, BundleRange) or world.bundles.validate_bundle(parent) is not None:
            return Attempt(bundle, broker, "gone", reason, measure)
        if not parent.can_split:
            return Attempt(bundle, broker, "too-narrow", reason, measure)
        echo = world.born.get(parent) == world.interval
        self.memory = attempted(self.memory, bundle)
        unload = start.settings.loadBalancerAutoUnloadSplitBundlesEnabled
        plan = plan_split(
            start.bundles.namespace,
            world.bundles,
            str(parent),
            None,
            None,
            topics=world.topics_in(parent),
            settings=start.settings,
            behaviour=start.behaviour,
            unload=unload,
        )
        if isinstance(plan, Rejection):
            return Attempt(bundle, broker, "refused", reason, measure, echo=echo, detail=plan)
        if not plan.changes:
            outcome: AttemptOutcome = "no-change" if plan.status is not None else "never-answered"
            return Attempt(bundle, broker, outcome, reason, measure, plan.cuts or (), echo=echo)
        children = tuple(child.bundle for child in plan.children)
        world.replace_bundle(parent, plan.after, children)
        if unload:
            # A child without topics is looked up by nobody, so it comes nowhere.
            self._moves += [world.unload(child.bundle) for child in plan.children if child.topics]
        return Attempt(bundle, broker, "split", reason, measure, plan.cuts or (), children, echo)


def _verdict(verdict: ModularVerdict, measures: tuple[LimitMeasure, ...]) -> BalanceVerdict:
    measure = _measure(measures, verdict.reason)
    return BalanceVerdict(verdict.bundle, verdict.broker, verdict.outcome, verdict.reason, measure)


def _measure(measures: tuple[LimitMeasure, ...], reason: SplitReason) -> LimitMeasure | None:
    return next((measure for measure in measures if measure.reason == reason), None)


def _totals(report: BrokerReport) -> tuple[float, float, float]:
    rate = sum(stats.msgs_per_sec for stats in report.bundles)
    return rate, sum(stats.bytes_per_sec for stats in report.bundles), len(report.bundles)


def _percent(before: float, after: float) -> float:
    if before == 0:
        return 0.0 if after == 0 else float("inf")
    return 100 * abs(before - after) / before


def plain_simulate(start: BalanceStart, cycles: int) -> Balance:
    """``simulate`` for the modular load manager, and valid input."""
    running = PlainModularCycles(World(start))
    return Balance(start, tuple(running.next(number) for number in range(1, cycles + 1)))
