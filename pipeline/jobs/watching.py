"""The job ``watch``: each time there are new answers in a folder, the newest of each become a run, with histories.

A run has all answers that count, so its tables are those of an import of them, whatever came before. What was read is
in its table of files, and of large answers as it was read, so that only those that changed are read again. Nothing else
is kept between runs, and one that is killed has changed nothing.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from engine.errors import InputError
from engine.views.fleet.options import ALLOW_EMPTY, CLUSTERS, EVERY, EVERY_S, KEEP, MAX_INPUT, ONCE
from engine.views.fleet.tables import (
    BROKER_HISTORY,
    EVERY_TABLE,
    FILES,
    IMBALANCE_HISTORY,
    QUARANTINE,
    SUBSCRIPTION_LOADS,
    TOPICS,
    Table,
)
from pipeline.jobs import importing, job_called
from pipeline.jobs.options import check_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.files import FoundFile, FoundFiles, find_answers, last_moment, whole_file, without_moments
from pipeline.reading.rows import BAD
from pipeline.runs import Draft
from pipeline.session import plans_for
from pipeline.stamps import new_run_id, stamped_frame
from pipeline.storage import Place
from pipeline.tables import Tables, tables_if_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "watch"
JSON: Final = f"{JOB}.json"
_KEPT: Final = "2"
"""The newest two runs stay by default: somebody may be reading the last but one."""
_MOST_PARTS: Final = 64
"""A history with so many parts is written anew as one."""
_SMALL_BYTES: Final = 128 * 1024**2
"""Up to so much, to compile and to adapt plans takes longer than to run them: 150,000 topics."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def check_places(source: Place, target: Place, options: JobOptions) -> None:
    """Raise ``InputError`` for a missing folder, a result inside it, or a bad option."""
    check_options(JOB, options.settings)
    if not source.is_dir():
        raise InputError(f"{source} is not a folder; name the folder in which dumps arrive")
    if target.resolve().is_relative_to(source.resolve()):  # type: ignore[arg-type]  # of one kind, or it is not
        raise InputError(f"{target} is inside {source}; put the result elsewhere, or it would be read as a dump")


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Make a run whenever there are new answers below ``source``, until stopped, or with the option ``once`` of what is
    there now.

    Of the answers whose paths differ in nothing but times the newest one counts, so it has to stay until there is a
    newer one; where it is damaged, those before it count as well. Files must appear whole: write them elsewhere on the
    same disk, then rename them into the folder. Raises ``InputError`` where there is none to begin with.
    """
    this = _Watch(spark, source, target, options)
    this.look()
    if options.settings.get(ONCE) != "true":
        every_s = int(options.settings.get(EVERY, EVERY_S))
        options.say(f"watch: looking every {every_s} s")
        while True:
            time.sleep(every_s)
            this.look()
    tables = tables_if_there(target)
    if JSON not in tables.documents:
        find_answers(source, target)
    return JobResult(JOB, json.loads(tables.documents[JSON]))


@dataclass
class _Watch:
    spark: SparkSession
    source: Place
    target: Place
    options: JobOptions
    _seen: FoundFiles | None = None

    def look(self) -> None:
        """Make a run of each moment that is new, the oldest first."""
        with suppress(InputError):  # there is none yet
            found = find_answers(self.source, self.target)
            if found == self._seen:
                return
            self._seen = found
        if self._seen is None:
            return
        read: dict[str, datetime] = {}
        for name, moment in tables_if_there(self.target).rows(FILES, "file", "moment"):
            thing = without_moments(name)
            read[thing] = max(moment or _LONG_AGO, read.get(thing, _LONG_AGO))
        for files in rounds_of(self._seen.files, read):
            self._take(replace(self._seen, files=files))

    def _take(self, found: FoundFiles) -> None:
        """Publish a run of these files."""
        last = tables_if_there(self.target)
        batch = json.loads(last.documents[JSON])["batches"] if JSON in last.documents else 0
        own = replace(self.options, run_id=new_run_id(), settings={KEEP: _KEPT, **self.options.settings})
        when = last_moment(found.files)
        small = sum(file.size_bytes for file in found.files) <= _SMALL_BYTES
        with own.writing(JOB, self.source, self.target, when, alone=True) as draft, plans_for(self.spark, small=small):
            self._import(draft, found, last)
            bad = {whole_file(file) for file, kind in draft.counts(QUARANTINE, "file", "kind") if kind == BAD}
            spoilt = {without_moments(file) for file in bad}
            before = [name for (name,) in last.rows(FILES, "file") if without_moments(name) in spoilt]
            if more := self._still_there(before, found.files):
                # What a damaged answer lacks may be there nevertheless.
                self._import(draft, replace(found, files=_in_order([*found.files, *more])), last)
            self._run("assign", draft, "flag", "pulsar", policies="pulsar")
            history = {BROKER_HISTORY: broker_rows(self.spark, batch, draft),
                       IMBALANCE_HISTORY: imbalance_rows(self.spark, batch, draft)}  # fmt: skip
            for table, rows in history.items():
                draft.paths[table.name] = [*last.paths.get(table.name, ())]
                _append(draft, table, stamped_frame(rows, when))
            self._run("report", draft)
            sizes = draft.sizes(*(table for table in EVERY_TABLE if draft.has(table)))
            draft.write_json(JSON, {"job": JOB, "batches": batch + 1, "tables": sizes})
        self.options.say(f"watch: batch {batch} of {len(found.files):,} files is in place")

    def _still_there(self, names: Iterable[str], files: Sequence[FoundFile]) -> list[FoundFile]:
        """The files with these names that are still in the folder, besides ``files``."""
        assert self._seen is not None
        wanted = {*names} - {file.name for file in files}
        return [file for file in self._seen.files if file.name in wanted]

    def _import(self, draft: Draft, found: FoundFiles, last: Tables) -> None:
        given = {CLUSTERS: "one", **self.options.settings}
        settings = {ALLOW_EMPTY: "true"} | {name: given[name] for name in (CLUSTERS, MAX_INPUT) if name in given}
        importing.run(self.spark, self.source, draft, JobOptions(settings, run_id=draft.run_id), found, earlier=last)

    def _run(self, job: str, draft: Draft, *names: str, **own: str) -> None:
        """Run another job with those of our options that are named, and with ``own`` ones."""
        settings = own | {name: value for name, value in self.options.settings.items() if name in names}
        job_called(job)(self.spark, draft, draft, JobOptions(settings, run_id=draft.run_id))


def rounds_of(files: Sequence[FoundFile], read: Mapping[str, datetime]) -> list[tuple[FoundFile, ...]]:
    """The answers that count at each new moment, the oldest moment first: of each thing the newest until then.

    Moments are those of the thing with most new answers. ``read``: that of the newest answer about each thing that was
    read already, by its path without times.
    """
    about: dict[str, list[FoundFile]] = defaultdict(list)
    for file in _in_order(files):
        about[without_moments(file.name)].append(file)
    fresh = {
        thing: [moment for moment in map(_moment, own) if moment > read.get(thing, _LONG_AGO)]
        for thing, own in about.items()
    }
    moments = max(fresh.values(), key=len, default=[])

    def newest(thing: str, before: datetime) -> list[FoundFile]:
        known = read.get(thing, _LONG_AGO)
        return [file for file in about[thing] if _moment(file) < before or _moment(file) <= known][-1:]

    ends = [*moments[1:], _NEVER] if moments else []
    return [_in_order(file for thing in about for file in newest(thing, end)) for end in ends]


def _moment(file: FoundFile) -> datetime:
    return file.moment or _LONG_AGO


def _in_order(files: Iterable[FoundFile]) -> tuple[FoundFile, ...]:
    """By their moments: what was recorded later is read later, and so counts."""
    ordered = sorted(files, key=lambda file: (_moment(file), file.name))
    return tuple(replace(file, position=at) for at, file in enumerate(ordered))


def imbalance_rows(spark: SparkSession, batch: int, tables: Tables) -> DataFrame:
    """Rows of ``imbalance_history`` from the ``subscription_loads`` of an assignment: those of the rule in force."""
    from pyspark.sql import functions as fn  # noqa: PLC0415

    loads = tables.load(spark, SUBSCRIPTION_LOADS).where("in_force")
    return loads.withColumn("batch", fn.lit(batch).cast("bigint")).select(*IMBALANCE_HISTORY.names)


def broker_rows(spark: SparkSession, batch: int, tables: Tables) -> DataFrame:
    """Rows of ``broker_history`` from topics; those without a known broker are left out."""
    from pyspark.sql import functions as fn  # noqa: PLC0415

    from pipeline.transforms.worst import RATES, known_sums  # noqa: PLC0415

    owned = tables.load(spark, TOPICS).where("broker is not null").groupBy("cluster", "broker")
    sums = owned.agg(fn.count("*").alias("topics"), *known_sums(RATES, ()))
    return sums.withColumn("batch", fn.lit(batch).cast("bigint")).select(*BROKER_HISTORY.names)


def _append(draft: Draft, table: Table, rows: DataFrame) -> None:
    """Add rows of one moment to a history."""
    if len(draft.parts(table)) >= _MOST_PARTS:
        rows = draft.load(rows.sparkSession, table, with_stamp=True).unionByName(rows)
        draft.write_frame(table, rows.coalesce(1).sortWithinPartitions("snapshot_time", *table.names))
    else:
        draft.write_frame(table, rows.coalesce(1).sortWithinPartitions(*table.names), add=True)
