"""The job ``watch``: dumps that arrive in a folder become the tables of an import, with a history of imbalance.

Spark's checkpoint records which files belong to which batch. A batch is a run: it has its number and is published in
one step, so a batch that Spark repeats after a crash is recognised and skipped: every file counts exactly once, and
readers of the tables (DuckDB, pyarrow, the dashboard) see whole batches only.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import msgspec

from engine.errors import InputError, RingsideError
from engine.views.fleet.options import ALLOW_EMPTY, CLUSTERS, EVERY, EVERY_S, KEEP, MAX_INPUT, ONCE
from engine.views.fleet.runs import RUNS
from pipeline.jobs import job_called
from pipeline.jobs.options import check_options
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.jobs.watch_merging import (
    HISTORIES,
    MERGED,
    broker_rows,
    imbalance_rows,
    merge,
)
from pipeline.reading.contexts import contexts_of
from pipeline.reading.files import ANSWER_SUFFIXES, FoundFile, moment_of, size_of, without_moments
from pipeline.reading.rows import BAD
from pipeline.runs import Draft
from pipeline.schemas import (
    BROKER_HISTORY,
    FILES,
    IMBALANCE_HISTORY,
    QUARANTINE,
    SUBSCRIPTION_LOADS,
    Table,
)
from pipeline.stamps import new_run_id, since_1970_ms, stamped_frame
from pipeline.storage import Place
from pipeline.tables import Tables, tables_if_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "watch"
OWN: Final = ".watch"
"""The hidden folder under OUT: Spark's checkpoint."""
JSON: Final = f"{JOB}.json"
_STATE: Final = "watch_state.json"
_KEPT: Final = "2"
"""Of the runs of batches, the newest two stay by default: somebody may be reading the last but one."""
_MOST_PARTS: Final = 64
"""A history with so many parts is written anew as one."""
_ANY_AGE: Final = "36500d"
_SCHEMA: Final = "path string, modificationTime timestamp, length bigint, content binary"
_GLOB: Final = "*.{" + ",".join(suffix[1:] for suffix in ANSWER_SUFFIXES) + "}"


class State(msgspec.Struct):
    """What a run has to know of the batches before it; published with the tables of a batch."""

    batch: int = -1
    """The number of the last published batch."""
    query: str | None = None
    """Spark's name of the checkpoint."""
    latest: dict[str, int] = {}
    """The moment of the latest dump of each thing (``Dump.thing``)."""


def check_places(source: Path, target: Path, options: JobOptions) -> None:
    """Raise ``InputError`` for a missing folder, a result inside it, or a bad option."""
    check_options(JOB, options.settings)
    if not source.is_dir():
        raise InputError(f"{source} is not a folder; name the folder in which dumps arrive")
    if target.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{target} is inside {source}; put the result elsewhere, or it would be read as a dump")


def run(spark: SparkSession, source: Path, target: Path, options: JobOptions) -> JobResult:
    """Import every new answer below ``source``, until stopped, or with the option ``once`` what is there now.

    Files must appear whole and under a new name: write them elsewhere on the same disk, then rename them into the
    folder. A file that is written again under its old name is reported and not imported again. Raises ``InputError``
    for a missing folder, a result inside it or tables of another release, ``RingsideError`` when the checkpoint under
    ``target`` belongs to other tables.
    """
    own = target / OWN
    own.mkdir(parents=True, exist_ok=True)
    # Two runs at once would share a checkpoint.
    with _alone(own / ".lock", target):
        this = _Watch(spark, source.resolve(), target, options)
        this.check_checkpoint()
        this.check_tables()
        _take_in(this, own / "checkpoint")
        tables = this.current()
        if JSON not in tables.documents:
            raise InputError(f"no {' or '.join(ANSWER_SUFFIXES[:3])} file lies in {source}")
        written_anew = this.written_anew()
        if written_anew:
            names = ", ".join(written_anew[:3]) + (", …" if len(written_anew) > 3 else "")
            reason = f"{len(written_anew):,} files changed after they were imported ({names})"
            options.say(f"watch: {reason}; they are not imported again: a new dump needs a new name")
    return JobResult(JOB, json.loads(tables.documents[JSON]))


@contextmanager
def _alone(lock: Path, target: Path) -> Iterator[None]:
    """Hold a lock for the length of a ``with``. Raises ``RingsideError`` when another process has it."""
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            raise RingsideError(f"another watch is writing to {target}; wait until it ends") from fault
        yield


def _take_in(this: _Watch, checkpoint: Path) -> None:
    given = this.options.settings
    reader = this.spark.readStream.format("binaryFile").schema(_SCHEMA).option("recursiveFileLookup", "true")
    reader = reader.option("pathGlobFilter", _GLOB).option("maxFilesPerTrigger", int(given.get("files", "1000")))
    # By default Spark silently skips files that are a week older than the newest.
    reader = reader.option("maxFileAge", _ANY_AGE)
    # Only the names are selected, so no file is read before the import reads it.
    writer = reader.load(str(this.source)).select("path").writeStream.foreachBatch(this.take)
    writer = writer.option("checkpointLocation", str(checkpoint))
    waiting = {"processingTime": f"{given.get(EVERY, EVERY_S)} seconds"}
    trigger = {"availableNow": True} if given.get(ONCE) == "true" else waiting
    # A failure of a batch is reported in one sentence at the end, so Py4J need not log it too.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with spark_faults(JOB):
        query = writer.trigger(**trigger).start()
        try:
            query.awaitTermination()
        finally:
            with suppress(Exception):
                query.stop()


def _state(tables: Tables) -> State:
    """The state after the last published batch."""
    return msgspec.json.decode(tables.documents.get(_STATE, b"{}"), type=State)


@dataclass
class _Watch:
    """One run; Spark calls ``take`` for each batch, and again for a batch whose end it did not record."""

    spark: SparkSession
    source: Path
    target: Path
    options: JobOptions

    @property
    def clusters(self) -> str:
        """The option of every import; by default all dumps are of one cluster, whatever their folders."""
        return self.options.settings.get(CLUSTERS, "one")

    def current(self) -> Tables:
        """The tables of the last published batch; none before the first."""
        return tables_if_there(self.target)

    def check_checkpoint(self) -> None:
        """Raise ``RingsideError`` when there are tables but not the checkpoint that belongs to them."""
        tables = self.current()
        state = _state(tables)
        if tables.paths and (state.batch < 0 or state.query != self._query()):
            reason = f"the checkpoint in {self.target / OWN} is not the one its tables were made with"
            raise RingsideError(f"{reason}; watch into a new folder, or every file would count again")

    def check_tables(self) -> None:
        """Raise ``InputError`` when new dumps cannot be merged into the tables that are there."""
        try:
            self.current().sizes(*MERGED, *HISTORIES)
        except InputError as fault:
            reason = f"this release cannot continue the tables in {self.target}: {fault}"
            raise InputError(f"{reason}; watch into a new folder") from fault

    def _query(self) -> str | None:
        path = self.target / OWN / "checkpoint" / "metadata"
        return str(json.loads(path.read_bytes())["id"]) if path.exists() else None

    def written_anew(self) -> list[str]:
        """Imported files that were written again since; Spark knows a file by its name only."""
        tables = self.current()
        since = (self.target / RUNS / f"{tables.run_id}.json").stat().st_mtime_ns
        changed: list[str] = []
        for (name,) in tables.rows(FILES, "file"):
            with suppress(OSError):
                if (self.source / name).stat().st_mtime_ns > since:
                    changed.append(name)
        return sorted(changed)

    def take(self, rows: DataFrame, batch: int) -> None:
        """Merge one batch of files into the tables, unless it is in them already."""
        tables = self.current()
        state = _state(tables)
        if state.batch >= batch:
            return
        arrived = sorted(unquote(urlsplit(row.path).path) for row in rows.collect())
        paths = [path for path in arrived if Path(path).exists()]
        if len(paths) < len(arrived):
            self.options.say(f"watch: {len(arrived) - len(paths):,} files were gone before they could be read")
        if not paths:
            return
        rounds = rounds_of(dumps_of(paths, self.source), state.latest)
        late = sum(len(part.dumps) for part in rounds if part.late)
        if late:
            self.options.say(
                f"watch: {late:,} files are older than the answers known so far; they count in the history only"
            )
        self._publish(batch, rounds, tables, state)
        self.options.say(f"watch: batch {batch} of {len(paths):,} files is in place")

    def _publish(self, batch: int, rounds: Sequence[Round], before: Tables, state: State) -> None:
        """Write the run of a batch: the tables before it, into which its rounds are merged one after another."""
        settings = {KEEP: _KEPT, **self.options.settings}
        own = replace(self.options, run_id=new_run_id(), settings=settings)
        latest = state.latest
        with own.writing(JOB, self.source, self.target, alone=True) as draft:
            draft.adopt(before)
            for round_ in rounds:
                fresh = self._import(round_.dumps, draft)
                merge(self.spark, draft, fresh, late=round_.late)
                when = datetime.fromtimestamp(round_.moment_ms / 1000, UTC)
                brokers = broker_rows(self.spark, batch, fresh if round_.late else draft)
                _append(draft, BROKER_HISTORY, brokers, when)
                if not round_.late:
                    draft.snapshot_time = max(when, draft.snapshot_time or when)
                    self._run("assign", draft, draft, "flag", "pulsar", policies="pulsar")
                    _append(draft, IMBALANCE_HISTORY, imbalance_rows(self.spark, batch, draft), when)
                    latest |= {dump.thing: dump.moment_ms for dump in round_.dumps}
            if not draft.has(SUBSCRIPTION_LOADS):
                self._run("assign", draft, draft, "flag", "pulsar", policies="pulsar")
            draft.fill(*HISTORIES)
            self._report(draft)
            rows_written = draft.sizes(*MERGED, *HISTORIES)
            draft.write_json(JSON, {"job": JOB, "batches": batch + 1, "tables": rows_written})
            state = State(batch, self._query(), latest)
            draft.documents[_STATE] = msgspec.json.encode(state)

    def _import(self, dumps: Sequence[Dump], draft: Draft) -> Tables:
        """Import these files only, through links with the same relative paths."""
        files = draft.work / f"files-{uuid.uuid4().hex[:8]}"
        assert isinstance(files, Path)
        for dump in dumps:
            link = files / dump.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(dump.path)
        # Its parts are in the folders of this run; those that are merged, and so written anew, are removed at its end.
        fresh = Draft(draft.root, draft.run_id, job=JOB)
        self._run("import", files, fresh, MAX_INPUT, **{CLUSTERS: self.clusters, ALLOW_EMPTY: "true"})
        return fresh

    def _run(self, job: str, source: Place | Tables, target: Draft, *names: str, **own: str) -> None:
        """Run another job with those of our options that are named, and with ``own`` ones."""
        settings = own | {name: value for name, value in self.options.settings.items() if name in names}
        job_called(job)(self.spark, source, target, JobOptions(settings, run_id=target.run_id))

    def _report(self, draft: Draft) -> None:
        """Write the summary that ``fleet open`` reads."""
        read = draft.sizes(*MERGED)
        bad: Counter[str] = Counter()  # records in the quarantine, by the table that lacks them
        for (table, kind), count in draft.counts(QUARANTINE, "table", "kind", summed="rows").items():
            bad[table] += count if kind == BAD else 0
        imported = {"job": "import", "tables": read, "rows_out": read, "problem_rows": sum(bad.values())}
        imported["rows_in"] = {name: count + bad[name] for name, count in read.items()}
        draft.write_json("import.json", imported)
        self._run("report", draft, draft)


def _append(draft: Draft, table: Table, rows: DataFrame, when: datetime) -> None:
    """Add rows of one moment to a history."""
    rows = stamped_frame(rows, when)
    if len(draft.parts(table)) >= _MOST_PARTS:
        rows = draft.load(rows.sparkSession, table, with_stamp=True).unionByName(rows)
        draft.write_frame(table, rows.coalesce(1).sortWithinPartitions("snapshot_time", *table.names))
    else:
        draft.write_frame(table, rows.coalesce(1).sortWithinPartitions(*table.names), add=True)


@dataclass(frozen=True, slots=True)
class Dump:
    """One file: ``thing`` is equal for all dumps of the same answer of the same broker."""

    path: str
    name: str
    thing: str
    moment_ms: int


@dataclass(frozen=True, slots=True)
class Round:
    """Dumps of different things; ``late``: the tables already have later dumps of them."""

    dumps: tuple[Dump, ...]
    late: bool

    @property
    def moment_ms(self) -> int:
        return max(dump.moment_ms for dump in self.dumps)


def dumps_of(paths: Sequence[str], source: Path) -> list[Dump]:
    """The dump in each file, with its moment: the time in its path, else when the file was written."""
    files = [
        FoundFile(name, Path(path), size, at, moment_of(name, written))
        for at, path in enumerate(paths)
        if isinstance(state := size_of(Path(path)), tuple)
        for name, (size, written) in [(os.path.relpath(path, source), state)]
    ]
    contexts = contexts_of(files)
    return [
        Dump(
            str(file.path), file.name,
            f"{contexts[file.name].broker} {without_moments(file.name).rpartition('/')[2]}",
            since_1970_ms(file.moment),
        )
        for file in files
    ]  # fmt: skip


def rounds_of(dumps: Sequence[Dump], latest: Mapping[str, int]) -> list[Round]:
    """Split dumps into rounds with at most one dump of each thing: late ones first, then the others by moment."""
    rounds: dict[tuple[bool, int], list[Dump]] = defaultdict(list)
    counts: Counter[tuple[bool, str]] = Counter()
    for dump in sorted(dumps, key=lambda dump: (dump.moment_ms, dump.name)):
        late = dump.moment_ms < latest.get(dump.thing, dump.moment_ms)
        rounds[not late, counts[late, dump.thing]].append(dump)
        counts[late, dump.thing] += 1
    return [Round(tuple(rounds[key]), late=not key[0]) for key in sorted(rounds)]
