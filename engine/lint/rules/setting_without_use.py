"""A setting that belongs to another shedder, placement or load manager than the one in force does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.balance.settings import default_load_settings
from engine.balance.shedding.strategies import TRANSFER
from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.text import joined

ID: Final = "setting-without-use"
THRESHOLD: Final = "ThresholdShedder"
UNIFORM: Final = "UniformLoadShedder"
AVG: Final = "AvgShedder"
_LEAST_USAGE: Final = "LeastResourceUsageWithWeight"
_WEIGHTED: Final = (THRESHOLD, AVG, TRANSFER, _LEAST_USAGE)
USERS: Final[dict[str, tuple[str, ...]]] = {
    "loadBalancerBrokerThresholdShedderPercentage": (THRESHOLD,),
    "lowerBoundarySheddingEnabled": (THRESHOLD,),
    "loadBalancerBundleUnloadMinThroughputThreshold": (THRESHOLD,),
    "loadBalancerHistoryResourcePercentage": (THRESHOLD, TRANSFER, _LEAST_USAGE),
    "loadBalancerCPUResourceWeight": _WEIGHTED,
    "loadBalancerMemoryResourceWeight": _WEIGHTED,
    "loadBalancerDirectMemoryResourceWeight": _WEIGHTED,
    "loadBalancerBandwidthInResourceWeight": _WEIGHTED,
    "loadBalancerBandwidthOutResourceWeight": _WEIGHTED,
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": (_LEAST_USAGE,),
    "loadBalancerMsgRateDifferenceShedderThreshold": (UNIFORM,),
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": (UNIFORM,),
    "maxUnloadBundleNumPerShedding": (UNIFORM,),
    "minUnloadMessage": (UNIFORM, AVG),
    "minUnloadMessageThroughput": (UNIFORM, AVG),
    "maxUnloadPercentage": (UNIFORM, AVG),
    "loadBalancerAvgShedderLowThreshold": (AVG,),
    "loadBalancerAvgShedderHighThreshold": (AVG,),
    "loadBalancerAvgShedderHitCountLowThreshold": (AVG,),
    "loadBalancerAvgShedderHitCountHighThreshold": (AVG,),
    "loadBalancerBrokerLoadTargetStd": (TRANSFER,),
    "loadBalancerSheddingConditionHitCountThreshold": (TRANSFER,),
    "loadBalancerMaxNumberOfBrokerSheddingPerCycle": (TRANSFER,),
    "loadBalancerTransferEnabled": (TRANSFER,),
    "loadBalanceSheddingDelayInSeconds": (TRANSFER,),
    "loadBalancerBrokerLoadDataTTLInSeconds": (TRANSFER,),
    "loadBalancerMaxNumberOfBundlesInBundleLoadReport": (TRANSFER,),
    "loadBalancerSheddingBundlesWithPoliciesEnabled": (TRANSFER,),
}
"""The strategies that read a setting, by the last part of their class names."""


def in_force(world: World) -> tuple[str, str]:
    """The shedder and the placement that a broker with these settings runs."""
    if world.load_manager == "extensible":
        return TRANSFER, ""
    defaults = default_load_settings(world.behaviour)
    return (
        world.shedder or defaults.loadBalancerLoadSheddingStrategy,
        world.placement or defaults.loadBalancerLoadPlacementStrategy,
    )


def check(world: World) -> Iterator[Finding]:
    """A finding for each changed setting that nothing in force reads. A default says nothing: brokers print all.

    >>> [finding.rule for finding in check(World(configuration={"maxUnloadBundleNumPerShedding": "5"}))]
    ['setting-without-use']
    """
    strategies, chosen = in_force(world), world.chosen
    defaults = default_load_settings(world.behaviour)
    for name, users in USERS.items():
        value = chosen.get(name)
        if value is None or any(user in strategies for user in users):
            continue
        if defaults.with_setting(name, value) == defaults:
            continue
        shedder = strategies[0]
        what = f"{name}={value} does nothing: it is read by {joined(users, 4)}, and {shedder} is in force"
        yield Finding(ID, Severity.INFO, what, Where(), (), f"take it out, or set what {shedder} reads")


RULE: Final = Rule(
    ID, "A setting belongs to another shedder or load manager", Severity.INFO, "ServiceConfiguration, strategies", check
)
