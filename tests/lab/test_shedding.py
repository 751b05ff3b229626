"""Shedding on recorded clusters: every cycle agrees, and one thing spoilt is noticed."""

from __future__ import annotations

import pytest

from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import recording
from tests.lab.reports import counts, report_of

UNIFORM, TRANSFER = "g-shed-modular-uniform", "g-shed-extensible-transfer"


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


@pytest.mark.parametrize("name", [UNIFORM, TRANSFER])
def test_without_the_logs_only_what_they_say_is_missing(name: str) -> None:
    report = compare_folder(recording(name).without("log-a.txt", "log-b.txt"))
    assert report.agrees
    assert StepFact.SHED_CYCLE not in counts(report)
    assert StepFact.TRANSFER_CYCLE not in counts(report)
