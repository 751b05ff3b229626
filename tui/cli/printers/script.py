"""``demo --headless``: what a script said and did, line by line, and how its expectations came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.scenarios.script import ScriptStep
from tui.cli.plain import wrapped
from tui.wording import counted, safe_name


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
