"""``check`` on the command line: exit codes, and reports that others read."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from engine.plan.model import GOALS
from tests.tui.cli.conftest import Run

EXAMPLE = Path(__file__).parents[3] / "docs" / "plan.toml"
MISSED = """
[[subscriptions]]
name = "<s&\\u001b>"
type = "Key_Shared"
consumers = [{ name = "a\\"<b>", ranges = [[0, 9]] }]
[subscriptions.goals]
gaps = 0
overlap = 0
"""


def test_the_example_is_met(run: Run) -> None:
    ran = run("check", str(EXAMPLE))
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == 1 + sum(line.startswith("ok") for line in ran.out.splitlines())


def test_the_plan_in_the_help_is_one(run: Run, tmp_path: Path) -> None:
    lines = run("check", "--help").out.splitlines()
    begin = lines.index("  A plan:") + 1
    (tmp_path / "plan.toml").write_text("\n".join(lines[begin : lines.index("", begin)]))
    document = json.loads(run("check", "plan.toml", "--json").out)
    assert [(row["goal"], row["part"]) for row in document["goals"]] == [
        ("max_over_mean", "billing"),
        ("survive", "billing"),
    ]


def test_a_missed_goal_is_exit_code_1_and_in_every_report(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(MISSED)
    ran = run("check", "plan.toml", "--junit", "out.xml", "--sarif", "out.sarif", "--json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert [(row["goal"], row["met"], row["line"]) for row in document["goals"]] == [
        ("joins", True, 2),
        ("gaps", False, 7),
        ("overlap", True, 8),
    ]
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    cases = suite.findall(".//testcase")
    assert [len(case.findall("failure")) for case in cases] == [0, 1, 0]
    assert cases[1].attrib["line"] == "7"
    (outcome,) = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    assert {rule["id"] for rule in outcome["tool"]["driver"]["rules"]} == set(GOALS)
    (result,) = outcome["results"]
    assert result["ruleId"] == "gaps"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 7
    # Reports of an earlier run are replaced.
    assert run("check", str(EXAMPLE), "--junit", "out.xml").code == 0
    assert ElementTree.parse(tmp_path / "out.xml").getroot().attrib["failures"] == "0"


def test_no_other_file_is_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(MISSED)
    for option in ("--junit", "--sarif"):
        assert run("check", "plan.toml", option, "plan.toml").code == 2
    assert run("check", "plan.toml", "--junit", str(tmp_path)).code == 2
    assert (tmp_path / "plan.toml").read_text() == MISSED
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["plan.toml"]


@pytest.mark.parametrize("text", ["", "a = ", "[[topics]]\nname = 1\n", "[[subscriptions]]\nname='s'\ncount=1"])
def test_a_plan_that_cannot_be_read_is_exit_code_2(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text)
    ran = run("check", "plan.toml")
    assert (ran.code, ran.out) == (2, "")
    assert "plan.toml" in ran.err
    assert run("check", "elsewhere.toml").code == 2
