"""``load_recording``: a folder, or one file, as a recording.

Owns what a folder is taken for. With a ``scenario.json`` the steps are those it names. Without one each file is a
moment of its own: nothing is known about what happened between two files.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.admin.files import AnswerFile, FilesRead, read_files
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.reading import MAX_INPUT_BYTES, Intake
from engine.admin.requests import AdminRequest
from engine.admin.text import plain_json, raw_object
from engine.errors import InputError, Problem
from tests.lab.recording import Answer, Recording, Step
from tests.lab.scenario import with_scenario
from tests.lab.scenario_files import Files, version_of
from tests.lab.settings import defaults_of


def load_recording(path: Path, *, limit_bytes: int = MAX_INPUT_BYTES) -> Recording:
    """Read a folder or one file, at most ``limit_bytes`` of it. Raises ``InputError`` when there is nothing to read."""
    intake = Intake(limit_bytes)
    read = read_files(path, intake)
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
    return with_scenario(
        path, read.passed_over, Files(plain, scenario_file.name, {scenario_file.name}, problems, intake), scenario
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
    version = version_of(plain)
    return Recording(
        path=str(path),
        has_scenario=False,
        version=version,
        version_from_load_report=version is not None,
        settings=defaults_of(version),
        named_settings={},
        refused_settings=(),
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
