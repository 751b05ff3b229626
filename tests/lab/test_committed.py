"""The committed recordings as a whole: which facts occur in them, and what is not compared."""

from __future__ import annotations

import pytest

from engine.verify.report import FactKind
from tests.lab.committed import LEAST, WITHOUT_STEPS
from tests.lab.compare import compare_folder
from tests.lab.facts import KINDS, StepFact
from tests.lab.folder import RECORDINGS, recording
from tests.lab.reports import counts, report_of

ONE_OF_EACH_KIND = (
    "a-failover-3p-hash",
    "a-nonpersistent-delivery-hash",
    "b-failover-nonpartitioned-hash",
    "c-keyshared-draining",
    "c-keyshared-sticky",
    "d-bundles-4x60",
    "d-flow-msgrate-4x60",
    "e-java-10p-bypos",
    "f-inventory-2",
    "g-autosplit-extensible-flow",
    "g-autosplit-modular-count",
    "g-shed-extensible-transfer",
    "g-shed-modular-uniform",
    "g-two-brokers",
    "v2.11.0-c-keyshared-sticky-gaps",
    "v4.0.0-a-failover-6p-hash",
)


def test_every_recording_with_facts_is_in_the_table() -> None:
    assert {folder.name for folder in RECORDINGS.iterdir()} - WITHOUT_STEPS == set(LEAST)


@pytest.mark.xdist_group("lab-balance")
def test_all_kinds_of_facts_but_the_doubtful_ones_occur() -> None:
    """No recording has levels or ranges that no scenario names, lists without steps, or rates between two others.

    Recordings of scalable topics have no script of steps: ``verify`` compares them (tests/engine/verify).
    """
    seen = {kind for name in ONE_OF_EACH_KIND for kind in counts(report_of(name))}
    scalable = {kind for kind in FactKind if kind.name.startswith(("SEGMENT", "BUCKET"))}
    assert len(scalable) == 8
    assert set(KINDS) - seen - scalable == {
        FactKind.ACTIVE_INFERRED_LEVELS,
        FactKind.KEY_RANGES_DISJOINT,
        FactKind.KEY_RANGES_COMPLETE,
        FactKind.OWNED_DISJOINT,
        StepFact.SPLIT_FLOW_WITHIN,
        StepFact.AUTO_BOUNDARIES_WITHIN,
    }


def test_the_scene_of_pip_392_has_600_active_consumers() -> None:
    reports = [report_of(f"pip392-flag-{flag}") for flag in ("off", "on")]
    assert [counts(report)[FactKind.ACTIVE_PARTITION] for report in reports] == [300, 300]
    assert [report.rules.consistent_hashing for report in reports] == [False, True]


@pytest.mark.parametrize(
    ("name", "version", "least"), [("a-failover-6p-hash", "4.0.0", 1), ("b-failover-8t-hash", "4.0.7", 30)]
)
def test_rules_of_another_release_fail_clearly(name: str, version: str, least: int) -> None:
    """2.11.0 keeps the first connected; 4.0.0 does not know the flag that 4.0.1 brought."""
    recorded = "v4.0.1" if name.startswith("a") else "v2.11.0"
    report = compare_folder(recording(f"{recorded}-{name}"), version)
    assert report.rules.release_source == "asked for"
    assert len(report.differences) >= least


def test_facts_that_are_not_modelled_are_counted_with_their_reason() -> None:
    assert report_of("e-key-routing-6p").not_compared == {
        "empty keys, which this client takes for no key: its router began at random": 1,
        "where a router begins: drawn at random, and inferred": 1,
    }


@pytest.mark.parametrize("name", [name for name in LEAST if "c-keyshared" in name])
def test_every_key_shared_recording_is_compared_to_its_last_member(name: str) -> None:
    """All that a step says of Key_Shared counts, and every file of statistics is compared."""
    assert set(report_of(name).not_compared) <= {
        "internal statistics",
        "backlogs while messages are on their way",
        "messages that may go and had not arrived yet: before 4.0 a key without owner slows the others down",
        "totals of cleared hashes: messages on their way while consumers come and go",
    }


@pytest.mark.parametrize("name", [name for name in LEAST if "-e-pip79" in name or name == "e-key-routing-6p"])
def test_the_keys_of_the_python_client_are_all_in_their_partitions(name: str) -> None:
    """48 keys, and 20 in each of ten recordings of older releases."""
    tallies = {tally.kind: tally for tally in report_of(name).tallies}
    keys = tallies[StepFact.KEY_PARTITION]
    assert (keys.agree, keys.compared) == ((48, 48) if name == "e-key-routing-6p" else (20, 20))


def test_a_release_that_does_not_know_an_algorithm_refuses_it() -> None:
    assert counts(report_of("v2.11.0-d-bundles-4x24"))[StepFact.REFUSAL_STATUS] == 4
