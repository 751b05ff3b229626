"""Write the tables of an import in tasks, from the blocks of the reading tasks: the best answer about each topic.

Tables of topics are sorted by namespace and topic, and a row group ends where a namespace does, so that a reader of one
namespace passes over nearly all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import Problem
from engine.views.fleet.tables import (
    ANSWERS,
    BROKERS,
    BUNDLE_REPORTS,
    CONSUMER_SETS,
    LISTED,
    LOAD_ANSWERS,
    QUARANTINE,
    SETTINGS,
    TOPICS,
    Table,
)
from pipeline.batches import codes_of
from pipeline.blocks import accounts_in, joined, opened, plain, received
from pipeline.jobs.import_reading import BOUNDARY_LISTS, NAMED_BUNDLES, RANK, ReadAccount
from pipeline.reading.rows import CONTESTED, IMPORT, SUPERSEDED, Row, namespaces_of, quarantine_row
from pipeline.reading.topic_columns import BY_TOPIC, FEW
from pipeline.runs import Parts

WRITTEN: Final = (
    *BY_TOPIC, BUNDLE_REPORTS, BROKERS, LISTED, SETTINGS, ANSWERS, LOAD_ANSWERS, QUARANTINE, CONSUMER_SETS,
)  # fmt: skip
UNFINISHED: Final = (BOUNDARY_LISTS, NAMED_BUNDLES)
"""Tables that the driver makes others from."""
_LEAST_ROWS: Final = 1 << 14
"""A row group has rows of several namespaces only where these are fewer. With a quarter of this, a table of 5,000,000
rows has more than a thousand groups, and to pass over them takes longer than to read those of a namespace."""


class TableAccount(msgspec.Struct):
    """The accounts of readers among the blocks of one task, and the rows that it left out because a better answer
    describes their topics: table, cluster, file, whether that answer is of another broker, and their number."""

    readers: list[ReadAccount] = []
    left_out: list[tuple[str, str, str, bool, int]] = []


def write_tables(batches: Iterator[Any], parts: Parts) -> TableAccount:
    """The work of the writing tasks, inside a data source: all blocks of some parts become tables."""
    blocks = received(batches)
    account = TableAccount(accounts_in(blocks, ReadAccount))
    _write_by_topic({table.name: _opened(table, blocks) for table in BY_TOPIC}, parts, account)
    for table in _ORDERED:
        rows = _opened(table, blocks)
        if rows is not None:
            parts.write(table, _ORDERED[table](rows))
    for table in (*WRITTEN, *UNFINISHED):
        for block in blocks.pop(table.name, ()):
            parts.write(table, opened(block))
    return account


def _opened(table: Table, blocks: dict[str, list[bytes]]) -> Any:
    """All rows of a table in the order of reading, None without any."""
    found = blocks.pop(table.name, None)
    return joined([opened(block) for block in found], FEW if table in BY_TOPIC else ()) if found else None


def _each_list_once(sets: Any) -> Any:
    rows = zip(*(column.to_pylist() for column in sets), strict=True)
    lists = {(cluster, number, tuple(names)) for cluster, number, names in rows}
    names_of = {number: names for _, number, names in lists}
    assert all(names_of[number] == names for _, number, names in lists), "two lists of consumers have one number"
    return CONSUMER_SETS.columns_of([(cluster, number, list(names)) for cluster, number, names in sorted(lists)])


def _by_name(listed: Any) -> Any:
    return listed.sort_by([(name, "ascending") for name in ("cluster", "namespace", "topic")])


_ORDERED: Final = {CONSUMER_SETS: _each_list_once, LISTED: _by_name}


def _write_by_topic(tables: Mapping[str, Any], parts: Parts, account: TableAccount) -> None:
    there = {name: rows for name, rows in tables.items() if rows is not None}
    names = _Names.of(there)
    best = None
    if TOPICS.name in there:
        best = _Best.of(there[TOPICS.name], names.codes[TOPICS.name], len(names.space))
    for table in BY_TOPIC:
        if table.name not in there:
            continue
        rows, codes = there.pop(table.name), names.codes[table.name]
        if table is TOPICS:
            rows = rows.drop_columns([RANK])
        if best is not None:
            kept = best.kept(rows, codes)
            losers = rows.filter(pa.array(~kept))
            contested = best.contested(losers, codes[~kept])
            if table is TOPICS:
                parts.write(QUARANTINE, QUARANTINE.columns_of(best.replaced(losers, codes[~kept], contested)))
                rows = best.filled(rows, codes)
            else:
                about = zip(losers["cluster"].to_pylist(), losers["file"].to_pylist(), contested, strict=True)
                account.left_out += [(table.name, *key, count) for key, count in Counter(about).items()]
            rows, codes = rows.filter(pa.array(kept)), codes[kept]
        order = np.argsort(codes, kind="stable")
        rows = rows.take(pa.array(order))
        for begin, end in whole_namespaces(names.space[codes[order]]):
            parts.write(table, rows.slice(begin, end - begin))


def whole_namespaces(space: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of rows that end where a namespace does, each of at least ``_LEAST_ROWS`` rows; the last has the rest."""
    begin = 0
    for border in [*(np.flatnonzero(np.diff(space)) + 1).tolist(), len(space)]:
        if border - begin >= _LEAST_ROWS or border == len(space):
            yield begin, border
            begin = border


@dataclass(frozen=True)
class _Names:
    """Every topic of some tables has a code, its place when sorted by cluster, namespace and name.

    ``codes``: those of the rows of each table, (n,). ``space``: of each code a number that its namespace has alone.
    """

    codes: Mapping[str, NDArray[np.int64]]
    space: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Mapping[str, Any]) -> _Names:
        topics = pa.chunked_array([rows["topic"].chunk(0) for rows in tables.values()], pa.string())
        coded = topics.dictionary_encode().unify_dictionaries()
        names = coded.chunk(0).dictionary if tables else topics
        texts, space_of = codes_of(namespaces_of(names))
        # Texts are sorted once for each namespace, not for each topic.
        space = np.argsort(np.argsort(np.array(texts, dtype=object)))[space_of]
        keys = [("space", "ascending"), ("topic", "ascending")]
        order = pc.sort_indices(pa.table({"space": space, "topic": names}), keys).to_numpy()
        codes = np.empty(len(order), dtype=np.int64)
        codes[order] = np.arange(len(order))
        of_rows = [codes[chunk.indices.to_numpy()] for chunk in coded.chunks]
        own = [plain(rows["cluster"].chunk(0)) for rows in tables.values()]
        clusters, numbers = codes_of(pa.chunked_array(own, pa.string()))
        space = space[order]
        if len(clusters) > 1:
            rank = np.argsort(np.argsort(np.array(clusters, dtype=object)))
            every, again = np.unique(rank[numbers] * len(order) + np.concatenate(of_rows), return_inverse=True)
            of_rows = np.split(again, np.cumsum([len(rows) for rows in of_rows])[:-1])
            space = every // len(order) * len(texts) + space[every % len(order)]
        return cls(dict(zip(tables, of_rows, strict=True)), space)


@dataclass(frozen=True)
class _Best:
    """By the code of a topic, the file of its best answer, and the last bundle and broker that any answer names; null
    where no answer names one. ``broker_of``: the broker of each file."""

    file: Any
    bundle: Any
    broker: Any
    broker_of: Mapping[str, str | None]

    @classmethod
    def of(cls, topics: Any, codes: NDArray[np.int64], count: int) -> _Best | None:
        """None where every topic has one answer. O(n log n)."""
        if np.bincount(codes).max(initial=0) < 2:
            return None
        names = ("file", "bundle", "broker")
        answers = pa.table({"code": codes, **{name: plain(topics[name]) for name in names}})
        ordered = answers.take(pa.array(np.lexsort((topics[RANK].to_numpy(), codes))))
        last = ordered.group_by("code", use_threads=False).aggregate([(name, "last") for name in names])
        at = np.full(count, -1, dtype=np.int64)
        at[last["code"].to_numpy()] = np.arange(last.num_rows)
        of_files = answers.group_by("file", use_threads=False).aggregate([("broker", "max")])
        broker_of = dict(zip(of_files["file"].to_pylist(), of_files["broker_max"].to_pylist(), strict=True))
        file, bundle, broker = (last[f"{name}_last"].take(pa.array(at, mask=at < 0)) for name in names)
        return cls(file, bundle, broker, broker_of)

    def kept(self, rows: Any, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n,) whether each row belongs to the answer that counts; those without any do."""
        same = pc.equal(self.file.take(pa.array(codes)), plain(rows["file"]))
        kept: NDArray[np.bool_] = pc.fill_null(same, fill_value=True).to_numpy()
        return kept

    def filled(self, topics: Any, codes: NDArray[np.int64]) -> Any:
        """Topics with bundle and broker from another answer where their own lacks them."""
        for name, known in (("bundle", self.bundle), ("broker", self.broker)):
            column = pc.coalesce(plain(topics[name]), known.take(pa.array(codes)))
            topics = topics.set_column(topics.schema.get_field_index(name), name, column)
        return topics

    def contested(self, losers: Any, codes: NDArray[np.int64]) -> list[bool]:
        """Whether the better answer of each row is known to be of another broker."""
        files = zip(losers["file"].to_pylist(), self.file.take(pa.array(codes)).to_pylist(), strict=True)
        brokers = ((self.broker_of.get(own), self.broker_of.get(better)) for own, better in files)
        return [None not in (own, better) and own != better for own, better in brokers]

    def replaced(self, losers: Any, codes: NDArray[np.int64], contested: Sequence[bool]) -> list[Row]:
        """Rows of the quarantine about answers that do not count."""
        better = self.file.take(pa.array(codes)).to_pylist()
        lost = (losers[name].to_pylist() for name in ("cluster", "topic", "file"))
        return [
            _left_out(
                cluster,
                (file, f'$["{topic}"]', f"a better or later answer is in {best}"),
                TOPICS.name,
                1,
                contested=other,
            )
            for cluster, topic, file, best, other in zip(*lost, better, contested, strict=True)
        ]


def left_out_rows(accounts: list[TableAccount]) -> list[Row]:
    """Rows of the quarantine: for each table and file how many rows were left out together with their topics."""
    left_out: Counter[tuple[str, str, str, bool]] = Counter()
    for account in accounts:
        for table, cluster, file, contested, count in account.left_out:
            left_out[table, cluster, file, contested] += count
    reason = "they belong to topics that a better or later answer describes"
    return [
        _left_out(cluster, (file, "$", reason), table, rows, contested=contested)
        for (table, cluster, file, contested), rows in sorted(left_out.items())
    ]


def _left_out(cluster: str, problem: tuple[str, str, str], table: str, rows: int, *, contested: bool) -> Row:
    kind, advice = SUPERSEDED, "nothing has to be done"
    if contested:
        kind, advice = CONTESTED, "another broker answered it; if it is of another cluster, see the option clusters"
    return (cluster, IMPORT, *quarantine_row(Problem(*problem, advice), table, rows, kind))
