"""Publish results all at once or not at all.

Under OUT every run of a job has a folder, and the job has a symbolic link to its current run; the tables are links
through that link, which are broken before the first run. Publishing a run is one rename of one link, so a job that is
killed at any time leaves either the whole old result or the whole new one. All links are relative: OUT can be moved.

A store has no links; ``pipeline.manifests`` publishes results there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import RingsideError
from pipeline.manifests import RUNS, begin_run, publish, withdraw_runs
from pipeline.schemas import Table
from pipeline.stamps import COLUMNS, Stamp
from pipeline.storage import Place, StorePath, first_line
from pipeline.tables import check_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_GROUP: Final = 1 << 18
GROUP_LIMIT: Final = "parquet.block.row.count.limit"
_ROWS_TOGETHER: Final = 1 << 16
"""Rows of the driver that are turned into columns at once."""
_SUFFIX: Final = ".parquet"
_FRESH: Final = ".link"
"""A new link, in the folder of its run, before it is renamed over the old one."""


@dataclass(frozen=True)
class Draft:
    """A result being written; readers see it only once the ``with`` of :func:`replacing` has ended well."""

    job: str
    folder: Place
    stamp: Stamp = field(default_factory=Stamp)
    tables: list[str] = field(default_factory=list)

    def table(self, table: Table | str) -> Place:
        """The folder for the parts of a table of the result, also by its name; created on the first call."""
        name = table if isinstance(table, str) else table.name
        place = self.folder / name
        if name not in self.tables:
            place.mkdir(exist_ok=True)
            self.tables.append(name)
        return place

    def write(self, table: Table, rows: Iterable[tuple[object, ...]]) -> None:
        """Write rows of the driver in one part; of an iterator only some are in memory at a time."""
        write_rows(table, self.table(table), rows, self.stamp)

    def write_frame(self, table: Table, rows: DataFrame) -> None:
        """Write a table with Spark, in the order of the rows, with as many rows in a group as other tables have."""
        ready = self.stamp.on_frame(rows).write.mode("overwrite").option(GROUP_LIMIT, ROWS_PER_GROUP)
        ready.parquet(str(self.table(table)))
        self.fill(table)

    def fill(self, *tables: Table) -> None:
        """Give tables without parts an empty one, so that readers find their columns."""
        for table in tables:
            if not any(self.table(table).glob(f"*{_SUFFIX}")):
                self.write(table, [])

    def rows(self, *tables: Table) -> dict[str, int]:
        """How many rows were written of each table. Raises ``InputError`` where its columns are not as declared."""
        return {table.name: check_folder(table, self.folder / table.name) for table in tables}

    def aside(self, name: str) -> Place:
        """A folder for working files of this run; it is removed at the end."""
        place = self.folder / f".{name}"
        place.mkdir(exist_ok=True)
        return place


@contextmanager
def replacing(target: Place, job: str, stamp: Stamp | None = None) -> Iterator[Draft]:
    """Write a job's new result; the end of the ``with`` replaces the old one in one step.

    An exception, a signal or a kill leaves the old result as it was. Raises ``RingsideError`` when OUT cannot be
    written, or another run of any job is writing there. A store has no locks: of two runs the last to end counts.
    """
    with _writing(target):
        if isinstance(target, StorePath):
            with _stored(target, job, stamp or Stamp()) as draft:
                yield draft
            return
        _sweep(target, job)
        runs = target / RUNS
        folder = runs / f"{job}-{_next_number(runs, job)}"
        folder.mkdir()
        draft = Draft(job, folder, stamp or Stamp())
        try:
            yield draft
            for leftover in folder.glob(".*"):
                shutil.rmtree(leftover)
            _put_into_place(target, folder, draft)
        finally:
            _sweep(target, job)


@contextmanager
def _stored(target: StorePath, job: str, stamp: Stamp) -> Iterator[Draft]:
    """``replacing`` in a store."""
    folder = begin_run(target, job)
    draft = Draft(job, folder, stamp)
    try:
        yield draft
        publish(target, folder, draft.tables)
    finally:
        with contextlib.suppress(OSError):
            folder.remove_folder()


@contextmanager
def one_after_another(target: Place) -> Iterator[None]:
    """Keep other runs out while one run publishes several results. Raises ``RingsideError``."""
    with _writing(target):
        _several.append(target)
        try:
            yield
        finally:
            _several.pop()


_several: Final[list[Place]] = []
"""Places that this process has locked until all of its results are published."""


@contextmanager
def _writing(target: Place) -> Iterator[None]:
    """Lock OUT, creating it if missing, and turn errors of the disk into ``RingsideError``."""
    try:
        if isinstance(target, StorePath) or target in _several:
            yield
            return
        (target / RUNS).mkdir(parents=True, exist_ok=True)
        with alone(target / RUNS / ".lock", target):
            yield
    except OSError as fault:
        raise RingsideError(_sentence(target, fault)) from fault


def _sentence(target: Place, fault: OSError) -> str:
    reasons = {
        errno.ENOSPC: "the disk is full; make room and start again",
        errno.EDQUOT: "the quota of the disk is used up; make room and start again",
        errno.EACCES: "there is no permission to write there",
        errno.EROFS: "it lies on a read-only disk",
        errno.ENOTDIR: "it is a file, and a folder is wanted",
        errno.EEXIST: "it is a file, and a folder is wanted",
    }
    what = reasons.get(fault.errno or 0, fault.strerror or first_line(fault))
    return f"cannot write to {target}: {what}. The result that was there is untouched"


@contextmanager
def alone(lock: Path, target: Path) -> Iterator[None]:
    """Hold a lock for the length of a ``with``. Raises ``RingsideError`` when another run has it."""
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            raise RingsideError(f"another run is writing to {target}; wait until it ends") from fault
        yield


def withdraw(target: Place, job: str) -> None:
    """Remove the result of a job from OUT, when it belongs to an earlier input than the rest."""
    with _writing(target):
        if isinstance(target, StorePath):
            withdraw_runs(target, job)
            return
        (target / RUNS / job).unlink(missing_ok=True)
        _sweep(target, job)


def current_run(target: Path, job: str) -> Path | None:
    """The folder of the current run, None before the first."""
    link = target / RUNS / job
    return link.resolve() if link.is_symlink() and link.exists() else None


def _next_number(runs: Path, job: str) -> int:
    numbers = [int(match[1]) for path in runs.iterdir() if (match := re.fullmatch(rf"{job}-(\d+)", path.name))]
    return max(numbers, default=0) + 1


def _sweep(target: Path, job: str) -> None:
    """Remove replaced runs of a job, and what killed runs left: their folders, and broken links."""
    kept = current_run(target, job)
    for path in (target / RUNS).glob(f"{job}-*"):
        if re.fullmatch(rf"{job}-\d+", path.name) and path.resolve() != kept:
            shutil.rmtree(path, ignore_errors=True)
    for path in (path for path in target.iterdir() if path.is_symlink() and not path.exists()):
        if os.readlink(path).startswith(f"{RUNS}/"):  # noqa: PTH115  the text of the link
            path.unlink(missing_ok=True)


def _put_into_place(target: Path, folder: Path, draft: Draft) -> None:
    names = sorted({*draft.tables, *(path.name for path in folder.iterdir() if path.is_file())})
    for name in names:
        path = target / name
        if not path.is_symlink() and path.exists():
            raise RingsideError(f"{path} is in the way: it was not written by this program; move it elsewhere")

    for name in (name for name in names if not (target / name).exists()):
        _link(target / name, f"{RUNS}/{draft.job}/{name}", folder)
    _link(target / RUNS / draft.job, folder.name, folder)
    for name in names:  # tables that belonged to the result of another job until now
        _link(target / name, f"{RUNS}/{draft.job}/{name}", folder)


def _link(path: Path, to: str, folder: Path) -> None:
    if not path.is_symlink() or os.readlink(path) != to:  # noqa: PTH115  the text of the link, not where it ends
        (folder / _FRESH).symlink_to(to)
        (folder / _FRESH).replace(path)


def write_json(folder: Place, name: str, value: Mapping[str, object]) -> None:
    """Write a document; the same value gives the same bytes."""
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=list)
    (folder / name).write_text(text + "\n", encoding="utf-8")


class PartWriter:
    """Writes one part of a table in a task, under a name that no other attempt has, so that retries never collide."""

    def __init__(self, table: Table, folder: Place, task: int, stamp: Stamp | None = None, *, kind: str = "") -> None:
        """``kind`` distinguishes several parts of one task and table.

        Columns with few values get statistics only if readers filter by them: they take a third of the time of writing.
        """
        self.table = table
        self._stamp = stamp
        self._few = None if table.few is None else (*table.few, *COLUMNS.names)
        self.rows = 0
        self._path = folder / f"part-{task:06d}-{kind and kind + '-'}{uuid.uuid4().hex[:12]}{_SUFFIX}"
        self._writer: Any = None
        self._schema: Any = None

    def write(self, table: Any) -> None:
        """Append a ``pyarrow.Table`` with the table's columns, if need be without rows; texts may be dictionaries."""
        table = table if self._stamp is None else self._stamp.on(table)
        if self._schema is None:
            self._schema = _as_written(self.table, table.schema)
            place = self._path
            path, store = (place.path, place.store) if isinstance(place, StorePath) else (place, None)
            # Without Arrow's own schema a dictionary is read back as plain texts.
            self._writer = pq.ParquetWriter(
                path, self._schema, filesystem=store, compression="zstd", store_schema=False,
                use_dictionary=True if self._few is None else list(self._few),
                write_statistics=[
                    name for name in self._schema.names if name in self.table.sought or name not in (self._few or ())
                ],
            )  # fmt: skip
        arrays = [_like(column, field.type) for column, field in zip(table.columns, self._schema, strict=True)]
        if table.num_rows:
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROWS_PER_GROUP)
        self.rows += table.num_rows

    def close(self) -> str | None:
        """Finish the part, and return its name; None when nothing was written."""
        if self._writer is None:
            return None
        self._writer.close()
        return self._path.name

    def discard(self) -> None:
        """Close and remove the part."""
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()
            self._path.unlink(missing_ok=True)


def _like(column: Any, kind: Any) -> Any:
    """Convert texts to or from dictionaries, like those that were written first."""
    if column.type == kind:
        return column
    return column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)


def _as_written(table: Table, given: Any) -> Any:
    declared = [*table.arrow, *COLUMNS]
    names = [field.name for field in declared][: len(given.names)]
    assert given.names == names, f"{given.names} are not the columns of {table.name}"
    return pa.schema(
        [pa.field(field.name, given.field(field.name).type, field.nullable) for field in declared[: len(names)]]
    )


def write_rows(table: Table, folder: Place, rows: Iterable[tuple[object, ...]], stamp: Stamp | None = None) -> None:
    """Write rows of the driver as one part, even an empty one, so that readers find its columns."""
    writer = PartWriter(table, folder, 0, stamp)
    waiting = iter(rows)
    try:
        writer.write(table.columns_of(list(islice(waiting, _ROWS_TOGETHER))))
        while some := list(islice(waiting, _ROWS_TOGETHER)):
            writer.write(table.columns_of(some))
        writer.close()
    except BaseException:
        writer.discard()
        raise


def move_part(part: Place, folder: Place) -> None:
    """Move a part that this run wrote into the folder of its table, which is in the same store."""
    part.rename(folder / part.name)  # type: ignore[arg-type]
