"""The shedding strategies of the modular manager by the names of their classes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from engine.balance.java_maps import MapOrder
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory, shed_average
from engine.balance.shedding.model import ShedPlan, ShedView
from engine.balance.shedding.threshold import ThresholdMemory, shed_overload, shed_threshold
from engine.balance.shedding.uniform import shed_uniform
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

ShedderMemory = MapOrder | ThresholdMemory | AverageMemory
"""What a shedder keeps from cycle to cycle; that of most is the table of the map of their plan."""

OVERLOAD: Final = "OverloadShedder"
THRESHOLD: Final = "ThresholdShedder"
UNIFORM: Final = "UniformLoadShedder"
AVERAGE: Final = "AvgShedder"
TRANSFER: Final = "TransferShedder"
MODULAR_SHEDDERS: Final = (THRESHOLD, OVERLOAD, UNIFORM, AVERAGE)


def new_memory(shedder: str) -> ShedderMemory:
    """The memory of a leader that has just been elected."""
    if shedder == THRESHOLD:
        return ThresholdMemory()
    return AverageMemory() if shedder == AVERAGE else MapOrder("hash")


def shed(
    memory: ShedderMemory, view: ShedView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[ShedderMemory, ShedPlan]:
    """One cycle of ``loadBalancerLoadSheddingStrategy``; the memory is one of :func:`new_memory` of the same."""
    if isinstance(memory, ThresholdMemory):
        return shed_threshold(memory, view, settings, rules)
    if isinstance(memory, AverageMemory):
        return shed_average(memory, view, settings, rules)
    if settings.loadBalancerLoadSheddingStrategy == UNIFORM:
        return shed_uniform(memory, view, settings, rules)
    return shed_overload(memory, view, settings, rules)


def with_active(memory: ShedderMemory, brokers: Collection[str], rules: LoadRules) -> ShedderMemory:
    """The memory once only these brokers are alive."""
    if isinstance(memory, ThresholdMemory) and rules.forgets_brokers:
        return memory.active(brokers)
    return memory


def check_shedder(settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES) -> Rejection | None:
    """Why no broker of this release starts with the configured shedder and placement; None when one does.

    >>> mixed = LoadSettings(
    ...     loadBalancerLoadSheddingStrategy="ThresholdShedder", loadBalancerLoadPlacementStrategy="AvgShedder"
    ... )
    >>> check_shedder(mixed, LoadRules(avg_placement_alone="refused")).field
    'loadBalancerLoadPlacementStrategy'
    """
    shedder, placement = settings.loadBalancerLoadSheddingStrategy, settings.loadBalancerLoadPlacementStrategy
    if shedder not in MODULAR_SHEDDERS:
        known = ", ".join(MODULAR_SHEDDERS)
        message = f"{shedder!r} is not a shedding strategy of the modular load manager: {known}"
        return Rejection("RuntimeException", message, field="loadBalancerLoadSheddingStrategy")
    if AVERAGE in (shedder, placement) and rules.avg_shedder != "present":
        reason = "does not have" if rules.avg_shedder == "absent" else "cannot be configured with"
        message = f"this release {reason} {AVERAGE}; choose another strategy"
        return Rejection("ClassNotFoundException", message, field="loadBalancerLoadSheddingStrategy")
    if placement == AVERAGE != shedder and rules.avg_placement_alone == "refused":
        message = f"{AVERAGE} as placement needs {AVERAGE} as loadBalancerLoadSheddingStrategy too; no broker starts so"
        return Rejection("IllegalArgumentException", message, field="loadBalancerLoadPlacementStrategy")
    return None
