"""Decode load reports of both load managers: bundle statistics, the broker's totals, its resources and release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from engine.admin.facts import Count, LoadReport, Rate, WrittenLoad
from engine.admin.mended_reports import Mending, members_of, quoted_numbers
from engine.admin.text import SET_ASIDE, child, malformed, plain_json, value_problem, without_nulls
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.limits import BundleStats
from engine.bundles.boundaries import parse_range
from engine.errors import Decoded, Problem, Rejection
from engine.names import refuse_bundle
from engine.text import counted, joined

USAGE, RATES = "usage", "rates"
"""What ``WrittenLoad.lacks`` names."""
LACKING: Final = "what is computed takes 0 there; save the whole answer"
TOTALS: Final = ("numTopics", "numConsumers", "numProducers", "msgRateIn", "msgRateOut")


@dataclass(frozen=True, slots=True)
class BundleReport:
    """The bundles in the order of the report; ``totals`` are the sums that the broker reported, by name.

    ``listed`` is how many bundles it lists without their statistics.
    """

    bundles: tuple[BundleStats, ...]
    totals: Mapping[str, float]
    listed: int = 0


class BundleStatsWire(msgspec.Struct, gc=False):
    """A bundle of a report, as ``NamespaceBundleStats`` is written."""

    topics: Count = 0
    producerCount: Count = 0
    consumerCount: Count = 0
    msgRateIn: Rate | UnsetType = UNSET
    msgRateOut: Rate | UnsetType = UNSET
    msgThroughputIn: Rate | UnsetType = UNSET
    msgThroughputOut: Rate | UnsetType = UNSET

    @property
    def rates(self) -> tuple[float | UnsetType, ...]:
        return self.msgRateIn, self.msgRateOut, self.msgThroughputIn, self.msgThroughputOut


class _ReportWire(msgspec.Struct):
    lastStats: dict[str, BundleStatsWire]
    bundles: object = None
    numTopics: Count = 0
    numBundles: Count = 0
    numConsumers: Count = 0
    numProducers: Count = 0
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0


def decode_bundle_report(data: bytes, source: str = "", path: str = "$") -> Decoded[BundleReport | None]:
    """Decode the bundles and totals of a ``LocalBrokerData``; None for another form. O(length)."""
    try:
        wire = msgspec.json.decode(data, type=_ReportWire)
    except (msgspec.ValidationError, msgspec.DecodeError) as fault:
        return Decoded(None, (value_problem(source, path, fault),))
    bundles, problems = _valid_bundles(wire.lastStats, source, path)
    totals = {name: getattr(wire, name) for name in TOTALS} | {"numBundles": wire.numBundles}
    listed = len(wire.bundles) if isinstance(wire.bundles, list) else 0
    return Decoded(BundleReport(bundles, totals, listed), problems)


def _valid_bundles(
    stats: Mapping[str, BundleStatsWire], source: str, path: str
) -> tuple[tuple[BundleStats, ...], tuple[Problem, ...]]:
    """Return the statistics of bundles in the order of the report, without those of invalid names, which are
    problems."""
    faults = {name: refusal.message for name in stats if (refusal := refuse_bundle(name)) is not None}
    where = child(path, "lastStats")
    problems = tuple(Problem(source, child(where, name), fault, SET_ASIDE) for name, fault in faults.items())
    return tuple(_bundle(name, wire) for name, wire in stats.items() if name not in faults), problems


def _bundle(name: str, stats: BundleStatsWire) -> BundleStats:
    return BundleStats(
        name,
        stats.topics,
        stats.producerCount,
        stats.consumerCount,
        *(0.0 if rate is UNSET else rate for rate in stats.rates),
    )


def _what_is_missing(wire: _LoadWire, source: str, path: str) -> Iterator[tuple[str, Problem]]:
    """What every broker writes and a report cut by hand may lack; load managers cannot do without it."""
    lacking = [name for name in _RESOURCES if getattr(wire, name) is _UNUSED]
    if lacking:
        yield USAGE, Problem(source, path, f"lacks {joined(lacking)}", LACKING)
    bundles = sum(UNSET in stats.rates for stats in wire.lastStats.values())
    if bundles:
        problem = Problem(source, child(path, "lastStats"), f"has no rates of {counted(bundles, 'bundle')}", LACKING)
        yield RATES, problem


class _ResourceWire(msgspec.Struct, frozen=True):
    usage: float = 0.0
    limit: float = 0.0


_UNUSED: Final = _ResourceWire()


class _BrokerWire(msgspec.Struct, kw_only=True):
    """Whose report it is: older releases write no id, and a broker may have an address with TLS only."""

    brokerId: str | None = None
    webServiceUrl: str | None = None
    webServiceUrlTls: str | None = None
    pulsarServiceUrl: str | None = None
    name: str | None = None

    def broker(self) -> str:
        addresses = (self.webServiceUrl, self.webServiceUrlTls, self.pulsarServiceUrl, self.name)
        return broker_id(self.brokerId, next(filter(None, addresses), ""))


class _LoadWire(_BrokerWire):
    lastStats: dict[str, BundleStatsWire]
    cpu: _ResourceWire = _UNUSED
    memory: _ResourceWire = _UNUSED
    directMemory: _ResourceWire = _UNUSED
    bandwidthIn: _ResourceWire = _UNUSED
    bandwidthOut: _ResourceWire = _UNUSED
    numTopics: Count = 0
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    bundles: tuple[str, ...] = ()
    brokerVersionString: str | None = None
    loadManagerClassName: str | None = None
    persistentTopicsEnabled: bool = True
    nonPersistentTopicsEnabled: bool = True
    lastUpdate: int = 0


def decode_broker_load(
    data: bytes, source: str = "", path: str = "$", broker: str | None = None
) -> Decoded[WrittenLoad | None]:
    """Decode a whole ``LocalBrokerData``; None for another form. O(length).

    ``broker`` is its id where the place of the report shows it; default: the id in the report, or else host and port of
    its web address.
    Invalid bundle names are set aside, and negative usages and rates count as 0; what is not a number (``"NaN"``) stays
    so, since load managers go on with it. A member of another form costs itself alone.
    """
    problems: list[Problem] = []
    try:
        wire = msgspec.json.decode(data, type=_LoadWire)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        members = members_of(data)
        if members is None or not isinstance(members.get("lastStats"), dict):
            return Decoded(None, (value_problem(source, path, fault),))
        wire = _mended(members, mending := Mending(source), path)
        problems += mending.problems
    name = broker or wire.broker()
    if not name:
        advice = "only a report with brokerId, or an address in webServiceUrl, says whose it is"
        return Decoded(None, (*problems, Problem(source, path, "no broker is named in this load report", advice)))

    def resource(member: str) -> ResourceUsage:
        read: _ResourceWire = getattr(wire, member)
        if read.usage < 0:
            reason = f"a usage of {read.usage} is not possible"
            problems.append(Problem(source, child(path, member), reason, "it is taken as 0"))
        return ResourceUsage(max(read.usage, 0.0), read.limit)

    lacking = dict(_what_is_missing(wire, source, path))
    problems += lacking.values()
    stats, faults = _valid_bundles(wire.lastStats, source, path)
    names = wire.bundles or tuple(bundle.bundle for bundle in stats)
    invalid = {at: refusal.message for at, bundle in enumerate(names) if (refusal := refuse_bundle(bundle)) is not None}
    listed = child(path, "bundles")
    faults += tuple(Problem(source, f"{listed}[{at}]", fault, SET_ASIDE) for at, fault in invalid.items())
    load = BrokerLoad(
        name,
        resource("cpu"),
        resource("memory"),
        resource("directMemory"),
        resource("bandwidthIn"),
        resource("bandwidthOut"),
        wire.msgRateIn,
        wire.msgRateOut,
        wire.msgThroughputIn,
        wire.msgThroughputOut,
        bundles=tuple(bundle for at, bundle in enumerate(names) if at not in invalid),
        stats=stats,
        topics=wire.numTopics,
        version=wire.brokerVersionString,
        load_manager=wire.loadManagerClassName,
        persistent_topics=wire.persistentTopicsEnabled,
        non_persistent_topics=wire.nonPersistentTopicsEnabled,
    )
    return Decoded(WrittenLoad(load, wire.lastUpdate, frozenset(lacking)), (*problems, *faults))


def _mended(members: Mapping[str, Any], mending: Mending, path: str) -> _LoadWire:
    """A report with its impossible members replaced, except negative usages of resources, which the caller replaces."""

    def resource(name: str) -> _ResourceWire:
        own, place = mending.object(members, name, path), child(path, name)
        usage, limit = (mending.number(own, part, place, below_zero=True) for part in ("usage", "limit"))
        return _ResourceWire(usage, limit)

    def bundle(own: Mapping[str, Any], place: str) -> BundleStatsWire:
        counts = (mending.count(own, name, place) for name in ("topics", "producerCount", "consumerCount"))
        return BundleStatsWire(*counts, *(mending.number(own, name, place) for name in _RATES))

    inside = child(path, "lastStats")
    stats = mending.object(members, "lastStats", path)
    wire = _LoadWire({name: bundle(own, child(inside, name)) for name, own in mending.objects(stats, inside)})
    read: Mapping[Callable[[Mapping[str, Any], str, str], object], Sequence[str]] = {
        mending.text: _TEXTS,
        mending.number: _RATES,
        mending.count: ("numTopics", "lastUpdate"),
        mending.flag: ("persistentTopicsEnabled", "nonPersistentTopicsEnabled"),
        mending.texts: ("bundles",),
    }
    for member, names in read.items():
        for name in names:
            setattr(wire, name, member(members, name, path))
    for name in _RESOURCES:
        if name in members:
            setattr(wire, name, resource(name))
    return wire


_RESOURCES: Final = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
_RATES: Final = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
_TEXTS: Final = (
    "brokerId", "webServiceUrl", "webServiceUrlTls", "pulsarServiceUrl", "name", "brokerVersionString",
    "loadManagerClassName",
)  # fmt: skip


_ADDRESS: Final = re.compile(r"[A-Za-z0-9._\-\[\]:]{1,300}")


def broker_id(named: str | None, url: str = "") -> str:
    """The id of a broker as it names itself, else host and port of its address; "" for what no broker is called.

    >>> broker_id(None, "http://broker-1:8080/"), broker_id("b-1:8080", "x"), broker_id(None, "http://bro ker")
    ('broker-1:8080', 'b-1:8080', '')
    """
    for text in (named or "", url.rpartition("://")[2].strip("/")):
        if _ADDRESS.fullmatch(text):
            return text
    return ""


def all_bundles(load: BrokerLoad) -> tuple[str, ...]:
    """Return the bundles of a broker: those that it lists, and those with statistics."""
    return tuple(dict.fromkeys((*load.bundles, *(stats.bundle for stats in load.stats))))


class _LoadReportWire(_BrokerWire):
    """``LocalBrokerData`` (lastStats; older ones repeat it as bundleStats) or the simple manager's ``LoadReport``."""

    brokerVersionString: str | None = None
    lastUpdate: Count | None = None
    timestamp: Count | None = None
    lastStats: dict[str, msgspec.Raw] | None = None
    bundleStats: dict[str, msgspec.Raw] | None = None
    bundles: list[str | None] | None = None


_REPORT: Final = msgspec.json.Decoder(_LoadReportWire)
_BUNDLE: Final = msgspec.json.Decoder(BundleStatsWire)
_NULL: Final = b"null"
_EMPTY: Final = msgspec.Raw(b"{}")


def decode_load_report(data: bytes, source: str = "") -> Decoded[LoadReport | None]:
    """Decode ``GET /admin/v2/broker-stats/load-report`` of any release. O(length).

    A bundle with an invalid name or impossible numbers is set aside; None where the whole report is not one.
    """
    data, problems = plain_json(data, source)
    try:
        wire = _REPORT.decode(quoted_numbers(data))
    except msgspec.ValidationError as fault:
        return Decoded(None, (*problems, value_problem(source, "$", fault)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return Decoded(None, (*problems, malformed(data, source, fault)))
    member, stats = ("lastStats", wire.lastStats) if wire.lastStats else ("bundleStats", wire.bundleStats or {})
    reported = {name: raw for name, raw in stats.items() if bytes(raw) != _NULL}
    listed = {name: _EMPTY for name in wire.bundles or () if name is not None and name not in reported}
    inside = child("$", member)
    read = [_reported_bundle(name, raw, source, child(inside, name)) for name, raw in (reported | listed).items()]
    faults = tuple(bundle for bundle in read if isinstance(bundle, Problem))
    report = LoadReport(
        wire.broker(),
        wire.brokerVersionString or "",
        wire.lastUpdate or wire.timestamp or 0,
        tuple(bundle for bundle in read if isinstance(bundle, BundleStats)),
    )
    return Decoded(report, (*problems, *faults), len(faults))


def _reported_bundle(name: str, raw: msgspec.Raw, source: str, path: str) -> BundleStats | Problem:
    piece = parse_range(name.rpartition("/")[2])
    refusal = piece if isinstance(piece, Rejection) else refuse_bundle(name)
    if refusal is not None:
        return Problem(source, path, refusal.message, SET_ASIDE)
    try:
        return _bundle(name, _stats_of(raw))
    except msgspec.ValidationError as fault:
        return value_problem(source, path, fault)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return malformed(bytes(raw), source, fault, path)


def _stats_of(raw: msgspec.Raw) -> BundleStatsWire:
    try:
        return _BUNDLE.decode(raw)
    except msgspec.ValidationError:
        # What follows the wrong value was not read before, and may not be JSON, or nested very deep.
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)), type=BundleStatsWire)
