"""Checkers of automatic splitting: both deciders, and the averages behind one of them."""

from __future__ import annotations

from typing import Any

from engine.balance.averages import NUM_LONG_SAMPLES, BundleData, TimeAverageMessageData, new_bundle_data
from engine.balance.limits import BundleStats
from engine.balance.splitting.extensible import CycleDecision, CycleLimits, CycleObservation, SplitMemory, cycle
from engine.balance.splitting.modular import BrokerReport, ModularObservation, modular_decision, visiting_order
from engine.bundles.loads import TopicLoad, topic_load
from engine.config import RANGE_EQUALLY_DIVIDE, BrokerSettings
from engine.names import TopicName, parse_topic_name
from tests.golden.harness import Line, checks
from tests.golden.load_lines import release_in_force

Given = dict[str, Any]
Answer = dict[str, Any]


def _settings(config: Given) -> BrokerSettings:
    return BrokerSettings(
        loadBalancerNamespaceMaximumBundles=config["maxBundles"],
        loadBalancerNamespaceBundleMaxTopics=config["maxTopics"],
        loadBalancerNamespaceBundleMaxSessions=config["maxSessions"],
        loadBalancerNamespaceBundleMaxMsgRate=config["maxMsgRate"],
        loadBalancerNamespaceBundleMaxBandwidthMbytes=config["maxBandwidthMbytes"],
        defaultNamespaceBundleSplitAlgorithm=config.get("algorithm", RANGE_EQUALLY_DIVIDE),
        flowOrQpsDifferenceThresholdPercentage=config.get("diffPercent", 10),
    )


def _rates(entry: Given) -> tuple[float, float, float, float]:
    return entry["rateIn"], entry["rateOut"], entry["thrIn"], entry["thrOut"]


def _stats(entry: Given) -> BundleStats:
    counts = (entry["topics"], entry.get("producers", 0), entry.get("consumers", 0))
    return BundleStats(entry.get("bundle", ""), *counts, *_rates(entry))


@checks("autosplit", kind="autosplit_modular")
@checks("unit_tests", kind="autosplit_modular")
def autosplit_modular(line: Line) -> None:
    given = line["in"]
    reports = {entry["broker"]: tuple(_stats(each) for each in entry["bundles"]) for entry in given["brokers"]}
    order = given["visitOrder"]
    assert list(visiting_order(list(reports))) == order
    observation = ModularObservation(
        tuple(BrokerReport(broker, reports[broker]) for broker in order),
        {
            bundle: TimeAverageMessageData(NUM_LONG_SAMPLES, 1, *_rates(entry))
            for bundle, entry in given["longTerm"].items()
        },
        given["bundleCounts"],
    )
    chosen = modular_decision(observation, _settings(given["config"])).chosen
    assert {"split": chosen} == line["out"]
    expect = line.get("expect", {})
    assert len(chosen) == expect.get("n", len(chosen))
    assert chosen == expect.get("split", chosen)
    assert expect.keys() <= {"n", "split"}


@checks("autosplit", kind="autosplit_extensible")
@checks("unit_tests", kind="autosplit_extensible")
def autosplit_extensible(line: Line) -> None:
    given = line["in"]
    config, topics = given["config"], _by_namespace(given["topics"])
    limits = CycleLimits(config["maxSplitsPerCycle"], config["hitCountThreshold"])
    memory, answers = SplitMemory(), []
    for seen in given["cycles"]:
        observation = CycleObservation(
            tuple(_stats(entry) for entry in seen["bundles"]),
            given["bundleCounts"],
            topics,
            tuple(seen.get("splitting", ())),
            frozenset(seen.get("notOwned", ())),
        )
        memory, decision = cycle(memory, observation, _settings(config), limits, release_in_force())
        answers.append(_cycle_answer(decision))
    assert {"cycles": answers} == line["out"]
    _check_expectation(line.get("expect", {}), answers)


def _cycle_answer(decision: CycleDecision) -> Answer:
    if decision.thrown is not None:
        return {"error": decision.thrown.error, "stage": "thrown", "failures": decision.failures}
    split = {
        verdict.bundle: {"reason": verdict.reason, "children": sorted(str(child) for child in verdict.children)}
        for verdict in decision.chosen
    }
    return {"split": split, "failures": decision.failures}


def _check_expectation(expect: Answer, answers: list[Answer]) -> None:
    """What the Java test itself asserts: how many were chosen and how many failed in each cycle, and the reason."""
    assert expect.keys() <= {"sizes", "failures", "reason"}
    reasons = {choice["reason"] for answer in answers for choice in answer.get("split", {}).values()}
    sizes, failures = expect.get("sizes", ()), expect.get("failures", ())
    assert [len(answer.get("split", ())) for answer in answers][: len(sizes)] == list(sizes)
    assert [answer["failures"] for answer in answers][: len(failures)] == list(failures)
    assert "reason" not in expect or reasons == {expect["reason"]}


def _by_namespace(entries: list[Given]) -> dict[str, list[TopicLoad]]:
    results: dict[str, list[TopicLoad]] = {}
    for entry in entries:
        name = parse_topic_name(entry["name"])
        assert isinstance(name, TopicName), name
        has_stats = not entry.get("noStats")
        rates = _rates(entry) if has_stats else (0.0, 0.0, 0.0, 0.0)
        results.setdefault(name.namespace, []).append(topic_load(entry["name"], *rates, has_stats=has_stats))
    return results


@checks("load_average", kind="bundle_average")
@checks("unit_tests", kind="bundle_average")
def bundle_average(line: Line) -> None:
    given = line["in"]
    # Lines without start values begin at zero, not at the load manager's own start values.
    start = _stats(given["default"]) if "default" in given else BundleStats("")
    data = new_bundle_data(given["shortSamples"], given["longSamples"], start)
    after = []
    for sample in given["samples"]:
        data = data.update(_stats(sample))
        after.append(_data_answer(data))
    assert {"after": after} == line["out"]


def _data_answer(data: BundleData) -> Answer:
    return {"topics": data.topics, "short": _average_answer(data.short_term), "long": _average_answer(data.long_term)}


def _average_answer(average: TimeAverageMessageData) -> Answer:
    return {
        "numSamples": average.num_samples,
        "maxSamples": average.max_samples,
        "rateIn": average.msg_rate_in,
        "rateOut": average.msg_rate_out,
        "thrIn": average.throughput_in_bytes_per_sec,
        "thrOut": average.throughput_out_bytes_per_sec,
    }
