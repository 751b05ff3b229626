"""Versions of clients and the load manager's class, read on request: opening a cluster does not need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec

from engine.admin.documents import opened_file
from engine.admin.files import STANDARD_INPUT, AnswerFile
from engine.admin.folders import read_files
from engine.admin.kinds import AnswerKind
from engine.input import MAX_INPUT_BYTES, Intake


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """``client_versions``: full name of a topic or partition -> those of its producers, as brokers print them.

    ``load_manager_class`` is ``loadManagerClassName``, "" where settings lack it, None without settings.
    """

    client_versions: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    load_manager_class: str | None = None


class _Publisher(msgspec.Struct):
    clientVersion: str | None = None


class _Topic(msgspec.Struct):
    publishers: tuple[_Publisher, ...] = ()
    partitions: dict[str, msgspec.Raw] | None = None


_LOAD_MANAGER = "loadManagerClassName"
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_TOPIC = msgspec.json.Decoder(_Topic)
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LOADED = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, msgspec.Raw]]]])


def client_facts(*sources: str | Path | bytes | AnswerFile, limit_bytes: int = MAX_INPUT_BYTES) -> ClientFacts:
    """Read client facts from folders, files and raw answers. Unreadable ones are skipped: ``read_answers`` reports
    them.

    Answers about a single topic do not name it, and are left out. Raises ``InputError`` as ``read_answers`` does for
    what cannot be read at all. O(bytes).
    """
    versions: dict[str, frozenset[str]] = {}
    manager: str | None = None
    files = _files(sources, Intake(limit_bytes))
    for kind, data in (answer for file in files for answer in _answers(file)):
        if kind in (AnswerKind.RUNTIME_CONFIGURATION, AnswerKind.SCENARIO):
            named = load_manager_class(kind, data)
            # A named class wins over settings without one.
            manager = named or manager or named
        elif kind in (AnswerKind.PARTITIONED_STATS, AnswerKind.NAMED_STATS, AnswerKind.BROKER_STATS_TOPICS):
            versions.update(_versions(kind, data))
    return ClientFacts(MappingProxyType(versions), manager)


def _files(sources: tuple[str | Path | bytes | AnswerFile, ...], intake: Intake) -> Iterator[AnswerFile]:
    for source in sources:
        if isinstance(source, bytes):
            yield AnswerFile(STANDARD_INPUT, source)
        elif isinstance(source, AnswerFile):
            yield source
        else:
            yield from read_files(Path(source), intake).files


def _answers(file: AnswerFile) -> Iterator[tuple[AnswerKind, bytes]]:
    return ((answer.kind, answer.data) for answer in opened_file(file).answers)


def load_manager_class(kind: AnswerKind, data: bytes) -> str | None:
    """Return ``loadManagerClassName`` of a runtime configuration or a scenario, as in ``ClientFacts``. O(length)."""
    members = _members(data)
    if kind is AnswerKind.SCENARIO:
        if "broker_settings" not in members:
            return None
        members = _members(members["broker_settings"])
    try:
        return msgspec.json.decode(members[_LOAD_MANAGER], type=str) if _LOAD_MANAGER in members else ""
    except _FAULTS:
        return ""


def _versions(kind: AnswerKind, data: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    if kind is AnswerKind.PARTITIONED_STATS:
        yield from _of_topic("", data)
    elif kind is AnswerKind.NAMED_STATS:
        for name, raw in _members(data).items():
            yield from _of_topic(name, raw)
    else:
        try:
            loaded = _LOADED.decode(data)
        except _FAULTS:
            return
        for bundles in loaded.values():
            for domains in bundles.values():
                for topics in domains.values():
                    for name, raw in topics.items():
                        yield from _of_topic(name, raw)


def _of_topic(name: str, raw: msgspec.Raw | bytes) -> Iterator[tuple[str, frozenset[str]]]:
    try:
        topic = _TOPIC.decode(raw)
    except _FAULTS:
        return
    if topic.partitions:
        for partition, inner in topic.partitions.items():
            yield from _of_topic(partition, inner)
    elif name:
        versions = frozenset(publisher.clientVersion for publisher in topic.publishers if publisher.clientVersion)
        if versions:
            yield name, versions


def _members(data: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    try:
        return _RAW.decode(data)
    except _FAULTS:
        return {}
