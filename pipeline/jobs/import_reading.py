"""Read answers in tasks, and send the rows of all tables as blocks to the tasks that write them.

A namespace belongs to some parts and a topic to one of these, so all rows about a topic meet in one writing task.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isqrt
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.admin.topics import BROKER_STATS
from engine.bulk_hashing import murmur3_bulk
from engine.errors import Problem
from pipeline.batches import by_part, byte_column
from pipeline.blocks import Sender, joined, plain
from pipeline.reading.answers import FileContext, take_file
from pipeline.reading.files import FoundFile
from pipeline.reading.rows import BAD, Row, Rows, namespace_of, quarantine_row
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

RANK: Final = "rank"
"""An additional column of the topics: of two answers about one topic that with the higher rank is better."""
BOUNDARY_LISTS: Final = Table("boundary_lists", ("namespace string", "boundaries array<bigint>", "file string"))
"""Exists only during an import: boundary lists as they are in the answers."""
NAMED_BUNDLES: Final = Table("named_bundles", ("namespace string", "range string", "broker string?", "file string"))
"""Exists only during an import: the bundles under which answers list topics, once for each file."""
BY_TOPIC: Final = (TOPICS, SUBSCRIPTIONS, CONSUMERS, PUBLISHERS)
FEW: Final = ("namespace", "bundle", "broker", "kind", "file", "domain", "subscription", "type", "told_active_consumer")
"""Columns with few different texts, in the tables that have a topic."""
_BY_NAMESPACE: Final = (LISTED, ANSWERS)
_IN_ORDER: Final = (BUNDLE_REPORTS, BROKERS, SETTINGS, LOAD_ANSWERS, BOUNDARY_LISTS)
"""Small tables in which the order of reading counts, so that all their rows are in one part."""
_EXACT: Final = 1 << 40
_ROWS_HELD: Final = 100_000
_BYTES_HELD: Final = 64 * 1024**2


class FileAccount(msgspec.Struct):
    """What became of one file."""

    position: int
    kind: str
    outcome: str
    size_bytes: int
    namespaces: list[str] = []


class ReadAccount(msgspec.Struct):
    """What one reading task read; ``counts`` are all rows by table, good and bad."""

    files: list[FileAccount] = []
    counts: dict[str, int] = {}


@dataclass(frozen=True)
class AnswerShare:
    """The files of one reading task, and what is known of each by its name."""

    files: Sequence[FoundFile]
    contexts: Mapping[str, FileContext]


@dataclass(frozen=True)
class ReadAnswers:
    """The work of the reading tasks: blocks for ``parts`` parts, the account last.

    ``limit_bytes`` limits the size of one file, unpacked.
    """

    parts: int
    limit_bytes: int

    def __call__(self, share: AnswerShare, number: int) -> Iterator[Any]:
        with _no_collector():
            yield from _Reading(self, share, number).blocks()


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


@dataclass
class _Reading:
    plan: ReadAnswers
    share: AnswerShare
    number: int
    account: ReadAccount = field(default_factory=ReadAccount)

    def __post_init__(self) -> None:
        self._sender = Sender(self.number)

    def blocks(self) -> Iterator[Any]:
        counts: Counter[str] = Counter()
        sets: dict[tuple[str, ...], int] = {}
        rows = Rows(sets=sets)
        for file in self.share.files:
            context = self.share.contexts.get(file.name, FileContext())
            outcome = take_file(rows, file.path, file.name, context, limit_bytes=self.plan.limit_bytes)
            self.account.files.append(
                FileAccount(
                    file.position, outcome.kind, outcome.outcome, outcome.size_bytes, sorted(outcome.namespaces)
                )
            )
            held = len(rows.topics) + len(rows.consumers) + len(rows.listed)
            if rows.tables or held > _ROWS_HELD or rows.answer_bytes > _BYTES_HELD:
                counts += rows.counts
                yield from self._blocks_of(rows)
                rows = Rows(sets=sets)
        counts += rows.counts
        yield from self._blocks_of(rows)
        lists = CONSUMER_SETS.columns_of([(code, list(names)) for names, code in sets.items()])
        yield from self._by_part(CONSUMER_SETS, lists, lists["consumer_set"].to_numpy() % self.plan.parts)
        self.account.counts = dict(counts)
        yield self._sender.account(self.account)

    def _blocks_of(self, rows: Rows) -> Iterator[Any]:
        tables = {table.name: _joined(table, rows) for table in BY_TOPIC}
        spread = _Spread.of(tables[TOPICS.name], self.plan.parts)
        for table in BY_TOPIC:
            columns = tables.pop(table.name)
            part = spread.part_of(columns["topic"])
            if table is TOPICS:
                yield from self._in_part(0, NAMED_BUNDLES, _named_bundles(columns))
                columns = columns.append_column(RANK, self._ranks(columns))
            yield from self._by_part(table, columns, part)
        for table in _BY_NAMESPACE:
            place = table.names.index("namespace")
            by_part: dict[int, list[Row]] = defaultdict(list)
            for row in getattr(rows, table.name):
                by_part[_number(row[place]) % self.plan.parts].append(row)
            for number, own in by_part.items():
                yield from self._in_part(number, table, _columns(table, own, rows))
        for table in _IN_ORDER:
            yield from self._in_part(0, table, _columns(table, getattr(rows, table.name), rows))
        # Last: rows of other tables that no column can hold are added to it.
        yield from self._in_part(self.number % self.plan.parts, QUARANTINE, _columns(QUARANTINE, rows.quarantine, rows))

    def _ranks(self, topics: Any) -> Any:
        """Statistics of a topic are better than broker-stats, which cut decimals and lack the active consumer; of two
        equal kinds the later file is better."""
        position = {file.name: file.position for file in self.share.files}
        files, kinds = topics["file"].combine_chunks(), topics["kind"].combine_chunks()
        places = np.array([place_of_file(name, position) for name in files.dictionary.to_pylist()], dtype=np.int64)
        exact = np.array([kind != BROKER_STATS for kind in kinds.dictionary.to_pylist()], dtype=np.int64)
        return pa.array(places[files.indices.to_numpy()] + exact[kinds.indices.to_numpy()] * _EXACT)

    def _by_part(self, table: Table, columns: Any, part: NDArray[np.int64]) -> Iterator[Any]:
        for number, own in by_part(columns, part):
            yield from self._in_part(number, table, own)

    def _in_part(self, part: int, table: Table, columns: Any) -> Iterator[Any]:
        if "topic" in columns.column_names:
            columns = columns.set_column(columns.column_names.index("topic"), "topic", plain(columns["topic"]))
        yield from self._sender.table(part, table.name, columns)


def place_of_file(name: str, position: Mapping[str, int]) -> int:
    """The place of a file in reading order; a member of a file of many answers has the place of that file."""
    return position.get(name, position.get(name.partition(": ")[0], -1))


@dataclass(frozen=True)
class _Spread:
    """The parts of topics. ``topics`` is an Arrow array, ``parts`` the part of each."""

    topics: Any
    parts: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, topics: Any, count: int) -> _Spread:
        names = topics["topic"].combine_chunks()
        spaces = topics["namespace"].combine_chunks()
        if count == 1:
            return cls(names, np.zeros(len(names), dtype=np.int64), count)
        numbers = np.array([_number(name) for name in spaces.dictionary.to_pylist()], dtype=np.int64)
        return cls(names, _parts(names, numbers[spaces.indices.to_numpy()], count), count)

    def part_of(self, topics: Any) -> NDArray[np.int64]:
        """The part of each topic in a column."""
        if self.count == 1:
            return np.zeros(len(topics), dtype=np.int64)
        if pa.types.is_dictionary(topics.type):
            coded = topics.combine_chunks()
            place: NDArray[np.int64] = coded.indices.to_numpy()
            return self.part_of(pa.chunked_array([coded.dictionary]))[place]
        if topics.equals(pa.chunked_array([self.topics])):
            return self.parts
        found = pc.index_in(topics, value_set=self.topics).combine_chunks()
        part = self.parts[pc.fill_null(found, 0).to_numpy()] if len(self.parts) else np.zeros(len(topics), np.int64)
        lost = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))
        if len(lost):  # the row of the topic itself is in the quarantine
            names = topics.take(pa.array(lost)).combine_chunks()
            numbers = [_number(namespace_of(name)) for name in names.to_pylist()]
            part[lost] = _parts(names, np.array(numbers, dtype=np.int64), self.count)
        return part


def _number(namespace: str) -> int:
    return crc32(namespace.encode("utf-8", "surrogatepass"))


def _parts(topics: Any, namespaces: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The part of each topic: one of several of its namespace, so that a large namespace is not one task."""
    return (namespaces + murmur3_bulk(byte_column(topics)) % isqrt(count)) % count


def _named_bundles(topics: Any) -> Any:
    columns = ["namespace", "bundle", "broker", "file"]
    listed = topics.select(columns).filter(pc.is_valid(topics["bundle"]))
    return listed.group_by(columns).aggregate([]).select(columns).rename_columns(NAMED_BUNDLES.names)


def _joined(table: Table, rows: Rows) -> Any:
    """All rows of one table; topics of a single large document stay indices."""
    tables = [*rows.tables.pop(table.name, ()), _columns(table, getattr(rows, table.name), rows)]
    full = [columns for columns in tables if columns.num_rows] or tables
    coded = len(full) == 1 and pa.types.is_dictionary(full[0]["topic"].type)
    return joined(full, (*FEW, "topic") if coded else FEW)


_UNFIT: Final = (OverflowError, UnicodeEncodeError, pa.ArrowInvalid)


def _columns(table: Table, written: list[Row], rows: Rows) -> Any:
    """Rows of one table; those with a value that no column holds (a number of 100 digits) go to the quarantine."""
    try:
        return table.columns_of(written)
    except _UNFIT:
        return table.columns_of([row for row in written if _fits(table, row, rows)])


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
