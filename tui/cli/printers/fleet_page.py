"""The summary of a fleet as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from engine.views.fleet import FleetSummary, PolicyTotals
from tui.cli.plain import Align, table
from tui.kit.wording import counted, safe_name

SHOWN: Final = 10
_Rows = Sequence[tuple[str, ...]]


def fleet_lines(summary: FleetSummary, *, shown: int = SHOWN) -> list[str]:
    """Totals, then the worst of each kind, findings, and what was set aside."""
    return [line for part in _parts(summary, shown) for line in part][:-1]


def _parts(summary: FleetSummary, shown: int) -> Iterator[list[str]]:
    totals = summary.totals
    yield [
        f"{counted(totals.topics, 'topic')} ({totals.partitioned_topics:,} partitioned)"
        f" in {counted(totals.namespaces, 'namespace')},"
        f" {counted(totals.bundles, 'bundle')} on {counted(totals.brokers, 'broker')}",
        f"{counted(totals.subscription_names, 'subscription')}"
        f" ({totals.subscriptions:,} with those of each partition),"
        f" {counted(totals.consumers, 'consumer')}, {counted(totals.publishers, 'publisher')}",
        f"{totals.msg_rate_in:,.0f} msg/s in, {totals.msg_rate_out:,.0f} out,"
        f" {totals.backlog_size_bytes:,} bytes of backlog",
        "",
    ]
    yield policy_lines(summary.policies)
    modes = [
        (each.mode + (" *" if each.in_force else ""), _ratio(each.worst_max_over_mean), _verdicts(each.verdicts))
        for each in summary.key_modes
    ]  # fmt: skip
    yield _block("Key_Shared, by mode (* in force)", ("mode", "worst max/mean", "why"), modes, "<><")
    subscriptions = [
        (f"{safe_name(each.namespace)}/{safe_name(each.subscription)}".strip("/"), each.type,
         _ratio(each.max_over_mean), f"{each.idle:,}", f"{each.consumers:,}", f"{each.partitions:,}",
         _found(each.findings, each.worst_severity))
        for each in summary.worst_subscriptions[:shown]
    ]  # fmt: skip
    heads: tuple[str, ...] = ("subscription", "type", "max/mean", "idle", "of", "topics", "findings")
    yield _block("Worst subscriptions", heads, subscriptions, "<<>>>><")
    namespaces = [
        (safe_name(each.namespace), _ratio(each.worst_max_over_mean), f"{each.topics:,}", f"{each.bundles:,}",
         f"{each.bundles_to_split:,}", f"{each.msg_rate_out:,.1f}", _found(each.findings, each.worst_severity))
        for each in summary.worst_namespaces[:shown]
    ]  # fmt: skip
    heads = ("namespace", "max/mean", "topics", "bundles", "to split", "msg/s out", "findings")
    yield _block("Worst namespaces", heads, namespaces, "<>>>>><")
    bundles = [
        (safe_name(each.bundle), each.outcome, f"{each.topics:,}", f"{each.msgs_per_sec:,.1f}")
        for each in summary.worst_bundles[:shown]
    ]
    yield _block("Bundles to look at first", ("bundle", "load manager", "topics", "msg/s"), bundles, "<<>>")
    findings = [(each.severity, each.rule, f"{each.count:,}") for each in summary.findings]
    yield _block("Findings", ("severity", "rule", "times"), findings, "<<>")
    aside = [
        (each.source, each.table, each.kind, f"{each.rows:,}", f"{each.problems:,}") for each in summary.quarantine
    ]
    yield _block("Set aside", ("job", "table", "kind", "rows", "problems"), aside, "<<<>>")


def policy_lines(policies: Sequence[PolicyTotals]) -> list[str]:
    """Failover under each policy, with an empty line at the end; nothing without any."""
    rows = [
        (each.policy + (" *" if each.in_force else "") + (" (what-if)" if each.what_if else ""),
         _ratio(each.worst_max_over_mean), f"{each.idle:,}", f"{each.moved:,}", f"{each.least_moved:,}")
        for each in policies
    ]  # fmt: skip
    return _block("Failover, by policy (* in force)", ("policy", "worst max/mean", "idle", "moved", "least"), rows)


def _block(title: str, heads: Sequence[str], rows: _Rows, aligns: str = "") -> list[str]:
    if not rows:
        return []
    sides: list[Align] = [">" if side == ">" else "<" for side in aligns or "<" + ">" * (len(heads) - 1)]
    return [title, *table([tuple(heads), *rows], sides, indent="  "), ""]


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _verdicts(verdicts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.lower().replace('_', ' ')} {count:,}" for name, count in sorted(verdicts.items()))


def _found(count: int, worst: str | None) -> str:
    return "" if not count else f"{count:,} ({worst})"
