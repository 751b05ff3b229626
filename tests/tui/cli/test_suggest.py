"""``suggest`` on the command line: documents by their schema, exit codes, and names as Helm values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.engine.scenarios.recordings import RECORDINGS
from tests.schemas import schema_of
from tests.tui.cli.conftest import Run


def document_of(run: Run, *words: str, code: int = 0) -> Any:
    ran = run("suggest", *words, "--json")
    assert ran.code == code, ran
    document = json.loads(ran.out)
    assert [fault.message for fault in Draft202012Validator(schema_of("suggest")).iter_errors(document)] == []
    return document


def test_names_for_the_hash_space(run: Run) -> None:
    document = document_of(run, "names", "--for", "any", "--prefix", "web", "--count", "3", "--max-over-mean", "1.2")
    names = document["names"]
    assert names["given"] == ["web-0", "web-1", "web-2"]
    assert names["after"]["now"] <= 1.2
    assert (
        document_of(run, "names", "--for", "any", "--consumers", "web-0,web-1,web-2", "--max-over-mean", "1.2")
        == document
    )
    ran = run(
        "suggest", "names", "--for", "any", "--consumers", ",".join(names["names"]), "--max-over-mean", "1.2", "--helm"
    )
    assert ran.out.splitlines()[1:] == [f'  - "{name}"' for name in names["names"]]


@pytest.mark.parametrize(("flag", "is_said"), [("off", True), ("on", False)])
def test_names_of_a_ring_that_is_not_in_force_are_said_to_be(run: Run, flag: str, is_said: bool) -> None:
    assert ("activeConsumerFailoverConsistentHashing" in run("suggest", "names", "--flag", flag).out) is is_said


def test_a_goal_that_nothing_meets_is_exit_code_1(run: Run) -> None:
    document = document_of(run, "consumers", "--flag", "off", "--up-to", "4", code=1)
    assert document["sizing"]["smallest"] is None
    assert [row["number"] for row in document["rows"]] == [2, 3, 4]
    on = document_of(run, "consumers", "--flag", "on", "--up-to", "4")
    assert document["sizing"]["smallest_on_ring"] == on["sizing"]["smallest"] == 2
    assert on["sizing"]["smallest_on_ring"] is None
    assert run("suggest", "consumers", "--flag", "off", "--up-to", "4").code == 1


def test_partitions_and_consumers(run: Run) -> None:
    partitions = document_of(run, "partitions", "--up-to", "10", "--max-over-mean", "1.0")
    assert partitions["sizing"]["smallest"] == 10
    consumers = document_of(
        run, "consumers", "--flag", "on", "--up-to", "6", "--by", "messages", "--max-over-mean", "2"
    )
    assert consumers["sizing"]["goal"]["by_messages"] is True
    assert run("suggest", "consumers", "--flag", "on", "--up-to", "6", "--max-over-mean", "2").code == 0


@pytest.mark.parametrize(("flag", "change"), [("off", True), ("on", False)])
def test_the_flag(run: Run, flag: str, change: bool) -> None:
    document = document_of(run, "flag", "--flag", flag)
    assert (document["flag"]["on"], document["flag"]["change"]) == (flag == "on", change)
    assert run("suggest", "flag", "--flag", flag).out.startswith("set" if change else "leave")


@pytest.mark.parametrize(
    "words",
    [
        ("names", "--prefix", "web"),
        ("names", "--prefix", "web", "--count", "2", "--consumers", "a"),
        ("names", "--consumers", "a,a"),
        ("consumers", "--up-to", "201"),
        ("partitions", "nowhere"),
        ("everything",),
    ],
    ids=repr,
)
def test_what_cannot_be_suggested_is_refused(run: Run, words: tuple[str, ...]) -> None:
    assert run("suggest", *words).code == 2


def test_names_for_a_key_shared_ring(run: Run) -> None:
    words = ("names", "--mode", "key-shared", "--for", "any", "--prefix", "web-", "--count", "3")
    document = document_of(run, *words, "--max-over-mean", "1.1", "--survive", "1")
    assert document["names"]["after"]["now"] <= 1.1
    assert document["names"]["after"]["after_loss"] <= 1.1
    failover = document_of(run, "names", "--for", "any", "--prefix", "web-", "--count", "3", "--max-over-mean", "9")
    assert failover["names"]["before"] != document["names"]["before"]


def test_points_and_consumers_of_a_key_shared_subscription(run: Run) -> None:
    folder = str(RECORDINGS / "c-keyshared-ring")
    points = document_of(run, "points", folder, "--max-over-mean", "1.1")
    assert points["sizing"]["now"] == 100
    consumers = document_of(run, "consumers", folder, "--up-to", "4", "--max-over-mean", "1.5")
    assert [row["number"] for row in consumers["rows"]] == [2, 3, 4]
    assert run("suggest", "points").code == 2


def test_bundles(run: Run) -> None:
    document = document_of(run, "bundles", "--brokers", "3", "--up-to", "5", "--max-over-mean", "1.3")
    assert [row["number"] for row in document["rows"]] == [1, 2, 3, 4, 5]
    assert run("suggest", "bundles", "--brokers", "3", "--namespace", "no/where").code == 2
