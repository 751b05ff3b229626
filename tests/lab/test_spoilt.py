"""A recording that was tampered with is found, with the right kind of difference, both sides and the place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab import FactKind, VerifyReport, verify_folder
from tests.lab.copies import copy_of, edit

Change = Callable[[Any], None]


def _spoil(tmp_path: Path, name: str, file: str, change: Change) -> VerifyReport:
    folder = copy_of(name, tmp_path)
    assert verify_folder(folder).exit_code == 0
    edit(folder, file, change)
    report = verify_folder(folder)
    assert report.exit_code == 1
    return report


def _partition(document: Any, index: int) -> Any:
    return next(sub for name, sub in document["partitions"].items() if name.endswith(f"-partition-{index}"))


def _subscription(document: Any, index: int) -> Any:
    return _partition(document, index)["subscriptions"]["sub"]


def test_another_active_consumer_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        _subscription(document, 1)["activeConsumerName"] = "c-a"

    report = _spoil(tmp_path, "a-failover-3p-modulo", "07-partitioned-stats.json", change)
    found = [each for each in report.differences if each.kind is FactKind.ACTIVE_PARTITION]
    assert [(each.recorded, each.modelled, each.step, each.file) for each in found] == [
        ("c-a", "c-b", "7", "07-partitioned-stats.json")
    ]
    assert "modulo" in found[0].rule


def test_no_active_consumer_at_all_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        del _subscription(document, 0)["activeConsumerName"]

    report = _spoil(tmp_path, "a-failover-8p-hash", "05-partitioned-stats.json", change)
    assert [(each.kind, each.recorded) for each in report.differences] == [(FactKind.ACTIVE_PARTITION, "nobody")]


def test_an_active_consumer_of_a_topic_without_partitions_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        sub = next(iter(document["subscriptions"].values()))
        names = [consumer["consumerName"] for consumer in sub["consumers"]]
        sub["activeConsumerName"] = next(name for name in names if name != sub["activeConsumerName"])

    report = _spoil(tmp_path, "b-failover-nonpartitioned-hash", "06-stats-t-4.json", change)
    assert {each.kind for each in report.differences} == {FactKind.ACTIVE_NONPARTITIONED, FactKind.STANDBYS}
    assert all("/t-4 / " in each.subject for each in report.differences)


def test_another_dispatcher_order_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        _subscription(document, 2)["consumers"].reverse()

    report = _spoil(tmp_path, "a-textorder-3p-hash", "05-partitioned-stats.json", change)
    assert FactKind.ORDER in {each.kind for each in report.differences}


def test_namesakes_out_of_connect_order_are_found(tmp_path: Path) -> None:
    """Their names are equal, so only the time of their connecting tells them apart."""

    def change(document: Any) -> None:
        for index in range(4):
            consumers = _subscription(document, index)["consumers"]
            names = [each["consumerName"] for each in consumers]
            first, second = (at for at, name in enumerate(names) if names.count(name) == 2)
            consumers[first], consumers[second] = consumers[second], consumers[first]

    report = _spoil(tmp_path, "a-namesakes-4p-hash", "04-partitioned-stats.json", change)
    assert {each.kind for each in report.differences} == {FactKind.ORDER}
    assert len(report.differences) == 4


def test_a_consumer_that_is_not_there_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        _subscription(document, 0)["consumers"].pop()

    report = _spoil(tmp_path, "a-failover-3p-hash", "06-partitioned-stats.json", change)
    assert FactKind.CONNECTED in {each.kind for each in report.differences}


def test_another_priority_level_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        for consumer in scenario["consumers_in_join_order"]:
            consumer["priority_level"] = 0

    report = _spoil(tmp_path, "a-priority-reversed-6p-modulo", "scenario.json", change)
    kinds = {each.kind for each in report.differences}
    assert {FactKind.ORDER, FactKind.ACTIVE_PARTITION, FactKind.NOTICE} <= kinds


@pytest.mark.parametrize("what", ["turned", "lost", "added"])
def test_another_notice_is_found(tmp_path: Path, what: str) -> None:
    def change(scenario: Any) -> None:
        told = scenario["steps"][2]["notices"]["1"]
        if what == "turned":
            told[0][1] = not told[0][1]
        elif what == "lost":
            told.pop(0)
        else:
            told.append(list(told[0]))

    report = _spoil(tmp_path, "a-priority-001-8p-modulo", "scenario.json", change)
    assert [each.kind for each in report.differences] == [FactKind.NOTICE]
    assert report.differences[0].step == "3"


def test_a_notice_to_a_silent_consumer_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][3]["notices"]["0"] = [["orders-partition-0", False]]

    report = _spoil(tmp_path, "a-priority-001-8p-hash", "scenario.json", change)
    assert [(each.kind, each.recorded, each.modelled) for each in report.differences] == [
        (FactKind.NOTICE, "inactive", "no notice")
    ]


def test_another_receiver_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][3]["delivered"]["1"] = {"0": 3}

    report = _spoil(tmp_path, "a-nonpersistent-delivery-hash", "scenario.json", change)
    assert [(each.kind, each.recorded, each.modelled) for each in report.differences] == [
        (FactKind.ACTIVE_BY_DELIVERY, "0:c-b", "2:c-c")
    ]


def test_another_boundary_after_a_split_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        at = document["boundaries"].index("0x6436e22e")
        document["boundaries"][at] = "0x6436e22f"

    report = _spoil(tmp_path, "d-bundles-4x60", "03-bundles-after.json", change)
    first = report.differences[0]
    assert (first.kind, first.file) == (FactKind.SPLIT_TOPIC_COUNT, "03-bundles-after.json")
    assert "0x6436e22f" in first.recorded
    assert "0x6436e22e" in first.modelled


@pytest.mark.parametrize("file", ["01-bundles.json", "01-policies.json"])
def test_another_boundary_of_a_new_namespace_is_found(tmp_path: Path, file: str) -> None:
    def change(document: Any) -> None:
        bundles = document.get("bundles", document)
        bundles["boundaries"][2] = "0x80000001"

    report = _spoil(tmp_path, "d-flow-bandwidth-4x30", file, change)
    assert report.differences[0].kind in (FactKind.DEFAULT_BOUNDARIES, FactKind.BUNDLE_LIST)


def test_a_boundary_between_requests_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["boundaries"][1] = "0x40000001"

    report = _spoil(tmp_path, "pip392-flag-on", "02-bundles.json", change)
    kinds = {each.kind for each in report.differences}
    assert {FactKind.BUNDLE_LIST, FactKind.POLICIES} <= kinds


def test_a_flow_split_that_no_recorded_rates_explain_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        at = document["boundaries"].index("0x23b8ec31")
        document["boundaries"][at] = "0x33b8ec31"

    report = _spoil(tmp_path, "d-flow-msgrate-4x60", "03-bundles-after.json", change)
    assert report.differences[0].kind is FactKind.SPLIT_FLOW


def test_rates_that_forbid_the_recorded_flow_split_are_found(tmp_path: Path) -> None:
    """Without traffic there is nothing to cut, whatever the rounding."""
    folder = copy_of("d-flow-msgrate-4x60", tmp_path)

    def change(document: Any) -> None:
        for bundles in document.values():
            for domains in bundles.values():
                for topics in domains.values():
                    for topic in topics.values():
                        topic["msgRateIn"] = topic["msgThroughputIn"] = 0.0

    for file in ("03-broker-stats-topics.json", "03-broker-stats-topics-after.json"):
        edit(folder, file, change)
    report = verify_folder(folder)
    assert FactKind.SPLIT_FLOW in {each.kind for each in report.differences}


def test_another_hash_position_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        name = next(iter(document["topicHashPositions"]))
        document["topicHashPositions"][name] += 1

    report = _spoil(tmp_path, "d-bundles-4x60", "04-topicHashPositions.json", change)
    assert [(each.kind, each.step) for each in report.differences] == [(FactKind.HASH_POSITION, "4")]


def test_a_topic_below_another_bundle_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        bundles = next(iter(document.values()))
        one, other = list(bundles)[:2]
        name, topic = bundles[one]["persistent"].popitem()
        bundles[other]["persistent"][name] = topic

    report = _spoil(tmp_path, "d-range-from-one-bundle", "05-broker-stats-topics.json", change)
    assert [each.kind for each in report.differences] == [FactKind.TOPIC_BUNDLE]


@pytest.mark.parametrize(("step", "place", "status"), [(9, 0, 204), (9, 1, 404), (9, 3, 200), (11, 0, 204)])
def test_another_refusal_status_is_found(tmp_path: Path, step: int, place: int, status: int) -> None:
    def change(scenario: Any) -> None:
        answers = scenario["steps"][step - 1]["answers"]
        answers[place]["status"] = status

    folder = copy_of("d-bundles-4x60", tmp_path)
    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert FactKind.REFUSAL_STATUS in {each.kind for each in report.differences}
    assert {each.step for each in report.differences} == {str(step)}


def test_another_status_in_the_list_of_splits_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["splits"][4]["answer"]["status"] = 204

    report = _spoil(tmp_path, "v2.11.0-d-bundles-4x24", "scenario.json", change)
    assert [(each.kind, each.recorded, each.modelled) for each in report.differences] == [
        (FactKind.REFUSAL_STATUS, "204", "412")
    ]


def test_an_answer_where_the_broker_never_answers_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        answer = scenario["steps"][11]["answers"][0]
        del answer["no_answer_after_s"]
        answer["status"] = 204

    report = _spoil(tmp_path, "d-bundles-4x60", "scenario.json", change)
    assert [(each.kind, each.recorded) for each in report.differences] == [(FactKind.NEVER_ANSWERED, "204")]


def test_a_flag_that_the_release_is_said_to_know_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["flag_known_to_release"] = True

    report = _spoil(tmp_path, "v4.0.0-a-failover-6p-hash", "scenario.json", change)
    assert [each.kind for each in report.differences] == [FactKind.FLAG_KNOWN]


def test_another_setting_in_force_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        document["activeConsumerFailoverConsistentHashing"] = "false"

    report = _spoil(tmp_path, "pip392-flag-on", "02-runtime-configuration.json", change)
    assert [each.kind for each in report.differences] == [FactKind.SETTING_IN_FORCE]


def test_the_other_flag_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"]["activeConsumerFailoverConsistentHashing"] = "true"

    report = _spoil(tmp_path, "a-failover-8p-modulo", "scenario.json", change)
    assert FactKind.ACTIVE_PARTITION in {each.kind for each in report.differences}
