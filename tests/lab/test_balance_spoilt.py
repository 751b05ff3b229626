"""Spoilt facts about clusters that split by themselves are found, with their place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from engine.verify.report import Difference, FactKind
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import Folder, recording
from tests.lab.reports import differences_of, kinds, report_of, spoilt

Change = Callable[[Any], None]
RANGE, COUNT, FLOW = (f"g-autosplit-modular-{name}" for name in ("range", "count", "flow"))
EXT_RANGE, EXT_FLOW, TWO = "g-autosplit-extensible-range", "g-autosplit-extensible-flow", "g-two-brokers"


def _with_log(name: str, letter: str, pattern: str, instead: str) -> Folder:
    """A recording with the first line of a log changed that matches."""
    folder = recording(name)
    file = f"log-{letter}.txt"
    text, count = re.subn(pattern, instead, folder.files[file].decode(), count=1, flags=re.MULTILINE)
    assert count == 1
    return folder.with_file(file, text)


def _in_log(name: str, letter: str, pattern: str, instead: str) -> tuple[Difference, ...]:
    return differences_of(_with_log(name, letter, pattern, instead))


def _in_series(name: str, path: str, number: int, change: Change) -> tuple[Difference, ...]:
    """What differs when the body of the nth line about a path is changed."""
    folder = recording(name)
    lines = folder.files["series.jsonl"].splitlines()
    decoded = ((at, json.loads(line)) for at, line in enumerate(lines) if path.encode() in line)
    chosen = [(at, one) for at, one in decoded if _is_written(one, path)]
    at, line = chosen[number]
    body = json.loads(line["body"])
    change(body)
    lines[at] = json.dumps({**line, "body": json.dumps(body)}).encode()
    return differences_of(folder.with_file("series.jsonl", b"\n".join(lines)))


def _is_written(line: Any, path: str) -> bool:
    return bool(line["path"].startswith(path) and line["from"] == "metadata" and line["body"])


def _first_bundle(report: Any) -> Any:
    return next(iter(report["lastStats"].values()))


@pytest.mark.parametrize("member", ["numTopics", "numBundles", "numProducers", "numConsumers", "msgRateIn"])
def test_another_total_of_a_load_report_is_found(member: str) -> None:
    def change(report: Any) -> None:
        report[member] += 1

    (difference,) = _in_series(RANGE, "/loadbalance/brokers/", 7, change)
    assert difference.kind is FactKind.REPORT_TOTALS
    assert difference.recorded.startswith(member)


def test_another_order_of_the_bundles_in_a_report_is_found() -> None:
    """Under the cap the order decides who wins."""

    def change(report: Any) -> None:
        report["lastStats"] = dict(reversed(report["lastStats"].items()))

    differences = _in_series(RANGE, "/loadbalance/brokers/", 9, change)
    assert kinds(differences) == {FactKind.REPORT_ORDER}


def test_a_total_in_an_answer_of_a_broker_is_found_too() -> None:
    def change(report: Any) -> None:
        report["numTopics"] += 1

    (difference,) = spoilt(RANGE, "03-load-report-a.json", change)
    assert (difference.kind, difference.file) == (FactKind.REPORT_TOTALS, "03-load-report-a.json")


@pytest.mark.parametrize("term", ["shortTermData", "longTermData"])
@pytest.mark.parametrize("member", ["numSamples", "msgRateIn", "msgThroughputIn", "msgRateOut"])
def test_another_stored_average_is_found(term: str, member: str) -> None:
    """No order of the reports explains it."""

    def change(stored: Any) -> None:
        stored[term][member] += 1

    (difference,) = _in_series(RANGE, "/loadbalance/bundle-data/", 30, change)
    assert difference.kind is StepFact.STORED_AVERAGE


def test_a_stored_average_is_found_where_others_need_another_order() -> None:
    def change(stored: Any) -> None:
        stored["longTermData"]["msgRateIn"] += 0.01

    (difference,) = _in_series(COUNT, "/loadbalance/bundle-data/", 30, change)
    assert difference.kind is StepFact.STORED_AVERAGE


def test_the_count_recording_needs_another_order_of_reports_for_forty_averages() -> None:
    """20 at once, and 40 with four changes to the order of what happened within a second."""
    report = report_of(COUNT)
    averages = {tally.kind: (tally.compared, tally.agree) for tally in report.tallies}
    assert averages[StepFact.STORED_AVERAGE] == (20, 20)
    assert averages[StepFact.STORED_AVERAGE_OTHER_ORDER] == (40, 40)
    changes = [count for reason, count in report.not_compared.items() if reason.startswith("changes to the order")]
    assert changes == [4]


def test_other_numbers_in_a_report_change_what_follows() -> None:
    def change(report: Any) -> None:
        bundle = _first_bundle(report)
        for member, add in (("topics", 20), ("msgRateIn", 500.0)):
            bundle[member] += add
        report["numTopics"] += 20
        report["msgRateIn"] += 500.0

    differences = _in_series(RANGE, "/loadbalance/brokers/", 11, change)
    assert {StepFact.SPLIT_CHOICE, StepFact.STORED_AVERAGE} & kinds(differences)


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
def test_another_decision_of_the_leader_is_found(pattern: str, instead: str) -> None:
    differences = _in_log(RANGE, "b", pattern, instead)
    assert kinds(differences) == {StepFact.SPLIT_CHOICE}
    assert all(difference.file == "the leader's log" for difference in differences)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"(is considered to be unload\. Topics: )\d+", r"\g<1>7"),
        (r"(is considered to be unload\. .* Sessions: \()\d+", r"\g<1>7"),
        (r"(bundle ring/rate/.* is considered to be unload\. .* Message Rate: )[\d.]+", r"\g<1>61.5"),
        (r"(bundle ring/rate/.* is considered to be unload\. .* Message Throughput: )[^/]+", r"\g<1>0.5"),
    ],
)
def test_another_number_a_bundle_was_chosen_by_is_found(pattern: str, instead: str) -> None:
    (difference,) = _in_log(RANGE, "b", pattern, instead)
    assert difference.kind is StepFact.SPLIT_CHOICE_NUMBERS
    assert difference.recorded != difference.modelled


@pytest.mark.parametrize(("name", "boundary"), [(RANGE, 1), (COUNT, 1), (FLOW, 0), (EXT_RANGE, 2), (EXT_FLOW, 0)])
def test_another_cut_in_the_scenario_is_found(name: str, boundary: int) -> None:
    def change(scenario: Any) -> None:
        scenario["splits"][boundary]["new_boundaries"] = ["0x12345678"]

    (difference,) = spoilt(name, "scenario.json", change)
    assert (difference.kind, difference.recorded) == (StepFact.AUTO_SPLIT_LISTED, "0x12345678")


@pytest.mark.parametrize("spoil", ["one fewer", "one more"])
def test_another_number_of_splits_is_found(spoil: str) -> None:
    def change(scenario: Any) -> None:
        if spoil == "one fewer":
            scenario["splits"].pop(3)
        else:
            scenario["splits"].append(scenario["splits"][3])

    (difference,) = spoilt(RANGE, "scenario.json", change)
    sides = (difference.recorded == "not listed", difference.modelled == "no such split")
    assert sides == ((True, False) if spoil == "one fewer" else (False, True))


@pytest.mark.parametrize("name", [RANGE, COUNT, FLOW, EXT_RANGE, EXT_FLOW])
def test_another_cut_in_the_metadata_store_is_found(name: str) -> None:
    """Also the bundle lists that brokers answered with, and what is decided after it, do not fit it any more."""
    folder = recording(name)
    split = json.loads(folder.files["scenario.json"])["splits"][0]
    cut = split["new_boundaries"][0]
    other = f"0x{int(cut, 16) + 4096:08x}"
    place = f'"/admin/local-policies/{split["namespace"]}"'.encode()
    lines = folder.files["series.jsonl"].splitlines()
    changed = [line.replace(cut.encode(), other.encode()) if place in line else line for line in lines]
    differences = differences_of(folder.with_file("series.jsonl", b"\n".join(changed)))
    assert StepFact.AUTO_BOUNDARIES in kinds(differences)
    assert next(
        difference for difference in differences if difference.kind is StepFact.AUTO_BOUNDARIES
    ).recorded.startswith(other)


def test_a_list_that_no_namespace_has_is_found() -> None:
    def change(policies: Any) -> None:
        policies["bundles"]["boundaries"].reverse()

    differences = _in_series(RANGE, "/admin/local-policies/ring/topics", 1, change)
    assert FactKind.VALID_LIST in kinds(differences)


def test_another_default_algorithm_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"]["defaultNamespaceBundleSplitAlgorithm"] = "topic_count_equally_divide"

    differences = spoilt(RANGE, "scenario.json", change)
    assert StepFact.AUTO_BOUNDARIES in kinds(differences)


@pytest.mark.parametrize(
    ("setting", "value", "kind"),
    [
        ("loadBalancerNamespaceBundleMaxTopics", "9", StepFact.SPLIT_CHOICE),
        ("loadBalancerNamespaceBundleMaxSessions", "60", StepFact.SPLIT_CHOICE),
        ("loadBalancerNamespaceBundleMaxMsgRate", "90", StepFact.SPLIT_CHOICE),
        ("loadBalancerNamespaceMaximumBundles", "17", StepFact.SPLIT_CHOICE),
    ],
)
def test_another_limit_of_the_modular_load_manager_is_found(setting: str, value: str, kind: FactKind) -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"][setting] = value

    assert kind in kinds(spoilt(RANGE, "scenario.json", change))


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
def test_another_limit_of_the_extensible_load_manager_is_found(setting: str, value: str) -> None:
    def change(scenario: Any) -> None:
        scenario["broker_settings"][setting] = value

    differing = kinds(spoilt(EXT_RANGE, "scenario.json", change))
    assert differing & {StepFact.HIT_COUNT, StepFact.CYCLE_DECISION, StepFact.CYCLE_SPLIT}


@pytest.mark.parametrize("name", [EXT_RANGE, EXT_FLOW])
@pytest.mark.parametrize("letter", ["a", "b"])
def test_another_number_of_hits_is_found(name: str, letter: str) -> None:
    differences = _in_log(name, letter, r"hit count: 2 is", "hit count: 3 is")
    assert [(difference.kind, difference.recorded, difference.modelled) for difference in differences] == [
        (StepFact.HIT_COUNT, "3 hits", "2 hits")
    ]
    assert differences[0].file == f"log of broker {letter}"


def test_hits_that_a_gap_should_have_reset_are_found() -> None:
    """Two cycles above the limit, one below: counting starts again at 1."""
    pattern = r"(ring/flicker/0x00000000_0xffffffff\. Split condition hit count: )0( is)"
    differences = _in_log(EXT_RANGE, "a", pattern, r"\g<1>3\2")
    assert [(difference.recorded, difference.modelled) for difference in differences] == [("3 hits", "0 hits")]


def test_other_numbers_of_a_bundle_change_its_hits() -> None:
    pattern = r"(ring/many/0x55555554_0x7ffffffe\. Split condition hit count: 2 .* Topics: )11(/)"
    differences = _in_log(EXT_RANGE, "a", pattern, r"\g<1>8\2")
    assert StepFact.HIT_COUNT in kinds(differences)


@pytest.mark.parametrize(
    ("name", "pattern", "instead"),
    [
        (EXT_RANGE, r"ring/nearly/(\S+)\. Namespace:ring/nearly has too many bundles:16", r"ring/nearly/\1. Other."),
        (EXT_FLOW, r"The split boundaries is null", "The size of split boundaries is not 1. splitBoundary:[1, 2]"),
        (EXT_FLOW, r"splitBoundary:\[\d+", "splitBoundary:[473367470"),
        (EXT_RANGE, r"The topic count is less than 2", "Namespace:x has too many bundles:16"),
    ],
)
def test_another_decision_in_a_cycle_is_found(name: str, pattern: str, instead: str) -> None:
    if instead.endswith("Other."):
        report = compare_folder(_with_log(name, "a", pattern, instead))
        assert report.not_compared["bundles passed over in a cycle for reasons that are not modelled"] == 1
        return
    differences = _in_log(name, "a", pattern, instead)
    assert StepFact.CYCLE_DECISION in kinds(differences)


@pytest.mark.parametrize("spoil", ["reason", "children", "left out"])
def test_another_split_of_a_cycle_is_found(spoil: str) -> None:
    pattern, instead = {
        "reason": (r"label=Success, reason=Topics", "label=Success, reason=Sessions"),
        "children": (r"\{0x6aaaaaa9_0x7ffffffe=", "{0x6aaaaaaa_0x7ffffffe="),
        "left out": (r"SplitDecision\(split=Split\[serviceUnit=ring/many/.*?reason=Topics\), ", ""),
    }[spoil]
    differences = _in_log(EXT_RANGE, "a", pattern, instead)
    assert StepFact.CYCLE_SPLIT in kinds(differences)


def test_cuts_that_no_rates_around_the_cycle_explain_are_found() -> None:
    pattern = r"(ring/flicker/\S+ The size of split boundaries is not 1\. splitBoundary:\[)\d+"
    differences = _in_log(EXT_FLOW, "a", pattern, r"\g<1>1139022711")
    assert StepFact.CYCLE_DECISION in kinds(differences)


@pytest.mark.parametrize("name", [RANGE, EXT_RANGE, TWO])
def test_a_bundle_that_two_brokers_own_is_found(name: str) -> None:
    prefix = "02" if name == TWO else "03"
    folder = recording(name)
    own = json.loads(folder.files[f"{prefix}-owned-a.json"])
    bundle = next(one for one in own if one.startswith("ring/"))
    differences = spoilt(name, f"{prefix}-owned-b.json", lambda document: document.update({bundle: own[bundle]}))
    assert (differences[0].kind, differences[0].subject) == (StepFact.OWNED_ONCE, bundle)


def test_topics_at_a_broker_that_does_not_own_their_bundle_are_found() -> None:
    folder = recording(TWO)
    bundle = "ring/shared/0x00000000_0x20000000"

    def lose(document: Any) -> None:
        del document[bundle]

    folder = folder.edited("02-owned-a.json", lose)
    differences = differences_of(folder)
    assert [difference.kind for difference in differences if difference.subject == bundle] == [StepFact.LOADED_BY_OWNER]
    report = compare_folder(folder)
    assert report.not_compared["look-ups of bundles whose owner that step does not name"] > 17


@pytest.mark.parametrize("member", ["brokerUrl", "httpUrl"])
def test_a_look_up_that_names_another_broker_is_found(member: str) -> None:
    def change(document: Any) -> None:
        document[member] = "pulsar://127.0.0.1:1"

    (difference,) = spoilt(TWO, "13-lookup-5-b.json", change)
    assert (difference.kind, difference.file) == (StepFact.LOOKUP_OWNER, "13-lookup-5-b.json")
    assert "pulsar://127.0.0.1:1" in difference.recorded


def test_a_look_up_of_the_other_owner_is_found() -> None:
    folder = recording(TWO)
    texts = {name: text for name, text in folder.files.items() if re.fullmatch(r"13-lookup-.*-a\.json", name)}
    one, other = next((a, b) for a in texts for b in texts if texts[a] != texts[b])
    (difference,) = differences_of(folder.with_file(one, texts[other]))
    assert (difference.kind, {difference.recorded, difference.modelled}) == (StepFact.LOOKUP_OWNER, {"a", "b"})
