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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.errors import RingsideError
from pipeline.manifests import RUNS, begin_run, parts_of, publish, withdraw_runs
from pipeline.schemas import Table
from pipeline.stamps import Stamp
from pipeline.storage import Place, StorePath, first_line
from pipeline.tables import ROWS_PER_GROUP, check_folder, write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP_LIMIT: Final = "parquet.block.row.count.limit"
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
            if not parts_of(self.table(table)):
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
        stamp = stamp or Stamp()
        result = _in_store(target, job, stamp) if isinstance(target, StorePath) else _on_disk(target, job, stamp)
        with result as draft:
            yield draft


@contextmanager
def _on_disk(target: Path, job: str, stamp: Stamp) -> Iterator[Draft]:
    _sweep(target, job)
    runs = target / RUNS
    folder = runs / f"{job}-{_next_number(runs, job)}"
    folder.mkdir()
    draft = Draft(job, folder, stamp)
    try:
        yield draft
        for aside in list(folder.glob(".*")):
            # Renamed first, so that an attempt of a task that is late puts nothing in while it is removed.
            shutil.rmtree(aside.rename(folder / f"{aside.name}-gone"))
        _put_into_place(target, folder, draft)
    finally:
        _sweep(target, job)


@contextmanager
def _in_store(target: StorePath, job: str, stamp: Stamp) -> Iterator[Draft]:
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
