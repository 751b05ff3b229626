"""Producers without a screen: ``new --producers``, ``explain route``, ``partitions``; wrong values name the field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

import mmh3
import pytest

from engine.hashing import boost_hash, java_string_hash
from engine.routing.clients import ROUTING_CLIENTS
from tests.tui.cli.conftest import Run

FEW = ("new", "--producers", "3", "--partitions", "6", "--lazy", "--batching", "off")


def test_once_tells_everything_in_words(run: Run) -> None:
    ran = run(*FEW, "--apply", "producer send all times 2", "--apply", "partition fail 2", "--once")
    assert (ran.code, ran.err) == (0, "")
    for words in (
        "topic: persistent://public/default/topic-0 · 6 partitions · 3 brokers",
        "statistics are merged by position",
        "in all: 3 producers with",
        "notice: 1 partition is not served (2)",
        "producers: 3",
        "opened partitions (x: the connection is lost):",
        "what the same 3 producers cost after 2 messages each:",
        "objects over the number of partitions:",
        "not served: the partition is not served",
        "statistics: merged by position",
        "2  partition fail 2",
    ):
        assert words in ran.out, words


def test_json_has_the_same_facts(run: Run) -> None:
    steps = ("--apply", "producer send all times 2", "--apply", "producer send #1 key k0")
    document = json.loads(run(*FEW, *steps, "--json").out)
    assert document["format"] == "ringside.producers/1"
    assert document["totals"]["broker_producers"] == sum(row["opened"] for row in document["producers"])
    assert document["totals"]["sent_msgs"] == 7
    page = run(*FEW, *steps, "--once").out
    assert f"{document['totals']['broker_producers']} objects on brokers" in " ".join(page.split())


def test_a_limit_of_producers_that_is_set_holds_from_the_start(run: Run) -> None:
    words = ("new", "--producers", "4", "--partitions", "6", "--set", "maxProducersPerTopic=3", "--json")
    document = json.loads(run(*words).out)
    assert (document["totals"]["producers"], document["totals"]["broker_producers"], document["totals"]["full"]) == (
        3, 18, 6
    )  # fmt: skip
    assert "producers-full" in [notice["code"] for notice in document["notices"]]
    late = run(*words, "--apply", "producer add")
    assert late.code == 2 and "Topic reached max producers limit" in late.err


def test_ascii_is_ascii(run: Run) -> None:
    assert run(*FEW, "--once", "--ascii").out.isascii()


def test_nobody_yet_says_what_to_do(run: Run) -> None:
    out = run("new", "--producers", "0", "--once").out
    assert 'producers: none; --apply "producer add count 3 lazy" creates some' in out and "12 partitions" in out


def test_producers_of_an_opened_cluster_are_shown_where_they_are_asked_for(run: Run) -> None:
    result = ("new", "--topics", "2", "--partitions", "4", "--consumers", "2")
    steps = ("--apply", "producer add count 2 lazy on topic-1", "--once")
    assert "consumers: 2" in run(*result, *steps).out
    for name in ("topic-1", "persistent://public/default/topic-1"):
        page = run(*result, *steps, "--subscription", name).out
        assert "producers: 2" in page and "also shown here: billing" in page
    ran = run(*result, "--subscription", "topic-1", "--once")
    assert ran.code == 2 and "no topic with producers, 'topic-1'" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--producers", "-1"), "producers is -1"),
        (("--producers", "3", "--partitions", "0"), "partitions is 0"),
        (("--producers", "3", "--brokers", "0"), "brokers is 0"),
        (("--producers", "3", "--partial", "0"), "--partial: numPartitionsLimit should be greater"),
        (("--producers", "3", "--partial", "99"), "--partial: a limit of 99 is above the 12 partitions"),
        (("--producers", "3", "--partial", "2", "--client", "python"), "--router: the Python client has no"),
        (("--producers", "3", "--partial", "2", "--router", "single"), "--partial 2 and --router single contradict"),
        (("--producers", "3", "--router", "partial"), "--router partial needs a limit"),
        (("--producers", "3", "--keys", "3"), "--producers and --keys"),
        (("--lazy",), "--lazy is about producers; give --producers N too"),
        (("--client", "java"), "--client is about producers"),
        (("--producers", "3", "--apply", "topic partitions topic-0 3"), "not support shrink topic partitions"),
        (("--producers", "3", "--apply", "producer add partial 0"), "numPartitionsLimit should be greater"),
    ],
)  # fmt: skip
def test_a_wrong_value_names_the_field(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("new", *words, "--once")
    assert ran.code == 2 and message in ran.err and ran.out == ""


def test_a_limit_above_the_partitions_is_taken_where_it_is_meant(run: Run) -> None:
    ran = run("new", "--producers", "2", "--partitions", "2", "--lazy", "--partial", "3", "--limit-above", "--once")
    assert ran.code == 0 and "partial(3)" in ran.out


HASHES: Final[dict[str, Callable[[str], int]]] = {
    "java": java_string_hash,
    "python": lambda key: boost_hash(key.encode()),
    "cpp": lambda key: boost_hash(key.encode()),
    "rust": lambda key: mmh3.hash(key, signed=False),
}


@pytest.mark.parametrize("client", HASHES)
@pytest.mark.parametrize("key", ["order-1", "é", "k17"])
def test_the_route_is_the_hash_modulo_the_partitions(run: Run, client: str, key: str) -> None:
    ran = run("explain", "route", key, "--partitions", "7", "--client", client, "--json")
    document = json.loads(ran.out)
    assert document["partition"] == HASHES[client](key) % 7
    page = run("explain", "route", key, "--partitions", "7", "--client", client).out
    assert page.startswith(f"partition  {document['partition']} of 0 to 6\n")
    others = {(other["client"], other["hashing"]): other["partition"] for other in document["elsewhere"]}
    assert len(others) == sum(len(family.hashes) for family in ROUTING_CLIENTS.values()) - 1
    for other, hashed in HASHES.items():
        if other != client:
            scheme = ROUTING_CLIENTS[other].default.scheme
            assert others[other, scheme] == hashed(key) % 7
            assert re.search(rf"{scheme} +{others[other, scheme]} .*\b{other}\b", page)


def test_a_route_without_a_key_is_the_routers(run: Run) -> None:
    page = run("explain", "route", "--no-key", "--partitions", "9", "--partial", "3").out
    assert "Partial round robin looks at no key" in page and "chosen" in page
    empty = run("explain", "route", "", "--partitions", "9", "--client", "python").out
    assert "The empty key counts as none" in empty
    assert "the base64 form" in run("explain", "route", "hex:00ff", "--partitions", "9").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which key?"),
        (("k", "--no-key"), "which key?"),
        (("hex:0",), "not hexadecimal"),
        (("", "--client", "go"), "--client: the empty key is no key for Go"),
        (("hex:00ff", "--client", "rust"), "--client: Rust (pulsar-rs) takes texts as keys"),
        (("k", "--client", "php"), "--client: PHP (pulsar-client-php) takes a random partition"),
        (("k", "--client", "go", "--partial", "2"), "the Go client has no partial round robin"),
        (("k", "--partial", "99"), "--partial: a limit of 99 is above"),
        (
            ("k", "--client", "python", "--hashing", "Murmur3_32Hash"),
            "--hashing: Murmur3_32Hash is not a hash of python",
        ),
    ],
)
def test_a_route_that_cannot_be_asked_says_why(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("explain", "route", *words, "--partitions", "6")
    assert ran.code == 2 and message in ran.err
    none = run("explain", "route", "k", "--partitions", "0")
    assert none.code == 2 and "partitions: " in none.err


def test_a_growth_tells_what_moves_for_whom(run: Run) -> None:
    document = json.loads(run("partitions", "--from", "6", "--to", "12", "--generated", "300", "--json").out)
    by_name = {each["label"]: each for each in document["clients"]}
    assert set(by_name) == {"java", "java/Murmur3_32Hash", "cpp", "cpp/JavaStringHash", "go", "rust"}
    for name, hashed in (("java", HASHES["java"]), ("cpp", HASHES["python"]), ("rust", HASHES["rust"])):
        moved = sum(hashed(f"key-{at}") % 6 != hashed(f"key-{at}") % 12 for at in range(300))
        assert (
            by_name[name]["moved"]
            == moved
            == sum(row["before"][name] != row["after"][name] for row in document["keys"])
        )
    assert document["disagreeing"] == sum(row["clients_disagree"] for row in document["keys"])
    page = run("partitions", "--from", "6", "--to", "12", "--key", "key-0", "--key", "hex:00ff").out
    assert "from 6 to 12 partitions, 2 keys" in page and "AP8=" in page


def test_without_a_growth_only_the_clients_are_compared(run: Run) -> None:
    page = run("partitions", "--from", "6", "--key", "k1").out
    assert page.startswith("6 partitions, 1 key\n") and "keys that move" not in page
    assert "83.3% of random keys" in " ".join(page.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "6", "--to", "5"), "--to: partitions cannot be taken away: from 6 to 5"),
        (("--from", "0", "--to", "5"), "--from: 0 is below 1"),
        (("--from", "-3"), "--from: -3 is below 1"),
    ],
)
def test_partitions_that_cannot_be_name_the_option(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("partitions", *words)
    assert ran.code == 2 and message in ran.err


@pytest.mark.parametrize("name", ["producers-lazy", "producers-partial"])
def test_the_stories_hold_without_a_screen(run: Run, name: str) -> None:
    ran = run("demo", name, "--headless")
    assert ran.code == 0 and "FAILED" not in ran.out
