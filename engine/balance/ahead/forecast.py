"""The next cycles of shedding, from load reports: the modular leader's and the extensible one's.

Traffic stays as it is reported and moves with its bundle; what a report cannot show is assumed and named
(:data:`engine.balance.ahead.model.Assumption`). Reports are written when they are due. A report that says nothing
new is not read again, since it changes no average of steady traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.balance.ahead.extensible import ExtensibleAhead
from engine.balance.ahead.model import (
    AheadCycle,
    AheadMove,
    Assumption,
    LoadWorld,
    ShedAhead,
    ShedStart,
    Trail,
    evenness,
)
from engine.balance.averages import BundleData, TimeAverageMessageData
from engine.balance.brokers import BrokerLoad, ReportFigures, figures_of, overload_usage, report_needed
from engine.balance.java_maps import hash_order
from engine.balance.leadership.placement import look_up
from engine.balance.leadership.shedding import shed, view
from engine.balance.leadership.state import ClusterPolicies, Leader, LeaderState, elected, reports_read
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import check_placement
from engine.balance.settings import MS_PER_MINUTE
from engine.balance.shedding import strategies as shedders
from engine.balance.shedding.model import ShedView
from engine.errors import Rejection

_ROUNDING = 1e-9
MAX_CYCLES = 10_000
"""A limit of this model, against typing errors."""
MAX_MINUTES = 20_000
"""The longest forecast, two weeks: each broker of the extensible manager measures itself every ``UPDATE_MS``."""


def shed_ahead(start: ShedStart, cycles: int) -> ShedAhead | Rejection:
    """``cycles`` cycles of shedding.

    Refused: a strategy or an interval that no broker starts with, and a forecast that is too long.

    >>> from engine.balance.limits import BundleStats
    >>> from engine.balance.brokers import ResourceUsage, report_of
    >>> from engine.balance.settings import LoadSettings
    >>> names = [f"t/n/0x{at:08x}_0x{at + 1:08x}" for at in range(8)]
    >>> busy = report_of("b:1", [BundleStats(name, 1, msg_rate_in=500.0) for name in names])
    >>> settings = LoadSettings(loadBalancerLoadSheddingStrategy="UniformLoadShedder", minUnloadMessage=100)
    >>> found = shed_ahead(ShedStart((busy, report_of("b:2", [])), settings), 2)
    >>> [[move.destination for move in cycle.moves] for cycle in found.cycles]
    [['b:2'], ['b:2']]
    """
    if not 1 <= cycles <= MAX_CYCLES:
        return Rejection("IllegalArgumentException", f"{cycles} cycles: give 1 to {MAX_CYCLES}", field="cycles")
    if not start.loads:
        return Rejection("NoBrokers", "there is no load report, so no broker to shed anything", field="loads")
    refusal = _refusal(start, cycles)
    if refusal is not None:
        return refusal
    running = _Modular(start) if start.load_manager == "modular" else ExtensibleAhead(start)
    before = evenness(start.loads, start.settings, start.rules)
    done = tuple(running.next(number) for number in range(1, cycles + 1))
    return ShedAhead(start, done, before, _assumptions(start, done))


def _refusal(start: ShedStart, cycles: int) -> Rejection | None:
    interval = start.settings.loadBalancerSheddingIntervalMinutes
    if interval < 1:
        message = f"loadBalancerSheddingIntervalMinutes is {interval}: give 1 or more"
        return Rejection("IllegalArgumentException", message, field="loadBalancerSheddingIntervalMinutes")
    if cycles * interval > MAX_MINUTES:
        message = f"{cycles} cycles every {interval} minutes (loadBalancerSheddingIntervalMinutes) take longer than"
        return Rejection("IllegalArgumentException", f"{message} {MAX_MINUTES} minutes: give fewer", field="cycles")
    if start.load_manager == "extensible":
        if start.rules.extensible:
            return None
        message = "this release has no extensible load manager"
        return Rejection("ClassNotFoundException", message, field="loadManagerClassName")
    return shedders.check_shedder(start.settings, start.rules) or check_placement(start.settings, start.rules)


def _assumptions(start: ShedStart, cycles: Iterable[AheadCycle]) -> tuple[Assumption, ...]:
    found: list[Assumption] = ["traffic-stays", "usage-moves-with-traffic"]
    if start.load_manager == "modular":
        found.append("averages-from-one-report" if start.state is None else "averages-from-reports")
    found.append("history-empty")
    if start.policies is None:
        found.append("policies-unknown")
    else:
        if "isolation" in start.policies.unknown:
            found.append("isolation-unknown")
        if "groups" in start.policies.unknown:
            found.append("groups-unknown")
        if "domains" in start.policies.unknown and start.settings.failureDomainsEnabled and start.policies.groups:
            found.append("domains-unknown")
    if any(cycle.otherwise is not None for cycle in cycles):
        found.append("map-order-unknown")
    return tuple(found)


@dataclass(slots=True)
class _Modular:
    """The modular leader from cycle to cycle; lives no longer than the forecast."""

    start: ShedStart
    leader: Leader = field(init=False)
    state: LeaderState = field(init=False)
    world: LoadWorld = field(init=False)
    reported: dict[str, BrokerLoad] = field(init=False)
    written_ms: dict[str, int] = field(init=False)
    trail: Trail = field(default_factory=Trail)
    draws: int = 0

    def __post_init__(self) -> None:
        start = self.start
        self.leader = Leader(start.settings, start.policies or ClusterPolicies(), start.rules)
        self.world = LoadWorld.of(start.loads)
        self.reported = dict(self.world.loads)
        self.written_ms = dict.fromkeys(self.reported, 0)
        self.state = start.state or reports_read(self.leader, elected(self.leader), start.loads)

    def next(self, number: int) -> AheadCycle:
        settings = self.start.settings
        at_ms = number * settings.loadBalancerSheddingIntervalMinutes * MS_PER_MINUTE
        self._write_reports(at_ms)
        otherwise = self._otherwise() if number == 1 else None
        self.state, cycle = shed(self.leader, self.state, at_ms, self._pick)
        moves: list[AheadMove] = []
        for unload in cycle.carried_out:
            destination = unload.destination
            chances = dict(unload.selection.chances) if unload.selection is not None else {}
            # Its clients look it up at once: the first of them uses the wish up.
            self.state, answer = look_up(self.leader, self.state, unload.bundle, self._pick)
            if not isinstance(answer, Rejection):
                destination = answer.picked
                chances = chances or (dict(answer.selection.chances) if answer.selection is not None else {})
            moves.append(self._moved(unload.bundle, unload.source, destination, chances))
        now = tuple(self.world.loads.values())
        even = evenness(now, settings, self.start.rules)
        return AheadCycle(number, at_ms, cycle, tuple(moves), self.world.loads, even, otherwise)

    def _moved(self, bundle: str, source: str, destination: str | None, chances: dict[str, float]) -> AheadMove:
        stats = self.world.stats_of(bundle, source)
        if destination is not None:
            self.world = self.world.moved(bundle, source, destination)
        returns = self.trail.goes(bundle, source, destination)
        return AheadMove(
            bundle, source, destination, chances, stats.topics, stats.msgs_per_sec, stats.bytes_per_sec, returns
        )

    def _pick(self, _: str, placement: Placement) -> str:
        self.draws += 1
        picked = placement.pick(self.start.seed, self.draws)
        assert picked is not None, placement
        return picked

    def _write_reports(self, at_ms: int) -> None:
        """The reports that brokers wrote since the last cycle: each makes the leader read all, once they are there.

        Once a reading changes no average, the others of the moment would not either.
        """
        written = 0
        for broker, load in self.world.loads.items():
            if load is self.reported[broker]:
                continue
            last, now = self._figures(self.reported[broker]), self._figures(load)
            if report_needed(last, now, at_ms - self.written_ms[broker], self.start.settings) is not None:
                self.reported[broker] = load
                self.written_ms[broker] = at_ms
                written += 1
        for _ in range(written):
            before = self.state.data
            self.state = reports_read(self.leader, self.state, tuple(self.reported.values()))
            if all(_is_settled(before.get(bundle), data) for bundle, data in self.state.data.items()):
                break

    def _figures(self, load: BrokerLoad) -> ReportFigures:
        usage = overload_usage(load, self.start.settings, self.start.rules)
        return figures_of(load, usage)

    def _otherwise(self) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
        """The plan of this cycle if the names that share a bucket came in the other order, where it differs."""
        seen = view(self.leader, self.state)
        bundles = hash_order(seen.bundles)
        brokers = self.state.brokers
        if not brokers.doubtful and not bundles.doubtful:
            return None
        turned = ShedView(
            tuple(self.state.known[broker].load for broker in brokers.turned_round),
            {bundle: seen.bundles[bundle] for bundle in bundles.turned_round},
            seen.recently_unloaded,
        )
        settings, rules = self.start.settings, self.start.rules
        plans = [shedders.shed(self.state.shedder, each, settings, rules)[1].unloads for each in (seen, turned)]
        return plans[1] if sorted(plans[0]) != sorted(plans[1]) else None


def _is_settled(before: BundleData | None, after: BundleData) -> bool:
    """Whether one more sample left an average where it was, but for rounding."""
    if before is None:
        return False
    return _is_near(before.short_term, after.short_term) and _is_near(before.long_term, after.long_term)


def _is_near(one: TimeAverageMessageData, other: TimeAverageMessageData) -> bool:
    return math.isclose(one.msgs_per_sec, other.msgs_per_sec, rel_tol=_ROUNDING) and math.isclose(
        one.bytes_per_sec, other.bytes_per_sec, rel_tol=_ROUNDING
    )
