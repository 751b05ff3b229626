"""The next cycles of shedding, from load reports: the modular leader's and the extensible one's.

Traffic stays as it is reported and moves with its bundle; what a report cannot show is assumed and named
(:data:`engine.balance.ahead.model.Assumption`). Reports are written when they are due. A report that says nothing
new is not read again, since it changes no average of steady traffic.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.balance.ahead.extensible import ExtensibleAhead
from engine.balance.ahead.model import AheadCycle, Assumption, ShedAhead, ShedStart, evenness
from engine.balance.ahead.modular import ModularAhead
from engine.balance.placement.strategies import check_placement
from engine.balance.shedding import strategies as shedders
from engine.errors import Rejection

MAX_CYCLES = 10_000
"""A limit of this model, against typing errors."""
MAX_MINUTES = 20_000
"""The longest forecast, two weeks: each broker of the extensible manager measures itself every ``UPDATE_MS``."""


def shed_ahead(start: ShedStart, cycles: int) -> ShedAhead | Rejection:
    """``cycles`` cycles of shedding.

    Refused: a strategy or an interval that no broker starts with, and a forecast that is too long.

    >>> from engine.balance.limits import BundleStats
    >>> from engine.balance.brokers import ResourceUsage, report_of
    >>> from engine.balance.settings import LoadSettings
    >>> names = [f"t/n/0x{at:08x}_0x{at + 1:08x}" for at in range(8)]
    >>> busy = report_of("b:1", [BundleStats(name, 1, msg_rate_in=500.0) for name in names])
    >>> settings = LoadSettings(
    ...     loadBalancerLoadSheddingStrategy="UniformLoadShedder", minUnloadMessage=100, maxUnloadPercentage=0.2
    ... )
    >>> found = shed_ahead(ShedStart((busy, report_of("b:2", [])), settings), 2)
    >>> [[move.destination for move in cycle.moves] for cycle in found.cycles]
    [['b:2'], ['b:2']]
    """
    if not 1 <= cycles <= MAX_CYCLES:
        return Rejection("IllegalArgumentException", f"{cycles} cycles: give 1 to {MAX_CYCLES}", field="cycles")
    if not start.loads:
        return Rejection("NoBrokers", "there is no load report, so no broker to shed anything", field="loads")
    refusal = _refusal(start, cycles)
    if refusal is not None:
        return refusal
    running = _running(start)
    before = evenness(start.loads, start.settings, start.rules)
    done = tuple(running.next(number) for number in range(1, cycles + 1))
    return ShedAhead(start, done, before, _assumptions(start, done))


def _running(start: ShedStart) -> ModularAhead | ExtensibleAhead:
    if start.load_manager == "extensible":
        return ExtensibleAhead(start)
    return ModularAhead(start)


def _refusal(start: ShedStart, cycles: int) -> Rejection | None:
    interval = start.settings.loadBalancerSheddingIntervalMinutes
    if interval < 1:
        message = f"loadBalancerSheddingIntervalMinutes is {interval}: give 1 or more"
        return Rejection("IllegalArgumentException", message, field="loadBalancerSheddingIntervalMinutes")
    if cycles * interval > MAX_MINUTES:
        message = f"{cycles} cycles every {interval} minutes (loadBalancerSheddingIntervalMinutes) take longer than"
        return Rejection("IllegalArgumentException", f"{message} {MAX_MINUTES} minutes: give fewer", field="cycles")
    if start.load_manager == "extensible":
        if start.rules.extensible:
            return None
        message = "this release has no extensible load manager"
        return Rejection("ClassNotFoundException", message, field="loadManagerClassName")
    return shedders.check_shedder(start.settings, start.rules) or check_placement(start.settings, start.rules)


def _assumptions(start: ShedStart, cycles: Iterable[AheadCycle]) -> tuple[Assumption, ...]:
    found: list[Assumption] = ["traffic-stays", "usage-moves-with-traffic"]
    if start.load_manager == "modular":
        found.append("averages-from-one-report" if start.state is None else "averages-from-reports")
    if start.lacking:
        found.append("loads-unknown")
    if start.from_metrics:
        found.append("loads-from-metrics")
    found.append("history-empty")
    if start.policies is None:
        found.append("policies-unknown")
    else:
        if "isolation" in start.policies.unknown:
            found.append("isolation-unknown")
        if "groups" in start.policies.unknown:
            found.append("groups-unknown")
        if "domains" in start.policies.unknown and start.settings.failureDomainsEnabled and start.policies.groups:
            found.append("domains-unknown")
    if any(cycle.otherwise is not None for cycle in cycles):
        found.append("map-order-unknown")
    return tuple(found)
