"""``ringside new --keys``: a made-up Key_Shared subscription as text and as JSON, with every command applied."""

from __future__ import annotations

import json

import mmh3
import pytest
from jsonschema import Draft202012Validator

from engine.scenarios.synthetic import synthetic_keys, synthetic_state
from tests.oracles.hashes import boost_hash, java_string_hash
from tests.schemas import schema_of
from tests.tui.cli.conftest import Run

NEW = ("new", "--no-journal", "--keys", "40", "--consumers", "3")
MODES = ("auto-split", "consistent-auto-split", "sticky", "consistent-sticky")


def apply(*lines: str) -> tuple[str, ...]:
    return tuple(word for line in lines for word in ("--apply", line))


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_is_reported_as_text_and_as_a_valid_document(run: Run, mode: str) -> None:
    page = run(*NEW, "--mode", mode, "--once")
    assert (page.code, page.err) == (0, "")
    lines = page.out.splitlines()
    assert any(line.startswith(f"mode: {mode}") for line in lines)
    assert all(len(line) <= 80 for line in lines), "a page fits a terminal of 80 columns"
    document = json.loads(run(*NEW, "--mode", mode, "--json").out)
    assert [fault.message for fault in Draft202012Validator(schema_of("keys")).iter_errors(document)] == []
    assert document["status"]["mode"] == mode
    assert document["totals"]["keys"] == 40
    for row in document["consumers"]:
        assert f"{row['slots']:,}" in page.out


def test_without_a_mode_it_is_the_ring(run: Run) -> None:
    assert json.loads(run(*NEW, "--json").out)["status"]["mode"] == "consistent-auto-split"


def test_partitions_have_the_keys_of_the_client_that_is_named(run: Run) -> None:
    words = ("new", "--no-journal", "--keys", "40", "--consumers", "3", "--partitions", "5")
    for client, hashing, hash_of in (
        ("java", "JavaStringHash", java_string_hash),
        ("rust", "Murmur3_32Hash", lambda key: mmh3.hash(key, signed=False)),
        ("python", "BoostHash", lambda key: boost_hash(key.encode())),
    ):
        document = json.loads(run(*words, "--client", client, "--json").out)
        assert [fault.message for fault in Draft202012Validator(schema_of("keys")).iter_errors(document)] == []
        assert (document["status"]["partitions"], document["status"]["hashing"]) == (5, hashing)
        assert {row["key"]: row["partition"] for row in document["keys"]} == {
            f"order-{number}": hash_of(f"order-{number}") % 5 for number in range(40)
        }
        rows = document["partitions"]["rows"]
        assert [row["keys"] for row in rows] == [
            sum(key["partition"] == partition for key in document["keys"]) for partition in range(5)
        ]
    sent = json.loads(run(*words, *apply("send order-1 order-1 order-2"), "--json").out)
    held = {java_string_hash("order-1") % 5: 2, java_string_hash("order-2") % 5: 1}
    assert [row["unacked"] for row in sent["partitions"]["rows"]] == [held.get(partition, 0) for partition in range(5)]
    assert json.loads(run(*NEW, "--json").out)["partitions"] is None


def test_points_are_those_of_a_node(run: Run) -> None:
    document = json.loads(run(*NEW, "--mode", "consistent-sticky", "--points", "5", "--json").out)
    assert document["status"]["points"] == 5
    assert document["status"]["client_side"] is True


@pytest.mark.parametrize(
    ("line", "piece"),
    [
        ("add late", "late"),
        ("kill worker-1", "consumers: 2"),
        ("rename worker-0 to boss", "boss"),
        ("share auto-split", "mode: auto-split, ranges halved"),
        ("share sticky", "mode: sticky, declared ranges"),
        ("share consistent-sticky points 7", "declared ranges from 7 points a"),
        ('send order-1 "" hex:00ff times 2', "42 known keys"),
        ("ack all", "waiting: nothing"),
        ("wait 25", "25 ms"),
        ("set subscriptionKeySharedUseClassicPersistentImplementation true", "31-bit ring of the classic"),
        ("release 2.11.0", "form name_i"),
        ("subscribe second to topic-0 unordered", "second"),
    ],
)
def test_each_command_can_be_applied(run: Run, line: str, piece: str) -> None:
    page = run(*NEW, "--pulsar", "4.2.5", "--once", *apply(line))
    assert page.code == 0, page.err
    assert piece in " ".join(page.out.split())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("add late ranges 0-9", "(change the mode to sticky first)"),
        ("share STICKY", "'STICKY' is not a mode; known: auto-split, "),
        ("share consistent-sticky points 0", "a node needs 1 point or more, not 0"),
        ("send hex:0", "hex:0"),
        ("kill nobody", "nobody"),
        ("subscribe orders to topic-0", "is there already on persistent://public/default/topic-0"),
        ('subscribe "" to topic-0', "Empty subscription name"),
        ("set subscriptionKeySharedConsistentHashingReplicaPoints 0", "a ring needs 1 point or more"),
    ],
)
def test_a_refused_command_says_why_and_prints_no_page(run: Run, line: str, reason: str) -> None:
    ran = run(*NEW, "--once", *apply(line))
    assert ran.code != 0 and ran.out == ""
    assert reason in ran.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--keys", "-1"), "--keys is -1: give 0 to 100000"),
        (("--keys", "5", "--mode", "STICKY"), "--mode is STICKY: give one of auto-split"),
        (("--mode", "sticky"), "give --keys N too"),
        (("--keys", "5", "--partitions", "-1"), "--partitions is -1: give 0 to 32768"),
        (("--keys", "5", "--client", "go"), "--client takes the partition of a key; give --partitions N too"),
        (("--keys", "5", "--partitions", "2", "--client", "php"), "a random partition for every message"),
        (("--keys", "5", "--partitions", "2", "--hashing", "md5"), "--hashing: md5 is not a hash of java"),
        (("--hashing", "BoostHash"), "give --keys N and --partitions N too"),
        (("--producers", "5", "--client", "go"), "none of java, python, cpp"),
        (("--keys", "5", "--points", "9"), "--points are those of a node with --mode consistent-sticky"),
        (("--keys", "5", "--mode", "sticky", "--points", "9"), "subscriptionKeySharedConsistentHashingReplicaPoints=N"),
        (("--keys", "5", "--mode", "consistent-sticky", "--points", "0"), "a node needs 1 point or more, not 0"),
        (
            ("--keys", "5", "--set", "subscriptionKeySharedConsistentHashingReplicaPoints=0"),
            "--set subscriptionKeySharedConsistentHashingReplicaPoints=0: "
            "subscriptionKeySharedConsistentHashingReplicaPoints is 0; a ring needs 1 point or more",
        ),
    ],
)
def test_numbers_that_cannot_be_used_are_named(run: Run, words: tuple[str, ...], reason: str) -> None:
    ran = run("new", "--no-journal", *words, "--once")
    assert ran.code != 0 and ran.out == ""
    assert reason in " ".join(ran.err.split())


def test_a_wait_and_a_gap_are_reported_in_full(run: Run) -> None:
    lines = ("kill worker-1", 'send order-1 ""', "add x ranges 30000-30009")
    page = run(*NEW, "--mode", "sticky", "--once", *apply(*lines)).out
    assert "slot 22,049: 1 message of order-1 (no owner) until a consumer declares a" in page
    assert "  21,845-29,999: 8,155 slots, 1 message waits, keys order-" in page
    nobody = run(*NEW[:-1], "0", "--once", *apply('send ""')).out
    assert 'slot 1: 1 message of "" (no consumer) until a consumer joins' in nobody
    assert 'consumers: none; --apply "add NAME" connects one' in nobody


def test_an_empty_name_can_be_seen(run: Run) -> None:
    page = run(*NEW[:-1], "0", "--once", *apply('add ""')).out
    assert "A  (no name)" in page


def test_counts_of_what_is_made_up_are_reported_alike() -> None:
    assert synthetic_state(1_000, 1, 1_200).source == "made up: 1,000 topics, 1,200 consumers, seed 0"
    assert synthetic_state(1, 2_000, 1).source == "made up: 1 topic of 2,000 partitions, 1 consumer, seed 0"
    assert synthetic_keys(1_000, 1_200).source.startswith("made up: 1,000 keys, 1,200 consumers, ")


def test_the_hint_groups_digits_as_the_screen_does(run: Run) -> None:
    assert "billing-0 is active for all 1,000 partitions" in run("new", "--topics", "1000", "--once").out


@pytest.mark.parametrize(("version", "bundles"), [("4.2.4", 4), ("5.0", 32)])
def test_an_invented_cluster_has_the_bundles_of_the_release_that_is_asked_for(
    run: Run, version: str, bundles: int
) -> None:
    document = json.loads(run("new", "--topics", "2", "--pulsar", version, "--json").out)
    assert document["namespaces"][0]["bundles"] == bundles
    ten = json.loads(run("new", "--topics", "2", "--pulsar", version, "--bundles", "10", "--json").out)
    assert ten["namespaces"][0]["bundles"] == 10
    embedded = json.loads(run("--pulsar", version, "--apply", "topic add persistent://a/b/c", "--json").out)
    space = next(each for each in embedded["namespaces"] if each["name"] == "a/b")
    assert space["bundles"] == bundles
