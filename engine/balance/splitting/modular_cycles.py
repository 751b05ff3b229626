"""A cycle of the modular load manager, simulated: brokers write reports, the leader samples, chooses and splits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from engine.balance.limits import BundleStats, LimitMeasure, SplitReason, limit_measures
from engine.balance.settings import MS_PER_MINUTE
from engine.balance.splitting.leader import RunningLeader
from engine.balance.splitting.model import (
    Attempt,
    AttemptOutcome,
    BalanceCycle,
    BalanceRun,
    BalanceVerdict,
    BundleLoad,
    Move,
)
from engine.balance.splitting.modular import BrokerReport, ModularDecision, ModularVerdict, visiting_order, why_no_run
from engine.balance.splitting.world import World
from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.plan import SplitPlan
from engine.bundles.split import plan_split
from engine.errors import Rejection


@dataclass(slots=True, eq=False)
class _Measured:
    """A decision, and what follows from it in every run that decides the same."""

    decision: ModularDecision
    chosen: dict[str, str]
    full: tuple[str, ...]
    by_averages: list[int]
    """The places of the verdicts whose measure is a long-term average, which moves from report to report."""
    verdicts: tuple[BalanceVerdict, ...] = ()


@dataclass(slots=True)
class ModularCycles:
    """The leader and the brokers' reports from cycle to cycle. Every broker writes in the order they were given."""

    world: World
    leader: RunningLeader = field(init=False)
    at_ms: int = 0
    _moves: list[Move] = field(default_factory=list)
    _idle: dict[str, BalanceRun] = field(default_factory=dict)
    _measured: _Measured | None = None
    _plans: dict[tuple[BundleRange, int], SplitPlan | Rejection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.leader = RunningLeader.starting(self.world.start.settings, self.world.start.averages)

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
            self.leader.written(report)
            loads = loads or self._loads_now()
            runs.append(self._run(report))
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
            self.leader.sample()

    def _reports(self, brokers: tuple[str, ...]) -> list[BrokerReport]:
        """What each of these brokers would write now. O(brokers + bundles)."""
        own: dict[str, dict[str, BundleStats]] = {}
        for bundle, stats in self.world.stats().items():
            own.setdefault(self.world.owners[bundle], {})[stats.bundle] = stats
        return [
            BrokerReport(broker, tuple(own[broker][name] for name in visiting_order(list(own[broker]))))
            if broker in own
            else BrokerReport(broker, ())
            for broker in brokers
        ]

    def _changed(self) -> tuple[str, ...]:
        """The brokers whose next report is written early: a total moved by more than the threshold."""
        threshold = self.world.start.intervals.loadBalancerReportUpdateThresholdPercentage
        found = []
        for report in self._reports(self.world.start.brokers):
            before, now = _totals(self.leader.reports[report.broker]), _totals(report)
            if max(_percent(old, new) for old, new in zip(before, now, strict=True)) > threshold:
                found.append(report.broker)
        return tuple(found)

    def _run(self, report: BrokerReport) -> BalanceRun:
        start, broker = self.world.start, report.broker
        no_run = why_no_run(start.settings, is_leader=True, known_brokers=len(start.brokers))
        if no_run is not None:
            return self._idle.setdefault(broker, BalanceRun(broker, (), (), no_run=no_run))
        measured = self._judged(self.leader.decision(start.bundles.namespace, len(self.world.bundles)))
        if not measured.chosen:
            return BalanceRun(broker, measured.verdicts, (), measured.full)
        # Of a bundle that two brokers report the later verdict counts; its measure is the same in both.
        last = {verdict.bundle: verdict for verdict in measured.verdicts}
        attempts = tuple(
            self._attempt(bundle, owner, last[bundle].reason, last[bundle].measure)
            for bundle, owner in measured.chosen.items()
        )
        return BalanceRun(broker, measured.verdicts, attempts, measured.full)

    def _judged(self, decision: ModularDecision) -> _Measured:
        """A decision with its measures; the same objects again while nothing in them has changed."""
        measured = self._measured
        known = measured is not None and measured.decision is decision
        if measured is None or not known:
            by_averages = [
                at for at, verdict in enumerate(decision.verdicts) if verdict.reason in ("MsgRate", "Bandwidth")
            ]
            measured = _Measured(decision, decision.chosen, decision.full_namespaces, by_averages)
            self._measured = measured
        places = measured.by_averages if known else range(len(decision.verdicts))
        if not places:
            return measured
        rates, octets = self.leader.rates()
        found = list(measured.verdicts)
        for at in places:
            verdict = decision.verdicts[at]
            place = self.leader.averages.place[verdict.bundle]
            averages = float(rates[place]), float(octets[place])
            measures = limit_measures(self.leader.stats[verdict.bundle], *averages, self.world.start.settings)
            judged = _verdict(verdict, measures)
            if not known:
                found.append(judged)
            elif judged != found[at]:
                found[at] = judged
        measured.verdicts = tuple(found)
        return measured

    def _loads_now(self) -> tuple[BundleLoad, ...]:
        loads = []
        for bundle, stats in self.world.stats().items():
            if stats.bundle in self.leader.averages.place:
                average = self.leader.averages.at(stats.bundle)
                rates = (average.msgs_per_sec, average.bytes_per_sec)
                loads.append(self.world.load_of(bundle, stats, *rates, average.num_samples))
        return tuple(loads)

    def _attempt(self, bundle: str, broker: str, reason: SplitReason, measure: LimitMeasure | None) -> Attempt:
        world, start = self.world, self.world.start
        parent = _range_of(bundle)
        if not isinstance(parent, BundleRange) or world.bundles.validate_bundle(parent) is not None:
            return Attempt(bundle, broker, "gone", reason, measure)
        if not parent.can_split:
            return Attempt(bundle, broker, "too-narrow", reason, measure)
        echo = world.born.get(parent) == world.interval
        self.leader.forget(bundle)
        unload = start.settings.loadBalancerAutoUnloadSplitBundlesEnabled
        plan = self._plan(parent)
        if isinstance(plan, Rejection):
            return Attempt(bundle, broker, "refused", reason, measure, echo=echo, detail=plan)
        if not plan.changes:
            outcome: AttemptOutcome = "no-change" if plan.status is not None else "never-answered"
            return Attempt(bundle, broker, outcome, reason, measure, plan.cuts or (), echo=echo)
        children = tuple(child.bundle for child in plan.children)
        world.replace_bundle(parent, plan.after, children)
        self._plans.clear()
        if unload:
            # A child without topics is looked up by nobody, so it comes nowhere.
            self._moves += [world.unload(child.bundle) for child in plan.children if child.topics]
        return Attempt(bundle, broker, "split", reason, measure, plan.cuts or (), children, echo)

    def _plan(self, parent: BundleRange) -> SplitPlan | Rejection:
        """What a split of a bundle in force would do; while bundles and traffic stay, it stays, too."""
        world, start = self.world, self.world.start
        key = (parent, world.level)
        if key not in self._plans:
            self._plans[key] = plan_split(
                start.bundles.namespace,
                world.bundles,
                str(parent),
                None,
                None,
                topics=world.topics_in(parent),
                settings=start.settings,
                behaviour=start.behaviour,
            )
        return self._plans[key]


@lru_cache(maxsize=1024)
def _range_of(bundle: str) -> BundleRange | Rejection:
    return parse_range(bundle.rpartition("/")[2])


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
