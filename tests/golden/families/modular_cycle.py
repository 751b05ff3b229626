"""Checker of the modular manager as a whole: reports, look-ups, shedding cycles, time."""

from __future__ import annotations

from typing import Any

from engine.balance.brokers import BrokerLoad, report_of
from engine.balance.filters import IsolationPolicy
from engine.balance.leadership.placement import look_up
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.shedding import shed
from engine.balance.leadership.state import Leader, LeaderState, elected, reports_read
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import check_placement, in_force
from engine.balance.settings import MODULAR_CLASS
from engine.balance.shedding.strategies import AVERAGE, check_shedder
from engine.errors import Rejection
from tests.golden.harness import Line, checks
from tests.golden.load_lines import Given, load_of, rules_in_force, settings_of, stats_of, written


def _smallest(_: str, placement: Placement) -> str:
    """What replaces a draw in these lines."""
    return min(placement.answers)


def _report(entry: Given) -> BrokerLoad:
    stats = [stats_of(name, each) for name, each in entry["stats"].items()]
    read = load_of({**entry, "stats": {}})
    return report_of(
        read.broker,
        stats,
        cpu=read.cpu,
        direct_memory=read.direct_memory,
        bandwidth_in=read.bandwidth_in,
        bandwidth_out=read.bandwidth_out,
        version=entry.get("version"),
        load_manager=entry.get("loadManager", MODULAR_CLASS),
        persistent_topics=entry.get("persistent", True),
    )


def _leader(given: Given) -> Leader:
    isolation = tuple(
        IsolationPolicy(tuple(row["namespaces"]), tuple(row["primary"]), tuple(row["secondary"]), row["minLimit"])
        for row in given.get("isolation", {}).values()
    )
    policies = ClusterPolicies(isolation, given.get("antiAffinity", {}), given.get("domains", {}))
    rules = rules_in_force()
    return Leader(in_force(settings_of(given["config"]), rules), policies, rules)


def _brokers(state: LeaderState) -> dict[str, Any]:
    return {
        broker: [
            written(known.long_term.msg_rate_in),
            written(known.long_term.msg_rate_out),
            sorted(known.preallocated),
        ]
        for broker, known in state.known.items()
    }


def _place(leader: Leader, state: LeaderState, bundle: str) -> tuple[LeaderState, dict[str, Any]]:
    state, answer = look_up(leader, state, bundle, _smallest)
    if isinstance(answer, Rejection):
        return state, {"error": answer.error}
    said: dict[str, Any] = {"by": answer.by, "picked": answer.picked}
    if answer.selection is not None:
        chances = answer.selection.chances
        said["answers"] = sorted(answer.selection.placement.answers)
        assert answer.picked is None or answer.picked in chances
        assert not chances or abs(sum(chances.values()) - 1) < 1e-9
    return state, said


@checks("modular_cycle")
def modular_cycle(line: Line) -> None:
    given = line["in"]
    leader = _leader(given)
    state, now_ms = elected(leader), 0
    for place, (step, expected) in enumerate(zip(given["steps"], line["out"]["steps"], strict=True)):
        answer: dict[str, Any] = {}
        match step["op"]:
            case "reports":
                reports = [_report(entry) for entry in step["brokers"]]
                state = reports_read(leader, state, reports, step["leaderOwns"])
                answer = {"brokers": _brokers(state)}
            case "shed":
                state, cycle = shed(leader, state, now_ms, _smallest)
                unloads = [[each.bundle, each.destination] for each in cycle.carried_out]
                answer = {"unload": unloads, "recent": sorted(state.recently_unloaded)}
            case "place":
                state, answer = _place(leader, state, step["bundle"])
            case "advance":
                now_ms += step["ms"]
            case other:
                raise AssertionError(f"no step {other!r} is known")
        assert answer == expected, f"step {place} ({step['op']})"


@checks("strategy_pairing")
def strategy_pairing(line: Line) -> None:
    """Which strategies a manager starts with; "" stands for the default."""
    named = {name: value for name, value in line["in"].items() if value}
    settings, rules = settings_of(named), rules_in_force()
    refused = check_shedder(settings, rules) or check_placement(settings, rules)
    if refused is not None:
        assert {"error": refused.error} == line["out"]
        return
    taken = in_force(settings, rules)
    shedding, placement = taken.loadBalancerLoadSheddingStrategy, taken.loadBalancerLoadPlacementStrategy
    assert {
        "shedding": shedding,
        "placement": placement,
        "one_object": shedding == placement == AVERAGE,
    } == line["out"]
