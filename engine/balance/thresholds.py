"""The thresholds of each shedder: their units, and the ranges in which they make sense.

A broker takes values outside a range as well; there a shedder acts always, never, or on everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from engine.balance.placement.strategies import LEAST_RESOURCE
from engine.balance.settings import LOAD_SETTING_DEFAULTS, LoadSettings
from engine.balance.shedding.strategies import AVERAGE, OVERLOAD, THRESHOLD, TRANSFER, UNIFORM
from engine.bundles.algorithms import BYTES_PER_MBYTE

_POINTS: Final = "percent points"
_SHARE: Final = "as a share"
_CYCLES: Final = "cycles"
_BUNDLES: Final = "bundles"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A setting with its unit, "" for one that is true or false; ``low`` to ``high`` in steps of ``step``."""

    name: str
    unit: str
    low: float
    high: float
    step: float
    note: str = ""

    @property
    def is_switch(self) -> bool:
        return isinstance(LOAD_SETTING_DEFAULTS[self.name], bool)

    def share_of(self, text: str) -> float | None:
        """Where a value is in the range, from 0 to 1 even for one outside; None for a text that is not a value.

        >>> threshold_of("loadBalancerSheddingGracePeriodMinutes").share_of("30")
        0.25
        """
        value = self._number(text)
        if value is None:
            return None
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def stepped(self, text: str, steps: int) -> str:
        """The value some steps further, kept inside the range; a text that is not a value becomes the default.

        >>> threshold_of("loadBalancerHistoryResourcePercentage").stepped("0.9", 1)
        '0.95'
        >>> threshold_of("lowerBoundarySheddingEnabled").stepped("false", 1)
        'true'
        """
        value = self._number(text)
        if value is None:
            value = float(LOAD_SETTING_DEFAULTS[self.name])  # type: ignore[arg-type]
        else:
            # From a value between two steps the next one is a whole step, so that round numbers are reached.
            places = (value - self.low) / self.step
            near = round(places)
            whole = near if abs(places - near) < 1e-9 else int(places) + (1 if steps < 0 else 0)
            value = self.low + (whole + steps) * self.step
        value = min(max(value, self.low), self.high)
        if self.is_switch:
            return "true" if value >= 1 else "false"
        if isinstance(LOAD_SETTING_DEFAULTS[self.name], int):
            return str(round(value))
        return str(round(float(value), 6))

    def _number(self, text: str) -> float | None:
        changed = LoadSettings().with_setting(self.name, text)
        if not isinstance(changed, LoadSettings):
            return None
        value = float(getattr(changed, self.name))
        return value if math.isfinite(value) else None


_ALL: Final = (
    Threshold("loadBalancerBrokerThresholdShedderPercentage", _POINTS, 0, 100, 1, "more than the mean usage"),
    Threshold("loadBalancerBundleUnloadMinThroughputThreshold", "MiB/s", 0, 200, 1, "smaller unloads are not made"),
    Threshold("loadBalancerHistoryResourcePercentage", _SHARE, 0, 1, 0.05, "the weight of the previous average"),
    Threshold("lowerBoundarySheddingEnabled", "", 0, 1, 1, "shed also when a broker is far below the mean"),
    Threshold(
        "loadBalancerBrokerOverloadedThresholdPercentage", "percent", 0, 100, 1, "a broker above it is overloaded"
    ),
    Threshold(
        "loadBalancerMsgRateDifferenceShedderThreshold", "percent", 0, 500, 5, "more than the idlest broker; 0 is off"
    ),
    Threshold(
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
        "times",
        0,
        20,
        0.5,
        "as much as the idlest broker; 0 is off",
    ),
    Threshold("maxUnloadPercentage", _SHARE, 0, 1, 0.05, "of the difference is moved in a cycle"),
    Threshold("minUnloadMessage", "msg/s", 0, 10_000, 100, "smaller unloads are not made"),
    Threshold(
        "minUnloadMessageThroughput",
        "bytes/s",
        0,
        100 * BYTES_PER_MBYTE,
        BYTES_PER_MBYTE,
        "smaller unloads are not made",
    ),
    Threshold("maxUnloadBundleNumPerShedding", _BUNDLES, -1, 100, 1, "at most in a cycle; -1 is no limit"),
    Threshold("loadBalancerAvgShedderLowThreshold", _POINTS, 0, 100, 1, "between two brokers"),
    Threshold("loadBalancerAvgShedderHighThreshold", _POINTS, 0, 100, 1, "between two brokers"),
    Threshold("loadBalancerAvgShedderHitCountLowThreshold", _CYCLES, 0, 30, 1, "in a row above the low threshold"),
    Threshold("loadBalancerAvgShedderHitCountHighThreshold", _CYCLES, 0, 30, 1, "in a row above the high threshold"),
    Threshold(
        "loadBalancerBrokerLoadTargetStd", _SHARE, 0, 1, 0.05, "the standard deviation of loads that is still even"
    ),
    Threshold(
        "loadBalancerSheddingConditionHitCountThreshold", _CYCLES, 0, 30, 1, "in a row may be uneven before it acts"
    ),
    Threshold("loadBalancerMaxNumberOfBrokerSheddingPerCycle", "pairs", 0, 20, 1, "of brokers at most in a cycle"),
    Threshold("loadBalanceSheddingDelayInSeconds", "s", 0, 1_800, 30, "a broker is left alone after an unload"),
    Threshold("loadBalancerBrokerLoadDataTTLInSeconds", "s", 0, 7_200, 60, "older load data is ignored"),
    Threshold(
        "loadBalancerMaxNumberOfBundlesInBundleLoadReport", _BUNDLES, 0, 100, 1, "at most in the report of a broker"
    ),
    Threshold("loadBalancerTransferEnabled", "", 0, 1, 1, "hand bundles to the emptier broker of a pair"),
    Threshold(
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage",
        _POINTS,
        0,
        100,
        1,
        "less than the mean usage",
    ),
    Threshold("loadBalancerSheddingGracePeriodMinutes", "min", 0, 120, 5, "a bundle is left alone after an unload"),
    Threshold("loadBalancerSheddingIntervalMinutes", "min", 1, 60, 1, "from one cycle to the next"),
)
_BY_NAME: Final = {threshold.name: threshold for threshold in _ALL}
_OF_SHEDDERS: Final[dict[str, tuple[str, ...]]] = {
    THRESHOLD: (
        "loadBalancerBrokerThresholdShedderPercentage",
        "loadBalancerBundleUnloadMinThroughputThreshold",
        "loadBalancerHistoryResourcePercentage",
        "lowerBoundarySheddingEnabled",
    ),
    OVERLOAD: ("loadBalancerBrokerOverloadedThresholdPercentage",),
    UNIFORM: (
        "loadBalancerMsgRateDifferenceShedderThreshold",
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
        "maxUnloadPercentage",
        "minUnloadMessage",
        "minUnloadMessageThroughput",
        "maxUnloadBundleNumPerShedding",
    ),
    AVERAGE: (
        "loadBalancerAvgShedderLowThreshold",
        "loadBalancerAvgShedderHighThreshold",
        "loadBalancerAvgShedderHitCountLowThreshold",
        "loadBalancerAvgShedderHitCountHighThreshold",
        "maxUnloadPercentage",
        "minUnloadMessage",
        "minUnloadMessageThroughput",
    ),
    TRANSFER: (
        "loadBalancerBrokerLoadTargetStd",
        "loadBalancerSheddingConditionHitCountThreshold",
        "loadBalancerMaxNumberOfBrokerSheddingPerCycle",
        "loadBalanceSheddingDelayInSeconds",
        "loadBalancerBrokerOverloadedThresholdPercentage",
        "loadBalancerHistoryResourcePercentage",
        "loadBalancerBrokerLoadDataTTLInSeconds",
        "loadBalancerMaxNumberOfBundlesInBundleLoadReport",
        "loadBalancerTransferEnabled",
    ),
}
_OF_ALL: Final = ("loadBalancerSheddingGracePeriodMinutes", "loadBalancerSheddingIntervalMinutes")


def threshold_of(name: str) -> Threshold:
    """Look a threshold up. Raises ``KeyError`` for a setting that is not a threshold."""
    return _BY_NAME[name]


def thresholds_of(shedder: str, placement: str | None) -> tuple[Threshold, ...]:
    """The thresholds of a shedder and its placement, in the order of the dialog.

    ``placement``: the strategy of the modular load manager, None for the extensible one.
    """
    placing = ("loadBalancerAverageResourceUsageDifferenceThresholdPercentage",)
    names = (*_OF_SHEDDERS.get(shedder, ()), *(placing if placement in (None, LEAST_RESOURCE) else ()), *_OF_ALL)
    return tuple(_BY_NAME[name] for name in names)


_LIMITS: Final[dict[str, str]] = {
    "msgs-difference": "loadBalancerMsgRateDifferenceShedderThreshold",
    "bytes-ratio": "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
    "usage-difference": "loadBalancerAvgShedderLowThreshold",
    "low-hits": "loadBalancerAvgShedderHitCountLowThreshold",
    "high-hits": "loadBalancerAvgShedderHitCountHighThreshold",
    "usage": "loadBalancerBrokerOverloadedThresholdPercentage",
    "usage-average": "loadBalancerBrokerThresholdShedderPercentage",
    "lower-boundary": "loadBalancerBrokerThresholdShedderPercentage",
}


def limit_setting(measure: str) -> str:
    """The setting that the limit of a comparison comes from, "" for a comparison without one.

    >>> limit_setting("usage")
    'loadBalancerBrokerOverloadedThresholdPercentage'
    """
    return _LIMITS.get(measure, "")


def least_setting(shedder: str, measure: str) -> str:
    """The setting that says how much must move for an unload to be made: of messages/s or of bytes/s."""
    if shedder == THRESHOLD:
        return "loadBalancerBundleUnloadMinThroughputThreshold"
    return "minUnloadMessage" if measure == "messages" else "minUnloadMessageThroughput"
