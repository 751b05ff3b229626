"""A fleet run as JUnit: a case for each job, each condition of ``--fail-on`` and each rule that found something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from engine.lint.model import severity_of
from engine.text import visible

if TYPE_CHECKING:
    from engine.views.fleet.summary import FleetSummary
    from pipeline.conditions import Condition, Figures

_Case = tuple[str, str, str, str]
"""Class, name, what went wrong ("" for nothing), and ``error`` or ``failure``."""


def junit_text(summary: FleetSummary, figures: Figures, conditions: Sequence[Condition]) -> str:
    """A finding fails its case where a condition names its severity or a lower one."""
    cases = [*_jobs(summary), *_conditions(figures, conditions), *_findings(summary, conditions)]
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
            reason = f"it is {value:,.4g}" if condition.is_met(figures) else ""
            yield "fleet.conditions", condition.text, reason, "failure"


def _findings(summary: FleetSummary, conditions: Sequence[Condition]) -> Iterator[_Case]:
    limits = [severity_of(condition.severity) for condition in conditions if condition.severity]
    for finding in summary.findings:
        fails = bool(limits) and severity_of(finding.severity) >= min(limits)
        yield "fleet.findings", finding.rule, f"{finding.severity}, {finding.count:,} times" if fails else "", "failure"
