"""The clusters of an import: which answers are of which, and what the brokers of each reported."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from engine.admin.clusters import GROUPINGS, Clusters, Grouping, Kind, clusters_of, root_of, single_brokers
from engine.admin.files import AnswerFile
from engine.admin.inferred_release import InferredRelease, inferred_release
from engine.admin.kinds import AnswerKind
from engine.admin.measured_loads import METRICS, OWNED, dump_and_broker
from engine.admin.namespaces import decode_owned
from engine.admin.release_signs import MOST_BYTES
from engine.admin.requests import request_of_path
from engine.admin.snapshot import read_answers
from engine.config import CURRENT, DEFAULTS, FLAG, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.errors import InputError, Rejection, system_reason
from engine.input import read_path
from engine.text import natural_key
from engine.views.fleet.tables import ANSWERS, BROKERS, FILES, LOAD_ANSWERS, SETTINGS, Table
from pipeline.tables import Tables

KINDS: Final[Mapping[AnswerKind, Kind]] = {
    AnswerKind.LOAD_REPORT: "loads",
    AnswerKind.BROKER_STATS_TOPICS: "statistics",
    AnswerKind.TOPIC_STATS: "topics",
    AnswerKind.PARTITIONED_STATS: "topics",
    AnswerKind.NAMED_STATS: "topics",
    AnswerKind.RUNTIME_CONFIGURATION: "settings",
    AnswerKind.SCENARIO: "settings",
}
_BY_NAME: Final[tuple[tuple[str, Kind], ...]] = (
    ("load-report", "loads"),
    ("broker-stats", "statistics"),
    ("runtime", "settings"),
    ("scenario", "settings"),
    ("stats", "topics"),
)
_MOST_ANSWERS: Final = 64
_MOST_LOOKED_AT: Final = 256 * 1024**2
_T = TypeVar("_T")


@dataclass(frozen=True)
class ByCluster(Generic[_T]):
    """A value for each cluster, and one for clusters about which nothing is known. Pickled into tasks."""

    values: Mapping[str, _T]
    default: _T

    def of(self, cluster: str) -> _T:
        return self.values.get(cluster, self.default)


@dataclass(frozen=True)
class Reported:
    """What the brokers of each cluster reported: their releases, and settings as (name, value), the last one counts.

    ``inferred`` is what the answers of a cluster without a reported release show of it.
    """

    releases: Mapping[str, tuple[str, ...]]
    settings: Mapping[str, tuple[tuple[str, str], ...]]
    inferred: Mapping[str, InferredRelease] = field(default_factory=dict)

    def each(self, make: Callable[[Reported, str], _T]) -> ByCluster[_T]:
        """What ``make`` returns for each cluster of which anything was reported, and for one without reports."""
        clusters = sorted({*self.releases, *self.settings, *self.inferred}, key=natural_key)
        return ByCluster({cluster: make(self, cluster) for cluster in clusters}, make(Reported({}, {}), ""))

    def flags_of(self, cluster: str) -> frozenset[bool]:
        """The reported values of ``activeConsumerFailoverConsistentHashing``."""
        values = (value for name, value in self.settings.get(cluster, ()) if name == FLAG)
        return frozenset(value == "true" for value in values if value in ("true", "false"))

    def release_of(self, cluster: str) -> ReleaseBehaviour:
        """The release that all brokers of a cluster run, else the one that its answers show, else the newest."""
        if cluster in self.inferred:
            return self.inferred[cluster].behaviour
        known = [behaviour_of(version) for version in sorted(set(self.releases.get(cluster, ())))]
        only = known[0] if len(set(map(repr, known))) == 1 else CURRENT
        return CURRENT if isinstance(only, Rejection) else only

    def settings_of(self, cluster: str, given: Mapping[str, str], behaviour: ReleaseBehaviour) -> BrokerSettings:
        """The settings of a cluster, with those given on top; the others have the defaults of the release.

        Raises ``InputError`` for a given one that cannot be set.
        """
        settings = default_settings(behaviour)
        for name, value in dict(self.settings.get(cluster, ())).items():
            changed = settings.with_setting(name, value) if name in DEFAULTS else settings
            settings = settings if isinstance(changed, Rejection) else changed
        for name, value in given.items():
            changed = settings.with_setting(name, value)
            if isinstance(changed, Rejection):
                raise InputError(str(changed))
            settings = changed
        return settings


def reported(source: Tables) -> Reported:
    """What brokers reported, from the tables ``brokers`` and ``settings`` of an import. O(reports)."""
    releases: dict[str, list[str]] = defaultdict(list)
    for cluster, version in source.rows(BROKERS, "cluster", "version"):
        releases[cluster] += [version] if version else []  # metrics do not name it
    settings: dict[str, list[tuple[str, str]]] = defaultdict(list)
    rows = source.rows(SETTINGS, "cluster", "name", "value", "file")
    # What is nearer to a cluster counts before what holds for several.
    for cluster, name, value, _ in sorted(rows, key=lambda row: root_of(row[3]).count("/")):
        settings[cluster].append((name, value))
    return Reported(
        {cluster: tuple(own) for cluster, own in releases.items()},
        {cluster: tuple(own) for cluster, own in settings.items()},
        _inferred(source, releases),
    )


def _inferred(source: Tables, releases: Mapping[str, Sequence[str]]) -> dict[str, InferredRelease]:
    """What the kept answers show of the releases of clusters that name none.

    Of each cluster some answers are read, of the table as many bytes as ``_MOST_LOOKED_AT``: shapes repeat themselves.
    """
    files: dict[str, list[AnswerFile]] = {}
    sizes: Counter[str] = Counter()
    for cluster, namespace, name, body in source.rows(ANSWERS, "cluster", "namespace", "file", "body"):
        sizes[""] += len(body)
        own = files.setdefault(cluster, []) if namespace and not releases.get(cluster) else None
        if own is not None and len(own) < _MOST_ANSWERS and sizes[f"/{cluster}"] + len(body) <= MOST_BYTES:
            sizes[f"/{cluster}"] += len(body)
            own.append(AnswerFile(name, body))
        if sizes[""] > _MOST_LOOKED_AT:
            break
    shown: dict[str, InferredRelease] = {}
    for cluster, own in files.items():
        with suppress(InputError):  # the import has reported what is wrong with them
            known = inferred_release([read_answers(*own)])
            if known is not None:
                shown[cluster] = known
    return shown


def given_clusters(text: str | None) -> Grouping | Clusters:
    """The option ``clusters``: a grouping, ``FOLDER=NAME`` with commas, or a CSV file with both. Raises ``InputError``.

    >>> given_clusters("a/east=east, a/west=west").of("a/west/x.json")
    'west'
    """
    if text is None or text in GROUPINGS:
        return next((known for known in GROUPINGS if known == text), GROUPINGS[0])
    if text.endswith(".csv"):
        try:
            rows = csv.reader(read_path(Path(text)).decode(errors="replace").splitlines())
        except OSError as fault:
            raise InputError(f"{text} cannot be read: {system_reason(fault)}") from fault
        pairs = [(row[0].strip(), row[-1].strip()) for row in rows if row and row != ["folder", "cluster"]]
    else:
        items = [item.partition("=") for item in text.split(",") if item.strip()]
        pairs = [(folder.strip(), name.strip()) for folder, _, name in items]
    if not pairs or not all(name for _, name in pairs):
        words = f"{', '.join(GROUPINGS)}, FOLDER=NAME with commas, or a .csv file with the columns folder,cluster"
        raise InputError(f"clusters is one of {words}; not {text!r}")
    return Clusters({"".join(f"{part}/" for part in folder.split("/") if part): name for folder, name in pairs})


def clusters_by_name(files: Iterable[str], grouping: Grouping | Clusters) -> Clusters:
    """The clusters of files as far as names and requests show what is in them, before any is read."""
    if isinstance(grouping, Clusters):
        return grouping
    kinds: dict[str, set[Kind]] = defaultdict(set)
    for file in files:
        request = request_of_path(file)
        name = "/".join(file.rsplit("/", 2)[-2:])
        kind = next((kind for word, kind in _BY_NAME if word in name), None)
        if request is not None and request.what == METRICS:
            kind = "loads"
        if kind is not None:
            kinds[root_of(file)].add(kind)
    return clusters_of(kinds, {}, grouping)


def clusters_of_tables(tables: Tables) -> Clusters:
    """The clusters of an import, for other files of the folder that it read."""
    rows = {(cluster, root_of(file)) for cluster, file in tables.rows(FILES, "cluster", "file")}
    clusters = {cluster for cluster, _ in rows}
    if len(clusters) == 1:
        return Clusters({"": clusters.pop()})
    return Clusters({root: cluster for cluster, root in rows if root or cluster})


def clusters_of_import(
    tables: Tables,
    listed: Sequence[tuple[Tables, Table]],
    kinds: Mapping[str, AnswerKind],
    brokers: Mapping[str, str],
    grouping: Grouping,
) -> Clusters:
    """The clusters of files that were read.

    ``listed``: the tables of reported bundles, and of those under which statistics list topics; ``kinds`` of every
    file, ``brokers`` of statistics.
    Bundles are read only where they decide: of load reports, of statistics, or those that a broker with metrics owns.
    """
    by_root: dict[str, set[Kind]] = defaultdict(set)
    for file, kind in kinds.items():
        if kind in KINDS:
            by_root[root_of(file)].add(KINDS[kind])
    answers = [(str(broker), str(file)) for broker, file in tables.rows(LOAD_ANSWERS, "broker", "file")]
    loads = [(broker, file) for broker, file in answers if broker]
    for _, file in loads:
        by_root[root_of(file)].add("loads")
    deciding: dict[str, str] = {}
    if grouping == GROUPINGS[0]:
        statistics = [(brokers[file], file) for file, kind in kinds.items() if kind is AnswerKind.BROKER_STATS_TOPICS]
        with_loads = {root_of(file) for _, file in loads}
        of_brokers = [*loads, *((broker, file) for broker, file in statistics if root_of(file) not in with_loads)]
        deciding = {file: root for root, file in single_brokers(of_brokers).items()}
    bundles: dict[str, set[str]] = {root: set() for root in deciding.values()}
    chosen = [("file", "in", list(deciding))]
    for where, table in listed if deciding else ():
        for namespace, bundle, file in where.rows(table, "namespace", "range", "file", filters=chosen):
            bundles[deciding[file]].add(f"{namespace}/{bundle}")
    of_owners = _files_of_owners(answers, deciding)
    chosen = [("file", "in", list(of_owners))]
    for body, file in tables.rows(LOAD_ANSWERS, "body", "file", filters=chosen) if of_owners else ():
        bundles[of_owners[file]].update(decode_owned(body, file).good)
    return clusters_of(by_root, {root: frozenset(own) for root, own in bundles.items()}, grouping)


def _files_of_owners(answers: Iterable[tuple[str, str]], deciding: Mapping[str, str]) -> dict[str, str]:
    """File -> folder, for lists of the bundles that a broker owns, each in the dump of the metrics that decide."""
    folders = {(dump_and_broker(file)[0], broker): deciding[file] for broker, file in answers if file in deciding}
    files: dict[str, str] = {}
    for broker, file in answers:
        request = request_of_path(file) if not broker else None
        if request is not None and request.what == OWNED:
            folder = folders.get((dump_and_broker(file)[0], request.broker))
            if folder is not None:
                files[file] = folder
    return files
