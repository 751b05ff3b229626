"""The model agrees with every fact that brokers of ten releases were seen to do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from engine.verify import FactKind, VerifyReport, verify_folder

RECORDINGS = Path(__file__).parents[2] / "recordings"

# The least number of facts that must be compared in each folder: a comparison that quietly stops comparing fails here.
LEAST = {
    "a-failover-3p-hash": 89,
    "a-failover-3p-modulo": 89,
    "a-failover-8p-hash": 229,
    "a-failover-8p-modulo": 229,
    "a-namesakes-4p-hash": 107,
    "a-namesakes-4p-modulo": 119,
    "a-nonpersistent-3p-hash": 46,
    "a-nonpersistent-3p-modulo": 45,
    "a-nonpersistent-delivery-hash": 98,
    "a-nonpersistent-delivery-modulo": 95,
    "a-priority-001-8p-hash": 207,
    "a-priority-001-8p-modulo": 206,
    "a-priority-100-3p-hash": 64,
    "a-priority-100-3p-modulo": 68,
    "a-priority-reversed-6p-hash": 324,
    "a-priority-reversed-6p-modulo": 318,
    "a-textorder-3p-hash": 117,
    "a-textorder-3p-modulo": 137,
    "b-failover-nonpartitioned-hash": 192,
    "b-failover-nonpartitioned-modulo": 192,
    "b-priority-nonpartitioned-hash": 33,
    "b-priority-nonpartitioned-modulo": 33,
    "b-priority-reversed-nonpartitioned-hash": 56,
    "b-priority-reversed-nonpartitioned-modulo": 56,
    "c-keyshared-autosplit": 1613,
    "c-keyshared-draining": 444,
    "c-keyshared-ring": 1613,
    "c-keyshared-ring-3points": 1280,
    "c-keyshared-ring-classic": 1638,
    "c-keyshared-sticky": 193,
    "c-keyshared-sticky-slot0": 23,
    "d-bundles-4x60": 881,
    "d-flow-bandwidth-4x30": 628,
    "d-flow-msgrate-4x60": 1138,
    "d-range-from-one-bundle": 250,
    "f-inventory-2": 743,
    "g-autosplit-modular-count": 537,
    "g-two-brokers": 335,
    "pip392-flag-off": 1526,
    "pip392-flag-on": 1526,
    "v2.11.0-a-failover-6p-hash": 146,
    "v2.11.0-a-failover-6p-modulo": 146,
    "v2.11.0-a-namesakes-4p-hash": 119,
    "v2.11.0-a-priority-4p-modulo": 172,
    "v2.11.0-b-failover-8t-hash": 224,
    "v2.11.0-b-priority-nonpartitioned-hash": 50,
    "v2.11.0-c-keyshared-autosplit": 1074,
    "v2.11.0-c-keyshared-ring": 1074,
    "v2.11.0-c-keyshared-ring-3points": 850,
    "v2.11.0-c-keyshared-sticky-gaps": 783,
    "v2.11.0-c-keyshared-sticky-gaps-all-owned": 173,
    "v2.11.0-c-keyshared-sticky-gaps-any-order": 783,
    "v2.11.0-d-bundles-4x24": 530,
    "v3.0.2-a-failover-6p-hash": 146,
    "v3.0.2-a-failover-6p-modulo": 146,
    "v3.0.2-a-namesakes-4p-hash": 119,
    "v3.0.2-a-priority-4p-modulo": 172,
    "v3.0.2-b-failover-8t-hash": 224,
    "v3.0.2-b-priority-nonpartitioned-hash": 50,
    "v3.0.2-c-keyshared-autosplit": 1073,
    "v3.0.2-c-keyshared-ring": 1074,
    "v3.0.2-c-keyshared-ring-3points": 850,
    "v3.0.2-c-keyshared-sticky-gaps": 445,
    "v3.0.2-c-keyshared-sticky-gaps-any-order": 397,
    "v3.0.2-d-bundles-4x24": 536,
    "v3.0.7-a-failover-6p-hash": 146,
    "v3.0.7-b-priority-nonpartitioned-hash": 50,
    "v3.0.7-c-keyshared-autosplit": 1074,
    "v3.0.7-c-keyshared-ring": 1072,
    "v3.0.7-c-keyshared-ring-3points": 850,
    "v3.0.7-c-keyshared-sticky-gaps": 445,
    "v3.0.7-c-keyshared-sticky-gaps-any-order": 397,
    "v3.2.3-a-failover-6p-hash": 146,
    "v3.2.3-a-failover-6p-modulo": 146,
    "v3.2.3-a-namesakes-4p-hash": 119,
    "v3.2.3-b-priority-nonpartitioned-hash": 50,
    "v3.2.3-c-keyshared-autosplit": 1074,
    "v3.2.3-c-keyshared-ring": 1074,
    "v3.2.3-c-keyshared-ring-3points": 850,
    "v3.2.3-c-keyshared-sticky-gaps": 445,
    "v3.2.3-c-keyshared-sticky-gaps-any-order": 397,
    "v3.3.2-a-failover-6p-hash": 146,
    "v3.3.2-a-failover-6p-modulo": 146,
    "v3.3.2-a-namesakes-4p-hash": 119,
    "v3.3.2-a-priority-4p-modulo": 172,
    "v3.3.2-b-failover-8t-hash": 224,
    "v3.3.2-b-priority-nonpartitioned-hash": 50,
    "v3.3.2-c-keyshared-autosplit": 1073,
    "v3.3.2-c-keyshared-ring": 1073,
    "v3.3.2-c-keyshared-ring-3points": 850,
    "v3.3.2-c-keyshared-sticky-gaps": 445,
    "v3.3.2-c-keyshared-sticky-gaps-any-order": 397,
    "v3.3.6-a-failover-6p-hash": 146,
    "v3.3.6-a-failover-6p-modulo": 146,
    "v3.3.6-a-namesakes-4p-hash": 107,
    "v3.3.6-b-priority-nonpartitioned-hash": 50,
    "v3.3.6-c-keyshared-autosplit": 1072,
    "v3.3.6-c-keyshared-ring": 1074,
    "v3.3.6-c-keyshared-ring-3points": 850,
    "v3.3.6-c-keyshared-sticky-gaps": 445,
    "v3.3.6-c-keyshared-sticky-gaps-any-order": 397,
    "v4.0.0-a-failover-6p-hash": 146,
    "v4.0.0-a-failover-6p-modulo": 146,
    "v4.0.0-a-namesakes-4p-hash": 119,
    "v4.0.0-b-priority-nonpartitioned-hash": 50,
    "v4.0.0-c-keyshared-autosplit": 1117,
    "v4.0.0-c-keyshared-ring": 1117,
    "v4.0.0-c-keyshared-ring-3points": 880,
    "v4.0.0-c-keyshared-ring-classic": 1142,
    "v4.0.0-c-keyshared-sticky-gaps": 455,
    "v4.0.0-c-keyshared-sticky-gaps-any-order": 455,
    "v4.0.1-a-failover-6p-hash": 146,
    "v4.0.1-a-failover-6p-modulo": 146,
    "v4.0.1-b-failover-4t-hash": 96,
    "v4.0.1-c-keyshared-ring": 908,
    "v4.0.1-c-keyshared-sticky-gaps": 455,
    "v4.0.7-a-failover-6p-hash": 146,
    "v4.0.7-a-failover-6p-modulo": 146,
    "v4.0.7-a-namesakes-4p-hash": 107,
    "v4.0.7-a-priority-4p-modulo": 172,
    "v4.0.7-b-failover-8t-hash": 224,
    "v4.0.7-b-priority-nonpartitioned-hash": 50,
    "v4.0.7-c-keyshared-autosplit": 1117,
    "v4.0.7-c-keyshared-ring": 1115,
    "v4.0.7-c-keyshared-ring-3points": 878,
    "v4.0.7-c-keyshared-ring-classic": 1142,
    "v4.0.7-c-keyshared-sticky-gaps": 530,
    "v4.0.7-c-keyshared-sticky-gaps-any-order": 530,
    "v4.0.7-d-bundles-4x24": 536,
}


@cache
def _report(name: str) -> VerifyReport:
    return verify_folder(RECORDINGS / name)


@pytest.mark.parametrize("name", LEAST)
def test_every_fact_of_a_recording_agrees(name: str) -> None:
    report = _report(name)
    assert [str(difference) for difference in report.differences] == []
    assert report.problems == ()
    assert report.compared >= LEAST[name]
    assert report.agree == report.compared
    assert report.exit_code == 0


def test_every_recording_with_facts_is_in_the_table() -> None:
    without = {"e-pip79-6p", "versions", "versions-generated"}
    assert {folder.name for folder in RECORDINGS.iterdir()} - without == set(LEAST)


def test_all_kinds_of_facts_but_the_doubtful_ones_occur_in_the_recordings() -> None:
    """What no recording has: levels and ranges without a scenario that tells them, flow splits between two rates."""
    seen = {tally.kind for name in LEAST for tally in _report(name).tallies}
    assert set(FactKind) - seen == {
        FactKind.ACTIVE_INFERRED_LEVELS,
        FactKind.KEY_RANGES_APART,
        FactKind.SPLIT_FLOW_WITHIN,
    }


def test_the_scene_of_pip_392_has_600_active_consumers() -> None:
    reports = [verify_folder(RECORDINGS / f"pip392-flag-{flag}") for flag in ("off", "on")]
    active = [t.compared for report in reports for t in report.tallies if t.kind is FactKind.ACTIVE_PARTITION]
    assert active == [300, 300]
    assert [report.consistent_hashing for report in reports] == [False, True]


@pytest.mark.parametrize(
    ("name", "version", "least"),
    [
        ("a-failover-6p-hash", "4.0.0", 1),
        ("b-failover-8t-hash", "4.0.7", 30),
    ],
)
def test_rules_of_another_release_fail_clearly(name: str, version: str, least: int) -> None:
    """2.11.0 keeps the first connected; 4.0.0 does not know the flag that 4.0.1 brought."""
    recorded = "v4.0.1" if name.startswith("a") else "v2.11.0"
    report = verify_folder(RECORDINGS / f"{recorded}-{name}", version)
    assert report.version_source == "asked for"
    assert len(report.differences) >= least
    assert report.exit_code == 1


def test_facts_that_are_not_modelled_are_counted_and_named() -> None:
    report = verify_folder(RECORDINGS / "e-pip79-6p")
    assert dict(report.not_compared)["aggregated statistics of partitioned topics"] == 15
    assert report.compared == 0
    assert report.exit_code == 2


def test_a_release_that_does_not_know_an_algorithm_refuses_it() -> None:
    report = verify_folder(RECORDINGS / "v2.11.0-d-bundles-4x24")
    refusals = {tally.kind: tally.compared for tally in report.tallies}
    assert refusals[FactKind.REFUSAL_STATUS] == 4
