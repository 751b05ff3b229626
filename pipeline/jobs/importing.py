"""The job ``import``: raw answers of brokers into the tables of a fleet.

Every record is either in a table or in the quarantine; the job counts both before it publishes the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from engine.admin.kinds import AnswerKind
from engine.admin.reading import MAX_INPUT_BYTES, parse_size
from engine.errors import InputError, Problem, Rejection
from pipeline.jobs.import_by_topic import ByTopic
from pipeline.jobs.import_tasks import BOUNDARY_LISTS, WRITTEN, FileAccount, ImportAccount, read_in_tasks
from pipeline.jobs.merging import bundles_of_reports, check_sets, merge_boundary_lists, merge_consumer_sets, notices
from pipeline.jobs.options import MAX_INPUT, check_options
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.reading.answers import QUARANTINED, WAITING, FileContext, refuse_nameless
from pipeline.reading.contexts import contexts_of, subjects_of
from pipeline.reading.files import FoundFile, FoundFiles, deal, find_answers, time_of_files
from pipeline.reading.rows import BAD, Row, Rows, quarantine_row
from pipeline.schemas import (
    BUNDLES,
    CONSUMER_SETS,
    FILES,
    LISTED,
    QUARANTINE,
    TOPICS,
    Table,
    check_folder,
    parts_of,
)
from pipeline.stamps import Stamp
from pipeline.storage import Place, for_arrow
from pipeline.writing import Draft, PartWriter, ensure_part, keep_only, move_part, replacing, write_json, write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "import"
_DRIVER_TASK: Final = 999_999


@dataclass
class _Import:
    """One run: its input files, the accounts of its tasks, and where it writes."""

    spark: SparkSession
    sources: FoundFiles
    draft: Draft
    staged: Place
    account: ImportAccount
    stamp: Stamp
    limit_bytes: int

    def read(self, files: Sequence[FoundFile], contexts: dict[str, FileContext]) -> None:
        for task in read_in_tasks(
            self.spark, deal(files), contexts, self.staged, self.stamp, limit_bytes=self.limit_bytes
        ):
            self.account.add(task)


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Read every answer below ``source`` (or one file) into the tables under ``target``.

    Raises ``InputError`` when there is nothing to read or an option cannot be used, ``RingsideError`` when the result
    cannot be written.
    """
    sources, limit_bytes = files_to_import(source, target, options)
    options.say(f"import: {len(sources.files):,} files found")
    options.watch.expect(files=len(sources.files))
    stamp = Stamp(options.run_id, time_of_files(source, [file.name for file in sources.files]))
    with replacing(target, JOB) as draft, spark_faults(JOB):
        staged = draft.aside("staged")
        for table in WRITTEN:
            (staged / table.name).mkdir()
        this = _Import(spark, sources, draft, staged, ImportAccount(), stamp, limit_bytes)
        _read_all(this, contexts_of(sources.files))
        for table in WRITTEN:
            keep_only(staged / table.name, this.account.parts.get(table.name, set()))
        options.say(f"import: {this.account.counts['topics']:,} topics read")
        rows_in = Counter(this.account.counts) + _finish(this)
        summary = _summary(this, rows_in)
        write_json(draft.folder, f"{JOB}.json", summary)
    return JobResult(JOB, summary)


def files_to_import(source: Place, target: Place, options: JobOptions) -> tuple[FoundFiles, int]:
    """The files to read, and the most bytes one may have. Raises ``InputError``; nothing is written."""
    check_options(JOB, options.settings)
    if source.is_dir() and str(target.resolve()) == str(source.resolve()):
        raise InputError(f"{target} is the folder of the answers itself; name another one for the result")
    limit_bytes = max_input_of(options)
    return find_answers(source, target), limit_bytes


def max_input_of(options: JobOptions) -> int:
    """The bytes that one file may have, unpacked. Raises ``InputError`` for a text that is not a size."""
    size = parse_size(options.settings[MAX_INPUT]) if MAX_INPUT in options.settings else MAX_INPUT_BYTES
    if isinstance(size, Rejection):
        raise InputError(str(size))
    return size


def _read_all(this: _Import, contexts: dict[str, FileContext]) -> None:
    """Read every file; read those that do not say what they are about again, once the others have named it."""
    this.read(this.sources.files, contexts)
    accounts = this.account.files
    waiting = [
        (file, AnswerKind(accounts[file.position].kind)) for file in this.sources.files if _waits(accounts, file)
    ]
    if not waiting:
        return
    about = subjects_of(waiting, _namespaces(this), _topics(this, waiting))
    named = [file for file, _ in waiting if file.name in about]
    this.read(named, {file.name: FileContext(contexts[file.name].broker, about[file.name]) for file in named})
    refused = Rows()
    for file, kind in waiting:
        if file.name not in about:
            refuse_nameless(refused, kind.value, file.name)
            refused.counts["files"] += 1
            size = accounts[file.position].size_bytes
            accounts[file.position] = FileAccount(file.position, kind.value, QUARANTINED, size)
            problem = Problem(file.name, "$", "nothing says what it is about", "see the row about its content")
            refused.quarantine.append(quarantine_row(problem, "files", 1, "bad"))
    _append(this, QUARANTINE, refused.quarantine, _DRIVER_TASK - 1)
    this.account.counts.update(refused.counts)


def _waits(accounts: dict[int, FileAccount], file: FoundFile) -> bool:
    return file.position in accounts and accounts[file.position].outcome == WAITING


def _namespaces(this: _Import) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for file in this.sources.files:
        account = this.account.files.get(file.position)
        names.setdefault(file.folder, set()).update(account.namespaces if account is not None else ())
    return names


def _topics(this: _Import, waiting: Iterable[tuple[FoundFile, AnswerKind]]) -> dict[str, set[str]]:
    """The known topics by folder; read only when there are statistics without the name of their topic."""
    names: dict[str, set[str]] = {}
    if not any(kind is AnswerKind.TOPIC_STATS for _, kind in waiting):
        return names
    for table in (TOPICS, LISTED):
        for part in parts_of(this.staged / table.name):
            columns = pq.read_table(for_arrow(part), columns=["topic", "file"])
            for topic, file in zip(columns["topic"].to_pylist(), columns["file"].to_pylist(), strict=True):
                names.setdefault(file.rpartition("/")[0], set()).add(topic)
    return names


def _append(this: _Import, table: Table, rows: list[Row], task: int) -> None:
    """Write rows that the driver itself has."""
    writer = PartWriter(table, this.staged / table.name, task, this.stamp)
    writer.write(table.columns_of(rows))
    part = writer.close()
    if part is not None:
        this.account.parts.setdefault(table.name, set()).add(part)


def _finish(this: _Import) -> Counter[str]:
    """Turn the staged parts into tables, and count by table the rows that only this step reads."""
    rows_in: Counter[str] = Counter()
    quarantine: list[Row] = [quarantine_row(problem, "files", 1, "bad") for problem in this.sources.problems]
    rows_in["files"] += len(this.sources.problems)
    sets = merge_consumer_sets(this.staged / CONSUMER_SETS.name)
    check_sets(sets)
    write_rows(CONSUMER_SETS, this.draft.table(CONSUMER_SETS), sets, this.stamp)
    bundles, replaced, count = merge_boundary_lists(this.staged / BOUNDARY_LISTS.name, this.sources.files)
    reported = bundles_of_reports(this.staged, {namespace for _, namespace, *_ in bundles})
    write_rows(BUNDLES, this.draft.table(BUNDLES), sorted(bundles + reported, key=_bundle_order), this.stamp)
    rows_in["bundles"] += count + len(reported)
    quarantine += replaced
    write_rows(FILES, this.draft.table(FILES), _file_rows(this), this.stamp)
    by_topic = _by_topic(this)
    quarantine += notices(this.staged, [] if by_topic is None else by_topic.claims())
    # With joins the quarantine is written as it is staged by then.
    _append(this, QUARANTINE, quarantine, _DRIVER_TASK)
    lost = None if by_topic is None else by_topic.keep_best()
    if lost:
        _append(this, QUARANTINE, lost, _DRIVER_TASK + 1)
    for table in WRITTEN:
        if table not in (CONSUMER_SETS, BOUNDARY_LISTS) and table.name not in this.draft.tables:
            _move(this, table)
    return rows_in


def _bundle_order(row: Row) -> tuple[str, int]:
    return row[1], row[3]


def _file_rows(this: _Import) -> list[Row]:
    rows: list[Row] = []
    for file in this.sources.files:
        account = this.account.files[file.position]
        rows.append((file.name, file.position, account.kind, account.size_bytes, account.outcome))
    return rows


def _by_topic(this: _Import) -> ByTopic | None:
    """None where all topics come from one file, so that no topic has two answers."""
    accounts = [file for file in this.account.files.values() if file.kind in _ABOUT_TOPICS]
    if len(accounts) < 2 and not any(file.kind == AnswerKind.MANY.value for file in accounts):
        return None
    position = {file.name: file.position for file in this.sources.files}
    return ByTopic(this.spark, this.staged, this.draft, this.stamp, position)


_ABOUT_TOPICS: Final = {
    kind.value
    for kind in (
        AnswerKind.TOPIC_STATS,
        AnswerKind.PARTITIONED_STATS,
        AnswerKind.NAMED_STATS,
        AnswerKind.BROKER_STATS_TOPICS,
        AnswerKind.MANY,
    )
}


def _move(this: _Import, table: Table) -> None:
    place = this.draft.table(table)
    for part in parts_of(this.staged / table.name):
        move_part(part, place)
    ensure_part(table, place, this.stamp)


_COUNTED: Final = (
    "topics", "subscriptions", "consumers", "publishers", "listed", "bundle_reports", "brokers", "boundary_lists",
    "bundles", "files",
)  # fmt: skip


def _summary(this: _Import, rows_in: Counter[str]) -> dict[str, object]:
    """Counts by table, checked: what came in is in a table or in the quarantine."""
    tables = dict.fromkeys(sorted(this.draft.tables), 0)
    by_name = {table.name: table for table in (*WRITTEN, CONSUMER_SETS, BUNDLES, FILES, QUARANTINE)}
    for name in tables:
        tables[name] = check_folder(by_name[name], this.draft.folder / name)
    aside: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    bad_rows = 0
    for part in parts_of(this.draft.folder / QUARANTINE.name):
        rows = pq.read_table(for_arrow(part), columns=["table", "rows", "kind"]).to_pydict()
        for table, count, kind in zip(rows["table"], rows["rows"], rows["kind"], strict=True):
            aside[table] += count
            kinds[kind] += 1
            bad_rows += count if kind == BAD else 0
    outcomes = Counter(file.outcome for file in this.account.files.values())
    # An unusable file is also listed in the table of files; it does not count as a row that came out.
    rows_out = Counter(tables) - Counter({"files": outcomes[QUARANTINED]})
    rows_out[BOUNDARY_LISTS.name] = check_folder(BOUNDARY_LISTS, this.staged / BOUNDARY_LISTS.name)
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
        "problems": dict(sorted(kinds.items())),
        "problem_rows": bad_rows,
        "files": {
            "found": len(this.sources.files),
            "passed_over": this.sources.passed_over,
            **dict(sorted(outcomes.items())),
        },
        "bytes": sum(file.size_bytes for file in this.account.files.values()),
    }
