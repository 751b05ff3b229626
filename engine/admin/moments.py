"""TODO."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from engine.admin.facts import Counts, Snapshot
from engine.admin.files import MIRROR_FOLDERS, AnswerFile, FilesRead, has_moments, moment_ms, read_files
from engine.admin.reading import MAX_INPUT_BYTES, Intake
from engine.admin.requests import (
    scenario_facts,
)
from engine.errors import Problem

_NUMBERED: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d{1,9})?Z?|\d{1,9})[-_.]")


@dataclass(frozen=True, slots=True)
class Moment:
    """What was answered at one time; ``at_ms`` is in epoch milliseconds, None where nothing says when it was."""

    at_ms: int | None
    snapshot: Snapshot


def read_moments(
    *sources: str | Path | bytes | AnswerFile, limit_bytes: int = MAX_INPUT_BYTES, title: str = ""
) -> tuple[Moment, ...]:
    """Read folders, files and answers in memory as moments in the order of time, one where nothing tells them apart.

    Moments are told by folders named by time or holding a dump each (these in the order of the latest times that their
    answers name), by the steps of a recording, or by the number or time that file names begin with. Files without any
    of these belong to all moments. Statistics of a topic that nothing names get a made-up name, see
    :func:`nameless_topic`. ``title`` is what the snapshots are called, their sources without one. Raises
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
        title = ", ".join(str(each) if isinstance(each, str | Path) else STANDARD_INPUT for each in sources)
    scenario = next((file for file in files if _is_scenario(file)), None)
    times = scenario_facts(scenario.data, scenario.name).times if scenario is not None else {}
    groups: dict[str, list[AnswerFile]] = {}
    for file in files:
        groups.setdefault(_moment_of(file.name), []).append(file)
    always = groups.pop("", [])
    found: list[Moment] = []
    left_out: list[Problem] = []
    for group, members in groups.items() or [("", [])]:
        collector = _Collector(limit_bytes, keeps_nameless=True)
        collector.add(FilesRead((*always, *members), (), ()))
        if collector.understood:
            at_ms = moment_ms(group)
            if at_ms is None:
                at_ms = next((times[file.name] for file in members if file.name in times), None)
            found.append(Moment(at_ms, collector.snapshot(title)))
        else:
            left_out += collector.problems
    if not found:
        in_folder = any(isinstance(source, str | Path) and Path(source).is_dir() for source in sources)
        raise _nothing(title, len(files), (*problems, *left_out), in_folder=in_folder)
    if problems or left_out:
        first = found[0]
        every = (*problems, *left_out, *first.snapshot.problems)
        found[0] = replace(first, snapshot=replace(first.snapshot, problems=every))
    return _in_order(found, are_numbered=any(map(_NUMBERED.match, groups)))


def _in_order(found: list[Moment], *, are_numbered: bool) -> tuple[Moment, ...]:
    """Moments by their times; where none has one and none is numbered, by the latest times that their answers name."""
    times = [moment.at_ms for moment in found]
    if all(at_ms is None for at_ms in times) and not are_numbered:
        times = [latest_ms(moment.snapshot) or None for moment in found]
    if None in times:
        return tuple(found)
    return tuple(moment for _, moment in sorted(zip(times, found, strict=True), key=lambda pair: pair[0] or 0))


def latest_ms(snapshot: Snapshot) -> int:
    """The latest time that answers name, in epoch milliseconds; 0 for none. They are not older than that."""
    times = [written.updated_at_ms for written in snapshot.broker_loads.values()]
    for topic in snapshot.topics.values():
        times.append(topic.last_publish_ms)
        times += (sub.latest_ms for sub in topic.subscriptions)
    return max(times, default=0)


def read_dump(*sources: str | Path | bytes | AnswerFile, limit_bytes: int = MAX_INPUT_BYTES) -> tuple[Moment, ...]:
    """Read as :func:`read_moments` where a folder holds dumps of several moments, else as one moment of everything.

    Files that are only numbered may be of one moment: a dashboard shows all of them. Raises ``InputError``.
    """
    if len(sources) == 1 and isinstance(sources[0], str | Path) and has_moments(Path(sources[0])):
        return read_moments(*sources, limit_bytes=limit_bytes)
    return (Moment(None, read_answers(*sources, limit_bytes=limit_bytes)),)


def combined(moments: Sequence[Moment]) -> Snapshot:
    """What is known at the last of moments: of two answers about one thing the later one counts."""
    found = moments[0].snapshot
    for moment in moments[1:]:
        later = moment.snapshot
        found = Snapshot(
            later.source,
            {**found.topics, **later.topics},
            {**found.bundles, **later.bundles},
            {**found.bundle_of_topic, **later.bundle_of_topic},
            found.known_names | later.known_names,
            later.settings or found.settings,
            later.version or found.version,
            (*found.problems, *later.problems),
            _summed(found, later),
            {**found.ledgers, **later.ledgers},
            {**found.topic_policies, **later.topic_policies},
            {**found.namespace_policies, **later.namespace_policies},
            {**found.configuration, **later.configuration},
            later.loaded if later.loaded is not None else found.loaded,
            {**found.owners, **later.owners},
            {**found.broker_loads, **later.broker_loads},
        )
    return found


def _summed(found: Snapshot, later: Snapshot) -> Counts:
    """The counts of both; topics once, those that are shown by both as superseded."""
    both = found.topics.keys() & later.topics.keys()
    return Counts(
        found.counts.files_read + later.counts.files_read,
        found.counts.files_passed_over + later.counts.files_passed_over,
        found.counts.bytes_read + later.counts.bytes_read,
        len(found.topics.keys() | later.topics.keys()),
        found.counts.topics_set_aside + later.counts.topics_set_aside,
        found.counts.topics_superseded + later.counts.topics_superseded + len(both),
    )


def _moment_of(name: str) -> str:
    """What tells the moment in a file's name: a folder named by time, one that is a dump of its own, or the number or
    time that the name begins with.

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
