"""Checkers of the filters that come before every placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.balance.ahead.extensible import candidates_of
from engine.balance.brokers import BrokerLoad
from engine.balance.filters import (
    anti_affinity,
    below_max_topics,
    below_max_topics_extensible,
    least_servicing,
    newest_version,
    same_load_manager,
    unload_is_useful,
)
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.settings import LoadSettings
from engine.errors import Rejection
from tests.golden.harness import Line, checks
from tests.golden.load_lines import known_of, rules_in_force


def _answer(candidates: Sequence[str]) -> dict[str, Any]:
    return {"candidates": sorted(candidates)}


@checks("most_servicing")
def most_servicing(line: Line) -> None:
    given = line["in"]
    namespace = given["bundle"].rpartition("/")[0]
    served: dict[str, set[str]] = {}
    loaded = ((broker, name) for broker, names in given["loaded"].items() for name in names)
    for broker, name in (*loaded, *given.get("added", ())):
        served.setdefault(broker, set()).add(name)
    counts = {broker: sum(name.rpartition("/")[0] == namespace for name in names) for broker, names in served.items()}
    assert _answer(least_servicing(given["candidates"], counts)) == line["out"]


@checks("filters", kind="topic_count_modular")
def topic_count_modular(line: Line) -> None:
    given = line["in"]
    known = {entry["broker"]: known_of(entry) for entry in given["brokers"]}
    assert _answer(below_max_topics(given["candidates"], known, given["maxTopics"])) == line["out"]


@checks("filters", kind="topic_count_extensible")
def topic_count_extensible(line: Line) -> None:
    given = line["in"]
    topics = {entry["broker"]: entry.get("topics", 0) for entry in given["loads"]}
    assert _answer(below_max_topics_extensible(given["candidates"], topics, given["maxTopics"])) == line["out"]


@checks("filters", kind="class_filter")
def class_filter(line: Line) -> None:
    given = line["in"]
    classes = {entry["broker"]: entry.get("loadManager") for entry in given["brokers"]}
    expected = given["config"]["loadManagerClassName"]
    assert _answer(same_load_manager(given["candidates"], classes, expected)) == line["out"]


@checks("filters", kind="version_filter")
def version_filter(line: Line) -> None:
    given = line["in"]
    if not given["config"]["preferLaterVersions"]:
        assert _answer(given["candidates"]) == line["out"]
        return
    newest = newest_version(given["candidates"], _versions(line), rules_in_force())
    if isinstance(newest, Rejection):
        assert {**_answer(given["candidates"]), "error": newest.error} == line["out"]
    else:
        assert _answer(newest) == line["out"]


@checks("filters", kind="version_filter_extensible")
def version_filter_extensible(line: Line) -> None:
    given, versions = line["in"], _versions(line)
    settings = LoadSettings(preferLaterVersions=given["config"]["preferLaterVersions"])
    loads = {name: BrokerLoad(name, version=versions.get(name)) for name in given["candidates"]}
    left = candidates_of("t/n/0x0_0x1", loads, settings, ClusterPolicies(), rules_in_force()).brokers
    assert sorted(left) == line["out"]["candidates"]
    asks = settings.preferLaterVersions and given["candidates"]
    newest = newest_version(given["candidates"], versions, rules_in_force()) if asks else None
    assert line["out"].get("error") == (newest.error if isinstance(newest, Rejection) else None)


def _versions(line: Line) -> dict[str, str | None]:
    return {entry["broker"]: entry.get("version") for entry in line["in"]["brokers"]}


@checks("filters", kind="anti_affinity")
def group(line: Line) -> None:
    given = line["in"]
    domains = given.get("domains") if given["config"]["failureDomainsEnabled"] else None
    assert _answer(anti_affinity(given["candidates"], given["counts"], domains)) == line["out"]


@checks("filters", kind="anti_affinity_unload")
def group_unload(line: Line) -> None:
    given = line["in"]
    useful = unload_is_useful(given["candidates"], given["counts"])
    assert {"unload": useful} == line["out"]
