"""Shedding on recorded clusters: every cycle agrees, and one thing spoilt is noticed."""

from __future__ import annotations

import re

import pytest

from engine.verify.report import Difference
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import Folder, recording
from tests.lab.reports import counts, report_of

UNIFORM, TRANSFER = "g-shed-modular-uniform", "g-shed-extensible-transfer"


def _with_log(folder: Folder, name: str, pattern: str, replacement: str) -> Folder:
    text, count = re.subn(pattern, replacement, folder.files[name].decode(), count=1)
    assert count == 1, pattern
    return folder.with_file(name, text)


def _differences(folder: Folder) -> tuple[Difference, ...]:
    report = compare_folder(folder)
    assert not report.problems
    return report.differences


def test_all_cycles_of_the_modular_leader_are_compared() -> None:
    """Eight cycles: four that unload seven bundles, three that find nothing, one with a single broker."""
    compared = counts(report_of(UNIFORM))
    assert compared[StepFact.SHED_CYCLE] == 8
    assert compared[StepFact.SHED_DESTINATION] == compared[StepFact.SHED_TRAFFIC] == 7
    assert compared[StepFact.STORED_AVERAGE] == 64
    assert compared[StepFact.BROKERS_CONSIDERED] == 21
    assert compared[StepFact.REPORT_CHANGE] == 24


def test_all_cycles_of_the_transfer_shedder_are_compared() -> None:
    compared = counts(report_of(TRANSFER))
    assert compared[StepFact.TRANSFER_CYCLE] == 4
    assert compared[StepFact.TRANSFER_ORDER] == compared[StepFact.TRANSFER_STOP] == 2
    assert compared[StepFact.REPORT_PUBLISHED] == 106


@pytest.mark.parametrize(
    ("log", "pattern", "replacement", "kind"),
    [
        ("log-b.txt", r"msgRate 71\.10290399719241", "msgRate 71.2", StepFact.SHED_TRAFFIC),
        ("log-b.txt", r"2 brokers being considered", "1 brokers being considered", StepFact.BROKERS_CONSIDERED),
        ("log-b.txt", r"maximum change 25\.0%", "maximum change 26.0%", StepFact.REPORT_CHANGE),
    ],
)
def test_a_changed_number_of_the_leader_is_noticed(log: str, pattern: str, replacement: str, kind: StepFact) -> None:
    differences = _differences(_with_log(recording(UNIFORM), log, pattern, replacement))
    assert [difference.kind for difference in differences] == [kind]


def test_a_bundle_that_goes_elsewhere_is_noticed() -> None:
    pattern = r"(Unloading bundle: ring/shed/0x80000000_0xa0000000 from broker \S+ to dest broker )127.0.0.1:39025"
    differences = _differences(_with_log(recording(UNIFORM), "log-b.txt", pattern, r"\g<1>127.0.0.1:1"))
    assert StepFact.SHED_DESTINATION in {difference.kind for difference in differences}
    assert StepFact.SHED_CYCLE in {difference.kind for difference in differences}


@pytest.mark.parametrize(
    ("name", "value"),
    [("loadBalancerMsgRateDifferenceShedderThreshold", "2000"), ("maxUnloadPercentage", "0.1")],
)
def test_another_setting_of_the_shedder_does_not_explain_the_cycles(name: str, value: str) -> None:
    folder = recording(UNIFORM).with_scenario(lambda scenario: scenario["broker_settings"].update({name: value}))
    assert StepFact.SHED_CYCLE in {difference.kind for difference in _differences(folder)}


def test_a_broker_that_goes_and_comes_without_notice_would_not_explain_the_averages() -> None:
    """S32: with the node that was made anew taken for one that was rewritten, averages differ."""
    pattern = r'("path": "/loadbalance/brokers/127\.0\.0\.1:39025", )"version": 0, ("mzxid": 468)'
    spoilt, count = re.subn(pattern, r'\1"version": 5, \2', recording(UNIFORM).files["series.jsonl"].decode())
    assert count == 1
    differences = _differences(recording(UNIFORM).with_file("series.jsonl", spoilt))
    assert StepFact.STORED_AVERAGE in {difference.kind for difference in differences}


def test_a_cycle_that_was_skipped_for_another_reason_is_noticed() -> None:
    folder = _with_log(recording(TRANSFER), "log-a.txt", r"Reason:CoolDown", "Reason:NoLoadData")
    assert [difference.kind for difference in _differences(folder)] == [StepFact.TRANSFER_CYCLE]


def test_without_the_hits_that_were_set_no_transfer_is_explained() -> None:
    name = "loadBalancerSheddingConditionHitCountThreshold"
    folder = recording(TRANSFER).with_scenario(lambda scenario: scenario["broker_settings"].update({name: "3"}))
    assert StepFact.TRANSFER_CYCLE in {difference.kind for difference in _differences(folder)}


@pytest.mark.parametrize("name", [UNIFORM, TRANSFER])
def test_without_the_logs_only_what_they_say_is_missing(name: str) -> None:
    report = compare_folder(recording(name).without("log-a.txt", "log-b.txt"))
    assert report.agrees
    assert StepFact.SHED_CYCLE not in counts(report)
    assert StepFact.TRANSFER_CYCLE not in counts(report)
