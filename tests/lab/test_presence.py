"""Who and what should be there and is not: subscriptions, consumers, partitions, deliveries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.verify.report import FactKind
from tests.lab.compare import compare_folder
from tests.lab.consumers import OVERFLOW
from tests.lab.facts import StepFact
from tests.lab.folder import Folder, recording
from tests.lab.reports import counts, kinds


def test_consumers_that_a_request_left_out_are_not_missed() -> None:
    def leave_out(document: Any) -> None:
        for partition in document["partitions"].values():
            partition["subscriptions"]["sub"]["consumers"] = []
        document["subscriptions"]["sub"]["consumers"] = []

    def ask_so(scenario: Any) -> None:
        scenario["steps"][3]["answers"][0]["request"] += "&excludeConsumers=true"

    folder = recording("a-failover-3p-hash").edited("04-partitioned-stats.json", leave_out)
    assert compare_folder(folder.with_scenario(ask_so)).agrees


def test_partitions_that_statistics_leave_out_are_counted() -> None:
    def change(document: Any) -> None:
        document["partitions"].popitem()

    report = compare_folder(recording("a-failover-8p-hash").edited("05-partitioned-stats.json", change))
    assert report.not_compared["partitions that statistics leave out: their broker gave no answer"] == 1


def test_a_second_subscription_on_the_topic_is_compared_with_its_own_consumers() -> None:
    """The steps are about one subscription; another one, of other types too, has its own list."""

    def change(document: Any) -> None:
        for name, partition in document["partitions"].items():
            first = partition["subscriptions"]["sub"]
            index = int(name.rpartition("-")[2])
            other = json.loads(json.dumps(first))
            other["consumers"] = other["consumers"][:2]
            other["activeConsumerName"] = other["consumers"][index % 2]["consumerName"]
            partition["subscriptions"]["audit"] = other
            partition["subscriptions"]["keys"] = {**first, "type": "Key_Shared", "activeConsumerName": None}
        total = document["subscriptions"]["sub"]
        document["subscriptions"] |= {"audit": {**total, "consumers": total["consumers"][:2]}, "keys": total}

    report = compare_folder(recording("a-failover-3p-modulo").edited("07-partitioned-stats.json", change))
    assert report.agrees
    assert report.compared == 131 + 3 * 3 + 2 * 2
    assert report.not_compared["Key_Shared subscriptions whose joins and leaves the steps do not name"] == 3


def _folder(scenario: dict[str, Any], **files: Any) -> Folder:
    """A folder of a made-up scenario; ``files`` are JSON documents by name without suffix."""
    documents = {f"{name}.json": json.dumps(document).encode() for name, document in files.items()}
    whole = {"scenario": "made", "pulsar_version": "4.2.4", "broker_settings": {}, **scenario}
    return Folder("made", {"scenario.json": json.dumps(whole).encode(), **documents})


def test_deliveries_on_a_topic_that_only_looks_like_a_partition_are_compared() -> None:
    """``-partition-01`` is not a partition, so the topic has none."""
    step = {"step": 1, "connected": [0, 1], "delivered": {"0": {"0": 3}}, "answers": []}
    topic = "non-persistent://t/n/x-partition-01"
    folder = _folder({"pulsar_version": "2.11.0", "topic": topic, "names": ["b", "a"], "steps": [step]})
    report = compare_folder(folder)
    assert [(tally.kind, tally.agree) for tally in report.tallies] == [(StepFact.ACTIVE_BY_DELIVERY, 1)]


@pytest.mark.parametrize(
    "label", ["{number}", "ticks-partition-{number}", "non-persistent://{rest}-partition-{number}"]
)
def test_deliveries_may_be_recorded_by_partition_or_by_name(label: str) -> None:
    rest = "ring/nanonpersistentdeliveryhash/ticks"

    def relabel(scenario: Any) -> None:
        for step in scenario["steps"]:
            delivered = step.get("delivered", {})
            step["delivered"] = {label.format(number=at, rest=rest): shares for at, shares in delivered.items()}

    report = compare_folder(recording("a-nonpersistent-delivery-hash").with_scenario(relabel))
    assert (report.agrees, counts(report)[StepFact.ACTIVE_BY_DELIVERY]) == (True, 20)


def test_consumers_that_no_roster_names_stay_the_same_from_step_to_step() -> None:
    """One that left is recognised among those that are still there, whatever its number in that step was."""

    def forget_names(scenario: Any) -> None:
        del scenario["names"]

    report = compare_folder(recording("a-nonpersistent-delivery-hash").with_scenario(forget_names))
    assert StepFact.NO_NOTICE in counts(report)


def test_levels_that_overflow_the_brokers_subtraction_are_not_compared() -> None:
    """-2 and 2147483647 are more than 2^31 - 1 apart: the broker lists them the wrong way round."""
    consumers = [{"id": 0, "name": "top", "priority_level": -2}, {"id": 1, "name": "low", "priority_level": 2**31 - 1}]
    listed = [{"consumerName": "low"}, {"consumerName": "top"}]
    subscription = {"type": "Failover", "activeConsumerName": "low", "consumers": listed}
    stats = {"msgRateIn": 0.0, "publishers": [], "subscriptions": {"sub": subscription}}
    answer = {"request": "GET /admin/v2/persistent/t/n/x/stats", "status": 200, "file": "stats.json"}
    step = {"step": 1, "connected": [0, 1], "notices": {"0": [["x", False]]}, "answers": [answer]}
    scenario = {"topic": "persistent://t/n/x", "subscription": "sub", "type": "Failover", "steps": [step]}
    report = compare_folder(_folder({**scenario, "consumers_in_join_order": consumers}, stats=stats))
    assert (report.differences, report.not_compared[OVERFLOW]) == ((), 1)
    near = [{**consumers[0], "priority_level": 0}, consumers[1]]
    differences = compare_folder(_folder({**scenario, "consumers_in_join_order": near}, stats=stats)).differences
    assert FactKind.ORDER in kinds(differences)
