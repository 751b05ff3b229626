"""A series of a recorded cluster, one JSON object per line: what was written to the metadata store, and when.

Load reports, stored averages and bundle lists come out as the values that the deciders take.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from engine.admin.facts import LARGEST, BrokerStats, Count, Rate
from engine.admin.load_reports import BundleReport, decode_broker_load, decode_bundle_report
from engine.admin.namespaces import decode_bundles
from engine.admin.text import value_problem
from engine.admin.topics import decode_broker_stats_topics
from engine.balance.averages import BundleData, TimeAverageMessageData
from engine.balance.brokers import BrokerLoad
from engine.errors import Decoded, Problem, Rejection
from engine.names import refuse_bundle, refuse_namespace
from tests.lab.folder import shared

REPORTS: Final = "/loadbalance/brokers/"
AVERAGES: Final = "/loadbalance/bundle-data/"
POLICIES: Final = "/admin/local-policies/"
BROKER_STATS: Final = "GET /admin/v2/broker-stats/topics"
_PLACE: Final = "line"
Seconds = Annotated[float, msgspec.Meta(ge=-float(LARGEST), le=float(LARGEST))]


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A load report of the modular load manager as a broker wrote it."""

    at_ms: int
    order: int
    broker: str
    report: BundleReport
    load: BrokerLoad
    is_new: bool = False
    """Whether the node was made by this write, as after a start of the broker."""


@dataclass(frozen=True, slots=True)
class SeenRemoval:
    """Something in the metadata store was gone at that time."""

    at_ms: int
    path: str


@dataclass(frozen=True, slots=True)
class WrittenAverages:
    """What the leader stored about one bundle."""

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
    removals: tuple[SeenRemoval, ...] = ()
    others: int = 0


_Entry = WrittenReport | WrittenAverages | WrittenList | SeenTopics | SeenRemoval


@dataclass(slots=True)
class _Line:
    """One line: the entry in it, None for one of another kind or one that cannot be read, and the problems with it."""

    entry: _Entry | None = None
    problems: list[Problem] = field(default_factory=list)
    is_other: bool = False


class _LineWire(msgspec.Struct):
    path: str
    t: Seconds = 0.0
    written_t: Seconds | None = None
    mzxid: int = 0
    version: int = 0
    body: str | None = None
    source: str = msgspec.field(default="", name="from")


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


def decode_series(data: bytes, source: str = "") -> Decoded[Series]:
    """A series, line by line; a line that cannot be read costs only itself. O(length)."""
    numbered = [(at, _read(raw, source)) for at, raw in enumerate(data.splitlines(), 1) if raw.strip()]
    lines = [line for _, line in numbered]
    entries = [line.entry for line in lines]
    problems = tuple(
        replace(problem, path=problem.path.replace(_PLACE, f"line {at}", 1))
        for at, line in numbered
        for problem in line.problems
    )
    series = Series(
        tuple(sorted((entry for entry in entries if isinstance(entry, WrittenReport)), key=lambda one: one.order)),
        tuple(sorted((entry for entry in entries if isinstance(entry, WrittenAverages)), key=lambda one: one.order)),
        tuple(sorted((entry for entry in entries if isinstance(entry, WrittenList)), key=lambda one: one.order)),
        tuple(sorted((entry for entry in entries if isinstance(entry, SeenTopics)), key=lambda one: one.at_ms)),
        tuple(entry for entry in entries if isinstance(entry, SeenRemoval)),
        sum(line.is_other for line in lines),
    )
    return Decoded(series, problems, len(problems))


@shared
def _read(raw: bytes, source: str) -> _Line:
    """A line by itself, whatever its number, so that copies of a series share what was decoded."""
    line = _Line()
    try:
        wire = msgspec.json.decode(raw, type=_LineWire)
        _keep(wire, wire.body.encode() if wire.body is not None else b"", line, source)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as fault:
        line.problems.append(value_problem(source, _PLACE, fault))
    return line


def _keep(wire: _LineWire, body: bytes, line: _Line, source: str) -> None:
    at_ms = round((wire.t if wire.written_t is None else wire.written_t) * 1000)
    if wire.path == BROKER_STATS and body:
        stats = decode_broker_stats_topics(body, source)
        line.problems += stats.problems
        line.entry = SeenTopics(round(wire.t * 1000), wire.source, stats.good)
    elif wire.source == "metadata" and not body:
        line.entry = SeenRemoval(at_ms, wire.path)
        line.is_other = True
    elif wire.source != "metadata":
        line.is_other = True
    elif wire.path.startswith(REPORTS) and b'"lastStats"' in body:
        report = decode_bundle_report(body, source, _PLACE)
        line.problems += report.problems
        broker = wire.path.removeprefix(REPORTS)
        load = decode_broker_load(body, source, _PLACE, broker)
        if report.good is not None and load.good is not None:
            line.entry = WrittenReport(at_ms, wire.mzxid, broker, report.good, load.good.load, wire.version == 0)
    elif wire.path.startswith(AVERAGES):
        bundle = wire.path.removeprefix(AVERAGES)
        if _is_good(refuse_bundle(bundle), line, source):
            data = _stored(msgspec.json.decode(body, type=_StoredWire))
            line.entry = WrittenAverages(at_ms, wire.mzxid, bundle, data)
    elif wire.path.startswith(POLICIES):
        namespace = wire.path.removeprefix(POLICIES)
        if _is_good(refuse_namespace(namespace), line, source):
            line.entry = WrittenList(at_ms, wire.mzxid, namespace, _boundaries(body), wire.version)
    else:
        line.is_other = True


def _is_good(refusal: Rejection | None, line: _Line, source: str) -> bool:
    if refusal is not None:
        line.problems.append(Problem(source, f"{_PLACE}: $.path", refusal.message, "this line is set aside"))
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
