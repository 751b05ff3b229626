"""Scenarios with odd values, missing or damaged files, and settings: each costs only itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from engine.balance.settings import BalanceSettings
from engine.config import BrokerSettings
from engine.errors import InputError
from engine.verify.report import defaults_of
from tests.lab.compare import compare_folder
from tests.lab.folder import Folder, find_folders, label_of, read_folder, recording
from tests.lab.scenario import read_recording

LOOK_AHEAD = "keySharedLookAheadMsgInReplayThresholdPerConsumer"


def _with_settings(named: dict[str, Any], version: str | None = None) -> Folder:
    scenario = {"broker_settings": named, "pulsar_version": version, "steps": []}
    return Folder("made", {"scenario.json": json.dumps(scenario).encode()})


def test_folders_are_found_at_every_depth_and_named_by_their_path(tmp_path: Path) -> None:
    for place in ("b-10", "b-9", "deeper/a"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "scenario.json").write_text("{}")
    (tmp_path / "deeper/packed").mkdir()
    (tmp_path / "deeper/packed/scenario.json.gz").write_bytes(gzip.compress(b"{}"))
    (tmp_path / "without").mkdir()
    folders = find_folders(tmp_path)
    assert [label_of(path, tmp_path) for path in folders] == ["b-9", "b-10", "deeper/a", "deeper/packed"]
    assert [label_of(path, folders[0]) for path in find_folders(folders[0])] == ["b-9"]


def test_an_unpacked_folder_is_read_as_the_packed_one(tmp_path: Path) -> None:
    packed = recording("g-two-brokers")
    for name, data in packed.files.items():
        (tmp_path / name).write_bytes(data)
    assert read_folder(tmp_path).files == packed.files


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "\x00", '{"steps": [', '{"steps": []}{}'])
def test_a_scenario_that_cannot_be_read_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match=r"scenario\.json"):
        compare_folder(Folder("made", {"scenario.json": text.encode()}))
    with pytest.raises(InputError, match=r"scenario\.json"):
        compare_folder(Folder("made"))


def test_a_scenario_of_nothing_that_is_modelled_compares_nothing() -> None:
    folder = recording("e-key-routing-6p").without("02-partitioned-stats.json")
    report = compare_folder(folder.with_scenario(lambda scenario: scenario.update(steps=[])))
    assert (report.compared, report.agrees) == (0, False)


def test_a_missing_file_is_a_problem_and_the_rest_is_compared() -> None:
    report = compare_folder(recording("a-failover-3p-hash").without("05-partitioned-stats.json"))
    assert [problem.path for problem in report.problems] == ["05-partitioned-stats.json"]
    assert (report.agrees, report.compared) == (True, 113)


@pytest.mark.parametrize("damage", ["cut short", "text", "binary", "of another kind", "empty"])
def test_a_damaged_file_is_a_problem_and_the_rest_is_compared(damage: str) -> None:
    folder = recording("a-failover-3p-hash")
    name = "05-partitioned-stats.json"
    data = {
        "cut short": folder.files[name][:-3],
        "text": b"not found",
        "binary": b"\x80\x00\xff" * 20,
        "of another kind": b'{"partitions": 7, "metadata": []}',
        "empty": b"",
    }[damage]
    report = compare_folder(folder.with_file(name, data))
    assert report.agrees
    assert {problem.source for problem in report.problems} == {name}


def test_an_unreadable_file_is_a_problem_and_the_rest_is_compared(tmp_path: Path) -> None:
    for name, data in recording("a-failover-3p-hash").files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "05-partitioned-stats.json").unlink()
    (tmp_path / "05-partitioned-stats.json.gz").write_bytes(b"\x1f\x8b\x08 no gzip after all")
    report = compare_folder(read_folder(tmp_path))
    assert report.problems
    assert report.agrees


def test_odd_values_do_not_stop_the_comparison() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"].insert(0, "nonsense")
        scenario["steps"].append({"do": 7, "connected": None, "answers": None, "notices": [], "delivered": 3})
        scenario["consumers_in_join_order"].append(None)
        scenario["partitions"] = "many"
        scenario["pulsar_version"] = "the newest"

    report = compare_folder(recording("a-failover-3p-hash").with_scenario(change))
    assert report.rules.release_source == "tried"
    assert report.compared > 60


@pytest.mark.parametrize("member", ["names", "consumers_in_join_order", "steps", "splits", "changes", "topic", "type"])
@pytest.mark.parametrize("junk", [7, "x", {}, [None], True])
def test_odd_members_do_not_stop_the_comparison(member: str, junk: object) -> None:
    folder = recording("a-nonpersistent-delivery-modulo")
    compare_folder(folder.with_scenario(lambda scenario: scenario.__setitem__(member, junk)))


_JUNK: tuple[object, ...] = (None, True, -1, 1e300, "x", [], [[]], {}, {"a": {}}, [{"a": [None]}])


@pytest.mark.parametrize("name", ["c-keyshared-sticky", "d-bundles-4x60", "e-pip79-6p", "v2.11.0-a-failover-6p-hash"])
def test_no_member_of_a_scenario_can_break_the_comparison(name: str) -> None:
    """Each member of the scenario, and each member of its steps, once with a wrong value."""
    folder = recording(name)
    scenario = json.loads(folder.files["scenario.json"])
    places: list[tuple[Any, str]] = [(scenario, member) for member in scenario]
    seen: set[str] = set()
    for step in scenario["steps"]:
        places += [(step, member) for member in step if member not in seen]
        seen |= step.keys()
    for number, (owner, member) in enumerate(places):
        kept = owner[member]
        owner[member] = _JUNK[number % len(_JUNK)]
        compare_folder(folder.with_file("scenario.json", json.dumps(scenario)))
        owner[member] = kept


def test_an_absurd_number_of_partitions_is_a_problem() -> None:
    folder = recording("a-priority-001-8p-hash")
    report = compare_folder(folder.with_scenario(lambda scenario: scenario.update(partitions=10**30)))
    assert [problem.path for problem in report.problems] == ["$.partitions"]
    assert report.compared >= 160


def test_answers_about_impossible_names_are_set_aside_with_their_place() -> None:
    """A broker that refused the name did what it should."""
    request = "GET /admin/v2/persistent/evil/ns%3B%24/x/stats"
    answers = [{"request": request, "status": status, "file": "stats.json"} for status in (200, 412)]
    scenario = {"broker_settings": {}, "steps": [{"step": 1, "answers": answers}]}
    files = {"scenario.json": json.dumps(scenario).encode(), "stats.json": b'{"msgRateIn": 0.0, "publishers": []}'}
    report = compare_folder(Folder("made", files))
    assert [problem.path for problem in report.problems] == ["$.steps[0].answers[0].request"]


@pytest.mark.parametrize(("version", "look_ahead"), [("5.0.0", 4000), ("4.0.1", 2000), (None, 4000), ("unknown", 4000)])
def test_the_defaults_are_those_of_the_recorded_release(version: str | None, look_ahead: int) -> None:
    assert getattr(defaults_of(version), LOOK_AHEAD) == look_ahead
    settings = read_recording(_with_settings({"activeConsumerFailoverConsistentHashing": "true"}, version)).settings
    assert getattr(settings, LOOK_AHEAD) == look_ahead
    assert settings.activeConsumerFailoverConsistentHashing is True


def test_a_setting_has_one_place() -> None:
    names = [{field.name for field in fields(kind)} for kind in (BrokerSettings, BalanceSettings)]
    assert not names[0] & names[1]


def test_a_setting_that_no_broker_accepts_is_a_problem_and_its_default_counts() -> None:
    named = {"loadBalancerNamespaceMaximumBundles": "many", "activeConsumerFailoverConsistentHashing": "true"}
    read = read_recording(_with_settings(named))
    assert [problem.path for problem in read.problems] == ["$.broker_settings.loadBalancerNamespaceMaximumBundles"]
    assert read.settings.loadBalancerNamespaceMaximumBundles == 128
    assert read.settings.activeConsumerFailoverConsistentHashing is True
