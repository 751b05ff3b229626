"""``ringside brokers``: who sheds what to whom, from load reports on disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.balance.settings import MODULAR_CLASS
from engine.scenarios.broker_scenes import BROKER_SCENES
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

RECORDED = RECORDINGS / "g-shed-modular-uniform"
A, B = "127.0.0.1:39025", "127.0.0.1:47845"


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """One report of each broker, before anything was shed, and the settings they had."""
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in ("05-load-report-a.json", "05-load-report-b.json", "scenario.json"):
        (folder / name).write_bytes(gzip.decompress((RECORDED / f"{name}.gz").read_bytes()))
    return folder


def shown(run: Run, *words: str) -> Any:
    """The document, with the figures of the shedder in force."""
    ran = run("brokers", *words, "--json")
    assert ran.code == 0, ran
    document = json.loads(ran.out)
    (in_force,) = (row for row in document["compared"] if row["in_force"])
    return in_force | document


def test_the_first_cycle_moves_what_the_cluster_moved_first(run: Run, reports: Path) -> None:
    """The cluster moved 0xc.. and 0x0..; its averages were a little higher, so 0x8.. came in its second cycle."""
    document = shown(run, str(reports), "--cycles", "3")
    moves = document["cycles"][0]["moves"]
    assert [move["bundle"].rpartition("/")[2][:5] for move in moves] == ["0xc00", "0x800", "0x000"]
    assert {(move["from"], move["to"]) for move in moves} == {(B, A)}
    assert all(move["candidates"] == [{"broker": A, "chance": 1.0}] for move in moves)
    assert [len(cycle["moves"]) for cycle in document["cycles"]] == [3, 0, 0]
    assert (document["unloads"], document["topics_interrupted"], document["quiet_after_cycles"]) == (3, 3, 1)
    assert document["assumptions"][2] == "averages-from-one-report"


def test_messages_are_conserved_and_more_even(run: Run, reports: Path) -> None:
    document = shown(run, str(reports), "--cycles", "1")
    assert document["before"]["msgs_per_sec"]["max_over_mean"] == pytest.approx(2.0)
    assert document["after"]["msgs_per_sec"]["max_over_mean"] < 1.02


def test_a_series_of_reports_gives_averages(run: Run) -> None:
    document = shown(run, str(RECORDED), "--cycles", "2")
    assert "averages-from-reports" in document["assumptions"]
    assert document["unloads"] == 0


def test_every_shedder_is_compared(run: Run, reports: Path) -> None:
    compared = {row["shedder"]: row["unloads"] for row in shown(run, str(reports))["compared"]}
    assert list(compared) == [
        "ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder",
    ]  # fmt: skip
    assert compared["UniformLoadShedder"] == 3
    assert compared["TransferShedder"] == 7
    assert compared["OverloadShedder"] == 0


def test_a_release_without_a_shedder_leaves_it_out(run: Run, reports: Path) -> None:
    compared = shown(run, str(reports), "--pulsar", "2.11.0")["compared"]
    known = [row["shedder"] for row in compared if row["refused"] is None]
    assert known == ["ThresholdShedder", "OverloadShedder", "UniformLoadShedder"]
    refused = run("brokers", str(reports), "--shedder", "AvgShedder", "--pulsar", "2.11.0", "--once")
    assert refused.code == 2
    assert "--shedder" in refused.err


def test_thresholds_can_be_tried(run: Run, reports: Path) -> None:
    document = shown(run, str(reports), "--set", "minUnloadMessage=1000000")
    assert document["unloads"] == 0
    outcomes = {row["broker"]: row["outcome"] for row in document["cycles"][0]["brokers"]}
    assert outcomes == {A: "not-the-busiest", B: "below-minimum-traffic"}


def test_one_broker_sheds_nothing(run: Run, reports: Path) -> None:
    (reports / "05-load-report-a.json").unlink()
    document = shown(run, str(reports), "--cycles", "2")
    assert [cycle["skipped"] for cycle in document["cycles"]] == ["one-broker", "one-broker"]
    assert {row["unloads"] for row in document["compared"]} == {0}


def test_isolation_policies_bar_the_way(run: Run, reports: Path) -> None:
    failover = {"policy_type": "min_available", "parameters": {"min_limit": "1"}}
    members = {"namespaces": ["ring/.*"], "primary": ["127.0.0.1"], "secondary": [], "auto_failover_policy": failover}
    policy: dict[str, dict[str, Any]] = {"p": members}
    (reports / "namespaceIsolationPolicies.json").write_text(json.dumps(policy))
    assert shown(run, str(reports))["unloads"] == 3  # both brokers have this host
    policy["p"]["primary"] = ["nobody"]
    (reports / "namespaceIsolationPolicies.json").write_text(json.dumps(policy))
    document = shown(run, str(reports))
    assert document["unloads"] == 0
    assert {row["why"] for row in document["cycles"][0]["left_alone"]} == {"no-other-broker"}
    assert "policies-unknown" not in document["assumptions"]


def test_an_anti_affinity_group_keeps_a_namespace_off_the_broker_that_has_another_of_it(
    run: Run, reports: Path
) -> None:
    """The emptier broker has one namespace, here of the same group; the fuller one has none but the one it sheds."""
    report = reports / "05-load-report-a.json"
    load = json.loads(report.read_text())
    other = "ring/other/0x00000000_0xffffffff"
    load["bundles"], load["lastStats"] = [other], {other: {"topics": 1}}
    report.write_text(json.dumps(load))
    namespaces = {"ring/other"} | {
        bundle.rpartition("/")[0] for bundle in json.loads((reports / "05-load-report-b.json").read_text())["bundles"]
    }
    before = shown(run, str(reports), "--cycles", "1")
    assert "policies-unknown" in before["assumptions"]
    for namespace in namespaces:
        place = reports / "admin/v2/namespaces" / namespace
        place.mkdir(parents=True)
        (place / "antiAffinity.json").write_text('"spread"')
    document = shown(run, str(reports), "--cycles", "1")
    assert before["unloads"] == 3
    assert document["unloads"] == 0
    assert [row["why"] for row in document["cycles"][0]["left_alone"]] == ["anti-affinity"] * 3
    assert "isolation-unknown" in document["assumptions"]
    assert "groups-unknown" not in document["assumptions"]
    assert "policies-unknown" not in document["assumptions"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--cycles", "0"), "--cycles"),
        (("--placement", "Nobody"), "--placement"),
        (("--set", "minUnloadMessage=x"), "minUnloadMessage"),
        (("--set", "noSuchSetting=1"), "noSuchSetting"),
    ],
)
def test_what_cannot_be_is_refused(run: Run, reports: Path, words: tuple[str, ...], named: str) -> None:
    refused = run("brokers", str(reports), *words, "--once")
    assert (refused.code, refused.out) == (2, "")
    assert named in refused.err


def test_a_folder_without_load_reports_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    refused = run("brokers", str(tmp_path), "--once")
    assert refused.code == 2
    assert "load-report" in refused.err


def test_bad_reports_are_reported_and_the_rest_is_kept(run: Run, reports: Path) -> None:
    """A usage below 0, a bundle with two owners, a setting nobody can read."""
    a, b = (json.loads((reports / f"05-load-report-{letter}.json").read_text()) for letter in "ab")
    b["cpu"]["usage"] = -5.0
    stolen = b["bundles"][0]
    a["bundles"].append(stolen)
    a["lastStats"][stolen] = b["lastStats"][stolen]
    (reports / "05-load-report-a.json").write_text(json.dumps(a))
    (reports / "05-load-report-b.json").write_text(json.dumps(b))
    (reports / "broken.json").write_text("{")
    scenario = json.loads((reports / "scenario.json").read_text())
    scenario["broker_settings"]["maxUnloadPercentage"] = "much"
    (reports / "scenario.json").write_text(json.dumps(scenario))
    ran = run("brokers", str(reports), "--json")
    assert ran.code == 0
    for told in ("$.cpu", stolen, "maxUnloadPercentage", "broken.json"):
        assert told in ran.err
    assert [row["broker"] for row in json.loads(ran.out)["brokers"]] == [A, B]


def test_the_text_says_the_same(run: Run, reports: Path) -> None:
    ran = run("brokers", str(reports), "--cycles", "4", "--once", "--ascii")
    assert ran.code == 0
    assert ran.out.isascii()
    assert "ring/shed/0xc0000000_0xe0000000 to 127.0.0.1:39025" in ran.out
    assert "Transfer" in ran.out


def test_the_text_has_the_unloads_of_every_cycle(run: Run) -> None:
    words = ("--scene", "endless", "--cycles", "8")
    moves = [move for cycle in shown(run, *words)["cycles"] for move in cycle["moves"]]
    page = run("brokers", *words, "--once").out
    assert len(moves) > 8
    assert {move["bundle"] for move in moves if f"{move['bundle']} to" not in page} == set()


def test_the_seed_decides_a_draw_and_nothing_else(run: Run, reports: Path) -> None:
    """With every broker free the placement draws; all it may draw is in the list of candidates."""
    settings = (
        "--set",
        "loadBalancerDistributeBundlesEvenlyEnabled=false",
        "--placement",
        "LeastResourceUsageWithWeight",
    )
    picks = set()
    for seed in range(6):
        document = shown(run, str(reports), *settings, "--seed", str(seed), "--cycles", "1")
        for move in document["cycles"][0]["moves"]:
            candidates = {row["broker"]: row["chance"] for row in move["candidates"]}
            assert move["to"] in candidates
            assert sum(candidates.values()) == pytest.approx(1.0)
        picks.add(json.dumps(document["cycles"][0]["moves"]))
    assert len(picks) > 1
    assert shown(run, str(reports), *settings, "--seed", "1") == shown(run, str(reports), *settings, "--seed", "1")


@pytest.mark.parametrize("words", [("brokers", "--once", "--cycles", "600"), ("brokers", "--once")])
def test_the_printed_tables_fit_eighty_columns(run: Run, words: tuple[str, ...]) -> None:
    for scene in ("uneven", "comes-back", "endless", "heavy-bundle"):
        ran = run(*words, "--scene", scene)
        assert ran.code == 0
        assert max(map(len, ran.out.splitlines())) <= 80


def test_brokers_without_a_terminal_name_what_prints_the_same(run: Run) -> None:
    ran = run("brokers")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "--once" in ran.err


def saved(folder: Path, changes: dict[str, Any], settings: dict[str, str] | None = None) -> None:
    """Two load reports of the recording, the first with changed members, and settings."""
    folder.mkdir()
    for name in ("05-load-report-a.json", "05-load-report-b.json"):
        report = json.loads(gzip.decompress((RECORDED / f"{name}.gz").read_bytes()))
        report |= changes if name == "05-load-report-a.json" else {}
        (folder / name).write_text(json.dumps(report))
    (folder / "runtime-configuration.json").write_text(json.dumps(settings or {}))


@pytest.mark.parametrize(
    ("changes", "settings", "said"),
    [
        ({"msgRateIn": float("nan"), "cpu": {"usage": float("nan"), "limit": 100}}, {}, "$.cpu.usage"),
        ({"bandwidthIn": {"usage": float("inf"), "limit": 1}}, {}, "$.bandwidthIn.usage"),
        ({"bundles": ["nonsense", "a/b/0x0"]}, {}, "$.bundles[1]"),
        ({"lastUpdate": 10**17}, {}, ""),
        ({}, {"loadBalancerSheddingIntervalMinutes": "-3"}, "loadBalancerSheddingIntervalMinutes"),
        ({}, {"loadManagerClassName": "org.apache.pulsar.x.SimpleLoadManagerImpl"}, "loadManagerClassName"),
        ({}, {"loadBalancerLoadSheddingStrategy": "x.TransferShedder"}, "loadBalancerLoadSheddingStrategy"),
    ],
    ids=["NaN", "infinity", "bundle names", "clock", "interval", "manager", "shedder"],
)
def test_bad_input_is_reported_with_its_place_and_the_rest_is_kept(
    run: Run, tmp_path: Path, changes: dict[str, Any], settings: dict[str, str], said: str
) -> None:
    folder = tmp_path / "reports"
    saved(folder, changes, {"loadManagerClassName": MODULAR_CLASS} | settings)
    for words in (
        ("brokers", str(folder), "--once"),
        ("explain", "bundle", "0x20000000_0x40000000", str(folder)),
    ):
        ran = run(*words)
        assert ran.code == 0, ran.err
        assert said in ran.err
        assert A in ran.out or B in ran.out


def test_a_placement_that_nobody_knows_is_refused_by_the_place_it_is_from(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    saved(folder, {}, {"loadBalancerLoadPlacementStrategy": "com.example.Own"})
    ran = run("brokers", str(folder), "--once")
    assert (ran.code, ran.out) == (2, "")
    assert "loadBalancerLoadPlacementStrategy" in ran.err
    assert run("brokers", str(folder), "--once", "--placement", "RoundRobinBrokerSelector").code == 0


@pytest.mark.parametrize("scene", [scene.name for scene in BROKER_SCENES])
def test_the_pages_of_every_scene_fit_80_columns(run: Run, scene: str) -> None:
    for words in (
        ("brokers", "--scene", scene, "--once", "--kill", "broker-1:8080", "--add", "1"),
        ("brokers", "--scene", scene, "--once"),
    ):
        ran = run(*words)
        assert ran.code == 0, ran.err
        assert max(map(len, ran.out.splitlines())) <= 80


def test_a_scene_is_shown_for_as_many_cycles_as_it_takes_to_be_seen(run: Run) -> None:
    def cycles(*words: str) -> int:
        ran = run("brokers", "--json", *words)
        return len(json.loads(ran.out)["strip"])

    assert [cycles("--scene", "endless"), cycles("--scene", "uneven")] == [60, 20]
    assert cycles("--scene", "endless", "--cycles", "7") == 7


def test_a_broker_that_is_not_there_is_refused_with_those_that_are(run: Run) -> None:
    refused = run("brokers", "--scene", "uneven", "--kill", "broker-1", "--once")
    assert refused.code == 2
    assert "broker-1:8080" in refused.err and "1 more" in refused.err
