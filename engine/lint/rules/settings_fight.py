"""Settings that undo each other: one is in force, and the other one cannot work beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from engine.balance.settings import MS_PER_MINUTE
from engine.balance.shedding.strategies import MODULAR_SHEDDERS, TRANSFER
from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.text import joined

ID: Final = "settings-fight"
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


def check(world: World) -> Iterator[Finding]:
    """A finding for each pair of settings that fight. Only what the settings name is judged. O(1).

    >>> names = {"loadBalancerEnabled": "false", "loadBalancerSheddingIntervalMinutes": "5"}
    >>> [finding.severity.label for finding in check(World(configuration=names))]
    ['warning']
    """
    for judge in _CHECKS:
        found = judge(world, world.configuration)
        if found is not None:
            severity, what, advice = found
            yield Finding(ID, severity, what, Where(), (), advice)


RULE: Final = Rule(ID, "Settings undo each other", Severity.ERROR, "ServiceConfiguration", check)
