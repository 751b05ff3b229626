"""``ringside fleet`` without Spark: what it says when something is missing, and the page of a summary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from engine.errors import INSTALL_SPARK
from engine.views.fleet.summary import (
    VERSION,
    FindingCount,
    FleetSummary,
    FleetTotals,
    KeyModeTotals,
    NowTotals,
    PolicyTotals,
    QuarantineCount,
    Records,
    WorstBundle,
    WorstFinding,
    WorstNamespace,
    WorstSubscription,
    read_summary,
    summary_text,
)
from pipeline.jobs.result import JobResult
from tests import fleet_results
from tests.tui.cli.conftest import Run

SUMMARY = FleetSummary(
    VERSION,
    ("import", "assign"),
    FleetTotals(topics=1_000_000, namespaces=3, bundles=12, msg_rate_in=1234.5),
    (
        PolicyTotals("flag_off", True, 7, 1, 0, 0, 2.5),
        PolicyTotals("flag_on", False, 7, 0, 3, 2, 1.25),
    ),
    (KeyModeTotals("auto_split", True, None, {"HOT_KEY": 2}),),
    (WorstSubscription("east", "t/n", "s\x1b[31m", "Failover", "flag_off", 7, 3, 1, 3.0, 0, 0, None, 2, "error"),),
    (WorstNamespace("", "t/n", 7, 1, 1.0, 2.0, 3.0, 4.0, 5, 4, 1, 2.5, "s", 1, 2, "error"),),
    (WorstBundle("", "t/n/0x00000000_0xffffffff", None, 7, 3.0, 7.0, "chosen", "topics"),),
    (FindingCount("failover-names-collide", "error", 2),),
    (QuarantineCount("import", "topics", "bad", 5, 4),),
    {"topics": 1_000_000},
)


def saved(folder: Path, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    fleet_results.put_document(folder, "summary.json", data)
    return folder


def test_a_summary_is_read_again_and_equal_ones_have_equal_bytes() -> None:
    assert read_summary(summary_text(SUMMARY)) == SUMMARY
    assert summary_text(read_summary(summary_text(SUMMARY))) == summary_text(SUMMARY)


def test_the_page_tells_the_worst_and_no_name_can_draw(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(saved(tmp_path / "out", summary_text(SUMMARY))), "--once")
    assert ran.code == 0
    for words in ("1,000,000 topics", "flag_off *", "flag_on ", "hot key 2", "chosen",
                  "failover-names-collide", "2 (error)"):  # fmt: skip
        assert words in ran.out
    assert "\x1b" not in ran.out
    plain = run("fleet", "open", str(tmp_path / "out"), "--once", "--ascii")
    assert plain.out.isascii()
    as_json = run("fleet", "open", str(tmp_path / "out"), "--json")
    assert json.loads(as_json.out) == json.loads(summary_text(SUMMARY))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"3", "not a summary"),
        (b'{"version": 99}', "version 99"),
        (b"[]", "not a summary"),
        (b'{"version": 4}', "jobs"),
        (b'{"version": 2}', "version 2"),
    ],
)
def test_what_is_no_summary_is_input_that_cannot_be_used(data: bytes, word: str, run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(saved(tmp_path / "out", data)), "--once")
    assert ran.code == 2
    assert word in ran.err and ran.out == ""


def test_a_folder_without_a_summary_is_refused_with_how_to_get_one(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(tmp_path), "--once")
    assert (ran.code, "ringside fleet run" in ran.err) == (2, True)


def test_one_of_a_kind_is_in_the_singular(run: Run, tmp_path: Path) -> None:
    totals = FleetTotals(topics=1, namespaces=1, bundles=1, brokers=1, subscription_names=1, consumers=1, publishers=1)
    out = saved(tmp_path / "out", summary_text(replace(SUMMARY, totals=totals)))
    first, second, *_ = run("fleet", "open", str(out), "--once").out.splitlines()
    assert first == "1 topic (0 partitioned) in 1 namespace, 1 bundle on 1 broker"
    assert second == "1 subscription (0 with those of each partition), 1 consumer, 1 publisher"


def test_without_a_terminal_one_sentence_says_what_prints_the_same(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(saved(tmp_path / "out", summary_text(SUMMARY))))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "is not a terminal" in ran.err and "--once" in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize("job", ["run", "import", "assign", "keys", "bundles", "lint", "report", "watch"])
def test_without_spark_one_sentence_says_what_to_install(
    job: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pipeline.session.find_spec", lambda name: None)
    ran = run("fleet", job, "in", "out")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "pyspark, pyarrow, pandas are missing" in ran.err
    assert INSTALL_SPARK in ran.err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("pipeline.session.find_spec", lambda name: None if name == "pandas" else True)
    assert "(pandas is missing)" in run("fleet", job, "in", "out").err


@pytest.mark.parametrize(
    ("found", "fail_on", "code", "expected"),
    [
        ({"info": 20, "error": 1}, [], 1, "21 findings (1 error, 20 info)"),
        ({"warning": 3}, [], 0, "3 findings (3 warnings)"),
        ({"warning": 3}, ["--fail-on", "warning"], 1, "3 findings (3 warnings)"),
        ({"info": 1}, ["--fail-on", "info"], 1, "1 finding (1 info)"),
        ({"info": 1}, ["--fail-on", "warning"], 0, "1 finding (1 info)"),
        ({}, ["--fail-on", "info"], 0, "no findings"),
    ],
    ids=str,
)
def test_lint_ends_with_1_from_the_severity_that_was_asked_for(
    found: dict[str, int], fail_on: list[str], code: int, expected: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"key-gaps": sum(found.values())} if found else {}
    summary = {"job": "lint", "rules": rules, "severities": found}
    monkeypatch.setattr("tui.cli.fleet.command._done", lambda *_: JobResult("lint", summary))
    ran = run("fleet", "lint", "in", "out", *fail_on)
    assert ran.code == code
    first, *rest = ran.out.splitlines()
    assert first == f"lint: {expected}"
    assert [line.split() for line in rest] == [[rule, str(count)] for rule, count in rules.items()]
    as_json = run("fleet", "lint", "in", "out", *fail_on, "--json")
    assert (as_json.code, json.loads(as_json.out)["severities"]) == (code, found)
    assert run("fleet", "bundles", "in", "out", "--fail-on", "info").code == 2, "only findings can be bad"


def test_assign_says_what_the_change_does_under_each_policy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"partitions": 40, "idle": 3, "moved": 1_205, "least_moved": 900, "worst_busiest_over_average": 1.5}
    policies = {"flag_on": numbers, "flag_off": numbers}
    summary = {
        "job": "assign",
        "tables": {"assignments": 40},
        "in_force": ["flag_off"],
        "policies": policies,
        "rules": [],
        "agreement": {"reported": 0, "agreeing": 0},
    }
    monkeypatch.setattr("tui.cli.fleet.command._done", lambda *_: JobResult("assign", summary))
    first, _, heads, off, on = run("fleet", "assign", "in", "out", "--kill", "c-1").out.splitlines()
    assert first == "assign: assignments 40"
    assert heads.split() == ["policy", "worst", "busiest÷avg", "idle", "moved", "least"]
    assert off.split() == ["flag_off", "*", "1.50", "3", "1,205", "900"]
    assert on.split() == ["flag_on", "1.50", "3", "1,205", "900"]


def test_run_judges_only_when_asked(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = JobResult("run", {"job": "run", "jobs": {"lint": {"severities": {"error": 1}}}})
    monkeypatch.setattr("tui.cli.fleet.command._done", lambda *_: result)
    out = str(saved(tmp_path / "out", summary_text(SUMMARY)))
    assert run("fleet", "run", "in", out).code == 0
    judged = run("fleet", "run", "in", out, "--fail-on", "error")
    assert (judged.code, "1,000,000 topics" in judged.out) == (1, True)


def test_a_misspelt_option_is_refused_before_anything_is_started(run: Run, tmp_path: Path) -> None:
    for job, hint in (
        ("import", "it knows clusters, max-input, allow-empty, and spark.*"),
        ("run", "did you mean assign.policies"),
    ):
        ran = run("fleet", job, "in", str(tmp_path / "out"), "--set", "policies=all")
        assert ran.code == 2 and hint in ran.err
        assert "starting Spark" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_an_option_without_a_value_is_a_mistyped_line(run: Run) -> None:
    ran = run("fleet", "keys", "in", "out", "--set", "top")
    assert ran.code == 2 and "not 'top'" in ran.err
    assert run("fleet", "keys", "in").code == 2
    assert run("fleet", "nothing", "in", "out").code == 2


def _reported(monkeypatch: pytest.MonkeyPatch, out: Path) -> None:
    monkeypatch.setattr("tui.cli.fleet.command._done", lambda *_: JobResult("report", {"job": "report"}, out))


def test_a_report_is_written_for_a_build_server_and_for_a_scraper(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    collide = WorstFinding("east", "t/n", "s", "failover-names-collide", "error", "", "persistent://t/n/x", "", "a = b")
    quiet = replace(collide, severity="info", rule="quiet", topic="", subscription="other")
    summary = replace(
        SUMMARY, now=NowTotals(1, 2.5), records=Records(50, 5), failed={"lint": "no memory"},
        worst_findings=(collide, quiet),
    )  # fmt: skip
    _reported(monkeypatch, saved(tmp_path / "out", summary_text(summary)))
    conditions = ("idle>0", "idle>1", "quarantined>9%", "error", "disagreement>0")
    words = [word for condition in conditions for word in ("--fail-on", condition)]
    ran = run("fleet", "report", "in", "out", "--junit", "out.xml", "--openmetrics", "out.txt", *words)
    assert ran.code == 1
    for condition in conditions:
        assert (f"report: {condition}: " in ran.err) is (condition not in ("idle>1", "disagreement>0"))
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    uneven = "east/t/n/s\\x1b[31m"
    named = "east persistent://t/n/x s"
    assert failed == {"idle>0", "quarantined>9%", "error", "failover-names-collide", uneven, named}
    assert cases[named].attrib["classname"] == "fleet.findings.failover-names-collide"
    assert cases["east t/n other"].find("failure") is None
    assert [name for name, case in cases.items() if case.find("error") is not None] == ["lint"]
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (str(len(cases)), "6", "1")
    families = {family.name: family for family in text_string_to_metric_families((tmp_path / "out.txt").read_text())}
    assert [sample.value for sample in families["ringside_fleet_topics"].samples] == [1_000_000]
    # Namespaces and tenants have owners, and so have the series about them.
    (tmp_path / "owners.csv").write_text("tenant,owner\nt,sales\n")
    assert run("fleet", "report", "in", "out", "--openmetrics", "out.txt", "--owners", "owners.csv").code == 1
    families = {family.name: family for family in text_string_to_metric_families((tmp_path / "out.txt").read_text())}
    (idle,) = families["ringside_fleet_idle_of_subscription"].samples
    assert (idle.labels["owner"], idle.labels["cluster"], idle.value) == ("sales", "east", 1)
    (tmp_path / "owners.csv").write_text("team\nt\n")
    for name in ("owners.csv", "nowhere.csv"):
        refused = run("fleet", "report", "in", "out", "--openmetrics", "out.txt", "--owners", name)
        assert (refused.code, name in refused.err) == (2, True)
    # Without a condition findings are no failures; reports of an earlier run are replaced.
    assert run("fleet", "report", "in", "out", "--junit", "out.xml").code == 1, "a job failed"
    assert ElementTree.parse(tmp_path / "out.xml").getroot().attrib["failures"] == "0"


def test_where_no_report_can_be_put_nothing_is_begun(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.xml").write_text("<mine/>")
    for option in ("--junit", "--openmetrics"):
        for name in ("mine.xml", "nowhere/out.xml", "."):
            assert run("fleet", "run", "in", "out", option, name).code == 2
    assert (tmp_path / "mine.xml").read_text() == "<mine/>"
