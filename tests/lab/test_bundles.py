"""Bundle lists, requests that are refused or never answered, and splits that only a list of splits names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.verify.report import FactKind, VerifyReport
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import Folder, recording
from tests.lab.reports import counts, differences_of, kinds

FULL = ["0x00000000", "0xffffffff"]
HALVES = ["0x00000000", "0x7fffffff", "0xffffffff"]
NAMESPACE = "/admin/v2/namespaces/t/n"


def _folder(steps: list[Any], files: dict[str, Any], **more: Any) -> Folder:
    scenario = {"scenario": "made", "pulsar_version": "4.2.4", "broker_settings": {}, "namespace": "t/n", **more}
    documents = {**files, "scenario.json": {**scenario, "steps": steps}}
    return Folder("made", {name: json.dumps(document).encode() for name, document in documents.items()})


def _splits(*requests: tuple[dict[str, Any], list[str]], **more: Any) -> Folder:
    """Split requests on a namespace without topics, each with the bundle list after it."""
    files: dict[str, Any] = {"00-bundles.json": {"boundaries": FULL, "numBundles": 1}}
    bundles = f"GET {NAMESPACE}/bundles"
    steps: list[Any] = [{"step": 0, "answers": [{"request": bundles, "status": 200, "file": "00-bundles.json"}]}]
    for number, (request, after) in enumerate(requests, 1):
        bundle = "0x00000000_0xffffffff"
        files[f"{number:02}-positions.json"] = {"namespace": "t/n", "bundle": bundle, "topicHashPositions": {}}
        files[f"{number:02}-bundles.json"] = {"boundaries": after, "numBundles": len(after) - 1}
        positions = {"request": f"GET {NAMESPACE}/{bundle}/topicHashPositions", "file": f"{number:02}-positions.json"}
        listed = {"request": bundles, "status": 200, "file": f"{number:02}-bundles.json"}
        answers = [{**positions, "status": 200}] if len(after) == 2 else []
        steps.append({"step": number, "answers": [*answers, request, listed]})
    return _folder(steps, files, bundles=1, **more)


def _split(algorithm: str, **more: Any) -> dict[str, Any]:
    request = f"PUT {NAMESPACE}/0x00000000_0xffffffff/split?splitAlgorithmName={algorithm}"
    return {"request": request, "status": 204, **more}


def test_a_number_of_bundles_that_the_boundaries_do_not_make_is_found() -> None:
    def change(document: Any) -> None:
        document["numBundles"] += 1

    differences = differences_of(recording("d-bundles-4x60").edited("03-bundles-after.json", change))
    assert [
        (difference.kind, difference.recorded)
        for difference in differences
        if difference.file == "03-bundles-after.json"
    ] == [(FactKind.VALID_LIST, "numBundles 7, but boundaries of 6")]


@pytest.mark.parametrize(("member", "value"), [("bundle", "0x00000003_0x00000004"), ("algorithm", "halve_it")])
def test_a_split_of_the_list_that_no_step_requests_is_found(member: str, value: str) -> None:
    def change(scenario: Any) -> None:
        scenario["splits"][2][member] = value

    differences = differences_of(recording("d-bundles-4x60").with_scenario(change))
    assert [
        (difference.kind, difference.moment, difference.recorded, difference.modelled) for difference in differences
    ] == [(StepFact.SPLIT_STATUS, "split 3 of the list", "requested", "not requested")]


def test_splits_that_only_the_list_of_splits_names_are_planned_from_their_files() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"] = []

    report = compare_folder(recording("d-bundles-4x60").with_scenario(change))
    compared = counts(report)
    assert report.agrees
    assert (compared[StepFact.SPLIT_RANGE], compared[StepFact.SPLIT_TOPIC_COUNT]) == (2, 3)
    assert compared[StepFact.SPLIT_STATUS] == 7


def test_a_bundle_that_is_known_to_be_empty_is_planned() -> None:
    """Listed without topics is not the same as not listed."""
    count = _split("topic_count_equally_divide")
    report = compare_folder(_splits((count, FULL), (_split("range_equally_divide"), HALVES)))
    compared = counts(report)
    assert (report.agrees, compared[StepFact.SPLIT_STATUS], compared[StepFact.DEFAULT_BOUNDARIES]) == (True, 2, 1)
    assert differences_of(_splits((_split("topic_count_equally_divide", status=412), FULL)))


def test_the_list_after_a_split_of_unknown_outcome_is_not_taken_for_the_first() -> None:
    def change(scenario: Any) -> None:
        children = f"PUT {NAMESPACE}/0x00000000_0x7fffffff/split?splitAlgorithmName="
        unknown: dict[str, Any] = {"request": f"{children}topic_count_equally_divide", "status": 204}
        again = {"request": f"GET {NAMESPACE}/bundles", "status": 200, "file": "01-bundles.json"}
        scenario["steps"].append({"step": 2, "answers": [unknown, again]})

    report = compare_folder(_splits((_split("range_equally_divide"), HALVES)).with_scenario(change))
    assert report.agrees
    assert report.not_compared["splits of bundles whose topics were not recorded"] == 1


def test_a_request_made_twice_is_recognised_by_its_positions() -> None:
    """The first of two requests for one bundle was never answered; the list names the second one only."""
    middle = 0x7FFFFFFF
    stuck = _split("specified_positions_divide", body=[5, 5], no_answer_after_s=20)
    stuck.pop("status")
    good = _split("specified_positions_divide", body=[middle])
    listed: dict[str, Any] = {
        "algorithm": "specified_positions_divide",
        "bundle": "0x00000000_0xffffffff",
        "positions_given": [middle],
        "answer": {"status": 204},
        "before": "01-bundles.json",
        "after": "02-bundles.json",
    }

    def with_topics(scenario: Any) -> None:
        listing: dict[str, Any] = {"request": "GET /admin/v2/persistent/t/n", "status": 200, "file": "topics.json"}
        scenario["steps"][1]["answers"] = [listing, *scenario["steps"][1]["answers"][1:]]

    names = [f"persistent://t/n/x{number}" for number in range(3)]
    folder = _splits((stuck, FULL), (good, HALVES), splits=[listed]).with_file("topics.json", json.dumps(names))
    report = compare_folder(folder.with_scenario(with_topics))
    assert report.differences == ()
    assert counts(report)[StepFact.NEVER_ANSWERED] == 1


def test_a_bundle_with_topics_that_no_list_ever_had_is_found_after_splits_too() -> None:
    """Statistics may show the list before the last split, but not one that never was."""

    def change(document: Any) -> None:
        bundles = document["ring/ddbundles4x60"]
        bundles["0xa0000000_0xbffffffe"] = bundles.pop("0xa0000000_0xc0000000")

    differences = differences_of(recording("d-bundles-4x60").edited("06-broker-stats-topics.json", change))
    assert [
        (difference.subject, difference.modelled)
        for difference in differences
        if difference.kind is FactKind.BUNDLE_IN_LIST
    ] == [("ring/ddbundles4x60/0xa0000000_0xbffffffe", "not listed")]


def test_flow_splits_within_the_rates_are_a_kind_of_their_own() -> None:
    """Move the rates of one recorded split around the limit, before and after: only rates in between explain it."""

    def scaled(factor: float) -> Any:
        def change(document: Any) -> None:
            for bundles in document.values():
                for domains in bundles.values():
                    for topics in domains.values():
                        for topic in topics.values():
                            topic["msgRateIn"] = round(topic["msgRateIn"] * factor, 3)

        return change

    folder = recording("d-flow-msgrate-4x60").edited("03-broker-stats-topics.json", scaled(0.5))
    report = compare_folder(folder.edited("03-broker-stats-topics-after.json", scaled(3.0)))
    assert StepFact.SPLIT_FLOW_WITHIN in counts(report)
    assert report.agrees


@pytest.mark.parametrize("boundaries", [HALVES, ["0x00000000", "0x00000001", "0x00000003", "0xffffffff"]])
def test_a_namespace_has_the_boundaries_that_it_was_made_with(boundaries: list[str]) -> None:
    count = len(boundaries) - 1
    body = {"bundles": {"boundaries": boundaries, "numBundles": count}}
    result = {"request": f"PUT {NAMESPACE}", "status": 204, "body": body}
    listed = {"request": f"GET {NAMESPACE}/bundles", "status": 200, "file": "bundles.json"}
    files = {"bundles.json": {"boundaries": boundaries, "numBundles": count}}
    report = compare_folder(_folder([{"step": 1, "answers": [result, listed]}], files))
    assert (report.agrees, counts(report)[StepFact.DEFAULT_BOUNDARIES]) == (True, 1)
    files["bundles.json"] = {"boundaries": FULL, "numBundles": 1}
    (difference,) = differences_of(_folder([{"step": 1, "answers": [result, listed]}], files))
    assert difference.kind is StepFact.DEFAULT_BOUNDARIES


def _positions_refused(*, loaded: str | None, bundle: str = "0x00000000_0x7fffffff", status: int = 412) -> VerifyReport:
    """A request for the hash positions of a bundle, with statistics that have a topic in one of the two halves."""
    files: dict[str, Any] = {"bundles.json": {"boundaries": HALVES, "numBundles": 2}}
    answers: list[Any] = [{"request": f"GET {NAMESPACE}/bundles", "status": 200, "file": "bundles.json"}]
    if loaded is not None:
        topic = {"0x00000000_0x7fffffff": "x0", "0x7fffffff_0xffffffff": "x2"}[loaded]
        topics = {f"persistent://t/n/{topic}": {"msgRateIn": 1.0}}
        files["stats.json"] = {"t/n": {loaded: {"persistent": topics}}}
        answers.append({"request": "GET /admin/v2/broker-stats/topics", "status": 200, "file": "stats.json"})
    files["refused.json"] = {"reason": f"Failed to find ownership for ServiceUnit:t/n/{bundle}"}
    request = f"GET {NAMESPACE}/{bundle}/topicHashPositions"
    answers.append({"request": request, "status": status, "file": "refused.json"})
    return compare_folder(_folder([{"step": 1, "answers": answers}], files))


def test_a_current_bundle_that_nobody_owns_is_refused() -> None:
    """412 as for a range that is not a bundle; without loaded topics nothing speaks against it."""
    report = _positions_refused(loaded="0x7fffffff_0xffffffff")
    assert (report.differences, counts(report)[StepFact.REFUSAL_STATUS]) == ((), 1)


def test_a_bundle_with_loaded_topics_that_is_refused_is_found() -> None:
    (difference,) = _positions_refused(loaded="0x00000000_0x7fffffff").differences
    assert (difference.recorded, difference.modelled) == ("412", "200")


def test_a_refused_bundle_is_not_compared_without_statistics() -> None:
    report = _positions_refused(loaded=None)
    assert (report.differences, counts(report).get(StepFact.REFUSAL_STATUS, 0)) == ((), 0)


def test_a_range_that_is_not_a_bundle_must_be_refused() -> None:
    report = _positions_refused(loaded="0x7fffffff_0xffffffff", bundle="0x00000000_0x3fffffff", status=200)
    assert [(difference.recorded, difference.modelled) for difference in report.differences] == [("200", "412")]


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
