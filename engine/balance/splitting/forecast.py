"""Balancing over time, cycle after cycle: which bundle splits next, why and when, and what each algorithm leads to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec import structs

from engine.balance.limits import BundleStats, LimitMeasure, limit_measures
from engine.balance.splitting.extensible import CycleLimits, CycleObservation, CycleVerdict, SplitMemory, cycle
from engine.balance.splitting.loops import Loop, find_loops
from engine.balance.splitting.model import Attempt, Balance, BalanceCycle, BalanceRun, BalanceVerdict, BundleLoad
from engine.balance.splitting.modular import visiting_order
from engine.balance.splitting.modular_cycles import ModularCycles
from engine.balance.splitting.start import BalanceStart
from engine.balance.splitting.world import World
from engine.bundles.algorithms import resolve_algorithm
from engine.bundles.boundaries import BundleRange, SplitResult, parse_range, split_bundles
from engine.bundles.plan import ChildShare, shares_of
from engine.config import SPLIT_ALGORITHMS, SplitAlgorithmName
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

    >>> from engine.balance.splitting.start import balance_start
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


@dataclass(frozen=True, slots=True)
class ForecastAttempt:
    """An attempt and when it comes: number of the cycle, counted from 1, and milliseconds from now."""

    cycle: int
    at_ms: int
    attempt: Attempt

    @property
    def at_seconds(self) -> float:
        return self.at_ms / 1000


@dataclass(frozen=True, slots=True)
class ForecastTree:
    """What one algorithm, as the broker's default, makes of the namespace.

    ``shares``: the bundles after the last cycle, with topics and traffic. ``configured``: it is the algorithm the
    settings lead to.
    """

    algorithm: SplitAlgorithmName
    configured: bool
    balance: Balance
    shares: tuple[ChildShare, ...]
    loops: tuple[Loop, ...]

    @property
    def split_count(self) -> int:
        return len(self.balance.splits)

    @property
    def empty_bundles(self) -> int:
        """Bundles without a topic."""
        return sum(not len(share.topics) for share in self.shares)

    @property
    def hottest(self) -> ChildShare:
        """The bundle with the highest message rate; of equals the first."""
        return max(self.shares, key=lambda share: share.msgs_per_sec)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What comes of a namespace if its traffic goes on as given.

    ``next_split`` is the first split that changes something, ``next_attempt`` the first attempt of any outcome; None
    when none comes within ``cycles``. ``outlook``: the bundles in the first cycle, the nearest to a limit first.
    ``trees``: one for each of the four algorithms, in their usual order, the configured one among them.
    """

    start: BalanceStart
    cycles: int
    next_split: ForecastAttempt | None
    next_attempt: ForecastAttempt | None
    outlook: tuple[BundleLoad, ...]
    trees: tuple[ForecastTree, ...]

    @property
    def configured(self) -> ForecastTree:
        """The tree of the algorithm the settings lead to."""
        return next(tree for tree in self.trees if tree.configured)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """What goes round in circles under the configured algorithm."""
        return self.configured.loops


def forecast(start: BalanceStart, cycles: int = 20) -> Forecast | Rejection:
    """The next split and four trees after ``cycles`` cycles (:func:`simulate` says what a cycle is).

    Refused: less than one cycle, or more than can be simulated. Costs four simulations.

    >>> from engine.balance.splitting.start import balance_start
    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.config import BrokerSettings
    >>> topics = [TopicLoad("persistent://t/n/a", 1, 20000.0), TopicLoad("persistent://t/n/b", 0xF0000000, 20000.0)]
    >>> whole = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
    >>> start = balance_start(whole, topics, ["b:1"], BrokerSettings(), load_manager="extensible", change_events=False)
    >>> coming = forecast(start, 5)
    >>> coming.next_split.cycle, coming.next_split.at_seconds, coming.next_split.attempt.reason
    (4, 240.0, 'MsgRate')
    >>> [len(tree.shares) for tree in coming.trees]
    [2, 2, 1, 2]
    """
    if cycles < 1:
        return Rejection("IllegalArgumentException", f"{cycles} cycles: a forecast needs 1 or more", field="cycles")
    default = start.settings.defaultNamespaceBundleSplitAlgorithm
    used = resolve_algorithm(None, default, start.behaviour.split_algorithms)
    trees: list[ForecastTree] = []
    for algorithm in SPLIT_ALGORITHMS:
        settings = structs.replace(start.settings, defaultNamespaceBundleSplitAlgorithm=algorithm)
        # A release that does not know an algorithm falls back; the forecast of a tree asks what it would do.
        behaviour = structs.replace(start.behaviour, split_algorithms=SPLIT_ALGORITHMS)
        balance = simulate(replace(start, settings=settings, behaviour=behaviour), cycles)
        if isinstance(balance, Rejection):
            return balance
        trees.append(ForecastTree(algorithm, algorithm == used, balance, _shares(balance), find_loops(balance)))
    done = next(tree for tree in trees if tree.configured).balance.cycles
    outlook = sorted(done[0].loads, key=lambda load: -load.nearest_limit.share_of_limit)
    return Forecast(start, cycles, _first(done, real=True), _first(done, real=False), tuple(outlook), tuple(trees))


def _shares(balance: Balance) -> tuple[ChildShare, ...]:
    return shares_of(balance.bundles.bundles, balance.start.topics.loads_at(balance.cycles[-1].interval))


def _first(cycles: tuple[BalanceCycle, ...], *, real: bool) -> ForecastAttempt | None:
    for step in cycles:
        for attempt in step.splits if real else step.attempts:
            return ForecastAttempt(step.number, step.at_ms, attempt)
    return None
