"""Brokers of the extensible load manager, which report no load: what their metrics and loaded topics say instead."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.admin.measured_loads import decode_usage, usage_of_text
from engine.admin.moments import read_moments
from engine.admin.shed_inputs import read_shed_inputs, shed_inputs_of
from engine.balance.ahead.extensible import UPDATE_MS, ExtensibleAhead
from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import ShedAhead, ShedStart
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import TransferCycle
from engine.errors import InputError
from tests.engine.scenarios.recordings import RECORDINGS

PAIR = Path(__file__).parents[2] / "samples" / "extensible-pair"
MOMENT = "2026-11-26T17-40-24.903Z"
LEADER, OTHER = "127.0.0.1:36459", "127.0.0.1:41569"
BUSY = "public/busy/0xc0000000_0xe0000000"


def metric(feature: str = "", **metrics: Any) -> dict[str, Any]:
    return {"metrics": metrics, "dimensions": {"metric": "loadBalancing", **({"feature": feature} if feature else {})}}


def metrics_of(*metrics: dict[str, Any]) -> bytes:
    return json.dumps(metrics).encode()


RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    shutil.copytree(PAIR, tmp_path / "pair")
    return tmp_path / "pair"


def metrics_file(pair: Path, broker: str) -> Path:
    return pair / MOMENT / "brokers" / broker / "admin/v2/broker-stats/metrics.json"


def test_usage_is_that_of_the_metrics_and_traffic_that_of_the_topics() -> None:
    inputs = read_shed_inputs(PAIR)
    leader, other = inputs.loads
    assert (leader.broker, other.broker) == (LEADER, OTHER)
    assert (leader.load_average, other.load_average) == (0.940105209350586, 0.91440530469946)
    assert leader.cpu.percent == pytest.approx(94.01052, rel=1e-6)
    assert (leader.direct_memory.usage, leader.bandwidth_in.usage) == (6.25, 5.6000005e-08)
    busy = next(stats for stats in leader.stats if stats.bundle == BUSY)
    assert (busy.topics, busy.producers, busy.consumers) == (4, 3, 5)
    assert busy.msg_rate_in == pytest.approx(70.035)
    assert leader.throughput_in_bytes_per_sec == sum(stats.throughput_in_bytes_per_sec for stats in leader.stats)
    # A broker owns bundles without a loaded topic as well.
    assert "pulsar/127.0.0.1:36459/0x00000000_0xffffffff" in leader.bundles
    assert (inputs.version, inputs.is_extensible, inputs.problems) == ("4.2.4", True, ())
    assert [written.updated_at_ms for written in inputs.written] == [1795714824903] * 2


def test_a_snapshot_of_the_same_answers_has_the_same_loads() -> None:
    snapshot = read_moments(PAIR)[0].snapshot
    inputs = shed_inputs_of([snapshot])
    assert inputs is not None
    assert inputs.loads == read_shed_inputs(PAIR).loads
    assert snapshot.owners[BUSY] == LEADER


def test_the_leader_decides_as_the_real_one_did_in_its_next_cycle() -> None:
    """Its log: 127.0.0.1:36459 has 94.01 %, the sole namespace bundle is overloading it, so nothing is unloaded."""
    inputs = read_shed_inputs(PAIR)
    settings, _ = inputs.settings_over(LoadSettings())
    ahead = shed_ahead(
        ShedStart(inputs.loads, settings, load_manager="extensible", from_metrics=inputs.from_metrics), 2
    )
    assert isinstance(ahead, ShedAhead)
    cycle = ahead.cycles[1].decision
    assert isinstance(cycle, TransferCycle)
    assert (cycle.skip, cycle.decisions) == ("NoBundles", ())
    assert [(pair.fuller, pair.emptier, pair.outcome) for pair in cycle.pairs] == [(LEADER, OTHER, "one-bundle")]
    assert cycle.pairs[0].fuller_load == pytest.approx(0.9401, abs=5e-5)
    assert "loads-from-metrics" in ahead.assumptions


def test_the_average_goes_on_from_what_was_measured_and_is_forgotten_with_a_move() -> None:
    inputs = read_shed_inputs(PAIR)
    settings = LoadSettings(loadBalancerHistoryResourcePercentage=0.75)
    ahead = ExtensibleAhead(ShedStart(inputs.loads, settings, load_manager="extensible"))
    assert ahead.published_loads == {LEADER: 0.940105209350586, OTHER: 0.91440530469946}
    assert UPDATE_MS == 5000
    ahead._update(OTHER)
    assert ahead.published[OTHER].average.load == pytest.approx(0.75 * 0.91440530469946 + 0.25 * 0.9445741, rel=1e-6)
    moved = ahead.world.moved(BUSY, LEADER, OTHER).loads
    assert [moved[broker].load_average for broker in (LEADER, OTHER)] == [None, None]


def test_metrics_of_the_modular_manager_have_no_average_and_are_no_load() -> None:
    assert decode_usage(metrics_of(metric(brk_lb_cpu_usage=5.0))).good is None
    leader_only = metric("max_ema", brk_lb_resource_usage_stats=0.5)
    assert decode_usage(metrics_of(metric(brk_lb_cpu_usage=5.0), leader_only)).good is None
    average = metric("max_ema", brk_lb_resource_usage=0.25)
    members = dict.fromkeys(("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out"), 5.0)
    usage = {f"brk_lb_{name}_usage": percent for name, percent in members.items()}
    whole = decode_usage(metrics_of(leader_only, average, metric("max"), metric(**usage)))
    assert whole.good is not None
    assert (whole.good.cpu_percent, whole.good.load_average) == (5.0, 0.25)


@pytest.mark.parametrize("name", ["cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out", "resource"])
def test_a_usage_that_is_not_printed_is_not_zero(name: str) -> None:
    names = ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")
    usage = {f"brk_lb_{one}_usage": 5.0 for one in names if one != name}
    average = metric("max_ema", **({"brk_lb_resource_usage": 0.25} if name != "resource" else {}))
    assert decode_usage(metrics_of(metric(**usage), average)).good is None
    text = [f'pulsar_lb_{one}_usage{{feature="max_ema"}} 5' for one in (*names, "resource")]
    assert usage_of_text("\n".join(text).encode()) is not None
    assert usage_of_text("\n".join(line for line in text if f"_lb_{name}_usage" not in line).encode()) is None


@pytest.mark.parametrize("usage", ["NaN", -1, 1e308])
def test_an_impossible_usage_costs_its_broker_and_is_named(pair: Path, usage: object) -> None:
    metrics_file(pair, OTHER).write_bytes(metrics_of(metric("max_ema", brk_lb_cpu_usage=usage)))
    inputs = read_shed_inputs(pair)
    assert [load.broker for load in inputs.loads] == [LEADER]
    (problem,) = inputs.problems
    assert problem.source.endswith(f"{OTHER}/admin/v2/broker-stats/metrics.json")
    assert problem.path.startswith("$[0].metrics")


def test_metrics_cut_off_cost_their_broker(pair: Path) -> None:
    file = metrics_file(pair, LEADER)
    whole = file.read_text()
    file.write_text(whole[: whole.index('"brk_lb_cpu_usage"') + 4000])
    inputs = read_shed_inputs(pair)
    assert [load.broker for load in inputs.loads] == [OTHER]
    assert len(inputs.problems) == 1


def test_a_broker_without_its_list_of_topics_has_its_usage_and_no_traffic(pair: Path) -> None:
    metrics_file(pair, LEADER).with_name("topics.json").unlink()
    leader = read_shed_inputs(pair).loads[0]
    assert (leader.topics, leader.bytes_per_sec, leader.load_average) == (0, 0.0, 0.940105209350586)
    assert BUSY in leader.bundles


def test_the_only_broker_is_named_by_what_it_owns(pair: Path) -> None:
    moment = pair / MOMENT
    of_leader = moment / "brokers" / LEADER / "admin/v2/broker-stats"
    shutil.copytree(of_leader, moment / "admin/v2/broker-stats")
    shutil.rmtree(moment / "brokers")
    inputs = read_shed_inputs_or_none(pair)
    assert inputs == []  # two brokers own something, so it could be either
    shutil.rmtree(moment / "admin/v2/brokers/pair" / OTHER.replace(":", "%3A"))
    assert read_shed_inputs_or_none(pair) == [LEADER]


def read_shed_inputs_or_none(folder: Path) -> list[str]:
    inputs = shed_inputs_of(moment.snapshot for moment in read_moments(folder))
    return [] if inputs is None else [load.broker for load in inputs.loads]


def test_answers_about_single_policies_are_no_problem_of_shedding(pair: Path) -> None:
    """``ringside record`` saves them: a bare number or nothing at all."""
    topic = pair / MOMENT / "admin/v2/persistent/public/busy/t-1"
    topic.mkdir(parents=True)
    (topic / "maxUnackedMessagesOnConsumer@applied=true.json").write_text("50000")
    (topic / "dispatchRate@applied=true.json").write_text("")
    assert read_shed_inputs(pair).problems == ()


def report_file(folder: Path, broker: str, at_ms: int) -> Path:
    """A load report of a broker that had the modular manager then."""
    full = {name: {"usage": 10.0, "limit": 100.0} for name in RESOURCES}
    written = {
        "loadReportType": "LocalBrokerData", "webServiceUrl": f"http://{broker}", "lastUpdate": at_ms, **full,
        "lastStats": {}, "bundles": [],
    }  # fmt: skip
    file = folder / "brokers" / broker / "admin/v2/broker-stats/load-report.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(written))
    return file


@pytest.mark.parametrize(
    ("moment", "at_ms"), [("2023-01-01T00-00-00Z", 1672531200000), ("2027-01-01T00-00-00Z", 1798761600000)]
)
def test_the_later_of_a_report_and_of_metrics_counts(pair: Path, moment: str, at_ms: int) -> None:
    """A cluster that changed its load manager between two moments."""
    report_file(pair / moment, LEADER, at_ms)
    averages = {load.broker: load.load_average for load in read_shed_inputs(pair).loads}
    seen = shed_inputs_of(dump.snapshot for dump in read_moments(pair))
    assert seen is not None
    assert {load.broker: load.load_average for load in seen.loads} == averages
    assert averages == {LEADER: 0.940105209350586 if moment < MOMENT else None, OTHER: 0.91440530469946}


def test_a_report_of_the_same_moment_counts_more_than_metrics(pair: Path) -> None:
    report_file(pair / MOMENT, LEADER, 1795714824000)
    loads = {load.broker: load for load in read_shed_inputs(pair).loads}
    assert (loads[LEADER].load_average, loads[LEADER].cpu.percent) == (None, pytest.approx(10.0))


def test_metrics_read_an_hour_apart_lack_no_report(pair: Path) -> None:
    shutil.copytree(pair / MOMENT, pair / "2026-11-26T18-40-24.903Z")
    inputs = read_shed_inputs(pair)
    assert len(inputs.written) == 4
    assert inputs.problems == ()


def test_a_broker_is_named_by_its_place_only_if_one_can_be_called_so(pair: Path) -> None:
    of_other = pair / MOMENT / "brokers" / OTHER
    of_other.rename(of_other.with_name("%1b%5b2J"))
    inputs = read_shed_inputs(pair)
    assert [load.broker for load in inputs.loads] == [LEADER]
    assert [problem.path for problem in inputs.problems] == ["$"]


def test_metrics_about_other_things_may_be_odd(pair: Path) -> None:
    file = metrics_file(pair, LEADER)
    whole = json.loads(file.read_text())
    odd = [{"metrics": {"x": 1}, "dimensions": None}, {"metrics": {"y": float("nan")}, "dimensions": {"feature": 7}}]
    file.write_text(json.dumps([*odd, *whole]))
    inputs = read_shed_inputs(pair)
    assert [load.load_average for load in inputs.loads] == [0.940105209350586, 0.91440530469946]
    assert inputs.problems == ()


def test_faults_of_the_loaded_topics_are_named(pair: Path) -> None:
    file = metrics_file(pair, LEADER).with_name("topics.json")
    answer = json.loads(file.read_text())
    namespace, bundle = BUSY.rsplit("/", 1)
    next(iter(answer[namespace][bundle]["persistent"].values()))["msgRateIn"] = "oops"
    file.write_text(json.dumps(answer))
    inputs = read_shed_inputs(pair)
    assert [problem.source.rpartition("/")[2] for problem in inputs.problems] == ["topics.json"]
    snapshot = read_moments(pair)[0].snapshot
    assert [problem.reason for problem in snapshot.problems] == [problem.reason for problem in inputs.problems]


@pytest.mark.parametrize("text", ["not json at all", '[{"metrics":{"brk_ml_count":1},"dimensions":{}}]'])
def test_metrics_without_usage_alone_are_no_answer(tmp_path: Path, text: str) -> None:
    file = tmp_path / "admin/v2/broker-stats/metrics.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(InputError):
        read_moments(tmp_path)


def test_a_load_report_of_nobody_is_named_in_the_dashboard_as_well(tmp_path: Path) -> None:
    report_file(tmp_path, LEADER, 1)
    report_file(tmp_path, OTHER, 1).write_text('{"lastStats": {}, "pulsarServiceUrl": "", "webServiceUrl": "bro ker"}')
    snapshot = read_moments(tmp_path)[0].snapshot
    assert list(snapshot.broker_loads) == [LEADER]
    (problem,) = snapshot.problems
    assert (problem.source.rpartition("/")[2], problem.path) == ("load-report.json", "$")


def test_topics_without_rates_are_counted_as_0_and_said(pair: Path) -> None:
    listed = pair / MOMENT / "brokers" / LEADER / "admin/v2/broker-stats/topics.json"
    value = json.loads(listed.read_text())
    topics = [stats for bundles in value.values() for bundle in bundles.values()
              for persistent in bundle.values() for stats in persistent.values()]  # fmt: skip
    for stats in topics[:2]:
        del stats["msgRateIn"]
    listed.write_text(json.dumps(value))
    (problem,) = read_shed_inputs(pair).problems
    assert ("2 topics" in problem.reason, problem.source.rpartition("/")[2]) == (True, "metrics.json")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("not json at all <html>", 1),
        ('[{"metrics":{"brk_lb_cpu_usage":1.0},"dimensions":{"metric":"load', 1),
        ('[{"metrics":{"brk_lb_cpu_usage":NaN},"dimensions":{}}]', 0),
        ('{"reason":"not here"}', 0),
    ],
)
def test_metrics_cut_before_they_name_a_usage_are_a_problem(pair: Path, text: str, problems: int) -> None:
    metrics_file(pair, LEADER).write_text(text)
    inputs = read_shed_inputs(pair)
    assert [load.broker for load in inputs.loads] == [OTHER]
    assert [problem.source.rpartition("/")[2] for problem in inputs.problems] == ["metrics.json"] * problems


def test_a_recording_of_the_extensible_manager_has_its_usage_in_the_text_of_metrics() -> None:
    inputs = read_shed_inputs(RECORDINGS / "g-shed-extensible-transfer")
    assert inputs.problems == () and (inputs.version, inputs.is_extensible) == ("4.2.4", True)
    numbers = {load.broker: (load.load_average, load.direct_memory.usage, len(load.stats)) for load in inputs.loads}
    assert numbers == {
        "127.0.0.1:49301": (0.1, 10.0, 5),
        "127.0.0.1:44751": (pytest.approx(0.010667, abs=1e-6), pytest.approx(1.066667, abs=1e-6), 7),
    }


def test_the_text_of_metrics_of_a_modular_broker_is_no_problem() -> None:
    inputs = read_shed_inputs(RECORDINGS / "g-shed-modular-uniform")
    assert not [problem for problem in inputs.problems if "metrics" in problem.source]
    assert not inputs.from_metrics
