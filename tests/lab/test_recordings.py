"""Every recorded folder agrees with the model: the committed ones, or those below ``--recordings-dir``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.verify.report import Difference, RulesUsed, VerifyReport
from tests.lab import plugin
from tests.lab.committed import LEAST
from tests.lab.folder import label_of
from tests.lab.reports import compared_once
from tests.own_folder import LAB


def test_recorded_folder(
    recorded_folder: Path, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    """Each difference, and each part that cannot be read, is a failure of its own; all else of the folder counts."""
    label = label_of(recorded_folder, LAB.of(request.config))
    report, broken = _report_of(recorded_folder)
    unreadable = broken or [f"cannot be read: {problem}" for problem in report.problems]
    line = f"{label}: {report.agree} facts agree, {len(report.differences)} differ"
    record_property(LAB.name, f"{line}, {len(unreadable)} unreadable" if unreadable else line)
    failures = [*map(_difference_text, report.differences), *unreadable]
    for text in failures[1:]:
        _report_failure(request, text)
    if failures:
        pytest.fail(failures[0], pytrace=False)
    if LAB.is_committed(request.config):
        assert report.compared >= LEAST[label], f"{report.compared} facts were compared, {LEAST[label]} before"
    elif not report.compared:
        pytest.skip("nothing in it is of a kind that is compared")


def _report_of(folder: Path) -> tuple[VerifyReport, list[str]]:
    """The report of a folder, and why there is none: then it is an empty one."""
    empty = VerifyReport("", RulesUsed("", "tried", False, "tried", ()), (), (), {}, ())
    try:
        return compared_once(folder), []
    except InputError as fault:
        return empty, [f"cannot be read: {fault}"]
    except Exception as fault:  # a comparison that breaks must not stop the other folders
        return empty, [f"the comparison broke: {type(fault).__name__}: {fault}"]


def _report_failure(request: pytest.FixtureRequest, text: str) -> None:
    """Report one more failure of the running test, so that every difference counts and is shown."""
    item = request.node
    report = pytest.TestReport(item.nodeid, item.location, {item.name: 1}, "failed", text, "call")
    item.ihook.pytest_runtest_logreport(report=report)


def _difference_text(difference: Difference) -> str:
    parts = (f"step {difference.moment}" if difference.moment else "", difference.file)
    place = ", ".join(part for part in parts if part)
    return (
        f"{difference.kind.value}: {difference.subject} ({place})\n"
        f"expected: {difference.modelled}\n"
        f"seen:     {difference.recorded}\n"
        f"rule:     {difference.rule}"
    )


def test_there_are_recordings(pytestconfig: pytest.Config) -> None:
    """A folder without any recording is a mistake, never a success."""
    assert plugin.folders(pytestconfig), f"no folder with a scenario.json in {LAB.of(pytestconfig)}"
