"""The job ``watch``: dumps that arrive in a folder become the tables of an import, with a history of imbalance.

Spark's checkpoint says which files belong to which batch. A batch's result carries its number and takes its place in
one step, so a batch that is played again after a crash is known and left out: every file counts exactly once, and who
reads the tables (DuckDB, pyarrow, the dashboard) sees whole batches only.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

from engine.errors import InputError, RingsideError
from pipeline.jobs import assign as assign_job
from pipeline.jobs import importing
from pipeline.jobs.options import MAX_INPUT, check_options
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.jobs.watch_merging import (
    ABOUT,
    HISTORIES,
    add_history,
    broker_rows,
    carry_history,
    imbalance_rows,
    merge,
)
from pipeline.reading.files import ANSWER_SUFFIXES
from pipeline.schemas import BROKER_HISTORY, FILES, IMBALANCE_HISTORY, check_folder, parts_of
from pipeline.storage import for_arrow
from pipeline.writing import Draft, alone, current_run, replacing, write_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

JOB: Final = "watch"
OWN: Final = ".watch"
"""The hidden folder under OUT: Spark's checkpoint, and what a batch needs while it is taken in."""
_STATE: Final = "watch_state.json"
_SCHEMA: Final = "path string, modificationTime timestamp, length bigint, content binary"
_GLOB: Final = "*.{" + ",".join(suffix[1:] for suffix in ANSWER_SUFFIXES) + "}"


@dataclass(frozen=True)
class Asked:
    """The job's own options: ``every`` (seconds between looks, until stopped; without it what is there is taken in and
    the job ends), ``files`` (at most so many a batch, 1000), ``flag`` and ``pulsar`` as for ``assign``,
    ``max-input`` as for ``import``."""

    every_s: int | None
    files: int
    assign: dict[str, str]
    reading: dict[str, str]


def asked_of(options: JobOptions) -> Asked:
    """Read the options. Raises ``InputError`` for a word that is not known or is no number."""
    given = options.settings
    check_options(JOB, given)
    for name in ("every", "files"):
        if name in given and not (given[name].isdecimal() and int(given[name]) > 0):
            raise InputError(f"{name} is a whole number above 0, not {given[name]!r}")
    every = int(given["every"]) if "every" in given else None
    assign = {name: given[name] for name in ("flag", "pulsar") if name in given}
    reading = {name: given[name] for name in (MAX_INPUT,) if name in given}
    return Asked(every, int(given.get("files", "1000")), assign, reading)


def run(spark: SparkSession, source: Path, target: Path, options: JobOptions) -> JobResult:
    """Take in every answer below ``source`` that has not been taken in yet; with ``every`` go on until stopped.

    Files have to appear whole, under a name of their own: write them elsewhere on the same disk and rename them into
    the folder; one that is written again under its old name is told and not taken in again. Raises
    ``InputError`` for a missing folder or a result that lies in it, ``RingsideError`` when the checkpoint under
    ``target`` is not that of its tables.
    """
    asked = asked_of(options)
    if not source.is_dir():
        raise InputError(f"{source} is no folder; watch looks at a folder in which dumps arrive")
    if target.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{target} lies in {source}; put the result elsewhere, or it would be taken for a dump")
    own = target / OWN
    own.mkdir(parents=True, exist_ok=True)
    # Two at once would share a checkpoint, and remove what the other is working on.
    with alone(own / ".lock", target):
        this = _Watch(spark, source.resolve(), target, options, asked)
        this.check_checkpoint()
        for leftover in own.glob("batch-*"):
            shutil.rmtree(leftover)
        _take_in(this, own / "checkpoint")
        state = _state(target)
        if state is None:
            raise InputError(f"no {' or '.join(ANSWER_SUFFIXES[:3])} file lies in {source}")
        written_anew = this.written_anew()
        if written_anew:
            names = ", ".join(written_anew[:3]) + (", …" if len(written_anew) > 3 else "")
            reason = f"{len(written_anew):,} files changed after they were taken in ({names})"
            options.say(f"watch: {reason}; they are not taken in again: a new dump needs a new name")
        summary = json.loads((target / f"{JOB}.json").read_bytes())
    return JobResult(JOB, summary)


def _take_in(this: _Watch, checkpoint: Path) -> None:
    # What goes wrong in a batch is told in one sentence at the end, not as a story as well.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with spark_faults(JOB):
        query = _started(this, checkpoint)
        try:
            query.awaitTermination()
        finally:
            with suppress(Exception):
                query.stop()


def _started(this: _Watch, checkpoint: Path) -> StreamingQuery:
    reader = this.spark.readStream.format("binaryFile").schema(_SCHEMA).option("recursiveFileLookup", "true")
    reader = reader.option("pathGlobFilter", _GLOB).option("maxFilesPerTrigger", this.asked.files)
    # Only names are asked for, so no file is read before the import reads it.
    writer = reader.load(str(this.source)).select("path").writeStream.foreachBatch(this.take)
    writer = writer.option("checkpointLocation", str(checkpoint))
    every = this.asked.every_s
    ready = writer.trigger(availableNow=True) if every is None else writer.trigger(processingTime=f"{every} seconds")
    return ready.start()


def _state(target: Path) -> dict[str, Any] | None:
    """The last batch that is in place and the query it belongs to."""
    current = current_run(target, JOB)
    return json.loads((current / _STATE).read_bytes()) if current is not None else None


@dataclass
class _Watch:
    """One run; ``take`` is called for each batch, again for one whose end was not noted."""

    spark: SparkSession
    source: Path
    target: Path
    options: JobOptions
    asked: Asked

    def check_checkpoint(self) -> None:
        """Raises ``RingsideError`` when tables are there and the checkpoint that belongs to them is not."""
        state = _state(self.target)
        if state is not None and state["query"] != self._query():
            reason = f"the checkpoint in {self.target / OWN} is not the one its tables were made with"
            raise RingsideError(f"{reason}; watch into a new folder, or every file would count again")

    def _query(self) -> str | None:
        path = self.target / OWN / "checkpoint" / "metadata"
        return str(json.loads(path.read_bytes())["id"]) if path.exists() else None

    def written_anew(self) -> list[str]:
        """Files that are in the tables and were written again since: Spark knows a file by its name."""
        current = current_run(self.target, JOB)
        if current is None:
            return []
        since = (current / _STATE).stat().st_mtime_ns
        found: list[str] = []
        for part in parts_of(current / FILES.name):
            for name in pq.read_table(for_arrow(part), columns=["file"])["file"].to_pylist():
                with suppress(OSError):
                    if (self.source / name).stat().st_mtime_ns > since:
                        found.append(name)
        return sorted(found)

    def take(self, rows: DataFrame, batch: int) -> None:
        """One batch of files into the tables, unless it is in them already."""
        state = _state(self.target)
        if state is not None and state["batch"] >= batch:
            return
        arrived = sorted(_local(row.path) for row in rows.collect())
        paths = [path for path in arrived if Path(path).exists()]
        if len(paths) < len(arrived):
            self.options.say(f"watch: {len(arrived) - len(paths):,} files were gone before they could be read")
        if not paths:
            return
        folder = self.target / OWN / f"batch-{batch}"
        shutil.rmtree(folder, ignore_errors=True)
        self._import(paths, folder)
        self._place(batch, folder)
        self._clean(folder)
        self.options.say(f"watch: batch {batch} of {len(paths):,} files is in place")

    def _import(self, paths: Sequence[str], folder: Path) -> None:
        """The import of these files only: links to them, at the same places as in the folder."""
        for path in paths:
            link = folder / "files" / os.path.relpath(path, self.source)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
        importing.run(
            self.spark, folder / "files", folder / "tables", JobOptions(self.asked.reading, run_id=self.options.run_id)
        )

    def _place(self, batch: int, folder: Path) -> None:
        before = current_run(self.target, JOB)
        with replacing(self.target, JOB) as draft:
            for table in ABOUT:
                merge(table, before, folder / "tables", draft.table(table))
            for table in HISTORIES:
                carry_history(table, before, draft.table(table))
            assigned = folder / "assigned"
            chosen = JobOptions({"policies": "pulsar", **self.asked.assign}, run_id=self.options.run_id)
            assign_job.run(self.spark, draft.folder, assigned, chosen)
            stamp = self.options.stamp_of(folder / "tables")
            add_history(
                IMBALANCE_HISTORY, draft.table(IMBALANCE_HISTORY), batch, imbalance_rows(batch, assigned), stamp
            )
            add_history(BROKER_HISTORY, draft.table(BROKER_HISTORY), batch, broker_rows(batch, draft.folder), stamp)
            write_json(draft.folder, f"{JOB}.json", _summary(draft, batch))
            write_json(draft.folder, _STATE, {"batch": batch, "query": self._query()})

    def _clean(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)


def _local(path: str) -> str:
    """A path as Spark writes it (``file:/a%20b``) as the file system takes it."""
    return unquote(urlsplit(path).path)


def _summary(draft: Draft, batch: int) -> dict[str, object]:
    tables = {table.name: check_folder(table, draft.folder / table.name) for table in (*ABOUT, *HISTORIES)}
    return {"job": JOB, "batches": batch + 1, "tables": tables}
