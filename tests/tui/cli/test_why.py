"""``ringside why`` names the cause of the worst subscription or of a named one; its exit code says if it blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.diagnosis.answers import consumer, stats
from tests.engine.diagnosis.samples import dump
from tests.tui.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A blocked subscription, at two moments."""
    dump("keyshared-draining-a", tmp_path / "dump")
    return str(tmp_path / "dump")


def test_without_a_name_the_worst_is_named_with_cause_numbers_and_mend(run: Run, folder: str) -> None:
    ran = run("why", folder)
    assert (ran.code, ran.err) == (1, "")
    assert "node-2 waits for node-1 at 38 slots" in " ".join(ran.out.split())
    assert all(word in ran.out for word in ("keyshared_draining", "to do", "read from", "worst slot 65165"))
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.parametrize("name", ["fan-out", "sessions", "persistent://shop/trips-96/sessions", "node-2"])
def test_a_subscription_a_topic_and_a_consumer_can_be_named(run: Run, folder: str, name: str) -> None:
    document = json.loads(run("why", folder, name, "--json").out)
    assert (document["format"], document["moments"], document["subscription"]) == ("ringside.why/1", 2, "fan-out")
    assert document["causes"][0]["id"] == "keyshared_draining"
    assert {"topic_not_loaded", "no_consumers", "keyshared_lookahead"} <= {row["id"] for row in document["ruled_out"]}


def test_what_is_not_there_is_refused(run: Run, folder: str, tmp_path: Path) -> None:
    assert run("why", folder, "fan-in").code == 2
    assert run("why", folder, "--subscription", "node-2").code == 2
    (tmp_path / "bundles.json").write_text('{"boundaries": ["0x00000000", "0xffffffff"]}')
    assert "no subscription" in run("why", str(tmp_path / "bundles.json")).err


def test_the_embedded_cluster_is_uneven_and_nothing_blocks(run: Run) -> None:
    ran = run("why", "--json")
    assert (ran.code, json.loads(ran.out)["causes"][0]["id"]) == (0, "failover_idle_consumers")


def test_all_lists_every_subscription_the_worst_first(run: Run, tmp_path: Path) -> None:
    for name, backlog in (("x", 5), ("y", 0), ("z", 70)):
        place = tmp_path / f"admin/v2/persistent/t/n/{name}"
        place.mkdir(parents=True)
        shown = stats("Shared", [consumer("c")] if name == "y" else [], msgBacklog=backlog, topic={"msgInCounter": 9})
        shown["subscriptions"] = {f"of-{name}": shown["subscriptions"]["s"]}
        (place / "stats.json").write_text(json.dumps(shown))
    ran = run("why", str(tmp_path), "--all", "--json")
    result = [
        (row["subscription"], [cause["id"] for cause in row["causes"]][:1])
        for row in json.loads(ran.out)["subscriptions"]
    ]
    assert result == [("of-z", ["no_consumers"]), ("of-x", ["no_consumers"]), ("of-y", ["fine_idle"])]
    assert ran.code == 1
    assert [line.split()[0] for line in run("why", str(tmp_path), "--all").out.splitlines()] == [
        "VERDICT",
        "blocks",
        "blocks",
        "fine",
    ]


def test_names_from_outside_stay_text_and_are_quoted_in_commands(run: Run, tmp_path: Path) -> None:
    name = "s $(touch pwned) \x1b[31m"
    shown = stats("Shared", [], msgBacklog=3, topic={"msgInCounter": 9})
    shown["subscriptions"] = {name: shown["subscriptions"]["s"]}
    place = tmp_path / "admin/v2/persistent/t/n/x"
    place.mkdir(parents=True)
    (place / "stats.json").write_text(json.dumps(shown))
    ran = run("why", str(tmp_path))
    assert "\x1b" not in ran.out
    assert "'s $(touch pwned)" in " ".join(
        json.loads(run("why", str(tmp_path), "--json").out)["causes"][0]["fix"].split()
    )


def test_a_trace_of_keys_names_the_hot_one(run: Run, tmp_path: Path) -> None:
    folder = dump("hot-key-a", tmp_path / "dump")
    trace = tmp_path / "keys.txt"
    plain = json.loads(run("why", str(folder), "--json").out)
    assert plain["causes"][0]["id"] == "hot_key" and "hot_key" not in plain["causes"][0]["numbers"]
    owner = plain["causes"][0]["by"][0]
    lines = [f"key-{number}\t1" for number in range(40)]
    shares = []
    for number in range(40):
        trace.write_text("\n".join([*lines, f"key-{number}\t500"]))
        cause = json.loads(run("why", str(folder), "--keys", str(trace), "--json").out)["causes"][0]
        shares.append((cause["numbers"]["hot_key"], cause["numbers"]["hot_key_share"]))
    assert {share for _, share in shares} == {round(501 / 540, 4)}
    named = {key for key, _ in shares if key}
    assert named and named != {f"key-{number}" for number in range(40)}, owner
