"""What a file does not say itself but the files beside it do: its broker, and its topic or namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final

from engine.admin.clusters import root_of
from engine.admin.kinds import AnswerKind
from engine.admin.load_reports import broker_id, decode_load_report
from engine.admin.measured_loads import METRICS, OWNED, TOPICS, dump_and_broker, only_owner
from engine.admin.requests import AdminRequest, Naming, request_of_path, scenario_facts
from pipeline.reading.answers import FileContext, naming_of_kind
from pipeline.reading.files import FoundFile, read_answer, without_moments

_SCENARIO: Final = "scenario"
_NAMESPACE_REQUESTS: Final = ("bundles", "policies")
_LOAD_REPORT: Final = "load-report"
_BROKER_STATS: Final = ("broker-stats-topics", "broker-stats", "topics", "destinations")
_SMALL_BYTES: Final = 64 * 1024**2


def contexts_of(files: Sequence[FoundFile]) -> dict[str, FileContext]:
    """Return what is known of each file before any is read: the requests of its recording and its broker. O(files).

    In a mirror of the admin API, the path of a file is its request.
    """
    folders: dict[str, list[FoundFile]] = defaultdict(list)
    for file in files:
        folders[file.folder].append(file)
    measured, owners = _measured_and_owners(files)
    contexts: dict[str, FileContext] = {}
    for folder, inside in folders.items():
        requests = _requests(inside)
        naming = Naming(requests, ())
        brokers = _brokers(folder, inside, owners)
        for file in inside:
            base, (broker, by_name) = _base(file.name), brokers[file.name]
            mirrored = request_of_path(file.name)
            # A recording whose files were compressed later still lists them under their old names.
            request = mirrored or requests.get(base) or requests.get(f"{_stem(base)}.json")
            if request is not None and request.what in _NAMESPACE_REQUESTS:
                about = request.namespace
            else:
                # A file name can contain the escaped topic name.
                about = mirrored.topic if mirrored is not None else naming.topic(base) or ""
            with_metrics = dump_and_broker(file.name)[0] in measured
            contexts[file.name] = FileContext(broker, about, request, by_name, with_metrics)
    return contexts


def _measured_and_owners(files: Iterable[FoundFile]) -> tuple[set[str], Mapping[str, set[str]]]:
    """The dumps with metrics, and the brokers of each dump that said what they own."""
    measured: set[str] = set()
    owners: dict[str, set[str]] = defaultdict(set)
    for file in files:
        request = request_of_path(file.name)
        if request is not None and request.what == METRICS:
            measured.add(dump_and_broker(file.name)[0])
        elif request is not None and request.what == OWNED and request.broker:
            owners[dump_and_broker(file.name)[0]].add(request.broker)
    return measured, owners


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _requests(inside: Iterable[FoundFile]) -> Mapping[str, AdminRequest]:
    for file in inside:
        if _stem(_base(file.name)) == _SCENARIO and file.size_bytes < _SMALL_BYTES:
            data, _ = read_answer(file.path, file.name)
            return scenario_facts(data or b"").requests
    return {}


def _brokers(
    folder: str, inside: Sequence[FoundFile], owners: Mapping[str, Collection[str]]
) -> dict[str, tuple[str, bool]]:
    """Map each file name to its broker: by the load report beside it, else by its folder or (then True) its own name.

    Broker-stats do not name their broker. It is taken from the load report of the same name (``…-load-report-a`` for
    ``…-broker-stats-topics-a``), else from the only load report of the folder, else from the name of a folder that
    holds one broker. In a mirror of the admin API the address in its path names it, too, and ``owners`` do.
    """
    reports = {_base(file.name): _report_broker(file) for file in inside if _LOAD_REPORT in _base(file.name)}
    known = {_stem(name): broker for name, broker in reversed(reports.items()) if broker}
    only_broker = next(iter(known.values())) if len(set(known.values())) == 1 else ""
    brokers: dict[str, tuple[str, bool]] = {}
    stats = [file for file in inside if any(word in _base(file.name) for word in _BROKER_STATS)]
    for file in inside:
        base = _base(file.name)
        twins = [_stem(base.replace(word, _LOAD_REPORT)) for word in _BROKER_STATS if word in base]
        twin = next((known[name] for name in twins if name in known), "")
        reported = twin or only_broker
        mirrored = _broker_of_mirrored(file.name, reported, owners)
        if mirrored is not None:
            brokers[file.name] = mirrored
            continue
        by_name = not reported and (len(stats) != 1 or not folder)
        brokers[file.name] = reported or _broker_by_name(file.name, alone=len(stats) == 1), by_name
    return brokers


def _broker_of_mirrored(name: str, reported: str, owners: Mapping[str, Collection[str]]) -> tuple[str, bool] | None:
    """The broker of a file that one broker answered in a mirror of the admin API; None for other files.

    The only broker of a cluster has no address in its place: it is the one that said what it owns. Without that the
    folder of the dump stands for it (then True).
    """
    request, (dump, address) = request_of_path(name), dump_and_broker(name)
    if request is None or not (address or request.what in (METRICS, TOPICS)):
        return None
    broker = broker_id(address) or reported or broker_id("" if address else only_owner(owners.get(dump, ())))
    return broker or root_of(name).rstrip("/") or name.rpartition("/")[0].rpartition("/")[2], not broker


def _broker_by_name(name: str, *, alone: bool) -> str:
    """A broker whose dumps name it nowhere inside: by their folder, or by their own name, apart from times."""
    folder, _, base = without_moments(name).rpartition("/")
    if folder and alone:
        return folder.rpartition("/")[2]
    own = _stem(base)
    for word in _BROKER_STATS:
        own = own.replace(word, "").strip("-_. ") or own
    return f"{folder}/{own}" if folder and not alone else own


def _stem(name: str) -> str:
    for suffix in (".gz", ".zst", ".zstd", ".json"):
        name = name.removesuffix(suffix)
    return name


def _report_broker(file: FoundFile) -> str:
    if file.size_bytes > _SMALL_BYTES:
        return ""
    data, _ = read_answer(file.path, file.name)
    report = decode_load_report(data or b"", file.name).good
    return report.broker if report is not None else ""


def subjects_of(
    waiting: Sequence[tuple[FoundFile, AnswerKind]],
    namespaces: Mapping[str, Collection[str]],
    topics: Mapping[str, Collection[str]],
) -> dict[str, str]:
    """Return the topic or namespace of files that wait for one, as far as other files name it.

    ``namespaces`` and ``topics`` are what the other files name, by folder. A file's own folder is searched first, then
    all folders: statistics of each broker may be in a folder of their own.
    """

    @cache
    def naming(folder: str | None, kind: AnswerKind) -> Naming:
        is_topic = kind is AnswerKind.TOPIC_STATS
        known = topics if is_topic else namespaces
        names = known.get(folder, ()) if folder is not None else set(chain(*known.values()))
        # A namespace is found through its topics, so any topic name will do.
        return Naming({}, names if is_topic else [f"persistent://{name}/x" for name in names])

    subjects: dict[str, str] = {}
    for file, kind in waiting:
        namings = (naming(folder, kind) for folder in (file.folder, None))
        abouts = (naming_of_kind(known, kind, _base(file.name)) for known in namings)
        about = next((about for about in abouts if about is not None), None)
        if about is not None:
            subjects[file.name] = about
    return subjects
