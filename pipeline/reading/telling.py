"""What files do not say themselves and their neighbours do: whose statistics, and about which topic or namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from engine.admin.kinds import AnswerKind
from engine.admin.naming import Naming, naming_of, scenario_facts
from engine.admin.requests import AdminRequest, request_of_path
from engine.admin.topics import without_nulls
from pipeline.reading.answers import Told, naming_of_kind
from pipeline.reading.found import FoundFile
from pipeline.reading.load_reports import broker_id
from pipeline.reading.unpacking import read_answer
from pipeline.reading.wire import LoadReportWire

_SCENARIO: Final = "scenario"
_OF_NAMESPACES: Final = ("bundles", "policies")
_LOAD_REPORT: Final = "load-report"
_BROKER_STATS: Final = ("broker-stats-topics", "broker-stats", "topics", "destinations")
_SMALL_BYTES: Final = 64 * 1024**2


def told_of(files: Sequence[FoundFile]) -> dict[str, Told]:
    """What is known of each file before any is read: the requests of its recording and its broker. O(files).

    In a mirror of the admin API the path of a file is its request.
    """
    folders: dict[str, list[FoundFile]] = defaultdict(list)
    for file in files:
        folders[file.folder].append(file)
    found: dict[str, Told] = {}
    for folder, inside in folders.items():
        requests = _requests(inside)
        naming = Naming(requests, ())
        brokers = _brokers(folder, inside)
        for file in inside:
            base = _base(file.name)
            mirrored = request_of_path(file.name)
            if mirrored is not None:
                about = mirrored.topic if mirrored.what not in _OF_NAMESPACES else mirrored.namespace
                found[file.name] = Told(brokers.get(file.name, ""), about, {base: mirrored})
                continue
            # A recording that was packed afterwards still names its files as they were.
            request = requests.get(base) or requests.get(f"{_stem(base)}.json")
            # A request names the topic or the namespace; a file name can hold the topic's, escaped.
            topic = naming.topic(base) or "" if request is None or request.what != "bundles" else ""
            about = request.namespace if request is not None and request.what in _OF_NAMESPACES else topic
            found[file.name] = Told(brokers.get(file.name, ""), about, {base: request} if request is not None else {})
    return found


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _requests(inside: Iterable[FoundFile]) -> Mapping[str, AdminRequest]:
    for file in inside:
        if _stem(_base(file.name)) == _SCENARIO and file.size_bytes < _SMALL_BYTES:
            data, _ = read_answer(file.path, file.name)
            return scenario_facts(data or b"").requests
    return {}


def _brokers(folder: str, inside: Sequence[FoundFile]) -> dict[str, str]:
    """File name -> its broker: by the load report beside it, else by its folder or its own name.

    Broker-stats do not say which broker they are of. A load report of the same name (``…-load-report-a`` for
    ``…-broker-stats-topics-a``) tells it, or the only one of the folder; a folder of one broker is called like it.
    """
    reports = {_base(file.name): _report_broker(file) for file in inside if _LOAD_REPORT in _base(file.name)}
    known = {_stem(name): broker for name, broker in reversed(reports.items()) if broker}
    only = next(iter(known.values())) if len(set(known.values())) == 1 else ""
    brokers: dict[str, str] = {}
    stats = [file for file in inside if any(word in _base(file.name) for word in _BROKER_STATS)]
    for file in inside:
        base = _base(file.name)
        twins = [_stem(base.replace(word, _LOAD_REPORT)) for word in _BROKER_STATS if word in base]
        twin = next((known[name] for name in twins if name in known), "")
        alone = folder.rpartition("/")[2] if folder and len(stats) == 1 else ""
        brokers[file.name] = twin or only or alone or _stem(file.name)
    return brokers


def _stem(name: str) -> str:
    for suffix in (".gz", ".zst", ".zstd", ".json"):
        name = name.removesuffix(suffix)
    return name


def _report_broker(file: FoundFile) -> str:
    if file.size_bytes > _SMALL_BYTES:
        return ""
    data, _ = read_answer(file.path, file.name)
    try:
        return broker_id(msgspec.convert(without_nulls(msgspec.json.decode(data or b"{}")), type=LoadReportWire))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def about_waiting(
    waiting: Sequence[tuple[FoundFile, AnswerKind]],
    namespaces: Mapping[str, Iterable[str]],
    topics: Mapping[str, Iterable[str]],
) -> dict[str, str]:
    """The topic or namespace of files that wait for one, as far as their neighbours tell it.

    ``namespaces`` and ``topics`` by folder are what the other files named. The own folder is asked first, then all:
    statistics of each broker may lie in folders of their own.
    """
    found: dict[str, str] = {}
    namings: dict[tuple[str | None, bool], Naming] = {}
    for file, kind in waiting:
        by_topic = kind is AnswerKind.TOPIC_STATS
        for folder in (file.folder, None):
            key = (folder, by_topic)
            if key not in namings:
                known = topics if by_topic else namespaces
                names = (
                    known.get(folder, ()) if folder is not None else {name for each in known.values() for name in each}
                )
                # A namespace is found through the topics in it, so any name serves.
                namings[key] = naming_of({}, names if by_topic else [f"persistent://{name}/x" for name in names])
            about = naming_of_kind(namings[key], kind, _base(file.name))
            if about is not None:
                found[file.name] = about
                break
    return found
