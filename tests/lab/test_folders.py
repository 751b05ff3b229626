"""Folders of all kinds: without a scenario, packed, mixed, damaged, empty."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import InputError
from tests.lab import FactKind, verify_folder
from tests.lab.copies import RECORDINGS, copy_of, edit


def _without_scenario(name: str, tmp_path: Path) -> Path:
    folder = copy_of(name, tmp_path)
    (folder / "scenario.json").unlink()
    return folder


@pytest.mark.parametrize(
    ("name", "flag", "least"),
    [
        ("a-failover-8p-hash", True, 171),
        ("a-failover-8p-modulo", False, 171),
        ("a-namesakes-4p-hash", True, 60),
        ("a-textorder-3p-modulo", False, 63),
    ],
)
def test_without_a_scenario_the_flag_that_fits_is_found(tmp_path: Path, name: str, flag: bool, least: int) -> None:
    report = verify_folder(_without_scenario(name, tmp_path))
    assert (report.exit_code, report.flag_source, report.consistent_hashing) == (0, "tried", flag)
    assert report.compared >= least
    assert report.fits[0].differences == 0
    assert max(fit.differences for fit in report.fits) > 0


def test_without_a_scenario_the_run_time_configuration_tells_the_flag(tmp_path: Path) -> None:
    report = verify_folder(_without_scenario("pip392-flag-on", tmp_path))
    assert (report.flag_source, report.consistent_hashing, report.version_source) == (
        "run-time configuration",
        True,
        "load report",
    )
    assert report.exit_code == 0
    assert report.compared >= 1221


def test_without_a_scenario_a_folder_of_bundles_is_compared(tmp_path: Path) -> None:
    report = verify_folder(_without_scenario("d-bundles-4x60", tmp_path))
    assert report.exit_code == 0
    assert report.compared >= 686


def test_what_fits_equally_well_is_said_to(tmp_path: Path) -> None:
    report = verify_folder(_without_scenario("a-nonpersistent-3p-hash", tmp_path))
    assert report.undecided
    assert {fit.consistent_hashing for fit in report.fits if fit.differences == 0} == {True, False}


def test_priority_levels_are_inferred_where_no_scenario_tells_them_and_counted_as_such(tmp_path: Path) -> None:
    report = verify_folder(_without_scenario("a-priority-reversed-6p-modulo", tmp_path))
    counted = {tally.kind: tally.compared for tally in report.tallies}
    assert report.exit_code == 0
    assert counted[FactKind.ACTIVE_INFERRED_LEVELS] == 42


def test_a_spoilt_active_consumer_is_found_without_a_scenario(tmp_path: Path) -> None:
    folder = _without_scenario("pip392-flag-on", tmp_path)

    def change(document: Any) -> None:
        parent = document["persistent://public/default/topic-7"]
        sub = next(iter(parent["partitions"].values()))["subscriptions"]["billing"]
        sub["activeConsumerName"] = "billing-0" if sub["activeConsumerName"] != "billing-0" else "billing-1"

    edit(folder, "02-partitioned-stats.json", change)
    report = verify_folder(folder)
    found = [each for each in report.differences if each.kind is FactKind.ACTIVE_PARTITION]
    assert [each.subject for each in found] == ["persistent://public/default/topic-7-partition-0 / billing"]


def test_a_release_that_was_asked_for_is_the_only_one_tried(tmp_path: Path) -> None:
    folder = _without_scenario("v2.11.0-a-failover-6p-hash", tmp_path)
    report = verify_folder(folder, "2.11.0")
    assert (report.exit_code, report.version_source, report.pulsar_version) == (0, "asked for", "2.11.0")
    assert report.fits == ()


def test_statistics_of_topics_that_nothing_names_are_compared_as_far_as_their_order(tmp_path: Path) -> None:
    report = verify_folder(_without_scenario("b-failover-nonpartitioned-hash", tmp_path))
    assert report.exit_code == 0
    assert dict(report.not_compared)["active consumers of topics whose full name was not recorded"] == 36


def test_statistics_with_a_drop_rate_are_those_of_a_non_persistent_topic(tmp_path: Path) -> None:
    """They name no active consumer, and that is right; nothing else tells the domain of a file without a name."""
    consumers = [{"consumerName": "c-a"}]
    stats: dict[str, Any] = {"msgRateIn": 0.0, "msgDropRate": 0.0, "publishers": []}
    stats["subscriptions"] = {"sub": {"type": "Failover", "consumers": consumers}}
    (tmp_path / "01-stats.json").write_text(json.dumps(stats))
    report = verify_folder(tmp_path)
    assert report.exit_code == 0
    assert FactKind.NO_ACTIVE_NAME in {tally.kind for tally in report.tallies}


def test_file_names_can_tell_the_topic(tmp_path: Path) -> None:
    source = json.loads(
        gzip.decompress((RECORDINGS / "b-failover-nonpartitioned-hash/03-stats-t-4.json.gz").read_bytes())
    )
    named = "persistent%3A%2F%2Fring%2Fbbfailovernonpartitionedhash%2Ft-4.json"
    scenario = json.loads(
        gzip.decompress((RECORDINGS / "b-failover-nonpartitioned-hash/scenario.json.gz").read_bytes())
    )
    topic = next(name for name in scenario["topics"] if name.endswith("/t-4"))
    assert topic == "persistent://ring/bbfailovernonpartitionedhash/t-4"
    (tmp_path / named).write_text(json.dumps(source))
    report = verify_folder(tmp_path)
    assert report.exit_code == 0
    assert FactKind.ACTIVE_NONPARTITIONED in {tally.kind for tally in report.tallies}


def test_one_file_can_be_verified_by_itself() -> None:
    report = verify_folder(RECORDINGS / "a-failover-8p-hash/07-partitioned-stats.json.gz")
    assert report.exit_code == 0
    assert report.consistent_hashing


def test_many_answers_in_one_object_are_told_apart(tmp_path: Path) -> None:
    folder = copy_of("a-failover-3p-hash", tmp_path / "source")
    many = {
        name: json.loads((folder / name).read_text())
        for name in ("06-partitioned-stats.json", "07-partitioned-stats.json")
    }
    (tmp_path / "all.json").write_text(json.dumps(many))
    report = verify_folder(tmp_path)
    assert (report.exit_code, report.compared) == (0, 30)


def test_a_second_subscription_on_the_topic_is_held_to_its_own_consumers(tmp_path: Path) -> None:
    """The steps tell about one subscription; another one, of other types too, has its own list."""
    folder = copy_of("a-failover-3p-modulo", tmp_path)

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

    edit(folder, "07-partitioned-stats.json", change)
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert report.compared == 131 + 3 * 3 + 2 * 2
    assert dict(report.not_compared)["Key_Shared subscriptions whose consumers' coming and going no steps tell"] == 3


def test_flow_splits_within_the_rates_are_a_kind_of_their_own(tmp_path: Path) -> None:
    """Move the rates of one recorded split around the limit, before and after: only rates in between explain it."""
    folder = copy_of("d-flow-msgrate-4x60", tmp_path)

    def scaled(factor: float) -> Any:
        def change(document: Any) -> None:
            for bundles in document.values():
                for domains in bundles.values():
                    for topics in domains.values():
                        for topic in topics.values():
                            topic["msgRateIn"] = round(topic["msgRateIn"] * factor, 3)

        return change

    edit(folder, "03-broker-stats-topics.json", scaled(0.5))
    edit(folder, "03-broker-stats-topics-after.json", scaled(3.0))
    report = verify_folder(folder)
    assert FactKind.SPLIT_FLOW_WITHIN in {tally.kind for tally in report.tallies}
    assert report.exit_code == 0


def test_splits_that_only_the_list_of_splits_tells_are_planned_from_their_files(tmp_path: Path) -> None:
    folder = copy_of("d-bundles-4x60", tmp_path)

    def change(scenario: Any) -> None:
        scenario["steps"] = []

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    counted = {tally.kind: tally.compared for tally in report.tallies}
    assert report.exit_code == 0
    assert (counted[FactKind.SPLIT_RANGE], counted[FactKind.SPLIT_TOPIC_COUNT], counted[FactKind.SPLIT_STATUS]) == (
        2,
        3,
        7,
    )


def test_a_missing_file_is_a_problem_and_the_rest_is_compared(tmp_path: Path) -> None:
    folder = copy_of("a-failover-3p-hash", tmp_path)
    (folder / "05-partitioned-stats.json").unlink()
    report = verify_folder(folder)
    assert [problem.path for problem in report.problems] == ["05-partitioned-stats.json"]
    assert (report.exit_code, report.compared) == (0, 113)


def test_a_damaged_file_is_a_problem_and_the_rest_is_compared(tmp_path: Path) -> None:
    folder = copy_of("a-failover-3p-hash", tmp_path)
    path = folder / "05-partitioned-stats.json"
    path.write_bytes(path.read_bytes()[:-3])
    report = verify_folder(folder)
    assert any(problem.source == path.name for problem in report.problems)
    assert report.exit_code == 0


def test_a_scenario_with_odd_values_does_not_crash(tmp_path: Path) -> None:
    folder = copy_of("a-failover-3p-hash", tmp_path)

    def change(scenario: Any) -> None:
        scenario["steps"].insert(0, "nonsense")
        scenario["steps"].append({"do": 7, "connected": None, "answers": None, "notices": [], "delivered": 3})
        scenario["consumers_in_join_order"].append(None)
        scenario["partitions"] = "many"
        scenario["pulsar_version"] = "the newest"

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert report.version_source == "tried"
    assert report.compared > 60


def test_nothing_to_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        verify_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no \.json"):
        verify_folder(tmp_path)
    (tmp_path / "deeper").mkdir()
    with pytest.raises(InputError, match="deeper"):
        verify_folder(tmp_path)


def test_a_version_that_is_none_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no Pulsar version"):
        verify_folder(RECORDINGS / "a-failover-3p-hash", "newest")


def test_a_folder_of_metrics_only_has_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"a": 1}')
    assert verify_folder(tmp_path).exit_code == 2


def test_an_absurd_number_of_partitions_is_a_problem(tmp_path: Path) -> None:
    folder = copy_of("a-priority-001-8p-hash", tmp_path)

    def change(scenario: Any) -> None:
        scenario["partitions"] = 10**30

    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert [problem.path for problem in report.problems] == ["$.partitions"]
    assert report.compared >= 160
