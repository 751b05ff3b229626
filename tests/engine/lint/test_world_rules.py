"""Rules about the settings of all brokers."""

from __future__ import annotations

import pytest

from engine.bundles.plan import LoadManager
from engine.lint.doctor import lint_world
from engine.lint.model import Severity, World
from tests.releases import known

AVG = "AvgShedder"


@pytest.mark.parametrize(
    ("version", "shedder", "placement", "severity"),
    [
        ("4.2.4", "", "", None),
        ("5.0.0", "", "", None),
        ("4.2.4", AVG, AVG, None),
        ("4.2.4", AVG, "", Severity.WARNING),
        ("4.2.4", "", AVG, Severity.ERROR),
        ("5.0.1", "ThresholdShedder", "", Severity.INFO),
        ("5.0.1", "ThresholdShedder", AVG, Severity.INFO),
        ("5.0.0", "", "LeastLongTermMessageRate", Severity.WARNING),
        ("5.0.0-M1", "ThresholdShedder", "", None),
        ("5.0.0", "ThresholdShedder", "LeastLongTermMessageRate", None),
    ],
)
def test_avg_shedder_is_set_for_both_or_for_neither(
    version: str, shedder: str, placement: str, severity: Severity | None
) -> None:
    findings = lint_world(World(behaviour=known(version), shedder=shedder, placement=placement))
    assert [finding.severity for finding in findings] == ([severity] if severity else [])


@pytest.mark.parametrize(("manager", "findings"), [("modular", 1), ("extensible", 0), ("simple", 0), (None, 1)])
def test_only_the_modular_load_manager_has_these_strategies(manager: LoadManager | None, findings: int) -> None:
    assert len(lint_world(World(load_manager=manager, shedder=AVG, placement="LeastLongTermMessageRate"))) == findings
