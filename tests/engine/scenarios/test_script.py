"""Demo scripts: the shipped ones hold, every promise in them can fail, and a bad script reports all that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import InputError, Problem
from engine.scenarios.script.model import Do, Expectation, StartNew, StartScene
from engine.scenarios.script.run import (
    SHIPPED_SCRIPTS,
    Script,
    ScriptStep,
    load_script,
    parse_script,
    run_script,
    shipped_script,
    start_of,
)
from tests.engine.scenarios.recordings import RECORDINGS

SMALL = "new topics 10 consumers 2\n"


def script(text: str) -> Script:
    result = parse_script(text, "demo.ringside")
    assert isinstance(result, Script), result
    return result


def problems(text: str) -> list[tuple[int | None, str]]:
    result = parse_script(text, "demo.ringside")
    assert not isinstance(result, Script)
    return [(problem.line, problem.reason) for problem in result]


def ran(text: str) -> list[ScriptStep]:
    return [step for step, _ in run_script(script(text))]


def failures(text: str) -> list[Problem]:
    return [failure for step in ran(text) for failure in step.failures]


@pytest.mark.parametrize("name", SHIPPED_SCRIPTS)
def test_a_shipped_script_holds_what_it_promises(name: str) -> None:
    result = shipped_script(name)
    steps = [step for step, _ in run_script(result)]
    assert [failure for step in steps for failure in step.failures] == []
    assert len(steps) == len(result.lines)
    assert sum(isinstance(line.action, Expectation) for line in result.lines) >= 15
    assert result.title and 20 <= result.lines[-1].at_seconds <= 60
    assert all(len(line.action.text) <= 110 for line in result.lines if hasattr(line.action, "text"))


@pytest.mark.parametrize("name", SHIPPED_SCRIPTS)
def test_each_number_in_a_shipped_script_can_fail(name: str) -> None:
    """With the commands left out, the story falls apart: the expectations are about what the commands do."""
    result = shipped_script(name)
    silent = Script(
        result.source,
        result.title,
        result.start,
        tuple(line for line in result.lines if not isinstance(line.action, Do)),
    )
    assert sum(len(step.failures) for step, _ in run_script(silent)) >= 5


def test_a_run_tells_captions_times_commands_and_selections() -> None:
    lines = (
        SMALL + "say hello\nat 2.5\nadd billing-x priority 0\nselect billing-x\nview map\nselect topic-3\nsay\n"
        "select public/default/0x0_0x40000000"
    )
    steps, timelines = zip(*run_script(script(lines)), strict=True)
    assert [(step.line, step.kind, step.at_seconds, step.caption) for step in steps] == [
        (2, "say", 0.0, "hello"),
        (4, "do", 2.5, "hello"),
        (5, "select", 2.5, "hello"),
        (6, "view", 2.5, "hello"),
        (7, "select", 2.5, "hello"),
        (8, "say", 2.5, ""),
        (9, "select", 2.5, ""),
    ]
    consumer, topic, bundle = (step.selection for step in steps if step.kind == "select")
    assert consumer is not None and (consumer.kind, consumer.consumer_id) == ("consumer", 2)
    assert topic is not None and topic.topic == "persistent://public/default/topic-3-partition-0"
    assert bundle is not None and (bundle.namespace, bundle.range_text) == ("public/default", "0x00000000_0x40000000")
    assert [timeline.cursor for timeline in timelines] == [0, 1, 1, 1, 1, 1, 1]


def test_a_refusal_fails_the_run_unless_it_is_expected() -> None:
    (failure,) = failures(SMALL + "kill nobody")
    assert failure.line == 2 and "refused" in failure.reason
    assert failures(SMALL + "kill nobody\nexpect refused") == []
    assert failures(SMALL + "kill nobody\nexpect refused UnknownConsumer") == []
    (failure,) = failures(SMALL + "kill nobody\nexpect refused ConsumerBusy")
    assert "the refusal is UnknownConsumer" in failure.reason and failure.line == 3
    (failure,) = failures(SMALL + "kill billing-0\nexpect refused")
    assert "the command was carried out" in failure.reason
    assert failures(SMALL + "undo\nexpect refused") == []


def test_a_failure_does_not_stop_the_run() -> None:
    steps = ran(SMALL + "expect totals.consumers = 9\nadd another\nexpect totals.consumers = 3")
    assert [len(step.failures) for step in steps] == [1, 0, 0]


def test_a_selection_that_is_not_there_fails_with_all_that_was_tried() -> None:
    (failure,) = failures(SMALL + "select topik-33")
    assert "neither a bundle nor a consumer" in failure.reason and "topic" in failure.reason


def test_every_problem_of_a_script_is_reported_with_its_line() -> None:
    text = "\n".join(
        [
            "# a title",
            "scene pip39",
            "adds x",
            "at 5",
            "at 4",
            "at soon",
            "view globe",
            "expect totals",
            "expect totals. = 3",
            "expect status[] = 3",
            "expect totals.consumers ~ 3",
            "expect totals.consumers < many",
            "expect key a: = 3",
            "expect refused",
            "select",
            "expect consumers[a = 1",
        ]
    )
    result = problems(text)
    assert [line for line, _ in result] == [2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    reported = dict(result)
    assert "scenes: pip392" in reported[2] and "did you mean add?" in reported[3] and "time goes back" in reported[5]


@pytest.mark.parametrize("text", ["", "# only a title", "say hello", "add x\nscene pip392"])
def test_a_script_says_what_it_starts_from_first(text: str) -> None:
    assert any("what to start from" in reason for _, reason in problems(text))


def test_a_script_starts_once() -> None:
    assert problems("scene pip392\nscene pip392") == [(2, "a script starts once")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("new topics", "'topics' has no value"),
        ("new topics many", "is not understood"),
        ("new flag maybe", "is not understood"),
        ("new colours 3", "is not understood"),
        ("scene", "write scene with one name"),
        ("open a b", "write open with one path"),
    ],
)
def test_a_start_that_cannot_be_read_says_how_it_is_written(line: str, reason: str) -> None:
    ((number, result),) = problems(line)
    assert number == 1 and reason in result


def test_new_takes_its_numbers_in_any_order() -> None:
    result = script("new consumers 3 flag on seed 9 topics 7 release 4.0.0 partitions 2 bundles 8")
    assert result.start == StartNew(7, 2, 3, 9, 8, True, "4.0.0")
    opened = start_of(result)
    assert (len(opened.state.topics), opened.seed, opened.state.release) == (7, 9, "4.0.0")
    assert opened.state.settings.activeConsumerFailoverConsistentHashing


def test_a_start_that_cannot_be_made_is_an_input_error() -> None:
    with pytest.raises(InputError, match="topics is 999999999"):
        start_of(script("new topics 999999999"))
    with pytest.raises(InputError, match="does not exist"):
        start_of(script("open no/such/thing"))


def test_open_looks_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "stats.json.gz").write_bytes(
        (RECORDINGS / "pip392-flag-on" / "01-partitioned-stats.json.gz").read_bytes()
    )
    path = tmp_path / "demo.ringside"
    path.write_text(
        "\ufeff# Beside\nopen stats.json.gz\nexpect status.rule = ring\nexpect totals.consumers = 10\n",
        encoding="utf-8",
    )
    result = load_script(path)
    assert result.title == "Beside"
    assert [step.failures for step, _ in run_script(result)] == [(), ()]


def test_files_that_cannot_be_run_are_input_errors_with_all_problems(tmp_path: Path) -> None:
    path = tmp_path / "demo.ringside"
    with pytest.raises(InputError, match="cannot be read"):
        load_script(path)
    path.write_bytes(b"scene pip392\nsay \xff")
    with pytest.raises(InputError, match="not UTF-8"):
        load_script(path)
    path.write_text("scene pip392\nfly\nat x\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_script(path)
    assert [problem.line for problem in caught.value.problems] == [2, 3]


def test_an_unknown_shipped_script_is_refused_with_the_names() -> None:
    with pytest.raises(InputError, match="scripts: pip392"):
        shipped_script("pip")


def test_the_title_is_the_first_comment_or_the_files_name() -> None:
    assert script("# One\n# Two\nscene pip392").title == "One"
    assert script("scene pip392") == Script("demo.ringside", "demo", StartScene("pip392"), ())
