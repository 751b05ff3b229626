"""Merge a round of new dumps into the tables of all earlier ones: the later answer about a thing counts.

One Spark job reads the parts of both, as blocks, and writes every table that changes: all rows about a thing meet in
one task, which looks up the moments of their files. The driver holds nothing for each topic or file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from engine.admin.topics import BROKER_STATS
from engine.bulk_hashing import murmur3_bulk
from pipeline.batches import byte_column, codes_of
from pipeline.blocks import Sender, WritingTasks, accounts_in, joined, opened, plain, read_by_engine, received
from pipeline.reading.rows import BAD
from pipeline.reading.topic_columns import BY_TOPIC
from pipeline.runs import Draft, Parts
from pipeline.schemas import (
    ANSWERS,
    BROKER_HISTORY,
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    FILES,
    IMBALANCE_HISTORY,
    LISTED,
    QUARANTINE,
    SETTINGS,
    SUBSCRIPTION_LOADS,
    TOPICS,
    Table,
)
from pipeline.sink import NoAccount, write_by_engine
from pipeline.stamps import COLUMNS as STAMP
from pipeline.stamps import since_1970_ms
from pipeline.storage import Place, for_arrow, size_bytes
from pipeline.tables import Tables
from pipeline.transforms.worst import exact_sum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Subject(NamedTuple):
    """What the rows of some tables are about: a new value of ``column`` in the first table, of the same cluster,
    replaces the old rows about it in all of them."""

    column: str
    tables: tuple[Table, ...]


_SUBJECTS: Final = (
    Subject("topic", BY_TOPIC),
    Subject("topic", (LISTED,)),
    Subject("namespace", (BUNDLES,)),
    Subject("broker", (BROKERS, BUNDLE_REPORTS)),
    Subject("name", (SETTINGS,)),
    Subject("consumer_set", (CONSUMER_SETS,)),
    Subject("namespace", (ANSWERS,)),
)
_ABOUT_FILES: Final = (FILES, QUARANTINE)
"""Their rows are never replaced."""
MERGED: Final = (*(table for subject in _SUBJECTS for table in subject.tables), *_ABOUT_FILES)
_BY_NAME: Final = {table.name: table for table in MERGED}
_ORDER: Final = ("cluster", "namespace", "topic", "subscription", "broker", "name", "consumer_set", "file", "position")
"""Rows are sorted by those of these columns that their table has; readers of one namespace pass over the others."""
_BYTES_PER_TASK: Final = 16 * 1024**2
"""Of Parquet, which is some six times as large in memory."""
_FRESH: Final = "fresh"
"""An additional column: whether a row is of the new round."""
_NEVER: Final = -1
HISTORIES: Final = (IMBALANCE_HISTORY, BROKER_HISTORY)


def merge(spark: SparkSession, draft: Draft, fresh: Tables, *, late: bool) -> None:
    """Merge the tables of an import of one round into those that ``draft`` has from all rounds before.

    ``late``: of the round only the rows about its files count.
    """
    if not draft.has(FILES):
        draft.adopt(fresh)
    else:
        subjects = [each for each in _SUBJECTS if not late and any(fresh.check(table) for table in each.tables)]
        changed = [table for each in subjects for table in each.tables]
        changed += [table for table in _ABOUT_FILES if fresh.check(table)]
        stored = [
            StoredPart(table.name, place, fresh=tables is fresh)
            for table in changed for tables in (draft, fresh) for place in tables.parts(table)
        ]  # fmt: skip
        files = [*draft.parts(FILES), *fresh.parts(FILES)]
        tasks = WritingTasks.over(sum(size_bytes(part.place) for part in stored), _BYTES_PER_TASK)
        shares = [stored[first :: tasks.count] for first in range(tasks.count)]
        blocks = read_by_engine(spark, shares, ReadParts(tasks.parts), tasks.count)
        for table in changed:
            draft.paths.pop(table.name, None)
        work = MergeRows(tuple(subjects), Moments(files), _whole_lists(spark, fresh))
        write_by_engine(blocks, draft, work, NoAccount)
    draft.fill(*MERGED)


class StoredPart(NamedTuple):
    """A part of a table, and whether it is of the new round."""

    table: str
    place: Place
    fresh: bool


@dataclass(frozen=True)
class ReadParts:
    """The work of the reading tasks: the rows of stored parts as blocks for ``parts`` parts, by what they are about."""

    parts: int

    def __call__(self, share: Sequence[StoredPart], number: int) -> Iterator[Any]:
        sender = Sender(number)
        for stored in share:
            table = _BY_NAME[stored.table]
            rows = _as_declared(table, pq.read_table(for_arrow(stored.place)))
            marked = rows.append_column(_FRESH, pa.repeat(pa.scalar(stored.fresh), rows.num_rows))
            yield from sender.by_part(table.name, marked, self._part_of(table, rows))
        yield sender.account(NoAccount())

    def _part_of(self, table: Table, rows: Any) -> NDArray[np.int64]:
        """(n,) topics and lists of consumers are dealt by hash; the rows of other tables are few."""
        if self.parts == 1 or not {"topic", "consumer_set"} & {*table.names}:
            return np.zeros(rows.num_rows, dtype=np.int64)
        if table is CONSUMER_SETS:
            numbers: NDArray[np.int64] = rows["consumer_set"].to_numpy() % self.parts
            return numbers
        return murmur3_bulk(byte_column(rows["topic"].fill_null(""))).astype(np.int64) % self.parts


def _as_declared(table: Table, rows: Any) -> Any:
    """Rows of a part with the columns of its table and of stamps, null where an earlier release did not write them."""
    fields = [*table.arrow, *STAMP]
    there = {*rows.column_names}
    columns = [
        rows[field.name].cast(field.type) if field.name in there else pa.nulls(rows.num_rows, field.type)
        for field in fields
    ]
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


@dataclass(frozen=True)
class Moments:
    """When files were recorded, in epoch milliseconds; ``files`` are the parts of that table."""

    files: Sequence[Place]

    def of(self, names: Sequence[str]) -> NDArray[np.int64]:
        """(n,) those of answers, of a member of a file of many answers that of its file; 0 where it is unknown."""
        wanted = [*{whole for name in names for whole in (name, whole_file(name))}]
        known: dict[str, int] = {}
        for part in self.files:
            rows = _as_declared(FILES, pq.read_table(for_arrow(part), filters=[("file", "in", wanted)]))
            known |= zip(rows["file"].to_pylist(), map(since_1970_ms, rows["moment"].to_pylist()), strict=True)
        return np.array([known.get(name, known.get(whole_file(name), 0)) for name in names], dtype=np.int64)


@dataclass(frozen=True)
class MergeRows:
    """The work of the writing tasks. ``lists``: when brokers, as (cluster, name), listed all of their topics."""

    subjects: Sequence[Subject]
    moments: Moments
    lists: Mapping[tuple[str, str], int]

    def __call__(self, batches: Iterator[Any], parts: Parts) -> NoAccount:
        blocks = received(batches)
        accounts_in(blocks, NoAccount)
        rows = {name: joined([opened(block) for block in own], ()) for name, own in blocks.items()}
        for subject in self.subjects:
            there = {table: rows.pop(table.name) for table in subject.tables if table.name in rows}
            if not there:
                continue
            for table, kept in self._kept(subject, there).items():
                _write(parts, table, there.pop(table).filter(pa.array(kept)))
        for name, own in rows.items():
            _write(parts, _BY_NAME[name], own)
        return NoAccount()

    def _kept(self, subject: Subject, tables: Mapping[Table, Any]) -> dict[Table, NDArray[np.bool_]]:
        """Whether each row of the tables of a subject stays. O(n)."""
        keys = [_key(rows, subject.column) for rows in tables.values()]
        values, codes = codes_of(pa.chunked_array(keys, pa.string()))
        ends = np.cumsum([len(key) for key in keys])
        code_of = dict(zip(tables, np.split(codes, ends[:-1]), strict=True))
        fresh_of = {table: rows[_FRESH].to_numpy() for table, rows in tables.items()}
        before, fresh = (np.full(len(values), _NEVER) for _ in range(2))
        replaced = np.zeros(len(values), dtype=bool)
        first = subject.tables[0]
        if first in tables:
            code, is_fresh, moment = code_of[first], fresh_of[first], self._moments(tables[first])
            np.maximum.at(before, code[~is_fresh], moment[~is_fresh])
            np.maximum.at(fresh, code[is_fresh], moment[is_fresh])
            if first.name == TOPICS.name:  # in a task it is a copy
                gone = ~is_fresh & (moment <= self._listed(tables[first]))
                replaced[code[gone]] = True
        is_new = fresh > _NEVER
        late = is_new & (before > fresh)
        replaced = np.where(is_new, ~late, replaced)
        return {table: np.where(fresh_of[table], ~late[code_of[table]], ~replaced[code_of[table]]) for table in tables}

    def _moments(self, rows: Any) -> NDArray[np.int64]:
        """(n,) the moment of the file of each row."""
        if "file" not in rows.column_names:
            return np.zeros(rows.num_rows, dtype=np.int64)
        names, codes = codes_of(rows["file"])
        moments: NDArray[np.int64] = self.moments.of(names)[codes]
        return moments

    def _listed(self, rows: Any) -> NDArray[np.int64]:
        """(n,) when the broker of each row listed all of its topics."""
        brokers, codes = codes_of(_key(rows, "broker"))
        listed = {_SEPARATOR.join(broker): moment for broker, moment in self.lists.items()}
        moments: NDArray[np.int64] = np.array([listed.get(broker, _NEVER) for broker in brokers], dtype=np.int64)[codes]
        return moments


_SEPARATOR: Final = "\0"


def _key(rows: Any, column: str) -> Any:
    """(n,) cluster and value of each row as one text; "" where it has no value, as no new row does."""
    texts = [plain(rows[name]).combine_chunks().cast(pa.string()) for name in ("cluster", column)]
    return pc.fill_null(pc.binary_join_element_wise(*texts, _SEPARATOR), "")


def _write(parts: Parts, table: Table, rows: Any) -> None:
    keys = [(name, "ascending") for name in _ORDER if name in table.names]
    order = pc.sort_indices(rows, keys)
    parts.write(table, rows.drop_columns([_FRESH]).take(order))


def _whole_lists(spark: SparkSession, fresh: Tables) -> dict[tuple[str, str], int]:
    """When brokers listed all of their topics in this round: what they do not list is gone.

    A dump with quarantined rows may lack topics that exist, so it removes none.
    """
    spoilt = {file for file, kind in fresh.counts(QUARANTINE, "file", "kind") if kind == BAD}
    answers = fresh.load(spark, TOPICS).select("cluster", "broker", "kind", "file").distinct().collect()
    damaged = {(cluster, broker) for cluster, broker, _, file in answers if file in spoilt}
    lists: dict[tuple[str, str], int] = {}
    moments = Moments(fresh.parts(FILES)).of([row.file for row in answers]).tolist()
    for (cluster, broker, kind, _), moment in zip(answers, moments, strict=True):
        if kind == BROKER_STATS and broker is not None and (cluster, broker) not in damaged:
            lists[cluster, broker] = max(moment, lists.get((cluster, broker), _NEVER))
    return lists


def whole_file(name: str) -> str:
    """The file that an answer is in; its name, where it is in a file of its own.

    >>> whole_file("all.json: topics/a"), whole_file("a.json")
    ('all.json', 'a.json')
    """
    return name.partition(": ")[0]


def imbalance_rows(spark: SparkSession, batch: int, assigned: Tables) -> DataFrame:
    """Rows of ``imbalance_history`` from the ``subscription_loads`` of an assignment: those of the rule in force."""
    loads = assigned.load(spark, SUBSCRIPTION_LOADS).where("in_force")
    return loads.withColumn("batch", fn.lit(batch).cast("bigint")).select(*IMBALANCE_HISTORY.names)


def broker_rows(spark: SparkSession, batch: int, tables: Tables) -> DataFrame:
    """Rows of ``broker_history`` from merged topics; topics without a known broker are left out."""
    owned = tables.load(spark, TOPICS).where("broker is not null").groupBy("cluster", "broker")
    sums = owned.agg(fn.count("*").alias("topics"), *(exact_sum(name).alias(name) for name in BROKER_HISTORY.names[4:]))
    return sums.withColumn("batch", fn.lit(batch).cast("bigint")).select(*BROKER_HISTORY.names)
