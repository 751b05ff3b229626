"""Write the tables of an import in tasks, from the blocks of the reading tasks: the best answer about each topic.

Tables of topics are sorted by namespace and topic, and a row group ends where a namespace does, so that a reader of one
namespace passes over nearly all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import Problem
from pipeline.batches import codes_of
from pipeline.blocks import accounts_in, joined, opened, plain, received
from pipeline.jobs.import_reading import BOUNDARY_LISTS, NAMED_BUNDLES, RANK, ReadAccount
from pipeline.reading.rows import SUPERSEDED, Row, namespaces_of, quarantine_row
from pipeline.reading.topic_columns import BY_TOPIC, FEW
from pipeline.schemas import (
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
from pipeline.sink import Parts

WRITTEN: Final = (
    *BY_TOPIC, BUNDLE_REPORTS, BROKERS, LISTED, SETTINGS, ANSWERS, LOAD_ANSWERS, QUARANTINE, CONSUMER_SETS,
)  # fmt: skip
UNFINISHED: Final = (BOUNDARY_LISTS, NAMED_BUNDLES)
"""Tables that the driver makes others from."""
_LEAST_ROWS: Final = 1 << 14
"""A row group has rows of several namespaces only where these are fewer. With a quarter of this, a table of 5,000,000
rows has more than a thousand groups, and to pass over them takes longer than to read those of a namespace."""


class TableAccount(msgspec.Struct):
    """The accounts of readers among the blocks of one task, and the rows that it left out by table and file, because a
    better answer describes their topics."""

    readers: list[ReadAccount] = []
    left_out: dict[str, dict[str, int]] = {}


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
    lists = {(number, tuple(names)) for number, names in zip(*(column.to_pylist() for column in sets), strict=True)}
    assert len({number for number, _ in lists}) == len(lists), "two lists of consumers have one number"
    return CONSUMER_SETS.columns_of([(number, list(names)) for number, names in sorted(lists)])


def _by_name(listed: Any) -> Any:
    return listed.sort_by([("namespace", "ascending"), ("topic", "ascending")])


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
            if table is TOPICS:
                parts.write(QUARANTINE, QUARANTINE.columns_of(best.replaced(losers, codes[~kept])))
                rows = best.filled(rows, codes)
            else:
                account.left_out[table.name] = dict(Counter(losers["file"].to_pylist()))
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
    """Every topic of some tables has a code, its place when sorted by namespace and name.

    ``codes``: those of the rows of each table, (n,). ``space``: the rank of the namespace of each code.
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
        places = (chunk.indices.to_numpy() for chunk in coded.chunks)
        return cls({table: codes[own] for table, own in zip(tables, places, strict=True)}, space[order])


@dataclass(frozen=True)
class _Best:
    """By the code of a topic, the file of its best answer, and the last bundle and broker that any answer names; null
    where no answer names one."""

    file: Any
    bundle: Any
    broker: Any

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
        return cls(*(last[f"{name}_last"].take(pa.array(at, mask=at < 0)) for name in names))

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

    def replaced(self, losers: Any, codes: NDArray[np.int64]) -> list[Row]:
        """Rows of the quarantine about answers that do not count."""
        better = self.file.take(pa.array(codes)).to_pylist()
        rows = zip(losers["topic"].to_pylist(), losers["file"].to_pylist(), better, strict=True)
        return [
            _superseded(file, f'$["{topic}"]', f"a better or later answer is in {best}") for topic, file, best in rows
        ]


def left_out_rows(accounts: list[TableAccount]) -> list[Row]:
    """Rows of the quarantine: for each table and file how many rows were left out together with their topics."""
    left_out: Counter[tuple[str, str]] = Counter()
    for account in accounts:
        left_out.update(
            {(table, file): rows for table, files in account.left_out.items() for file, rows in files.items()}
        )
    reason = "they belong to topics that a better or later answer describes"
    return [_superseded(file, "$", reason, table, rows) for (table, file), rows in sorted(left_out.items())]


def _superseded(file: str, place: str, reason: str, table: str = TOPICS.name, rows: int = 1) -> Row:
    return quarantine_row(Problem(file, place, reason, "nothing has to be done"), table, rows, SUPERSEDED)
