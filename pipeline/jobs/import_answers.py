"""Several answers about one topic, judged in the driver: what ``transforms.superseding`` says, for what fits there.

The joins of Spark are for fleets too large for one process; for all others they take longer than the whole import.
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

_ASKED: Final = ("topic", "namespace", "bundle", "broker", "kind", "file")
FEW: Final = ("namespace", "bundle", "broker", "kind", "file", "domain", "subscription", "type", "told_active_consumer")
"""Columns of the tables by topic with few different texts."""


@dataclass(frozen=True)
class Answers:
    """Every topic that several files tell: the best file, and the bundle and broker that any of them told.

    ``topics``, ``best_files``, ``bundles`` and ``brokers`` are Arrow columns of equal length.
    """

    topics: Any
    best_files: Any
    bundles: Any
    brokers: Any

    def __len__(self) -> int:
        return len(self.topics)

    def place_of(self, table: Any) -> Any:
        """The place of each row's topic among those told twice, empty for the others."""
        return pc.index_in(table["topic"], value_set=self.topics)

    def kept(self, table: Any, place: Any) -> Any:
        """Whether each row belongs to the answer that counts."""
        return pc.fill_null(pc.equal(self.best_files.take(place), _plain(table["file"])), True)


def topics_told(pieces: Sequence[Piece]) -> Any:
    """What is needed of the staged topics to judge them, as one table."""
    tables = [
        pa.table({name: _plain(table[name]) for name in _ASKED}) for table in read_pieces(pieces, _ASKED, few=FEW)
    ]
    return pa.concat_tables(tables).combine_chunks() if tables else None


def told_twice(told: Any, position: Mapping[str, int]) -> Answers:
    """Topics that stand in more than one file; ``position``: the place of each file in reading order.

    Statistics of a topic count more than broker-stats, which cut their numbers and lack the active consumer; of equals
    the later file counts. O(n log n).
    """
    topics = told["topic"].combine_chunks().dictionary_encode()
    files = told["file"].combine_chunks().dictionary_encode()
    topic, file = topics.indices.to_numpy(), files.indices.to_numpy()
    place = np.array([place_of_file(name, position) for name in files.dictionary.to_pylist()], dtype=np.int64)[file]
    exact = np.asarray(pc.not_equal(told["kind"], BROKER_STATS), dtype=bool)
    order = np.lexsort((place, exact, topic))
    counts = np.bincount(topic, minlength=len(topics.dictionary))
    ends = np.cumsum(counts)
    twice = np.flatnonzero(counts > 1)
    best = order[ends[twice] - 1]
    columns = [_last_told(told[name], topic, order, len(counts))[twice] for name in ("bundle", "broker")]
    return Answers(
        topics.dictionary.take(pa.array(twice)),
        told["file"].combine_chunks().take(pa.array(best)),
        *(
            told[name].combine_chunks().take(pa.array(rows, mask=rows < 0))
            for name, rows in zip(("bundle", "broker"), columns, strict=True)
        ),
    )


def _last_told(column: Any, topic: Any, order: Any, count: int) -> Any:
    """For each topic the best row that has a value in this column, -1 for none."""
    full = np.asarray(pc.is_valid(column), dtype=bool)[order]
    found = np.full(count, -1, dtype=np.int64)
    # Of assignments to one place the last one stays.
    found[topic[order[full]]] = order[full]
    return found


def place_of_file(name: str, position: Mapping[str, int]) -> int:
    """Where a file stands; members of a file of many answers count as written where their file stands."""
    return position.get(name, position.get(name.partition(": ")[0], -1))


def claimed_twice(told: Any) -> list[tuple[str, list[str]]]:
    """Bundles of which two brokers list topics: full name and brokers."""
    placed = told.filter(pc.and_(pc.is_valid(told["bundle"]), pc.is_valid(told["broker"])))
    named = pc.binary_join_element_wise(placed["namespace"], placed["bundle"], "/")
    pairs = pa.table({"bundle": named, "broker": placed["broker"]}).group_by(["bundle", "broker"]).aggregate([])
    found: dict[str, list[str]] = {}
    for bundle, broker in zip(pairs["bundle"].to_pylist(), pairs["broker"].to_pylist(), strict=True):
        found.setdefault(bundle, []).append(broker)
    return [(bundle, sorted(brokers)) for bundle, brokers in sorted(found.items()) if len(brokers) > 1]


def best_rows(table: Table, pieces: Sequence[Piece], answers: Answers, lost: list[Row]) -> Iterator[Any]:
    """The rows that count, some at a time; what does not is told in ``lost``.

    One row of the quarantine for each answer about a topic that another one replaces; of the other tables one for each
    file, with how many rows went with its topics.
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
        reason = "they belong to topics that other answers tell better, or later"
        lost += [
            quarantine_row(Problem(file, "$", reason, _NOTHING), table.name, rows, SUPERSEDED)
            for file, rows in sorted(gone.items())
        ]


_NOTHING: Final = "nothing has to be done"


def _replaced(topic: str, file: str, better: str) -> Row:
    problem = Problem(file, f'$["{topic}"]', f"is told better, or later, by {better}", _NOTHING)
    return quarantine_row(problem, TOPICS.name, 1, SUPERSEDED)


def _filled(topics: Any, place: Any, answers: Answers) -> Any:
    """Bundle and broker where another answer told them."""
    for name, told in (("bundle", answers.bundles), ("broker", answers.brokers)):
        column = pc.coalesce(_plain(topics[name]), told.take(place))
        topics = topics.set_column(topics.schema.get_field_index(name), name, column)
    return topics


def _plain(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def pieces_in(folder: Place) -> list[Piece]:
    """The pieces of the parts in a folder."""
    found: list[Piece] = []
    for part in parts_of(folder):
        footer = pq.read_metadata(for_arrow(part))
        found += [
            Piece(for_tasks(part), group, footer.row_group(group).num_rows) for group in range(footer.num_row_groups)
        ]
    return found
