"""Every kind of fact about a cluster that splits by itself: what is tampered with is found, with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Difference, FactKind, verify_folder
from tests.lab.copies import copy_of, edit

Change = Callable[[Any], None]
RANGE, COUNT, FLOW = (f"g-autosplit-modular-{name}" for name in ("range", "count", "flow"))
EXT_RANGE, EXT_FLOW, TWO = "g-autosplit-extensible-range", "g-autosplit-extensible-flow", "g-two-brokers"


def _found(folder: Path) -> tuple[Difference, ...]:
    report = verify_folder(folder)
    assert report.exit_code == 1
    assert report.agree == report.compared - len(report.differences)
    return report.differences


def _kinds(found: tuple[Difference, ...]) -> set[FactKind]:
    return {each.kind for each in found}


def _in_scenario(tmp_path: Path, name: str, change: Change) -> tuple[Difference, ...]:
    folder = copy_of(name, tmp_path)
    edit(folder, "scenario.json", change)
    return _found(folder)


def _in_file(tmp_path: Path, name: str, file: str, change: Change) -> tuple[Difference, ...]:
    folder = copy_of(name, tmp_path)
    edit(folder, file, change)
    return _found(folder)


def _in_log(tmp_path: Path, name: str, letter: str, pattern: str, instead: str) -> tuple[Difference, ...]:
    """The first line that matches is changed."""
    folder = copy_of(name, tmp_path)
    path = folder / f"log-{letter}.txt"
    text, count = re.subn(pattern, instead, path.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    path.write_text(text)
    return _found(folder)


def _in_series(tmp_path: Path, name: str, path: str, number: int, change: Change) -> tuple[Difference, ...]:
    """The body of the nth line about a path is changed."""
    folder = copy_of(name, tmp_path)
    file = folder / "series.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    chosen = [line for line in lines if line["path"].startswith(path) and line["from"] == "metadata" and line["body"]]
    body = json.loads(chosen[number]["body"])
    change(body)
    chosen[number]["body"] = json.dumps(body)
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return _found(folder)


def _first_bundle(report: Any) -> Any:
    return next(iter(report["lastStats"].values()))


@pytest.mark.parametrize("member", ["numTopics", "numBundles", "numProducers", "numConsumers", "msgRateIn"])
def test_another_total_of_a_load_report_is_found(tmp_path: Path, member: str) -> None:
    def change(report: Any) -> None:
        report[member] += 1

    (found,) = _in_series(tmp_path, RANGE, "/loadbalance/brokers/", 7, change)
    assert found.kind is FactKind.REPORT_TOTALS
    assert found.recorded.startswith(member)


def test_another_order_of_the_bundles_in_a_report_is_found(tmp_path: Path) -> None:
    """Under the cap the order decides who wins."""

    def change(report: Any) -> None:
        report["lastStats"] = dict(reversed(report["lastStats"].items()))

    found = _in_series(tmp_path, RANGE, "/loadbalance/brokers/", 9, change)
    assert _kinds(found) == {FactKind.REPORT_ORDER}


def test_a_total_in_an_answer_of_a_broker_is_found_too(tmp_path: Path) -> None:
    def change(report: Any) -> None:
        report["numTopics"] += 1

    (found,) = _in_file(tmp_path, RANGE, "03-load-report-a.json", change)
    assert (found.kind, found.file) == (FactKind.REPORT_TOTALS, "03-load-report-a.json")


@pytest.mark.parametrize("term", ["shortTermData", "longTermData"])
@pytest.mark.parametrize("member", ["numSamples", "msgRateIn", "msgThroughputIn", "msgRateOut"])
def test_another_stored_average_is_found(tmp_path: Path, term: str, member: str) -> None:
    """No order of the reports explains it."""

    def change(stored: Any) -> None:
        stored[term][member] += 1

    (found,) = _in_series(tmp_path, RANGE, "/loadbalance/bundle-data/", 30, change)
    assert found.kind is FactKind.STORED_AVERAGE


def test_a_stored_average_is_found_where_others_need_another_order(tmp_path: Path) -> None:
    def change(stored: Any) -> None:
        stored["longTermData"]["msgRateIn"] += 0.01

    (found,) = _in_series(tmp_path, COUNT, "/loadbalance/bundle-data/", 30, change)
    assert found.kind is FactKind.STORED_AVERAGE


def test_the_count_recording_needs_another_order_of_reports_for_forty_averages() -> None:
    """20 at once, and 40 with four changes to the order of what happened within a second."""
    recording = Path(__file__).parents[1] / "recordings" / COUNT
    report = verify_folder(recording)
    counts = {tally.kind: (tally.compared, tally.agree) for tally in report.tallies}
    assert counts[FactKind.STORED_AVERAGE] == (20, 20)
    assert counts[FactKind.STORED_AVERAGE_OTHER_ORDER] == (40, 40)
    changes = [count for what, count in report.not_compared if what.startswith("changes to the order")]
    assert changes == [4]


def test_other_numbers_in_a_report_change_what_follows(tmp_path: Path) -> None:
    def change(report: Any) -> None:
        bundle = _first_bundle(report)
        for member, add in (("topics", 20), ("msgRateIn", 500.0)):
            bundle[member] += add
        report["numTopics"] += 20
        report["msgRateIn"] += 500.0

    found = _in_series(tmp_path, RANGE, "/loadbalance/brokers/", 11, change)
    assert {FactKind.SPLIT_CHOICE, FactKind.STORED_AVERAGE} & _kinds(found)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"^.*Load-manager splitting bundle ring/sessions/.*\n", ""),
        (r"Load-manager splitting bundle ring/sessions/\S+", "Load-manager splitting bundle ring/rate/0x00000000_0x8"),
        (r"^.*Bundle ring/topics/\S+ has been removed, skip.*\n", ""),
        (
            r"Load-manager splitting bundle ring/lone/(\S+) and unloading true",
            r"Bundle ring/lone/\1 has been removed, skip split this bundle",
        ),
    ],
)
def test_another_decision_of_the_leader_is_found(tmp_path: Path, pattern: str, instead: str) -> None:
    found = _in_log(tmp_path, RANGE, "b", pattern, instead)
    assert _kinds(found) == {FactKind.SPLIT_CHOICE}
    assert all(each.file == "the leader's log" for each in found)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"(is considered to be unload\. Topics: )\d+", r"\g<1>7"),
        (r"(is considered to be unload\. .* Sessions: \()\d+", r"\g<1>7"),
        (r"(bundle ring/rate/.* is considered to be unload\. .* Message Rate: )[\d.]+", r"\g<1>61.5"),
        (r"(bundle ring/rate/.* is considered to be unload\. .* Message Throughput: )[^/]+", r"\g<1>0.5"),
    ],
)
def test_another_number_a_bundle_was_chosen_by_is_found(tmp_path: Path, pattern: str, instead: str) -> None:
    (found,) = _in_log(tmp_path, RANGE, "b", pattern, instead)
    assert found.kind is FactKind.SPLIT_CHOICE_NUMBERS
    assert found.recorded != found.modelled


@pytest.mark.parametrize(("name", "boundary"), [(RANGE, 1), (COUNT, 1), (FLOW, 0), (EXT_RANGE, 2), (EXT_FLOW, 0)])
def test_another_cut_told_by_the_scenario_is_found(tmp_path: Path, name: str, boundary: int) -> None:
    def change(scenario: Any) -> None:
        scenario["splits"][boundary]["new_boundaries"] = ["0x12345678"]

    (found,) = _in_scenario(tmp_path, name, change)
    assert (found.kind, found.recorded) == (FactKind.AUTO_SPLIT_TOLD, "0x12345678")


@pytest.mark.parametrize("spoil", ["one fewer", "one more"])
def test_another_number_of_splits_is_found(tmp_path: Path, spoil: str) -> None:
    def change(scenario: Any) -> None:
        if spoil == "one fewer":
            scenario["splits"].pop(3)
        else:
            scenario["splits"].append(scenario["splits"][3])

    (found,) = _in_scenario(tmp_path, RANGE, change)
    sides = (found.recorded == "not told", found.modelled == "no such split")
    assert sides == ((True, False) if spoil == "one fewer" else (False, True))


@pytest.mark.parametrize("name", [RANGE, COUNT, FLOW, EXT_RANGE, EXT_FLOW])
def test_another_cut_in_the_metadata_store_is_found(tmp_path: Path, name: str) -> None:
    """Also the bundle lists that brokers answered with, and what is decided after it, do not fit it any more."""
    folder = copy_of(name, tmp_path)
    file = folder / "series.jsonl"
    split = json.loads((folder / "scenario.json").read_text())["splits"][0]
    cut = split["new_boundaries"][0]
    other = f"0x{int(cut, 16) + 4096:08x}"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if line["path"] == f"/admin/local-policies/{split['namespace']}" and line["body"]:
            line["body"] = line["body"].replace(cut, other)
    file.write_text("\n".join(json.dumps(line) for line in lines))
    found = _found(folder)
    assert FactKind.AUTO_BOUNDARIES in _kinds(found)
    assert next(each for each in found if each.kind is FactKind.AUTO_BOUNDARIES).recorded.startswith(other)


def test_a_list_that_is_none_is_found(tmp_path: Path) -> None:
    def change(policies: Any) -> None:
        policies["bundles"]["boundaries"].reverse()

    found = _in_series(tmp_path, RANGE, "/admin/local-policies/ring/topics", 1, change)
    assert FactKind.VALID_LIST in _kinds(found)


def test_another_default_algorithm_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"]["defaultNamespaceBundleSplitAlgorithm"] = "topic_count_equally_divide"

    found = _in_scenario(tmp_path, RANGE, change)
    assert FactKind.AUTO_BOUNDARIES in _kinds(found)


@pytest.mark.parametrize(
    ("setting", "value", "kind"),
    [
        ("loadBalancerNamespaceBundleMaxTopics", "9", FactKind.SPLIT_CHOICE),
        ("loadBalancerNamespaceBundleMaxSessions", "60", FactKind.SPLIT_CHOICE),
        ("loadBalancerNamespaceBundleMaxMsgRate", "90", FactKind.SPLIT_CHOICE),
        ("loadBalancerNamespaceMaximumBundles", "17", FactKind.SPLIT_CHOICE),
    ],
)
def test_another_limit_of_the_modular_load_manager_is_found(
    tmp_path: Path, setting: str, value: str, kind: FactKind
) -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"][setting] = value

    assert kind in _kinds(_in_scenario(tmp_path, RANGE, change))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("loadBalancerNamespaceBundleMaxTopics", "10"),
        ("loadBalancerNamespaceBundleMaxSessions", "100"),
        ("loadBalancerNamespaceBundleMaxMsgRate", "300"),
        ("loadBalancerNamespaceMaximumBundles", "99"),
        ("loadBalancerMaxNumberOfBundlesToSplitPerCycle", "3"),
        ("loadBalancerNamespaceBundleSplitConditionHitCountThreshold", "2"),
    ],
)
def test_another_limit_of_the_extensible_load_manager_is_found(tmp_path: Path, setting: str, value: str) -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"][setting] = value

    kinds = _kinds(_in_scenario(tmp_path, EXT_RANGE, change))
    assert kinds & {FactKind.HIT_COUNT, FactKind.CYCLE_DECISION, FactKind.CYCLE_SPLIT}


@pytest.mark.parametrize("name", [EXT_RANGE, EXT_FLOW])
@pytest.mark.parametrize("letter", ["a", "b"])
def test_another_number_of_hits_is_found(tmp_path: Path, name: str, letter: str) -> None:
    found = _in_log(tmp_path, name, letter, r"hit count: 2 is", "hit count: 3 is")
    assert [(each.kind, each.recorded, each.modelled) for each in found] == [(FactKind.HIT_COUNT, "3 hits", "2 hits")]
    assert found[0].file == f"log of broker {letter}"


def test_hits_that_a_gap_should_have_reset_are_found(tmp_path: Path) -> None:
    """Two cycles above the limit, one below: counting starts again at 1."""
    pattern = r"(ring/flicker/0x00000000_0xffffffff\. Split condition hit count: )0( is)"
    found = _in_log(tmp_path, EXT_RANGE, "a", pattern, r"\g<1>3\2")
    assert [(each.recorded, each.modelled) for each in found] == [("3 hits", "0 hits")]


def test_other_numbers_of_a_bundle_change_its_hits(tmp_path: Path) -> None:
    pattern = r"(ring/many/0x55555554_0x7ffffffe\. Split condition hit count: 2 .* Topics: )11(/)"
    found = _in_log(tmp_path, EXT_RANGE, "a", pattern, r"\g<1>8\2")
    assert FactKind.HIT_COUNT in _kinds(found)


@pytest.mark.parametrize(
    ("name", "pattern", "instead"),
    [
        (EXT_RANGE, r"ring/nearly/(\S+)\. Namespace:ring/nearly has too many bundles:16", r"ring/nearly/\1. Other."),
        (EXT_FLOW, r"The split boundaries is null", "The size of split boundaries is not 1. splitBoundary:[1, 2]"),
        (EXT_FLOW, r"splitBoundary:\[\d+", "splitBoundary:[473367470"),
        (EXT_RANGE, r"The topic count is less than 2", "Namespace:x has too many bundles:16"),
    ],
)
def test_another_decision_in_a_cycle_is_found(tmp_path: Path, name: str, pattern: str, instead: str) -> None:
    if instead.endswith("Other."):
        folder = copy_of(name, tmp_path)
        path = folder / "log-a.txt"
        path.write_text(re.sub(pattern, instead, path.read_text(), count=1))
        report = verify_folder(folder)
        assert dict(report.not_compared)["bundles passed over in a cycle for reasons that are not modelled"] == 1
        return
    found = _in_log(tmp_path, name, "a", pattern, instead)
    assert FactKind.CYCLE_DECISION in _kinds(found)


@pytest.mark.parametrize("spoil", ["reason", "children", "left out"])
def test_another_split_of_a_cycle_is_found(tmp_path: Path, spoil: str) -> None:
    pattern, instead = {
        "reason": (r"label=Success, reason=Topics", "label=Success, reason=Sessions"),
        "children": (r"\{0x6aaaaaa9_0x7ffffffe=", "{0x6aaaaaaa_0x7ffffffe="),
        "left out": (r"SplitDecision\(split=Split\[serviceUnit=ring/many/.*?reason=Topics\), ", ""),
    }[spoil]
    found = _in_log(tmp_path, EXT_RANGE, "a", pattern, instead)
    assert FactKind.CYCLE_SPLIT in _kinds(found)


def test_cuts_that_no_rates_around_the_cycle_explain_are_found(tmp_path: Path) -> None:
    pattern = r"(ring/flicker/\S+ The size of split boundaries is not 1\. splitBoundary:\[)\d+"
    found = _in_log(tmp_path, EXT_FLOW, "a", pattern, r"\g<1>1139022711")
    assert FactKind.CYCLE_DECISION in _kinds(found)


@pytest.mark.parametrize("name", [RANGE, EXT_RANGE, TWO])
def test_a_bundle_that_two_brokers_own_is_found(tmp_path: Path, name: str) -> None:
    prefix = "02" if name == TWO else "03"
    folder = copy_of(name, tmp_path)
    own = json.loads((folder / f"{prefix}-owned-a.json").read_text())
    bundle = next(each for each in own if each.startswith("ring/"))
    edit(folder, f"{prefix}-owned-b.json", lambda document: document.update({bundle: own[bundle]}))
    found = _found(folder)
    assert (found[0].kind, found[0].subject) == (FactKind.OWNED_ONCE, bundle)


def test_topics_at_a_broker_that_does_not_own_their_bundle_are_found(tmp_path: Path) -> None:
    folder = copy_of(TWO, tmp_path)
    bundle = "ring/shared/0x00000000_0x20000000"

    def lose(document: Any) -> None:
        del document[bundle]

    edit(folder, "02-owned-a.json", lose)
    found = _found(folder)
    assert [each.kind for each in found if each.subject == bundle] == [FactKind.LOADED_BY_OWNER]
    report = verify_folder(folder)
    assert dict(report.not_compared)["look-ups of bundles whose owner that step does not tell"] > 17


@pytest.mark.parametrize("member", ["brokerUrl", "httpUrl"])
def test_a_look_up_that_names_another_broker_is_found(tmp_path: Path, member: str) -> None:
    def change(document: Any) -> None:
        document[member] = "pulsar://127.0.0.1:1"

    (found,) = _in_file(tmp_path, TWO, "13-lookup-5-b.json", change)
    assert (found.kind, found.file) == (FactKind.LOOKUP_OWNER, "13-lookup-5-b.json")
    assert "pulsar://127.0.0.1:1" in found.recorded


def test_a_look_up_of_the_other_owner_is_found(tmp_path: Path) -> None:
    folder = copy_of(TWO, tmp_path)
    texts = {path.name: path.read_text() for path in folder.glob("13-lookup-*-a.json")}
    one, other = next((a, b) for a in texts for b in texts if texts[a] != texts[b])
    (folder / one).write_text(texts[other])
    (found,) = _found(folder)
    assert (found.kind, {found.recorded, found.modelled}) == (FactKind.LOOKUP_OWNER, {"a", "b"})
