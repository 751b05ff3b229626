"""A ``scenario.json`` as a recording: what it says of the release, the consumers, the topic and the splits.

Owns the members beside the steps; ``scenario_steps`` reads the steps themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from engine.admin.naming import refused_settings, settings_of
from engine.errors import Problem
from tests.lab.balance.records import balancing_told
from tests.lab.key_shared.steps import key_shared_scenario
from tests.lab.members import dicts, items, text, whole
from tests.lab.producers.steps import producers_scenario
from tests.lab.recording import Person, Recording, SplitRecord, ToldSplit
from tests.lab.scenario_files import Files, version_of
from tests.lab.settings import KEY_SHARED_SETTINGS, defaults_of
from tests.lab.steps import steps_of, untold_of

MAX_PARTITIONS: Final = 100_000
"""A limit of this comparison, against typing errors that would fill the memory."""


def with_scenario(path: Path, passed_over: tuple[str, ...], files: Files, scenario: dict[str, Any]) -> Recording:
    """The recording that a decoded scenario and the files beside it tell; problems are added to those of ``files``."""
    steps = steps_of(scenario, files)
    balancing = balancing_told(scenario, path, passed_over, files)
    if balancing is not None:
        passed_over = tuple(name for name in passed_over if name not in balancing.files)
    told_splits = tuple(_told_split(raw, files) for raw in dicts(scenario.get("splits")) if "before" in raw)
    unused = tuple(name for name in files.plain if name not in files.used)
    named = scenario.get("broker_settings")
    version = text(scenario.get("pulsar_version")) or None
    from_report = None if version else version_of(files.plain)
    flag_known = scenario.get("flag_known_to_release")
    count = scenario.get("bundles")
    roster = _roster(scenario)
    strangers = dict.fromkeys(who for step in steps for who in step.connected or () if who not in roster)
    defaults = defaults_of(version or from_report)
    refused = refused_settings(named)
    files.problems += [
        Problem(str(path), f"$.broker_settings.{each.field}", each.message, "its default is in force here; correct it")
        for each in refused
        if each.field not in KEY_SHARED_SETTINGS
    ]
    return Recording(
        path=str(path),
        has_scenario=True,
        version=version or from_report,
        version_from_load_report=version is None and from_report is not None,
        settings=settings_of(named, defaults) or defaults,
        refused_settings=refused,
        named_settings={name: str(value) for name, value in named.items()} if isinstance(named, dict) else {},
        roster=roster,
        topic=text(scenario.get("topic")),
        subscription=text(scenario.get("subscription")),
        subscription_type=text(scenario.get("type")),
        partitions=_partitions(scenario, files),
        namespace=text(scenario.get("namespace")),
        bundle_count=whole(count),
        flag_known=flag_known if isinstance(flag_known, bool) else None,
        flag_in_configuration=_flag_text(scenario),
        steps=steps,
        changes=_changes(scenario),
        told_splits=told_splits,
        automatic_splits=sum("new_boundaries" in split for split in dicts(scenario.get("splits"))),
        passed_over=(*passed_over, *unused),
        untold=untold_of(scenario),
        strangers={who: number for number, who in enumerate(strangers, len(roster))},
        problems=tuple(files.problems),
        key_shared=key_shared_scenario(scenario),
        producers=producers_scenario(scenario),
        balancing=balancing,
        brokers=_brokers(scenario),
    )


def _brokers(scenario: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    raw = scenario.get("brokers")
    if not isinstance(raw, dict):
        return {}
    names = ("id", "serviceUrl", "webServiceUrl")
    return {who: tuple(text(each.get(name)) for name in names) for who, each in raw.items() if isinstance(each, dict)}


def _partitions(scenario: dict[str, Any], files: Files) -> int:
    count = whole(scenario.get("partitions")) or 0
    if 0 <= count <= MAX_PARTITIONS:
        return count
    reason = f"{count} partitions: from 0 to {MAX_PARTITIONS} are taken"
    files.problems.append(Problem(files.scenario, "$.partitions", reason, "notices and deliveries are not compared"))
    return 0


def _flag_text(scenario: dict[str, Any]) -> tuple[str | None] | None:
    if "flag_in_runtime_configuration" not in scenario:
        return None
    value = scenario["flag_in_runtime_configuration"]
    return (None if value is None else text(value),)


def _told_split(raw: dict[str, Any], files: Files) -> ToldSplit:
    answer = raw.get("answer")
    positions = raw.get("positions_given")
    return ToldSplit(
        text(raw.get("bundle")),
        text(raw.get("algorithm")),
        tuple(each for each in positions if isinstance(each, int)) if isinstance(positions, list) else (),
        whole(answer.get("status")) if isinstance(answer, dict) else None,
        tuple(
            (part, files.data(text(raw[part]))) for part in ("before", "positions", "rates", "after") if raw.get(part)
        ),
        {part: text(raw[part]) for part in ("before", "positions", "rates", "after") if raw.get(part)},
    )


def _roster(scenario: dict[str, Any]) -> dict[str, Person]:
    people: dict[str, Person] = {}
    for place, raw in enumerate(items(scenario.get("names"))):
        people[str(place)] = Person(text(raw))
    for place, raw in enumerate(items(scenario.get("consumers_in_join_order"))):
        if isinstance(raw, dict):
            level = whole(raw.get("priority_level")) or 0
            people[text(raw.get("id", place))] = Person(text(raw.get("name")), level)
        else:
            people[text(raw)] = Person(text(raw))
    for raw in dicts(scenario.get("steps")):
        connected = raw.get("connected")
        if "name" in raw and isinstance(connected, list) and connected:
            joined = text(connected[-1])
            if joined not in people:
                people[joined] = Person(text(raw["name"]), whole(raw.get("priority_level")) or 0)
    return people


def _changes(scenario: dict[str, Any]) -> tuple[SplitRecord, ...]:
    found: list[SplitRecord] = []
    for raw in dicts(scenario.get("changes")):
        before, after = _boundaries(raw.get("boundaries_before")), _boundaries(raw.get("boundaries_after"))
        if before and after:
            positions = raw.get("positions_given")
            given = tuple(p for p in positions if isinstance(p, int)) if isinstance(positions, list) else ()
            found.append(
                SplitRecord(
                    text(raw.get("namespace")),
                    text(raw.get("bundle")),
                    text(raw.get("algorithm")),
                    given,
                    whole(raw.get("status")),
                    before,
                    after,
                    whole(raw.get("topics_in_bundle")),
                )
            )
    return tuple(found)


def _boundaries(raw: object) -> tuple[int, ...]:
    try:
        return tuple(int(each, 16) for each in raw) if isinstance(raw, list) else ()
    except (TypeError, ValueError):
        return ()
