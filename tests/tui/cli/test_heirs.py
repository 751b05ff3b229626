"""``heirs``: who inherits what, on the command line."""

from __future__ import annotations

import json

from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

DUMP = str(RECORDINGS / "a-failover-8p-hash")


def test_every_single_failure_worst_first(run: Run) -> None:
    document = json.loads(run("heirs", "--flag", "on", "--json").out)
    rows = document["losses"]
    assert len(rows) == 10
    assert [row["busiest_msgs"] for row in rows] == sorted((row["busiest_msgs"] for row in rows), reverse=True)
    assert rows[0]["judgement"] == "worse"
    assert document["gone"] == document["heirs"] == []


def test_one_consumer_hands_over_what_it_had_and_nothing_else(run: Run) -> None:
    document = json.loads(run("heirs", "billing-3", "--flag", "on", "--json").out)
    assert document["gone"] == ["billing-3"]
    assert {row["before"] for row in document["handovers"]} == {"billing-3"}
    assert len(document["handovers"]) == document["verdict"]["moved"]
    gained = sum(row["items_after"] - row["items_before"] for row in document["heirs"])
    assert gained == len(document["handovers"])
    rates = [row["msgs_per_sec"] for row in document["handovers"]]
    assert rates == sorted(rates, reverse=True)


def test_heirs_of_a_dump_are_those_that_stay_there(run: Run) -> None:
    everybody = json.loads(run("heirs", DUMP, "--json").out)["losses"]
    name = everybody[0]["name"]
    document = json.loads(run("heirs", DUMP, name, "--json").out)
    stay = {row["name"] for row in everybody} - {name}
    assert {row["after"] for row in document["handovers"]} <= stay
    assert run("heirs", DUMP, name, "--top", "1").code == 0


def test_several_go_at_once(run: Run) -> None:
    everybody = [row["name"] for row in json.loads(run("heirs", DUMP, "--json").out)["losses"]]
    document = json.loads(run("heirs", DUMP, *everybody, "--json").out)
    assert document["verdict"]["judged_by"] == "nobody"
    assert {row["kind"] for row in document["handovers"]} == {"orphaned"}


def test_key_shared_slots_and_keys(run: Run) -> None:
    folder = str(RECORDINGS / "c-keyshared-ring")
    document = json.loads(run("heirs", folder, "--json").out)
    assert document["noun"] == "slot"
    name = document["losses"][0]["name"]
    one = json.loads(run("heirs", folder, name, "--json").out)
    assert one["verdict"]["moved"] == document["losses"][0]["moved"] > 0


def test_who_is_not_there_is_refused_with_the_nearest_names(run: Run) -> None:
    ran = run("heirs", "billing-33")
    assert ran.code == 2
    assert "billing-3" in ran.err
    assert run("heirs", "--all", "billing-3").code == 2


def test_an_unknown_consumer_is_answered_with_the_nearest_and_how_many_more_there_are(run: Run) -> None:
    ran = run("heirs", "billing-99")
    assert ran.code == 2
    assert ran.err.count("'billing-") == 6 and "and 5 more" in ran.err  # the one that was asked for, and five of ten
