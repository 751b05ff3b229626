"""Load reports that are not as they should be: what is wrong is said with its place, and the rest is kept."""

from __future__ import annotations

import gzip
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.admin.shed_inputs import (
    EXTENSIBLE_REPORTS_NOTHING,
    NO_LOAD_REPORT,
    ShedInputs,
    read_shed_inputs,
    shed_inputs_of,
)
from engine.admin.snapshot import read_answers
from engine.balance.settings import EXTENSIBLE_CLASS, LOAD_SETTING_DEFAULTS
from engine.documents import document
from engine.errors import InputError, Problem, Rejection
from engine.views.brokers.document import brokers_document
from engine.views.brokers.model import BrokersQuestion
from engine.views.brokers.view import SHEDDERS, brokers_input, brokers_view, compared_shedders
from tests.engine.scenarios.recordings import RECORDINGS

LOW, HIGH = "t/n/0x00000000_0x80000000", "t/n/0x80000000_0xffffffff"
MINUTE = 60_000


def report(broker: str, at_ms: int = 1, **members: Any) -> dict[str, Any]:
    plain = {"usage": 20.0, "limit": 100.0}
    none = {"msgRateOut": 0.0, "msgThroughputOut": 0.0}
    stats = {name: {"msgRateIn": 5.0, "msgThroughputIn": 5e3, "topics": 2, **none} for name in (LOW, HIGH)}
    return {
        "loadReportType": "LocalBrokerData", "webServiceUrl": f"http://{broker}", "lastUpdate": at_ms, "cpu": plain,
        "memory": plain, "directMemory": plain, "bandwidthIn": plain, "bandwidthOut": plain,
        "msgRateIn": 10.0, "msgThroughputIn": 1e4, "numTopics": 4,
        "lastStats": stats, "bundles": list(stats), **members,
    }  # fmt: skip


def read(folder: Path, **answers: Any) -> ShedInputs:
    """Answers by file name; a text is written as it is."""
    for name, answer in answers.items():
        text = answer if isinstance(answer, str) else json.dumps(answer)
        (folder / f"{name.replace('_', '-')}.json").write_text(text)
    return read_shed_inputs(folder)


def places(inputs: ShedInputs) -> list[tuple[str, str]]:
    return [(problem.source, problem.path) for problem in inputs.problems]


def idle(broker: str, at_ms: int = 1, **members: Any) -> dict[str, Any]:
    return report(broker, at_ms, lastStats={}, bundles=[], msgRateIn=0.0, msgThroughputIn=0.0, numTopics=0, **members)


@pytest.mark.parametrize("bare", [False, True])
def test_a_usage_that_is_not_a_number_stays_one_and_is_named(tmp_path: Path, bare: bool) -> None:
    """Java prints it as a text, Python as it is."""
    text = json.dumps(report("a:1", cpu={"usage": "NaN", "limit": 100.0}))
    inputs = read(tmp_path, load_report_a=text.replace('"NaN"', "NaN") if bare else text, load_report_b=idle("b:1"))
    first, second = inputs.loads
    assert math.isnan(first.cpu.usage) and (first.memory.usage, second.cpu.usage) == (20.0, 20.0)
    assert first.bundles == (LOW, HIGH) and first.topics == 4
    assert places(inputs) == [("load-report-a.json", "$.cpu.usage")]


@pytest.mark.parametrize("name", ["a, NaN, b", "[NaN ]", 'said "x, NaN, y', "\\\\, -Infinity,"])
def test_texts_keep_what_looks_like_such_a_number(tmp_path: Path, name: str) -> None:
    text = json.dumps({"cluster": name, **report("a:1", cpu={"usage": "NaN", "limit": 100.0})})
    inputs = read(tmp_path, load_report_a=text.replace('"NaN"', "NaN"), load_report_b=idle("b:1"))
    assert sorted(load.broker for load in inputs.loads) == ["a:1", "b:1"]
    assert math.isnan(inputs.loads[0].cpu.usage)


def test_a_rate_that_is_not_a_number_stays_one_and_is_named(tmp_path: Path) -> None:
    stats = {LOW: {"msgRateIn": "NaN", "msgThroughputOut": "Infinity", "topics": 2}, HIGH: {"msgRateIn": 7.0}}
    inputs = read(tmp_path, load_report_a=report("a:1", lastStats=stats))
    low, high = inputs.loads[0].stats
    assert math.isnan(low.msg_rate_in) and low.throughput_out_bytes_per_sec == math.inf and low.topics == 2
    assert high.msg_rate_in == 7.0
    where = f'$.lastStats["{LOW}"]'
    assert places(inputs) == [
        ("load-report-a.json", f"{where}.msgRateIn"), ("load-report-a.json", f"{where}.msgThroughputOut")
    ]  # fmt: skip


def test_negative_usages_rates_and_counts_count_as_zero(tmp_path: Path) -> None:
    stats = {LOW: {"msgRateIn": -1.0, "topics": -3}, HIGH: {"msgRateIn": 7.0, "topics": 1}}
    inputs = read(tmp_path, load_report_a=report("a:1", cpu={"usage": -4.0, "limit": 100.0}, lastStats=stats))
    (load,) = inputs.loads
    assert load.cpu.usage == 0.0 and load.cpu.limit == 100.0
    assert [(one.msg_rate_in, one.topics) for one in load.stats] == [(0.0, 0), (7.0, 1)]
    where = f'$.lastStats["{LOW}"]'
    assert [path for _, path in places(inputs)] == [f"{where}.topics", f"{where}.msgRateIn", "$.cpu"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("cpu", 7), ("memory", [1]), ("bundles", "all"), ("numTopics", "many"), ("lastUpdate", {}), ("msgRateIn", True),
        ("brokerVersionString", 4), ("persistentTopicsEnabled", "no"), ("msgThroughputOut", 1e300),
    ],
)  # fmt: skip
def test_a_member_of_another_form_costs_itself_alone(tmp_path: Path, member: str, value: object) -> None:
    good = read(tmp_path, load_report_b=report("a:1")).loads[0]
    (tmp_path / "load-report-b.json").unlink()
    inputs = read(tmp_path, load_report_a=report("a:1", **{member: value}))
    (load,) = inputs.loads
    assert places(inputs) == [("load-report-a.json", f"$.{member}")]
    assert load.stats == good.stats and load.bandwidth_in == good.bandwidth_in
    assert load.bundles == good.bundles  # those with statistics, where the list cannot be read


def test_statistics_that_are_not_an_object_cost_one_bundle(tmp_path: Path) -> None:
    stats = {LOW: 3, HIGH: {"msgRateIn": 7.0}}
    inputs = read(tmp_path, load_report_a=report("a:1", lastStats=stats, bundles=[LOW, HIGH, 5]))
    (load,) = inputs.loads
    assert [one.bundle for one in load.stats] == [HIGH] and load.bundles == (LOW, HIGH)
    assert [path for _, path in places(inputs)] == [f'$.lastStats["{LOW}"]', "$.bundles[2]"]


def test_a_limit_of_zero_is_no_share_and_no_load(tmp_path: Path) -> None:
    inputs = read(tmp_path, load_report_a=report("a:1", cpu={"usage": 50.0, "limit": 0.0}), load_report_b=idle("b:1"))
    view = brokers_view(brokers_input(inputs))
    assert not isinstance(view, Rejection)
    printed = document(brokers_document(view, ()))
    resources = {each["resource"]: each for each in printed["brokers"][0]["resources"]}
    assert resources["cpu"]["fault"] == "no-limit" and resources["cpu"]["share"] is None
    assert printed["brokers"][0]["weighted_usage"] == pytest.approx(0.2)  # that of incoming bandwidth


def test_of_two_owners_of_a_bundle_the_newer_report_counts(tmp_path: Path) -> None:
    only = {HIGH: {"msgRateIn": 9.0, "msgRateOut": 0.0, "msgThroughputIn": 0.0, "msgThroughputOut": 0.0}}
    later = report("b:1", 9, lastStats=only, bundles=[HIGH])
    inputs = read(tmp_path, load_report_a=report("a:1", 5), load_report_b=later)
    assert [load.bundles for load in inputs.loads] == [(LOW,), (HIGH,)]
    (problem,) = inputs.problems
    assert HIGH in problem.reason and "a:1" in problem.reason and "b:1" in problem.reason


def test_what_a_report_lacks_is_counted_as_0_and_said(tmp_path: Path) -> None:
    cut = report("a:1", lastStats={LOW: {"topics": 2}, HIGH: report("a:1")["lastStats"][HIGH]})
    for member in ("cpu", "loadReportType"):
        del cut[member]
    inputs = read(tmp_path, load_report_a=cut, load_report_b=idle("b:1"))
    assert [problem.path for problem in inputs.problems] == ["$", "$.lastStats"]
    assert ("cpu" in inputs.problems[0].reason, "1 bundle" in inputs.problems[1].reason) == (True, True)
    assert inputs.loads[0].stats[0].msg_rate_in == 0.0


def test_a_broker_that_is_not_listed_any_more_is_left_out(tmp_path: Path) -> None:
    inputs = read(tmp_path, brokers=["a:1", "b:1"], load_report_a=report("a:1", 9), load_report_b=idle("b:1", 7),
                  load_report_c=idle("c:1", 8))  # fmt: skip
    assert {load.broker for load in inputs.loads} == {"a:1", "b:1"}
    assert places(inputs) == [("brokers.json", "$")] and "c:1" in inputs.problems[0].reason


def test_a_broker_that_reported_after_all_others_joined_later(tmp_path: Path) -> None:
    inputs = read(tmp_path, brokers=["a:1"], load_report_a=report("a:1", 5), load_report_b=idle("b:1", 7))
    assert {load.broker for load in inputs.loads} == {"a:1", "b:1"} and inputs.problems == ()


def test_an_old_report_is_said_with_its_age(tmp_path: Path) -> None:
    inputs = read(tmp_path, load_report_a=report("a:1", 100 * MINUTE), load_report_b=idle("b:1", 40 * MINUTE))
    view = brokers_view(brokers_input(inputs))
    assert not isinstance(view, Rejection)
    assert dict(view.older) == {"b:1": 60 * MINUTE}


def test_a_clock_that_went_back_is_named_and_times_decide(tmp_path: Path) -> None:
    answers = {f"load_report_{at}": report("a:1", ms, msgRateIn=float(ms)) for at, ms in enumerate((1000, 3000, 2000))}
    inputs = read(tmp_path, **answers)
    assert [written.updated_at_ms for written in inputs.written] == [1000, 2000, 3000]
    assert places(inputs) == [("load-report-2.json", "$.lastUpdate")]
    assert inputs.loads[0].msg_rate_in == 3000.0


@pytest.mark.parametrize(("minutes", "holes"), [(15, 0), (16, 0), (17, 1), (240, 1)])
def test_a_hole_in_a_series_is_longer_than_brokers_wait(tmp_path: Path, minutes: int, holes: int) -> None:
    """They write at least every 15 minutes, and one more is allowed for the way."""
    inputs = read(tmp_path, load_report_1=report("a:1", MINUTE), load_report_2=report("a:1", (minutes + 1) * MINUTE))
    assert len(inputs.problems) == holes and inputs.is_series
    assert all(problem.path == "$.lastUpdate" for problem in inputs.problems)


def test_a_hole_is_measured_by_the_interval_of_the_brokers(tmp_path: Path) -> None:
    answers = {"load_report_1": report("a:1", MINUTE), "load_report_2": report("a:1", 21 * MINUTE)}
    inputs = read(tmp_path, **answers, runtime={"loadBalancerReportUpdateMaxIntervalMinutes": "30"})
    assert inputs.problems == ()


def settings_problems(inputs: ShedInputs) -> list[Problem]:
    return [problem for problem in brokers_input(inputs).problems if problem.source == "settings"]


def test_the_shedder_of_another_manager_is_named(tmp_path: Path) -> None:
    classes = {"modular": "extensions.scheduler.TransferShedder", "extensible": "impl.OverloadShedder"}
    for manager, shedder in classes.items():
        folder = tmp_path / manager
        folder.mkdir()
        named = {"loadBalancerLoadSheddingStrategy": f"org.apache.pulsar.broker.loadbalance.{shedder}"}
        if manager == "extensible":
            named["loadManagerClassName"] = EXTENSIBLE_CLASS
        inputs = read(folder, load_report_a=report("a:1"), load_report_b=idle("b:1"), runtime=named)
        (problem,) = settings_problems(inputs)
        assert problem.path == "loadBalancerLoadSheddingStrategy"
        for version, default in (("4.2.4", "ThresholdShedder"), ("5.0.1", "AvgShedder")):
            view = brokers_view(brokers_input(inputs, version))
            assert not isinstance(view, Rejection)
            assert view.shedder == (default if manager == "modular" else "TransferShedder")


@pytest.mark.parametrize(
    ("version", "shedder", "is_problem"),
    [
        ("4.2.4", "ThresholdShedder", False),
        ("5.0.1", "AvgShedder", False),
        (None, "ThresholdShedder", False),
        (None, "AvgShedder", False),
        ("4.2.4", "AvgShedder", True),
        ("5.0.1", "ThresholdShedder", True),
        (None, "UniformLoadShedder", True),
    ],
)
def test_the_default_shedder_is_no_problem_where_the_extensible_manager_sheds_by_its_own(
    tmp_path: Path, version: str | None, shedder: str, is_problem: bool
) -> None:
    """Brokers print every setting, so that of the other manager has its default there."""
    named = {
        "loadBalancerLoadSheddingStrategy": f"org.apache.pulsar.broker.loadbalance.impl.{shedder}",
        "loadManagerClassName": EXTENSIBLE_CLASS,
    }
    loads = {"load_report_a": report("a:1"), "load_report_b": idle("b:1")}
    for load in loads.values():
        load["brokerVersionString"] = version or ""
    inputs = read(tmp_path, **loads, runtime=named)
    assert inputs.version == version
    assert bool(settings_problems(inputs)) == is_problem
    view = brokers_view(brokers_input(inputs))
    assert not isinstance(view, Rejection)
    assert view.shedder == "TransferShedder"


def test_a_setting_that_is_no_number_leaves_the_others_in_force(tmp_path: Path) -> None:
    named = {"minUnloadMessage": "a lot", "loadBalancerBrokerOverloadedThresholdPercentage": "70"}
    inputs = read(tmp_path, load_report_a=report("a:1"), runtime=named)
    given = brokers_input(inputs)
    assert [problem.path for problem in settings_problems(inputs)] == ["minUnloadMessage"]
    assert given.settings.loadBalancerBrokerOverloadedThresholdPercentage == 70
    assert given.settings.minUnloadMessage == 1000


@pytest.mark.parametrize("shedder", SHEDDERS)
@pytest.mark.parametrize("wrong", ["NaN", "Infinity", "-Infinity", -1.0])
def test_a_forecast_goes_on_with_numbers_that_are_none(tmp_path: Path, shedder: str, wrong: object) -> None:
    """Whatever the shedder: an answer, and JSON that any reader takes."""
    stats = {LOW: {"msgRateIn": wrong, "msgThroughputIn": wrong, "topics": 2}, HIGH: {"msgRateIn": 7e4}}
    hot = report("a:1", cpu={"usage": wrong, "limit": 100.0}, lastStats=stats, msgRateIn=wrong, msgThroughputIn=wrong)
    hot["memory"] = {"usage": 99.0, "limit": wrong}
    inputs = read(tmp_path, load_report_a=hot, load_report_b=idle("b:1"), load_report_c=idle("c:1"))
    question = BrokersQuestion(shedder=shedder, cycles=5)
    view = brokers_view(brokers_input(inputs), question)
    assert not isinstance(view, Rejection)
    printed = document(brokers_document(view, compared_shedders(view)))
    assert json.loads(json.dumps(printed, allow_nan=False))["shedder"] == shedder


def test_the_extensible_load_manager_has_no_report_to_ask_for(tmp_path: Path) -> None:
    stack = "java.lang.UnsupportedOperationException\n\tat x.ExtensibleLoadManagerWrapper.generateLoadReport(X.java:1)"
    (tmp_path / "load-report.json").write_text(json.dumps({"reason": stack}))
    with pytest.raises(InputError) as refused:
        read_shed_inputs(tmp_path)
    assert EXTENSIBLE_REPORTS_NOTHING in str(refused.value)
    (tmp_path / "load-report.json").write_text(json.dumps({"reason": "no permission"}))
    (tmp_path / "runtime.json").write_text(json.dumps({"loadManagerClassName": EXTENSIBLE_CLASS, "clusterName": "c"}))
    with pytest.raises(InputError) as refused:
        read_shed_inputs(tmp_path)
    assert EXTENSIBLE_REPORTS_NOTHING in str(refused.value)
    (tmp_path / "runtime.json").unlink()
    with pytest.raises(InputError) as refused:
        read_shed_inputs(tmp_path)
    assert NO_LOAD_REPORT in str(refused.value)


@pytest.mark.parametrize("what", ["as recorded", "a broker that is gone", "a clock that jumps"])
def test_the_dashboard_and_the_commands_read_the_same_of_a_folder(tmp_path: Path, what: str) -> None:
    """The screen ``B`` begins with the snapshots of the dashboard, ``ringside brokers`` with the files."""
    folder = tmp_path / "answers"
    shutil.copytree(RECORDINGS / "g-shed-modular-uniform", folder)
    if what != "as recorded":
        report = json.loads(gzip.decompress((folder / "19-load-report-a.json.gz").read_bytes()))
        report["lastUpdate"] += 10**14 if what == "a clock that jumps" else -(10**6)
        if what == "a broker that is gone":
            report |= {"webServiceUrl": "http://gone:8080", "bundles": [], "lastStats": {}}
            (folder / "brokers.json").write_text('["127.0.0.1:39025", "127.0.0.1:47845"]')
        (folder / "20-load-report-a.json").write_text(json.dumps(report))
    of_files = read_shed_inputs(folder)
    of_snapshots = shed_inputs_of([read_answers(folder)])
    assert of_snapshots is not None
    assert of_snapshots.written == of_files.written
    load_settings = [
        {name: text for name, text in inputs.settings.items() if name in LOAD_SETTING_DEFAULTS}
        for inputs in (of_files, of_snapshots)
    ]
    assert load_settings[0] == load_settings[1] != {}
    assert "gone:8080" not in {load.broker for load in of_snapshots.loads}
    reported = {(problem.source, problem.path) for problem in of_snapshots.problems}
    assert reported <= {(problem.source, problem.path) for problem in of_files.problems}
    assert ("brokers.json" in {source for source, _ in reported}) == (what == "a broker that is gone")
    added = {path for source, path in reported if source == "20-load-report-a.json"}
    assert ("$.lastUpdate" in added) == (what == "a clock that jumps")


@pytest.mark.parametrize("url", ["http://bro ker:8080", "http://", "\x1b[2J", "http://a:1/../b:2", "h" * 301])
def test_an_address_that_no_broker_has_is_not_its_name(tmp_path: Path, url: str) -> None:
    inputs = read(tmp_path, load_report_a=report("a:1"), load_report_b=report("b:1", webServiceUrl=url))
    assert [load.broker for load in inputs.loads] == ["a:1"]
    assert places(inputs) == [("load-report-b.json", "$")]


@pytest.mark.parametrize("answer", ["50000", "0x40000000_0x80000000", "true", '"broker"'])
def test_answers_that_are_one_value_belong_to_other_questions(tmp_path: Path, answer: str) -> None:
    assert places(read(tmp_path, a_report=report("a:1"), of_topic=answer)) == []


def test_a_text_that_is_not_a_value_is_reported(tmp_path: Path) -> None:
    assert places(read(tmp_path, a_report=report("a:1"), of_topic="not found")) == [("of-topic.json", "$")]
