"""Rules about settings: those that are unknown, without use, or against each other, and what a shedder needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from engine.balance.limits import bandwidth_finding, bandwidth_limit
from engine.balance.placement.strategies import LEAST_RATE
from engine.balance.settings import MS_PER_MINUTE, LoadSettings, default_load_settings
from engine.balance.shedding.strategies import MODULAR_SHEDDERS, TRANSFER
from engine.config import FLAG
from engine.errors import Rejection
from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.lint.setting_names import is_new, is_read, spans
from engine.releases import SETTINGS
from engine.text import counted, joined


def bandwidth_limit_overflow(world: World) -> Iterator[Finding]:
    """A bandwidth limit of 2048 binary megabytes or more does not fit the 32 bits in which it is multiplied.

    One finding for the limit of all brokers: what was meant, and what both load managers compare with. O(1).

    >>> from engine.config import BrokerSettings
    >>> large = World(BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048))
    >>> [finding.number("compared_bytes_per_sec") for finding in bandwidth_limit_overflow(large)]
    [-2147483648]
    """
    refusal = bandwidth_finding(world.settings)
    if refusal is None:
        return
    limit = bandwidth_limit(world.settings)
    numbers = (
        ("mbytes_per_sec", limit.mbytes),
        ("meant_bytes_per_sec", limit.bytes_per_sec),
        ("compared_bytes_per_sec", limit.pulsar_bytes_per_sec),
    )
    advice = "set loadBalancerNamespaceBundleMaxBandwidthMbytes to 2047 or less"
    yield Finding(
        BANDWIDTH_LIMIT_OVERFLOW.id, Severity.ERROR, f"{refusal.field}: {refusal.message}", Where(), numbers, advice
    )


BANDWIDTH_LIMIT_OVERFLOW: Final = Rule(
    "bandwidth-limit-overflow",
    "loadBalancerNamespaceBundleMaxBandwidthMbytes is 2048 or more and overflows",
    Severity.ERROR,
    "BundleSplitterTask, DefaultNamespaceBundleSplitStrategyImpl",
    bandwidth_limit_overflow,
)


def setting_not_read(world: World) -> Iterator[Finding]:
    """A setting that this release has no more, or not yet, does nothing.

    A finding for each setting of another release. O(settings).

    >>> [finding.what for finding in setting_not_read(World(configuration={"streamingDispatch": "true"}))]
    ['streamingDispatch=true does nothing: Pulsar 3.0 was the last release with it']
    """
    if not world.names_are_chosen:
        return  # a broker prints what it reads
    release = world.behaviour.label
    known, chosen = spans(), world.chosen
    for name, value in world.configuration.items():
        lacks = (
            world.behaviour.defaults.lacks(name) if name in SETTINGS else name in known and not is_read(name, release)
        )
        if not lacks or (world.has_default(name) and name not in chosen):
            continue
        if name == FLAG:
            continue  # failover-flag-unknown says what it means for subscriptions
        if name not in known:
            reason, advice = f"Pulsar {release} does not have it", "take it out"
        elif is_new(name, release):
            reason, advice = f"it comes with Pulsar {known[name].since}", f"leave it out of brokers of {release}"
        else:
            reason, advice = f"Pulsar {known[name].until} was the last release with it", "take it out"
        what = f"{name}={value} does nothing: {reason}"
        yield Finding(SETTING_NOT_READ.id, Severity.WARNING, what, Where(), (), advice)


SETTING_NOT_READ: Final = Rule(
    "setting-not-in-release",
    "A setting is not of the release in force",
    Severity.WARNING,
    "ServiceConfiguration",
    setting_not_read,
)


_NEAR: Final = 0.88


def setting_unknown(world: World) -> Iterator[Finding]:
    """A name that no release has is read by nobody: mostly it is spelt wrong.

    A finding for each name that is nearly one of Pulsar's, and one for all others. O(settings x names).

    >>> [finding.severity.label for finding in setting_unknown(World(configuration={"loadBalancerEnable": "true"}))]
    ['warning']
    """
    if not world.names_are_chosen:
        return  # a broker prints what it knows
    known = spans()
    unknown = [name for name in world.configuration if name not in known]
    others: list[str] = []
    for name in unknown:
        near = get_close_matches(name, known, n=1, cutoff=_NEAR)
        if near and near[0] not in world.configuration:
            what = f"no release has a setting {name}, so {name}={world.configuration[name]} does nothing"
            yield Finding(SETTING_UNKNOWN.id, Severity.WARNING, what, Where(), (), f"did you mean {near[0]}?")
        else:
            others.append(name)
    if others:
        what = f"{counted(len(others), 'name')} that no release of Pulsar has: {joined(others)}"
        advice = "leave them out, unless a plugin of these brokers reads them"
        yield Finding(SETTING_UNKNOWN.id, Severity.INFO, what, Where(), (("names", len(others)),), advice)


SETTING_UNKNOWN: Final = Rule(
    "setting-unknown",
    "A setting has a name that no release knows",
    Severity.WARNING,
    "ServiceConfiguration",
    setting_unknown,
)


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


def setting_without_use(world: World) -> Iterator[Finding]:
    """A setting that belongs to another shedder, placement or load manager than the one in force does nothing.

    A finding for each changed setting that nothing in force reads. A default says nothing: brokers print all.

    >>> [finding.rule for finding in setting_without_use(World(configuration={"maxUnloadBundleNumPerShedding": "5"}))]
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
        yield Finding(
            SETTING_WITHOUT_USE.id, Severity.INFO, what, Where(), (), f"take it out, or set what {shedder} reads"
        )


SETTING_WITHOUT_USE: Final = Rule(
    "setting-without-use",
    "A setting belongs to another shedder or load manager",
    Severity.INFO,
    "ServiceConfiguration, strategies",
    setting_without_use,
)


_Check = Callable[[World, Mapping[str, str]], tuple[Severity, str, str] | None]


def _number(settings: Mapping[str, str], name: str) -> float | None:
    try:
        return float(settings[name])
    except (KeyError, ValueError):
        return None


def _nothing_is_shed(world: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    enabled = "loadBalancerEnabled"
    others = [name for name in world.chosen if name.startswith("loadBalancer") and name != enabled]
    if settings.get(enabled, "").strip().lower() != "false" or not others:
        return None
    what = f"{enabled}=false, so {joined(others)} {'does' if len(others) == 1 else 'do'} nothing"
    return Severity.WARNING, what, f"set {enabled}=true"


def _algorithm_is_not_supported(_: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    default, supported = "defaultNamespaceBundleSplitAlgorithm", "supportedNamespaceBundleSplitAlgorithms"
    listed = {part.strip() for part in settings.get(supported, "").strip("[]").split(",")} - {""}
    if not listed or settings.get(default, "") in ("", *listed):
        return None
    return Severity.ERROR, f"{default}={settings[default]} is not among {supported}", f"add it to {supported}"


def _shedder_of_another_manager(world: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    name = "loadBalancerLoadSheddingStrategy"
    shedder = settings.get(name, "").rpartition(".")[2]
    if shedder == TRANSFER and world.load_manager in (None, "modular"):
        what = f"{name} is {TRANSFER}, which only the extensible load manager has"
        return Severity.ERROR, what, "set loadManagerClassName to ExtensibleLoadManagerImpl, or another shedder"
    if shedder in MODULAR_SHEDDERS and name in world.chosen and world.load_manager == "extensible":
        what = f"{name}={shedder} does nothing: the extensible load manager sheds by {TRANSFER}"
        return Severity.WARNING, what, "take it out"
    return None


def _consumer_before_subscription(_: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    one, all_of_them = "maxUnackedMessagesPerConsumer", "maxUnackedMessagesPerSubscription"
    consumer, subscription = _number(settings, one), _number(settings, all_of_them)
    if not consumer or not subscription or consumer <= subscription:
        return None
    what = f"{one}={consumer:.0f} is never reached: {all_of_them}={subscription:.0f} stops all consumers before"
    return Severity.WARNING, what, f"set {one} below {all_of_them}"


def _thresholds_of_avg(world: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    if "AvgShedder" not in (world.shedder, world.placement):
        return None
    names = "loadBalancerAvgShedderLowThreshold", "loadBalancerAvgShedderHighThreshold"
    low, high = (_number(settings, name) for name in names)
    if low is None or high is None or low < high:
        return None
    what = f"{names[0]}={low:g} is not below {names[1]}={high:g}: every difference counts as high"
    return Severity.WARNING, what, f"set {names[0]} below {names[1]}"


def _report_intervals(_: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    names = "loadBalancerReportUpdateMinIntervalMillis", "loadBalancerReportUpdateMaxIntervalMinutes"
    least, most = (_number(settings, name) for name in names)
    if least is None or most is None or least <= most * MS_PER_MINUTE:
        return None
    what = f"{names[0]}={least:.0f} is more than {names[1]}={most:g}: reports come later than the longest interval"
    return Severity.WARNING, what, f"lower {names[0]}"


def _no_room_for_splits(_: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    names = "defaultNumberOfNamespaceBundles", "loadBalancerNamespaceMaximumBundles"
    default, most = (_number(settings, name) for name in names)
    if default is None or most is None or default < most:
        return None
    what = f"{names[0]}={default:.0f} is not below {names[1]}={most:.0f}: no bundle of a new namespace is ever split"
    return Severity.WARNING, what, f"raise {names[1]}"


def _two_spellings(_: World, settings: Mapping[str, str]) -> tuple[Severity, str, str] | None:
    for way in ("In", "Out"):
        old, new = f"loadBalancerBandwith{way}ResourceWeight", f"loadBalancerBandwidth{way}ResourceWeight"
        before, now = _number(settings, old), _number(settings, new)
        if before is not None and now is not None and before != now and 1.0 not in (before, now):
            what = f"{old}={before:g} and {new}={now:g} are one setting in two spellings: {new} counts"
            return Severity.WARNING, what, f"take {old} out"
    return None


_CHECKS: Final[tuple[_Check, ...]] = (
    _nothing_is_shed,
    _algorithm_is_not_supported,
    _shedder_of_another_manager,
    _consumer_before_subscription,
    _thresholds_of_avg,
    _report_intervals,
    _no_room_for_splits,
    _two_spellings,
)


def settings_fight(world: World) -> Iterator[Finding]:
    """Settings that undo each other: one is in force, and the other one cannot work beside it.

    A finding for each pair of settings that fight. Only what the settings name is judged. O(1).

    >>> names = {"loadBalancerEnabled": "false", "loadBalancerSheddingIntervalMinutes": "5"}
    >>> [finding.severity.label for finding in settings_fight(World(configuration=names))]
    ['warning']
    """
    for judge in _CHECKS:
        found = judge(world, world.configuration)
        if found is not None:
            severity, what, advice = found
            yield Finding(SETTINGS_FIGHT.id, severity, what, Where(), (), advice)


SETTINGS_FIGHT: Final = Rule(
    "settings-fight", "Settings undo each other", Severity.ERROR, "ServiceConfiguration", settings_fight
)


_SHEDDING: Final = "loadBalancerLoadSheddingStrategy"
_PLACEMENT: Final = "loadBalancerLoadPlacementStrategy"


def shedder_alone(world: World) -> Iterator[Finding]:
    """AvgShedder sheds and places: where only one of the two settings names it, it does half of that or nothing.

    At most one finding for all brokers. What no answer says has the default of the release. O(1).

    >>> world = World(shedder="AvgShedder", placement="LeastLongTermMessageRate")
    >>> [(finding.severity.label, finding.what) for finding in shedder_alone(world)]
    [('warning', 'only loadBalancerLoadSheddingStrategy is AvgShedder, so its planned destinations are ignored')]
    >>> list(shedder_alone(World(shedder="AvgShedder", placement="AvgShedder")))
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
            SHEDDER_ALONE.id,
            Severity.INFO,
            what,
            Where(),
            (),
            f"set {_SHEDDING} to {AVG} as well, or {_PLACEMENT} to that",
        )
    elif placement == AVG:
        what = f"only {_PLACEMENT} is {AVG}, with which a broker refuses to start"
        yield Finding(
            SHEDDER_ALONE.id, Severity.ERROR, what, Where(), (), f"set {_SHEDDING} to {AVG} as well, or neither"
        )
    else:
        what = f"only {_SHEDDING} is {AVG}, so its planned destinations are ignored"
        yield Finding(SHEDDER_ALONE.id, Severity.WARNING, what, Where(), (), f"set {_PLACEMENT} to {AVG} as well")


SHEDDER_ALONE: Final = Rule(
    "avg-shedder-alone",
    "AvgShedder is set for shedding or for placement alone",
    Severity.ERROR,
    "ModularLoadManagerImpl, AvgShedder (PIP-364)",
    shedder_alone,
)


def shedder_margin(world: World) -> Iterator[Finding]:
    """How uneven brokers may be before the shedder in force moves anything: asked when there are settings alone.

    At most one finding: what the shedder leaves alone. O(settings).

    >>> world = World(shedder="ThresholdShedder", configuration={"x": ""}, has_topics=False)
    >>> [finding.number("margin_percent") for finding in shedder_margin(world)]
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
    yield Finding(SHEDDER_MARGIN.id, Severity.INFO, what, Where(), (("margin_percent", margin),), advice)


def _settings(world: World) -> LoadSettings:
    settings = default_load_settings(world.behaviour)
    for name, value in world.configuration.items():
        changed = settings.with_setting(name, value)
        settings = settings if isinstance(changed, Rejection) else changed
    return settings


SHEDDER_MARGIN: Final = Rule(
    "shedder-margin",
    "What the shedder leaves alone, by settings alone",
    Severity.INFO,
    "ThresholdShedder",
    shedder_margin,
)
