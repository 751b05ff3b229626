"""The vectors' reader itself: a spoilt line is found, an unknown kind fails, what is absent or uncovered is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden.harness import (
    HERE,
    KEPT,
    LATER_KINDS,
    SCALABLE,
    SHOWN_FAILURES,
    Line,
    _bulk_checkers,
    load_families,
    run_family,
)
from tests.golden.test_golden import test_family as check_family
from tests.golden.test_golden import test_the_folder_holds_known_families as check_folder
from tests.own_folder import GOLDEN, LAB, OwnFolder

ROOT = HERE.parent.parent


def some_lines(family: str, count: int = 3) -> list[dict[str, Any]]:
    with (HERE / f"{family}.jsonl").open(encoding="utf-8") as stream:
        return [json.loads(text) for _, text in zip(range(count), stream, strict=False)]


def write(folder: Path, family: str, lines: list[Any]) -> Path:
    path = folder / f"{family}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def checkers() -> None:
    load_families()


def test_a_spoilt_answer_is_found_and_named(tmp_path: Path) -> None:
    lines = some_lines("split_range")
    lines[1]["out"]["boundaries"][0] += 1
    outcome = run_family(write(tmp_path, "split_range", lines))
    assert outcome.checked == 3
    (failure,) = outcome.failures
    assert failure.startswith(f"split_range.jsonl:2 ({lines[1]['id']}): AssertionError")


def test_a_refusal_that_pulsar_does_not_make_is_found(tmp_path: Path) -> None:
    lines = some_lines("bundle_hash", 1)
    lines[0]["out"] = {"error": "IllegalArgumentException"}
    assert len(run_family(write(tmp_path, "bundle_hash", lines)).failures) == 1


def test_what_a_java_test_asserts_is_checked_too(tmp_path: Path) -> None:
    line = next(line for line in some_lines("unit_tests", 60) if line.get("expect", {}).get("n"))
    line["expect"]["n"] += 1
    assert len(run_family(write(tmp_path, "unit_tests", [line])).failures) == 1


OLDER_ANSWER = [family for file in KEPT if (family := file.removeprefix("5.0.1/")) != file and family not in SCALABLE]


@pytest.mark.parametrize("of_5_0_1", OLDER_ANSWER)
def test_a_line_is_judged_by_the_release_that_its_id_names(tmp_path: Path, of_5_0_1: str) -> None:
    """Every file of 5.0.1 whose subject is older has lines that 4.2.4 answers otherwise, wherever the file is."""
    lines = some_lines(f"5.0.1/{of_5_0_1}", 150)
    assert run_family(write(tmp_path, of_5_0_1, lines)).failures == []
    of_4_2 = [line | {"id": line["id"].removeprefix("p501-")} for line in lines]
    assert run_family(write(tmp_path, of_5_0_1, of_4_2)).failures


def test_an_unknown_kind_fails(tmp_path: Path) -> None:
    lines = [*some_lines("bundles"), {"id": "new", "kind": "merge_bundles", "in": {}, "out": {}}]
    outcome = run_family(write(tmp_path, "bundles", lines))
    assert outcome.failures == ["bundles.jsonl:4: no checker for kind 'merge_bundles'"]


def test_a_kind_left_for_later_is_counted_and_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LATER_KINDS, "unit_tests", frozenset({"merge_bundles"}))
    later = {"id": "a", "kind": "merge_bundles", "in": {}, "out": {}}
    known = next(line for line in some_lines("unit_tests", 60) if line["kind"] == "split_range")
    outcome = run_family(write(tmp_path, "unit_tests", [later, known, later]))
    assert (outcome.checked, dict(outcome.later), outcome.failures) == (1, {"merge_bundles": 2}, [])


@pytest.mark.parametrize(("text", "reason"), [("{", "not JSON"), ("[]", "not a JSON object")])
def test_a_line_that_cannot_be_read_fails(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "split_range.jsonl"
    path.write_text(f"{json.dumps(some_lines('split_range', 1)[0])}\n\n{text}\n", encoding="utf-8")
    (failure,) = run_family(path).failures
    assert failure.startswith(f"split_range.jsonl:3: {reason}")


def test_a_line_that_is_no_utf8_fails_and_the_others_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path, "split_range", some_lines("split_range"))
    path.write_bytes(b'{"kind": "\xff"}\n' + path.read_bytes())
    outcome = run_family(path)
    assert outcome.checked == 3
    assert [failure.split(" ")[:3] for failure in outcome.failures] == [["split_range.jsonl:1:", "not", "JSON:"]]


def test_a_line_that_only_the_bulk_form_gets_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bulk form sees the lines that passed: a spoilt one is reported once, by the first checker."""
    lines = some_lines("split_range", 4)
    lines[1]["out"] = {"boundaries": None}
    seen: list[Line] = []

    def bulk(given: list[Line]) -> list[tuple[int, str]]:
        seen.extend(given)
        return [(1, "cuts []")]

    monkeypatch.setitem(_bulk_checkers, "split_range", bulk)
    outcome = run_family(write(tmp_path, "split_range", lines))
    assert seen == [lines[0], lines[2], lines[3]]
    assert outcome.checked == 4
    assert outcome.failures[1:] == [f"split_range.jsonl:3 ({lines[2]['id']}), in bulk: cuts []"]


def test_a_bulk_form_that_breaks_fails_its_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_bulk_checkers, "split_range", lambda lines: [][len(lines)])
    outcome = run_family(write(tmp_path, "split_range", some_lines("split_range")))
    assert outcome.failures == ["split_range.jsonl, in bulk: IndexError: list index out of range"]


@pytest.mark.parametrize(
    ("bulk_family", "member", "wrong"),
    [
        ("murmur3", "murmur3_32", 1),
        ("failover", "selected", 99),
        ("bundle_hash", "out", {"hash": 1}),
        ("split_range", "out", {"boundaries": []}),
        ("split_topic_count", "out", {"boundaries": [1]}),
        ("split_specified", "out", {"boundaries": [1]}),
        ("split_flow_qps", "out", {"boundaries": [1]}),
    ],
)
def test_the_bulk_form_of_a_family_finds_a_spoilt_answer(bulk_family: str, member: str, wrong: object) -> None:
    lines = [
        line for line in some_lines(bulk_family, 30) if not (bulk_family == "bundle_hash" and "error" in line["out"])
    ]
    assert not list(_bulk_checkers[bulk_family](lines))
    lines[3][member] = wrong if bulk_family != "bundle_hash" else lines[3]["out"] | {"hash": 1}
    assert {at for at, _ in _bulk_checkers[bulk_family](lines)} == {3}


def test_an_empty_file_is_no_success(tmp_path: Path) -> None:
    assert run_family(write(tmp_path, "split_range", [])).failures == ["split_range.jsonl: no line was checked"]


def test_only_the_first_failures_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    lines = some_lines("split_range", SHOWN_FAILURES + 2)
    for line in lines:
        line["out"] = {"boundaries": None}
    report = run_family(write(tmp_path, "split_range", lines)).report()
    assert report.endswith("... and 2 more")
    assert report.count("split_range.jsonl:") == SHOWN_FAILURES


def test_an_absent_file_fails_the_family(tmp_path: Path) -> None:
    said: list[object] = []
    with pytest.raises(pytest.fail.Exception, match=r"murmur3\.jsonl is missing"):
        check_family("murmur3", tmp_path, lambda name, value: said.append(value))
    assert said == ["murmur3: absent"]


def test_an_empty_folder_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check_folder(tmp_path)


def test_a_run_over_another_folder_says_what_it_did(tmp_path: Path) -> None:
    """One line per family: checked, failed, absent or not covered yet; the exit code says whether any failed.

    Handed to a worker, as ``make test`` does it; the recordings of another folder are compared in one process.
    """
    good, bad = some_lines("split_range"), some_lines("split_topic_count", 1)
    bad[0]["out"] = {"boundaries": [1]}
    write(tmp_path, "split_range", good)
    write(tmp_path, "split_topic_count", bad)
    write(tmp_path, "mergers", [{}, {}])
    command = [sys.executable, "-m", "pytest", str(HERE / "test_golden.py"), "--golden-dir", str(tmp_path), "-q"]
    run = subprocess.run(
        [*command, "-n", "1", "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    said = [line for line in run.stdout.splitlines() if line.startswith("golden ") and ": " in line]
    assert "golden split_range: 3 lines checked" in said
    assert "golden split_topic_count: 1 lines checked, 1 failed" in said
    assert "golden murmur3: absent" in said
    assert "golden mergers: not covered yet (2 lines)" in said
    assert "1 failed, 2 passed" in run.stdout


@pytest.mark.parametrize("folder", [GOLDEN, LAB])
def test_a_folder_that_is_none_is_a_usage_error(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: OwnFolder
) -> None:
    monkeypatch.setattr(pytestconfig.option, folder.option.strip("-").replace("-", "_"), tmp_path / "nowhere")
    with pytest.raises(pytest.UsageError, match="nowhere is not a folder"):
        folder.check(pytestconfig)
