"""Read answers in tasks, and send the rows of all tables as blocks to the tasks that write them.

A namespace belongs to some parts and a topic to one of these, so all rows about a topic meet in one writing task.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from math import isqrt
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine import __version__
from engine.admin.topics import BROKER_STATS
from engine.bulk_hashing import murmur3_bulk
from engine.views.fleet.runs import FORMAT
from engine.views.fleet.tables import (
    ANSWERS,
    BROKERS,
    BUNDLE_REPORTS,
    CONSUMER_SETS,
    LISTED,
    LOAD_ANSWERS,
    QUARANTINE,
    READ_ANSWERS,
    SETTINGS,
    TOPICS,
    Table,
    declared,
)
from pipeline.batches import byte_column, codes_of
from pipeline.blocks import Sender, plain
from pipeline.reading.answers import FileContext, Outcome, take_file
from pipeline.reading.files import FoundFile, whole_file
from pipeline.reading.rows import IMPORT, FileClusters, Row, Rows, namespaces_of
from pipeline.reading.topic_columns import TopicsRead
from pipeline.runs import Folders, Parts
from pipeline.storage import Place, for_arrow

RANK: Final = "rank"
"""An additional column of the topics: of two answers about one topic that with the higher rank is better."""
BOUNDARY_LISTS: Final = declared(
    "boundary_lists", "Exists only during an import: boundary lists as they are in the answers.", """
    cluster, namespace
    boundaries array<bigint>
    file
    """,
)  # fmt: skip
NAMED_BUNDLES: Final = declared(
    "named_bundles", "Exists only during an import: the bundles under which answers list topics, once for each file.",
    "cluster, namespace, range, broker?, file",
)  # fmt: skip
_BY_NAMESPACE: Final = (LISTED, ANSWERS)
_IN_ORDER: Final = (BUNDLE_REPORTS, BROKERS, SETTINGS, LOAD_ANSWERS, BOUNDARY_LISTS)
"""Small tables in which the order of reading counts, so that all their rows are in one part."""
_ROWS_HELD: Final = 100_000
_BYTES_HELD: Final = 64 * 1024**2


class ReadAccount(msgspec.Struct):
    """What was read of some files, by their names; ``counts`` are all rows by table, good and bad.

    ``kept``: the parts of ``read_answers`` that a task wrote, as table and path.
    """

    files: dict[str, Outcome] = {}
    counts: dict[str, int] = {}
    kept: list[tuple[str, str]] = []


@dataclass(frozen=True)
class Kept:
    """Where the blocks of large answers are kept: a part for each that an earlier run read, by ``known_by``, and the
    folders and the moment of this run for those that it reads."""

    earlier: Mapping[str, Place]
    folders: Folders
    snapshot_time: datetime | None
    least_bytes: int
    """To read a smaller answer takes no longer than to find its blocks."""


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


@dataclass(frozen=True)
class ReadAnswers:
    """The work of the reading tasks, each on some files and what is known of them: blocks for ``parts`` parts, and
    their accounts.

    ``limit_bytes`` limits the size of one file, unpacked; ``kept``: where to keep blocks, if they are.
    """

    parts: int
    limit_bytes: int
    kept: Kept | None = None

    def known_by(self, item: tuple[FoundFile, FileContext]) -> str:
        """What the blocks of a file depend on, "" where they are not kept."""
        file, context = item
        if self.kept is None or file.size_bytes < self.kept.least_bytes:
            return ""
        of_file = (file.name, file.size_bytes, file.moment, file.dump_s)
        return sha256(repr((__version__, FORMAT, self.parts, self.limit_bytes, *of_file, context)).encode()).hexdigest()

    def __call__(self, share: Sequence[tuple[FoundFile, FileContext]], number: int) -> Iterator[Any]:
        sender = Sender(number)
        with _no_collector():
            if self.kept is None:
                yield from self._blocks(share, sender)
                return
            with Parts(self.kept.folders, self.kept.snapshot_time, number) as parts:
                for known, group in groupby(share, self.known_by):
                    if known in self.kept.earlier:
                        yield from _read_before(self.kept.earlier[known], known, sender)
                        continue
                    some = [*group]
                    batches = self._blocks(some, sender)
                    yield from _keeping(batches, some[0], known, parts) if known else batches
                yield sender.account(ReadAccount(kept=parts.close()))

    def _blocks(self, share: Sequence[tuple[FoundFile, FileContext]], sender: Sender) -> Iterator[Any]:
        times = {file.name: file.dump_s for file, _ in share}
        clusters = FileClusters(
            {file.name: context.cluster for file, context in share},
            {file.name: context.concerned for file, context in share},
        )
        outcomes: dict[str, Outcome] = {}
        counts: Counter[str] = Counter()
        rows = Rows()
        for file, context in share:
            outcomes[file.name] = take_file(rows, file.path, file.name, context, limit_bytes=self.limit_bytes)
            held = rows.counts["topics"] + rows.counts["consumers"] + rows.counts["listed"]
            if held > _ROWS_HELD or rows.answer_bytes > _BYTES_HELD:
                counts += rows.counts
                yield from self._blocks_of(rows, times, clusters, sender)
                rows = Rows(sets=rows.sets)
        counts += rows.counts
        yield from self._blocks_of(rows, times, clusters, sender)
        sets = [(cluster, code, list(names)) for (cluster, names), code in rows.sets.items()]
        lists = CONSUMER_SETS.columns_of(sets)
        yield from sender.by_part(CONSUMER_SETS.name, lists, lists["consumer_set"].to_numpy() % self.parts)
        yield sender.account(ReadAccount(outcomes, dict(counts)))

    def _blocks_of(self, rows: Rows, times: Mapping[str, int], clusters: FileClusters, sender: Sender) -> Iterator[Any]:
        names = parts = None
        tables = rows.topic_tables(clusters)
        rows.topics = TopicsRead()  # what was decoded takes far more memory than its columns
        for table in list(tables):
            columns = tables.pop(table)
            topics = columns["topic"].combine_chunks()
            if parts is None or not topics.dictionary.equals(names):
                names = topics.dictionary
                listed = columns["namespace"] if table is TOPICS else namespaces_of(names)
                parts = parts_of_topics(names, listed, self.parts)
            sent = columns.set_column(table.names.index("topic"), "topic", plain(topics))
            if table is TOPICS:
                yield from sender.table(0, NAMED_BUNDLES.name, _named_bundles(columns))
                sent = sent.append_column(RANK, _ranks(columns, times))
            yield from sender.by_part(table.name, sent, parts[topics.indices.to_numpy()])
        for table in _BY_NAMESPACE:
            place = table.names.index("namespace")
            by_part: dict[int, list[Row]] = defaultdict(list)
            for row in _with_clusters(table, rows, clusters):
                by_part[_number(row[place]) % self.parts].append(row)
            for number, own in by_part.items():
                yield from sender.table(number, table.name, rows.table(table, own))
        for table in _IN_ORDER:
            yield from sender.table(0, table.name, rows.table(table, _with_clusters(table, rows, clusters)))
        # Last: rows of other tables that no column can hold are added to it.
        quarantine = [(clusters.of(row[0]), IMPORT, *row) for row in rows.quarantine]
        yield from sender.table(sender.share % self.parts, QUARANTINE.name, rows.table(QUARANTINE, quarantine))


def _keeping(batches: Iterator[Any], item: tuple[FoundFile, FileContext], known: str, parts: Parts) -> Iterator[Any]:
    """The batches of a file, which are kept."""
    file, context = item
    sent = []
    for batch in batches:
        sent.append(batch)
        yield batch
    columns = ((batch["part"][0].as_py(), batch["name"][0].as_py(), batch["block"][0].as_py()) for batch in sent)
    parts.write(READ_ANSWERS, READ_ANSWERS.columns_of([(context.cluster, file.name, known, *row) for row in columns]))


def _read_before(part: Place, known: str, sender: Sender) -> Iterator[Any]:
    """The batches of a file, from a part of an earlier run."""
    rows = pq.read_table(for_arrow(part), columns=["part", "table", "block"], filters=[("known", "=", known)])
    for number, name, block in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        yield sender.again(number, name, block)


def _with_clusters(table: Table, rows: Rows, clusters: FileClusters) -> list[Row]:
    """The rows of a small table; answers about no single broker and no namespace hold for several clusters."""
    full: list[Row] = []
    for row in getattr(rows, table.name):
        shared = table is SETTINGS or (table in (ANSWERS, LOAD_ANSWERS) and not row[0])
        full += clusters.in_each(row, row[-1]) if shared else [(clusters.of(row[-1]), *row)]
    return full


def _ranks(topics: Any, times: Mapping[str, int]) -> Any:
    """Of one dump the statistics of a topic are better than broker-stats, which cut decimals and lack the active
    consumer; of two dumps the later is better. Of two equal kinds that which is read later is, as they are sorted."""
    files, kinds = topics["file"].combine_chunks(), topics["kind"].combine_chunks()
    places = np.array([rank_of_file(name, times) for name in files.dictionary.to_pylist()], dtype=np.int64)
    exact = np.array([kind != BROKER_STATS for kind in kinds.dictionary.to_pylist()], dtype=np.int64)
    return pa.array(places[files.indices.to_numpy()] * 2 + exact[kinds.indices.to_numpy()])


def rank_of_file(name: str, ranks: Mapping[str, int]) -> int:
    """The rank of a file; a member of a file of many answers has that of the file."""
    return ranks.get(name, ranks.get(whole_file(name), -1))


def parts_of_topics(topics: Any, namespaces: Any, count: int) -> NDArray[np.int64]:
    """The part of each topic: one of several of its namespace, so that a large namespace is not one task."""
    if count == 1:
        return np.zeros(len(topics), dtype=np.int64)
    names, codes = codes_of(namespaces)
    numbers = np.array(list(map(_number, names)), dtype=np.int64)
    part: NDArray[np.int64] = (numbers[codes] + murmur3_bulk(byte_column(topics)) % isqrt(count)) % count
    return part


def _number(namespace: str) -> int:
    return crc32(namespace.encode("utf-8", "surrogatepass"))


def _named_bundles(topics: Any) -> Any:
    columns = ["cluster", "namespace", "bundle", "broker", "file"]
    listed = topics.select(columns).filter(pc.is_valid(topics["bundle"]))
    return listed.group_by(columns).aggregate([]).select(columns).rename_columns(NAMED_BUNDLES.names)
