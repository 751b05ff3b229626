"""Read dumps of several moments, and combine moments to what is known at the last one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field, structs
from msgspec.structs import replace

from engine.admin.earlier import EarlierAnswers
from engine.admin.facts import Counts, Snapshot
from engine.admin.files import STANDARD_INPUT, AnswerFile
from engine.admin.folders import MIRROR_FOLDERS, FilesRead, read_files
from engine.admin.requests import scenario_facts
from engine.admin.rounds import rounds_in
from engine.admin.snapshot import AnswerCollector, is_scenario, no_answer_error
from engine.config import BrokerSettings
from engine.errors import Problem
from engine.input import MAX_INPUT_BYTES, Intake
from engine.text import moment_ms, natural_key

_NUMBERED: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d{1,9})?Z?|\d{1,9})[-_.]")


class Moment(Struct, frozen=True):
    """The answers of one time; ``at_ms`` is in epoch milliseconds, None where the time is unknown.

    ``older`` has the topics, without partitions, whose statistics were read before that, and when.
    """

    at_ms: int | None
    snapshot: Snapshot
    older: Mapping[str, int] = field(default_factory=dict)


def read_moments(
    *sources: str | Path | bytes | AnswerFile,
    limit_bytes: int = MAX_INPUT_BYTES,
    title: str = "",
    earlier: EarlierAnswers | None = None,
    keeps_nameless: bool = False,
) -> tuple[Moment, ...]:
    """Read folders, files and answers in memory as moments in the order of time, as one if nothing distinguishes them.

    A moment is a folder named by time or containing a dump (these are ordered by the latest times in their answers), a
    step of a recording, one of several runs of the same command in a text, or the files whose names begin with the same
    number or time, if another number has the same answer: ``1-stats.json`` and ``2-stats.json`` are two moments,
    ``1-orders.json`` and ``2-refunds.json`` one. Other files belong to all moments. ``keeps_nameless``: statistics of
    an unnamed topic get an invented name, see :func:`nameless_topic`, instead of being a problem. ``title`` is the
    source of the snapshots; default: their sources. ``earlier``: what is the same as there is not decoded again. Raises
    ``InputError`` as :func:`read_answers` does.
    """
    intake = Intake(limit_bytes)
    files: list[AnswerFile] = []
    problems: list[Problem] = []
    for source in sources:
        if isinstance(source, bytes | AnswerFile):
            files.append(source if isinstance(source, AnswerFile) else AnswerFile(STANDARD_INPUT, source))
        else:
            read = read_files(Path(source), intake)
            files += read.files
            problems += read.problems
    if not title:
        title = ", ".join(str(part) if isinstance(part, str | Path) else STANDARD_INPUT for part in sources)
    own_ms = moment_ms(Path(sources[0]).name) if len(sources) == 1 and isinstance(sources[0], str | Path) else None
    scenario = next((file for file in files if is_scenario(file)), None)
    times = scenario_facts(scenario.data, scenario.name).times if scenario is not None else {}
    groups = _grouped([part for file in files for part in rounds_in(file)])
    always = groups.pop("", [])
    moments: list[Moment] = []
    left_out: list[Problem] = []
    refusals: list[Problem] = []
    is_refused = True
    configured: BrokerSettings | None = None
    for group, members in groups.items() or [("", [])]:
        collector = AnswerCollector(limit_bytes, keeps_nameless=keeps_nameless, earlier=earlier)
        collector.add(FilesRead((*always, *members), (), ()))
        refusals += collector.refusals if collector.is_refused else ()
        is_refused &= collector.is_refused or not collector.understood
        if collector.understood:
            at_ms = moment_ms(group) if group else own_ms
            if at_ms is None:
                at_ms = next((times[file.name] for file in members if file.name in times), None)
            if collector.configured:
                configured = collector.settings
            elif scenario is not None:
                # A recording names a few settings for all of its steps; what a broker printed at one has them all.
                collector.settings = configured or collector.settings
            moments.append(Moment(at_ms, collector.snapshot(title)))
        else:
            left_out += collector.problems
    left_out += refusals if is_refused else ()
    if not moments or is_refused:
        in_folder = any(isinstance(source, str | Path) and Path(source).is_dir() for source in sources)
        raise no_answer_error(
            title, len(files), (*problems, *left_out), in_folder=in_folder, answer=collector.last_answer
        )
    if problems or left_out:
        first = moments[0]
        all_problems = (*problems, *left_out, *first.snapshot.problems)
        moments[0] = replace(first, snapshot=structs.replace(first.snapshot, problems=all_problems))
    return _in_order(moments, are_numbered=any(map(_NUMBERED.match, groups)))


def files_of_last_moment(files: Sequence[AnswerFile]) -> tuple[AnswerFile, ...]:
    """The answers of the last moment among these, and those that belong to all moments."""
    groups = _grouped(files)
    last = max(filter(None, groups), key=lambda moment: (moment_ms(moment) or 0, natural_key(moment)), default="")
    kept = {id(file) for group in ("", last) for file in groups.get(group, ())}
    return tuple(file for file in files if id(file) in kept)


def _grouped(files: Sequence[AnswerFile]) -> dict[str, list[AnswerFile]]:
    """The files of each moment, and under "" those of all moments."""
    groups: dict[str, list[AnswerFile]] = {}
    for file in files:
        group = f"{file.name.partition('#')[0]} {file.turn:05}" if file.turn else _moment_of(file.name)
        groups.setdefault(group, []).append(file)
    numbered = [_without_number(file.name) for group in groups if group.isdigit() for file in groups[group]]
    if numbered and len(numbered) == len(set(numbered)) and not any(map(is_scenario, files)):
        # Numbers that only list different answers: 1-orders.json, 2-refunds.json.
        return {"": list(files)} if all(map(str.isdigit, filter(None, groups))) else groups
    return groups


def _without_number(name: str) -> str:
    folder, slash, file = name.rpartition("/")
    return folder + slash + _NUMBERED.sub("", file.removesuffix(".gz").removesuffix(".json"), count=1)


def _in_order(moments: list[Moment], *, are_numbered: bool) -> tuple[Moment, ...]:
    """Sort moments by their times; if none has a time or a number, by the latest times in their answers."""
    times = [moment.at_ms for moment in moments]
    if all(at_ms is None for at_ms in times) and not are_numbered:
        times = [latest_ms(moment.snapshot) or None for moment in moments]
    if None in times:
        return tuple(moments)
    return tuple(moment for _, moment in sorted(zip(times, moments, strict=True), key=lambda pair: pair[0] or 0))


def latest_ms(snapshot: Snapshot) -> int:
    """Return the latest time in the answers, in epoch milliseconds, 0 for none; the answers are not older."""
    times = [written.updated_at_ms for written in snapshot.broker_loads.values()]
    for topic in snapshot.topics.values():
        times.append(topic.last_publish_ms)
        times += (sub.latest_ms for sub in topic.subscriptions)
    return max(times, default=0)


def combined(moments: Sequence[Moment]) -> Snapshot:
    """Combine moments to what is known at the last one: of two answers about one thing the later counts."""
    known = moments[0].snapshot
    for moment in moments[1:]:
        later = moment.snapshot
        known = Snapshot(
            later.source,
            {**known.topics, **later.topics},
            {**known.bundles, **later.bundles},
            {**known.bundle_of_topic, **later.bundle_of_topic},
            known.known_names | later.known_names,
            later.settings or known.settings,
            later.version or known.version,
            (*known.problems, *later.problems),
            _summed(known, later),
            {**known.ledgers, **later.ledgers},
            {**known.topic_policies, **later.topic_policies},
            {**known.namespace_policies, **later.namespace_policies},
            {**known.configuration, **later.configuration},
            later.loaded if later.loaded is not None else known.loaded,
            {**known.owners, **later.owners},
            {**known.broker_loads, **later.broker_loads},
            later.ownership or known.ownership,
            (*known.written_loads, *later.written_loads),
            later.living or known.living,
            {**known.sums, **later.sums},
            {**known.scalable, **later.scalable},
            known.signs | later.signs,
            {**known.metered, **later.metered},
        )
    return known


def _summed(earlier: Snapshot, later: Snapshot) -> Counts:
    """Add the counts; topics of both count once, and as superseded."""
    both = earlier.topics.keys() & later.topics.keys()
    return Counts(
        earlier.counts.files_read + later.counts.files_read,
        earlier.counts.files_passed_over + later.counts.files_passed_over,
        earlier.counts.bytes_read + later.counts.bytes_read,
        len(earlier.topics.keys() | later.topics.keys()),
        earlier.counts.topics_set_aside + later.counts.topics_set_aside,
        earlier.counts.topics_superseded + later.counts.topics_superseded + len(both),
    )


def _moment_of(name: str) -> str:
    """Return the part of a file's name that identifies its moment: a folder named by time, a folder that is a dump, or
    the number or time that the name begins with.

    >>> [_moment_of(name) for name in ("2026-11-22T09-48-07Z/admin/v2/x.json", "07-stats.json", "stats.json")]
    ['2026-11-22T09-48-07Z', '07', '']
    >>> _moment_of("before/admin/v2/x.json"), _moment_of("admin/v2/x.json")
    ('before', '')
    """
    folders = name.split("/")[:-1]
    for folder in folders:
        if moment_ms(folder) is not None:
            return folder
    if len(folders) > 1 and folders[0] not in MIRROR_FOLDERS and folders[1] in MIRROR_FOLDERS:
        return folders[0]
    match = _NUMBERED.match(name.rpartition("/")[2])
    return match[1] if match else ""
