"""The job ``balance`` beside the scalar rules: the same brokers, unloads and loops for random and recorded clusters."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from engine.admin.shed_inputs import EXTENSIBLE_REPORTS_NOTHING, NO_LOAD_REPORT, ShedInputs, read_shed_inputs
from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import ShedAhead, ShedStart
from engine.balance.brokers import weighted_usage
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.state import Leader
from engine.balance.settings import default_load_settings
from engine.config import behaviour_of
from engine.errors import InputError, Rejection
from engine.views.fleet.conditions import conditions_of, failures_of, figures_of_result, figures_of_summary
from engine.views.fleet.runs import result_at
from engine.views.fleet.summary import read_summary
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions, JobResult
from tests import fleet_results
from tests.pipeline.load_report_folders import SHEDDERS, random_cluster, report, save
from tui.sources.fleet_brokers import brokers_of

RECORDINGS: Final = Path(__file__).parents[1] / "recordings"
PAIR: Final = Path(__file__).parents[1] / "samples" / "extensible-pair"
"""Two brokers of the extensible load manager, which give metrics in place of load reports."""
RECORDED: Final = ("g-shed-modular-uniform", "g-two-brokers")
CYCLES: Final = 6


def run(spark: SparkSession, job: str, source: Path, target: Path, **settings: str) -> JobResult:
    return job_called(job)(spark, source, target, JobOptions(settings))


def rows(target: Path, table: str) -> list[dict[str, Any]]:
    return fleet_results.rows(target, table)


def inputs_of(*folders: Path) -> ShedInputs:
    """The answers of one cluster, read without Spark from a folder that has them all."""
    gathered = folders[0].parent / f".{folders[0].name}-gathered"
    gathered.mkdir(exist_ok=True)
    for file in sorted(path for folder in folders for path in folder.rglob("*.json*")):
        shutil.copy(file, gathered / file.name)
    return read_shed_inputs(gathered)


def forecast(inputs: ShedInputs, cycles: int) -> ShedAhead:
    """By the scalar rules alone."""
    behaviour = behaviour_of(inputs.version or "4.2.4")
    assert not isinstance(behaviour, Rejection)
    settings, problems = inputs.settings_over(default_load_settings(behaviour))
    assert not problems
    extensible = inputs.is_extensible
    start = ShedStart(
        inputs.loads, settings, behaviour.load, inputs.policies, "extensible" if extensible else "modular",
        None if extensible else inputs.leader_state(Leader(settings, ClusterPolicies(), behaviour.load)),
        from_metrics=inputs.from_metrics,
    )  # fmt: skip
    ahead = shed_ahead(start, cycles)
    assert not isinstance(ahead, Rejection)
    return ahead


def check(target: Path, cluster: str, ahead: ShedAhead) -> None:
    """One cluster of a result against its forecast."""
    unloads = [row for row in rows(target, "balance_unloads") if row["cluster"] == cluster]
    unloads.sort(key=lambda row: row["cycle"])
    expected = [(cycle.number, timedelta(milliseconds=cycle.at_ms), move)
                for cycle in ahead.cycles for move in cycle.moves]  # fmt: skip
    assert sorted(
        (row["cycle"], row["at"] - row["snapshot_time"], row["bundle"], row["source"], row["destination"],
         row["topics"], row["returns"])
        for row in unloads
    ) == sorted(
        (number, ahead_by, move.bundle, move.source, move.destination, move.topics, move.returns)
        for number, ahead_by, move in expected
    )  # fmt: skip
    for row in unloads:
        assert row["destination"] in {each["name"] for each in row["chances"]}
        assert sum(each["value"] for each in row["chances"]) == pytest.approx(1.0)
    brokers = {row["broker"]: row for row in rows(target, "balance_brokers") if row["cluster"] == cluster}
    settings, rules = ahead.start.settings, ahead.start.rules
    last = ahead.cycles[-1].loads
    for load in ahead.start.loads:
        row = brokers.pop(load.broker)
        assert row["usage"] == weighted_usage(load, settings, rules, heap=True)
        assert row["usage_after"] == weighted_usage(last[load.broker], settings, rules, heap=True)
        assert (row["bundles"], row["bundles_after"]) == (len(load.bundles), len(last[load.broker].bundles))
        mine = [move for _, _, move in expected if move.source == load.broker]
        assert (row["unloads"], row["topics_interrupted"]) == (len(mine), sum(move.topics for move in mine))
        assert row["next_unloads"] == sum(move.source == load.broker for move in ahead.cycles[0].moves)
        assert (row["next_outcome"] == "sheds") == (row["next_unloads"] > 0)
        assert row["gained"] == sum(move.destination == load.broker for _, _, move in expected)
        assert row["bundles_after"] == row["bundles"] - row["unloads"] + row["gained"]
    assert not brokers
    (about,) = (row for row in rows(target, "balance_clusters") if row["cluster"] == cluster)
    assert (about["unloads"], about["returned"]) == (len(expected), sum(move.returns for *_, move in expected))
    assert about["quiet_after"] == ahead.quiet_after and about["refusal"] is None
    returned = Counter(move.bundle for *_, move in expected if move.returns)
    assert {
        row["bundle"] for row in rows(target, "balance_loops") if row["cluster"] == cluster and row["bundle"]
    } == set(returned)


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Ten random clusters, every shedder twice, some with a folder for every broker; and what the job makes of them."""
    source, target = tmp_path_factory.mktemp("fleet"), tmp_path_factory.mktemp("out") / "result"
    for number in range(10):
        random_cluster(source / f"eu-{number}", number, SHEDDERS[number % 5], apart=number in (3, 6))
    run(spark, "balance", source, target, cycles=str(CYCLES))
    return source, target


@pytest.mark.parametrize("number", range(10))
def test_a_random_cluster_is_forecast_as_the_scalar_rules_do(fleet: tuple[Path, Path], number: int) -> None:
    source, target = fleet
    check(target, f"eu-{number}", forecast(inputs_of(source / f"eu-{number}"), CYCLES))


def test_random_clusters_shed_with_every_shedder(fleet: tuple[Path, Path]) -> None:
    _, target = fleet
    busy = {row["shedder"] for row in rows(target, "balance_clusters") if row["unloads"]}
    assert busy == {"ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder"}


def test_the_fullest_brokers_come_first(fleet: tuple[Path, Path]) -> None:
    _, target = fleet
    usages = [row["usage"] for row in rows(target, "balance_brokers")]
    assert usages == sorted(usages, reverse=True) and len(usages) > 20
    cycles = [row["cycle"] for row in rows(target, "balance_unloads")]
    assert cycles == sorted(cycles)


def test_the_totals_are_those_of_the_tables(fleet: tuple[Path, Path]) -> None:
    _, target = fleet
    summary = fleet_results.document(target, "balance.json")
    unloads = rows(target, "balance_unloads")
    assert summary["totals"]["unloads"] == len(unloads) == summary["tables"]["balance_unloads"]
    assert summary["totals"]["next_unloads"] == sum(row["cycle"] == 1 for row in unloads)
    assert summary["totals"]["topics_interrupted"] == sum(row["topics"] for row in unloads)
    assert summary["totals"]["max_usage"] == max(row["usage"] for row in rows(target, "balance_brokers"))
    stamps = {row["snapshot_time"] for row in [*unloads, *rows(target, "balance_clusters")]}
    assert len(stamps) == 1 and None not in stamps


def test_the_brokers_of_a_cluster_open_from_the_result(fleet: tuple[Path, Path]) -> None:
    source, target = fleet
    given, question = brokers_of(result_at(target), "eu-3")
    assert question.cycles == CYCLES
    assert given.inputs.loads == inputs_of(source / "eu-3").loads
    with pytest.raises(InputError):
        brokers_of(result_at(target), "eu-99")


def test_recordings_of_real_brokers_are_forecast_as_the_scalar_rules_do(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    for name in RECORDED:
        shutil.copytree(RECORDINGS / name, source / name)
    run(spark, "import", source, tmp_path / "tables")
    result = run(spark, "balance", tmp_path / "tables", target, cycles="5")
    for name in RECORDED:
        check(target, name, forecast(read_shed_inputs(RECORDINGS / name), 5))
    assert [row["reports"] for row in sorted(rows(target, "balance_clusters"), key=lambda row: row["cluster"])] == [
        6,
        7,
    ]
    assert result.summary["totals"]["clusters"] == 2  # type: ignore[index]


def test_a_run_has_the_forecast_in_its_summary_and_conditions(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    hot = [(f"shop/orders/0x{at:08x}_0x{at + 1:08x}", 20_000.0, 3) for at in range(6)]
    save(source / "eu" / "load-report-a.json", report("a:1", hot, 90.0))
    save(source / "eu" / "load-report-b.json", report("b:1", [], 1.0))
    topic = {"msgRateIn": 1.0, "subscriptions": {}, "publishers": []}
    save(source / "eu" / "persistent%3A%2F%2Fshop%2Forders%2Fx.json", topic)
    result = run(spark, "run", source, target, **{"balance.cycles": "3", "minUnloadMessage": "5"})
    summary = read_summary(fleet_results.text_of(target, "summary.json"))
    assert summary.failed == {} and "balance" in summary.jobs
    assert summary.balance.cycles == 3 and summary.balance.brokers == 2
    assert (summary.worst_brokers[0].broker, summary.worst_brokers[0].next_outcome) == ("a:1", "sheds")
    assert {unload.source for unload in summary.next_unloads} == {"a:1"}
    assert len(summary.next_unloads) == summary.balance.next_unloads > 0
    assert fleet_results.document(target, "balance.json")["question"]["settings"] == {"minUnloadMessage": "5"}
    conditions = conditions_of("run", ["broker_usage>89", "broker_usage>91", "unloads>0", "loops>1000"])
    assert [condition.is_met(figures_of_result(result)) for condition in conditions] == [True, False, True, False]
    failures = failures_of(figures_of_summary(summary), conditions)
    assert [text.partition(":")[0] for text in failures] == ["broker_usage>89", "unloads>0"]
    assert [text.rpartition(" ")[2] for text in failures] == ["89", "0"]


def test_what_cannot_be_forecast_costs_its_own_cluster_only(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    random_cluster(source / "good", 1, SHEDDERS[0])
    random_cluster(source / "odd", 2, {"loadBalancerLoadSheddingStrategy": "com.example.OwnShedder"})
    (source / "good" / "load-report-9.json").write_text('{"loadReportType": "LocalBrokerData", "lastStats": {"x": ')
    run(spark, "balance", source, target, cycles="2")
    result = {row["cluster"]: row for row in rows(target, "balance_clusters")}
    assert result["good"]["refusal"] is None and "OwnShedder" in result["odd"]["refusal"]
    assert {row["next_outcome"] for row in rows(target, "balance_brokers") if row["cluster"] == "odd"} == {
        "no-forecast"
    }
    check(target, "good", forecast(read_shed_inputs(source / "good"), 2))


@pytest.mark.parametrize(
    "settings",
    [
        {"cycles": "0"}, {"cycles": "many"}, {"shedder": "BestShedder"}, {"placement": "Best"}, {"clusters": "none"},
        {"minUnloadMessage": "x"}, {"top": "3"}, {"pulsar": "newest"}, {"seed": "-1"},
    ],
)  # fmt: skip
def test_an_option_that_means_nothing_is_refused(spark: SparkSession, tmp_path: Path, settings: dict[str, str]) -> None:
    random_cluster(tmp_path / "in", 1, SHEDDERS[0])
    with pytest.raises(InputError):
        run(spark, "balance", tmp_path / "in", tmp_path / "out", **settings)


def test_clusters_that_give_metrics_in_place_of_load_reports_are_forecast_each_for_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    for cluster in ("eu", "us"):
        shutil.copytree(PAIR, source / cluster)
    random_cluster(source / "modular", 1, SHEDDERS[0])
    run(spark, "import", source, target)
    run(spark, "bundles", target, target)
    run(spark, "balance", target, target, cycles=str(CYCLES))
    inputs = read_shed_inputs(PAIR)
    for cluster in ("eu", "us"):
        check(target, cluster, forecast(inputs, CYCLES))
    clusters = {row["cluster"]: row for row in rows(target, "balance_clusters")}
    assert sorted(clusters) == ["eu", "modular", "us"]
    eu = clusters["eu"]
    assert (eu["load_manager"], eu["release"], eu["brokers"], eu["reports"]) == ("extensible", "4.2.4", 2, 2)
    assert eu["topics"] == sum(load.topics for load in inputs.loads) > 0
    # The answers of each cluster are in the result, so that its screen opens from it alone.
    given, _ = brokers_of(result_at(target), "eu")
    assert given.inputs.loads == inputs.loads
    known = {row["broker"] for row in rows(target, "brokers")}
    assert {load.broker for load in inputs.loads} < known
    assert not any("different releases" in row["reason"] for row in rows(target, "quarantine"))
    assert {row["broker"] for row in rows(target, "topics")} == {load.broker for load in inputs.loads}
    owners = {row["bundle"]: row["broker"] for row in rows(target, "bundle_loads") if row["loaded_topics"]}
    loaded = {stats.bundle: load.broker for load in inputs.loads for stats in load.stats}
    assert owners.items() <= loaded.items() and owners


def save_single(target: Path, broker: str) -> None:
    """The answers of the pair as they are saved with one broker in a folder: what it says of itself has no address."""
    (moment,) = PAIR.iterdir()
    copy = target / moment.name
    shutil.copytree(moment, copy)
    shutil.move(copy / "brokers" / broker / "admin/v2/broker-stats", copy / "admin/v2/broker-stats")
    shutil.rmtree(copy / "brokers")
    for owned in (copy / "admin/v2/brokers/pair").iterdir():
        if owned.name != broker.replace(":", "%3A"):
            shutil.rmtree(owned)


def test_brokers_with_metrics_in_folders_of_their_own_are_one_cluster_unless_they_own_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    inputs = read_shed_inputs(PAIR)
    first, second = (load.broker for load in inputs.loads)
    save_single(source / "eu" / "b1", first)
    save_single(source / "eu" / "b2", second)
    save_single(source / "us" / "b1", first)
    save_single(source / "us" / "b2", first)
    run(spark, "balance", source, target, cycles=str(CYCLES))
    brokers = {row["cluster"]: row["brokers"] for row in rows(target, "balance_clusters")}
    assert brokers == {"eu": 2, "us/b1": 1, "us/b2": 1}
    check(target, "eu", forecast(inputs, CYCLES))


@pytest.mark.parametrize("length", [30, 10_000])
def test_metrics_that_are_cut_are_named_in_the_forecast_of_raw_answers(
    spark: SparkSession, tmp_path: Path, length: int
) -> None:
    """Before they name a usage, and after."""
    source, target = tmp_path / "in", tmp_path / "out"
    shutil.copytree(PAIR, source / "eu")
    broker = read_shed_inputs(PAIR).loads[0].broker
    (metrics,) = source.rglob(f"brokers/{broker}/admin/v2/broker-stats/metrics.json")
    metrics.write_bytes(metrics.read_bytes()[:length])
    result = run(spark, "balance", source, target, cycles="1")
    damaged = [row["file"] for row in rows(target, "quarantine") if row["job"] == "balance" and row["rows"]]
    assert damaged == [str(metrics.relative_to(source))]
    assert result.summary["tables"]["quarantine"] == 1  # type: ignore[index]
    assert broker not in {row["broker"] for row in rows(target, "balance_brokers")}


def test_without_loads_the_reason_is_the_load_manager_where_settings_name_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    said = []
    for name, settings in (("modular", {}), ("extensible", dict(SHEDDERS[4]))):
        save(tmp_path / name / "runtime-configuration.json", {**settings, "loadBalancerSheddingEnabled": "true"})
        with pytest.raises(InputError) as fault:
            run(spark, "balance", tmp_path / name, tmp_path / f"out-{name}")
        said.append(str(fault.value))
    assert NO_LOAD_REPORT in said[0] and EXTENSIBLE_REPORTS_NOTHING in said[1]
