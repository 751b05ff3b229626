"""A recording: what was done step by step, and the raw answer to each request.

With a ``scenario.json`` the steps are those it names. Without one each file is a moment of its own: nothing is known
about what happened between two files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.admin.files import AnswerFile, FilesRead, read_files
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.namespaces import decode_load_report
from engine.admin.naming import settings_of
from engine.admin.requests import AdminRequest, parse_request
from engine.admin.text import plain_json, raw_object
from engine.config import BrokerSettings
from engine.errors import InputError, Problem

MAX_PARTITIONS: Final = 100_000
"""A limit of this comparison, against typing errors that would fill the memory."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request and its answer. ``status`` is None where it is not told; ``answered`` False: it never came.

    ``data`` is plain JSON (b"" without a file); ``redirected`` marks an answer that only names another broker.
    """

    request: AdminRequest
    status: int | None
    file: str
    data: bytes
    kind: AnswerKind
    body: object = None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Person:
    """A consumer as the scenario introduces it."""

    name: str
    priority_level: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after one change. ``connected`` are the scenario's own ids, in connect order; None: not told.

    ``notices``: id -> (topic or partition, is active) in order of arrival. ``delivered``: partition -> id -> messages.
    """

    label: str
    answers: tuple[Answer, ...]
    connected: tuple[str, ...] | None = None
    notices: Mapping[str, tuple[tuple[str, bool], ...]] | None = None
    delivered: Mapping[str, Mapping[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class SplitRecord:
    """A split told outside of the steps, with the lists before and after it."""

    namespace: str
    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    status: int | None
    before: tuple[int, ...]
    after: tuple[int, ...]
    topics_in_bundle: int | None = None


@dataclass(frozen=True, slots=True)
class ToldSplit:
    """A split that the scenario lists beside its steps, with its four files: before, positions, rates, after."""

    bundle: str
    algorithm: str
    positions: tuple[int, ...]
    status: int | None
    files: tuple[tuple[str, bytes], ...]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything a folder tells. ``named_settings`` are those the scenario sets; the others have their defaults."""

    path: str
    has_scenario: bool
    version: str | None
    version_from_load_report: bool
    settings: BrokerSettings
    named_settings: Mapping[str, str]
    roster: Mapping[str, Person]
    topic: str
    subscription: str
    subscription_type: str
    partitions: int
    namespace: str
    bundle_count: int | None
    flag_known: bool | None
    flag_in_configuration: tuple[str | None] | None
    steps: tuple[Step, ...]
    changes: tuple[SplitRecord, ...] = ()
    told_splits: tuple[ToldSplit, ...] = ()
    automatic_splits: int = 0
    passed_over: tuple[str, ...] = ()
    untold: tuple[tuple[str, int], ...] = ()
    problems: tuple[Problem, ...] = field(default=())
    strangers: Mapping[str, int] = field(default_factory=dict)
    """Who is connected in some step without standing in the roster, numbered after it, the same in all steps."""


# Members of a scenario and of its steps that are read; all others hold facts of kinds that are not modelled, or talk.
_STEP_FACTS = {"received", "earlier_now_received", "received_by_all", "received_by_gap", "received_by_others"}
_STEP_FACTS |= {"key_to_partition", "partitions_in_order", "wire_result", "client_result", "message_id", "accepted"}


def load_recording(path: Path) -> Recording:
    """Read a folder (or one file). Raises ``InputError`` when there is nothing to read."""
    read = read_files(path)
    problems = list(read.problems)
    plain: dict[str, AnswerFile] = {}
    for file in read.files:
        data, found = plain_json(file.data, file.name)
        problems += found
        plain[file.name] = AnswerFile(file.name, data)
    scenario_file = next(
        (file for file in plain.values() if recognise(file.name, file.data) is AnswerKind.SCENARIO), None
    )
    if scenario_file is None:
        return _without_scenario(path, read, plain, problems)
    try:
        scenario = msgspec.json.decode(scenario_file.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise InputError(f"{path}: {scenario_file.name} cannot be read: {fault}") from fault
    assert isinstance(scenario, dict), "recognised as a scenario"
    return _with_scenario(
        path, read.passed_over, Files(plain, scenario_file.name, {scenario_file.name}, problems), scenario
    )


def _without_scenario(path: Path, read: FilesRead, plain: dict[str, AnswerFile], problems: list[Problem]) -> Recording:
    steps: list[Step] = []
    for file in plain.values():
        kind = recognise(file.name, file.data)
        pieces = [(file.name, file.data, kind)]
        if kind is AnswerKind.MANY:
            members, more = raw_object(file.data, file.name)
            problems += more
            pieces = [(name, bytes(raw), recognise(name, bytes(raw))) for name, raw in members.items()]
        for name, data, inner in pieces:
            steps.append(Step(name, (Answer(AdminRequest("GET", ""), None, name, data, inner),)))
    version = _version_of(plain)
    return Recording(
        path=str(path),
        has_scenario=False,
        version=version,
        version_from_load_report=version is not None,
        settings=BrokerSettings(),
        named_settings={},
        roster={},
        topic="",
        subscription="",
        subscription_type="",
        partitions=0,
        namespace="",
        bundle_count=None,
        flag_known=None,
        flag_in_configuration=None,
        steps=tuple(steps),
        passed_over=read.passed_over,
        problems=tuple(problems),
    )


def _version_of(plain: Mapping[str, AnswerFile]) -> str | None:
    for file in plain.values():
        if recognise(file.name, file.data) is AnswerKind.LOAD_REPORT:
            report = decode_load_report(file.data, file.name).good
            if report is not None and report.broker_version:
                return report.broker_version
    return None


@dataclass(slots=True)
class Files:
    """The files beside a scenario, those of them that it names, and what is wrong."""

    plain: Mapping[str, AnswerFile]
    scenario: str
    used: set[str]
    problems: list[Problem]

    def data(self, name: str) -> bytes:
        """The text of a file the scenario names, packed or not; b"" and a problem when it is missing."""
        file = next(
            (self.plain[each] for each in (name, f"{name}.gz", name.removesuffix(".gz")) if each in self.plain), None
        )
        if file is not None:
            self.used.add(file.name)
            return file.data
        if name.endswith((".json", ".json.gz")):
            advice = "record it again, or take it out of the scenario"
            problem = Problem(self.scenario, name, "a file that the scenario names is missing", advice)
            if problem not in self.problems:
                self.problems.append(problem)
        return b""


def _with_scenario(path: Path, passed_over: tuple[str, ...], files: Files, scenario: dict[str, Any]) -> Recording:
    steps: list[Step] = []
    untold: dict[str, int] = {}
    for number, raw in enumerate(_dicts(scenario.get("steps")), 1):
        answers = tuple(_answer(each, files) for each in _dicts(raw.get("answers")))
        steps.append(_step(raw, str(raw.get("step", number)), answers))
        for name in raw.keys() & _STEP_FACTS:
            untold[name] = untold.get(name, 0) + 1
    told_splits = tuple(_told_split(raw, files) for raw in _dicts(scenario.get("splits")) if "before" in raw)
    unused = tuple(name for name in files.plain if name not in files.used)
    named = scenario.get("broker_settings")
    version = _text(scenario.get("pulsar_version")) or None
    from_report = None if version else _version_of(files.plain)
    flag_known = scenario.get("flag_known_to_release")
    count = scenario.get("bundles")
    roster = _roster(scenario)
    strangers = dict.fromkeys(who for step in steps for who in step.connected or () if who not in roster)
    return Recording(
        path=str(path),
        has_scenario=True,
        version=version or from_report,
        version_from_load_report=version is None and from_report is not None,
        settings=settings_of(named) or BrokerSettings(),
        named_settings={name: str(value) for name, value in named.items()} if isinstance(named, dict) else {},
        roster=roster,
        topic=_text(scenario.get("topic")),
        subscription=_text(scenario.get("subscription")),
        subscription_type=_text(scenario.get("type")),
        partitions=_partitions(scenario, files),
        namespace=_text(scenario.get("namespace")),
        bundle_count=_whole(count),
        flag_known=flag_known if isinstance(flag_known, bool) else None,
        flag_in_configuration=_flag_text(scenario),
        steps=tuple(steps),
        changes=_changes(scenario),
        told_splits=told_splits,
        automatic_splits=sum("new_boundaries" in split for split in _dicts(scenario.get("splits"))),
        passed_over=(*passed_over, *unused),
        untold=tuple(sorted(untold.items())),
        strangers={who: number for number, who in enumerate(strangers, len(roster))},
        problems=tuple(files.problems),
    )


def _partitions(scenario: dict[str, Any], files: Files) -> int:
    count = _whole(scenario.get("partitions")) or 0
    if 0 <= count <= MAX_PARTITIONS:
        return count
    reason = f"{count} partitions: from 0 to {MAX_PARTITIONS} are taken"
    files.problems.append(Problem(files.scenario, "$.partitions", reason, "notices and deliveries are not compared"))
    return 0


def _flag_text(scenario: dict[str, Any]) -> tuple[str | None] | None:
    if "flag_in_runtime_configuration" not in scenario:
        return None
    value = scenario["flag_in_runtime_configuration"]
    return (None if value is None else _text(value),)


def _told_split(raw: dict[str, Any], files: Files) -> ToldSplit:
    answer = raw.get("answer")
    positions = raw.get("positions_given")
    return ToldSplit(
        _text(raw.get("bundle")),
        _text(raw.get("algorithm")),
        tuple(each for each in positions if isinstance(each, int)) if isinstance(positions, list) else (),
        _whole(answer.get("status")) if isinstance(answer, dict) else None,
        tuple(
            (part, files.data(_text(raw[part]))) for part in ("before", "positions", "rates", "after") if raw.get(part)
        ),
        {part: _text(raw[part]) for part in ("before", "positions", "rates", "after") if raw.get(part)},
    )


def _answer(raw: dict[str, Any], files: Files) -> Answer:
    request = parse_request(_text(raw.get("request")))
    status = _whole(raw.get("status"))
    name = _text(raw.get("file"))
    data = files.data(name) if name else b""
    kind = recognise(name, data) if data else AnswerKind.OTHER
    return Answer(request, status, name, data, kind, raw.get("body"), "no_answer_after_s" not in raw)


def _step(raw: dict[str, Any], label: str, answers: tuple[Answer, ...]) -> Step:
    connected = raw.get("connected")
    notices = raw.get("notices")
    delivered = raw.get("delivered")
    return Step(
        label,
        answers,
        tuple(_text(each) for each in connected) if isinstance(connected, list) else None,
        _notices(notices) if isinstance(notices, dict) else None,
        _delivered(delivered) if isinstance(delivered, dict) else None,
    )


def _notices(raw: dict[str, Any]) -> dict[str, tuple[tuple[str, bool], ...]]:
    return {
        who: tuple((_text(pair[0]), bool(pair[1])) for pair in told if isinstance(pair, list) and len(pair) == 2)
        for who, told in raw.items()
        if isinstance(told, list)
    }


def _delivered(raw: dict[str, Any]) -> dict[str, dict[str, int]] | None:
    """Only the form partition -> consumer -> number of messages; lists of keys are Key_Shared's."""
    found: dict[str, dict[str, int]] = {}
    for partition, counts in raw.items():
        if not isinstance(counts, dict):
            return None
        found[partition] = {who: count for who, count in counts.items() if isinstance(count, int)}
    return found


def _roster(scenario: dict[str, Any]) -> dict[str, Person]:
    people: dict[str, Person] = {}
    for place, raw in enumerate(_items(scenario.get("names"))):
        people[str(place)] = Person(_text(raw))
    for place, raw in enumerate(_items(scenario.get("consumers_in_join_order"))):
        if isinstance(raw, dict):
            level = _whole(raw.get("priority_level")) or 0
            people[_text(raw.get("id", place))] = Person(_text(raw.get("name")), level)
        else:
            people[_text(raw)] = Person(_text(raw))
    for raw in _dicts(scenario.get("steps")):
        connected = raw.get("connected")
        if "name" in raw and isinstance(connected, list) and connected:
            joined = _text(connected[-1])
            if joined not in people:
                people[joined] = Person(_text(raw["name"]), _whole(raw.get("priority_level")) or 0)
    return people


def _changes(scenario: dict[str, Any]) -> tuple[SplitRecord, ...]:
    found: list[SplitRecord] = []
    for raw in _dicts(scenario.get("changes")):
        before, after = _boundaries(raw.get("boundaries_before")), _boundaries(raw.get("boundaries_after"))
        if before and after:
            positions = raw.get("positions_given")
            given = tuple(p for p in positions if isinstance(p, int)) if isinstance(positions, list) else ()
            found.append(
                SplitRecord(
                    _text(raw.get("namespace")),
                    _text(raw.get("bundle")),
                    _text(raw.get("algorithm")),
                    given,
                    _whole(raw.get("status")),
                    before,
                    after,
                    _whole(raw.get("topics_in_bundle")),
                )
            )
    return tuple(found)


def _boundaries(raw: object) -> tuple[int, ...]:
    try:
        return tuple(int(each, 16) for each in raw) if isinstance(raw, list) else ()
    except (TypeError, ValueError):
        return ()


def _items(items: object) -> list[Any]:
    return items if isinstance(items, list) else []


def _dicts(items: object) -> list[dict[str, Any]]:
    return [item for item in _items(items) if isinstance(item, dict)]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
