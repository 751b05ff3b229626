"""The job ``import``: raw answers of brokers into the tables of a fleet.

Every record is either in a table or in the quarantine; the job counts both before it publishes the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.admin.clusters import Clusters, Grouping
from engine.admin.kinds import AnswerKind
from engine.bundles.boundaries import (
    FULL_LOWER_BOUND,
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    parse_range,
)
from engine.errors import InputError, Problem, Rejection
from engine.input import MAX_INPUT_BYTES, parse_size
from engine.views.fleet.options import ALLOW_EMPTY, CLUSTERS, MAX_INPUT
from engine.views.fleet.tables import (
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    FILES,
    LISTED,
    QUARANTINE,
    READ_ANSWERS,
    TOPICS,
    Table,
)
from pipeline.blocks import WritingTasks, read_by_engine
from pipeline.clusters import clusters_by_name, clusters_of_import, given_clusters
from pipeline.jobs.import_reading import BOUNDARY_LISTS, NAMED_BUNDLES, Kept, ReadAnswers, rank_of_file
from pipeline.jobs.import_tables import UNFINISHED, WRITTEN, TableAccount, left_out_rows, write_tables
from pipeline.jobs.options import check_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.answers import QUARANTINED, WAITING, FileContext, Outcome, refuse_nameless
from pipeline.reading.contexts import contexts_of, subjects_of
from pipeline.reading.files import FoundFile, FoundFiles, deal, find_answers, is_packed, last_moment
from pipeline.reading.rows import BAD, CONTESTED, IMPORT, SUPERSEDED, Row, Rows, quarantine_row
from pipeline.runs import Draft
from pipeline.sink import write_by_engine
from pipeline.storage import Place, for_arrow
from pipeline.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merge_boundary_lists(working: Tables, files: Sequence[FoundFile]) -> tuple[list[Row], list[Row], int]:
    """The bundles of each namespace from its latest list, rows of the quarantine about older lists, and a count.

    The same list in several answers (bundles, policies) is one list. The count is of the bundles in all lists.
    """
    ranks = {file.name: file.rank for file in files}
    lists: dict[tuple[str, str], dict[tuple[int, ...], tuple[int, str]]] = {}
    for cluster, namespace, boundaries, file in working.rows(
        BOUNDARY_LISTS, "cluster", "namespace", "boundaries", "file"
    ):
        place = rank_of_file(str(file), ranks)
        known = lists.setdefault((cluster, namespace), {})
        key = tuple(boundaries)
        known[key] = max(known.get(key, (-1, "")), (place, str(file)))
    bundles: list[Row] = []
    replaced: list[Row] = []
    count = 0
    for (cluster, namespace), known in sorted(lists.items()):
        ordered = sorted(known.items(), key=lambda entry: entry[1])
        for boundaries, (_, file) in ordered[:-1]:
            reason = f"its bundles of {namespace} are replaced by those of {ordered[-1][1][1]}"
            problem = Problem(file, "$.boundaries", reason, "a namespace has one list; the later one counts")
            replaced.append((cluster, IMPORT, *quarantine_row(problem, "bundles", len(boundaries) - 1, SUPERSEDED)))
            count += len(boundaries) - 1
        boundaries, (_, file) = ordered[-1]
        bundles += _rows(cluster, NamespaceBundles(namespace, boundaries), [file] * (len(boundaries) - 1))
        count += len(boundaries) - 1
    return bundles, replaced, count


def bundles_of_reports(listed: Sequence[tuple[Tables, Table]], known: set[tuple[str, str]]) -> list[Row]:
    """The bundles of namespaces without a list, where load reports and broker-stats together name every range.

    One report has the bundles of one broker only. Ranges with a gap, or with an overlap because a bundle was split
    between two reports, give nothing.
    """
    named: dict[tuple[str, str], dict[BundleRange, str]] = {}
    for tables, table in listed:
        for cluster, namespace, bundle, file in sorted(
            set(tables.rows(table, "cluster", "namespace", "range", "file"))
        ):
            piece = parse_range(bundle) if bundle and (cluster, namespace) not in known else None
            if isinstance(piece, BundleRange):
                named.setdefault((cluster, namespace), {}).setdefault(piece, file)
    bundles: list[Row] = []
    for (cluster, namespace), files in sorted(named.items()):
        ranges = sorted(files, key=lambda bundle: (bundle.lower, bundle.upper))
        ends = [FULL_LOWER_BOUND, *(bundle.upper for bundle in ranges)]
        if ends[-1] == FULL_UPPER_BOUND and ends[:-1] == [bundle.lower for bundle in ranges]:
            bundles += _rows(cluster, NamespaceBundles(namespace, tuple(ends)), [files[bundle] for bundle in ranges])
    return bundles


def _rows(cluster: str, bundles: NamespaceBundles, files: Sequence[str]) -> list[Row]:
    """Rows of the table ``bundles``; ``files`` say so, one for each bundle."""
    namespace = bundles.namespace
    return [
        (cluster, f"{namespace}/{bundle}", namespace, str(bundle), place, bundle.lower, bundle.upper, file)
        for place, (bundle, file) in enumerate(zip(bundles, files, strict=True))
    ]


def notices(tables: Tables, listed: Sequence[tuple[Tables, Table]]) -> list[Row]:
    """Notes about what no single answer shows: bundles that two brokers of a cluster claim, and brokers of different
    releases. ``listed``: the tables of reported bundles, and of those under which answers list topics."""
    notes: list[Row] = []
    claims: dict[tuple[str, str], dict[str, set[str]]] = {}
    columns = ("cluster", "namespace", "range", "broker", "file")
    for where, table in listed:
        for cluster, namespace, bundle, broker, file in where.rows(table, *columns):
            if broker is not None:
                claims.setdefault((cluster, f"{namespace}/{bundle}"), {}).setdefault(broker, set()).add(file)
    advice = "it moved while the answers were recorded, or a report is older than the move; record them again"
    for (cluster, bundle), files in sorted(claims.items()):
        if len(files) > 1:
            brokers = " and ".join(f"{broker} ({', '.join(sorted(own))})" for broker, own in sorted(files.items()))
            problem = Problem("", "$", f"{bundle} is claimed by {brokers}", advice)
            notes.append((cluster, IMPORT, *quarantine_row(problem, "bundles", 0, BAD)))
    versions: dict[str, dict[str, set[str]]] = {}
    for cluster, broker, version in tables.rows(BROKERS, "cluster", "broker", "version"):
        if version:  # metrics do not name it
            versions.setdefault(cluster, {}).setdefault(version, set()).add(broker)
    for cluster, brokers_of in sorted(versions.items()):
        if len(brokers_of) > 1:
            words = "; ".join(f"{version}: {', '.join(sorted(names))}" for version, names in sorted(brokers_of.items()))
            problem = Problem("", "$", f"the brokers have different releases: {words}", "rules may differ between them")
            notes.append((cluster, IMPORT, *quarantine_row(problem, "brokers")))
    return notes


JOB: Final = "import"


_PACKED: Final = 8
"""How much larger packed answers are than their files, as a rule."""
_BYTES_PER_TASK: Final = 96 * 1024**2
LEAST_KEPT_BYTES: Final = 256 * 1024


def _parts_by_answer(earlier: Tables) -> dict[str, str]:
    """Which part of a run has the blocks of an answer, by what they depend on."""
    paths = earlier.paths.get(READ_ANSWERS.name, ())
    columns = ((path, pq.read_table(for_arrow(earlier.root / path), columns=["known"])) for path in paths)
    return {known: path for path, column in columns for known in pc.unique(column["known"]).to_pylist()}


@dataclass
class _Import:
    """One run: its input files, what became of them, and where it writes."""

    spark: SparkSession
    sources: FoundFiles
    draft: Draft
    limit_bytes: int
    earlier: Tables | None = None
    files: dict[str, Outcome] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    left_out: list[Row] = field(default_factory=list)
    clusters: Clusters = field(default_factory=lambda: Clusters({}))
    kept: Sequence[str] = ()
    """The parts of earlier runs that answers were taken from."""

    def read(self, contexts: Mapping[str, FileContext], clusters: Clusters) -> None:
        """Read every file and write the tables, instead of those of an earlier call."""
        self.clusters = clusters
        draft = self.draft
        self.forget()
        size = sum(file.size_bytes * (_PACKED if is_packed(file.name) else 1) for file in self.sources.files)
        tasks = WritingTasks.over(size, _BYTES_PER_TASK)
        shares = [[(file, self._context(file, contexts)) for file in files] for files in deal(self.sources.files)]
        parts = {} if self.earlier is None else _parts_by_answer(self.earlier)
        places = {known: draft.root / path for known, path in parts.items()}
        kept = (
            Kept(places, draft.folders(), draft.snapshot_time, LEAST_KEPT_BYTES) if self.earlier is not None else None
        )
        read = ReadAnswers(tasks.parts, self.limit_bytes, kept)
        blocks = read_by_engine(self.spark, shares, read, tasks.count)
        accounts = write_by_engine(blocks, draft, write_tables, TableAccount, aside=UNFINISHED)
        for reader in (reader for account in accounts for reader in account.readers):
            self.files.update(reader.files)
            self.counts.update(reader.counts)
            draft.take(reader.kept)
        assert self.files.keys() == contexts.keys(), "some files were not read"
        known = {parts[known] for share in shares for known in map(read.known_by, share) if known in parts}
        self.kept = sorted(known)
        self.left_out = left_out_rows(accounts)
        draft.fill(*WRITTEN)

    def _context(self, file: FoundFile, contexts: Mapping[str, FileContext]) -> FileContext:
        name, of = file.name, self.clusters
        return replace(contexts[name], cluster=of.of(name), concerned=of.concerned(name))

    def forget(self) -> None:
        """Remove all tables."""
        self.files.clear()
        self.counts.clear()
        self.draft.forget(*WRITTEN, READ_ANSWERS)
        self.draft.working.paths.clear()

    @property
    def listed(self) -> list[tuple[Tables, Table]]:
        """The tables of reported bundles, and of those under which answers list topics."""
        return [(self.draft, BUNDLE_REPORTS), (self.draft.working, NAMED_BUNDLES)]


def run(
    spark: SparkSession,
    source: Place,
    target: Place | Draft,
    options: JobOptions,
    found: FoundFiles | None = None,
    *,
    earlier: Tables | None = None,
) -> JobResult:
    """Read every answer below ``source`` (or one file) into tables, except in OUT; or those that are ``found`` already.

    ``earlier``: the tables of a run that may have read some of them, and kept what it read; this one does as well.

    Raises ``InputError`` when there is nothing to read or an option cannot be used, ``RingsideError`` when the result
    cannot be written.
    """
    limit_bytes = max_input_of(options)
    sources = found or files_to_import(source, target.root if isinstance(target, Draft) else target, options)
    options.say(f"import: {len(sources.files):,} files found")
    options.watch.expect(files=len(sources.files))
    when = last_moment(sources.files)
    with options.writing(JOB, source, target, when, alone=True) as draft:
        this = _Import(spark, sources, draft, limit_bytes, earlier)
        _read_all(this, contexts_of(sources.files), given_clusters(options.settings.get(CLUSTERS)))
        draft.take((READ_ANSWERS.name, path) for path in this.kept)
        names = this.clusters.names
        of = f" of {len(names):,} clusters" if len(names) > 1 else ""
        options.say(f"import: {this.counts['topics']:,} topics{of} read")
        rows_in = this.counts + _finish(this)
        if options.settings.get(ALLOW_EMPTY) != "true":
            _refuse_nothing(this, source)
        summary = _summary(this, rows_in)
        draft.write_json(f"{JOB}.json", summary)
    return JobResult(JOB, summary)


def check_places(source: Place, target: Place, options: JobOptions) -> None:
    """Raise ``InputError`` where there is nothing to import, or an option cannot be used."""
    max_input_of(options)
    files_to_import(source, target, options)


def files_to_import(source: Place, target: Place, options: JobOptions) -> FoundFiles:
    """The files to read. Raises ``InputError``; nothing is written."""
    check_options(JOB, options.settings)
    if source.is_dir() and str(target.resolve()) == str(source.resolve()):
        raise InputError(f"{target} is the folder of the answers itself; name another one for the result")
    return find_answers(source, target)


def max_input_of(options: JobOptions) -> int:
    """The bytes that one file may have, unpacked. Raises ``InputError`` for a text that is not a size."""
    size = parse_size(options.settings[MAX_INPUT]) if MAX_INPUT in options.settings else MAX_INPUT_BYTES
    if isinstance(size, Rejection):
        raise InputError(str(size))
    return size


def _read_all(this: _Import, contexts: Mapping[str, FileContext], grouping: Grouping | Clusters) -> None:
    """Read every file; read all again where their content shows other clusters than their names did, or where some do
    not say what they are about and others name it."""
    this.read(contexts, clusters_by_name(contexts, grouping))
    waiting = _waiting(this)
    about = subjects_of(waiting, _namespaces(this), _topics(this, waiting)) if waiting else {}
    clusters = this.clusters if isinstance(grouping, Clusters) else _clusters(this, contexts, grouping)
    if about or any(clusters.concerned(name) != this.clusters.concerned(name) for name in contexts):
        named = {name: replace(context, about=about.get(name, context.about)) for name, context in contexts.items()}
        this.read(named, clusters)
    refused = Rows()
    for file, kind in _waiting(this):
        refuse_nameless(refused, kind.value, file.name)
        refused.counts["files"] += 1
        this.files[file.name] = Outcome(kind.value, QUARANTINED, this.files[file.name].size_bytes)
        problem = Problem(file.name, "$", "nothing says what it is about", "see the row about its content")
        refused.quarantine.append(quarantine_row(problem, "files", 1, "bad"))
    _quarantine(this, refused.quarantine)
    this.counts.update(refused.counts)


def _clusters(this: _Import, contexts: Mapping[str, FileContext], grouping: Grouping) -> Clusters:
    kinds = {file.name: AnswerKind(this.files[file.name].kind) for file in this.sources.files}
    brokers = {name: context.broker for name, context in contexts.items()}
    return clusters_of_import(this.draft, this.listed, kinds, brokers, grouping)


def _refuse_nothing(this: _Import, source: Place) -> None:
    """Raise ``InputError`` where no table has a row, so that the earlier result stays."""
    if any(this.draft.check(table) for table in (*WRITTEN, BUNDLES) if table is not QUARANTINE):
        return
    wrong = next(this.draft.rows(QUARANTINE, "file", "reason"), None)
    first = f"; {wrong[0]}: {wrong[1]}" if wrong is not None else ""
    raise InputError(
        f"{source}: none of {len(this.sources.files):,} files has a usable record{first}; the earlier result is kept"
        " (--allow-empty makes an empty one)"
    )


def _waiting(this: _Import) -> list[tuple[FoundFile, AnswerKind]]:
    """The files that nothing was taken from, because they do not say what they are about."""
    accounts = ((file, this.files[file.name]) for file in this.sources.files)
    return [(file, AnswerKind(account.kind)) for file, account in accounts if account.outcome == WAITING]


def _namespaces(this: _Import) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for file in this.sources.files:
        names.setdefault(file.folder, set()).update(this.files[file.name].namespaces)
    return names


def _topics(this: _Import, waiting: Iterable[tuple[FoundFile, AnswerKind]]) -> dict[str, set[str]]:
    """The known topics by folder; read only when there are statistics without the name of their topic."""
    names: dict[str, set[str]] = {}
    if not any(kind is AnswerKind.TOPIC_STATS for _, kind in waiting):
        return names
    for table in (TOPICS, LISTED):
        for topic, file in this.draft.rows(table, "topic", "file"):
            names.setdefault(file.rpartition("/")[0], set()).add(topic)
    return names


def _quarantine(this: _Import, rows: list[Row]) -> None:
    """Write rows of the quarantine that the driver itself has."""
    if rows:
        this.draft.write(QUARANTINE, [(this.clusters.of(row[0]), JOB, *row) for row in rows])


def _finish(this: _Import) -> Counter[str]:
    """Make the tables that need all answers, and count by table the rows that only this step reads."""
    draft = this.draft
    bundles, replaced, count = merge_boundary_lists(draft.working, this.sources.files)
    known = {(cluster, namespace) for cluster, _, namespace, *_ in bundles}
    reported = bundles_of_reports(this.listed, known)
    draft.write(BUNDLES, sorted(bundles + reported, key=itemgetter(0, 2, 4)))
    outcomes = ((file, this.files[file.name]) for file in this.sources.files)
    rows = ((file.name, file.position, one.kind, one.size_bytes, one.outcome, file.moment) for file, one in outcomes)
    draft.write(FILES, [(this.clusters.of(row[0]), *row) for row in rows])
    _quarantine(this, [quarantine_row(problem, "files", 1, "bad") for problem in this.sources.problems])
    others = replaced + this.left_out + notices(draft, this.listed)
    if others:
        draft.write(QUARANTINE, others)
    return Counter({"files": len(this.sources.problems), "bundles": count + len(reported)})


_COUNTED: Final = (
    "topics", "subscriptions", "consumers", "publishers", "listed", "bundle_reports", "brokers", "boundary_lists",
    "bundles", "files",
)  # fmt: skip


def _summary(this: _Import, rows_in: Counter[str]) -> dict[str, object]:
    """Counts by table, checked: what came in is in a table or in the quarantine."""
    tables = dict(sorted(this.draft.sizes(*WRITTEN, BUNDLES, FILES).items()))
    by_kind = this.draft.counts(QUARANTINE, "table", "kind", summed="rows")
    aside: Counter[str] = Counter()
    for (table, _), rows in by_kind.items():
        aside[table] += rows
    outcomes = Counter(file.outcome for file in this.files.values())
    # An unusable file is also listed in the table of files; it does not count as a row that came out.
    rows_out = Counter(tables) - Counter({"files": outcomes[QUARANTINED]})
    rows_out[BOUNDARY_LISTS.name] = this.draft.working.check(BOUNDARY_LISTS)
    for name in _COUNTED:
        assert rows_in[name] == rows_out[name] + aside[name], (
            f"{name}: {rows_in[name]} rows came in, {rows_out[name]} came out and {aside[name]} are in quarantine"
        )
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": {name: rows_in[name] for name in sorted(rows_in)},
        "rows_out": {name: rows_out[name] for name in sorted(rows_in)},
        "quarantined": {name: aside[name] for name in sorted(aside)},
        "problems": {kind: count for (kind,), count in sorted(this.draft.counts(QUARANTINE, "kind").items())},
        "problem_rows": sum(rows for (_, kind), rows in by_kind.items() if kind in (BAD, CONTESTED)),
        "clusters": list(this.clusters.names),
        "files": {
            "found": len(this.sources.files),
            "passed_over": this.sources.passed_over,
            **dict(sorted(outcomes.items())),
        },
        "bytes": sum(file.size_bytes for file in this.files.values()),
    }
