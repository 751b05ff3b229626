"""The settings of ``ServiceConfiguration`` that both load managers read: times, limits, weights, strategies."""

# The names are Pulsar's own, as in engine.config.
# ruff: noqa: N815

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from msgspec.structs import fields, replace

from engine.answer import about
from engine.config import CURRENT, ReleaseBehaviour
from engine.errors import Rejection
from engine.load_rules import LoadRules
from engine.releases import by_last_part, current_default

if TYPE_CHECKING:
    from engine.bundles.plan import LoadManager

MS_PER_MINUTE = 60_000
MODULAR_CLASS: Final = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
EXTENSIBLE_CLASS: Final = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"


class BalanceSettings(Struct, frozen=True):
    """Intervals by their exact names, with Pulsar's defaults; what a cycle may do stands in ``BrokerSettings``.

    The first four matter to the modular load manager, the last one to the extensible one.
    """

    loadBalancerReportUpdateMinIntervalMillis: Annotated[
        int, about("How often a broker checks whether its report must be written, in milliseconds.", 1)
    ] = 5000
    loadBalancerReportUpdateThresholdPercentage: Annotated[
        int, about("By how many percent the totals must have moved for that.")
    ] = 10
    loadBalancerReportUpdateMaxIntervalMinutes: Annotated[
        int, about("After how many minutes it is written at the latest.", 1)
    ] = 15
    loadBalancerResourceQuotaUpdateIntervalMinutes: Annotated[
        int, about("After how many minutes the leader stores averages, with one more sample of each bundle.", 1)
    ] = 15
    loadBalancerSplitIntervalMinutes: Annotated[int, about("Minutes from one cycle to the next.", 1)] = 1

    def interval_ms(self, load_manager: LoadManager) -> int:
        """From one cycle of steady traffic to the next, in milliseconds.

        >>> BalanceSettings().interval_ms("modular"), BalanceSettings().interval_ms("extensible")
        (900000, 60000)
        """
        if load_manager == "extensible":
            return self.loadBalancerSplitIntervalMinutes * MS_PER_MINUTE
        # A broker only looks every so often, so the longest interval is no shorter than that.
        return max(
            self.loadBalancerReportUpdateMaxIntervalMinutes * MS_PER_MINUTE,
            self.loadBalancerReportUpdateMinIntervalMillis,
        )

    def check(self) -> Rejection | None:
        """None when every interval is above 0; Pulsar's timers refuse others (IllegalArgumentException)."""
        for name in (
            "loadBalancerReportUpdateMinIntervalMillis",
            "loadBalancerReportUpdateMaxIntervalMinutes",
            "loadBalancerResourceQuotaUpdateIntervalMinutes",
            "loadBalancerSplitIntervalMinutes",
        ):
            if getattr(self, name) <= 0:
                message = f"an interval of {getattr(self, name)} is not a time between two cycles: give 1 or more"
                return Rejection("IllegalArgumentException", message, field=name)
        return None


class LoadSettings(Struct, frozen=True):
    """What shedding, placement and load reports are ruled by, under Pulsar's exact names.

    The defaults are those of the release ``CURRENT``; ``default_load_settings`` has those of others.

    Percentages are whole numbers of 100, thresholds of throughput are in 1048576 bytes/s where the name does not say
    otherwise (``loadBalancerBundleUnloadMinThroughputThreshold``) and bytes/s in ``minUnloadMessageThroughput``.
    Strategies go by the last part of their class name. ``loadBalancerBandwith...`` is the old spelling, which counts
    while the new one is exactly 1.0.
    """

    loadBalancerEnabled: bool = True
    loadBalancerSheddingEnabled: bool = True
    loadBalancerSheddingIntervalMinutes: int = 1
    loadBalancerSheddingGracePeriodMinutes: int = 30
    loadBalancerSheddingExcludedNamespaces: tuple[str, ...] = ()
    loadBalancerLoadSheddingStrategy: str = current_default("loadBalancerLoadSheddingStrategy")
    loadBalancerLoadPlacementStrategy: str = current_default("loadBalancerLoadPlacementStrategy")
    loadBalancerDistributeBundlesEvenlyEnabled: bool = current_default("loadBalancerDistributeBundlesEvenlyEnabled")
    loadBalancerBrokerMaxTopics: int = 50000
    loadBalancerBrokerOverloadedThresholdPercentage: int = 85
    loadBalancerBrokerThresholdShedderPercentage: int = 10
    loadBalancerAverageResourceUsageDifferenceThresholdPercentage: int = 10
    loadBalancerHistoryResourcePercentage: float = 0.9
    loadBalancerBundleUnloadMinThroughputThreshold: float = 10.0
    lowerBoundarySheddingEnabled: bool = False
    loadBalancerMsgRateDifferenceShedderThreshold: float = 50.0
    loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold: float = 4.0
    minUnloadMessage: int = 1000
    minUnloadMessageThroughput: int = 1048576
    maxUnloadPercentage: float = current_default("maxUnloadPercentage")
    maxUnloadBundleNumPerShedding: int = -1
    loadBalancerAvgShedderLowThreshold: int = 15
    loadBalancerAvgShedderHighThreshold: int = 40
    loadBalancerAvgShedderHitCountLowThreshold: int = 8
    loadBalancerAvgShedderHitCountHighThreshold: int = 2
    loadBalancerCPUResourceWeight: float = 1.0
    loadBalancerMemoryResourceWeight: float = current_default("loadBalancerMemoryResourceWeight")
    loadBalancerDirectMemoryResourceWeight: float = current_default("loadBalancerDirectMemoryResourceWeight")
    loadBalancerBandwidthInResourceWeight: float = 1.0
    loadBalancerBandwidthOutResourceWeight: float = 1.0
    loadBalancerBandwithInResourceWeight: float = 1.0
    loadBalancerBandwithOutResourceWeight: float = 1.0
    loadBalancerReportUpdateThresholdPercentage: Annotated[
        int, about("By how many percent the totals must have moved for that.")
    ] = 10
    loadBalancerReportUpdateMaxIntervalMinutes: Annotated[
        int, about("After how many minutes it is written at the latest.", 1)
    ] = 15
    loadBalancerBrokerLoadTargetStd: float = 0.25
    loadBalancerSheddingConditionHitCountThreshold: int = 3
    loadBalancerMaxNumberOfBrokerSheddingPerCycle: int = 3
    loadBalancerTransferEnabled: bool = True
    loadBalanceSheddingDelayInSeconds: int = 180
    loadBalancerBrokerLoadDataTTLInSeconds: int = 1800
    loadBalancerMaxNumberOfBundlesInBundleLoadReport: int = 10
    loadBalancerSheddingBundlesWithPoliciesEnabled: bool = False
    loadBalancerDebugModeEnabled: bool = False
    loadManagerClassName: str = MODULAR_CLASS
    preferLaterVersions: bool = False
    failureDomainsEnabled: bool = False

    def bandwidth_weights(self, rules: LoadRules) -> tuple[float, float]:
        """The weights of incoming and outgoing bandwidth that count, by the spellings that the release knows.

        >>> settings = LoadSettings(loadBalancerBandwidthInResourceWeight=0.5)
        >>> [settings.bandwidth_weights(LoadRules(old_bandwidth_spelling_only=old)) for old in (True, False)]
        [(1.0, 1.0), (0.5, 1.0)]
        """
        old = (self.loadBalancerBandwithInResourceWeight, self.loadBalancerBandwithOutResourceWeight)
        if rules.old_bandwidth_spelling_only:
            return old
        inward, outward = self.loadBalancerBandwidthInResourceWeight, self.loadBalancerBandwidthOutResourceWeight
        return (old[0] if inward == 1.0 else inward, old[1] if outward == 1.0 else outward)

    @property
    def overload_limit(self) -> float:
        """From which share of its resources a broker is overloaded."""
        return self.loadBalancerBrokerOverloadedThresholdPercentage / 100.0

    def with_setting(self, name: str, text: str) -> LoadSettings | Rejection:
        """These settings with one changed; ``text`` is what a line of broker.conf has after the ``=``.

        Refused: an unknown name, and a text of another type. Java reads ``NaN`` and ``Infinity`` as numbers as well.

        >>> LoadSettings().with_setting("minUnloadMessage", "10").minUnloadMessage
        10
        """
        if name not in LOAD_SETTING_DEFAULTS:
            return Rejection("UnknownSetting", f"no setting {name!r} of the load managers is known here", field=name)
        default = LOAD_SETTING_DEFAULTS[name]
        value = _parsed(text.strip(), default)
        if value is None:
            return Rejection("IllegalArgumentException", f"{text!r} is not {_kind_of(default)}", field=name)
        if name in _STRATEGIES:
            value = str(value).rpartition(".")[2]
        return replace(self, **{name: value})


_Value = bool | int | float | str | tuple[str, ...]
LOAD_SETTING_DEFAULTS: Final[dict[str, _Value]] = {
    field.name: getattr(LoadSettings(), field.name) for field in fields(LoadSettings)
}
_STRATEGIES: Final = ("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy")
_INT_32: Final = range(-(2**31), 2**31)


def _parsed(text: str, like: _Value) -> _Value | None:
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower())
    if isinstance(like, int):
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,11}", text) and int(text) in _INT_32 else None
    if isinstance(like, float):
        number = r"[+-]?(NaN|Infinity|([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,5})?)"
        return float(text) if re.fullmatch(number, text, re.ASCII) else None
    if isinstance(like, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _kind_of(like: _Value) -> str:
    if isinstance(like, bool):
        return "true or false"
    return "a number" if isinstance(like, float) else "a whole number of 32 bits"


def default_load_settings(behaviour: ReleaseBehaviour = CURRENT) -> LoadSettings:
    """The settings of a broker of one release whose broker.conf changes none.

    >>> from engine.config import behaviour_of
    >>> default_load_settings(behaviour_of("3.0.7")).loadBalancerDirectMemoryResourceWeight
    1.0
    """
    known = {name: by_last_part(value) for name, value in behaviour.defaults.values() if name in LOAD_SETTING_DEFAULTS}
    return replace(LoadSettings(), **known)
