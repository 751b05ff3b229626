"""Refusals speak of options as they are typed, and options that would change nothing are refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.scenarios.synthetic import REFUSED
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

STATS = RECORDINGS / "b-failover-nonpartitioned-hash" / "02-stats-t-0.json.gz"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "route", "k", "--partitions", "10", "--partial", "100"), "give 1 to 10, or add --limit-above"),
        (("explain", "route", "k", "--partitions", "10", "--partial", "0"), "--partial: numPartitionsLimit should be"),
        (("explain", "route", "k", "--partitions", "0"), "--partitions: a partitioned topic has"),
        (("new", "--producers", "3", "--partial", "100", "--once"), "--partial: a limit of 100 is above the 12"),
        (
            ("new", "--producers", "-3", "--brokers", "0", "--once"),
            "--producers is -3: give 0 to 10000; --brokers is 0",
        ),
        (("new", "--topics", "-1", "--seed", "-1", "--once"), "--topics is -1: give 0 to 1000000; --seed is -1: "),
        (("new", "--bundles", "0", "--once"), "--bundles is 0: give 1 to"),
        (("open", "--against", "monday.json", "--once"), "ringside diff A B"),
        (("new", "--keys", "9", "--topics", "3", "--once"), "--topics changes nothing with --keys"),
        (("new", "--keys", "9", "--bundles", "3", "--once"), "--bundles changes nothing with --keys"),
        (("new", "--producers", "9", "--topics", "3", "--once"), "--topics changes nothing with --producers"),
        (("new", "--producers", "9", "--consumers", "3", "--once"), "--consumers changes nothing with --producers"),
        (("new", "--once", "--topic", "x"), "--topic names the topic of a FILE"),
        (("--once", "--topic", "x"), "--topic: it names the topic of a FILE or FOLDER"),
        (("stats.json", "--once", "--topic", "a/b"), "--topic a/b: "),
        (("absent.json", "--once", "--topic", "x"), "absent.json"),
        (("stats.json", "--once"), "give --topic"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_refusal_names_the_option(run: Run, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "stats.json").write_bytes(gzip.decompress(STATS.read_bytes()))
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in " ".join(ran.err.split())


def test_limit_above_lets_a_limit_be_above_the_partitions(run: Run) -> None:
    words = ("explain", "route", "k", "--partitions", "10", "--partial", "100", "--limit-above", "--json")
    assert sorted(json.loads(run(*words).out)["explanation"]["chosen"]) == list(range(10))


@pytest.mark.parametrize("mode", ["Exclusive", "WaitForExclusive"])
def test_producers_that_an_exclusive_topic_does_not_take_are_reported(run: Run, mode: str) -> None:
    words = ("new", "--producers", "3", "--access", mode)
    text = f"2 of 3 producers cannot start as {mode}: "
    assert text in " ".join(run(*words, "--once").out.split())
    notices = json.loads(run(*words, "--json").out)["notices"]
    assert [notice["text"].startswith(text) for notice in notices if notice["code"] == REFUSED] == [True]
    assert "cannot start" not in run("new", "--producers", "3", "--once").out
    assert "cannot start" not in run("new", "--producers", "1", "--access", mode, "--once").out


@pytest.mark.parametrize("name", ["orders", "public/default/orders", "persistent://public/default/orders"])
@pytest.mark.parametrize("packed", [True, False])
def test_statistics_without_a_name_are_opened_as_those_of_the_topic_that_is_given(
    run: Run, tmp_path: Path, name: str, packed: bool
) -> None:
    data = STATS.read_bytes()
    (tmp_path / "orders.json").write_bytes(data if packed else gzip.decompress(data))
    ran = run("orders.json", "--topic", name, "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["status"]["source"] == "orders.json about persistent://public/default/orders"
    assert run("explain", "orders", "orders.json", "--topic", name).code == 0


def test_one_of_a_thing_is_in_the_singular(run: Run) -> None:
    ran = run("new", "--producers", "1", "--partitions", "1", "--once", "--apply", "producer send all")
    text = " ".join(ran.out.split())
    assert "made up: 1 producer on 1 partition, seed 0" in text and "1 of 1 partition used, 1 message published" in text
    assert "busiest 1 producer, 0 without any" in text and "for 1 producer, each its own" in text
    gap = " ".join(run("new", "--keys", "0", "--consumers", "0", "--mode", "sticky", "--once", "--apply",
                       "add a ranges 0-99,101-65535").out.split())  # fmt: skip
    assert "notice: 1 slot has no owner ([100,100])" in gap and "1 slot and 0 keys without an owner" in gap
