"""Checkers of the placement strategies of both managers."""

from __future__ import annotations

from typing import Any

from engine.balance.averages import new_bundle_data
from engine.balance.java_maps import MapOrder, concurrent_order, hash_order
from engine.balance.placement.strategies import (
    ResourceMemory,
    RoundRobinMemory,
    place_average,
    place_least_load,
    place_least_rate,
    place_least_resource,
    place_round_robin,
    placed_average,
    usage_by_reports,
)
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory, shed_average
from engine.errors import Rejection
from tests.golden.families.shedding import average_answer
from tests.golden.harness import Line, checks
from tests.golden.load_lines import LeaderLines, averages_of, known_of, number, rules_in_force, settings_of, unloads


@checks("place_least_rate")
def least_rate(line: Line) -> None:
    given = line["in"]
    known = {entry["broker"]: known_of(entry) for entry in given["brokers"]}
    placed = place_least_rate(
        list(hash_order(given["candidates"])), known, settings_of(given["config"]), rules_in_force()
    )
    if isinstance(placed, Rejection):
        assert {"error": placed.error} == line["out"]
    else:
        assert {"answers": list(placed.answers)} == line["out"]


@checks("place_least_resource", kind="place_least_resource")
def least_resource(line: Line) -> None:
    given = line["in"]
    leader, memory, answers = LeaderLines(), ResourceMemory(), []
    settings = settings_of(given["config"])
    for step in given["steps"]:
        leader.take(step)
        if "active" in step and rules_in_force().forgets_brokers:
            memory = memory.active(step["active"])
        memory, placed = place_least_resource(
            memory, list(hash_order(step["candidates"])), leader.known, settings, rules_in_force()
        )
        answer: dict[str, Any]
        answer = {"error": placed.error} if isinstance(placed, Rejection) else {"answers": list(placed.answers)}
        answers.append({**answer, "usage": averages_of(memory.averages)})
    assert {"steps": answers} == line["out"]


@checks("place_least_resource", kind="place_least_resource_extensible")
def least_load(line: Line) -> None:
    given = line["in"]
    loads = {entry["broker"]: number(entry["load"]) for entry in given["loads"]}
    placed = place_least_load(list(concurrent_order(given["candidates"])), loads, settings_of(given["config"]))
    assert {"answers": list(placed.answers)} == line["out"]


@checks("place_avg")
def place_avg(line: Line) -> None:
    given = line["in"]
    leader, memory, answers = LeaderLines(), AverageMemory(), []
    settings = settings_of(given["config"])
    for step in given["steps"]:
        leader.take(step)
        if step["op"] == "shed":
            memory, plan = shed_average(memory, leader.view(), settings, rules_in_force())
            answers.append(average_answer(leader, memory, unloads(plan)))
            continue
        memory, answer = _placed(leader, memory, step, line["out"]["steps"][len(answers)], settings)
        answers.append(answer)
    assert {"steps": answers} == line["out"]


def _placed(
    leader: LeaderLines,
    memory: AverageMemory,
    step: dict[str, Any],
    expected: dict[str, Any],
    settings: LoadSettings,
) -> tuple[AverageMemory, dict[str, Any]]:
    rules, bundle = rules_in_force(), step["bundle"]
    data = leader.data.get(bundle, new_bundle_data())
    usage_of = usage_by_reports(leader.known, settings, rules)
    candidates = list(hash_order(step["candidates"]))
    placed = place_average(memory, bundle, data, candidates, rules, usage_of=usage_of, settings=settings)
    if isinstance(placed, Rejection):
        return memory, {"error": placed.error}
    answer = {"answers": list(placed.answers), "picked": expected.get("picked")}
    if not placed.answers:
        assert answer["picked"] is None
        return memory, answer
    assert answer["picked"] in placed.answers
    return placed_average(memory, bundle, data, answer["picked"], rules), answer


@checks("round_robin")
def round_robin(line: Line) -> None:
    given = line["in"]
    memory = RoundRobinMemory(given.get("count", 0))
    selected = []
    for candidates in given["steps"]:
        order = MapOrder("concurrent" if given.get("concurrent") else "hash").updated(candidates)
        memory, placed = place_round_robin(memory, list(order))
        selected.append(placed.answers[0] if placed.answers else None)
    assert {"selected": selected} == line["out"]
