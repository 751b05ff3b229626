"""New inputs out of those of the kept vectors: numbers that tie, vanish or move a little, entries that come and go."""

from __future__ import annotations

import copy
import json
import random
import sys
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
        "top_bundles",
        "shed_overload",
        "shed_threshold",
        "shed_uniform",
        "shed_avg",
    ),
    "most_servicing": ("most_servicing",),
    "filters": (
        "topic_count_modular",
        "topic_count_extensible",
        "class_filter",
        "version_filter",
        "version_filter_extensible",
        "anti_affinity",
        "anti_affinity_unload",
    ),
    "broker_load_weighted": ("percent_usage", "max_usage", "broker_load_update", "time_average_broker"),
    "report_needed": ("report_modular", "report_extensible"),
    "modular_cycle": ("modular_cycle",),
}
"""The kinds of each family that ``Vectors.java`` answers."""
_CLOCK: Final = frozenset(
    {
        *("updatedAt", "recentBrokers", "ageMs", "ms"),
        *("loadBalancerBrokerLoadDataTTLInSeconds", "loadBalanceSheddingDelayInSeconds"),
        "loadBalancerSheddingGracePeriodMinutes",
    }
)
"""Times are compared with the clock of the Java process: they stay far from their limits if nobody touches them."""
_WHOLE: Final = frozenset(
    {"topics", "consumers", "producers", "cache", "k", "count", "maxTopics", "numBundles", "minLimit"}
)
_COUNTED: Final = frozenset({"anti_affinity", "anti_affinity_unload"})
"""Kinds of which every number is whole."""
_HIGHEST_INT: Final = 2**31 - 1
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_NEAR: Final = (0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 1.5, 2.0, 10.0)
_ODD: Final = (*_NO_NUMBERS, "NaN", "NaN", -0.0, -1.0, 1e308, 5e-324, 2.0**31, 2.0**63)
_ODD_SETTINGS: Final = (-1, 0, 1, 2, 50, 99, 100, 101, 1000, _HIGHEST_INT)
_VERSIONS: Final = (
    *("4.2.4", "4.2.4", "4.2.4+1", "4.2.4+2", "4.2.4+1.2", "4.2.4-rc.1", "4.2.4-rc.2", "4.2.4-rc.10", "4.2.4-rc"),
    *("4.2.4-SNAPSHOT", "4.2.4-1", "4.2.4-01", "4.2.4-0", "4.2.4-a-b", "4.2.4--", "4.2.4-rc.1+x", "4.2.4-99999999999"),
    *("4.2.4-18446744073709551616", "4.2.4-18446744073709551615", "4.2.4-1a", "4.2.4-.1", "4.2.4+", "4.2.4-", "04.2.4"),
    *("4.2.4-10", "4.2.4-2", "4.2.4--0", "4.2.4--5", "4.2.4-2147483647", "4.2.4-2147483648", "4.2.4-1-", "4.2.4+01"),
    *("4.2", "4", "4.2.4.1", "v4.2.4", "4.2.x", " 4.2.4", "4.2.4 ", "", None, "1234567890.0.0", "2147483647.0.0"),
    *("2147483648.0.0", "-4.2.4", "4.2.4\n", "٤.2.4", "4.2.4-ü", "4.10.0", "4.9.0", "5.0.0-M1", "5.0.0-M10"),
    *(
        "4.2.4+007",
        "4.2.4+07",
        "4.2.4+a.1",
        "9223372036854775807.0.0",
        "4.2.4-9223372036854775808",
    ),
)
_MANAGERS: Final = (
    "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
    "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl",
    "",
    None,
)
_GROUPS: Final = (
    "g",
    "G",
    "i",
    "\u0130",
    "\u0131",
    "s",
    "\u017f",
    "k",
    "\u212a",
    "\u03c3",
    "\u03c2",
    "ss",
    "\xdf",
    "\u1e9e",
)
"""Names of anti-affinity groups, which are compared without regard to case."""
_BROKERS: Final = (
    *("AaAa:80", "BBBB:80", "AaBB:80", "BBAa:80", "ünï-0:8080", "\U0001f40d.example:8080", "[2001:db8::1]:8080"),
    *("a b:8080", ":8080", "host:", "B:8080", "b:8080", "\u0000:8080"),
)
"""Names of brokers that share a hash, or have more in them than letters and digits."""


@cache
def seeds(folder: Path, *, with_clusters: bool = False, with_policies: bool = True) -> dict[str, list[Case]]:
    """The kept cases of each family that can be answered, without their answers.

    ``with_policies``: also those in which policies keep bundles from being moved.
    ``with_clusters``: the namespace of a broker's service level agreement has its cluster's name, as before 4.2.
    """
    results: dict[str, list[Case]] = {}
    for family, kinds in ANSWERED.items():
        # What was asked of one release is a question for any other one.
        files = [folder / f"{family}.jsonl", *sorted(folder.glob(f"*/{family}.jsonl"))]
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        if with_clusters:
            text = text.replace('"sla-monitor/', '"sla-monitor/east/')
        lines = [json.loads(line) for line in text.splitlines()]
        results[family] = [
            {"kind": line["kind"], "in": line["in"]}
            for line in lines
            if line["kind"] in kinds and (with_policies or "policies" not in line["in"])
        ]
    return results


def fresh(kept: list[Case], count: int, draw: random.Random, *, average_alone: bool) -> Iterator[Case]:
    """New cases of a family, each a kept one after a few changes.

    ``average_alone``: a broker starts with ``AvgShedder`` as placement beside another shedder.
    """
    by_kind: dict[str, list[Case]] = {}
    for case in kept:
        by_kind.setdefault(case["kind"], []).append(case)
    for _ in range(count):
        before = draw.choice(kept)
        case = copy.deepcopy(before)
        others = by_kind[case["kind"]]
        for _ in range(draw.choice((1, 1, 2, 3, 5, 8))):
            draw.choice(_CHANGES)(case, draw.choice(others), draw)
        if case == before:  # not every change has something to change
            _numbers(case, before, draw)
        settings = case["in"].get("config", {})
        if settings.get("loadBalancerLoadPlacementStrategy") == "AvgShedder" and not average_alone:
            settings["loadBalancerLoadSheddingStrategy"] = "AvgShedder"
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
        elif isinstance(value, int) and (name in _WHOLE or case["kind"] in _COUNTED or not isinstance(holder, dict)):
            holder[key] = min(max(0, value + draw.choice((-1, 1, 2, 200))), _HIGHEST_INT)
        else:
            moved = min(value * draw.choice(_NEAR), sys.float_info.max)
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
    if draw.random() < 0.02 and isinstance(chosen[0], str):
        chosen.clear()


def _lists(tree: Any) -> Iterator[list[Any]]:
    """Lists of names, and of entries with a name."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name != "config":
                yield from _lists(value)
    elif isinstance(tree, list) and not any(isinstance(each, (int, float)) or each in _NO_NUMBERS for each in tree):
        yield tree
        for entry in tree:
            if not _is_pair(entry):
                yield from _lists(entry)


def _is_pair(entry: Any) -> bool:
    """Whether an entry is a broker and a bundle, of which neither can go."""
    return (
        isinstance(entry, list)
        and len(entry) == 2
        and all(isinstance(name, str) for name in entry)
        and _is_bundle(entry[0]) != _is_bundle(entry[1])
    )


def _steps(case: Case, _other: Case, draw: random.Random) -> None:
    """Go through some steps again; what a later step leaves out stays as it was."""
    steps = case["in"].get("steps")
    if steps and isinstance(steps[0], dict) and len(steps) < 12:
        at = draw.randrange(len(steps))
        again = copy.deepcopy(steps[at])
        if draw.random() < 0.5:
            _numbers({"kind": case["kind"], "in": again}, case, draw)
        steps.insert(draw.randrange(at + 1, len(steps) + 1), again)


def _recently(case: Case, _other: Case, draw: random.Random) -> None:
    """Name other bundles as unloaded shortly before."""
    for step in case["in"].get("steps", [case["in"]]):
        for name in ("recentlyUnloaded", "recentBundles"):
            if isinstance(step, dict) and name in step:
                bundles = [entry["bundle"] for entry in step.get("bundles", ())]
                bundles += [row[0] for rows in step.get("top", {}).values() for row in rows]
                step[name] = draw.sample(bundles, min(len(bundles), draw.randrange(4)))


def _odd_numbers(case: Case, _other: Case, draw: random.Random) -> None:
    """Put what is hardly a number where a rate, a usage or a limit was."""
    if case["kind"] in _COUNTED:
        return
    places = [place for place in _leaves(case["in"]) if place[2] not in _WHOLE]
    if places:
        for holder, key, _ in draw.sample(places, min(len(places), draw.choice((1, 1, 2, 5)))):
            holder[key] = draw.choice(_ODD)


def _odd_settings(case: Case, _other: Case, draw: random.Random) -> None:
    """Move one setting, far or to an end of its range."""
    settings = case["in"].get("config", {})
    names = [
        name
        for name, value in settings.items()
        if name not in _CLOCK and isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if names:
        name = draw.choice(names)
        whole = isinstance(settings[name], int)
        settings[name] = draw.choice(_ODD_SETTINGS) if whole else settings[name] * draw.choice((-1.0, 0.0, 0.1, 3.0))


def _twins(case: Case, _other: Case, draw: random.Random) -> None:
    """Add copies of a broker or a bundle under new names, wherever it is named."""
    names = _names(case["in"])
    if not names:
        return
    name = draw.choice(sorted(names))
    for _ in range(draw.choice((1, 1, 2, 6, 30))):
        twin = _another_bundle(name, draw) if _is_bundle(name) else f"twin-{draw.randrange(10**12)}:8080"
        _add(case["in"], name, twin)


def _names(tree: Any) -> set[str]:
    """The names of brokers and bundles."""
    if isinstance(tree, dict):
        result = {value for key, value in tree.items() if key in ("broker", "bundle") and isinstance(value, str)}
        result |= {key for key in tree if ":" in key or _is_bundle(key)}
        return result.union(*map(_names, tree.values()))
    if isinstance(tree, list):
        return {each for each in tree if isinstance(each, str) and (":" in each or _is_bundle(each))}.union(
            *map(_names, tree)
        )
    return set()


def _is_bundle(name: str) -> bool:
    return "/0x" in name


def _another_bundle(name: str, draw: random.Random) -> str:
    low, high = sorted(draw.sample(range(2**32), 2))
    return f"{name.rpartition('/')[0]}/0x{low:08x}_0x{high:08x}"


def _add(tree: Any, name: str, twin: str) -> None:
    """Put ``twin`` after ``name`` in every list and mapping that has it."""
    if isinstance(tree, dict):
        if name in tree:
            tree[twin] = copy.deepcopy(tree[name])
        for value in tree.values():
            _add(value, name, twin)
    elif isinstance(tree, list):
        for place in range(len(tree) - 1, -1, -1):
            entry = tree[place]
            if entry == name:
                tree.insert(place + 1, twin)
            elif isinstance(entry, list) and name in (entry if _is_pair(entry) else entry[:1]):
                tree.insert(place + 1, [twin if each == name else each for each in entry])
            elif isinstance(entry, dict) and name in (entry.get("broker"), entry.get("bundle")):
                key = "broker" if entry.get("broker") == name else "bundle"
                tree.insert(place + 1, copy.deepcopy(entry) | {key: twin})
            else:
                _add(entry, name, twin)


def _odd_names(case: Case, _other: Case, draw: random.Random) -> None:
    """Rename some brokers, everywhere."""
    brokers = sorted(name for name in _names(case["in"]) if not _is_bundle(name))
    text = json.dumps(case["in"])
    for name in draw.sample(brokers, min(len(brokers), draw.choice((1, 2, 4)))):
        odd = draw.choice(_BROKERS)
        if json.dumps(odd) not in text:
            text = text.replace(json.dumps(name), json.dumps(odd))
    case["in"] = json.loads(text)


def _identities(case: Case, _other: Case, draw: random.Random) -> None:
    """Let brokers say that they run something else."""
    for step in case["in"].get("steps", [case["in"]]):
        if not isinstance(step, dict):
            return
        for entry in step.get("brokers", ()):
            if "version" in entry and draw.random() < 0.5:
                entry["version"] = draw.choice(_VERSIONS)
            if "loadManager" in entry and draw.random() < 0.5:
                entry["loadManager"] = draw.choice(_MANAGERS)


def _members(case: Case, other: Case, draw: random.Random) -> None:
    """Let members of a mapping by name go, or bring those of another case."""
    for name in ("loaded", "counts", "domains", "antiAffinity", "isolation"):
        mine, theirs = case["in"].get(name), other["in"].get(name)
        if isinstance(mine, dict) and isinstance(theirs, dict) and draw.random() < 0.5:
            for key in [key for key in mine if draw.random() < 0.2]:
                del mine[key]
            for key, value in theirs.items():
                if draw.random() < 0.2:
                    mine[key] = copy.deepcopy(value)


def _strategies(case: Case, _other: Case, draw: random.Random) -> None:
    """Let both halves of a leader be ``AvgShedder``, or one broker take only non-persistent topics."""
    if case["kind"] != "modular_cycle":
        return
    if draw.random() < 0.5:
        names = ("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy")
        limits = ("LowThreshold", "HighThreshold", "HitCountLowThreshold", "HitCountHighThreshold")
        case["in"]["config"] |= dict.fromkeys(names, "AvgShedder") | {
            f"loadBalancerAvgShedder{limit}": draw.choice((0, 1, 1, 2, 10)) for limit in limits
        }
    for step in case["in"]["steps"]:
        for entry in step.get("brokers", ()):
            if draw.random() < 0.1:
                entry["persistent"] = draw.random() < 0.5


def _look_ups(case: Case, _other: Case, draw: random.Random) -> None:
    """Look bundles up that nobody has, and let some broker report one of them from then on."""
    steps = case["in"].get("steps", ())
    known = sorted(name for name in _names(case["in"]) if _is_bundle(name))
    if case["kind"] != "modular_cycle" or not known:
        return
    for _ in range(draw.choice((1, 2, 4))):
        name = draw.choice(known)
        bundle = name if draw.random() < 0.3 else _another_bundle(name, draw)
        at = draw.randrange(len(steps) + 1)
        steps.insert(at, {"op": "place", "bundle": bundle})
        for step in steps[at:]:
            if step.get("brokers") and draw.random() < 0.5:
                stats = draw.choice(step["brokers"])["stats"]
                stats[bundle] = copy.deepcopy(draw.choice(list(stats.values()))) if stats else {}


def _groups(case: Case, _other: Case, draw: random.Random) -> None:
    """Name the anti-affinity groups anew, some of them alike but for their case."""
    groups = case["in"].get("antiAffinity")
    if groups:
        for namespace in groups:
            groups[namespace] = draw.choice(_GROUPS)


Change = Callable[[Case, Case, random.Random], None]
_CHANGES: Final[tuple[Change, ...]] = (
    *(_settings_of_another, _numbers, _numbers, _numbers, _entries, _steps, _recently),
    *(_odd_numbers, _odd_settings, _twins, _odd_names, _identities, _members, _strategies, _look_ups, _groups),
)
