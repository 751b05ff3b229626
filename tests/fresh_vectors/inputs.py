"""New inputs out of those of the kept vectors: numbers that tie, vanish or move a little, entries that come and go."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

Case = dict[str, Any]

ANSWERED: Final = {
    "shed_overload": ("shed_overload",),
    "shed_threshold": ("shed_threshold",),
    "shed_uniform": ("shed_uniform",),
    "shed_avg": ("shed_avg",),
    "place_avg": ("place_avg",),
    "place_least_rate": ("place_least_rate",),
    "place_least_resource": ("place_least_resource", "place_least_resource_extensible"),
    "round_robin": ("round_robin",),
    "transfer_shedder": ("transfer_shedder",),
    "bundle_choice": (
        "map_order",
        "partition_sort",
        "shed_overload",
        "shed_threshold",
        "shed_uniform",
        "shed_avg",
    ),
}
"""The kinds of each family that ``Vectors.java`` answers."""
_CLOCK: Final = frozenset({"updatedAt", "recentBrokers", "loadBalancerBrokerLoadDataTTLInSeconds"})
"""Times are compared with the clock of the Java process: they stay far from their limits if nobody touches them."""
_WHOLE: Final = frozenset({"topics", "consumers", "producers", "cache", "k", "count"})
_HIGHEST_INT: Final = 2**31 - 1
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_NEAR: Final = (0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 1.5, 2.0, 10.0)


@cache
def seeds(folder: Path, *, with_clusters: bool = False) -> dict[str, list[Case]]:
    """The kept cases of each family that can be answered, without their answers.

    ``with_clusters``: the namespace of a broker's service level agreement has its cluster's name, as before 4.2.
    """
    found: dict[str, list[Case]] = {}
    for family, kinds in ANSWERED.items():
        text = (folder / f"{family}.jsonl").read_text(encoding="utf-8")
        if with_clusters:
            text = text.replace('"sla-monitor/', '"sla-monitor/east/')
        lines = [json.loads(line) for line in text.splitlines()]
        # What policies forbid is asked of services that no plain map stands in for.
        found[family] = [
            {"kind": line["kind"], "in": line["in"]}
            for line in lines
            if line["kind"] in kinds
            and not any("policies" in step for step in line["in"].get("steps", ()) if isinstance(step, dict))
            and "policies" not in line["in"]
        ]
    return found


def fresh(kept: list[Case], count: int, draw: random.Random) -> Iterator[Case]:
    """New cases of a family, each a kept one after a few changes."""
    by_kind: dict[str, list[Case]] = {}
    for case in kept:
        by_kind.setdefault(case["kind"], []).append(case)
    for _ in range(count):
        case = copy.deepcopy(draw.choice(kept))
        others = by_kind[case["kind"]]
        for _ in range(draw.choice((1, 1, 2, 3, 5, 8))):
            draw.choice(_CHANGES)(case, draw.choice(others), draw)
        yield case


def _settings_of_another(case: Case, other: Case, draw: random.Random) -> None:
    """Take some settings of another case, or let some go."""
    mine, theirs = case["in"].get("config"), other["in"].get("config", {})
    if mine is None:
        return
    for name in set(mine) | set(theirs):
        if name not in _CLOCK and draw.random() < 0.5:
            if name in theirs:
                mine[name] = theirs[name]
            else:
                del mine[name]


def _numbers(case: Case, _other: Case, draw: random.Random) -> None:
    """Move some numbers a little or far, or make them equal to others of the same name."""
    places = [place for place in _leaves(case["in"]) if not isinstance(place[0], dict) or place[1] not in _CLOCK]
    if not places:
        return
    for _ in range(draw.choice((1, 2, 4, 16))):
        holder, key, name = draw.choice(places)
        alike = [place for place in places if place[2] == name]
        value = holder[key]
        if draw.random() < 0.5:
            source, at, _ = draw.choice(alike)
            holder[key] = source[at]
        elif isinstance(value, int) and (name in _WHOLE or not isinstance(holder, dict)):
            holder[key] = min(max(0, value + draw.choice((-1, 1, 2))), _HIGHEST_INT)
        else:
            moved = value * draw.choice(_NEAR)
            holder[key] = round(moved, draw.choice((0, 2, 3))) if draw.random() < 0.5 else moved
        if isinstance(value, int) and name in _WHOLE:
            holder[key] = min(int(holder[key]), _HIGHEST_INT)


def _leaves(tree: Any, name: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Numbers outside of settings: what holds each, its key there, and the name that it goes by."""
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in children:
        called = key if isinstance(key, str) else name
        if called in ("config", "k", *_CLOCK):
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield tree, key, called
        else:
            yield from _leaves(value, called)


def _entries(case: Case, _other: Case, draw: random.Random) -> None:
    """Let entries of a list go, or change their order."""
    lists = [each for each in _lists(case["in"]) if len(each) > 1]
    if not lists:
        return
    chosen = draw.choice(lists)
    if draw.random() < 0.5:
        draw.shuffle(chosen)
    else:
        chosen[:] = [entry for entry in chosen if draw.random() < 0.8] or chosen[:1]


def _lists(tree: Any) -> Iterator[list[Any]]:
    """Lists of names, and of entries with a name."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name != "config":
                yield from _lists(value)
    elif isinstance(tree, list) and not any(isinstance(each, (int, float)) or each in _NO_NUMBERS for each in tree):
        yield tree
        for entry in tree:
            yield from _lists(entry)


def _steps(case: Case, _other: Case, draw: random.Random) -> None:
    """Go through some steps again; what a later step leaves out stays as it was."""
    steps = case["in"].get("steps")
    if steps and isinstance(steps[0], dict) and len(steps) < 12:
        at = draw.randrange(len(steps))
        again = copy.deepcopy(steps[at])
        if draw.random() < 0.5:
            _numbers({"in": again}, case, draw)
        steps.insert(draw.randrange(at + 1, len(steps) + 1), again)


def _recently(case: Case, _other: Case, draw: random.Random) -> None:
    """Name other bundles as unloaded shortly before."""
    for step in case["in"].get("steps", [case["in"]]):
        for name in ("recentlyUnloaded", "recentBundles"):
            if isinstance(step, dict) and name in step:
                bundles = [entry["bundle"] for entry in step.get("bundles", ())]
                bundles += [row[0] for rows in step.get("top", {}).values() for row in rows]
                step[name] = draw.sample(bundles, min(len(bundles), draw.randrange(4)))


Change = Callable[[Case, Case, random.Random], None]
_CHANGES: Final[tuple[Change, ...]] = (_settings_of_another, _numbers, _numbers, _entries, _steps, _recently)
