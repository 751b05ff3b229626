"""Balancing over time: cycle after cycle of automatic splitting, from given traffic, brokers and settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.balance.extensible import cycle
from engine.balance.extensible_model import CycleLimits, CycleObservation, CycleVerdict, SplitMemory
from engine.balance.limits import BundleStats, LimitMeasure, limit_measures
from engine.balance.model import Attempt, Balance, BalanceCycle, BalanceRun, BalanceVerdict
from engine.balance.modular import visiting_order
from engine.balance.modular_cycles import ModularCycles
from engine.balance.start import BalanceStart
from engine.balance.world import World
from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.children import SplitResult, split_bundles
from engine.errors import Rejection


@dataclass(slots=True)
class ExtensibleCycles:
    """The brokers' memories from cycle to cycle.

    All brokers run at the same times here, one after the other; in a cluster each has the phase of its own start.
    Children stay with the broker of their parent.
    """

    world: World
    memories: dict[str, SplitMemory] = field(default_factory=dict)

    def next(self, number: int) -> BalanceCycle:
        """One interval on, every broker runs once."""
        world = self.world
        world.interval += number > 1
        at_ms = number * world.start.intervals.interval_ms("extensible")
        loads = tuple(
            world.load_of(bundle, stats, stats.msgs_per_sec, stats.bytes_per_sec, 1)
            for bundle, stats in world.stats().items()
        )
        on = world.start.settings.loadBalancerAutoBundleSplitEnabled
        own: dict[str, dict[str, BundleStats]] = {}
        for bundle, stats in world.stats().items():
            own.setdefault(world.owners[bundle], {})[stats.bundle] = stats
        # A broker splits only bundles of its own, and keeps the children.
        runs = tuple(
            self._run(broker, own.get(broker, {})) if on else BalanceRun(broker, (), (), no_run="switched-off")
            for broker in world.start.brokers
        )
        return BalanceCycle(number, at_ms, world.interval, False, loads, runs, (), world.bundles, world.owned())

    def _run(self, broker: str, own: dict[str, BundleStats]) -> BalanceRun:
        world, start = self.world, self.world.start
        namespace = start.bundles.namespace
        observation = CycleObservation(
            tuple(own[name] for name in visiting_order(list(own))),
            {namespace: len(world.bundles)},
            {namespace: world.topics()},
        )
        self.memories[broker], decision = cycle(
            self.memories.get(broker, SplitMemory()),
            observation,
            start.settings,
            CycleLimits.of(start.settings),
            start.behaviour,
        )
        verdicts = tuple(
            BalanceVerdict(
                verdict.bundle,
                broker,
                verdict.outcome,
                verdict.reason,
                self._measure(verdict, own),
                verdict.hits,
                verdict.detail,
            )
            for verdict in decision.verdicts
        )
        attempts = tuple(self._split(verdict, broker, self._measure(verdict, own)) for verdict in decision.chosen)
        return BalanceRun(broker, verdicts, attempts, decision.full_namespaces, thrown=decision.thrown)

    def _measure(self, verdict: CycleVerdict, own: dict[str, BundleStats]) -> LimitMeasure | None:
        stats = own[verdict.bundle]
        measures = limit_measures(stats, stats.msgs_per_sec, stats.bytes_per_sec, self.world.start.settings)
        return next((measure for measure in measures if measure.reason == verdict.reason), None)

    def _split(self, verdict: CycleVerdict, broker: str, measure: LimitMeasure | None) -> Attempt:
        parent = parse_range(verdict.bundle.rpartition("/")[2])
        assert isinstance(parent, BundleRange), parent
        result = split_bundles(self.world.bundles, parent, 2, verdict.boundaries)
        if not isinstance(result, SplitResult):
            # The cut on the closed top, which the decider lets pass and the list of bundles does not.
            detail = result
            return Attempt(verdict.bundle, broker, "refused", verdict.reason, measure, detail=detail)
        self.world.replace_bundle(parent, result.bundles, result.children)
        return Attempt(
            verdict.bundle, broker, "split", verdict.reason, measure, verdict.boundaries or (), result.children
        )


MAX_CYCLES = 10_000
"""A limit of this model, against typing errors."""


def simulate(start: BalanceStart, cycles: int) -> Balance | Rejection:
    """``cycles`` cycles of the load manager. O(cycles × (topics × log topics + brokers × bundles)).

    Modular: a cycle is a moment at which reports are written, all brokers' after
    ``loadBalancerReportUpdateMaxIntervalMinutes`` of steady traffic, and only the changed brokers' after
    ``loadBalancerReportUpdateMinIntervalMillis`` when their totals moved by more than the threshold, as after a split.
    In each the leader decides once per report written. Extensible: a cycle is every
    ``loadBalancerSplitIntervalMinutes``, in which every broker decides about its own bundles. Traffic grows with each
    full interval, not at an early report; the first cycle comes after one interval and sees the traffic as given.

    Only this namespace is simulated: elsewhere others share the maximum of splits per cycle and broker. Loads are not
    shed; a bundle changes its broker only when the modular load manager unloads the children of a split.

    Refused: a number of cycles below 0 or above ``MAX_CYCLES``.

    >>> from engine.balance.start import balance_start
    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> topics = [TopicLoad("persistent://t/n/a", 1, 20000.0), TopicLoad("persistent://t/n/b", 0xF0000000, 20000.0)]
    >>> whole, brokers = NamespaceBundles("t/n", (0, 0xFFFFFFFF)), ["b:1", "b:2"]
    >>> start = balance_start(whole, topics, brokers, BrokerSettings(), change_events=False)
    >>> [(number, split.reason, split.measure.over_by) for number, split in simulate(start, 3).splits]
    [(1, 'MsgRate', 10000.0)]
    """
    if not 0 <= cycles <= MAX_CYCLES:
        message = f"{cycles} cycles: give 0 to {MAX_CYCLES}"
        return Rejection("IllegalArgumentException", message, field="cycles")
    world = World(start)
    running = ModularCycles(world) if start.load_manager == "modular" else ExtensibleCycles(world)
    done: list[BalanceCycle] = [running.next(number) for number in range(1, cycles + 1)]
    return Balance(start, tuple(done))
