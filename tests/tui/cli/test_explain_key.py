"""``ringside explain key`` shows every step from a key to its consumer, and takes keys of every kind."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from engine.keyshared.model import owner_of_key
from tests.engine.keyshared.selectors import auto_split, ring
from tests.tui.cli.conftest import Run

ABC = ("--consumers", "a,b,c")


@pytest.mark.parametrize(
    ("words", "selector"),
    [
        ((), ring("abc")),
        (("--mode", "consistent-auto-split", "--points", "7"), ring("abc", points=7)),
        (("--mode", "auto-split"), auto_split().join_all(ring("abc").consumers)),
    ],
    ids=["the default", "points", "auto-split"],
)
@pytest.mark.parametrize("key", ["order-1", "", "hex:ff00", "é"])
def test_the_owner_is_the_one_of_the_selector(run: Run, words: tuple[str, ...], selector: object, key: str) -> None:
    ran = run("explain", "key", key, *ABC, *words, "--json")
    assert (ran.code, ran.err) == (0, "")
    result = json.loads(ran.out)["explanation"]
    data = bytes.fromhex(result["slot"]["key"])
    assert data == (b"\xff\x00" if key.startswith("hex:") else key.encode())
    assert result["owner"]["consumer_id"] == owner_of_key(selector, data)  # type: ignore[arg-type]
    assert len(result["heirs"]) == 2


def test_text_and_json_tell_the_same_facts(run: Run) -> None:
    page = " ".join(run("explain", "key", "order-1", *ABC).out.split())
    document = json.loads(run("explain", "key", "order-1", *ABC, "--json").out)
    step = document["explanation"]["slot"]
    for fact in (step["raw_hash"], step["hash_value"], step["slot"], document["explanation"]["point"]["point"]):
        assert f"{fact:,}" in page
    assert f"owner {document['explanation']['owner']['name']} (#" in page
    assert document["sentence"] in page
    assert document["mode"] in page


def test_an_empty_key_is_a_key_and_no_key_is_another_thing(run: Run) -> None:
    def key_and_source(*words: str) -> tuple[str, str]:
        document = json.loads(run("explain", "key", *words, "--json").out)
        return document["key"], document["source"]

    assert key_and_source("") == ("", "partition key")
    assert key_and_source("--ordering-key", "") == ("", "ordering key")
    assert key_and_source("--no-key") == ("NONE_KEY", "no key")
    producer = ("--producer", "p", "--sequence", "0")
    assert (
        key_and_source(*producer) == key_and_source("--no-key", *producer) == ("p-0", "producer name and sequence id")
    )
    assert key_and_source(*producer, "--pulsar", "3.0.7") == ("NONE_KEY", "no key")
    assert key_and_source("", *producer) == ("", "partition key")


def test_a_key_that_was_given_as_bytes_is_read_as_java_reads_it(run: Run) -> None:
    digits = base64.b64encode(b"\x00\xff").decode()
    fine = json.loads(run("explain", "key", "--key-base64", digits, "--json").out)
    same = json.loads(run("explain", "key", "hex:00ff", "--json").out)
    assert fine == same
    assert fine["source"] == "partition key, decoded from base64"
    broken = json.loads(run("explain", "key", "--key-base64", "?", "--json").out)
    assert (broken["key"], broken["source"]) == ("NONE_KEY", "metadata that cannot be read")


def test_the_ordering_key_goes_before_any_other(run: Run) -> None:
    document = json.loads(run("explain", "key", "--ordering-key", "hex:01", "--key-base64", "AA==", "--json").out)
    assert (document["key"], document["source"]) == ("hex:01", "ordering key")


def test_a_gap_between_sticky_ranges_belongs_to_nobody(run: Run) -> None:
    ranges = ("--ranges", "a=0-100", "--ranges", "b=40000-65535")
    page = run("explain", "key", "a", *ranges).out  # slot 27058
    assert "slot 27,058 belongs to nobody" in " ".join(page.split())
    legacy = run("explain", "key", "a", "--ranges", "a=0-100,40000-65535", "--pulsar", "3.0.7").out
    assert "owner      a (#1)" in legacy


def test_with_nobody_connected_the_slot_is_reported(run: Run) -> None:
    page = run("explain", "key", "a").out
    assert "slot       42,456" in page
    assert "--consumers" in page


def test_consistent_sticky_ranges_are_those_of_the_nodes_and_labelled(run: Run) -> None:
    every = json.loads(run("ranges", "--points", "9", "--nodes", "3", "--json").out)["nodes"]
    ran = run("explain", "key", "a", *ABC, "--mode", "consistent-sticky", "--points", "9", "--json")
    document = json.loads(ran.out)
    assert document["client_side_technique"] is True
    piece = document["explanation"]["range"]
    owner = document["explanation"]["owner"]["consumer_id"] - 1
    starts, ends = zip(*every[owner]["ranges"], strict=True)
    assert piece["start"] in starts and piece["end"] in ends


def test_the_old_form_for_topics_stays_and_has_an_explicit_twin(run: Run) -> None:
    plain = run("explain", "orders-partition-1")
    assert run("explain", "topic", "orders-partition-1") == plain
    assert run("--json", "explain", "topic", "orders-partition-1") == run("explain", "orders-partition-1", "--json")
    assert "explain key KEY" in run("explain", "--help").out
    assert "--ordering-key" in run("explain", "key", "--help").out
    assert run("explain", "--consumers", "a,b", "key", "x").out == run("explain", "key", "x", "--consumers", "a,b").out


@pytest.fixture
def session(run: Run, tmp_path: Path) -> Path:
    """A saved session: keys were sent to c-1 and c-2, then c-3 came."""
    path = tmp_path / "session.journal"
    steps = ["topic add kst", "subscribe ks to kst", "add c-1 to ks", "add c-2 to ks", "send a b hex:ff to ks"]
    words = [word for step in (*steps, "add c-3 to ks", "send a b to ks") for word in ("--apply", step)]
    assert run(*words, "--once", "--journal", str(path)).code == 0
    return path


def test_a_saved_session_tells_who_waits_for_whom(run: Run, session: Path) -> None:
    document = json.loads(run("explain", "key", "a", str(session), "--json").out)
    assert document["subscription"] == "ks"
    holder = document["wait"]["holders"][0]
    assert (document["wait"]["reason"], holder["unacked"]) == ("draining", 1)
    assert document["explanation"]["owner"]["name"] == "c-3"
    page = " ".join(run("explain", "key", "a", str(session)).out.split())
    assert "c-1 (#10) holds 1" in page
    acknowledged = ("--apply", "ack all of ks", "--apply", "wait 100")
    after = json.loads(run("explain", "key", "a", str(session), *acknowledged, "--json").out)
    assert after["wait"] is None


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["key"], "which key?"),
        (["key", "x", "absent"], "absent: no such file"),
        (["key", "x", "y", "z"], "'z' is too much"),
        (["key", "--no-key", "x", "y"], "'y' is too much"),
        (["key", "hex:0"], "KEY: 'hex:0' is not hexadecimal"),
        (["key", "\udcff"], "KEY: '\\udcff' is not valid text"),
        (["key", "--ordering-key", "base64:?"], "--ordering-key"),
        (["key", "x", "--producer", "p"], "--sequence"),
        (["key", "x", "--sequence", "many"], "--sequence"),
        (["key", "x", "--mode", "fair"], "--mode"),
        (["key", "x", "--points", "0"], "--points"),
        (["key", "x", "--mode", "consistent-sticky", "--points", "0"], "--points"),
        (["key", "x", "--mode", "auto-split", "--points", "5"], "--points: there are none in the mode auto-split"),
        (["key", "x", "--pulsar", "banana"], "--pulsar banana"),
        (["key", "x", "--set", "subscriptionKeySharedUseConsistentHashing=perhaps"], "true or false"),
        (["key", "x", "--subscription", "s"], "--subscription"),
        (["key", "x", "--apply", "kill c"], "--apply"),
        (["key", "x", ".", "--consumers", "a"], "--consumers: . says who consumes"),
    ],
    ids=lambda value: repr(" ".join(value)) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_2_and_names_the_option(run: Run, words: list[str], named: str) -> None:
    ran = run("explain", *words)
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert "Traceback" not in ran.err
    assert "unexpected" not in ran.err
