"""Load reports of the modular load manager: the statistics of each bundle, and the broker's own totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from engine.admin.facts import BrokerLoad, Count, Counter, Decoded, Rate
from engine.admin.text import child, value_problem
from engine.balance.limits import BundleStats
from engine.errors import Problem
from engine.names import refuse_bundle

USAGE: Final = ("cpu", "memory", "directMemory")
TOTALS: Final = ("numTopics", "numConsumers", "numProducers", "msgRateIn", "msgRateOut")


@dataclass(frozen=True, slots=True)
class BundleReport:
    """``bundles`` in the order of the report; ``totals`` are the sums that the broker wrote, by name."""

    bundles: tuple[BundleStats, ...]
    totals: Mapping[str, float]


class _UsageWire(msgspec.Struct):
    usage: float = 0.0
    limit: float = 0.0


class _BundleWire(msgspec.Struct):
    topics: Count = 0
    producerCount: Count = 0
    consumerCount: Count = 0
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0


class _ReportWire(msgspec.Struct):
    lastStats: dict[str, _BundleWire]
    numTopics: Count = 0
    numBundles: Count = 0
    numConsumers: Count = 0
    numProducers: Count = 0
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    webServiceUrl: str | None = None
    pulsarServiceUrl: str | None = None
    lastUpdate: Counter = 0
    bundles: tuple[str, ...] | None = None
    cpu: _UsageWire | None = None
    memory: _UsageWire | None = None
    directMemory: _UsageWire | None = None


def decode_broker_load(data: bytes, source: str = "", path: str = "$") -> Decoded[BrokerLoad | None]:
    """A ``LocalBrokerData`` as what a broker said of itself; None for another form. O(length)."""
    report = decode_bundle_report(data, source, path)
    if report.good is None:
        return Decoded(None, report.problems)
    wire = msgspec.json.decode(data, type=_ReportWire)
    url = wire.webServiceUrl or wire.pulsarServiceUrl or ""
    usage = {name: (each.usage, each.limit) for name in USAGE if (each := getattr(wire, name)) is not None}
    owned = tuple(name for name in wire.bundles or () if refuse_bundle(name) is None)
    load = BrokerLoad(url.rpartition("://")[2], max(wire.lastUpdate, 0), report.good.bundles, owned, usage)
    return Decoded(load, report.problems)


def decode_bundle_report(data: bytes, source: str = "", path: str = "$") -> Decoded[BundleReport | None]:
    """A ``LocalBrokerData``; None for another form. A bundle whose name no bundle has is set aside. O(length)."""
    try:
        wire = msgspec.json.decode(data, type=_ReportWire)
    except (msgspec.ValidationError, msgspec.DecodeError) as fault:
        return Decoded(None, (value_problem(source, path, fault),))
    faults = {name: refusal.message for name in wire.lastStats if (refusal := refuse_bundle(name)) is not None}
    bundles = tuple(_bundle(name, stats) for name, stats in wire.lastStats.items() if name not in faults)
    totals = {name: getattr(wire, name) for name in TOTALS} | {"numBundles": wire.numBundles}
    where = child(path, "lastStats")
    problems = tuple(
        Problem(source, child(where, name), fault, "this one is set aside; the rest is kept")
        for name, fault in faults.items()
    )
    return Decoded(BundleReport(bundles, totals), problems)


def _bundle(name: str, stats: _BundleWire) -> BundleStats:
    return BundleStats(
        name,
        stats.topics,
        stats.producerCount,
        stats.consumerCount,
        stats.msgRateIn,
        stats.msgRateOut,
        stats.msgThroughputIn,
        stats.msgThroughputOut,
    )
