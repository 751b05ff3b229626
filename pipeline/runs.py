"""Write a run: its parts go where they stay, its manifest comes last, and only then is it the latest.

A run that fails, or is killed at any time, changes nothing that readers see: they open what ``latest`` names
(``engine.views.fleet.runs``). Runs share no file but that, so several may write into one OUT at once. A killed one
leaves files that no manifest names; a later run removes them when they are a day old.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError, RingsideError
from engine.views.fleet.runs import LATEST, RUNS, Manifest, check_release, result_at, run_ids
from engine.views.fleet.tables import EVERY_TABLE, QUARANTINE, Table
from pipeline.stamps import stamped_frame, with_comments
from pipeline.storage import Place, StorePath, first_line, for_arrow, make_folder, names_in, remove_folder
from pipeline.tables import ROWS_PER_GROUP, PartWriter, Tables, parts_in, tables_if_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP_LIMIT: Final = "parquet.block.row.count.limit"
WORK: Final = ".work"
"""The hidden folder under OUT with the working files of runs, each in a folder of its own."""
_ROWS_WRITTEN: Final = 1 << 16
"""Rows of the driver that are turned into columns at once."""
_WRITING: Final = "writing"
"""The file among the working files of a run that keeps others from removing tables that it may name."""
_ABANDONED: Final = timedelta(days=1)
"""A run without a manifest that began so long ago was killed."""


@dataclass(frozen=True)
class Folders:
    """Where the parts of a run go: tables of the result, and ``working`` tables of a job. Pickled into tasks."""

    root: Place
    run_id: str
    job: str
    working: frozenset[str] = frozenset()

    @property
    def work(self) -> str:
        """The hidden folder of the job, below ``root``."""
        return f"{WORK}/{self.run_id}/{self.job}"

    def of(self, table: str) -> str:
        """The folder of a table, below ``root``."""
        return f"{self.work}/{table}" if table in self.working else f"{table}/run_id={self.run_id}"


@dataclass
class Parts:
    """The parts that one task writes, one per table.

    An exception that leaves its ``with`` removes them.
    """

    folders: Folders
    snapshot_time: datetime | None
    number: int
    _writers: dict[str, PartWriter] = field(default_factory=dict)

    def write(self, table: Table, columns: Any, *, empty: bool = False) -> None:
        """Append the rows of a ``pyarrow.Table``; without rows no part is written, unless ``empty``."""
        if not columns.num_rows and not empty:
            return
        if table.name not in self._writers:
            root = self.folders.root
            if isinstance(root, Path) and not (root / self.folders.work).is_dir():
                # An attempt of a task that is late must not add to what is published.
                raise FileNotFoundError(errno.ENOENT, "the run has ended", str(root / self.folders.work))
            place = root / self.folders.of(table.name)
            make_folder(place)
            job = self.folders.job if table is QUARANTINE else ""
            self._writers[table.name] = PartWriter(table, place, self.number, self.snapshot_time, job=job)
        self._writers[table.name].write(columns)

    def close(self) -> list[tuple[str, str]]:
        """Finish the parts, and return table and path of each."""
        written = []
        for table, writer in self._writers.items():
            writer.close()
            written.append((table, f"{self.folders.of(table)}/{writer.name}"))
        return written

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for writer in self._writers.values() if kind is not None else ():
            writer.discard()


@dataclass
class Draft(Tables):
    """The tables of a run that is being written by a job; readers see them only once :func:`new_run` has ended well."""

    job: str = ""
    working: Tables = field(init=False)
    """Tables that the job needs for itself; they are removed at its end."""

    def __post_init__(self) -> None:
        self.working = Tables(self.root, self.run_id)

    @property
    def work(self) -> Place:
        """The hidden folder of the job for files of other kinds."""
        return self.root / self.folders().work

    def folders(self, working: Iterable[Table] = ()) -> Folders:
        """Where tasks write."""
        return Folders(self.root, self.run_id, self.job, frozenset(table.name for table in working))

    @contextmanager
    def writer(self, working: Iterable[Table] = ()) -> Iterator[Parts]:
        """The parts that the driver itself writes."""
        with Parts(self.folders(working), self.snapshot_time, 0) as parts:
            yield parts
            self.take(parts.close())

    def write(self, table: Table, rows: Iterable[tuple[object, ...]]) -> None:
        """Write rows of the driver as one part, even without any; of an iterator only some are in memory at a time."""
        waiting = iter(rows)
        with self.writer() as parts:
            parts.write(table, table.columns_of(list(islice(waiting, _ROWS_WRITTEN))), empty=True)
            while some := list(islice(waiting, _ROWS_WRITTEN)):
                parts.write(table, table.columns_of(some))

    def write_sorted(self, table: Table, order: Sequence[str]) -> None:
        """Write a ``working`` table of few rows, sorted by columns; a minus before a name: the highest first."""
        rows = pa.concat_tables(pq.read_table(for_arrow(part)) for part in self.working.parts(table))
        keys = [(name.removeprefix("-"), "descending" if name.startswith("-") else "ascending") for name in order]
        with self.writer() as parts:
            parts.write(table, rows.sort_by(keys))

    def write_frame(self, table: Table, rows: DataFrame, *, add: bool = False) -> None:
        """Write a table with Spark, in the order of the rows, with as many rows in a group as other tables have.

        ``add``: after the rows that it has, else in their place.
        """
        folder = self.folders().of(table.name)
        before = {*parts_in(self.root / folder)}
        ready = with_comments(stamped_frame(rows, self.snapshot_time), table.comments)
        writer = ready.write.mode("append").option(GROUP_LIMIT, ROWS_PER_GROUP)
        writer.parquet(str(self.root / folder))
        # Spark does not say what it wrote.
        written = [part for part in parts_in(self.root / folder) if part not in before]
        self.paths[table.name] = self.paths.get(table.name, []) if add else []
        self.take((table.name, f"{folder}/{part.name}") for part in written)
        self.fill(table)

    def write_json(self, name: str, value: Mapping[str, object]) -> None:
        """Write a document; the same value gives the same bytes."""
        self.documents[name] = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=list).encode()

    def fill(self, *tables: Table) -> None:
        """Give tables without parts an empty one, so that readers find their columns."""
        for table in tables:
            if not self.paths.get(table.name):
                self.write(table, [])

    def take(self, parts: Iterable[tuple[str, str]]) -> None:
        """Take parts, as table and path, after those that a table has."""
        for table, path in parts:
            paths = (self.working if path.startswith(f"{WORK}/") else self).paths
            paths.setdefault(table, []).append(path)

    def adopt(self, other: Tables) -> None:
        """Name the tables and documents of another run or job as well, in place of those of the same name."""
        self.paths = with_tables(self.paths, other.paths)
        self.documents.update(other.documents)
        self.snapshot_time = self.snapshot_time or other.snapshot_time

    def forget(self, *tables: Table) -> None:
        """Remove the parts of tables, which are to be written again."""
        for table in tables:
            for part in self.parts(table):
                part.unlink()
            self.paths.pop(table.name, None)


def with_tables(before: Mapping[str, list[str]], own: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The tables of ``own`` in place of those before; of the quarantine, only the parts of the same jobs are replaced.

    >>> with_tables({"quarantine": ["q/part-0-keys-1", "q/part-0-assign-1"]}, {"quarantine": ["r/part-0-keys-2"]})
    {'quarantine': ['q/part-0-assign-1', 'r/part-0-keys-2']}
    """
    jobs = {_job_of(path) for path in own.get(QUARANTINE.name, ())}
    kept = [path for path in before.get(QUARANTINE.name, ()) if _job_of(path) not in jobs]
    both = {**before, **{table: list(paths) for table, paths in own.items()}}
    return both if not kept else both | {QUARANTINE.name: [*kept, *own.get(QUARANTINE.name, ())]}


def _job_of(path: str) -> str:
    return path.rpartition("/")[2].split("-")[2]


@contextmanager
def new_run(
    target: Place | Draft, job: str, about: Manifest, *, alone: bool = False, keep: int = 0, backfill: bool = False
) -> Iterator[Draft]:
    """Write a run of a job, or with a ``Draft`` the part of that run that one of its jobs has.

    ``about`` has what the manifest says of the run itself. Its other tables are those of the latest run, unless it is
    ``alone``. ``keep``: remove all but so many of the newest runs, 0 for none. ``backfill``: readers go on opening
    the run that is the latest now. Raises ``RingsideError`` where OUT cannot be written.
    """
    if isinstance(target, Draft):
        draft = Draft(target.root, target.run_id, about.snapshot_time, job=job)
        with _working(draft, draft.work):
            yield draft
        target.adopt(draft)
        return
    try:
        check_release(target)
        published = run_ids(target)
        if about.run_id in published:
            raise InputError(f"{target} has a run {about.run_id} already")
        draft = Draft(target, about.run_id, about.snapshot_time, job=job)
        with _working(draft, draft.work.parent):
            # In a store a folder is there once a file is.
            (draft.work.parent / _WRITING).write_text("")
            try:
                yield draft
            except BaseException:
                draft.paths.clear()
                with suppress(OSError):
                    _remove_strays(draft)
                raise
            _remove_strays(draft)
            base = Tables(target) if alone else tables_if_there(target)
            _publish(draft, base, about, backfill=backfill)
    except OSError as fault:
        raise RingsideError(_sentence(target, fault)) from fault
    try:
        _remove_old(target, published, keep)
    except OSError as fault:
        what = fault.strerror or first_line(fault)
        raise RingsideError(f"run {about.run_id} is there, but older runs in {target} stay: {what}") from fault


@contextmanager
def _working(draft: Draft, own: Place) -> Iterator[None]:
    """Make the folder of working files, and remove it in ``own`` at the end, also where a signal comes meanwhile."""
    ours = not draft.root.exists()
    try:
        make_folder(draft.work)
        yield
    finally:
        try:
            _remove_work(draft, own, ours=ours)
        except BaseException:
            with suppress(OSError):
                _remove_work(draft, own, ours=ours)
            raise


def _remove_work(draft: Draft, own: Place, *, ours: bool) -> None:
    remove_folder(own)
    for folder in (draft.root / WORK, *([draft.root] if ours else ())):
        _remove_empty(folder)


def _publish(draft: Draft, base: Tables, about: Manifest, *, backfill: bool) -> None:
    whole = msgspec.structs.replace(
        about,
        job=draft.job,
        snapshot_time=draft.snapshot_time,
        tables=dict(sorted(with_tables(base.paths, draft.paths).items())),
        documents={name: msgspec.Raw(text) for name, text in sorted((base.documents | draft.documents).items())},
    )
    make_folder(draft.root / RUNS)
    _put(draft.root / RUNS / f"{draft.run_id}.json", whole.text(), draft.work)
    if not backfill or not (draft.root / LATEST).exists():
        _put(draft.root / LATEST, f"{draft.run_id}\n".encode(), draft.work)


def _put(place: Place, data: bytes, work: Place) -> None:
    """Write a file in one step: readers see the old one or the new one. On a disk it is made in ``work``."""
    if isinstance(place, StorePath):
        place.write_bytes(data)
        return
    new = Path(str(work)) / f"{place.name}-{uuid.uuid4().hex[:8]}"
    try:
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(place)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _remove_strays(draft: Draft) -> None:
    """Remove files of failed attempts and failed jobs, which no table of the draft names."""
    for table in EVERY_TABLE:
        folder = draft.root / table.name / f"run_id={draft.run_id}"
        known = {path.rpartition("/")[2] for path in draft.paths.get(table.name, ())}
        if not known:
            remove_folder(folder)
            _remove_empty(folder.parent)
            continue
        for name in names_in(folder):
            if name not in known:
                (folder / name).unlink(missing_ok=True)


def _remove_old(root: Place, published: Sequence[str], keep: int) -> None:
    """Remove all but the newest ``keep`` of the runs that were there before, and what killed runs left.

    Tables of theirs that a newer manifest names stay.
    """
    there = run_ids(root)
    working = [folder for folder in _folders(root / WORK) if not _is_abandoned(folder.name, there)]
    kept = {*there[-keep:], *(run for run in there if run not in published), result_at(root).manifest.run_id}
    # One that another process is writing may name the tables of any of them; who ends last removes them.
    gone = {run for run in there if keep and not working and run not in kept}
    for run in gone:
        (root / RUNS / f"{run}.json").unlink(missing_ok=True)
    folders = [folder for table in EVERY_TABLE for folder in _run_folders(root / table.name)]
    old = [folder for folder in folders if _run_of(folder) in gone or _is_abandoned(_run_of(folder), there)]
    if old:
        parts = (path for run in there if run not in gone for path in _parts_of(root, run))
        needed = {path.rpartition("/")[0] for path in parts}
        for folder in old:
            if f"{folder.parent.name}/{folder.name}" not in needed:
                remove_folder(folder)
                _remove_empty(folder.parent)
    for folder in _folders(root / WORK):
        if folder not in working:
            remove_folder(folder)


def _parts_of(root: Place, run: str) -> Iterator[str]:
    with suppress(InputError):  # another run has just removed it
        for paths in result_at(root, run).manifest.tables.values():
            yield from paths


def _folders(place: Place) -> list[Place]:
    if isinstance(place, StorePath):
        return [*place.folders()]
    return [path for path in place.iterdir() if path.is_dir()] if place.is_dir() else []


def _run_folders(table: Place) -> list[Place]:
    return [folder for folder in _folders(table) if folder.name.startswith("run_id=")]


def _run_of(folder: Place) -> str:
    return folder.name.partition("=")[2]


def _is_abandoned(run: str, there: Sequence[str]) -> bool:
    try:
        begin = datetime.strptime(run[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:  # not named by us
        return False
    return run not in there and datetime.now(UTC) - begin > _ABANDONED


def _remove_empty(folder: Place) -> None:
    for _ in range(2):  # a fault of the disk may pass
        if isinstance(folder, Path):
            with suppress(OSError):
                folder.rmdir()


def _sentence(target: Place, fault: OSError) -> str:
    reasons = {
        errno.ENOSPC: "the disk is full; make room and start again",
        errno.EDQUOT: "the quota of the disk is used up; make room and start again",
        errno.EACCES: "there is no permission to write there",
        errno.EROFS: "it is on a read-only disk",
        errno.ENOTDIR: "it is a file, and a folder is needed",
        errno.EEXIST: "it is a file, and a folder is needed",
    }
    what = reasons.get(fault.errno or 0, fault.strerror or first_line(fault))
    return f"cannot write to {target}: {what}. The result that was there is untouched"
