"""``diff``: dumps, journals, steps, rules and releases side by side, on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Answers, Run
from tui.cli.options import WhatIf
from tui.cli.session import answers_of, compared

DUMP = str(RECORDINGS / "f-inventory-2")


def document_of(run: Run, *words: str) -> Any:
    ran = run("diff", *words, "--json")
    assert ran.code == 0, ran
    return json.loads(ran.out)


def test_two_dumps(run: Run, answers: Answers) -> None:
    partitions = [f"persistent://t/n/orders-partition-{at}" for at in range(6)]
    before = str(answers(["c-a", "c-b", "c-c"], partitions, "monday.json"))
    later = str(answers(["c-b", "c-c"], partitions, "tuesday.json"))
    document = document_of(run, before, later)
    [one] = document["subscriptions"]
    assert one["consumers_left"] == ["c-a"]
    assert document["sums"]["moved"] == one["verdict"]["moved"] == len(one["handovers"]) > 0
    assert {row["before"] for row in one["handovers"]} >= {"c-a"}
    assert "c-a" not in {row["after"] for row in one["handovers"]}


def test_what_brokers_reported_otherwise(run: Run, answers: Answers) -> None:
    partitions = [f"persistent://t/n/orders-partition-{at}" for at in range(6)]
    before = str(answers(["c-a", "c-b", "c-c"], partitions, "monday.json"))
    later = str(answers(["c-b", "c-c", "c-d"], partitions, "tuesday.json"))
    result = document_of(run, before, later)["reported"]
    assert {(row["kind"], row["before"] or row["after"], row["topics"]) for row in result} >= {
        ("left", "c-a", 6), ("joined", "c-d", 6),
    }  # fmt: skip
    assert all(row["text"] for row in result)
    assert document_of(run, before, later, "--subscription", "absent")["reported"] == []
    same = "as brokers reported: consumers and their states, owners, bundles, partitions and counts are the same"
    assert same in run("diff", before, before).out


def named(namespace: str) -> list[str]:
    return [f"persistent://{namespace}/orders-partition-{at}" for at in range(6)]


def test_what_is_opened_beside_another_dump_has_its_namespaces_under_its_own_names(answers: Answers) -> None:
    before = str(answers(["c-a", "c-b"], named("staging/shop"), "staging.json"))
    later = str(answers(["c-b", "c-d"], named("prod/shop"), "prod.json"))
    nothing = WhatIf((), None, (), None)
    session = compared(answers_of(later, nothing), later, before, nothing.max_input)
    assert session.against is not None and session.against.names == (before, later)
    [mine], [theirs] = session.against.timeline.state.subscriptions, session.timeline.state.subscriptions
    assert (mine.namespace, mine.topics) == (theirs.namespace, theirs.topics)
    assert [consumer.name for consumer in mine.consumers] == ["c-a", "c-b"]


def test_namespaces_of_two_tenants_are_compared_by_the_names_of_their_topics(run: Run, answers: Answers) -> None:
    before = str(answers(["c-a", "c-b"], named("staging/shop"), "staging.json"))
    later = str(answers(["c-b", "c-d"], named("prod/shop"), "prod.json"))
    document = document_of(run, before, later)
    [one] = document["subscriptions"]
    assert document["namespaces"] == {"staging/shop": "prod/shop"}
    assert (one["namespace"], one["presence"], one["consumers_came"]) == ("prod/shop", "both", ["c-d"])
    assert document["topics_appeared"] == document["topics_vanished"] == document["bundles"] == []
    assert {row["kind"] for row in document["reported"]} >= {"joined", "left"}
    apart = document_of(run, before, later, "--as", "staging/shop=staging/shop")
    assert (apart["namespaces"], apart["reported"]) == ({}, None)
    assert [one["presence"] for one in apart["subscriptions"]] == ["vanished", "appeared"]
    text = run("diff", before, later, "--as", "staging/shop=staging/shop").out
    assert "--as staging/shop=prod/shop" in " ".join(text.split()) and "the same" not in text


def test_namespaces_without_a_common_topic_are_compared_where_they_are_named(run: Run, answers: Answers) -> None:
    before = str(answers(["c-a"], ["persistent://t/n/x"], "one.json"))
    later = str(answers(["c-a"], ["persistent://t/m/y"], "two.json"))
    assert document_of(run, before, later)["namespaces"] == {}
    document = document_of(run, before, later, "--as", "t/n=t/m")
    assert document["namespaces"] == {"t/n": "t/m"}
    assert document["topics_vanished"] == ["persistent://t/m/x"]
    for pair in ("t/n", "t/n=t/m=", "t/absent=t/m", "t/n=t/absent", "n=m"):
        assert run("diff", before, later, "--as", pair).code == 2, pair
    assert run("diff", before, "rule:ring", "--as", "t/n=t/m").code == 2
    both = str(answers(["c-a"], ["persistent://t/n/x", "persistent://t/m/y"], "both.json"))
    assert run("diff", both, later, "--as", "t/n=t/m").code == 2


def test_a_hand_over_between_namesakes_is_named_and_no_count_is_made_up(run: Run, answers: Answers) -> None:
    dump = str(answers(["same", "same"], [f"persistent://t/n/orders-partition-{at}" for at in range(2)], "monday.json"))
    rows = document_of(run, f"{dump}", "rule:ring")["subscriptions"][0]["handovers"]
    assert [(row["before"], row["after"]) for row in rows] == [("same", "same")]
    text = run("diff", dump, "rule:ring").out
    [line] = [line for line in text.splitlines() if line.lstrip().startswith("t/n/orders-partition-")]
    assert line.split()[1:3] == ["same", "same"] and "another" in line
    assert "unacknowledged" not in text


def test_a_change_was_not_reported_by_anybody(run: Run, answers: Answers) -> None:
    dump = str(answers(["c-a", "c-b"], ["persistent://t/n/x"], "monday.json"))
    assert document_of(run, dump, "rule:ring")["reported"] is None
    assert document_of(run, "rule:modulo", "rule:ring")["reported"] is None


def test_a_dump_beside_itself(run: Run) -> None:
    document = document_of(run, DUMP, DUMP)
    assert document["sums"]["moved"] == document["sums"]["worse"] == 0
    assert all(row["handovers"] == [] for row in document["subscriptions"])


def test_rules_and_releases_of_one_state(run: Run) -> None:
    rules = document_of(run, "rule:modulo", "rule:ring")
    assert [row["name"] for row in rules["settings"]] == ["activeConsumerFailoverConsistentHashing"]
    assert rules["subscriptions"][0]["verdict"]["judgement"] == "better"
    dump = str(RECORDINGS / "a-failover-8p-hash")
    older = document_of(run, dump, "release:2.10")
    assert older["release_after"] != older["release_before"]
    assert older["sums"]["moved"] > 0
    assert document_of(run, "rule:ring", "rule:ring", "--in", dump)["sums"]["moved"] == 0


def test_steps_of_a_journal(run: Run) -> None:
    assert run("--apply", "kill billing-0", "--apply", "add billing-0", "--once", "--journal", "kept.jsonl").code == 0
    document = document_of(run, "step:0", "step:1", "--in", "kept.jsonl")
    [one] = document["subscriptions"]
    assert (one["consumers_left"], one["verdict"]["moved"]) == (["billing-0"], 100)
    back = document_of(run, "step:0", "kept.jsonl", "--in", "kept.jsonl")
    assert back["sums"]["moved"] in (0, 100)  # by name it is the same consumer, by identity another one
    applied = document_of(run, "kept.jsonl", "apply:kill billing-1")
    assert applied["subscriptions"][0]["consumers_left"] == ["billing-1"]


@pytest.mark.parametrize(
    ("limit", "code"), [("moved>10%", 1), ("moved>95%", 0), ("idle>0", 0), ("max_over_mean>1.2", 1)]
)
def test_a_limit_that_holds_fails_the_run(run: Run, limit: str, code: int) -> None:
    ran = run("diff", "rule:modulo", "rule:ring", "--fail-on", limit)
    assert ran.code == code
    assert (limit in ran.err) is bool(code)
    if limit == "moved>10%":
        assert "89 % (89 of 100), the limit is 10 %" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("rule:modulo", "rule:triangle"),
        ("rule:modulo", "step:many"),
        ("rule:modulo", "step:7"),
        ("rule:modulo", "release:0.1"),
        ("nowhere", "rule:ring"),
        ("rule:modulo", "rule:ring", "--fail-on", "speed>1"),
        ("rule:modulo", "rule:ring", "--fail-on", "moved"),
    ],
    ids=repr,
)
def test_what_cannot_be_compared_is_refused(run: Run, words: tuple[str, ...]) -> None:
    assert run("diff", *words).code == 2
