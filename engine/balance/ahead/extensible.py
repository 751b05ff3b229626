"""The extensible manager's cycles of a forecast: brokers that measure and publish themselves, and TransferShedder.

A broker measures itself every ``UPDATE_MS`` and publishes what has changed enough. One that gains or loses a bundle
forgets its averages and takes back what it published. Unlike the modular manager, it takes nobody back when a filter
leaves no broker over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.balance.ahead.model import AheadCycle, AheadMove, LoadWorld, ShedStart, Trail, evenness, move_of
from engine.balance.brokers import BrokerLoad, BrokerLoadAverage, ReportFigures, figures_of, max_usage, report_needed
from engine.balance.filters import (
    Sieve,
    anti_affinity,
    below_max_topics_extensible,
    is_isolated,
    newest_version,
    permitted,
    same_load_manager,
)
from engine.balance.java_maps import concurrent_order
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.state import namespace_of
from engine.balance.limits import BundleStats
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import place_least_load
from engine.balance.settings import EXTENSIBLE_CLASS, MS_PER_MINUTE, LoadSettings
from engine.balance.shedding.transfer import (
    PublishedLoad,
    TransferCycle,
    TransferMemory,
    TransferView,
    shed_transfer,
)
from engine.balance.top_bundles import MeasuredBundle, top_bundles
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules


@dataclass(frozen=True, slots=True)
class Candidates:
    """``brokers`` that are left; ``filtered``: those left after each filter that took some away, by its name.

    The names are those of the modular manager's filters, and ``isolation``, which is its last one.
    """

    brokers: tuple[str, ...]
    filtered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def candidates_of(
    bundle: str,
    loads: Mapping[str, BrokerLoad],
    settings: LoadSettings,
    policies: ClusterPolicies,
    rules: LoadRules = CURRENT_LOAD_RULES,
) -> Candidates:
    """The brokers that all filters leave over. O(brokers), for a namespace of a group O(bundles of all brokers).

    >>> loads = {name: BrokerLoad(name, topics=topics) for name, topics in (("b:1", 9), ("b:2", 3))}
    >>> candidates_of("t/n/0x0_0x1", loads, LoadSettings(loadBalancerBrokerMaxTopics=5), ClusterPolicies())
    Candidates(brokers=('b:2',), filtered={'topics': ('b:2',)})
    """
    sieve = Sieve(tuple(concurrent_order(loads)))
    classes = {broker: load.load_manager for broker, load in loads.items() if load.load_manager is not None}
    if EXTENSIBLE_CLASS not in classes.values():
        classes = {}  # nobody runs this manager: the question is what it would do if all did
    sieve.keep("load-manager", same_load_manager(sieve.kept, classes, EXTENSIBLE_CLASS))
    topics = {broker: load.topics for broker, load in loads.items()}
    sieve.keep("topics", below_max_topics_extensible(sieve.kept, topics, settings.loadBalancerBrokerMaxTopics))
    if settings.preferLaterVersions:
        newest = newest_version(sieve.kept, {broker: load.version for broker, load in loads.items()}, rules)
        if not isinstance(newest, Rejection):
            sieve.keep("version", newest)
    namespace = namespace_of(bundle)
    domains = policies.domains if settings.failureDomainsEnabled else None
    sieve.keep("anti-affinity", anti_affinity(sieve.kept, group_bundles(namespace, loads, policies), domains))
    persistent = bundle not in policies.non_persistent
    allowed = permitted(
        namespace, {name: loads[name] for name in sieve.kept}, policies.isolation, rules, persistent=persistent
    )
    sieve.keep("isolation", tuple(broker for broker in sieve.kept if broker in allowed))
    return Candidates(sieve.kept, sieve.filtered)


def group_bundles(namespace: str, loads: Mapping[str, BrokerLoad], policies: ClusterPolicies) -> dict[str, int] | None:
    """How many bundles of its anti-affinity group each broker owns; None for a namespace without a group.

    The modular manager counts namespaces, this one every bundle that is Owned (``getAntiAffinityNamespaceOwnedBrokers``
    has both forms).
    """
    same = policies.same_group(namespace)
    if same is None:
        return None
    return {
        broker: count
        for broker, load in loads.items()
        if (count := sum(namespace_of(bundle) in same for bundle in dict.fromkeys(load.bundles)))
    }


UPDATE_MS = 5000
"""``loadBalancerReportUpdateMinIntervalMillis``: how often a broker measures itself."""


@dataclass(slots=True)
class _Published:
    """A broker's averages, and what it published last; ``load`` None after it gained or lost a bundle.

    ``settled``: another measurement would not change the averages.
    """

    average: BrokerLoadAverage = field(default_factory=BrokerLoadAverage)
    load: PublishedLoad | None = None
    figures: ReportFigures = field(default_factory=ReportFigures)
    settled: bool = False
    top: tuple[BundleStats, ...] | None = None


@dataclass(slots=True)
class ExtensibleAhead:
    """The leader and the brokers of the extensible manager from cycle to cycle; lives no longer than the forecast."""

    start: ShedStart
    world: LoadWorld = field(init=False)
    memory: TransferMemory = field(default_factory=TransferMemory)
    published: dict[str, _Published] = field(default_factory=dict)
    trail: Trail = field(default_factory=Trail)
    now_ms: int = 0
    draws: int = 0

    def __post_init__(self) -> None:
        self.world = LoadWorld.of(self.start.loads)
        for broker, load in self.world.loads.items():
            self.published[broker] = _Published()
            if load.load_average is None:
                self._update(broker)
            else:
                # No answer has the average of the throughput; that of the load was just measured.
                self.published[broker].average = BrokerLoadAverage(
                    load.load_average, load.bytes_per_sec, max_usage(load), has_history=True
                )
                self._publish(broker)

    def next(self, number: int) -> AheadCycle:
        """The next cycle."""
        settings = self.start.settings
        at_ms = number * settings.loadBalancerSheddingIntervalMinutes * MS_PER_MINUTE
        while self.now_ms + UPDATE_MS <= at_ms:
            self.now_ms += UPDATE_MS
            for broker in self.world.loads:
                self._update(broker)
        self.now_ms = at_ms
        moves: list[AheadMove] = []
        if not settings.loadBalancerEnabled or not settings.loadBalancerSheddingEnabled:
            decision = TransferCycle(no_run="switched-off")
        elif len(self.world.loads) <= 1:
            decision = TransferCycle(no_run="one-broker")
        else:
            decision = self._shed()
        for unload in decision.decisions:
            chances = {unload.target: 1.0} if unload.target is not None else self.placement(unload.bundle).chances
            moves.append(self._moved(unload.bundle, unload.source, unload.target or self._draw(chances), chances))
            self.memory = self.memory.after_unload(unload, at_ms)
        even = evenness(tuple(self.world.loads.values()), settings, self.start.rules)
        return AheadCycle(number, at_ms, decision, tuple(moves), self.world.loads, even)

    def _shed(self) -> TransferCycle:
        loads = {broker: data.load for broker, data in self.published.items() if data.load is not None}
        seen = TransferView(
            tuple(loads[broker] for broker in concurrent_order(self.published) if broker in loads),
            tuple(self.world.loads),
            {broker: self._top(broker) for broker in loads},
            self.now_ms,
            movable=self._movable,
        )
        memory = self.memory.within_grace(self.now_ms, self.start.settings)
        self.memory, cycle = shed_transfer(memory, seen, self.start.settings, self.start.rules)
        return cycle

    def _update(self, broker: str) -> None:
        """One measurement of a broker, published if it is worth it."""
        settings, known, load = self.start.settings, self.published[broker], self.world.loads[broker]
        if not known.settled:
            average = known.average.updated(load, settings, self.start.rules)
            known.settled = average == known.average
            known.average = average
        self._publish(broker)

    def _publish(self, broker: str) -> None:
        """Publish what a broker measured last, if it is worth it."""
        settings, known, load = self.start.settings, self.published[broker], self.world.loads[broker]
        figures = figures_of(load, known.average.max_usage)
        if known.load is not None:
            age = self.now_ms - known.load.updated_at_ms
            if report_needed(known.figures, figures, age, settings, "extensible") is None:
                return
        known.figures = figures
        known.load = PublishedLoad(
            broker,
            known.average.load,
            known.average.throughput_average,
            load.throughput_in_bytes_per_sec,
            load.throughput_out_bytes_per_sec,
            self.now_ms,
        )

    def _top(self, broker: str) -> tuple[BundleStats, ...]:
        known = self.published[broker]
        if known.top is None:
            known.top = self._largest(broker)
        return known.top

    def _largest(self, broker: str) -> tuple[BundleStats, ...]:
        stats = {reported.bundle: MeasuredBundle(reported) for reported in self.world.loads[broker].stats}
        measured = [stats[bundle] for bundle in concurrent_order(stats)]
        namespaces = {namespace_of(bundle) for bundle in stats}
        barred = frozenset(namespace for namespace in namespaces if self._has_policy(namespace))
        return top_bundles(measured, self.start.settings, self.start.rules, with_policies=barred)

    def _has_policy(self, namespace: str) -> bool:
        policies = self.start.policies or ClusterPolicies()
        return namespace in policies.groups or is_isolated(namespace, policies.isolation)

    def _movable(self, bundle: str, source: str, target: str) -> bool:
        barred = not self.start.settings.loadBalancerSheddingBundlesWithPoliciesEnabled
        if barred and self._has_policy(namespace_of(bundle)):
            return False
        return target in self.candidates(bundle).brokers

    def candidates(self, bundle: str) -> Candidates:
        """The brokers that the filters leave over for a bundle, by what they report now."""
        start = self.start
        return candidates_of(bundle, self.world.loads, start.settings, start.policies or ClusterPolicies(), start.rules)

    @property
    def published_loads(self) -> dict[str, float]:
        """The load of every broker that has published one."""
        return {broker: data.load.load for broker, data in self.published.items() if data.load is not None}

    def placement(self, bundle: str) -> Placement:
        """Who may get a bundle that nobody owns (``selectAsync``).

        An excluded namespace goes round by a counter of the broker that is asked, which nobody knows: any broker.
        """
        candidates = self.candidates(bundle).brokers
        settings = self.start.settings
        namespaces = settings.loadBalancerSheddingExcludedNamespaces if self.start.rules.excluded_namespaces else ()
        if candidates and namespace_of(bundle) in namespaces:
            return Placement(candidates, "in-turn")
        return place_least_load(candidates, self.published_loads, settings)

    def _draw(self, chances: dict[str, float]) -> str | None:
        self.draws += 1
        return Placement(tuple(chances), "least").pick(self.start.seed, self.draws)

    def _moved(self, bundle: str, source: str, destination: str | None, chances: dict[str, float]) -> AheadMove:
        """Carry out a move; both brokers forget their averages and take back what they published."""
        stats = self.world.stats_of(bundle, source)
        returns = self.trail.goes(bundle, source, destination)
        if destination is not None:
            self.world = self.world.moved(bundle, source, destination)
            self.published[source], self.published[destination] = _Published(), _Published()
        return move_of(stats, source, destination, chances, returns=returns)
