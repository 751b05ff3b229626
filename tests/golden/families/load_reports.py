"""Checkers of a broker's figures, of when it reports them, and of the bundles it reports as its largest."""

from __future__ import annotations

from msgspec.structs import replace

from engine.balance.brokers import (
    BrokerLoadAverage,
    ReportFigures,
    ResourceUsage,
    max_usage,
    overload_usage,
    report_needed,
    time_average,
    weighted_usage,
)
from engine.balance.java_maps import concurrent_order
from engine.balance.top_bundles import MeasuredBundle, comparable, partition_sort, top_bundles
from tests.golden.harness import Line, checks
from tests.golden.load_lines import Given, data_of, load_of, number, rules_in_force, settings_of, stats_of, written


@checks("broker_load_weighted", kind="percent_usage")
def percent_usage(line: Line) -> None:
    given = line["in"]
    assert {"percent": written(ResourceUsage(number(given["usage"]), number(given["limit"])).percent)} == line["out"]


@checks("broker_load_weighted", kind="max_usage")
def usage(line: Line) -> None:
    load, settings = load_of(line["in"]["broker"]), settings_of(line["in"]["config"])
    answer = {"max": written(max_usage(load)), "weighted": written(weighted_usage(load, settings, rules_in_force()))}
    assert answer == line["out"]


@checks("broker_load_weighted", kind="broker_load_update")
def broker_load_update(line: Line) -> None:
    settings, average, answers = settings_of(line["in"]["config"]), BrokerLoadAverage(), []
    for step in line["in"]["steps"]:
        average = (
            BrokerLoadAverage()
            if step.get("clear")
            else average.updated(load_of({"broker": "b:1", **step}), settings, rules_in_force())
        )
        answers.append(
            {
                "max": written(average.max_usage),
                "weightedMaxEMA": written(average.load),
                "msgThroughputEMA": written(average.throughput_average),
            }
        )
    assert {"steps": answers} == line["out"]


@checks("broker_load_weighted", kind="time_average_broker")
def time_average_broker(line: Line) -> None:
    given = line["in"]
    data = {entry["bundle"]: data_of(entry) for entry in given["bundles"]}
    answer = {}
    for name, short in (("short", True), ("long", False)):
        average = time_average(given["owned"], data, short_term=short)
        answer[name] = {
            "rateIn": written(average.msg_rate_in),
            "rateOut": written(average.msg_rate_out),
            "thrIn": written(average.throughput_in_bytes_per_sec),
            "thrOut": written(average.throughput_out_bytes_per_sec),
        }
    assert answer == line["out"]


def _figures(entry: Given, usage: float) -> ReportFigures:
    rates = [number(entry.get(name, 0)) for name in ("rateIn", "rateOut", "thrIn", "thrOut")]
    return ReportFigures(usage, *rates, bundles=entry["numBundles"])


@checks("report_needed", kind="report_modular")
def report_modular(line: Line) -> None:
    given = line["in"]
    settings = settings_of(given["config"])
    last, now = (
        _figures(given[moment], overload_usage(load_of(given[moment]), settings, rules_in_force()))
        for moment in ("last", "now")
    )
    assert {"write": report_needed(last, now, given["ageMs"], settings) is not None} == line["out"]


@checks("report_needed", kind="report_extensible")
def report_extensible(line: Line) -> None:
    given = line["in"]
    last, now = (_figures(given[moment], number(given[moment]["max"])) for moment in ("last", "now"))
    needed = report_needed(last, now, given["ageMs"], settings_of(given["config"]), "extensible")
    assert {"write": needed is not None} == line["out"]


def _measured(entry: Given) -> MeasuredBundle:
    return MeasuredBundle(stats_of(entry["bundle"], entry), entry.get("cache", 0))


@checks("bundle_choice", kind="partition_sort")
def partition(line: Line) -> None:
    given = line["in"]
    bundles = [_measured(entry) for entry in given["bundles"]]
    places = partition_sort([comparable(bundle, rules_in_force()) for bundle in bundles], given["k"])
    assert {"first": [bundles[place].stats.bundle for place in places]} == line["out"]


@checks("bundle_choice", kind="top_bundles")
def top(line: Line) -> None:
    given = line["in"]
    settings = replace(
        settings_of(given.get("config", {})), loadBalancerMaxNumberOfBundlesInBundleLoadReport=given["k"]
    )
    bundles = {entry["bundle"]: _measured(entry) for entry in given["bundles"]}
    reported = top_bundles([bundles[name] for name in concurrent_order(bundles)], settings, rules_in_force())
    assert {"top": [stats.bundle for stats in reported]} == line["out"]
