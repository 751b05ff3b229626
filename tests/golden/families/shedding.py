"""Checkers of the modular manager's shedders, step by step with their memory."""

from __future__ import annotations

from typing import Any

from engine.balance.java_maps import MapOrder, hash_order
from engine.balance.shedding.average import AverageMemory, destination_key, shed_average
from engine.balance.shedding.threshold import ThresholdMemory, shed_overload, shed_threshold
from engine.balance.shedding.uniform import shed_uniform
from tests.golden.harness import Line, checks
from tests.golden.load_lines import LeaderLines, averages_of, rules_in_force, settings_of, unloads


@checks("bundle_choice", kind="map_order")
def map_order(line: Line) -> None:
    hashed, concurrent = MapOrder("hash"), MapOrder("concurrent")
    for op in line["in"]["ops"]:
        put, gone = ((), (op[1:],)) if op.startswith("-") else ((op,), ())
        hashed, concurrent = hashed.updated(put, remove=gone), concurrent.updated(put, remove=gone)
    copied = hash_order(concurrent)
    assert {"hashMap": list(hashed), "concurrent": list(concurrent), "copied": list(copied)} == line["out"]


@checks("shed_overload")
@checks("bundle_choice", kind="shed_overload")
def overload(line: Line) -> None:
    leader = LeaderLines()
    leader.take(line["in"])
    _, plan = shed_overload(MapOrder("hash"), leader.view(), settings_of(line["in"]["config"]), rules_in_force())
    assert {"unload": unloads(plan)} == line["out"]


@checks("shed_uniform")
@checks("bundle_choice", kind="shed_uniform")
def uniform(line: Line) -> None:
    leader = LeaderLines()
    leader.take(line["in"])
    _, plan = shed_uniform(MapOrder("hash"), leader.view(), settings_of(line["in"]["config"]), rules_in_force())
    assert {"unload": unloads(plan)} == line["out"]


@checks("shed_threshold")
@checks("bundle_choice", kind="shed_threshold")
def threshold(line: Line) -> None:
    leader, memory, answers = LeaderLines(), ThresholdMemory(), []
    settings = settings_of(line["in"]["config"])
    for step in line["in"]["steps"]:
        leader.take(step)
        if "active" in step and rules_in_force().forgets_brokers:
            memory = memory.active(step["active"])
        memory, plan = shed_threshold(memory, leader.view(), settings, rules_in_force())
        answers.append({"unload": unloads(plan), "usage": averages_of(memory.averages)})
    assert {"steps": answers} == line["out"]


@checks("shed_avg")
@checks("bundle_choice", kind="shed_avg")
def average(line: Line) -> None:
    leader, memory, answers = LeaderLines(), AverageMemory(), []
    settings = settings_of(line["in"]["config"])
    for step in line["in"]["steps"]:
        assert step["op"] == "shed"
        leader.take(step)
        memory, plan = shed_average(memory, leader.view(), settings, rules_in_force())
        answers.append(average_answer(leader, memory, unloads(plan)))
    assert {"steps": answers} == line["out"]


def average_answer(leader: LeaderLines, memory: AverageMemory, unloaded: list[list[Any]]) -> dict[str, Any]:
    """What a line has of one step: the plan, where each planned bundle goes by its present numbers, and the hits."""
    moved = [bundle for _, bundles in unloaded for bundle in bundles]
    return {
        "unload": unloaded,
        "destination": {
            bundle: memory.destinations.get(destination_key(bundle, leader.data[bundle], rules_in_force()))
            for bundle in moved
        },
        "high": dict(memory.high),
        "low": dict(memory.low),
    }
