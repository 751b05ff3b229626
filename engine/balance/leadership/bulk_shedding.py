"""The shedding cycle of the leader for many bundles: what does not depend on their order is computed once a reading.

The bulk form of :func:`engine.balance.leadership.shedding.shed` and of the selection in it, for releases that choose
the destination before they unload. Nothing is preallocated then, so figures of brokers stay as they are until reports
are read again, and bundles of one namespace meet the same filters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.balance.brokers import BrokerLoad, overload_usage, weighted_usage
from engine.balance.filters import Sieve, anti_affinity, newest_version, permitted, unload_is_useful
from engine.balance.java_maps import MapOrder
from engine.balance.leadership.placement import Picker, Selection
from engine.balance.leadership.shedding import SheddingCycle, Unload, UnloadOutcome
from engine.balance.leadership.state import Leader, LeaderState, namespace_of
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import (
    PlacementMemory,
    ResourceMemory,
    RoundRobinMemory,
    place_average,
    place_round_robin,
)
from engine.balance.settings import MS_PER_MINUTE
from engine.balance.shedding import strategies as shedders
from engine.balance.shedding.average import AverageMemory, destination_key
from engine.balance.shedding.model import RankedAverages, ShedView
from engine.balance.shedding.strategies import AVERAGE
from engine.balance.top_bundles import SYSTEM_NAMESPACE
from engine.errors import Rejection

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The candidates of a namespace after all filters, as :class:`Selection` has them; ``wider``: those of a second
    question. ``in_group``: how many namespaces of its anti-affinity group each broker has, None without a group.
    """

    allowed: tuple[str, ...]
    order: MapOrder
    wider: MapOrder
    filtered: Mapping[str, tuple[str, ...]]
    considered: int
    in_group: Mapping[str, int] | None

    @property
    def capacity(self) -> int:
        return self.order.capacity


@dataclass(slots=True)
class _Reports:
    """What all brokers reported, in the order of the leader's map, and what follows from it for every placement."""

    loads: dict[str, BrokerLoad]
    scores: dict[str, float]
    overloaded: frozenset[str]
    usage: Floats
    is_idle: Flags
    candidates: dict[tuple[str, bool, int], _Candidates] = field(default_factory=dict)
    least_rate: dict[tuple[str, ...], Placement] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Usages:
    """The memory of ``LeastResourceUsageWithWeight`` by broker number; NaN is a usage, so what is known is apart."""

    averages: Floats
    is_known: Flags


class BulkShedding:
    """The leader's shedding from cycle to cycle; lives no longer than a forecast.

    ``state`` is where it starts; nothing may be preallocated there.
    """

    def __init__(self, leader: Leader, state: LeaderState, averages: RankedAverages, pick: Picker) -> None:
        assert can_shed_in_bulk(leader, state)
        self.brokers: Final = state.brokers
        self._active = state.active
        self.shedder = state.shedder
        self._leader: Final = leader
        self._averages: Final = averages
        self._pick: Final = pick
        self._numbers: Final = {broker: number for number, broker in enumerate(state.brokers)}
        self._placement: PlacementMemory | _Usages = self._usages(state.placement)
        self._recently_unloaded = dict(state.recently_unloaded)
        self._capacity = state.candidates.capacity
        self._counts: dict[str, tuple[BrokerLoad, Counter[str]]] = {}
        self._allowed: dict[tuple[str, bool], tuple[str, ...]] = {}
        self._destinations: dict[str | bytes, str] = {}
        self._namespaces: dict[str, str] = {}
        self._figures: dict[str, tuple[BrokerLoad, float, float]] = {}
        self._chances: dict[tuple[str, ...], dict[str, float]] = {}
        self._reports = _Reports({}, {}, frozenset(), np.zeros(0), np.zeros(0, bool))

    def _usages(self, memory: PlacementMemory) -> PlacementMemory | _Usages:
        if not isinstance(memory, ResourceMemory):
            return memory
        averages = [memory.averages.get(broker, 0.0) for broker in self.brokers]
        return _Usages(np.array(averages), np.array([broker in memory.averages for broker in self.brokers], bool))

    def read(
        self, loads: Mapping[str, BrokerLoad], long_term_msgs: Mapping[str, float], active: MapOrder | None = None
    ) -> None:
        """Take over what all brokers reported, and the sums of the long-term averages of each one's bundles.

        Which kinds of topics a broker takes must not change from reading to reading. ``active``: all brokers in the
        order in which they are listed now, None for the order of before.
        """
        if active is not None and active.keys != self._active.keys:
            self._active = active
            self._allowed.clear()
        if isinstance(self.shedder, AverageMemory):
            self.shedder = self.shedder.sampled(self._averages, self._leader.rules)
        in_order = {broker: loads[broker] for broker in self.brokers}
        limit = self._leader.settings.overload_limit
        overloaded = frozenset(broker for broker, load in in_order.items() if self._usage(load)[0] > limit)
        self._reports = _Reports(
            in_order,
            {broker: math.inf if broker in overloaded else long_term_msgs[broker] for broker in in_order},
            overloaded,
            np.array([self._usage(load)[1] for load in in_order.values()]),
            np.array([not load.bundles or load.msgs_per_sec == 0 for load in in_order.values()], bool),
        )

    def _usage(self, load: BrokerLoad) -> tuple[float, float]:
        """What is compared with the overload limit, and what placement and ``ThresholdShedder`` average."""
        known = self._figures.get(load.broker)
        if known is None or known[0] is not load:
            settings, rules = self._leader.settings, self._leader.rules
            known = (load, overload_usage(load, settings, rules), weighted_usage(load, settings, rules))
            self._figures[load.broker] = known
        return known[1:]

    def _weighted_usage_of(self, broker: str) -> float:
        return self._usage(self._reports.loads[broker])[1]

    def view(self) -> ShedView:
        """What the shedder gets to see."""
        return ShedView(tuple(self._reports.loads.values()), self._averages, self._recently_unloaded)

    def shed(self, now_ms: int) -> SheddingCycle:
        """The next cycle."""
        settings, rules = self._leader.settings, self._leader.rules
        if not settings.loadBalancerEnabled or not settings.loadBalancerSheddingEnabled:
            return SheddingCycle(no_run="switched-off")
        if len(self.brokers) <= 1:
            return SheddingCycle(no_run="one-broker")
        since = now_ms - settings.loadBalancerSheddingGracePeriodMinutes * MS_PER_MINUTE
        recent = {bundle: time for bundle, time in self._recently_unloaded.items() if time >= since}
        self._recently_unloaded = recent
        self.shedder, plan = shedders.shed(self.shedder, self.view(), settings, rules)
        if isinstance(self.shedder, AverageMemory):
            self._destinations = dict(self.shedder.destinations)
            self.shedder = replace(self.shedder, destinations=self._destinations)
        unloads: list[Unload] = []
        for source, bundles in plan.unloads:
            for bundle in bundles:
                unload = self._unload(bundle, source)
                unloads.append(unload)
                if unload.outcome == "unloaded":
                    recent[bundle] = now_ms
        if isinstance(self.shedder, AverageMemory):
            self.shedder = self.shedder.attempted(rules)
        return SheddingCycle(plan, tuple(unloads))

    def _unload(self, bundle: str, source: str) -> Unload:
        leader = self._leader
        namespace = self._namespace_of(bundle)
        if leader.rules.excluded_namespaces and namespace in leader.settings.loadBalancerSheddingExcludedNamespaces:
            return Unload(bundle, source, "excluded-namespace")
        allowed = self._permitted(bundle, namespace)
        candidates = self._candidates(namespace, allowed, bundle not in leader.policies.non_persistent)
        self._capacity = candidates.capacity
        if not any(broker != source for broker in allowed):
            return Unload(bundle, source, "no-other-broker")
        if not unload_is_useful(allowed, candidates.in_group):
            return Unload(bundle, source, "anti-affinity")
        selection = self._select(bundle, candidates)
        if isinstance(selection, Rejection):
            return Unload(bundle, source, "refused")
        if selection.picked is None:
            return Unload(bundle, source, "no-broker", None, selection)
        outcome: UnloadOutcome = "stays" if selection.picked == source else "unloaded"
        return Unload(bundle, source, outcome, selection.picked, selection)

    def _namespace_of(self, bundle: str) -> str:
        namespace = self._namespaces.get(bundle)
        if namespace is None:
            namespace = self._namespaces[bundle] = namespace_of(bundle)
        return namespace

    def _permitted(self, bundle: str, namespace: str) -> tuple[str, ...]:
        policies = self._leader.policies
        key = (namespace, bundle not in policies.non_persistent)
        allowed = self._allowed.get(key)
        if allowed is None:
            loads = {broker: self._reports.loads[broker] for broker in self._active}
            allowed = permitted(namespace, loads, policies.isolation, self._leader.rules, persistent=key[1])
            self._allowed[key] = allowed
        return allowed

    def _candidates(self, namespace: str, allowed: tuple[str, ...], persistent: bool) -> _Candidates:
        key = (namespace, persistent, self._capacity)
        candidates = self._reports.candidates.get(key)
        if candidates is None:
            candidates = self._reports.candidates[key] = self._filtered(namespace, allowed)
        return candidates

    def _filtered(self, namespace: str, allowed: tuple[str, ...]) -> _Candidates:
        leader, loads = self._leader, self._reports.loads
        settings = leader.settings
        order = MapOrder("hash", (), self._capacity).updated(allowed)  # filled twice, which changes it no more
        sieve = Sieve(order.keys)
        most = settings.loadBalancerBrokerMaxTopics
        sieve.keep("topics", tuple(broker for broker in sieve.kept if loads[broker].topics <= most) or sieve.kept)
        groups = self._group_counts(namespace)
        sieve.keep("anti-affinity", anti_affinity(sieve.kept, groups, self._domains))
        system = namespace == SYSTEM_NAMESPACE and leader.rules.system_namespace_shed
        if settings.loadBalancerDistributeBundlesEvenlyEnabled or system:
            counts = [self._served(broker)[namespace] for broker in sieve.kept]
            least = min(counts, default=0)
            sieve.keep(
                "fewest-bundles", tuple(b for b, count in zip(sieve.kept, counts, strict=True) if count == least)
            )
        considered = len(sieve.kept)
        wanted = settings.loadManagerClassName
        sieve.keep("load-manager", tuple(broker for broker in sieve.kept if loads[broker].load_manager == wanted))
        order = MapOrder("hash", sieve.kept, order.capacity)
        if settings.preferLaterVersions:
            newest = newest_version(sieve.kept, {broker: loads[broker].version for broker in sieve.kept}, leader.rules)
            if isinstance(newest, Rejection):
                order = order.updated(allowed)
                sieve.filtered["version-unreadable"] = order.keys
            else:
                sieve.keep("version", newest)
                order = MapOrder("hash", sieve.kept, order.capacity)
        if not order.keys and allowed:
            order = order.updated(allowed)
            sieve.filtered["none-left"] = order.keys
        return _Candidates(allowed, order, order.updated(allowed), sieve.filtered, considered, groups)

    @property
    def _domains(self) -> Mapping[str, str] | None:
        return self._leader.policies.domains if self._leader.settings.failureDomainsEnabled else None

    def _served(self, broker: str) -> Counter[str]:
        """How many bundles of each namespace a broker reported."""
        load = self._reports.loads[broker]
        known = self._counts.get(broker)
        if known is None or known[0] is not load:
            known = self._counts[broker] = (load, Counter(map(self._namespace_of, dict.fromkeys(load.bundles))))
        return known[1]

    def _group_counts(self, namespace: str) -> dict[str, int] | None:
        same = self._leader.policies.same_group(namespace)
        if same is None:
            return None
        counts = {broker: len(same.intersection(self._served(broker))) for broker in self.brokers}
        return {broker: count for broker, count in counts.items() if count}

    def _select(self, bundle: str, candidates: _Candidates) -> Selection | Rejection:
        placement = self._answer(bundle, candidates.order)
        if isinstance(placement, Rejection):
            return placement
        if not placement.answers:
            return Selection(placement, {}, None, candidates.filtered, candidates.considered)
        picked = self._pick(bundle, placement)
        self._remember(bundle, placement, picked)
        overloaded = self._reports.overloaded
        full = [broker for broker in placement.answers if broker in overloaded]
        if placement.reason == "random" and self._leader.rules.avg_destinations != "attempt":
            full = []  # what was drawn is remembered, so a second question gets the same answer
        if not full:
            chances = self._equal_chances(placement.answers)
            return Selection(placement, chances, picked, candidates.filtered, candidates.considered)
        before = self._placement
        again = self._answer(bundle, candidates.wider)
        if isinstance(again, Rejection):
            return again
        chances = dict(self._equal_chances(placement.answers))
        share = sum(chances.pop(broker) for broker in full)
        for broker in again.answers:
            chances[broker] = chances.get(broker, 0.0) + share / len(again.answers)
        if picked not in full:
            self._placement = before
            return Selection(placement, chances, picked, candidates.filtered, candidates.considered)
        picked = self._pick(bundle, again)
        self._remember(bundle, again, picked)
        return Selection(again, chances, picked, candidates.filtered, candidates.considered)

    def _equal_chances(self, answers: tuple[str, ...]) -> dict[str, float]:
        chances = self._chances.get(answers)
        if chances is None:
            chances = self._chances[answers] = dict.fromkeys(answers, 1 / len(answers))
        return chances

    def _answer(self, bundle: str, candidates: MapOrder) -> Placement | Rejection:
        """What the strategy answers; its memory is changed."""
        memory = self._placement
        if isinstance(memory, _Usages):
            return self._least_resource(memory, candidates.keys)
        if isinstance(memory, RoundRobinMemory):
            self._placement, placement = place_round_robin(memory, candidates.keys)
            return placement
        if self._leader.settings.loadBalancerLoadPlacementStrategy == AVERAGE:
            shedder = self.shedder if isinstance(self.shedder, AverageMemory) else AverageMemory()
            return place_average(
                shedder,
                bundle,
                self._averages[bundle],
                candidates.keys,
                self._leader.rules,
                usage_of=self._weighted_usage_of,
                settings=self._leader.settings,
            )
        known = self._reports.least_rate.get(candidates.keys)
        if known is None:
            known = self._reports.least_rate[candidates.keys] = self._least_rate(candidates.keys)
        return known

    def _least_rate(self, candidates: tuple[str, ...]) -> Placement:
        scores = self._reports.scores
        least = min((scores[broker] for broker in candidates if scores[broker] < math.inf), default=math.inf)
        if least == math.inf:
            return Placement(
                tuple(broker for broker in candidates if scores[broker] == least) or candidates, "all-overloaded"
            )
        return Placement(tuple(broker for broker in candidates if scores[broker] == least), "least")

    def _least_resource(self, memory: _Usages, candidates: tuple[str, ...]) -> Placement:
        at = np.array([self._numbers[broker] for broker in candidates], np.int64)
        settings, reports = self._leader.settings, self._reports
        is_known = memory.is_known[at]
        if self._leader.rules.restarts_idle_average:
            is_known = is_known & ~reports.is_idle[at]
        kept, usage = settings.loadBalancerHistoryResourcePercentage, reports.usage[at]
        with np.errstate(all="ignore"):
            now = np.where(is_known, memory.averages[at] * kept + (1 - kept) * usage, usage)
            mean = np.add.accumulate(now)[-1] / len(now)  # added one by one, as the leader does
            margin = settings.loadBalancerAverageResourceUsageDifferenceThresholdPercentage / 100.0
            below = np.flatnonzero(now + margin <= mean)
        averages, all_known = memory.averages.copy(), memory.is_known.copy()
        averages[at], all_known[at] = now, True
        self._placement = _Usages(averages, all_known)
        if not len(below):
            return Placement(candidates, "none-below-average")
        return Placement(tuple(candidates[place] for place in below), "least")

    def _remember(self, bundle: str, placement: Placement, picked: str) -> None:
        rules = self._leader.rules
        if placement.reason == "random" and rules.avg_destinations != "attempt":
            # What is unloaded was planned before, so a record that is equal is the key already and keeps its owner.
            self._destinations[destination_key(bundle, self._averages[bundle], rules)] = picked


def can_shed_in_bulk(leader: Leader, state: LeaderState) -> bool:
    """Whether the bulk form knows this leader: it chooses destinations itself, and has no placement pending."""
    return (
        leader.rules.chooses_destination
        and not state.preallocations
        and not any(known.preallocated for known in state.known.values())
    )
