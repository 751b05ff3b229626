"""How uneven brokers may be before the shedder in force moves anything: asked when there are settings alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.balance.settings import LoadSettings, default_load_settings
from engine.errors import Rejection
from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.lint.rules.setting_without_use import AVG, THRESHOLD, UNIFORM, in_force

ID: Final = "shedder-margin"


def check(world: World) -> Iterator[Finding]:
    """At most one finding: what the shedder leaves alone. O(settings).

    >>> world = World(shedder="ThresholdShedder", configuration={"x": ""}, has_topics=False)
    >>> [finding.number("margin_percent") for finding in check(world)]
    [10.0]
    """
    if world.has_topics or not world.configuration:
        return
    shedder = in_force(world)[0]
    settings = _settings(world)
    if shedder == THRESHOLD:
        margin = float(settings.loadBalancerBrokerThresholdShedderPercentage)
        what = f"{shedder} leaves a broker alone up to {margin:g} percentage points above the average of all"
        advice = "lower loadBalancerBrokerThresholdShedderPercentage, if brokers should be more even than that"
    elif shedder == AVG:
        margin = float(settings.loadBalancerAvgShedderLowThreshold)
        what = f"{shedder} leaves two brokers alone that differ by up to {margin:g} percentage points"
        advice = "lower loadBalancerAvgShedderLowThreshold, if brokers should be more even than that"
    elif shedder == UNIFORM:
        margin = settings.loadBalancerMsgRateDifferenceShedderThreshold
        factor = settings.loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold
        what = (
            f"{shedder} looks at message rates that differ by more than {margin:g}% and throughputs by more than"
            f" {factor:g} times, not at CPU"
        )
        advice = "take another shedder, if CPU or memory should be even"
    else:
        return
    yield Finding(ID, Severity.INFO, what, Where(), (("margin_percent", margin),), advice)


def _settings(world: World) -> LoadSettings:
    settings = default_load_settings(world.behaviour)
    for name, value in world.configuration.items():
        changed = settings.with_setting(name, value)
        settings = settings if isinstance(changed, Rejection) else changed
    return settings


RULE: Final = Rule(ID, "What the shedder leaves alone, by settings alone", Severity.INFO, "ThresholdShedder", check)
