"""Topics on their way to the task of their namespace: a few large blocks instead of a row each.

Spark's own shuffle of a million topics takes several times what is done with them; a block is one row to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.hashing import utf8
from pipeline.batches import ROWS_TOGETHER, codes_of
from pipeline.pieces import Piece, read_pieces
from pipeline.schemas import LISTED, SUBSCRIPTIONS, TOPICS, Table

_RATES: Final = ("msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")
_ASKED: Final = {
    TOPICS.name: ("topic", "namespace", "bundle", "broker", "publishers", *_RATES),
    SUBSCRIPTIONS.name: ("topic", "namespace", "consumers"),
    LISTED.name: ("topic", "namespace", "is_parent"),
}
_FEW: Final = ("namespace", "bundle", "broker")
READ: Final[tuple[Table, ...]] = (TOPICS, SUBSCRIPTIONS, LISTED)
_PACKED: Final = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class Share:
    """Pieces of one of the tables in ``READ``, by its name: what one task reads and sends on."""

    table: str
    pieces: tuple[Piece, ...]


def blocks_of(share: Share, parts: int) -> Iterator[tuple[int, bytes]]:
    """The part and one block each: the rows of some namespaces. O(rows)."""
    for table in read_pieces(share.pieces, _ASKED[share.table], few=_FEW):
        names, codes = codes_of(table["namespace"])
        part = np.array([part_of(name, parts) for name in names], dtype=np.int64)[codes]
        present = np.flatnonzero(np.bincount(part, minlength=parts)).tolist()
        for number in present:
            rows = table if len(present) == 1 else table.take(pa.array(np.flatnonzero(part == number)))
            yield number, _packed(share.table, rows)


def part_of(namespace: str, parts: int) -> int:
    """The part that a namespace is dealt to.

    >>> part_of("t/n", 1)
    0
    """
    return zlib.crc32(utf8(namespace)) % parts


def _packed(name: str, rows: Any) -> bytes:
    sink = pa.BufferOutputStream()
    schema = rows.schema.with_metadata({b"table": name.encode()})
    with pa.ipc.new_stream(sink, schema, options=_PACKED) as stream:
        stream.write_table(rows.replace_schema_metadata(schema.metadata))
    return bytes(sink.getvalue())


def together(blocks: Iterable[bytes]) -> Iterator[Any]:
    """All blocks of some parts as tables of whole namespaces, by namespace and topic name.

    Columns: those of the topics, ``consumers`` of each over its subscriptions, ``has_stats``, and ``told_bundle``, the
    full name under which a broker listed it. Topics that are listed only have no statistics. O(n log n).
    """
    read: dict[str, list[Any]] = {name: [] for name in _ASKED}
    for block in blocks:
        table = pa.ipc.open_stream(block).read_all()
        read[table.schema.metadata[b"table"].decode()].append(_plain(table))
    topics = _one(read[TOPICS.name], TOPICS)
    topics = topics.append_column(
        "consumers", _consumers(topics["topic"], _one(read[SUBSCRIPTIONS.name], SUBSCRIPTIONS))
    )
    topics = topics.append_column("has_stats", pa.repeat(True, topics.num_rows))
    listed = _listed_only(_one(read[LISTED.name], LISTED), topics)
    whole = pa.concat_tables([topics, listed]).combine_chunks()
    whole = whole.sort_by([("namespace", "ascending"), ("topic", "ascending")])
    whole = whole.append_column("told_bundle", pc.binary_join_element_wise(whole["namespace"], whole["bundle"], "/"))
    yield from _whole_namespaces(whole)


def _plain(table: Any) -> Any:
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema([pa.field(name, kind) for name, kind in zip(table.column_names, kinds, strict=True)]))


def _one(tables: Sequence[Any], table: Table) -> Any:
    if tables:
        return pa.concat_tables(tables).combine_chunks()
    kinds = {field.name: field.type for field in table.arrow}
    return pa.schema([pa.field(name, kinds[name]) for name in _ASKED[table.name]]).empty_table()


def _consumers(topics: Any, subscriptions: Any) -> Any:
    """(n,) int64: the consumers of each topic over all its subscriptions."""
    if not subscriptions.num_rows:
        return pa.array(np.zeros(len(topics), dtype=np.int64))
    place = pc.fill_null(pc.index_in(subscriptions["topic"], value_set=topics), len(topics)).to_numpy()
    counts = np.bincount(place, weights=subscriptions["consumers"].to_numpy(), minlength=len(topics) + 1)
    return pa.array(counts[: len(topics)].astype(np.int64))


def _listed_only(listed: Any, topics: Any) -> Any:
    """Topics that lists name and no statistics tell: they exist and are not loaded."""
    names = listed.filter(pc.invert(listed["is_parent"])).select(["topic", "namespace"])
    missing = names.filter(pc.invert(pc.is_in(names["topic"], value_set=topics["topic"])))
    missing = missing.group_by(["topic", "namespace"]).aggregate([])
    count = missing.num_rows
    columns = [
        missing[field.name]
        if field.name in missing.column_names
        else pa.nulls(count, field.type)
        if field.name in ("bundle", "broker")
        else pa.repeat(pa.scalar(0 if field.name != "has_stats" else False, field.type), count)
        for field in topics.schema
    ]
    return pa.Table.from_arrays(columns, names=topics.column_names)


def _whole_namespaces(table: Any) -> Iterator[Any]:
    """Slices of whole namespaces with about ``ROWS_TOGETHER`` rows each."""
    names = table["namespace"].combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]) + 1, len(codes))
    begin = 0
    for end in ends.tolist() if len(codes) else ():
        if end - begin >= ROWS_TOGETHER or end == len(codes):
            yield table.slice(begin, end - begin).combine_chunks()
            begin = end
