"""``check`` as text: one line a goal; and as JUnit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from engine.plan.model import Judged, Outcome
from engine.text import counted, visible
from tui.cli.plain import Align, table
from tui.kit.wording import percent, safe_name

_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", "<", "<")
_NAMED: Final = 3
"""Names in a sentence; the others are counted."""


def check_lines(judged: Judged) -> Iterator[str]:
    """One line a goal, and the sum."""
    rows = [
        (
            "ok" if each.met else "MISSED",
            safe_name(each.part),
            _goal(each),
            sentence(each) + ("" if each.met else f"  ({safe_name(judged.plan.source)}:{each.goal.line})"),
        )
        for each in judged.outcomes
    ]
    yield from table(rows, _ALIGNS)
    missed = len(judged.missed)
    yield f"{counted(len(rows), 'goal')}, {missed:,} missed" if missed else f"{counted(len(rows), 'goal')}, all met"


def sentence(outcome: Outcome) -> str:
    """What was found beside what is allowed."""
    if outcome.found is None:
        return outcome.reason + _names(outcome, ": ")
    kind, found, allowed = outcome.goal.kind, outcome.found, outcome.goal.allowed
    if kind == "joins":
        return "everybody can join"
    if kind == "moved":
        told = f"{percent(found)} changes its owner, {percent(allowed)} allowed"
    elif kind in ("max_over_mean", "max_over_mean_msgs", "survive"):
        told = f"{found:.2f}, {allowed:.2f} allowed"
    else:
        told = f"{_plain(found)}, {_plain(allowed)} allowed"
    told += _names(outcome, "; worst is the loss of " if kind == "survive" else "; ")
    if outcome.key:
        told += f"; key {safe_name(outcome.key)} alone is more, and one key stays on one consumer"
    return told


def junit_text(judged: Judged) -> str:
    """A test suite with a case for each goal."""
    missed = len(judged.missed)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites tests="{len(judged.outcomes)}" failures="{missed}">',
        f'  <testsuite name={_quoted(judged.plan.source)} tests="{len(judged.outcomes)}" failures="{missed}">',
    ]
    for each in judged.outcomes:
        case = f"    <testcase classname={_quoted(each.part)} name={_quoted(_goal(each))}"
        place = f' file={_quoted(judged.plan.source)} line="{each.goal.line}"'
        if each.met:
            lines.append(f"{case}{place}/>")
        else:
            told = sentence(each)
            lines += [f"{case}{place}>", f"      <failure message={_quoted(told)}>{escape(visible(told))}</failure>"]
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
    more = len(outcome.who) - _NAMED
    names = ", ".join(map(safe_name, outcome.who[:_NAMED]))
    return before + names + (f" and {more:,} more" if more > 0 else "")


def _plain(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


def _quoted(text: str) -> str:
    return quoteattr(visible(text))
