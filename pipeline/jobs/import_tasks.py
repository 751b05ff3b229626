"""Read files in tasks: a task writes its rows as parts and returns only a small account to the driver.

Rows never pass through the JVM: Spark cannot split one document, and handing its rows over would take longer than
reading it.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from engine.admin.reading import MAX_INPUT_BYTES
from engine.errors import Problem
from pipeline.jobs.dealing import here, in_tasks
from pipeline.reading.answers import FileContext, take_file
from pipeline.reading.files import FoundFile
from pipeline.reading.rows import BAD, Row, Rows, quarantine_row
from pipeline.schemas import (
    ANSWERS,
    BROKERS,
    BUNDLE_REPORTS,
    CONSUMER_SETS,
    CONSUMERS,
    LISTED,
    LOAD_ANSWERS,
    PUBLISHERS,
    QUARANTINE,
    SETTINGS,
    SUBSCRIPTIONS,
    TOPICS,
    Table,
)
from pipeline.stamps import Stamp
from pipeline.storage import Place
from pipeline.writing import PartWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOUNDARY_LISTS: Final = Table("boundary_lists", ("namespace string", "boundaries array<bigint>", "file string"))
"""Exists only during an import: boundary lists as they are in the answers."""
WRITTEN: Final = (
    TOPICS, SUBSCRIPTIONS, CONSUMERS, PUBLISHERS, BUNDLE_REPORTS, BROKERS, LISTED, SETTINGS, ANSWERS, LOAD_ANSWERS,
    QUARANTINE, CONSUMER_SETS, BOUNDARY_LISTS,
)  # fmt: skip
SMALL_BYTES: Final = 8 * 1024**2
"""Up to this size the driver reads files itself: handing them to a task would take longer."""
_ROWS_HELD: Final = 100_000
_BYTES_HELD: Final = 64 * 1024**2


class FileAccount(msgspec.Struct):
    """What became of one file."""

    position: int
    kind: str
    outcome: str
    size_bytes: int
    namespaces: list[str] = []


class TaskAccount(msgspec.Struct):
    """What one task read and wrote: ``parts`` by table, and ``counts`` of all rows by table, good and bad."""

    files: list[FileAccount] = []
    parts: dict[str, list[str]] = {}
    counts: dict[str, int] = {}


@dataclass
class ImportAccount:
    """The accounts of all tasks together."""

    files: dict[int, FileAccount] = field(default_factory=dict)
    parts: dict[str, set[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, task: TaskAccount) -> None:
        """Add the account of a task; the account of a file that was read a second time replaces the first."""
        for file in task.files:
            self.files[file.position] = file
        for table, names in task.parts.items():
            self.parts.setdefault(table, set()).update(names)
        self.counts.update(task.counts)


def read_in_tasks(
    spark: SparkSession,
    groups: Sequence[Sequence[FoundFile]],
    contexts: Mapping[str, FileContext],
    folder: Place,
    stamp: Stamp,
    *,
    limit_bytes: int = MAX_INPUT_BYTES,
) -> list[TaskAccount]:
    """Read every group of files in a task of its own; a few small files are read by the driver itself.

    Parts go to ``folder/<table>``, which every executor must be able to write to. ``limit_bytes`` limits the size of
    one file, unpacked.
    """
    dealt = [list(group) for group in groups]
    small = len(dealt) == 1 and sum(file.size_bytes for file in dealt[0]) <= SMALL_BYTES

    def read(number: int) -> bytes:
        return msgspec.msgpack.encode(
            read_group(dealt[number], contexts, folder, number, stamp, limit_bytes=limit_bytes)
        )

    accounts = here(len(dealt), read) if small else in_tasks(spark, len(dealt), read)
    return [msgspec.msgpack.decode(account, type=TaskAccount) for account in accounts]


@contextmanager
def _no_collector() -> Iterator[None]:
    """Turn the collector off: in the millions of objects of a document it finds no cycle, and takes half the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@_no_collector()
def read_group(
    files: Sequence[FoundFile],
    contexts: Mapping[str, FileContext],
    folder: Place,
    number: int,
    stamp: Stamp | None = None,
    *,
    limit_bytes: int = MAX_INPUT_BYTES,
) -> TaskAccount:
    """Read some files and write their rows; a failure leaves no part behind."""
    writers = {table.name: PartWriter(table, folder / table.name, number, stamp) for table in WRITTEN}
    account = TaskAccount()
    rows = Rows()
    counts: Counter[str] = Counter()
    sets: dict[tuple[str, ...], int] = {}
    try:
        for file in files:
            rows.sets = sets
            outcome = take_file(
                rows, file.path, file.name, contexts.get(file.name, FileContext()), limit_bytes=limit_bytes
            )
            account.files.append(
                FileAccount(
                    file.position, outcome.kind, outcome.outcome, outcome.size_bytes, sorted(outcome.namespaces)
                )
            )
            held = len(rows.topics) + len(rows.consumers) + len(rows.listed)
            if rows.tables or held > _ROWS_HELD or rows.answer_bytes > _BYTES_HELD:
                counts += rows.counts
                _write(rows, writers)
                rows = Rows()
        counts += rows.counts
        _write(rows, writers)
        writers["consumer_sets"].write(CONSUMER_SETS.columns_of([(code, list(names)) for names, code in sets.items()]))
        account.parts = {name: [part] for name, writer in writers.items() if (part := writer.close())}
    except BaseException:
        for writer in writers.values():
            writer.discard()
        raise
    account.counts = dict(counts)
    return account


def _write(rows: Rows, writers: Mapping[str, PartWriter]) -> None:
    for table in WRITTEN:
        if table is not CONSUMER_SETS:
            for columns in rows.tables.pop(table.name, ()):
                writers[table.name].write(columns)
            writers[table.name].write(_columns(table, rows))


_UNFIT: Final = (OverflowError, UnicodeEncodeError, pa.ArrowInvalid)


def _columns(table: Table, rows: Rows) -> Any:
    """The rows of one table; those with a value that no column holds (a number of 100 digits) go to the quarantine."""
    written: list[Row] = getattr(rows, table.name)
    try:
        return table.columns_of(written)
    except _UNFIT:
        good = [row for row in written if _fits(table, row, rows)]
        return table.columns_of(good)


def _fits(table: Table, row: Row, rows: Rows) -> bool:
    try:
        table.columns_of([row])
    except _UNFIT as fault:
        # The name itself may be what does not fit.
        name = str(row[0]).encode("utf-8", "backslashreplace").decode()
        problem = Problem(str(row[-1]), f'$["{name}"]', f"holds what no table can: {fault}", "record the answer again")
        rows.quarantine.append(quarantine_row(problem, table.name, 1, BAD))
        return False
    return True
