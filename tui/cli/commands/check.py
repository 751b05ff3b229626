"""``check``: judge a planned state by its goals; as text, JSON, JUnit and SARIF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

import click

from engine.errors import InputError, system_reason
from engine.text import counted, listed, visible
from tui.cli.exits import FAILED, FINE
from tui.cli.options import form_options
from tui.cli.output import Form, json_text
from tui.cli.plain import Align, table
from tui.cli.reports import JUNIT_MARK, SARIF_MARK, write_report
from tui.kit.wording import percent, safe_name
from tui.sources.nearby import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.plan.model import Judged, Outcome


SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_document(judged: Judged, sentences: dict[Outcome, str], version: str) -> dict[str, Any]:
    """SARIF 2.1.0 with a result for each goal that is missed, at its line; ``sentences`` say what was found."""
    from engine.plan.model import GOALS

    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ringside",
                        "version": version,
                        "rules": [{"id": kind, "shortDescription": {"text": text}} for kind, text in GOALS.items()],
                    }
                },
                "results": [
                    {
                        "ruleId": outcome.goal.kind,
                        "level": "error",
                        "message": {"text": sentences[outcome]},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": judged.plan.source},
                                    "region": {"startLine": outcome.goal.line},
                                }
                            }
                        ],
                    }
                    for outcome in judged.missed
                ],
            }
        ],
    }


_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", "<", "<")


@click.command("check")
@click.argument("path", metavar="PLAN.toml")
@click.option("--junit", metavar="FILE", help="Write JUnit XML too.")
@click.option("--sarif", metavar="FILE", help="Write SARIF 2.1.0 too: the missed goals at their lines.")
@form_options
def check_command(*, path: str, junit: str | None, sarif: str | None, form: Form) -> int:
    """Judge a planned state by its goals: topics, consumers, declared ranges, bundles, settings and release in a TOML
    file, with [subscriptions.goals] and [namespaces.goals] beside them. One line a goal.

    Goals of subscriptions: max_over_mean, max_over_mean_msgs, survive (1 to 3 lost), idle, busiest_msgs, moved (against
    [subscriptions.before] or [before]); of Key_Shared also gaps and overlap. Of namespaces: max_over_mean, survive,
    idle, fullest_bundle.

    Exit code 0: every goal is met. 1: one is missed. 2: the plan cannot be read; each problem names line and field.

    \b
    A plan:
      release = "4.2.4"
      [settings]
      activeConsumerFailoverConsistentHashing = true
      [[topics]]
      name = "persistent://shop/orders/placed"
      partitions = 24
      [[subscriptions]]
      name = "billing"
      consumers = ["b-0", "b-1", "b-2"]
      [subscriptions.goals]
      max_over_mean = 1.5
      survive = 1

    Example: ringside check plan.toml --junit report.xml
    """
    import engine
    from engine.plan.judging import judge_plan
    from engine.plan.model import Plan
    from engine.plan.reading import LONGEST_TEXT, read_plan

    source = "standard input" if path == "-" else path
    plan = read_plan(_bytes(path, LONGEST_TEXT), source)
    if not isinstance(plan, Plan):
        raise InputError(f"{source}: {len(plan)} problem{'s' if len(plan) > 1 else ''}, so nothing was judged", plan)
    judged = judge_plan(plan)
    if junit is not None:
        write_report(junit, junit_text(judged), JUNIT_MARK, "--junit")
    if sarif is not None:
        sentences = {outcome: sentence(outcome) for outcome in judged.missed}
        write_report(sarif, json_text(sarif_document(judged, sentences, engine.__version__)), SARIF_MARK, "--sarif")
    return form.show(judged, check_lines(judged), FAILED if judged.missed else FINE)


def _bytes(path: str, most: int) -> bytes:
    from engine.input import read_path
    from tui.sources.answers import standard_input

    if path == "-":
        return standard_input(most)
    reason = missing(path)
    if reason is not None:
        raise InputError(reason)
    try:
        return read_path(Path(path), limit=most)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {system_reason(error)}") from error


def check_lines(judged: Judged) -> Iterator[str]:
    """One line a goal, and the sum."""
    rows = [
        (
            "ok" if outcome.met else "MISSED",
            safe_name(outcome.part),
            _goal(outcome),
            sentence(outcome) + ("" if outcome.met else f"  ({safe_name(judged.plan.source)}:{outcome.goal.line})"),
        )
        for outcome in judged.outcomes
    ]
    yield from table(rows, _ALIGNS)
    missed = len(judged.missed)
    yield f"{counted(len(rows), 'goal')}, {missed:,} missed" if missed else f"{counted(len(rows), 'goal')}, all met"


def sentence(outcome: Outcome) -> str:
    """What was measured, and what is allowed."""
    if outcome.actual is None:
        return outcome.reason + _names(outcome, ": ")
    kind, actual, allowed = outcome.goal.kind, outcome.actual, outcome.goal.allowed
    if kind == "joins":
        return "everybody can join"
    if kind == "moved":
        text = f"{percent(actual)} changes its owner, {percent(allowed)} allowed"
    elif kind in ("max_over_mean", "max_over_mean_msgs", "survive"):
        text = f"{actual:.2f}, {allowed:.2f} allowed"
    else:
        text = f"{_plain(actual)}, {_plain(allowed)} allowed"
    text += _names(outcome, "; worst is the loss of " if kind == "survive" else "; ")
    if outcome.key:
        text += f"; key {safe_name(outcome.key)} alone is more, and one key stays on one consumer"
    return text


def junit_text(judged: Judged) -> str:
    """A test suite with a case for each goal."""
    missed = len(judged.missed)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(judged.outcomes)}" failures="{missed}">',
        f'  <testsuite name={_quoted(judged.plan.source)} tests="{len(judged.outcomes)}" failures="{missed}">',
    ]
    for outcome in judged.outcomes:
        case = f"    <testcase classname={_quoted(outcome.part)} name={_quoted(_goal(outcome))}"
        place = f' file={_quoted(judged.plan.source)} line="{outcome.goal.line}"'
        if outcome.met:
            lines.append(f"{case}{place}/>")
        else:
            message = sentence(outcome)
            lines += [
                f"{case}{place}>",
                f"      <failure message={_quoted(message)}>{escape(visible(message))}</failure>",
            ]
            lines.append("    </testcase>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _goal(outcome: Outcome) -> str:
    goal = outcome.goal
    if goal.kind != "survive":
        return goal.kind
    return f"survive {goal.losses}" + (" by messages" if goal.by_messages else "")


def _names(outcome: Outcome, before: str) -> str:
    if not outcome.who:
        return ""
    return before + listed([*map(safe_name, outcome.who)])


def _plain(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


def _quoted(text: str) -> str:
    return quoteattr(visible(text))
