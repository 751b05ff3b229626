"""Spoilt facts about bundles and splits are found, with both sides and the place."""

from __future__ import annotations

from typing import Any

import pytest

from engine.verify.report import FactKind
from tests.lab.facts import StepFact
from tests.lab.folder import recording
from tests.lab.reports import differences_of, kinds, spoilt


def test_another_boundary_after_a_split_is_found() -> None:
    def change(document: Any) -> None:
        at = document["boundaries"].index("0x6436e22e")
        document["boundaries"][at] = "0x6436e22f"

    differences = spoilt("d-bundles-4x60", "03-bundles-after.json", change)
    first = differences[0]
    assert (first.kind, first.file) == (StepFact.SPLIT_TOPIC_COUNT, "03-bundles-after.json")
    assert "0x6436e22f" in first.recorded
    assert "0x6436e22e" in first.modelled


@pytest.mark.parametrize("file", ["01-bundles.json", "01-policies.json"])
def test_another_boundary_of_a_new_namespace_is_found(file: str) -> None:
    def change(document: Any) -> None:
        bundles = document.get("bundles", document)
        bundles["boundaries"][2] = "0x80000001"

    differences = spoilt("d-flow-bandwidth-4x30", file, change)
    assert differences[0].kind in (StepFact.DEFAULT_BOUNDARIES, StepFact.BUNDLE_LIST)


def test_a_boundary_between_requests_is_found() -> None:
    def change(document: Any) -> None:
        document["boundaries"][1] = "0x40000001"

    differences = spoilt("pip392-flag-on", "02-bundles.json", change)
    assert {StepFact.BUNDLE_LIST, FactKind.POLICIES} <= kinds(differences)


def test_a_flow_split_that_no_recorded_rates_explain_is_found() -> None:
    def change(document: Any) -> None:
        at = document["boundaries"].index("0x23b8ec31")
        document["boundaries"][at] = "0x33b8ec31"

    differences = spoilt("d-flow-msgrate-4x60", "03-bundles-after.json", change)
    assert differences[0].kind is StepFact.SPLIT_FLOW


def test_rates_that_forbid_the_recorded_flow_split_are_found() -> None:
    """Without traffic there is nothing to cut, whatever the rounding."""
    folder = recording("d-flow-msgrate-4x60")

    def change(document: Any) -> None:
        for bundles in document.values():
            for domains in bundles.values():
                for topics in domains.values():
                    for topic in topics.values():
                        topic["msgRateIn"] = topic["msgThroughputIn"] = 0.0

    for file in ("03-broker-stats-topics.json", "03-broker-stats-topics-after.json"):
        folder = folder.edited(file, change)
    differences = differences_of(folder)
    assert StepFact.SPLIT_FLOW in kinds(differences)


def test_another_hash_position_is_found() -> None:
    def change(document: Any) -> None:
        name = next(iter(document["topicHashPositions"]))
        document["topicHashPositions"][name] += 1

    differences = spoilt("d-bundles-4x60", "04-topicHashPositions.json", change)
    assert [(difference.kind, difference.moment) for difference in differences] == [(FactKind.HASH_POSITION, "4")]


def test_a_topic_below_another_bundle_is_found() -> None:
    def change(document: Any) -> None:
        bundles = next(iter(document.values()))
        one, other = list(bundles)[:2]
        name, topic = bundles[one]["persistent"].popitem()
        bundles[other]["persistent"][name] = topic

    differences = spoilt("d-range-from-one-bundle", "05-broker-stats-topics.json", change)
    assert [difference.kind for difference in differences] == [FactKind.TOPIC_BUNDLE]


@pytest.mark.parametrize(("step", "place", "status"), [(9, 0, 204), (9, 1, 404), (9, 3, 200), (11, 0, 204)])
def test_another_refusal_status_is_found(step: int, place: int, status: int) -> None:
    def change(scenario: Any) -> None:
        answers = scenario["steps"][step - 1]["answers"]
        answers[place]["status"] = status

    differences = spoilt("d-bundles-4x60", "scenario.json", change)
    assert StepFact.REFUSAL_STATUS in kinds(differences)
    assert {difference.moment for difference in differences} == {str(step)}


def test_another_status_in_the_list_of_splits_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["splits"][4]["answer"]["status"] = 204

    differences = spoilt("v2.11.0-d-bundles-4x24", "scenario.json", change)
    assert [(difference.kind, difference.recorded, difference.modelled) for difference in differences] == [
        (StepFact.REFUSAL_STATUS, "204", "412")
    ]


def test_an_answer_where_the_broker_never_answers_is_found() -> None:
    def change(scenario: Any) -> None:
        answer = scenario["steps"][11]["answers"][0]
        del answer["no_answer_after_s"]
        answer["status"] = 204

    differences = spoilt("d-bundles-4x60", "scenario.json", change)
    assert [(difference.kind, difference.recorded) for difference in differences] == [(StepFact.NEVER_ANSWERED, "204")]
