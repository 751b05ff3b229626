"""Spoilt facts about Failover and settings are found, with both sides and the place."""

from __future__ import annotations

from typing import Any

import pytest

from engine.verify.report import FactKind
from tests.lab.facts import StepFact
from tests.lab.reports import kinds, spoilt


def _partition(document: Any, index: int) -> Any:
    return next(sub for name, sub in document["partitions"].items() if name.endswith(f"-partition-{index}"))


def _subscription(document: Any, index: int) -> Any:
    return _partition(document, index)["subscriptions"]["sub"]


def test_another_active_consumer_is_found() -> None:
    def change(document: Any) -> None:
        _subscription(document, 1)["activeConsumerName"] = "c-a"

    differences = spoilt("a-failover-3p-modulo", "07-partitioned-stats.json", change)
    differences = [difference for difference in differences if difference.kind is FactKind.ACTIVE_PARTITION]
    assert [
        (difference.recorded, difference.modelled, difference.moment, difference.file) for difference in differences
    ] == [("c-a", "c-b", "7", "07-partitioned-stats.json")]
    assert "modulo" in differences[0].rule


def test_no_active_consumer_at_all_is_found() -> None:
    def change(document: Any) -> None:
        del _subscription(document, 0)["activeConsumerName"]

    differences = spoilt("a-failover-8p-hash", "05-partitioned-stats.json", change)
    assert [(difference.kind, difference.recorded) for difference in differences] == [
        (FactKind.ACTIVE_PARTITION, "nobody")
    ]


def test_an_active_consumer_of_a_topic_without_partitions_is_found() -> None:
    def change(document: Any) -> None:
        sub = next(iter(document["subscriptions"].values()))
        names = [consumer["consumerName"] for consumer in sub["consumers"]]
        sub["activeConsumerName"] = next(name for name in names if name != sub["activeConsumerName"])

    differences = spoilt("b-failover-nonpartitioned-hash", "06-stats-t-4.json", change)
    assert kinds(differences) == {FactKind.ACTIVE_NONPARTITIONED, FactKind.STANDBYS}
    assert all("/t-4 / " in difference.subject for difference in differences)


def test_another_dispatcher_order_is_found() -> None:
    def change(document: Any) -> None:
        _subscription(document, 2)["consumers"].reverse()

    differences = spoilt("a-textorder-3p-hash", "05-partitioned-stats.json", change)
    assert FactKind.ORDER in kinds(differences)


def test_namesakes_out_of_connect_order_are_found() -> None:
    """Their names are equal, so only the time of connecting distinguishes them."""

    def change(document: Any) -> None:
        for index in range(4):
            consumers = _subscription(document, index)["consumers"]
            names = [consumer["consumerName"] for consumer in consumers]
            first, second = (at for at, name in enumerate(names) if names.count(name) == 2)
            consumers[first], consumers[second] = consumers[second], consumers[first]

    differences = spoilt("a-namesakes-4p-hash", "04-partitioned-stats.json", change)
    assert kinds(differences) == {FactKind.ORDER}
    assert len(differences) == 4


def test_a_consumer_that_is_not_there_is_found() -> None:
    def change(document: Any) -> None:
        _subscription(document, 0)["consumers"].pop()

    differences = spoilt("a-failover-3p-hash", "06-partitioned-stats.json", change)
    assert StepFact.CONNECTED in kinds(differences)


def test_another_priority_level_is_found() -> None:
    def change(scenario: Any) -> None:
        for consumer in scenario["consumers_in_join_order"]:
            consumer["priority_level"] = 0

    differences = spoilt("a-priority-reversed-6p-modulo", "scenario.json", change)
    kinds_found = kinds(differences)
    assert {FactKind.ORDER, FactKind.ACTIVE_PARTITION, StepFact.NOTICE} <= kinds_found


@pytest.mark.parametrize("what", ["turned", "lost", "added"])
def test_another_notice_is_found(what: str) -> None:
    def change(scenario: Any) -> None:
        notices = scenario["steps"][2]["notices"]["1"]
        if what == "turned":
            notices[0][1] = not notices[0][1]
        elif what == "lost":
            notices.pop(0)
        else:
            notices.append(list(notices[0]))

    differences = spoilt("a-priority-001-8p-modulo", "scenario.json", change)
    assert [difference.kind for difference in differences] == [StepFact.NOTICE]
    assert differences[0].moment == "3"


def test_a_notice_to_a_silent_consumer_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][3]["notices"]["0"] = [["orders-partition-0", False]]

    differences = spoilt("a-priority-001-8p-hash", "scenario.json", change)
    assert [(difference.kind, difference.recorded, difference.modelled) for difference in differences] == [
        (StepFact.NOTICE, "inactive", "no notice")
    ]


def test_another_receiver_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][3]["delivered"]["1"] = {"0": 3}

    differences = spoilt("a-nonpersistent-delivery-hash", "scenario.json", change)
    assert [(difference.kind, difference.recorded, difference.modelled) for difference in differences] == [
        (StepFact.ACTIVE_BY_DELIVERY, "0:c-b", "2:c-c")
    ]


def test_a_flag_that_the_release_is_said_to_know_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["flag_known_to_release"] = True

    differences = spoilt("v4.0.0-a-failover-6p-hash", "scenario.json", change)
    assert [difference.kind for difference in differences] == [StepFact.FLAG_KNOWN]


def test_another_setting_in_force_is_found() -> None:
    def change(document: Any) -> None:
        document["activeConsumerFailoverConsistentHashing"] = "false"

    differences = spoilt("pip392-flag-on", "02-runtime-configuration.json", change)
    assert [difference.kind for difference in differences] == [StepFact.SETTING_IN_FORCE]


def test_the_other_flag_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"]["activeConsumerFailoverConsistentHashing"] = "true"

    differences = spoilt("a-failover-8p-modulo", "scenario.json", change)
    assert FactKind.ACTIVE_PARTITION in kinds(differences)
