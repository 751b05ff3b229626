"""What should be there and is not: subscriptions, consumers, requests of a list, topics of an empty bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab import FactKind, VerifyReport, verify_folder
from tests.lab.copies import copy_of, edit

FULL = ["0x00000000", "0xffffffff"]
HALVES = ["0x00000000", "0x7fffffff", "0xffffffff"]


def _spoilt(tmp_path: Path, name: str, file: str, spoil: str) -> VerifyReport:
    folder = copy_of(name, tmp_path)

    def change(document: Any) -> None:
        subscriptions = next(iter(document["partitions"].values()))["subscriptions"]
        if spoil == "no subscription":
            subscriptions.clear()
        elif spoil == "nobody":
            subscriptions["sub"] |= {"consumers": [], "activeConsumerName": None}
        else:
            subscriptions["sub"]["type"] = spoil

    edit(folder, file, change)
    return verify_folder(folder)


@pytest.mark.parametrize("spoil", ["no subscription", "nobody", "Shared", "Exclusive"])
@pytest.mark.parametrize("name", ["a-failover-3p-hash", "a-priority-001-8p-modulo"])
def test_a_subscription_without_those_that_are_connected_is_found(tmp_path: Path, name: str, spoil: str) -> None:
    """With and without a topic that the scenario names."""
    report = _spoilt(tmp_path, name, "04-partitioned-stats.json", spoil)
    found = [each for each in report.differences if each.kind is FactKind.CONNECTED]
    assert [(each.step, each.file) for each in found] == [("4", "04-partitioned-stats.json")]


def test_consumers_that_a_request_left_out_are_not_missed(tmp_path: Path) -> None:
    folder = copy_of("a-failover-3p-hash", tmp_path)

    def leave_out(document: Any) -> None:
        for partition in document["partitions"].values():
            partition["subscriptions"]["sub"]["consumers"] = []
        document["subscriptions"]["sub"]["consumers"] = []

    def ask_so(scenario: Any) -> None:
        scenario["steps"][3]["answers"][0]["request"] += "&excludeConsumers=true"

    edit(folder, "04-partitioned-stats.json", leave_out)
    edit(folder, "scenario.json", ask_so)
    assert verify_folder(folder).exit_code == 0


def test_partitions_that_statistics_leave_out_are_counted(tmp_path: Path) -> None:
    folder = copy_of("a-failover-8p-hash", tmp_path)

    def change(document: Any) -> None:
        document["partitions"].popitem()

    edit(folder, "05-partitioned-stats.json", change)
    left_out = "partitions that statistics leave out: their broker gave no answer"
    assert dict(verify_folder(folder).not_compared)[left_out] == 1


def test_a_number_of_bundles_that_the_boundaries_do_not_make_is_found(tmp_path: Path) -> None:
    folder = copy_of("d-bundles-4x60", tmp_path)

    def change(document: Any) -> None:
        document["numBundles"] += 1

    edit(folder, "03-bundles-after.json", change)
    found = [each for each in verify_folder(folder).differences if each.file == "03-bundles-after.json"]
    assert [(each.kind, each.recorded) for each in found] == [
        (FactKind.VALID_LIST, "numBundles 7, but boundaries of 6")
    ]


@pytest.mark.parametrize(("member", "value"), [("bundle", "0x00000003_0x00000004"), ("algorithm", "halve_it")])
def test_a_split_of_the_list_that_no_step_asked_for_is_found(tmp_path: Path, member: str, value: str) -> None:
    folder = copy_of("d-bundles-4x60", tmp_path)

    def change(scenario: Any) -> None:
        scenario["splits"][2][member] = value

    edit(folder, "scenario.json", change)
    found = verify_folder(folder).differences
    assert [(each.kind, each.step, each.recorded, each.modelled) for each in found] == [
        (FactKind.SPLIT_STATUS, "split 3 of the list", "asked for", "not asked for")
    ]


def _recording(folder: Path, *requests: tuple[dict[str, Any], list[str]], made_with: int = 1, **more: Any) -> Path:
    """Split requests on a namespace without topics, each with the bundle list after it."""

    def put(name: str, document: Any) -> str:
        (folder / name).write_text(json.dumps(document))
        return name

    bundles = "GET /admin/v2/namespaces/t/n/bundles"
    before = put("00-bundles.json", {"boundaries": FULL, "numBundles": 1})
    steps: list[Any] = [{"step": 0, "answers": [{"request": bundles, "status": 200, "file": before}]}]
    for number, (request, after) in enumerate(requests, 1):
        empty: dict[str, Any] = {"namespace": "t/n", "bundle": "0x00000000_0xffffffff", "topicHashPositions": {}}
        positions = f"GET /admin/v2/namespaces/t/n/{empty['bundle']}/topicHashPositions"
        listed = put(f"{number:02}-bundles.json", {"boundaries": after, "numBundles": len(after) - 1})
        answers = [
            {"request": positions, "status": 200, "file": put(f"{number:02}-positions.json", empty)},
            request,
            {"request": bundles, "status": 200, "file": listed},
        ]
        steps.append({"step": number, "answers": answers if len(after) == 2 else answers[1:]})
    scenario = {"scenario": "made", "pulsar_version": "4.2.4", "broker_settings": {}, "namespace": "t/n", **more}
    put("scenario.json", {**scenario, "bundles": made_with, "steps": steps})
    return folder


def _split(algorithm: str, **more: Any) -> dict[str, Any]:
    path = "/admin/v2/namespaces/t/n/0x00000000_0xffffffff/split"
    return {"request": f"PUT {path}?splitAlgorithmName={algorithm}", "status": 204, **more}


def test_a_bundle_that_is_known_to_be_empty_is_planned(tmp_path: Path) -> None:
    """Listed without topics is not the same as not listed."""
    count = _split("topic_count_equally_divide")
    report = verify_folder(_recording(tmp_path, (count, FULL), (_split("range_equally_divide"), HALVES)))
    counted = {tally.kind: tally.compared for tally in report.tallies}
    assert (report.exit_code, counted[FactKind.SPLIT_STATUS], counted[FactKind.DEFAULT_BOUNDARIES]) == (0, 2, 1)
    wrong = _split("topic_count_equally_divide", status=412)
    (tmp_path / "wrong").mkdir()
    assert verify_folder(_recording(tmp_path / "wrong", (wrong, FULL))).exit_code == 1


def test_the_list_after_a_split_that_cannot_be_told_is_not_taken_for_the_first(tmp_path: Path) -> None:
    folder = _recording(tmp_path, (_split("range_equally_divide"), HALVES))

    def change(scenario: Any) -> None:
        children = "PUT /admin/v2/namespaces/t/n/0x00000000_0x7fffffff/split?splitAlgorithmName="
        unknown: dict[str, Any] = {"request": f"{children}topic_count_equally_divide", "status": 204}
        again = {"request": "GET /admin/v2/namespaces/t/n/bundles", "status": 200, "file": "01-bundles.json"}
        scenario["steps"].append({"step": 2, "answers": [unknown, again]})

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert dict(report.not_compared)["splits of bundles whose topics were not recorded"] == 1


def test_a_request_made_twice_is_told_apart_by_its_positions(tmp_path: Path) -> None:
    """The first of two requests for one bundle was never answered; the list tells the second one only."""
    names = [f"persistent://t/n/x{number}" for number in range(3)]
    middle = 0x7FFFFFFF
    stuck = _split("specified_positions_divide", body=[5, 5], status=None, no_answer_after_s=20)
    stuck.pop("status")
    good = _split("specified_positions_divide", body=[middle])
    told: dict[str, Any] = {
        "algorithm": "specified_positions_divide",
        "bundle": "0x00000000_0xffffffff",
        "positions_given": [middle],
        "answer": {"status": 204},
        "before": "01-bundles.json",
        "after": "02-bundles.json",
    }
    folder = _recording(tmp_path, (stuck, FULL), (good, HALVES), splits=[told])

    def with_topics(scenario: Any) -> None:
        listing: dict[str, Any] = {"request": "GET /admin/v2/persistent/t/n", "status": 200, "file": "topics.json"}
        scenario["steps"][1]["answers"] = [listing, *scenario["steps"][1]["answers"][1:]]

    (folder / "topics.json").write_text(json.dumps(names))
    edit(folder, "scenario.json", with_topics)
    report = verify_folder(folder)
    counted = {tally.kind: tally.compared for tally in report.tallies}
    assert report.differences == ()
    assert counted[FactKind.NEVER_ANSWERED] == 1


def test_deliveries_on_a_topic_that_only_looks_like_a_partition_are_compared(tmp_path: Path) -> None:
    """``-partition-01`` is no partition, so the topic has none."""
    topic = "non-persistent://t/n/x-partition-01"
    step = {"step": 1, "connected": [0, 1], "delivered": {"0": {"0": 3}}, "answers": []}
    scenario: dict[str, Any] = {"scenario": "made", "pulsar_version": "2.11.0", "broker_settings": {}, "topic": topic}
    scenario |= {"names": ["b", "a"], "steps": [step]}
    (tmp_path / "scenario.json").write_text(json.dumps(scenario))
    report = verify_folder(tmp_path)
    assert [(tally.kind, tally.agree) for tally in report.tallies] == [(FactKind.ACTIVE_BY_DELIVERY, 1)]


@pytest.mark.parametrize(
    "label", ["{number}", "ticks-partition-{number}", "non-persistent://{rest}-partition-{number}"]
)
def test_deliveries_may_be_told_by_partition_or_by_name(tmp_path: Path, label: str) -> None:
    folder = copy_of("a-nonpersistent-delivery-hash", tmp_path)
    rest = "ring/nanonpersistentdeliveryhash/ticks"

    def relabel(scenario: Any) -> None:
        for step in scenario["steps"]:
            told = step.get("delivered", {})
            step["delivered"] = {label.format(number=each, rest=rest): counts for each, counts in told.items()}

    edit(folder, "scenario.json", relabel)
    report = verify_folder(folder)
    counted = {tally.kind: tally.agree for tally in report.tallies}
    assert (report.exit_code, counted[FactKind.ACTIVE_BY_DELIVERY]) == (0, 20)


def test_a_bundle_with_topics_that_no_list_ever_had_is_found_after_splits_too(tmp_path: Path) -> None:
    """Statistics may show the list before the last split, but not one that never was."""
    folder = copy_of("d-bundles-4x60", tmp_path)

    def change(document: Any) -> None:
        bundles = document["ring/ddbundles4x60"]
        bundles["0xa0000000_0xbffffffe"] = bundles.pop("0xa0000000_0xc0000000")

    edit(folder, "06-broker-stats-topics.json", change)
    found = [each for each in verify_folder(folder).differences if each.kind is FactKind.BUNDLE_IN_LIST]
    assert [(each.subject, each.modelled) for each in found] == [
        ("ring/ddbundles4x60/0xa0000000_0xbffffffe", "not listed")
    ]


def test_consumers_that_no_roster_names_stay_the_same_from_step_to_step(tmp_path: Path) -> None:
    """Who left is found again among those who are still there, whatever their number in that step was."""
    folder = copy_of("a-nonpersistent-delivery-hash", tmp_path)

    def forget_names(scenario: Any) -> None:
        del scenario["names"]

    edit(folder, "scenario.json", forget_names)
    report = verify_folder(folder)
    assert FactKind.NO_NOTICE in {tally.kind for tally in report.tallies}


@pytest.mark.parametrize("member", ["names", "consumers_in_join_order", "steps", "splits", "changes", "topic", "type"])
@pytest.mark.parametrize("junk", [7, "x", {}, [None], True])
def test_odd_members_of_a_scenario_do_not_crash(tmp_path: Path, member: str, junk: object) -> None:
    folder = copy_of("a-nonpersistent-delivery-modulo", tmp_path)
    edit(folder, "scenario.json", lambda scenario: scenario.__setitem__(member, junk))
    assert verify_folder(folder).exit_code in (0, 1, 2)
