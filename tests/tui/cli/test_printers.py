"""What is printed: complete, agreeing with the schema, and with examples that hold."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from tests.engine.scenarios.recordings import RECORDINGS
from tests.schemas import schema_of
from tests.tui.cli.conftest import Answers, Run
from tui.bundles.words import SENTENCES


@pytest.mark.parametrize(
    "words",
    [[], ["--flag", "on", "--apply", "kill billing-3"], ["new", "--consumers", "0"], ["new", "--topics", "0"]],
    ids=["embedded", "after a step", "nobody", "nothing"],
)
def test_json_is_what_its_schema_says(run: Run, words: list[str]) -> None:
    faults = Draft202012Validator(schema_of("dashboard")).iter_errors(json.loads(run(*words, "--json").out))
    assert [fault.message for fault in faults] == []


def test_text_and_json_tell_the_same_facts(run: Run) -> None:
    words = ["--flag", "on", "--apply", "kill billing-3", "--apply", "add newcomer priority 1"]
    text = run(*words, "--once").out
    document = json.loads(run(*words, "--json").out)
    table = {line.split()[1]: line.split() for line in text.splitlines() if line.startswith("  ") and "%" in line}
    for row in document["consumers"]:
        cells = table[row["name"]]
        assert cells[0] == row["tag"]
        assert cells[2] == str(row["priority_level"])
        assert cells[3] == ("standby" if row["standby"] else str(row["active_partitions"]))
    for event in document["events"]:
        assert event["text"] in text
    assert document["status"]["rule_text"] in text
    assert document["status"]["source"] in text
    assert all(bundle in text for bundle in ("0x00000000_0x40000000", "0xc0000000_0xffffffff"))


def test_a_split_that_was_applied_stands_in_the_bundle_tree(run: Run) -> None:
    text = run("--apply", "split public/default/0x00000000_0x40000000", "--once").out
    assert "split by range_equally_divide" in text
    assert "    0x00000000_0x20000000" in text


def test_split_prints_every_algorithm_with_its_request_or_its_refusal(run: Run) -> None:
    text = run("split", "0x00000000_0x40000000").out
    for name in ("range_equally_divide", "topic_count_equally_divide", "specified_positions_divide"):
        assert f"-san {name}" in text
    assert "flow_or_qps_equally_divide" in text
    assert "a broker refuses the request by name" in text


def test_positions_are_taken_in_decimal_and_hexadecimal(run: Run) -> None:
    words = ["split", "0x00000000_0x40000000", "--algorithm", "specified_positions_divide", "--positions"]
    text = run(*words, "0x10000000,805306368").out
    assert "cut at 0x10000000, 0x30000000" in text
    assert "range_equally_divide" not in text


def test_explain_goes_on_to_the_broker_and_to_what_an_unload_interrupts(run: Run) -> None:
    folder = str(RECORDINGS / "pip392-flag-on")
    document = json.loads(run("explain", "topic-7", folder, "--json").out)
    assert document["broker"] == "127.0.0.1:40983"
    assert document["unload"] == {
        "topics": 25, "producers": 25, "consumers": 250, "handovers": 25, "draining_slots": 0, "unacked_messages": 0,
    }  # fmt: skip
    assert document["broker"] in run("explain", "topic-7", folder).out
    planned = json.loads(run("explain", "persistent://t/n/x", "--consumers", "a,b", "--json").out)
    assert (planned["broker"], planned["unload"]) == (None, None)


def test_names_in_order_are_not_the_order_of_a_dispatcher_that_keeps_who_came_first(run: Run, answers: Answers) -> None:
    dump = str(answers(["c-b", "c-a"], ["persistent://t/n/plain"]))
    assert "dispatcher's order" not in run(dump, "--once", "--pulsar", "2.11").out
    assert "dispatcher's order" in run(dump, "--once", "--pulsar", "4.2.4").out


def test_explain_gives_the_numbers_to_check_by_hand(run: Run) -> None:
    """Partition 0 of ten consumers by modulo, and the topic's bytes for the hash."""
    text = run("explain", "topic-7").out
    assert "partition index 0 mod 10 consumers = 0" in text
    assert b"persistent:/".hex(" ") in text
    assert "0  billing-0     0  active" in text


def test_every_split_warning_has_a_sentence_without_holes() -> None:
    from typing import get_args

    from engine.bundles.plan import SplitWarning, WarningCode
    from tui.bundles.words import warning_text

    assert set(SENTENCES) == set(get_args(WarningCode))
    for code in SENTENCES:
        text = warning_text(SplitWarning(code, "0x0_0x1", ("persistent://t/n/x",), (1,), "a_name", 1.0, 1.0))
        assert "{" not in text


def test_no_flag_is_weighed_where_it_moves_nothing(run: Run, answers: Answers) -> None:
    plain = str(answers(["c-a", "c-b"], ["persistent://t/n/plain"], "plain.json"))
    assert "hint:" not in run(plain, "--once", "--pulsar", "4.2.4").out
    assert "--flag on" in run("--once").out
