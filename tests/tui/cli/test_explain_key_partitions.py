"""``ringside explain key --partitions``: the way to the partition, other clients, and the slots that are left."""

from __future__ import annotations

import json

import mmh3
import pytest

from engine.routing.clients import MAX_PARTITIONS, ROUTING_CLIENTS
from tests.oracles.hashes import boost_hash, java_string_hash
from tests.tui.cli.conftest import Run
from tui.cli.producer_options import CLIENT_WORDS, MAX_KEY_PARTITIONS

ABC = ("--consumers", "a,b,c")


def test_the_options_know_what_the_engine_knows() -> None:
    assert tuple(ROUTING_CLIENTS) == CLIENT_WORDS
    assert MAX_PARTITIONS == MAX_KEY_PARTITIONS


def test_every_client_has_its_partition(run: Run) -> None:
    route = json.loads(run("explain", "key", "order-17", *ABC, "--partitions", "12", "--json").out)["route"]
    murmur, java, boost = mmh3.hash("order-17", signed=False), java_string_hash("order-17"), boost_hash(b"order-17")
    assert (route["client"], route["hashing"], route["partition"]) == ("Java", "JavaStringHash", java % 12)
    assert route["division"] == {"dividend": java, "divisor": 12, "remainder": java % 12}
    others = {(other["client"], other["hashing"]): other["partition"] for other in route["others"]}
    assert others["python", "BoostHash"] == boost % 12
    assert others["go", "Murmur3_32Hash"] == murmur % 2**31 % 12
    assert others["rust", "Murmur3_32Hash"] == murmur % 12
    assert {client for (client, _), partition in others.items() if partition is None} == {"php", "fsharp"}
    assert len(others) == sum(len(family.hashes) for family in ROUTING_CLIENTS.values()) - 1
    page = " ".join(run("explain", "key", "order-17", *ABC, "--partitions", "12").out.split())
    assert route["sentence"] in page
    assert route["resonance"]["sentence"] in page


@pytest.mark.parametrize(
    ("words", "modulus", "slots", "consumers"),
    [
        (("--mode", "auto-split", "--partitions", "1024"), 1, 65_535, 3),
        (("--mode", "auto-split", "--partitions", "1024", "--hashing", "Murmur3_32Hash"), 1024, 64, 3),
        (("--partitions", "1024", "--hashing", "Murmur3_32Hash"), 1, 65_535, 3),
        (("--partitions", "12", "--hashing", "Murmur3_32Hash"), 3, 21_845, 3),
        (("--mode", "auto-split", "--partitions", "12", "--client", "dotpulsar"), 4, 16_384, 3),
    ],
)
def test_what_murmur_leaves_of_the_slots(
    run: Run, words: tuple[str, ...], modulus: int, slots: int, consumers: int
) -> None:
    resonance = json.loads(run("explain", "key", "order-17", *ABC, *words, "--json").out)["route"]["resonance"]
    found = (resonance["modulus"], resonance["slots"], resonance["consumers"], resonance["slots_in_all"])
    assert found == (modulus, slots, consumers, 65_535)


def test_consumers_that_never_get_a_key_of_the_partition(run: Run) -> None:
    words = ("--ranges", "a=0-1", "--ranges", "b=2-65535", "--partitions", "4", "--hashing", "murmur3_32hash")
    route = json.loads(run("explain", "key", "order-17", *words, "--json").out)["route"]
    assert route["partition"] == mmh3.hash("order-17") % 4 == 0
    assert route["resonance"]["consumers"] == 2
    key = next(f"k{number}" for number in range(100) if mmh3.hash(f"k{number}") % 4 == 3)
    route = json.loads(run("explain", "key", key, *words, "--json").out)["route"]
    assert (route["partition"], route["resonance"]["consumers"]) == (3, 1)


def test_a_message_whose_key_does_not_decide(run: Run) -> None:
    for words in (("--no-key",), ("--ordering-key", "o"), ("k", "--client", "php")):
        route = json.loads(run("explain", "key", *words, *ABC, "--partitions", "4", "--json").out)["route"]
        assert (route["partition"], route["resonance"], route["division"]) == (None, None, None)
        assert route["undecided"]


def test_without_partitions_there_is_no_route(run: Run) -> None:
    assert json.loads(run("explain", "key", "k", *ABC, "--json").out)["route"] is None
    for words in (("--client", "go"), ("--hashing", "Murmur3_32Hash")):
        ran = run("explain", "key", "k", *ABC, *words)
        assert ran.code == 2
        assert words[0] in ran.err
    ran = run("explain", "key", "k", *ABC, "--partitions", "3", "--client", "python", "--hashing", "Murmur3_32Hash")
    assert (ran.code, "--hashing" in ran.err, "BoostHash" in ran.err) == (2, True, True)


def test_keys_says_how_keys_are_spread_over_partitions(run: Run) -> None:
    words = ("keys", *ABC, "--generated", "300", "--partitions", "6", "--client", "go", "--hashing", "murmur3_32hash")
    partitions = json.loads(run(*words, "--json").out)["partitions"]
    hashes = [mmh3.hash(f"key-{number}") & 0x7FFFFFFF for number in range(300)]
    assert [row["keys"] for row in partitions["rows"]] == [
        sum(value % 6 == partition for value in hashes) for partition in range(6)
    ]
    assert (partitions["client"], partitions["hashing"], partitions["modulus"]) == ("go", "Murmur3_32Hash", 3)
    assert "6 partitions, by Murmur3_32Hash of go:" in run(*words).out
    assert run("keys", *ABC, "--of", "a", "--partitions", "6").code == 2
    assert json.loads(run("keys", *ABC, "--json").out)["partitions"] is None


def test_keys_says_who_never_gets_a_key_of_some_partitions(run: Run) -> None:
    words = ("keys", "--ranges", "a=0-1", "--ranges", "b=2-65535", "--partitions", "4", "--hashing", "murmur3_32hash")
    partitions = json.loads(run(*words, "--json").out)["partitions"]
    assert [(row["name"], row["partitions"]) for row in partitions["unreached"]] == [("a", [2, 3])]
    assert [row["consumers"] for row in partitions["rows"]] == [2, 2, 1, 1]
    assert partitions["sentence"] in " ".join(run(*words).out.split())
