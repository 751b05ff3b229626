"""How lines about load shedding and placement write settings, reports and averages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from msgspec.structs import replace

from engine.balance.averages import NUM_LONG_SAMPLES, NUM_SHORT_SAMPLES, BundleData, TimeAverageMessageData
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.java_maps import MapOrder, concurrent_order, hash_order
from engine.balance.limits import BundleStats
from engine.balance.placement.model import KnownBroker
from engine.balance.settings import LOAD_SETTING_DEFAULTS, LoadSettings, default_load_settings
from engine.balance.shedding.model import ShedPlan, ShedView
from engine.config import ReleaseBehaviour
from engine.load_rules import LoadRules

Given = Mapping[str, Any]
_release: ContextVar[ReleaseBehaviour] = ContextVar("release")


def release_in_force() -> ReleaseBehaviour:
    """The release whose classes answered."""
    return _release.get()


def rules_in_force() -> LoadRules:
    """The rules of load management of the release whose classes answered."""
    return release_in_force().load


@contextmanager
def judged_by(release: ReleaseBehaviour) -> Iterator[None]:
    """Check lines that this release answered."""
    token = _release.set(release)
    try:
        yield
    finally:
        _release.reset(token)


def number(value: Any) -> float:
    """A double of a line; what JSON has no number for is written as text."""
    return float(value)


def written(value: float) -> float | str:
    """A double as a line has it."""
    if math.isnan(value):
        return "NaN"
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else value


def settings_of(config: Given) -> LoadSettings:
    """The settings of a line; a name nobody knows is a mistake."""
    members: dict[str, Any] = {}
    for name, value in config.items():
        default = LOAD_SETTING_DEFAULTS[name]
        if isinstance(default, bool):
            members[name] = value
        elif isinstance(default, float):
            members[name] = number(value)
        elif isinstance(default, tuple):
            members[name] = tuple(value)
        else:
            members[name] = value
    return replace(default_load_settings(release_in_force()), **members)


def load_of(entry: Given) -> BrokerLoad:
    def resource(name: str) -> ResourceUsage:
        usage, limit = entry.get(name, (0, 0))
        return ResourceUsage(number(usage), number(limit))

    stats = tuple(stats_of(name, each) for name, each in entry.get("stats", {}).items())
    rates = [number(entry.get(name, 0)) for name in ("rateIn", "rateOut", "thrIn", "thrOut")]
    return BrokerLoad(
        entry["broker"],
        resource("cpu"),
        resource("memory"),
        resource("directMemory"),
        resource("bandwidthIn"),
        resource("bandwidthOut"),
        *rates,
        bundles=tuple(entry.get("bundles", ())),
        stats=stats,
        topics=entry.get("topics", 0),
        version=entry.get("version"),
        load_manager=entry.get("loadManager"),
    )


def stats_of(name: str, entry: Given) -> BundleStats:
    counts = [entry.get(member, 0) for member in ("topics", "producers", "consumers")]
    rates = [number(entry.get(member, 0)) for member in ("rateIn", "rateOut", "thrIn", "thrOut")]
    return BundleStats(name, *counts, *rates)


def data_of(entry: Given) -> BundleData:
    def average(member: str, window: int) -> TimeAverageMessageData:
        rates = entry.get(member, {})
        four = [number(rates.get(name, 0)) for name in ("rateIn", "rateOut", "thrIn", "thrOut")]
        return TimeAverageMessageData(window, 1, *four)

    return BundleData(average("short", NUM_SHORT_SAMPLES), average("long", NUM_LONG_SAMPLES), entry.get("topics", 0))


def known_of(entry: Given) -> KnownBroker:
    long = entry.get("timeAverage", {})
    placed = {each["bundle"]: data_of(each) for each in entry.get("preallocated", ())}
    average = TimeAverageMessageData(1, 1, number(long.get("rateIn", 0)), number(long.get("rateOut", 0)))
    return KnownBroker(load_of(entry), average, {name: placed[name] for name in concurrent_order(placed)})


class LeaderLines:
    """The leader's maps while the steps of a line replace what is in them."""

    def __init__(self) -> None:
        self.loads: dict[str, BrokerLoad] = {}
        self.known: dict[str, KnownBroker] = {}
        self.order = MapOrder("concurrent")
        self.data: dict[str, BundleData] = {}
        self.bundles = MapOrder("concurrent")
        self.recent: tuple[str, ...] = ()

    def take(self, step: Given) -> None:
        if "brokers" in step:
            self.known = {entry["broker"]: known_of(entry) for entry in step["brokers"]}
            self.loads = {name: known.load for name, known in self.known.items()}
            self.order = self.order.replaced(self.known)
        if "bundles" in step:
            self.data = {entry["bundle"]: data_of(entry) for entry in step["bundles"]}
            self.bundles = self.bundles.replaced(self.data)
        self.recent = tuple(step.get("recentlyUnloaded", self.recent))

    def view(self) -> ShedView:
        shed = [name for name in self.bundles if not is_heartbeat(name)]
        return ShedView.of(
            tuple(self.loads[name] for name in self.order),
            {name: self.data[name] for name in hash_order(shed)},
            self.recent,
        )


def is_heartbeat(bundle: str) -> bool:
    tenant, _, rest = bundle.rpartition("/")[0].partition("/")
    host, colon, port = rest.rpartition(":")
    return tenant in ("pulsar", "sla-monitor") and bool(colon and host) and ":" not in host and port.isdigit()


def unloads(plan: ShedPlan) -> list[list[Any]]:
    return [[broker, list(bundles)] for broker, bundles in plan.unloads]


def averages_of(usage: Mapping[str, float]) -> dict[str, float | str]:
    return {broker: written(value) for broker, value in usage.items()}


def names_of(entries: Iterable[Given]) -> list[str]:
    return [entry["broker"] for entry in entries]
