"""A series of a recorded cluster, one JSON object per line: what was written to the metadata store, and when.

Owns the form of the lines only: load reports, stored averages and bundle lists come out as the values deciders take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from engine.admin.facts import BrokerStats, Count, Decoded, Moment, Rate
from engine.admin.namespaces import decode_bundles
from engine.admin.text import child, value_problem
from engine.admin.topics import decode_broker_stats_topics
from engine.bundles.averages import BundleData, TimeAverageMessageData
from engine.bundles.limits import BundleStats
from engine.errors import Problem, Rejection
from engine.names import refuse_bundle, refuse_namespace

REPORTS: Final = "/loadbalance/brokers/"
AVERAGES: Final = "/loadbalance/bundle-data/"
POLICIES: Final = "/admin/local-policies/"
BROKER_STATS: Final = "GET /admin/v2/broker-stats/topics"


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A load report of the modular load manager as a broker wrote it; ``totals`` are its own sums."""

    at_ms: int
    order: int
    broker: str
    bundles: tuple[BundleStats, ...]
    totals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class WrittenAverages:
    """What the leader stored of one bundle."""

    at_ms: int
    order: int
    bundle: str
    data: BundleData


@dataclass(frozen=True, slots=True)
class WrittenList:
    """The bundle list of a namespace as it was written. ``version`` counts the writes; some may not have been seen."""

    at_ms: int
    order: int
    namespace: str
    boundaries: tuple[int, ...]
    version: int


@dataclass(frozen=True, slots=True)
class SeenTopics:
    """Statistics of one broker's topics; ``broker`` is the recorder's letter for it."""

    at_ms: int
    broker: str
    stats: BrokerStats


@dataclass(frozen=True, slots=True)
class Series:
    """Each kind in the order of the writes; ``others`` counts lines of other kinds."""

    reports: tuple[WrittenReport, ...] = ()
    averages: tuple[WrittenAverages, ...] = ()
    lists: tuple[WrittenList, ...] = ()
    topics: tuple[SeenTopics, ...] = ()
    others: int = 0


class _Line(msgspec.Struct):
    path: str
    t: Moment = 0.0
    written_t: Moment | None = None
    mzxid: int = 0
    version: int = 0
    body: str | None = None
    source: str = msgspec.field(default="", name="from")


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


class _AverageWire(msgspec.Struct):
    maxSamples: Count
    numSamples: Count
    msgRateIn: Rate
    msgRateOut: Rate
    msgThroughputIn: Rate
    msgThroughputOut: Rate


class _StoredWire(msgspec.Struct):
    shortTermData: _AverageWire
    longTermData: _AverageWire
    topics: Count = 0


TOTALS: Final = ("numTopics", "numConsumers", "numProducers", "msgRateIn", "msgRateOut")


def decode_report(
    data: bytes, source: str = "", path: str = "$"
) -> Decoded[tuple[tuple[BundleStats, ...], Any] | None]:
    """A ``LocalBrokerData``: its bundles in the order of the report, and the totals it tells; None for another form."""
    try:
        wire = msgspec.json.decode(data, type=_ReportWire)
    except (msgspec.ValidationError, msgspec.DecodeError) as fault:
        return Decoded(None, (value_problem(source, path, fault),))
    faults = {name: refusal.message for name in wire.lastStats if (refusal := refuse_bundle(name)) is not None}
    stats = tuple(
        BundleStats(
            name,
            each.topics,
            each.producerCount,
            each.consumerCount,
            each.msgRateIn,
            each.msgRateOut,
            each.msgThroughputIn,
            each.msgThroughputOut,
        )
        for name, each in wire.lastStats.items()
        if name not in faults
    )
    problems = tuple(
        Problem(source, child(child(path, "lastStats"), name), fault, "this one is set aside; the rest is kept")
        for name, fault in faults.items()
    )
    return Decoded((stats, {name: getattr(wire, name) for name in TOTALS} | {"numBundles": wire.numBundles}), problems)


def decode_series(data: bytes, source: str = "") -> Decoded[Series]:
    """A series, line by line; a line that cannot be read costs only itself. O(length)."""
    reader = _Reader(source)
    for number, raw in enumerate(data.splitlines(), 1):
        if raw.strip():
            reader.read(number, raw)
    return Decoded(reader.series(), tuple(reader.problems), len(reader.problems))


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self.problems: list[Problem] = []
        self._reports: list[WrittenReport] = []
        self._averages: list[WrittenAverages] = []
        self._lists: list[WrittenList] = []
        self._topics: list[SeenTopics] = []
        self._others = 0

    def series(self) -> Series:
        return Series(
            tuple(sorted(self._reports, key=lambda each: each.order)),
            tuple(sorted(self._averages, key=lambda each: each.order)),
            tuple(sorted(self._lists, key=lambda each: each.order)),
            tuple(sorted(self._topics, key=lambda each: each.at_ms)),
            self._others,
        )

    def read(self, number: int, raw: bytes) -> None:
        path = f"line {number}"
        try:
            line = msgspec.json.decode(raw, type=_Line)
            body = line.body.encode() if line.body is not None else b""
            self._keep(line, body, path)
        except (msgspec.ValidationError, msgspec.DecodeError) as fault:
            self.problems.append(value_problem(self._source, path, fault))

    def _keep(self, line: _Line, body: bytes, path: str) -> None:
        at_ms = round((line.t if line.written_t is None else line.written_t) * 1000)
        if line.path == BROKER_STATS and body:
            stats = decode_broker_stats_topics(body, self._source)
            self.problems += stats.problems
            self._topics.append(SeenTopics(round(line.t * 1000), line.source, stats.good))
        elif line.source != "metadata" or not body:
            self._others += 1
        elif line.path.startswith(REPORTS) and b'"lastStats"' in body:
            report = decode_report(body, self._source, path)
            self.problems += report.problems
            if report.good is not None:
                broker = line.path.removeprefix(REPORTS)
                self._reports.append(WrittenReport(at_ms, line.mzxid, broker, *report.good))
        elif line.path.startswith(AVERAGES):
            bundle = line.path.removeprefix(AVERAGES)
            if self._is_good(refuse_bundle(bundle), path):
                data = _stored(msgspec.json.decode(body, type=_StoredWire))
                self._averages.append(WrittenAverages(at_ms, line.mzxid, bundle, data))
        elif line.path.startswith(POLICIES):
            namespace = line.path.removeprefix(POLICIES)
            if self._is_good(refuse_namespace(namespace), path):
                self._lists.append(WrittenList(at_ms, line.mzxid, namespace, _boundaries(body), line.version))
        else:
            self._others += 1

    def _is_good(self, refusal: Rejection | None, path: str) -> bool:
        if refusal is not None:
            self.problems.append(Problem(self._source, f"{path}: $.path", refusal.message, "this line is set aside"))
        return refusal is None


def _boundaries(body: bytes) -> tuple[int, ...]:
    bundles = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get("bundles")
    return decode_bundles(bytes(bundles)).good.boundaries if bundles is not None else ()


def _stored(wire: _StoredWire) -> BundleData:
    return BundleData(_average(wire.shortTermData), _average(wire.longTermData), wire.topics)


def _average(wire: _AverageWire) -> TimeAverageMessageData:
    return TimeAverageMessageData(
        wire.maxSamples,
        wire.numSamples,
        wire.msgRateIn,
        wire.msgRateOut,
        wire.msgThroughputIn,
        wire.msgThroughputOut,
    )
