"""A cycle of the extensible load manager, simulated: every broker judges its own bundles by their current rates."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.balance.extensible import cycle
from engine.balance.extensible_model import CycleLimits, CycleObservation, CycleVerdict, SplitMemory
from engine.balance.limits import BundleStats, LimitMeasure, limit_measures
from engine.balance.model import Attempt, BalanceCycle, BalanceRun, BalanceVerdict
from engine.balance.modular import visiting_order
from engine.balance.world import World
from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.children import SplitResult, split_bundles


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
