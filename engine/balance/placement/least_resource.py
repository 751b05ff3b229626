"""``LeastResourceUsageWithWeight`` of both managers: any broker clearly below the mean of the candidates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from engine.balance.placement.model import KnownBroker, Placement
from engine.balance.settings import LoadSettings
from engine.balance.shedding.threshold import with_history
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules


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
