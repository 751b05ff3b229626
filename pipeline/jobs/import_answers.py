"""Keep the best of several answers about one topic, in the driver.

The rules are those of ``transforms.superseding``. Its joins are for fleets too large for one process; for smaller ones
they take longer than the whole import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.admin.topics import BROKER_STATS
from engine.errors import Problem
from pipeline.pieces import Piece, read_pieces
from pipeline.reading.rows import SUPERSEDED, Row, quarantine_row
from pipeline.schemas import TOPICS, Table, parts_of
from pipeline.storage import Place, for_arrow, for_tasks

_JUDGED: Final = ("topic", "namespace", "bundle", "broker", "kind", "file")
FEW: Final = ("namespace", "bundle", "broker", "kind", "file", "domain", "subscription", "type", "told_active_consumer")
"""Columns with few different texts, in the tables that have a topic."""


@dataclass(frozen=True)
class Answers:
    """Every topic that is in several files: the best file, and the bundle and broker that any of them names.

    ``topics``, ``best_files``, ``bundles`` and ``brokers`` are Arrow columns of equal length.
    """

    topics: Any
    best_files: Any
    bundles: Any
    brokers: Any

    def __len__(self) -> int:
        return len(self.topics)

    def place_of(self, table: Any) -> Any:
        """The place of each row's topic in ``topics``, empty for topics with one answer."""
        return pc.index_in(table["topic"], value_set=self.topics)

    def kept(self, table: Any, place: Any) -> Any:
        """Whether each row belongs to the answer that counts."""
        return pc.fill_null(pc.equal(self.best_files.take(place), _plain(table["file"])), True)


def staged_topics(pieces: Sequence[Piece]) -> Any:
    """The columns of the staged topics that decide which answer is best, as one table; None without topics."""
    tables = [
        pa.table({name: _plain(table[name]) for name in _JUDGED}) for table in read_pieces(pieces, _JUDGED, few=FEW)
    ]
    return pa.concat_tables(tables).combine_chunks() if tables else None


def repeated_topics(topics_in: Any, position: Mapping[str, int]) -> Answers:
    """Topics that are in more than one file; ``position``: the place of each file in reading order.

    Statistics of a topic are better than broker-stats, which cut decimals and lack the active consumer; of two
    equal kinds the later file is better. O(n log n).
    """
    topics = topics_in["topic"].combine_chunks().dictionary_encode()
    files = topics_in["file"].combine_chunks().dictionary_encode()
    topic, file = topics.indices.to_numpy(), files.indices.to_numpy()
    place = np.array([place_of_file(name, position) for name in files.dictionary.to_pylist()], dtype=np.int64)[file]
    exact = np.asarray(pc.not_equal(topics_in["kind"], BROKER_STATS), dtype=bool)
    order = np.lexsort((place, exact, topic))
    counts = np.bincount(topic, minlength=len(topics.dictionary))
    ends = np.cumsum(counts)
    twice = np.flatnonzero(counts > 1)
    best = order[ends[twice] - 1]
    columns = [_last_known(topics_in[name], topic, order, len(counts))[twice] for name in ("bundle", "broker")]
    return Answers(
        topics.dictionary.take(pa.array(twice)),
        topics_in["file"].combine_chunks().take(pa.array(best)),
        *(
            topics_in[name].combine_chunks().take(pa.array(rows, mask=rows < 0))
            for name, rows in zip(("bundle", "broker"), columns, strict=True)
        ),
    )


def _last_known(column: Any, topic: Any, order: Any, count: int) -> Any:
    """(count,) the best row of each topic that has a value in this column, -1 for none."""
    full = np.asarray(pc.is_valid(column), dtype=bool)[order]
    last = np.full(count, -1, dtype=np.int64)
    # Of several assignments to one element the last one counts.
    last[topic[order[full]]] = order[full]
    return last


def place_of_file(name: str, position: Mapping[str, int]) -> int:
    """The place of a file in reading order; a member of a file of many answers has the place of that file."""
    return position.get(name, position.get(name.partition(": ")[0], -1))


def claimed_twice(topics: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """Bundles of which two brokers list topics: full name, and the brokers with their files."""
    placed = topics.filter(pc.and_(pc.is_valid(topics["bundle"]), pc.is_valid(topics["broker"])))
    named = pc.binary_join_element_wise(placed["namespace"], placed["bundle"], "/")
    columns = {"bundle": named, "broker": placed["broker"], "file": _plain(placed["file"])}
    triples = pa.table(columns).group_by(list(columns)).aggregate([])
    listed: dict[str, list[tuple[str, str]]] = {}
    for bundle, broker, file in zip(*(triples[name].to_pylist() for name in columns), strict=True):
        listed.setdefault(bundle, []).append((broker, file))
    twice = ((bundle, sorted(pairs)) for bundle, pairs in sorted(listed.items()))
    return [(bundle, pairs) for bundle, pairs in twice if len({broker for broker, _ in pairs}) > 1]


def best_rows(table: Table, pieces: Sequence[Piece], answers: Answers, lost: list[Row]) -> Iterator[Any]:
    """Yield the rows of the best answers, some at a time, and add rows about the others to ``lost``.

    ``lost`` gets rows of the quarantine: for topics one per replaced answer, for the other tables one per file, with
    the number of rows that were dropped together with their topics.
    """
    gone: dict[str, int] = {}
    for read in read_pieces(pieces, table.names, few=FEW):
        place = answers.place_of(read)
        kept = answers.kept(read, place)
        losers = read.filter(pc.invert(kept))
        files = _plain(losers["file"]).to_pylist()
        if table is TOPICS:
            best = answers.best_files.take(answers.place_of(losers)).to_pylist()
            for topic, file, better in zip(losers["topic"].to_pylist(), files, best, strict=True):
                lost.append(_replaced(topic, file, better))
        for file in files:
            gone[file] = gone.get(file, 0) + 1
        yield _filled(read, place, answers).filter(kept) if table is TOPICS else read.filter(kept)
    if table is not TOPICS:
        reason = "they belong to topics that a better or later answer describes"
        lost += [
            quarantine_row(Problem(file, "$", reason, _NOTHING), table.name, rows, SUPERSEDED)
            for file, rows in sorted(gone.items())
        ]


_NOTHING: Final = "nothing has to be done"


def _replaced(topic: str, file: str, better: str) -> Row:
    problem = Problem(file, f'$["{topic}"]', f"a better or later answer is in {better}", _NOTHING)
    return quarantine_row(problem, TOPICS.name, 1, SUPERSEDED)


def _filled(topics: Any, place: Any, answers: Answers) -> Any:
    """Topics with bundle and broker from another answer where their own lacks them."""
    for name, known in (("bundle", answers.bundles), ("broker", answers.brokers)):
        column = pc.coalesce(_plain(topics[name]), known.take(place))
        topics = topics.set_column(topics.schema.get_field_index(name), name, column)
    return topics


def _plain(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def pieces_in(folder: Place) -> list[Piece]:
    """The pieces of the parts in a folder."""
    pieces: list[Piece] = []
    for part in parts_of(folder):
        footer = pq.read_metadata(for_arrow(part))
        pieces += [
            Piece(for_tasks(part), group, footer.row_group(group).num_rows) for group in range(footer.num_row_groups)
        ]
    return pieces
