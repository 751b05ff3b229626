"""Load reports: the broker, its release, and its own numbers of its bundles."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from engine.admin.facts import Count
from engine.admin.load_reports import BundleStatsWire
from engine.admin.mended_reports import quoted_numbers
from engine.admin.text import child, malformed, value_problem
from engine.admin.topics import without_nulls
from engine.bundles.boundaries import parse_range
from engine.errors import Problem, Rejection
from engine.names import refuse_bundle
from pipeline.reading.rows import BAD, Rows, quarantine_row


class LoadReportWire(msgspec.Struct):
    """``LocalBrokerData`` (lastStats; older ones repeat it as bundleStats) or the simple manager's ``LoadReport``."""

    brokerId: str | None = None
    webServiceUrl: str | None = None
    name: str | None = None
    brokerVersionString: str | None = None
    lastUpdate: Count = 0
    timestamp: Count = 0
    lastStats: dict[str, object] | None = None
    bundleStats: dict[str, object] | None = None
    bundles: list[str] | None = None


def take_load_report(rows: Rows, data: bytes, source: str) -> None:
    """Take a ``broker-stats/load-report``. Only a bundle whose numbers cannot be read is set aside. O(length)."""
    try:
        wire = msgspec.convert(without_nulls(msgspec.json.decode(quoted_numbers(data))), type=LoadReportWire)
    except msgspec.ValidationError as fault:
        rows.counts["brokers"] += 1
        rows.quarantine.append(quarantine_row(value_problem(source, "$", fault), "brokers", 1, BAD))
        return
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        rows.counts["brokers"] += 1
        rows.quarantine.append(quarantine_row(malformed(data, source, fault), "brokers", 1, BAD))
        return
    broker = broker_id(wire) or source
    rows.load_answers.append((broker, data, source))
    rows.answer_bytes += len(data)
    member, reported = ("lastStats", wire.lastStats) if wire.lastStats else ("bundleStats", wire.bundleStats or {})
    # A bundle without traffic yet appears in the list only.
    names = [*reported, *(name for name in dict.fromkeys(wire.bundles or ()) if name not in reported)]
    rows.counts["brokers"] += 1
    rows.brokers.append((broker, wire.brokerVersionString or "", wire.lastUpdate or wire.timestamp, len(names), source))
    rows.counts["bundle_reports"] += len(names)
    for position, name in enumerate(names):
        stats = _stats(reported.get(name), child(child("$", member), name), source)
        namespace, _, text = name.rpartition("/")
        parsed = parse_range(text)
        refusal = parsed if isinstance(parsed, Rejection) else refuse_bundle(name)
        if refusal is not None:
            stats = Problem(source, child(child("$", member), name), refusal.message, "this one is set aside")
        if isinstance(stats, Problem):
            rows.quarantine.append(quarantine_row(stats, "bundle_reports", 1, BAD))
            continue
        rows.bundle_reports.append(
            (name, namespace, text, broker, position, stats.topics, stats.producerCount, stats.consumerCount,
             stats.msgRateIn, stats.msgRateOut, stats.msgThroughputIn, stats.msgThroughputOut, source)
        )  # fmt: skip


def broker_id(wire: LoadReportWire) -> str:
    """Return ``host:port`` of the broker's web service; newer releases report it themselves."""
    if wire.brokerId:
        return wire.brokerId
    url = wire.webServiceUrl or wire.name or ""
    return urlsplit(url).netloc or url


def _stats(reported: object, path: str, source: str) -> BundleStatsWire | Problem:
    try:
        return msgspec.convert({} if reported is None else reported, type=BundleStatsWire)
    except msgspec.ValidationError as fault:
        return value_problem(source, path, fault)
