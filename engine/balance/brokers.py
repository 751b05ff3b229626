"""What a broker reports of itself, and how loaded that makes it: percents, weighted usage, averages over its bundles.

After ``ResourceUsage``, ``LocalBrokerData``, ``BrokerLoadData`` and ``TimeAverageBrokerData``. Rates are messages/s,
throughput is bytes/s; a usage of 1.0 is the whole of a resource.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from ctypes import c_float
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from engine.balance.averages import (
    DEFAULT_MESSAGE_RATE,
    DEFAULT_MESSAGE_THROUGHPUT,
    BundleData,
    TimeAverageMessageData,
)
from engine.balance.limits import BundleStats
from engine.balance.settings import MS_PER_MINUTE, LoadSettings
from engine.bundles.loads import BothWays
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

if TYPE_CHECKING:
    from engine.bundles.plan import LoadManager


def float32(value: float) -> float:
    """A double rounded to a Java ``float``; too large becomes infinite."""
    return c_float(value).value


def divided(dividend: float, divisor: float) -> float:
    """The quotient of two doubles as Java gives it: infinite or NaN where Python refuses to divide by 0.

    >>> divided(1.0, 0.0), divided(-1.0, 0.0), divided(0.0, 0.0)
    (inf, -inf, nan)
    """
    if divisor:
        return dividend / divisor
    if not dividend or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """How much of a resource is used, and how much there is, in the same unit; a limit of 0 or less is unknown."""

    usage: float = 0.0
    limit: float = 0.0

    @property
    def percent(self) -> float:
        """The used part of 100, in 32-bit floats as Java computes it, so 53 of 100 is a little less than 53 %.

        >>> ResourceUsage(53.0, 100.0).percent < 53.0 < ResourceUsage(54.0, 100.0).percent
        True
        >>> ResourceUsage(7.0, -1.0).percent
        0.0
        """
        if not self.limit > 0:
            return 0.0
        return float32(float32(divided(float32(self.usage), float32(self.limit))) * 100)


UNUSED: Final = ResourceUsage()


@dataclass(frozen=True, slots=True)
class BrokerLoad(BothWays):
    """One broker's load report: its id (``host:webport``), resources, total traffic and bundles.

    ``bundles`` in the order of the report; ``stats`` has what is reported of each, ``topics`` their total. ``version``
    and ``load_manager`` are what the broker says it runs, None when it does not say. ``load_average`` is the moving
    average of its load (``weightedMaxEMA``), which only the extensible manager's brokers measure.
    """

    broker: str
    cpu: ResourceUsage = UNUSED
    memory: ResourceUsage = UNUSED
    direct_memory: ResourceUsage = UNUSED
    bandwidth_in: ResourceUsage = UNUSED
    bandwidth_out: ResourceUsage = UNUSED
    msg_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    throughput_in_bytes_per_sec: float = 0.0
    throughput_out_bytes_per_sec: float = 0.0
    bundles: tuple[str, ...] = ()
    stats: tuple[BundleStats, ...] = ()
    topics: int = 0
    version: str | None = None
    load_manager: str | None = None
    persistent_topics: bool = True
    non_persistent_topics: bool = True
    load_average: float | None = None


def report_of(broker: str, stats: Iterable[BundleStats], **members: object) -> BrokerLoad:
    """A report whose totals are the sums of its bundles in their order, as a broker writes it."""
    listed = tuple(stats)
    sums = [0.0, 0.0, 0.0, 0.0]
    for bundle in listed:
        sums[0] += bundle.msg_rate_in
        sums[1] += bundle.msg_rate_out
        sums[2] += bundle.throughput_in_bytes_per_sec
        sums[3] += bundle.throughput_out_bytes_per_sec
    return BrokerLoad(
        broker,
        msg_rate_in=sums[0],
        msg_rate_out=sums[1],
        throughput_in_bytes_per_sec=sums[2],
        throughput_out_bytes_per_sec=sums[3],
        bundles=tuple(bundle.bundle for bundle in listed),
        stats=listed,
        topics=sum(bundle.topics for bundle in listed),
        **members,  # type: ignore[arg-type]
    )


def max_usage(load: BrokerLoad) -> float:
    """The largest of the four percents, as a share (``getMaxResourceUsage``): 32-bit floats, heap memory left out.

    Minus infinity if all are NaN.
    """
    return float32(_highest(_four_percents(load)) / 100)


def weighted_usage(
    load: BrokerLoad, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES, *, heap: bool = False
) -> float:
    """The largest weighted percent, as a share (``getMaxResourceUsageWithWeight``); minus infinity if all are NaN.

    ``heap``: heap memory takes part by its own weight, as where the release compares averages
    (``rules.heap_memory_counts``).

    >>> weighted_usage(BrokerLoad("b:1", cpu=ResourceUsage(50, 100)), LoadSettings(loadBalancerCPUResourceWeight=0.5))
    0.25
    """
    cpu, direct, inward, outward = _four_percents(load)
    weight_in, weight_out = settings.bandwidth_weights(rules)
    weighted = [
        cpu * settings.loadBalancerCPUResourceWeight,
        direct * settings.loadBalancerDirectMemoryResourceWeight,
        inward * weight_in,
        outward * weight_out,
    ]
    if heap and rules.heap_memory_counts:
        weighted.append(load.memory.percent * settings.loadBalancerMemoryResourceWeight)
    return _highest(weighted) / 100


def overload_usage(load: BrokerLoad, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES) -> float:
    """The usage that is compared with the overload limit, and that decides whether a report is written."""
    return weighted_usage(load, settings, rules) if rules.overload_usage == "weighted" else max_usage(load)


def _four_percents(load: BrokerLoad) -> tuple[float, float, float, float]:
    return load.cpu.percent, load.direct_memory.percent, load.bandwidth_in.percent, load.bandwidth_out.percent


def _highest(values: Iterable[float]) -> float:
    highest = -math.inf
    for value in values:
        highest = max(highest, value)  # in this order NaN takes no part
    return highest


@dataclass(frozen=True, slots=True)
class BrokerLoadAverage:
    """What a broker of the extensible manager publishes of itself (``BrokerLoadData``).

    ``load`` (``weightedMaxEMA``) and ``throughput_average`` are moving averages, ``max_usage`` is the last unweighted
    usage. Before the first update after a start or a reset both usages are 1.0 and the throughput is 0.
    """

    load: float = 1.0
    throughput_average: float = 0.0
    max_usage: float = 1.0
    has_history: bool = False

    def updated(
        self, load: BrokerLoad, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
    ) -> BrokerLoadAverage:
        """One update later. The share of history counts per update, whatever the time between two."""
        weight_in, weight_out = settings.bandwidth_weights(rules)
        percents = (
            load.cpu.percent * settings.loadBalancerCPUResourceWeight,
            load.memory.percent * settings.loadBalancerMemoryResourceWeight,
            load.direct_memory.percent * settings.loadBalancerDirectMemoryResourceWeight,
            load.bandwidth_in.percent * weight_in,
            load.bandwidth_out.percent * weight_out,
        )
        kept = settings.loadBalancerHistoryResourcePercentage

        def mixed(average: float, value: float) -> float:
            return average * kept + (1 - kept) * value if self.has_history else value

        return BrokerLoadAverage(
            mixed(self.load, _highest(percents) / 100),
            mixed(self.throughput_average, load.bytes_per_sec),
            _highest(_four_percents(load)) / 100,
            True,
        )


def time_average(
    bundles: Iterable[str], data: Mapping[str, BundleData], *, short_term: bool = False
) -> TimeAverageMessageData:
    """The sum of the averages of a broker's bundles, in report order (``TimeAverageBrokerData``).

    A bundle nobody knows counts as much as a new one: 50 msg/s and 50000 bytes/s each way.
    """
    sums = [0.0, 0.0, 0.0, 0.0]
    for bundle in bundles:
        known = data.get(bundle)
        if known is None:
            rates = (DEFAULT_MESSAGE_RATE, DEFAULT_MESSAGE_RATE, DEFAULT_MESSAGE_THROUGHPUT, DEFAULT_MESSAGE_THROUGHPUT)
        else:
            average = known.short_term if short_term else known.long_term
            rates = (
                average.msg_rate_in,
                average.msg_rate_out,
                average.throughput_in_bytes_per_sec,
                average.throughput_out_bytes_per_sec,
            )
        for place, rate in enumerate(rates):
            sums[place] += rate
    return TimeAverageMessageData(1, 0, *sums)


ReportReason = Literal["age", "message-rate", "throughput", "bundles", "usage"]


@dataclass(frozen=True, slots=True)
class ReportFigures(BothWays):
    """What of a report is compared with the next one.

    ``usage`` is the share used of the busiest resource: :func:`engine.balance.brokers.overload_usage` for the modular
    manager, ``BrokerLoadAverage.max_usage`` for the extensible one, whose last report is the last one published.
    """

    usage: float = 0.0
    msg_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    throughput_in_bytes_per_sec: float = 0.0
    throughput_out_bytes_per_sec: float = 0.0
    bundles: int = 0


def figures_of(load: BrokerLoad, usage: float) -> ReportFigures:
    """What of a broker's report is compared with its next one."""
    rates = (load.msg_rate_in, load.msg_rate_out, load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec)
    return ReportFigures(usage, *rates, bundles=len(load.bundles))


def percent_change(before: float, now: float) -> float:
    """By how many percent a number changed; infinite from 0, and 0 from 0 to 0.

    >>> percent_change(200.0, 150.0), percent_change(0.0, 1.0)
    (25.0, inf)
    """
    if before == 0:
        return 0.0 if now == 0 else math.inf
    return 100 * abs((before - now) / before)


def report_needed(
    last: ReportFigures,
    now: ReportFigures,
    age_ms: int,
    settings: LoadSettings,
    load_manager: LoadManager = "modular",
) -> ReportReason | None:
    """Why a report is written now, or None when it is not.

    Exactly at a limit nothing is written. The usage is compared in percent points, the rest in percent. A change that
    is not a number does not count to the modular manager, and hides all others from the extensible one.

    >>> report_needed(ReportFigures(usage=0.5), ReportFigures(usage=0.65), 0, LoadSettings())
    'usage'
    """
    if age_ms > settings.loadBalancerReportUpdateMaxIntervalMinutes * MS_PER_MINUTE:
        return "age"
    threshold = settings.loadBalancerReportUpdateThresholdPercentage
    found = changes(last, now)
    if load_manager == "extensible" and any(math.isnan(change) for _, change in found):
        return None
    return next((reason for reason, change in found if change > threshold), None)


def changes(last: ReportFigures, now: ReportFigures) -> tuple[tuple[ReportReason, float], ...]:
    """By how much each figure changed, in the order of the comparison."""
    return (
        ("message-rate", percent_change(last.msgs_per_sec, now.msgs_per_sec)),
        ("throughput", percent_change(last.bytes_per_sec, now.bytes_per_sec)),
        ("bundles", percent_change(last.bundles, now.bundles)),
        ("usage", 100 * abs(last.usage - now.usage)),
    )
