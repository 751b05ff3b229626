"""``lint``: findings by severity and rule, with what to change, as text and as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, ClassVar, Final

from engine.answer import about
from engine.errors import Problem
from engine.lint import Finding, RuleFacts, Severity
from engine.lint.doctor import WORLD_RULES
from engine.lint.model import SeverityLabel, Where
from engine.text import counted
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import safe_name

SHOWN_OF_A_RULE: Final = 10
_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", "<", "<")


def lint_lines(source: str, findings: Sequence[Finding], *, shown: int = SHOWN_OF_A_RULE) -> Iterator[str]:
    """The worst first; of each rule and severity ``shown`` findings and the number of the others.

    A text that several findings in a row share is printed once, after the last of them.
    """
    yield f"{safe_name(source)}: {summary(findings)}"
    for severity, of_severity in groupby(findings, key=lambda same: same.severity):
        for rule, of_rule in groupby(of_severity, key=lambda same: same.rule):
            group = list(of_rule)
            yield ""
            yield f"{severity.label} {rule} ({len(group):,})"
            for what, alike in groupby(group[:shown], key=lambda same: same.what):
                places = [place_text(same.where) or _nowhere(rule) for same in alike]
                for at, place in enumerate(places, 1):
                    yield from wrapped(f"{place}{':' if at == len(places) else ','}", first="  ", rest="    ")
                yield from wrapped(safe_name(what), first="    ", rest="    ")
            if len(group) > shown:
                yield f"  and {len(group) - shown:,} more; --json has all of them"
            for advice in dict.fromkeys(finding.advice for finding in group[:shown]):
                yield from wrapped(safe_name(advice), first="  change: ", rest="    ")


def summary(findings: Sequence[Finding]) -> str:
    """Findings counted by severity, in words."""
    return counts_text(counts_of(findings))


def counts_text(counts: Mapping[str, int]) -> str:
    """Numbers of findings by the label of their severity, in words; the worst first, whatever their order."""
    labels = [severity.label for severity in sorted(Severity, reverse=True) if counts.get(severity.label)]
    if not labels:
        return "no findings"
    text = ", ".join(
        f"{counts[label]:,} info" if label == "info" else counted(counts[label], label) for label in labels
    )
    return f"{counted(sum(counts.values()), 'finding')} ({text})"


def counts_of(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings of each severity, the worst first, zeros included."""
    counts: dict[str, int] = dict.fromkeys((str(severity.label) for severity in sorted(Severity, reverse=True)), 0)
    for finding in findings:
        counts[finding.severity.label] += 1
    return counts


def place_text(where: Where) -> str:
    """The place of a finding in one phrase, "" for no place in particular."""
    parts = [safe_name(where.namespace)] if where.namespace else []
    if where.subscription:
        parts.append(f"subscription {safe_name(where.subscription)}")
    if where.topics > 1:
        parts.append(f"{where.topics:,} topics from {safe_name(where.topic)} on")
    elif where.topic:
        parts.append(safe_name(where.topic))
    if where.bundle:
        parts.append(f"bundle {safe_name(where.bundle)}")
    if where.consumer:
        parts.append(f"consumer {safe_name(where.consumer)}")
    return ", ".join(parts)


def _nowhere(rule: str) -> str:
    return "all brokers" if rule in {known.id for known in WORLD_RULES} else "these consumers together"


def rule_lines(rules: Iterable[RuleFacts]) -> list[str]:
    """All rules, one a line."""
    rows = [("rule", "up to", "what", "source")]
    rows += [(rule.id, rule.worst.label, rule.about, rule.source) for rule in rules]
    return table(rows, _ALIGNS)


@dataclass(frozen=True, slots=True)
class Counts:
    """Findings by severity."""

    error: Annotated[int, about("Errors.", 0)]
    warning: Annotated[int, about("Warnings.", 0)]
    info: Annotated[int, about("Infos.", 0)]


@dataclass(frozen=True, slots=True)
class LintDocument:
    """What `ringside lint --json` prints: what was looked at, and what was found."""

    FORMAT: ClassVar = "ringside.lint/1"

    source: Annotated[str, about("What was looked at.")]
    fail_on: Annotated[SeverityLabel, about("The severity from which on the exit code is 1.")]
    failed: Annotated[bool, about("Whether a finding is as bad as that or worse.")]
    counts: Annotated[Counts, about("Findings by severity.")]
    findings: Annotated[Sequence[Finding], about("The worst first, then by rule and place.")]
    problems: Annotated[Sequence[Problem], about("Parts of the input that could not be used.")]


def lint_document(
    source: str, findings: Sequence[Finding], problems: Sequence[Problem], *, fail_on: Severity
) -> LintDocument:
    """The findings, in the order of the text."""
    return LintDocument(
        source=source,
        fail_on=fail_on.label,
        failed=any(finding.severity >= fail_on for finding in findings),
        counts=Counts(**counts_of(findings)),
        findings=findings,
        problems=problems,
    )


@dataclass(frozen=True, slots=True)
class RuleRow:
    rule: Annotated[str, about("Its id.")]
    worst: Annotated[str, about("The worst severity of its findings.")]
    about: Annotated[str, about("What it finds.")]
    source: Annotated[str, about("Where it is known from.")]


@dataclass(frozen=True, slots=True)
class RulesDocument:
    """The rules of the doctor."""

    FORMAT: ClassVar[str] = "ringside.rules/1"
    rules: Annotated[tuple[RuleRow, ...], about("In the order of lint --list.")]


def rules_document(rules: Iterable[RuleFacts]) -> RulesDocument:
    """The rules, in the order of the text."""
    return RulesDocument(tuple(RuleRow(rule.id, rule.worst.label, rule.about, rule.source) for rule in rules))
