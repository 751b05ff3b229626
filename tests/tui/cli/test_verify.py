"""``ringside verify``: data on stdout, talk on stderr, and the exit code says whether the model agrees."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engine.errors import InputError
from tests.engine.diagnosis.answers import consumer, stats
from tui.cli.commands.verify import verify_command

RECORDINGS = Path(__file__).parents[2] / "recordings"


def _run(*args: str | Path) -> Result:
    return CliRunner().invoke(verify_command, [str(arg) for arg in args])


def _spoilt(tmp_path: Path) -> Path:
    source = RECORDINGS / "a-failover-3p-modulo"
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "07-partitioned-stats.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    for partition in document["partitions"].values():
        partition["subscriptions"]["sub"]["activeConsumerName"] = "c-\x1b[31ma"
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return tmp_path


def test_agreement_is_counted_kind_by_kind_and_ends_with_0() -> None:
    result = _run(RECORDINGS / "a-failover-3p-hash")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "release rules: Pulsar 4.2.4 (from scenario.json)" in lines
    assert [" ".join(line.split()) for line in lines if line.startswith(("active", "all"))][1:] == [
        "active consumer of a partition compared 22, agree 22",
        "all facts compared 108, agree 108",
    ]
    assert result.stderr == ""


def test_ascii_pages_are_ascii_and_say_the_same() -> None:
    ascii_page = _run(RECORDINGS / "c-keyshared-sticky", "--ascii")
    page = _run(RECORDINGS / "c-keyshared-sticky").stdout
    assert not page.isascii() and ascii_page.stdout.isascii()
    assert ascii_page.stdout == page.replace("×", "x").replace("…", "~").replace("–", "-")
    assert ascii_page.exit_code == 0


def test_facts_that_are_not_compared_are_counted_with_their_reason() -> None:
    result = _run(RECORDINGS / "c-keyshared-sticky")
    assert result.exit_code == 0
    assert "  1 × internal statistics" in result.stdout.splitlines()


def test_a_difference_is_reported_with_both_sides_and_the_rule_and_ends_with_1(tmp_path: Path) -> None:
    result = _run(_spoilt(tmp_path))
    assert result.exit_code == 1
    squeezed = " ".join(result.stdout.split())
    assert "active consumer of a partition compared 22, agree 19 <- differs" in squeezed
    assert "    model:    c-b" in result.stdout
    assert "    rule:     modulo (activeConsumerFailoverConsistentHashing=false, Pulsar 4.2.4)" in result.stdout
    assert "(07-partitioned-stats.json.gz)" in result.stdout
    assert "6 differences in 108 facts" in result.stderr


def test_names_from_a_recording_cannot_steer_the_terminal(tmp_path: Path) -> None:
    result = _run(_spoilt(tmp_path))
    assert "\x1b" not in result.output
    assert "c-\\x1b[31ma" in result.stdout


def test_json_has_everything_and_nothing_else_is_on_stdout(tmp_path: Path) -> None:
    result = _run(_spoilt(tmp_path), "--json")
    document = json.loads(result.stdout)
    assert (document["compared"], document["agree"], document["exit_code"]) == (108, 102, result.exit_code)
    assert len(document["differences"]) == 6
    members = {"kind", "moment", "file", "subject", "recorded", "model", "rule", "likely_reason"}
    assert members == document["differences"][0].keys()
    assert sum(fact["compared"] for fact in document["facts"]) == document["compared"]


def test_a_release_can_be_asked_for() -> None:
    result = _run(RECORDINGS / "v4.0.1-a-failover-6p-hash", "--pulsar", "4.0.0")
    assert result.exit_code == 1
    assert "release rules: Pulsar 4.0.0 (as asked for)" in result.stdout
    assert "which this release does not know" in result.stdout


def test_without_a_scenario_what_fits_and_what_does_not_is_reported(tmp_path: Path) -> None:
    for file in (RECORDINGS / "a-failover-8p-hash").iterdir():
        if not file.name.startswith("scenario"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    result = _run(tmp_path)
    assert result.exit_code == 0
    assert "activeConsumerFailoverConsistentHashing=true (unknown, so both were tried)" in result.stdout
    assert "ring for partitions with ring for topics without: fits (0 differences)" in result.stdout
    assert "does not fit: modulo for partitions with ring for topics without: 70 differences" in result.stdout


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_to_compare_is_an_input_error_with_advice(as_json: bool, tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"a": 1}')
    result = _run(tmp_path, *(["--json"] if as_json else []))
    assert isinstance(result.exception, InputError)
    assert "Save partitioned-stats" in str(result.exception)
    assert "answers of other kinds" in result.stdout


def test_problems_are_talk_and_do_not_disturb_the_data(tmp_path: Path) -> None:
    for file in (RECORDINGS / "a-failover-3p-hash").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "05-partitioned-stats.json.gz").write_bytes(b"{")
    result = _run(tmp_path, "--json")
    assert result.exit_code == 0
    assert "05-partitioned-stats.json" in result.stderr
    assert json.loads(result.stdout)["problems"]


def test_the_program_gives_the_exit_codes_of_its_commands(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run("verify", str(RECORDINGS / "a-failover-3p-hash")).code == 0
    assert run("verify", str(_spoilt(tmp_path))).code == 1
    assert run("verify", str(RECORDINGS / "c-keyshared-ring")).code == 0
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    (nothing / "metrics.json").write_text('{"a": 1}')
    assert run("verify", str(nothing)).code == 2
    assert run("verify", str(tmp_path / "nowhere")).code == 2
    assert run("verify", str(tmp_path), "--pulsar", "newest").code == 2


def test_a_file_can_be_about_the_topic_and_the_settings_that_options_name(tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    file.write_text(json.dumps(stats("Failover", [consumer("a"), consumer("b")], activeConsumerName="a")))
    flag = "activeConsumerFailoverConsistentHashing"
    ran = _run(file, "--topic", "persistent://t/n/x-partition-0", "--set", f"{flag}=false", "--json")
    document = json.loads(ran.stdout)
    assert (document["compared"] > 0, ran.exit_code) == (True, 0)
    assert (document["rules"]["consistent_hashing"], document["rules"]["flag_source"]) == (False, "asked for")
