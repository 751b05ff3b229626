"""Folders of plain answers: packed, mixed, damaged, with and without names, of one moment or several."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import InputError
from engine.verify.report import FactKind, VerifyReport
from engine.verify.statistics import HALF_A_REPORT
from tests.engine.verify.copies import RECORDINGS, edit, saved
from tests.engine.verify.folders import verify_folder


def _counts(report: VerifyReport) -> dict[object, int]:
    return {tally.kind: tally.compared for tally in report.tallies}


@pytest.mark.parametrize(
    ("name", "flag", "least"),
    [
        ("a-failover-8p-hash", True, 171),
        ("a-failover-8p-modulo", False, 171),
        ("a-namesakes-4p-hash", True, 60),
        ("a-textorder-3p-modulo", False, 63),
    ],
)
def test_the_flag_that_fits_is_found(tmp_path: Path, name: str, flag: bool, least: int) -> None:
    report = verify_folder(saved(name, tmp_path))
    assert (report.exit_code, report.rules.flag_source, report.rules.consistent_hashing) == (0, "tried", flag)
    assert report.compared >= least
    assert report.rules.fits[0].differences == 0
    assert max(fit.differences for fit in report.rules.fits) > 0


def test_the_run_time_configuration_names_the_flag_and_the_load_report_the_release(tmp_path: Path) -> None:
    report = verify_folder(saved("pip392-flag-on", tmp_path))
    sources = report.rules.flag_source, report.rules.consistent_hashing, report.rules.release_source
    assert sources == ("run-time configuration", True, "load report")
    assert report.exit_code == 0
    assert report.compared >= 1221


def test_a_folder_of_bundles_is_compared(tmp_path: Path) -> None:
    report = verify_folder(saved("d-bundles-4x60", tmp_path))
    assert report.exit_code == 0
    assert report.compared >= 686


def test_a_scenario_beside_the_answers_names_topics_settings_and_release() -> None:
    report = verify_folder(RECORDINGS / "v2.11.0-b-failover-8t-hash")
    assert (report.rules.release, report.rules.release_source, report.rules.flag_source) == (
        "2.11.0",
        "scenario.json",
        "scenario.json",
    )
    assert FactKind.ACTIVE_NONPARTITIONED in _counts(report)
    assert report.exit_code == 0


def test_rules_that_fit_equally_well_are_reported(tmp_path: Path) -> None:
    report = verify_folder(saved("a-nonpersistent-3p-hash", tmp_path))
    assert report.rules.undecided
    assert {fit.consistent_hashing for fit in report.rules.fits if fit.differences == 0} == {True, False}


def test_inferred_priority_levels_are_counted_separately(tmp_path: Path) -> None:
    report = verify_folder(saved("a-priority-reversed-6p-modulo", tmp_path))
    assert report.exit_code == 0
    assert _counts(report)[FactKind.ACTIVE_INFERRED_LEVELS] == 42


def test_a_spoilt_active_consumer_is_found(tmp_path: Path) -> None:
    folder = saved("pip392-flag-on", tmp_path, "02-partitioned-stats.json", "02-runtime-configuration.json")

    def change(document: Any) -> None:
        parent = document["persistent://public/default/topic-7"]
        sub = next(iter(parent["partitions"].values()))["subscriptions"]["billing"]
        sub["activeConsumerName"] = "billing-0" if sub["activeConsumerName"] != "billing-0" else "billing-1"

    edit(folder, "02-partitioned-stats.json", change)
    differences = [
        difference for difference in verify_folder(folder).differences if difference.kind is FactKind.ACTIVE_PARTITION
    ]
    assert [difference.subject for difference in differences] == [
        "persistent://public/default/topic-7-partition-0 / billing"
    ]
    assert [(difference.moment, difference.file) for difference in differences] == [("02", "02-partitioned-stats.json")]


def test_a_release_that_was_asked_for_is_the_only_one_tried(tmp_path: Path) -> None:
    report = verify_folder(saved("v2.11.0-a-failover-6p-hash", tmp_path), "2.11.0")
    assert (report.exit_code, report.rules.release_source, report.rules.release) == (0, "asked for", "2.11.0")
    assert report.rules.fits == ()


def test_statistics_of_unnamed_topics_are_compared_as_far_as_their_order(tmp_path: Path) -> None:
    report = verify_folder(saved("b-failover-nonpartitioned-hash", tmp_path))
    assert report.exit_code == 0
    assert report.not_compared["active consumers of topics whose full name was not recorded"] == 36


def test_statistics_with_a_drop_rate_are_those_of_a_non_persistent_topic(tmp_path: Path) -> None:
    """They name no active consumer, and that is right; nothing else shows the domain of a file without a name."""
    stats: dict[str, Any] = {"msgRateIn": 0.0, "msgDropRate": 0.0, "publishers": []}
    stats["subscriptions"] = {"sub": {"type": "Failover", "consumers": [{"consumerName": "c-a"}]}}
    (tmp_path / "01-stats.json").write_text(json.dumps(stats))
    report = verify_folder(tmp_path)
    assert report.exit_code == 0
    assert FactKind.NO_ACTIVE_NAME in _counts(report)


def test_a_file_name_can_name_the_topic(tmp_path: Path) -> None:
    source = gzip.decompress((RECORDINGS / "b-failover-nonpartitioned-hash/03-stats-t-4.json.gz").read_bytes())
    (tmp_path / "persistent%3A%2F%2Fring%2Fbbfailovernonpartitionedhash%2Ft-4.json").write_bytes(source)
    report = verify_folder(tmp_path)
    assert report.exit_code == 0
    assert FactKind.ACTIVE_NONPARTITIONED in _counts(report)


def test_one_file_can_be_verified_by_itself() -> None:
    report = verify_folder(RECORDINGS / "a-failover-8p-hash/07-partitioned-stats.json.gz")
    assert report.exit_code == 0
    assert report.rules.consistent_hashing


def test_answers_in_one_object_are_separated(tmp_path: Path) -> None:
    folder = saved("a-failover-3p-hash", tmp_path / "source")
    names = ("06-partitioned-stats.json", "07-partitioned-stats.json")
    (tmp_path / "all.json").write_text(json.dumps({name: json.loads((folder / name).read_text()) for name in names}))
    report = verify_folder(tmp_path)
    assert (report.exit_code, report.compared) == (0, 30)


@pytest.mark.parametrize("first", ["03-", "2026-11-22T09-48-07Z-", ""])
def test_answers_of_one_moment_are_compared_with_each_other(tmp_path: Path, first: str) -> None:
    """The policies carry the bundle list of their moment."""
    halves = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}
    quarters = {"boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xffffffff"], "numBundles": 3}
    (tmp_path / f"{first}bundles.json").write_text(json.dumps(halves))
    policies = {"bundles": quarters, "replication_clusters": [], "auth_policies": {}}
    (tmp_path / f"{first}policies.json").write_text(json.dumps(policies))
    report = verify_folder(tmp_path)
    assert [(difference.kind, difference.moment) for difference in report.differences] == [
        (FactKind.POLICIES, first.removesuffix("-") or "the folder")
    ]


def test_answers_of_several_moments_are_not_compared_with_each_other(tmp_path: Path) -> None:
    full = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
    halves = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}
    policies = {"bundles": halves, "replication_clusters": [], "auth_policies": {}}
    (tmp_path / "2026-11-22T09-48-07Z-bundles.json").write_text(json.dumps(full))
    (tmp_path / "2026-11-22T09-49-07Z-policies.json").write_text(json.dumps(policies))
    assert verify_folder(tmp_path).differences == ()


@pytest.mark.parametrize(
    ("bundle", "outcome"),
    [("0xa0000000_0xc0000000", "agrees"), ("0x80000000_0xc0000000", "older"), ("0xa0000000_0xbffffffe", "differs")],
)
def test_a_bundle_with_topics_is_listed_or_was_split_meanwhile(tmp_path: Path, bundle: str, outcome: str) -> None:
    """Statistics are updated once an interval, so they may name a parent of bundles that are listed now."""
    boundaries = ["0x00000000", "0x80000000", "0xa0000000", "0xc0000000", "0xffffffff"]
    (tmp_path / "01-bundles.json").write_text(json.dumps({"boundaries": boundaries}))
    topic = "persistent://t/n/x3"  # its CRC-32 is 0xb36f5eb1
    stats = {"t/n": {bundle: {"persistent": {topic: {"msgRateIn": 1.0}}}}}
    (tmp_path / "01-broker-stats-topics.json").write_text(json.dumps(stats))
    report = verify_folder(tmp_path)
    assert [difference.kind for difference in report.differences] == [FactKind.BUNDLE_IN_LIST] * (outcome == "differs")
    assert (_counts(report).get(FactKind.BUNDLE_IN_LIST, 0) == 0) == (outcome == "older")


def test_an_owned_parent_beside_its_child_is_found(tmp_path: Path) -> None:
    names = ["t/n/0x00000000_0x80000000", "t/n/0x80000000_0xffffffff", "t/m/0x00000000_0xffffffff"]
    (tmp_path / "owned.json").write_text(json.dumps({name: {"is_active": True} for name in names}))
    report = verify_folder(tmp_path)
    assert (report.exit_code, _counts(report)) == (0, {FactKind.OWNED_DISJOINT: 2})
    names.append("t/n/0x00000000_0xffffffff")
    (tmp_path / "owned.json").write_text(json.dumps({name: {"is_active": True} for name in names}))
    assert [(difference.kind, difference.subject) for difference in verify_folder(tmp_path).differences] == [
        (FactKind.OWNED_DISJOINT, "t/n")
    ]


def test_a_number_or_a_word_is_an_answer_of_another_kind_and_not_damaged(tmp_path: Path) -> None:
    for number, text in enumerate((b"50000", b"true", b'"text"', b"0x40000000_0x80000000\n")):
        (tmp_path / f"{number}.json").write_bytes(text)
    report = verify_folder(tmp_path)
    assert (report.problems, report.not_compared) == ((), {"answers of other kinds": 4})


def test_a_damaged_file_is_a_problem_and_the_rest_is_compared(tmp_path: Path) -> None:
    folder = saved("a-failover-3p-hash", tmp_path)
    path = folder / "05-partitioned-stats.json"
    path.write_bytes(path.read_bytes()[:-3])
    report = verify_folder(folder)
    assert any(problem.source == path.name for problem in report.problems)
    assert (report.exit_code, report.compared > 60) == (0, True)


def test_nothing_to_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        verify_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no \.json"):
        verify_folder(tmp_path)
    (tmp_path / "deeper").mkdir()
    with pytest.raises(InputError, match="deeper"):
        verify_folder(tmp_path)


def test_a_version_that_is_none_is_an_input_error() -> None:
    with pytest.raises(InputError, match="Pulsar version"):
        verify_folder(RECORDINGS / "a-failover-3p-hash", "newest")


def test_a_folder_of_metrics_only_has_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"a": 1}')
    assert verify_folder(tmp_path).exit_code == 2


def test_recordings_agree_as_plain_answers_too() -> None:
    """What the steps of a recording say is compared by the lab; the answers alone must agree with the model as well."""
    names = [folder.name for folder in sorted(RECORDINGS.iterdir()) if not folder.name.startswith("v")]
    for name in names:
        if not name.endswith(("-modulo", "-flag-off")):
            report = verify_folder(RECORDINGS / name)
            assert (name, report.differences, report.problems) == (name, (), ())


def test_a_report_of_the_instant_in_which_bundles_are_counted_anew_is_not_compared(tmp_path: Path) -> None:
    folder = saved("g-autosplit-modular-range", tmp_path, "03-load-report-a.json")

    def change(report: Any) -> None:
        assert len(report["bundles"]) == len(report["lastStats"]) > 1
        report["lastStats"].popitem()

    edit(folder, "03-load-report-a.json", change)
    report = verify_folder(folder)
    assert report.differences == ()
    assert report.not_compared[HALF_A_REPORT] == 1
