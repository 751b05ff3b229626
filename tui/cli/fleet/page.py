"""The summary of a fleet run as text, and the run as JUnit: a case for each job, limit of ``--fail-on``,
subscription that a limit is about, rule, and each of the worst findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as Xml

from engine.lint.model import severity_of
from engine.text import counted, visible
from engine.views.fleet.runs import MEASURES, Trend
from engine.views.fleet.summary import Agreement, ClusterRules, FleetSummary, FleetTotals, PolicyTotals
from tui.cli.plain import Align, table
from tui.fleet.words import MEASURE_NAMES, measure_text
from tui.kit.wording import BUSIEST_SHORT, ONE_CLUSTER, UNKNOWN, at_least, safe_name, sparkline

if TYPE_CHECKING:
    from engine.views.fleet.conditions import Condition, Figures
    from engine.views.fleet.summary import FleetSummary


SHOWN: Final = 10
_OF_ONE: Final = ("busiest_over_average", "idle")
"""The numbers in conditions that single subscriptions have as well."""
_Rows = Sequence[tuple[str, ...]]


def fleet_lines(summary: FleetSummary, trends: Sequence[Trend] = (), *, shown: int = SHOWN) -> list[str]:
    """Totals, then the worst of each kind, findings, what was set aside, and trends."""
    return [*(line for part in _parts(summary, shown) for line in part), *trend_lines(trends, shown)][:-1]


def trend_lines(trends: Sequence[Trend], shown: int = SHOWN) -> list[str]:
    """Clusters and tenants over the runs: the last number, its growth since the first, and the way between."""
    rows = [
        (_in(trend.cluster, safe_name(trend.tenant)) if trend.tenant else _folder(trend.cluster),
         *(cell for values, lacking in zip(trend.values, trend.lacking, strict=True)
           for cell in (measure_text(values, lacking), sparkline(values))))
        for trend in trends[:shown]
    ]  # fmt: skip
    heads = ("cluster or tenant", *(cell for name in MEASURE_NAMES for cell in (name, "")))
    runs = len(trends[0].values[0]) if trends else 0
    more = [f"  and {len(trends) - shown:,} more"] if len(trends) > shown else []
    return [*_block(f"Over {runs:,} runs", heads, rows, "<" + "><" * len(MEASURES))[:-1], *more, ""] if rows else []


def _parts(summary: FleetSummary, shown: int) -> Iterator[list[str]]:
    totals = summary.totals
    yield [
        f"{counted(totals.topics, 'topic')} ({totals.partitioned_topics:,} partitioned)"
        f" in {counted(totals.namespaces, 'namespace')},"
        f" {counted(totals.bundles, 'bundle')} on {counted(totals.brokers, 'broker')}"
        + (f" of {counted(totals.clusters, 'cluster')}" if totals.clusters > 1 else ""),
        f"{counted(totals.subscription_names, 'subscription')}"
        f" ({totals.subscriptions:,} with those of each partition),"
        f" {counted(totals.consumers, 'consumer')}, {counted(totals.publishers, 'publisher')}",
        f"{_total(totals, 'msg_rate_in')} msg/s in, {_total(totals, 'msg_rate_out')} out,"
        f" {_total(totals, 'backlog_size_bytes')} bytes of backlog",
        *_lacking(totals),
        *(f"The job {job} failed: {reason}" for job, reason in sorted(summary.failed.items())),
        "",
    ]
    yield rule_lines(summary.rules, summary.agreement, shown)
    yield policy_lines(summary.policies)
    modes = [
        (row.mode + (" *" if row.in_force else ""), _ratio(row.worst_busiest_over_average), _verdicts(row.verdicts))
        for row in summary.key_modes
        if row.worst_busiest_over_average is not None or row.verdicts
    ]  # fmt: skip
    yield _block("Key_Shared, by mode (* in force)", ("mode", f"worst {BUSIEST_SHORT}", "why"), modes, "<><")
    subscriptions = [
        (_in(row.cluster, f"{safe_name(row.namespace)}/{safe_name(row.subscription)}".strip("/")), row.type,
         _ratio(row.busiest_over_average), f"{row.idle:,}", f"{row.consumers:,}", f"{row.partitions:,}",
         f"{row.spare_msg_rate:,.1f}", _findings_text(row.findings, row.worst_severity))
        for row in summary.worst_subscriptions[:shown]
    ]  # fmt: skip
    heads: tuple[str, ...] = ("subscription", "type", BUSIEST_SHORT, "idle", "of", "topics", "spare msg/s", "findings")
    yield _block("Worst subscriptions", heads, subscriptions, "<<>>>>><")
    namespaces = [
        (_in(row.cluster, safe_name(row.namespace)), _ratio(row.worst_busiest_over_average), f"{row.topics:,}",
         f"{row.bundles:,}", f"{row.bundles_to_split:,}",
         at_least(_known(row.msg_rate_out, 1), row.unknown.get("msg_rate_out")),
         _findings_text(row.findings, row.worst_severity))
        for row in summary.worst_namespaces[:shown]
    ]  # fmt: skip
    heads = ("namespace", BUSIEST_SHORT, "topics", "bundles", "to split", "msg/s out", "findings")
    yield _block("Worst namespaces", heads, namespaces, "<>>>>><")
    bundles = [
        (_in(row.cluster, safe_name(row.bundle)), row.outcome, f"{row.topics:,}", _known(row.msgs_per_sec, 1))
        for row in summary.worst_bundles[:shown]
    ]
    yield _block("Bundles to look at first", ("bundle", "load manager", "topics", "msg/s"), bundles, "<<>>")
    yield balance_lines(summary, shown)
    scalable = [
        (_in(row.cluster, safe_name(row.topic)), f"{row.blocked:,}", f"{row.stuck:,}", f"{row.idle:,}",
         f"{row.consumers:,}", f"{row.segments:,}", _ratio(row.score), f"{row.backlog:,}",
         f"{row.next} ({row.reason})" if row.reason else row.next)
        for row in summary.worst_scalable_topics[:shown]
    ]  # fmt: skip
    heads = ("topic", "blocked", "stuck", "idle", "of", "segments", "score", "backlog", "next")
    yield _block("Worst scalable topics", heads, scalable, "<>>>>>>><")
    findings = [(row.severity, row.rule, f"{row.count:,}") for row in summary.findings]
    yield _block("Findings", ("severity", "rule", "times"), findings, "<<>")
    aside = [(row.source, row.table, row.kind, f"{row.rows:,}", f"{row.problems:,}") for row in summary.quarantine]
    yield _block("Set aside", ("job", "table", "kind", "rows", "problems"), aside, "<<<>>")


def balance_lines(summary: FleetSummary, shown: int = SHOWN) -> list[str]:
    """What the load balancers do next: the fullest brokers, the unloads of the next cycle, what goes round."""
    if "balance" not in summary.jobs:
        return []
    totals = summary.balance
    head = (
        f"Load balancers of {counted(totals.clusters, 'cluster')}: {counted(totals.unloads, 'unload')} in"
        f" {counted(totals.cycles, 'cycle')} ({totals.next_unloads:,} in the next),"
        f" {counted(totals.topics_interrupted, 'topic')} interrupted,"
        f" {counted(totals.loops, 'bundle')} go round, {counted(totals.swaps, 'pair')} of brokers swap"
    )
    refused = [f"{counted(totals.refused, 'cluster')} without a forecast"] if totals.refused else []
    brokers = [
        (safe_name(row.broker), _folder(row.cluster), _percent(row.usage),
         _percent(row.usage_after), f"{row.next_unloads:,}", f"{row.unloads:,}", f"{row.gained:,}",
         row.next_outcome)
        for row in summary.worst_brokers[:shown]
    ]  # fmt: skip
    heads: tuple[str, ...] = ("broker", "cluster", "usage", "after", "next", "unloads", "gains", "next cycle")
    unloads = [
        (safe_name(row.bundle), _folder(row.cluster), safe_name(row.source),
         safe_name(row.destination or "(at its next look-up)"), f"{row.topics:,}", f"{row.msg_rate:,.1f}")
        for row in summary.next_unloads[:shown]
    ]  # fmt: skip
    unload_heads = ("bundle", "cluster", "from", "to", "topics", "msg/s")
    loops = [
        (safe_name(row.bundle) if row.bundle else "(two brokers)", _folder(row.cluster), f"{row.times:,}",
         safe_name(" ".join(row.brokers)))
        for row in summary.balance_loops[:shown]
    ]  # fmt: skip
    return [
        head, *refused, "",
        *_block("Fullest brokers", heads, brokers, "<<>>>>><"),
        *_block("Unloads of the next cycle", unload_heads, unloads, "<<<<>>"),
        *_block("What goes round", ("bundle", "cluster", "times", "brokers"), loops, "<<><"),
    ]  # fmt: skip


def rule_lines(rules: Sequence[ClusterRules], agreement: Agreement, shown: int = SHOWN) -> list[str]:
    """The release and the flag of each cluster, how they are known, and whether what was reported agrees."""
    if not rules:
        return []
    agreement_text = (
        f"Reported active consumers: {agreement.reported:,}, {agreement.agreeing:,} agree with the rules in force"
    )
    rows = [
        (_folder(rule.cluster), f"{rule.release} ({rule.release_basis})",
         f"{str(rule.consistent_hashing).lower()} ({rule.flag_basis})",
         f"{rule.agreeing:,} of {rule.reported:,}" if rule.reported else "none reported")
        for rule in rules[:shown]
    ]  # fmt: skip
    heads = ("cluster", "release", "consistent hashing", "active consumers")
    more = [f"  and {len(rules) - shown:,} more clusters"] if len(rules) > shown else []
    return [agreement_text, *_block("Rules in force", heads, rows, "<<<<")[:-1], *more, ""]


def policy_lines(policies: Sequence[PolicyTotals]) -> list[str]:
    """Failover under each policy, with an empty line at the end; nothing without any."""
    rows = [
        (policy.policy + (" *" if policy.in_force else ""),
         _ratio(policy.worst_busiest_over_average), f"{policy.idle:,}", f"{policy.moved:,}", f"{policy.least_moved:,}")
        for policy in policies
    ]  # fmt: skip
    return _block(
        "Failover, by policy (* in force)", ("policy", f"worst {BUSIEST_SHORT}", "idle", "moved", "least"), rows
    )


def _block(title: str, heads: Sequence[str], rows: _Rows, aligns: str = "") -> list[str]:
    if not rows:
        return []
    sides: list[Align] = [">" if side == ">" else "<" for side in aligns or "<" + ">" * (len(heads) - 1)]
    return [title, *table([tuple(heads), *rows], sides, indent="  "), ""]


def _in(cluster: str, name: str) -> str:
    return f"{safe_name(cluster)}: {name}" if cluster else name


def _folder(name: str) -> str:
    return safe_name(name) if name else ONE_CLUSTER


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _total(totals: FleetTotals, name: str) -> str:
    return at_least(_known(getattr(totals, name), 0), totals.unknown.get(name))


def _lacking(totals: FleetTotals) -> list[str]:
    most = max(totals.unknown.values(), default=0)
    words = "some of these numbers, of which the others have at least the sums (+)"
    return [f"{counted(most, 'topic', 'lacks', 'lack')} {words}"] if most else []


def _known(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _verdicts(verdicts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.lower().replace('_', ' ')} {count:,}" for name, count in sorted(verdicts.items()))


def _findings_text(count: int, worst: str | None) -> str:
    return "" if not count else f"{count:,} ({worst})"


_Case = tuple[str, str, str, str]
"""Class, name, what went wrong ("" for nothing), and ``error`` or ``failure``."""


def junit_text(summary: FleetSummary, figures: Figures, conditions: Sequence[Condition]) -> str:
    """A finding fails its case where a condition names its severity or a lower one."""
    cases = [*_jobs(summary), *_conditions(figures, conditions), *_subscriptions(summary, conditions)]
    cases += _findings(summary, conditions)
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(reason) and kind == "failure" for _, _, reason, kind in cases)),
        "errors": str(sum(bool(reason) and kind == "error" for _, _, reason, kind in cases)),
    }
    root = Xml.Element("testsuites", counts)
    suite = Xml.SubElement(root, "testsuite", {"name": "ringside fleet", **counts})
    if summary.snapshot_time is not None:
        suite.set("timestamp", summary.snapshot_time)
    for group, name, reason, kind in cases:
        case = Xml.SubElement(suite, "testcase", {"classname": group, "name": visible(name)})
        if reason:
            Xml.SubElement(case, kind, {"message": visible(reason)})
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode")


def _jobs(summary: FleetSummary) -> Iterator[_Case]:
    for job in (*summary.jobs, *sorted(summary.failed)):
        yield "fleet.jobs", job, summary.failed.get(job, ""), "error"


def _conditions(figures: Figures, conditions: Sequence[Condition]) -> Iterator[_Case]:
    for condition in conditions:
        value = condition.value(figures)
        if value is None:
            yield "fleet.conditions", condition.text, "no job of this run counted it", "error"
        else:
            reason = condition.measured(figures) if condition.is_met(figures) else ""
            yield "fleet.conditions", condition.text, reason, "failure"


def _subscriptions(summary: FleetSummary, conditions: Sequence[Condition]) -> Iterator[_Case]:
    """The worst subscriptions, each of which fails where it exceeds by itself what a condition allows."""
    limits = [condition.limit for condition in conditions if condition.limit and condition.limit.name in _OF_ONE]
    for row in summary.worst_subscriptions if limits else ():
        values = ((limit, getattr(row, limit.name)) for limit in limits)
        over = {limit.name: value for limit, value in values if value is not None and limit.holds(value, 0)}
        reason = ", ".join(f"{name} is {value:,.4g}" for name, value in over.items())
        name = "/".join(part for part in (row.cluster, row.namespace, row.subscription) if part)
        yield "fleet.subscriptions", name, reason, "failure"


def _findings(summary: FleetSummary, conditions: Sequence[Condition]) -> Iterator[_Case]:
    limits = [severity_of(condition.severity) for condition in conditions if condition.severity]
    for finding in summary.findings:
        fails = bool(limits) and severity_of(finding.severity) >= min(limits)
        yield "fleet.findings", finding.rule, f"{finding.severity}, {finding.count:,} times" if fails else "", "failure"
    for one in summary.worst_findings:
        fails = bool(limits) and severity_of(one.severity) >= min(limits)
        yield f"fleet.findings.{one.rule}", one.place or "the fleet", one.what if fails else "", "failure"
