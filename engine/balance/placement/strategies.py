"""The placement strategies of the modular manager by the names of their classes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.balance.averages import BundleData
from engine.balance.placement.average import place_average
from engine.balance.placement.least_resource import ResourceMemory, place_least_resource
from engine.balance.placement.model import KnownBroker, Placement
from engine.balance.placement.round_robin import RoundRobinMemory, place_round_robin
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory
from engine.balance.shedding.strategies import AVERAGE
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

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
        return memory, place_average(shedder, question.bundle, question.data, candidates, rules)
    return memory, place_least_rate(candidates, brokers, settings, rules)


def with_active(memory: PlacementMemory, brokers: Collection[str], rules: LoadRules) -> PlacementMemory:
    """The memory once only these brokers are alive."""
    if isinstance(memory, ResourceMemory) and rules.forgets_brokers:
        return memory.active(brokers)
    return memory


def check_placement(settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES) -> Rejection | None:
    """Why no broker of this release starts with the configured placement; None when one does.

    >>> check_placement(LoadSettings(loadBalancerLoadPlacementStrategy="Nonsense")).error
    'ClassNotFoundException'
    """
    placement = settings.loadBalancerLoadPlacementStrategy
    absent = placement == ROUND_ROBIN and not rules.round_robin
    if placement in MODULAR_PLACEMENTS and not absent:
        return None
    known = ", ".join(name for name in MODULAR_PLACEMENTS if name != ROUND_ROBIN or rules.round_robin)
    message = f"{placement!r} is not a placement strategy of this release's modular load manager: {known}"
    return Rejection("ClassNotFoundException", message, field="loadBalancerLoadPlacementStrategy")


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
