"""When a broker writes its load report anew: after a while, or because something in it has changed enough.

After ``ModularLoadManagerImpl.needBrokerDataUpdate`` and ``BrokerLoadDataReporter.needBrokerDataUpdate``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.balance.brokers import BrokerLoad
from engine.balance.settings import MS_PER_MINUTE, LoadSettings
from engine.bundles.loads import BothWays

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


def report_needed(last: ReportFigures, now: ReportFigures, age_ms: int, settings: LoadSettings) -> ReportReason | None:
    """Why a report is written now, or None when it is not.

    Exactly at a limit nothing is written. The usage is compared in percent points, the rest in percent; a change that
    is no number does not count.

    >>> report_needed(ReportFigures(usage=0.5), ReportFigures(usage=0.65), 0, LoadSettings())
    'usage'
    """
    if age_ms > settings.loadBalancerReportUpdateMaxIntervalMinutes * MS_PER_MINUTE:
        return "age"
    threshold = settings.loadBalancerReportUpdateThresholdPercentage
    return next((reason for reason, change in changes(last, now) if change > threshold), None)


def changes(last: ReportFigures, now: ReportFigures) -> tuple[tuple[ReportReason, float], ...]:
    """By how much each figure changed, in the order of the comparison."""
    return (
        ("message-rate", percent_change(last.msgs_per_sec, now.msgs_per_sec)),
        ("throughput", percent_change(last.bytes_per_sec, now.bytes_per_sec)),
        ("bundles", percent_change(last.bundles, now.bundles)),
        ("usage", 100 * abs(last.usage - now.usage)),
    )
