"""``demo``: the scripts there are; with ``--headless`` what one said and did, and how its expectations came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any, Final

from engine.scenarios.script.run import Script, ScriptStep
from engine.text import counted
from tui.cli.plain import wrapped
from tui.kit.wording import safe_name

FORMAT: Final = "ringside.script/1"
"""Changes when a member goes or changes its meaning."""


def list_lines(scripts: Sequence[Script]) -> list[str]:
    """A line for each script: its name and title."""
    width = max(len(_name(script)) for script in scripts)
    return [f"{_name(script):<{width}}  {script.title}" for script in scripts]


def list_document(scripts: Iterable[Script]) -> list[dict[str, str]]:
    """The scripts with what they show."""
    return [{"name": _name(script), "title": script.title, "about": script.about} for script in scripts]


def _name(script: Script) -> str:
    return PurePath(script.source).stem


def script_document(script: Script, steps: Sequence[ScriptStep], view: dict[str, Any]) -> dict[str, Any]:
    """What ``script_lines`` tells as plain values, with the numbers that came; ``view`` is that of the end.

    A step's ``expected`` is null where it expects nothing.
    """
    expected = [step for step in steps if step.kind == "expect"]
    return {
        "format": FORMAT,
        "script": script.source,
        "title": script.title,
        "about": script.about,
        "expectations": len(expected),
        "met": sum(not step.failures for step in expected),
        "failed_lines": [step.line for step in steps if step.failures],
        "steps": [_step_document(step) for step in steps],
        "view": view,
    }


def _step_document(step: ScriptStep) -> dict[str, Any]:
    told = {"met": not step.failures, "found": step.found, "instead": step.instead or None}
    return {
        "line": step.line,
        "at_seconds": step.at_seconds,
        "kind": step.kind,
        "text": step.text,
        "caption": step.caption,
        "refused": None if step.rejection is None else asdict(step.rejection),
        "expected": told if step.kind == "expect" else None,
        "failures": [failure.reason for failure in step.failures],
    }


def script_lines(steps: Sequence[ScriptStep]) -> list[str]:
    """A line or two for each step, and a last line with the sums."""
    expected = [step for step in steps if step.kind == "expect"]
    failed = sum(bool(step.failures) for step in steps)
    met = sum(not step.failures for step in expected)
    outcome = f"{met} of {counted(len(expected), 'expectation')} met"
    return [
        *(line for step in steps for line in _step(step)),
        outcome if not failed else f"{outcome}, {counted(failed, 'line')} failed",
    ]


def _step(step: ScriptStep) -> Iterator[str]:
    text = safe_name(step.text) if step.text else ""
    match step.kind:
        case "say":
            yield from wrapped(text, first="# ", rest="  ")
        case "do":
            refused = f" (refused: {safe_name(step.rejection.message)})" if step.rejection is not None else ""
            yield from wrapped(f"{text}{refused}", first="> ", rest="    ")
        case "expect":
            yield from wrapped(text, first="  FAILED " if step.failures else "  ok ", rest="     ")
    for failure in step.failures:
        yield from wrapped(safe_name(failure.reason), first="  ! ", rest="    ")
