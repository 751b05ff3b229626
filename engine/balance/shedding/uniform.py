"""``UniformLoadShedder``: the broker with most traffic gives some to whoever takes it, if another has far less."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from engine.balance.brokers import BrokerLoad
from engine.balance.java_maps import MapOrder
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import (
    BrokerVerdict,
    BundleVerdict,
    Comparison,
    ShedPlan,
    ShedView,
    TrafficMeasure,
    falling,
    planned,
    with_bundles,
)
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

_HIGHEST_INT: Final = 2**31 - 1
_LOWEST_INT: Final = -(2**31)
_NOTHING: Final = 1e-6
"""``EPS``: a minimum no further than this from 0 counts as 1, so that it can divide."""


def java_int(value: float) -> int:
    """A double as a Java ``int``: the fraction cut off, too large values at the end of the range, NaN as 0.

    >>> java_int(-2.7), java_int(3e9)
    (-2, 2147483647)
    """
    if math.isnan(value):
        return 0
    return int(min(max(value, _LOWEST_INT), _HIGHEST_INT))


@dataclass(frozen=True, slots=True)
class Spread:
    """The broker with most of one measure, and what it and the one with least have; about nothing counts as 1."""

    busiest: BrokerLoad | None
    highest: float
    lowest: float


@dataclass(frozen=True, slots=True)
class Imbalance:
    """By how much one measure is uneven, its limit, and the broker that has most of it.

    Moving less than ``least`` is not worth an unload.
    """

    measure: TrafficMeasure
    spread: Spread
    figure: float
    limit: float
    least: float

    @property
    def comparison(self) -> Comparison:
        return "msgs-difference" if self.measure == "messages" else "bytes-ratio"

    @property
    def counts(self) -> bool:
        """Whether it is too much; a limit of 0 or less switches the measure off."""
        return self.limit > 0 and self.figure > self.limit

    def need(self, settings: LoadSettings) -> int:
        """How much is to be unloaded, in messages/s or bytes/s."""
        return java_int((self.spread.highest - self.spread.lowest) * settings.maxUnloadPercentage)

    def is_worth_it(self, settings: LoadSettings) -> bool:
        """Whether so much is to be unloaded that it may be."""
        return self.need(settings) >= self.least


def _msgs(load: BrokerLoad) -> float:
    return load.msgs_per_sec


def _bytes(load: BrokerLoad) -> float:
    return load.bytes_per_sec


def _spread(brokers: tuple[BrokerLoad, ...], measure: Callable[[BrokerLoad], float]) -> Spread:
    busiest: BrokerLoad | None = None
    highest, lowest = -1.0, float(_HIGHEST_INT)  # where Pulsar starts, so no minimum is above 2147483647
    for load in brokers:
        value = measure(load)
        if value > highest:
            busiest, highest = load, value
        lowest = min(lowest, value)
    return Spread(busiest, highest, _divisor(lowest))


def _mixed(brokers: tuple[BrokerLoad, ...]) -> tuple[Spread, Spread]:
    """One busiest and one idlest broker for both measures, as 2.11.0 found them (#21016).

    Each is replaced by a broker that is ahead of it in either measure, and both of its figures count then.
    """
    busiest: BrokerLoad | None = None
    high, low = (-1.0, -1.0), (float(_HIGHEST_INT), float(_HIGHEST_INT))
    for load in brokers:
        figures = (load.msgs_per_sec, load.bytes_per_sec)
        if figures[0] > high[0] or figures[1] > high[1]:
            busiest, high = load, figures
        if figures[0] < low[0] or figures[1] < low[1]:
            low = figures
    return Spread(busiest, high[0], _divisor(low[0])), Spread(busiest, high[1], _divisor(low[1]))


def _divisor(lowest: float) -> float:
    return 1.0 if -_NOTHING <= lowest <= _NOTHING else lowest


def shed_uniform(
    table: MapOrder, view: ShedView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[MapOrder, ShedPlan]:
    """One cycle; ``table`` is the map of the plan, which keeps its size from cycle to cycle.

    One broker sheds. The messages are asked first; if their difference is not large enough, the bytes. Idle bundles of
    the source always fit, so they all go (bug pattern S06).
    """
    if rules.uniform_source == "mixed":
        msgs, octets = _mixed(view.brokers)
    else:
        msgs, octets = _spread(view.brokers, _msgs), _spread(view.brokers, _bytes)
    by_msgs = Imbalance(
        "messages",
        msgs,
        (msgs.highest - msgs.lowest) * 100 / msgs.lowest,
        settings.loadBalancerMsgRateDifferenceShedderThreshold,
        settings.minUnloadMessage,
    )
    by_bytes = Imbalance(
        "bytes",
        octets,
        octets.highest / octets.lowest,
        settings.loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold,
        settings.minUnloadMessageThroughput,
    )
    reason = next((difference for difference in (by_msgs, by_bytes) if difference.counts), None)
    shown = reason or (by_msgs if by_msgs.limit > 0 else by_bytes)
    source = None if reason is None else reason.spread.busiest
    asked = (by_msgs, by_bytes) if rules.uniform_source == "mixed" else (reason,)
    worth_it = any(imbalance is not None and imbalance.is_worth_it(settings) for imbalance in asked)
    verdicts = [
        _judge(view, settings, rules, load, reason, worth_it=worth_it)
        if reason is not None and load is source
        else BrokerVerdict(
            load.broker,
            "below-threshold" if reason is None else "not-the-busiest",
            shown.figure,
            shown.limit,
            measure=shown.comparison,
        )
        for load in view.brokers
    ]
    return planned(table, verdicts)


def _judge(
    view: ShedView, settings: LoadSettings, rules: LoadRules, source: BrokerLoad, reason: Imbalance, *, worth_it: bool
) -> BrokerVerdict:
    need = reason.need(settings)
    judged = BrokerVerdict(
        source.broker, "too-few-bundles", reason.figure, reason.limit, need, (), reason.comparison, reason.measure,
        reason.least,
    )  # fmt: skip
    if len(source.bundles) < 2:
        return judged
    if not worth_it:
        return replace(judged, outcome="below-minimum-traffic")
    slack = rules.uniform_slack if reason.measure == "messages" else rules.uniform_bytes_slack
    candidates, passed = falling(view, source, reason.measure)
    maximum = settings.maxUnloadBundleNumPerShedding
    left, chosen = need, 0
    bundles: list[BundleVerdict] = []
    for bundle, traffic in candidates:
        if maximum != -1 and chosen >= maximum:
            bundles.append(BundleVerdict(bundle, "maximum-reached", traffic))
        elif traffic <= _wrapped(left + slack):
            bundles.append(BundleVerdict(bundle, "unloaded", traffic))
            chosen += 1
            left += java_int(-traffic)
        else:
            bundles.append(BundleVerdict(bundle, "too-large", traffic))
    # The other measure may have met its minimum, where one is enough.
    judged = judged if need >= reason.least else replace(judged, least=0.0)
    return with_bundles(judged, (*bundles, *passed))


def _wrapped(value: int) -> int:
    """As a sum of 32 bits, which begins anew at the other end."""
    return (value - _LOWEST_INT) % 2**32 + _LOWEST_INT
