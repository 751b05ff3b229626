"""The model agrees with every fact that brokers of ten releases were seen to do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.lab import FactKind, VerifyReport, verify_folder
from tests.lab.copies import copy_of, edit

RECORDINGS = Path(__file__).parents[1] / "recordings"

# The least number of facts that must be compared in each folder: a comparison that quietly stops comparing fails here.
LEAST = {
    "a-failover-3p-hash": 131,
    "a-failover-3p-modulo": 131,
    "a-failover-8p-hash": 271,
    "a-failover-8p-modulo": 271,
    "a-namesakes-4p-hash": 137,
    "a-namesakes-4p-modulo": 149,
    "a-nonpersistent-3p-hash": 70,
    "a-nonpersistent-3p-modulo": 69,
    "a-nonpersistent-delivery-hash": 138,
    "a-nonpersistent-delivery-modulo": 135,
    "a-priority-001-8p-hash": 237,
    "a-priority-001-8p-modulo": 236,
    "a-priority-100-3p-hash": 88,
    "a-priority-100-3p-modulo": 92,
    "a-priority-reversed-6p-hash": 372,
    "a-priority-reversed-6p-modulo": 366,
    "a-textorder-3p-hash": 159,
    "a-textorder-3p-modulo": 179,
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
    "d-bundles-4x60": 941,
    "d-flow-bandwidth-4x30": 692,
    "d-flow-msgrate-4x60": 1181,
    "d-range-from-one-bundle": 258,
    "e-key-routing-6p": 70,
    "e-pip79-6p": 424,
    "e-pip79-6p-byname": 428,
    "f-inventory-2": 745,
    "g-autosplit-extensible-flow": 1659,
    "g-autosplit-extensible-range": 2225,
    "g-autosplit-modular-count": 908,
    "g-autosplit-modular-flow": 1004,
    "g-autosplit-modular-range": 932,
    "g-two-brokers": 953,
    "pip392-flag-off": 3932,
    "pip392-flag-on": 3932,
    "v2.11.0-a-failover-6p-hash": 182,
    "v2.11.0-a-failover-6p-modulo": 182,
    "v2.11.0-a-namesakes-4p-hash": 149,
    "v2.11.0-a-priority-4p-modulo": 214,
    "v2.11.0-b-failover-8t-hash": 224,
    "v2.11.0-b-priority-nonpartitioned-hash": 50,
    "v2.11.0-c-keyshared-autosplit": 1074,
    "v2.11.0-c-keyshared-ring": 1074,
    "v2.11.0-c-keyshared-ring-3points": 850,
    "v2.11.0-c-keyshared-sticky-gaps": 783,
    "v2.11.0-c-keyshared-sticky-gaps-all-owned": 173,
    "v2.11.0-c-keyshared-sticky-gaps-any-order": 783,
    "v2.11.0-d-bundles-4x24": 586,
    "v2.11.0-e-pip79-6p": 229,
    "v2.11.0-e-pip79-6p-byname": 233,
    "v3.0.2-a-failover-6p-hash": 182,
    "v3.0.2-a-failover-6p-modulo": 182,
    "v3.0.2-a-namesakes-4p-hash": 149,
    "v3.0.2-a-priority-4p-modulo": 214,
    "v3.0.2-b-failover-8t-hash": 224,
    "v3.0.2-b-priority-nonpartitioned-hash": 50,
    "v3.0.2-c-keyshared-autosplit": 1073,
    "v3.0.2-c-keyshared-ring": 1074,
    "v3.0.2-c-keyshared-ring-3points": 850,
    "v3.0.2-c-keyshared-sticky-gaps": 445,
    "v3.0.2-c-keyshared-sticky-gaps-any-order": 397,
    "v3.0.2-d-bundles-4x24": 576,
    "v3.0.2-e-pip79-6p": 179,
    "v3.0.2-e-pip79-6p-byname": 183,
    "v3.0.7-a-failover-6p-hash": 182,
    "v3.0.7-b-priority-nonpartitioned-hash": 50,
    "v3.0.7-c-keyshared-autosplit": 1074,
    "v3.0.7-c-keyshared-ring": 1072,
    "v3.0.7-c-keyshared-ring-3points": 850,
    "v3.0.7-c-keyshared-sticky-gaps": 445,
    "v3.0.7-c-keyshared-sticky-gaps-any-order": 397,
    "v3.2.3-a-failover-6p-hash": 182,
    "v3.2.3-a-failover-6p-modulo": 182,
    "v3.2.3-a-namesakes-4p-hash": 149,
    "v3.2.3-b-priority-nonpartitioned-hash": 50,
    "v3.2.3-c-keyshared-autosplit": 1074,
    "v3.2.3-c-keyshared-ring": 1074,
    "v3.2.3-c-keyshared-ring-3points": 850,
    "v3.2.3-c-keyshared-sticky-gaps": 445,
    "v3.2.3-c-keyshared-sticky-gaps-any-order": 397,
    "v3.2.3-e-pip79-6p": 179,
    "v3.2.3-e-pip79-6p-byname": 183,
    "v3.3.2-a-failover-6p-hash": 182,
    "v3.3.2-a-failover-6p-modulo": 182,
    "v3.3.2-a-namesakes-4p-hash": 149,
    "v3.3.2-a-priority-4p-modulo": 214,
    "v3.3.2-b-failover-8t-hash": 224,
    "v3.3.2-b-priority-nonpartitioned-hash": 50,
    "v3.3.2-c-keyshared-autosplit": 1073,
    "v3.3.2-c-keyshared-ring": 1073,
    "v3.3.2-c-keyshared-ring-3points": 850,
    "v3.3.2-c-keyshared-sticky-gaps": 445,
    "v3.3.2-c-keyshared-sticky-gaps-any-order": 397,
    "v3.3.2-e-pip79-6p": 179,
    "v3.3.2-e-pip79-6p-byname": 183,
    "v3.3.6-a-failover-6p-hash": 182,
    "v3.3.6-a-failover-6p-modulo": 182,
    "v3.3.6-a-namesakes-4p-hash": 137,
    "v3.3.6-b-priority-nonpartitioned-hash": 50,
    "v3.3.6-c-keyshared-autosplit": 1072,
    "v3.3.6-c-keyshared-ring": 1074,
    "v3.3.6-c-keyshared-ring-3points": 850,
    "v3.3.6-c-keyshared-sticky-gaps": 445,
    "v3.3.6-c-keyshared-sticky-gaps-any-order": 397,
    "v4.0.0-a-failover-6p-hash": 182,
    "v4.0.0-a-failover-6p-modulo": 182,
    "v4.0.0-a-namesakes-4p-hash": 149,
    "v4.0.0-b-priority-nonpartitioned-hash": 50,
    "v4.0.0-c-keyshared-autosplit": 1117,
    "v4.0.0-c-keyshared-ring": 1117,
    "v4.0.0-c-keyshared-ring-3points": 880,
    "v4.0.0-c-keyshared-ring-classic": 1142,
    "v4.0.0-c-keyshared-sticky-gaps": 455,
    "v4.0.0-c-keyshared-sticky-gaps-any-order": 455,
    "v4.0.1-a-failover-6p-hash": 182,
    "v4.0.1-a-failover-6p-modulo": 182,
    "v4.0.1-b-failover-4t-hash": 96,
    "v4.0.1-c-keyshared-ring": 908,
    "v4.0.1-c-keyshared-sticky-gaps": 455,
    "v4.0.7-a-failover-6p-hash": 182,
    "v4.0.7-a-failover-6p-modulo": 182,
    "v4.0.7-a-namesakes-4p-hash": 137,
    "v4.0.7-a-priority-4p-modulo": 214,
    "v4.0.7-b-failover-8t-hash": 224,
    "v4.0.7-b-priority-nonpartitioned-hash": 50,
    "v4.0.7-c-keyshared-autosplit": 1117,
    "v4.0.7-c-keyshared-ring": 1115,
    "v4.0.7-c-keyshared-ring-3points": 878,
    "v4.0.7-c-keyshared-ring-classic": 1142,
    "v4.0.7-c-keyshared-sticky-gaps": 530,
    "v4.0.7-c-keyshared-sticky-gaps-any-order": 530,
    "v4.0.7-d-bundles-4x24": 576,
    "v4.0.7-e-pip79-6p": 179,
    "v4.0.7-e-pip79-6p-byname": 183,
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
    without = {"versions", "versions-generated"}
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
    """Each with its reason, beside those that are compared."""
    report = _report("e-key-routing-6p")
    assert dict(report.not_compared) == {
        "empty keys, which this client takes for no key: its router began at random": 1,
        "where round robin begins: drawn at random": 1,
    }


def test_a_recording_of_nothing_that_is_modelled_is_no_success(tmp_path: Path) -> None:
    folder = copy_of("e-key-routing-6p", tmp_path)
    edit(folder, "scenario.json", lambda scenario: scenario.update(steps=[]))
    (folder / "02-partitioned-stats.json").unlink()
    report = verify_folder(folder)
    assert report.compared == 0
    assert report.exit_code == 2


def test_the_keys_of_the_python_client_are_all_in_their_partitions() -> None:
    """48 keys here and 20 in each of ten recordings of older releases."""
    found = {
        name: tally.compared
        for name in LEAST
        for tally in _report(name).tallies
        if tally.kind is FactKind.KEY_PARTITION and tally.agree == tally.compared
    }
    assert found.pop("e-key-routing-6p") == 48
    assert list(found.values()) == [20] * 10


def test_a_release_that_does_not_know_an_algorithm_refuses_it() -> None:
    report = verify_folder(RECORDINGS / "v2.11.0-d-bundles-4x24")
    refusals = {tally.kind: tally.compared for tally in report.tallies}
    assert refusals[FactKind.REFUSAL_STATUS] == 4
