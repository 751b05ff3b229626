"""The placement strategies: least long-term rate, least resource usage of both managers, round robin, planned ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from engine.balance.averages import BundleData
from engine.balance.brokers import weighted_usage
from engine.balance.placement.model import KnownBroker, Placement, PlacementReason
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory, destination_key
from engine.balance.shedding.strategies import AVERAGE
from engine.balance.shedding.threshold import with_history
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

UsageOf = Callable[[str], float | None]
"""The weighted usage of a broker by its last report; None for one that has not reported."""


def usage_by_reports(brokers: Mapping[str, KnownBroker], settings: LoadSettings, rules: LoadRules) -> UsageOf:
    """The weighted usage of brokers, worked out when it is asked for."""

    def usage_of(broker: str) -> float | None:
        known = brokers.get(broker)
        return None if known is None else weighted_usage(known.load, settings, rules)

    return usage_of


def place_average(
    memory: AverageMemory,
    bundle: str,
    data: BundleData,
    candidates: Sequence[str],
    rules: LoadRules = CURRENT_LOAD_RULES,
    *,
    usage_of: UsageOf,
    settings: LoadSettings,
) -> Placement | Rejection:
    """The planned destination while it is a candidate, else any candidate.

    Where plans are kept for one cycle, the broker that the bundle leaves is not drawn, and a destination above
    ``loadBalancerBrokerOverloadedThresholdPercentage`` gives way to others that are not, if there are any. Refused in
    other releases: no candidates at all.
    """
    destination = memory.destinations.get(destination_key(bundle, data, rules))
    if rules.avg_destinations != "attempt":
        if not candidates:
            return Rejection("ArithmeticException", f"no broker may own {bundle}: a division by 0", field="candidates")
        if destination is not None and destination in candidates:
            return Placement((destination,), "planned")
        return Placement(tuple(sorted(candidates)), "random")
    if destination is None:
        return _any_of(candidates, "random")
    others = [broker for broker in candidates if broker != memory.sources[bundle]]
    if destination not in candidates:
        return _any_of(others, "planned-unavailable")
    limit = float(settings.loadBalancerBrokerOverloadedThresholdPercentage)

    def score_of(broker: str) -> float:
        usage = usage_of(broker)
        return math.nan if usage is None else 100 * usage

    if score_of(destination) > limit:
        healthy = [broker for broker in others if broker != destination and score_of(broker) <= limit]
        if healthy:
            return _any_of(healthy, "planned-overloaded")
    return Placement((destination,), "planned")


def _any_of(brokers: Sequence[str], reason: PlacementReason) -> Placement:
    return Placement(tuple(sorted(brokers)), reason) if brokers else Placement((), "no-candidates")


def placed_average(
    memory: AverageMemory, bundle: str, data: BundleData, broker: str, rules: LoadRules = CURRENT_LOAD_RULES
) -> AverageMemory:
    """The memory once a broker was drawn: in most releases it is the planned destination from now on."""
    if rules.avg_destinations == "attempt":
        return memory
    return memory.with_destination(bundle, data, broker, rules)


@dataclass(frozen=True, slots=True)
class ResourceMemory:
    """The average usage of each broker, which every placement updates, however soon it follows the one before."""

    averages: Mapping[str, float] = field(default_factory=dict)

    def active(self, brokers: Collection[str]) -> ResourceMemory:
        """The memory once only these brokers are alive (``onActiveBrokersChange``)."""
        return ResourceMemory({broker: usage for broker, usage in self.averages.items() if broker in brokers})


def place_least_resource(
    memory: ResourceMemory,
    candidates: Sequence[str],
    brokers: Mapping[str, KnownBroker],
    settings: LoadSettings,
    rules: LoadRules = CURRENT_LOAD_RULES,
) -> tuple[ResourceMemory, Placement | Rejection]:
    """The modular manager's rule. An idle broker starts its average anew.

    Refused: a candidate without a report; the averages of those before it are updated all the same.
    """
    if not candidates:
        return memory, Placement((), "no-candidates")
    averages = dict(memory.averages)
    total = 0.0
    for name in candidates:
        broker = brokers.get(name)
        if broker is None:
            message = f"{name} has not reported its load"
            return ResourceMemory(averages), Rejection("NullPointerException", message, field="candidates")
        load = broker.load
        idle = not load.bundles or load.msgs_per_sec == 0
        known = None if idle and rules.restarts_idle_average else averages.get(name)
        averages[name] = with_history(known, load, settings, rules)
        total += averages[name]
    return ResourceMemory(averages), _below_mean(candidates, averages, total / len(candidates), settings)


def place_least_load(candidates: Sequence[str], loads: Mapping[str, float], settings: LoadSettings) -> Placement:
    """The extensible manager's rule, over brokers that published their load; the others win only with all of them.

    The mean is 40 %, and a broker has to be 10 points below it:

    >>> place_least_load(("b:1", "b:2"), {"b:1": 0.2, "b:2": 0.6}, LoadSettings()).answers
    ('b:1',)
    """
    if not candidates:
        return Placement((), "no-candidates")
    known = [name for name in candidates if name in loads]
    total = 0.0
    for name in known:
        total += loads[name]
    if not known:
        return Placement(tuple(candidates), "none-below-average")
    below = _below_mean(known, loads, total / len(known), settings)
    return Placement(tuple(candidates), below.reason) if below.reason == "none-below-average" else below


def least_resource_limit(loads: Collection[float], settings: LoadSettings) -> float:
    """The highest load of the candidates that is clearly below their mean; rounding may decide right at it."""
    mean = sum(loads) / len(loads)
    return mean - settings.loadBalancerAverageResourceUsageDifferenceThresholdPercentage / 100.0


def _below_mean(
    candidates: Sequence[str], loads: Mapping[str, float], mean: float, settings: LoadSettings
) -> Placement:
    margin = settings.loadBalancerAverageResourceUsageDifferenceThresholdPercentage / 100.0
    below = tuple(name for name in candidates if loads[name] + margin <= mean)
    return Placement(below, "least") if below else Placement(tuple(candidates), "none-below-average")


_HIGHEST_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RoundRobinMemory:
    """How many were placed, and the list of brokers gone through."""

    count: int = 0
    brokers: tuple[str, ...] = ()


def place_round_robin(memory: RoundRobinMemory, candidates: Sequence[str]) -> tuple[RoundRobinMemory, Placement]:
    """The next broker. ``candidates`` in the order of their set, which decides the turns.

    The list is renewed when its length differs from the number of candidates, or the broker whose turn it is is no
    candidate any more; so another set of the same size is noticed late.

    >>> memory = RoundRobinMemory()
    >>> for _ in range(3):
    ...     memory, placement = place_round_robin(memory, ("b:1", "b:2"))
    ...     print(placement.answers)
    ('b:1',)
    ('b:2',)
    ('b:1',)
    """
    if not candidates:
        return memory, Placement((), "no-candidates")
    place = memory.count % len(candidates)
    brokers = memory.brokers
    if len(brokers) != len(candidates) or brokers[place] not in candidates:
        brokers = tuple(candidates)
    following = 0 if memory.count == _HIGHEST_INT else memory.count + 1
    return RoundRobinMemory(following, brokers), Placement((brokers[place],), "in-turn")


PlacementMemory = ResourceMemory | RoundRobinMemory | None
"""What a placement strategy keeps; ``AvgShedder`` keeps it in the memory of its shedding."""

LEAST_RATE: Final = "LeastLongTermMessageRate"
LEAST_RESOURCE: Final = "LeastResourceUsageWithWeight"
ROUND_ROBIN: Final = "RoundRobinBrokerSelector"
MODULAR_PLACEMENTS: Final = (LEAST_RATE, LEAST_RESOURCE, ROUND_ROBIN, AVERAGE)


def new_memory(placement: str) -> PlacementMemory:
    """The memory of a leader that has just been elected."""
    if placement == LEAST_RESOURCE:
        return ResourceMemory()
    return RoundRobinMemory() if placement == ROUND_ROBIN else None


@dataclass(frozen=True, slots=True)
class Question:
    """Which of the candidates gets a bundle, and what is known of all: ``candidates`` in the order of their set.

    ``shedder``: the memory of ``AvgShedder`` where it is both.
    """

    bundle: str
    data: BundleData
    candidates: Sequence[str]
    brokers: Mapping[str, KnownBroker]
    shedder: AverageMemory | None = None


def place(
    memory: PlacementMemory, question: Question, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[PlacementMemory, Placement | Rejection]:
    """What ``loadBalancerLoadPlacementStrategy`` may answer, and its memory afterwards."""
    candidates, brokers = question.candidates, question.brokers
    if isinstance(memory, ResourceMemory):
        return place_least_resource(memory, candidates, brokers, settings, rules)
    if isinstance(memory, RoundRobinMemory):
        return place_round_robin(memory, candidates)
    if settings.loadBalancerLoadPlacementStrategy == AVERAGE:
        shedder = question.shedder or AverageMemory()
        usage_of = usage_by_reports(brokers, settings, rules)
        return memory, place_average(
            shedder, question.bundle, question.data, candidates, rules, usage_of=usage_of, settings=settings
        )
    return memory, place_least_rate(candidates, brokers, settings, rules)


def with_active(memory: PlacementMemory, brokers: Collection[str], rules: LoadRules) -> PlacementMemory:
    """The memory once only these brokers are alive."""
    if isinstance(memory, ResourceMemory) and rules.forgets_brokers:
        return memory.active(brokers)
    return memory


def in_force(settings: LoadSettings, rules: LoadRules) -> LoadSettings:
    """The settings as the modular manager takes them: in some releases it replaces a placement that sheds as well.

    >>> mixed = LoadSettings(
    ...     loadBalancerLoadSheddingStrategy="ThresholdShedder", loadBalancerLoadPlacementStrategy="AvgShedder"
    ... )
    >>> in_force(mixed, LoadRules(avg_placement_alone="replaced")).loadBalancerLoadPlacementStrategy
    'LeastLongTermMessageRate'
    """
    alone = settings.loadBalancerLoadPlacementStrategy == AVERAGE != settings.loadBalancerLoadSheddingStrategy
    if not alone or rules.avg_placement_alone == "refused":
        return settings
    return replace(settings, loadBalancerLoadPlacementStrategy=LEAST_RATE)


def check_placement(settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES) -> Rejection | None:
    """Why no broker of this release starts with the configured placement; None when one does.

    >>> check_placement(LoadSettings(loadBalancerLoadPlacementStrategy="Nonsense")).error
    'RuntimeException'
    """
    placement = settings.loadBalancerLoadPlacementStrategy
    absent = placement == ROUND_ROBIN and not rules.round_robin
    if placement in MODULAR_PLACEMENTS and not absent:
        return None
    known = ", ".join(name for name in MODULAR_PLACEMENTS if name != ROUND_ROBIN or rules.round_robin)
    message = f"{placement!r} is not a placement strategy of this release's modular load manager: {known}"
    return Rejection("RuntimeException", message, field="loadBalancerLoadPlacementStrategy")


def long_term_score(broker: KnownBroker, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES) -> float:
    """Long-term messages/s of a broker and of what was placed on it since its report; infinite when overloaded."""
    if broker.is_overloaded(settings, rules):
        return math.inf
    placed = 0.0
    for data in broker.preallocated.values():
        placed += data.long_term.msgs_per_sec
    return placed + broker.long_term.msgs_per_sec


def place_least_rate(
    candidates: Sequence[str],
    brokers: Mapping[str, KnownBroker],
    settings: LoadSettings,
    rules: LoadRules = CURRENT_LOAD_RULES,
) -> Placement | Rejection:
    """All candidates with the least score; every candidate if none has a number. Refused: one without a report."""
    if not candidates:
        return Placement((), "no-candidates")
    best: list[str] = []
    least = math.inf
    for name in candidates:
        broker = brokers.get(name)
        if broker is None:
            return Rejection("NullPointerException", f"{name} has not reported its load", field="candidates")
        score = long_term_score(broker, settings, rules)
        if score < least:
            best, least = [name], score
        elif score == least:  # an overloaded one ties with the start, until one with a number comes
            best.append(name)
    if not best or least == math.inf:
        return Placement(tuple(best or candidates), "all-overloaded")
    return Placement(tuple(best), "least")
