"""AvgShedder sheds and places: where only one of the two settings names it, it does half of that or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.balance.placement.strategies import LEAST_RATE
from engine.balance.settings import default_load_settings
from engine.lint.model import Finding, Rule, Severity, Where, World

ID: Final = "avg-shedder-alone"
AVG: Final = "AvgShedder"
_SHEDDING: Final = "loadBalancerLoadSheddingStrategy"
_PLACEMENT: Final = "loadBalancerLoadPlacementStrategy"


def check(world: World) -> Iterator[Finding]:
    """At most one finding for all brokers. What no answer says has the default of the release. O(1).

    >>> world = World(shedder="AvgShedder", placement="LeastLongTermMessageRate")
    >>> [(finding.severity.label, finding.what) for finding in check(world)]
    [('warning', 'only loadBalancerLoadSheddingStrategy is AvgShedder, so its planned destinations are ignored')]
    >>> list(check(World(shedder="AvgShedder", placement="AvgShedder")))
    []
    """
    usual = default_load_settings(world.behaviour)
    shedder = world.shedder or usual.loadBalancerLoadSheddingStrategy
    placement = world.placement or usual.loadBalancerLoadPlacementStrategy
    if world.load_manager not in (None, "modular") or (shedder == AVG) == (placement == AVG):
        return
    if placement == AVG and world.behaviour.load.avg_placement_alone == "replaced":
        what = f"{_PLACEMENT} is {AVG}, which only places what it sheds: brokers place by {LEAST_RATE}"
        yield Finding(
            ID, Severity.INFO, what, Where(), (), f"set {_SHEDDING} to {AVG} as well, or {_PLACEMENT} to that"
        )
    elif placement == AVG:
        what = f"only {_PLACEMENT} is {AVG}, with which a broker refuses to start"
        yield Finding(ID, Severity.ERROR, what, Where(), (), f"set {_SHEDDING} to {AVG} as well, or neither")
    else:
        what = f"only {_SHEDDING} is {AVG}, so its planned destinations are ignored"
        yield Finding(ID, Severity.WARNING, what, Where(), (), f"set {_PLACEMENT} to {AVG} as well")


RULE: Final = Rule(
    ID,
    "AvgShedder is set for shedding or for placement alone",
    Severity.ERROR,
    "ModularLoadManagerImpl, AvgShedder (PIP-364)",
    check,
)
