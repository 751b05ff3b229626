"""A folder of answers, or one file, as answers with the moment and the topic of each.

File names that begin with the same number or the same time were saved at one moment; a folder without such names is one
moment. A ``scenario.json`` counts as it does for every command: it names the topics, the settings and the release.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.admin.documents import OpenedFile, opened_file
from engine.admin.earlier import EarlierAnswers, remembered
from engine.admin.files import AnswerFile
from engine.admin.folders import FilesRead, read_files
from engine.admin.kinds import AnswerKind
from engine.admin.load_reports import decode_load_report
from engine.admin.namespaces import decode_hash_positions, decode_runtime_configuration, decode_topic_list
from engine.admin.requests import (
    ANTI_AFFINITY,
    Naming,
    ScenarioFacts,
    release_text,
    request_of_path,
    scenario_facts,
)
from engine.admin.topics import broker_stats_of, decode_named_stats, partitioned_stats_of
from engine.config import FLAG, BrokerSettings
from engine.errors import Problem
from engine.input import MAX_INPUT_BYTES, Intake
from engine.verify.report import FlagSource, VersionSource, defaults_of

_MOMENT: Final = re.compile(r"\d{4}-?\d\d-?\d\d[T_ -]?\d\d[-:.]?\d\d(?:[-:.]?\d\d)?(?:\.\d+)?Z?|\d*")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as plain JSON. ``file`` is its file name, or its name inside an object of several answers."""

    file: str
    data: bytes
    kind: AnswerKind

    @property
    def moment(self) -> str:
        """The number or the time that the file name begins with; "" without one.

        >>> [Answer(name, b"", AnswerKind.OTHER).moment for name in ("07-stats.json", "2026-11-22T09-48-07Z-x.json")]
        ['07', '2026-11-22T09-48-07Z']
        """
        match = _MOMENT.match(self.file)
        return match[0] if match else ""


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers of a folder, and what they say of the broker.

    ``version`` is None where nothing names the release, and ``version_source`` is what names it; ``settings`` are the
    defaults with what was named on top.
    ``passed_over`` are files that are not answers.
    """

    path: str
    answers: tuple[Answer, ...]
    naming: Naming
    version: str | None
    version_source: VersionSource
    settings: BrokerSettings
    flag_source: FlagSource
    passed_over: tuple[str, ...]
    problems: tuple[Problem, ...]

    def by_moment(self, kinds: Container[AnswerKind] = tuple(AnswerKind)) -> dict[str, list[Answer]]:
        """The answers of these kinds of each moment; one without a number or a time is the whole folder."""
        moments: dict[str, list[Answer]] = {}
        for answer in self.answers:
            if answer.kind in kinds:
                moments.setdefault(answer.moment or "the folder", []).append(answer)
        return moments


def read_folder(path: Path, *, limit_bytes: int = MAX_INPUT_BYTES) -> Answers:
    """Read a folder or one file, at most ``limit_bytes`` of it. Raises ``InputError`` when it has no answers."""
    return answers_of(read_files(path, Intake(limit_bytes)), str(path))


def answers_of(read: FilesRead, path: str, earlier: EarlierAnswers | None = None) -> Answers:
    """Decode files that were read already; ``path`` is their origin. Answers in ``earlier`` are not decoded again."""
    problems = list(read.problems)
    answers: list[Answer] = []
    scenario = ScenarioFacts()
    mirrored = {file.name: request for file in read.files if (request := request_of_path(file.name)) is not None}
    printed = ""
    for file in read.files:
        request = mirrored.get(file.name)
        if request is not None and request.what == "version":
            printed = release_text(file.data) or printed
            continue
        if request is not None and request.what == ANTI_AFFINITY:
            continue  # plain text, and nothing at all for a namespace without a group
        opened = _opened(file, earlier)
        problems += opened.problems
        mirrored |= opened.requests
        for answer in opened.answers:
            if answer.kind is AnswerKind.SCENARIO and answer.name == file.name:
                scenario = scenario_facts(answer.data, file.name)
                problems += scenario.problems
            else:
                answers.append(Answer(answer.name, answer.data, answer.kind))
    version, source = _version(scenario, printed, answers)
    settings, flag_source = _settings(answers, scenario, version)
    return Answers(
        path=path,
        answers=tuple(answers),
        naming=Naming(
            {**scenario.requests, **mirrored}, {name for answer in answers for name in _names_in(answer, earlier)}
        ),
        version=version,
        version_source=source,
        settings=settings,
        flag_source=flag_source,
        passed_over=read.passed_over,
        problems=tuple(problems),
    )


def _version(scenario: ScenarioFacts, printed: str, answers: list[Answer]) -> tuple[str | None, VersionSource]:
    """The release and what names it: the recording, the broker when it was asked, or a load report."""
    if scenario.version:
        return scenario.version, "scenario.json"
    if printed:
        return printed, "broker"
    reported = _reported_version(answers)
    return reported, "load report" if reported else "tried"


def _reported_version(answers: list[Answer]) -> str | None:
    """The release of the first load report that has one."""
    for answer in answers:
        if answer.kind is AnswerKind.LOAD_REPORT:
            report = decode_load_report(answer.data, answer.file).good
            if report is not None and report.broker_version:
                return report.broker_version
    return None


def _settings(answers: list[Answer], scenario: ScenarioFacts, version: str | None) -> tuple[BrokerSettings, FlagSource]:
    for answer in answers:
        if answer.kind is AnswerKind.RUNTIME_CONFIGURATION:
            configuration = decode_runtime_configuration(answer.data, answer.file).good
            if configuration is not None and FLAG in configuration.named:
                return configuration.settings, "run-time configuration"
    if scenario.settings is not None:
        return scenario.settings, "scenario.json"
    return defaults_of(version), "tried"


def _opened(file: AnswerFile, earlier: EarlierAnswers | None) -> OpenedFile:
    return remembered(earlier, "opened", file.name, file.data, lambda _: opened_file(file))


def _names_in(answer: Answer, earlier: EarlierAnswers | None) -> Iterable[str]:
    """The full topic names that an answer holds."""
    match answer.kind:
        case AnswerKind.PARTITIONED_STATS:
            return partitioned_stats_of(answer.data, answer.file, earlier).good
        case AnswerKind.NAMED_STATS:
            return decode_named_stats(answer.data).good
        case AnswerKind.BROKER_STATS_TOPICS:
            return broker_stats_of(answer.data, answer.file, earlier).good.topics
        case AnswerKind.HASH_POSITIONS:
            positions = decode_hash_positions(answer.data).good
            return positions.positions if positions else ()
        case AnswerKind.TOPIC_LIST:
            return decode_topic_list(answer.data).good
    return ()
