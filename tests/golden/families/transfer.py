"""Checker of ``TransferShedder``, cycle by cycle with its memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.balance.java_maps import MapOrder
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import Movable, PublishedLoad, TransferMemory, TransferView, shed_transfer
from tests.golden.harness import Line, checks
from tests.golden.load_lines import Given, number, rules_in_force, settings_of, written


def _loads(entries: list[Given]) -> dict[str, PublishedLoad]:
    return {
        entry["broker"]: PublishedLoad(
            entry["broker"],
            number(entry["load"]),
            number(entry["thrEma"]),
            number(entry["thrIn"]),
            number(entry["thrOut"]),
            entry["updatedAt"],
        )
        for entry in entries
    }


def _movable(policies: Given | None, settings: LoadSettings, registered: list[str]) -> Movable:
    if policies is None:
        return lambda bundle, source, target: True
    # The filters go over the registered brokers, so another one is never left over.
    barred = {*policies["isolated"], *policies["antiAffinity"]}
    if settings.loadBalancerSheddingBundlesWithPoliciesEnabled:
        barred = set()
    blocked: dict[str, list[str]] = policies["blocked"]

    def movable(bundle: str, source: str, target: str) -> bool:
        removed = blocked.get(bundle, ())
        return (
            bundle.rpartition("/")[0] not in barred
            and "*fail" not in removed
            and (target in registered and target not in removed)
        )

    return movable


@checks("transfer_shedder")
def transfer_shedder(line: Line) -> None:
    given = line["in"]
    settings, memory, order = settings_of(given["config"]), TransferMemory(), MapOrder("concurrent")
    policies = given.get("policies")
    not_owned = {(bundle, broker) for bundle, broker in (policies or {}).get("notOwned", ())}
    loads: dict[str, PublishedLoad] = {}
    top: dict[str, tuple[BundleStats, ...]] = {}
    hidden: list[str] = []
    answers: list[dict[str, Any]] = []
    for step in given["steps"]:
        if "loads" in step:
            loads = _loads(step["loads"])
            order = order.replaced(loads)
        if "top" in step:
            top = {
                broker: tuple(
                    BundleStats(
                        name, throughput_in_bytes_per_sec=number(inward), throughput_out_bytes_per_sec=number(outward)
                    )
                    for name, inward, outward in bundles
                )
                for broker, bundles in step["top"].items()
            }
        hidden = step.get("hidden", hidden)
        memory = replace(
            memory,
            recent_bundles=dict.fromkeys(step.get("recentBundles", memory.recent_bundles), 0),
            recent_brokers=step.get("recentBrokers", memory.recent_brokers),
        )
        view = TransferView(
            tuple(loads[broker] for broker in order),
            tuple(step["available"]),
            top,
            vanished=hidden,
            not_owned=not_owned,
            movable=_movable(policies, settings, step["available"]),
        )
        memory, cycle = shed_transfer(memory, view, settings, rules_in_force())
        decisions = [
            [decision.bundle, decision.source, decision.target, decision.reason] for decision in cycle.decisions
        ]
        answers.append(
            {
                "decisions": decisions,
                "counted": {f"Skip/{cycle.skip}": 1} if cycle.skip else {},
                "hits": memory.hits,
                "avg": written(memory.mean),
                "std": written(memory.deviation),
                "recentBrokers": sorted(memory.recent_brokers),
            }
        )
    assert [_as_set(answer) for answer in answers] == [_as_set(answer) for answer in line["out"]["steps"]]


def _as_set(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer whose decisions are compared without their order, which differs from one Java process to the next."""
    return {**answer, "decisions": sorted(answer["decisions"], key=lambda each: [part or "" for part in each])}
