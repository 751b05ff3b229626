"""``ringside fleet`` without Spark: what it says when something is missing, and the page of a summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.fleet.summary import (
    VERSION,
    FindingCount,
    FleetSummary,
    FleetTotals,
    KeyModeTotals,
    PolicyTotals,
    QuarantineCount,
    WorstBundle,
    WorstNamespace,
    WorstSubscription,
    read_summary,
    summary_text,
)
from tests.tui.cli.conftest import Run

SUMMARY = FleetSummary(
    VERSION,
    ("import", "assign"),
    FleetTotals(topics=1_000_000, namespaces=3, bundles=12, msg_rate_in=1234.5),
    (PolicyTotals("flag_off", False, True, 7, 1, 0, 0, 2.5), PolicyTotals("rendezvous", True, False, 7, 0, 3, 2, 1.25)),
    (KeyModeTotals("auto_split", True, None, {"HOT_KEY": 2}),),
    (WorstSubscription("t/n", "s\x1b[31m", "Failover", "flag_off", 7, 3, 1, 2.5, 3.0, 0, 0, None, 2, "error"),),
    (WorstNamespace("t/n", 7, 1, 1.0, 2.0, 3.0, 4.0, 5, 4, 1, 2.5, "s", 1, 2, "error"),),
    (WorstBundle("t/n/0x00000000_0xffffffff", None, 7, 3.0, 7.0, "chosen", "topics"),),
    (FindingCount("failover-names-collide", "error", 2),),
    (QuarantineCount("import", "topics", "bad", 5, 4),),
    {"topics": 1_000_000},
)


def saved(folder: Path, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "summary.json").write_bytes(data)
    return folder


def test_a_summary_is_read_again_and_equal_ones_have_equal_bytes() -> None:
    assert read_summary(summary_text(SUMMARY)) == SUMMARY
    assert summary_text(read_summary(summary_text(SUMMARY))) == summary_text(SUMMARY)


def test_the_page_tells_the_worst_and_no_name_can_draw(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(saved(tmp_path / "out", summary_text(SUMMARY))))
    assert ran.code == 0
    for words in ("1,000,000 topics", "flag_off *", "rendezvous (what-if)", "hot key 2", "chosen",
                  "failover-names-collide", "2 (error)"):  # fmt: skip
        assert words in ran.out
    assert "\x1b" not in ran.out
    plain = run("fleet", "open", str(tmp_path / "out"), "--ascii")
    assert plain.out.isascii()
    as_json = run("fleet", "open", str(tmp_path / "out"), "--json")
    assert json.loads(as_json.out) == json.loads(summary_text(SUMMARY))


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"{", "no summary"), (b'{"version": 99}', "version 99"), (b"[]", "no summary"), (b'{"version": 1}', "jobs")],
)
def test_what_is_no_summary_is_input_that_cannot_be_used(data: bytes, word: str, run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(saved(tmp_path / "out", data)))
    assert ran.code == 2
    assert word in ran.err and ran.out == ""


def test_a_folder_without_a_summary_is_told_how_to_get_one(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "open", str(tmp_path))
    assert (ran.code, "ringside fleet run" in ran.err) == (2, True)


@pytest.mark.parametrize("job", ["run", "import", "assign", "keys", "bundles", "lint", "report", "watch"])
def test_without_spark_one_sentence_says_what_to_install(
    job: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pipeline.session.find_spec", lambda name: None)
    ran = run("fleet", job, "in", "out")
    assert ran.code == 1
    assert "pip install 'pulsar-ringside[spark]'" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_an_option_without_a_value_is_a_mistyped_line(run: Run) -> None:
    assert run("fleet", "keys", "in", "out", "--set", "top").code == 2
    assert run("fleet", "keys", "in").code == 2
    assert run("fleet", "nothing", "in", "out").code == 2
