"""The shedders that compare a broker's usage: ``OverloadShedder`` with a limit, ``ThresholdShedder`` with the mean.

The second one goes by averages that remember earlier cycles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from engine.balance.brokers import BrokerLoad, divided, overload_usage, weighted_usage
from engine.balance.java_maps import MapOrder
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import BrokerVerdict, ShedPlan, ShedView, planned, take_bytes, with_bundles
from engine.bundles.algorithms import BYTES_PER_MBYTE
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

ADDITIONAL_SHARE: Final = 0.05
"""``ADDITIONAL_THRESHOLD_PERCENT_MARGIN``: how much further below the threshold a broker is brought."""
LOWER_BOUNDARY_SHARE: Final = 0.5
"""``LOWER_BOUNDARY_THRESHOLD_MARGIN``: the part of the threshold that the top broker loses at the lower boundary."""


@dataclass(frozen=True, slots=True)
class ThresholdMemory:
    """What ``ThresholdShedder`` keeps: the average usage of each broker, and the map of its plan."""

    averages: Mapping[str, float] = field(default_factory=dict)
    table: MapOrder = field(default_factory=lambda: MapOrder("hash"))

    def active(self, brokers: Collection[str]) -> ThresholdMemory:
        """The memory once only these brokers are alive (``onActiveBrokersChange``)."""
        kept = {broker: average for broker, average in self.averages.items() if broker in brokers}
        return replace(self, averages=kept)


def with_history(
    average: float | None,
    load: BrokerLoad,
    settings: LoadSettings,
    rules: LoadRules = CURRENT_LOAD_RULES,
) -> float:
    """A broker's average usage after one more look at its report; the first look is the average.

    Nine tenths of 50 % and one tenth of 100 %:

    >>> from engine.balance.brokers import ResourceUsage
    >>> round(with_history(0.5, BrokerLoad("b:1", cpu=ResourceUsage(100, 100)), LoadSettings()), 9)
    0.55
    """
    usage = weighted_usage(load, settings, rules, heap=True)
    if average is None:
        return usage
    kept = settings.loadBalancerHistoryResourcePercentage
    return average * kept + (1 - kept) * usage


def shed_threshold(
    memory: ThresholdMemory, view: ShedView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[ThresholdMemory, ShedPlan]:
    """One cycle. Exactly at the mean plus the threshold sheds.

    With ``lowerBoundarySheddingEnabled`` a cycle that found nothing updates all averages a second time before it looks
    for a broker far below the mean (bug pattern S01: history is forgotten twice as fast).
    """
    cycle = _Cycle(view, settings, rules, dict(memory.averages))
    mean = cycle.updated_mean()
    if mean == 0:
        verdicts = [
            BrokerVerdict(
                load.broker, "below-threshold", cycle.averages[load.broker], cycle.threshold, measure="usage-average"
            )
            for load in view.brokers
        ]
        return replace(memory, averages=cycle.averages), ShedPlan((), tuple(verdicts))
    verdicts = [cycle.judge(load, mean) for load in view.brokers]
    if settings.lowerBoundarySheddingEnabled and not any(verdict.unloaded for verdict in verdicts):
        verdicts = cycle.judged_at_lower_boundary(verdicts)
    table, plan = planned(memory.table, verdicts)
    return ThresholdMemory(cycle.averages, table), plan


@dataclass(slots=True)
class _Cycle:
    """The workings of one cycle; lives no longer than the call."""

    view: ShedView
    settings: LoadSettings
    rules: LoadRules
    averages: dict[str, float]

    @property
    def threshold(self) -> float:
        return self.settings.loadBalancerBrokerThresholdShedderPercentage / 100.0

    @property
    def least_bytes(self) -> float:
        return self.settings.loadBalancerBundleUnloadMinThroughputThreshold * BYTES_PER_MBYTE

    def updated_mean(self) -> float:
        """Take one more look at every broker; the mean of all averages, added in their order, NaN without brokers."""
        total = 0.0
        for load in self.view.brokers:
            average = with_history(self.averages.get(load.broker), load, self.settings, self.rules)
            self.averages[load.broker] = average
            total += average
        return divided(total, len(self.view.brokers))

    def judge(self, load: BrokerLoad, mean: float) -> BrokerVerdict:
        average, limit = self.averages[load.broker], mean + self.threshold
        if average < limit:
            return BrokerVerdict(load.broker, "below-threshold", average, limit, measure="usage-average")
        need = load.bytes_per_sec * (average - mean - self.threshold + ADDITIONAL_SHARE)
        judged = BrokerVerdict(
            load.broker, "below-minimum-traffic", average, limit, need, measure="usage-average", least=self.least_bytes
        )
        if need < self.least_bytes:
            return judged
        if len(load.bundles) < 2:
            return replace(judged, outcome="too-few-bundles")
        return with_bundles(judged, take_bytes(self.view, load, need))

    def judged_at_lower_boundary(self, before: list[BrokerVerdict]) -> list[BrokerVerdict]:
        """The verdicts once a broker far below the mean makes the top broker shed."""
        mean = self.updated_mean()
        lower = mean - self.threshold
        top: BrokerLoad | None = None
        highest = lower
        any_below = False
        for load in self.view.brokers:
            average = self.averages[load.broker]
            if average < lower:
                any_below = True
            elif len(load.bundles) >= 2 and average > highest:
                top, highest = load, average
        if top is None or not any_below:
            return before
        need = top.bytes_per_sec * self.threshold * LOWER_BOUNDARY_SHARE
        judged = BrokerVerdict(
            top.broker, "below-minimum-traffic", highest, lower, need, (), "lower-boundary", least=self.least_bytes
        )
        if not self.least_bytes > need:
            judged = with_bundles(judged, take_bytes(self.view, top, need))
        return [judged if verdict.broker == top.broker else verdict for verdict in before]


def shed_overload(
    table: MapOrder, view: ShedView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[MapOrder, ShedPlan]:
    """One cycle; ``table`` is the map of the plan, which keeps its size from cycle to cycle.

    Exactly at the limit is overloaded. Where the bundles go is not asked, so with every broker overloaded all shed.

    >>> from engine.balance.brokers import BrokerLoad, ResourceUsage
    >>> loads = tuple(BrokerLoad(f"b:{percent}", cpu=ResourceUsage(percent, 100)) for percent in (84, 86))
    >>> _, plan = shed_overload(MapOrder("hash"), ShedView.of(loads, {}), LoadSettings())
    >>> [verdict.outcome for verdict in plan.verdicts]
    ['below-threshold', 'too-few-bundles']
    """
    limit = settings.overload_limit
    verdicts: list[BrokerVerdict] = []
    for load in view.brokers:
        usage = overload_usage(load, settings, rules)
        if usage < limit:
            verdicts.append(BrokerVerdict(load.broker, "below-threshold", usage, limit))
        elif len(load.bundles) < 2:
            verdicts.append(BrokerVerdict(load.broker, "too-few-bundles", usage, limit))
        else:
            need = load.bytes_per_sec * (usage - limit + ADDITIONAL_SHARE)
            judged = BrokerVerdict(load.broker, "sheds", usage, limit, need)
            verdicts.append(with_bundles(judged, take_bytes(view, load, need)))
    return planned(table, verdicts)
