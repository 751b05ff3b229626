"""Row groups of a table's Parquet parts, dealt evenly to tasks that read them without the JVM.

Reading rows through the JVM takes ten times as long as reading them from the file; and columns with few different
texts stay dictionaries, as they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError, Problem
from pipeline.batches import ROWS_TOGETHER
from pipeline.schemas import Table, parts_of
from pipeline.storage import File, Place, for_arrow, for_tasks


@dataclass(frozen=True, slots=True)
class Piece:
    """One row group of one part; ``path`` is one that every executor can read."""

    path: File
    group: int
    rows: int


def pieces_of(table: Table, source: Place) -> list[Piece]:
    """The pieces of a table of a result folder, in the order of its parts. O(row groups): footers only."""
    pieces: list[Piece] = []
    for part in parts_of(source / table.name):
        footer = pq.read_metadata(for_arrow(part))
        pieces += [
            Piece(for_tasks(part), group, footer.row_group(group).num_rows) for group in range(footer.num_row_groups)
        ]
    return pieces


def deal_pieces(pieces: Sequence[Piece], tasks: int) -> list[list[Piece]]:
    """Split pieces into at most ``tasks`` runs of neighbours with about equally many rows. O(pieces).

    >>> [len(run) for run in deal_pieces([Piece("", at, rows) for at, rows in enumerate((5, 5, 5, 9))], 2)]
    [2, 2]
    """
    share = max(1, -(-sum(piece.rows for piece in pieces) // max(tasks, 1)))
    dealt: list[list[Piece]] = []
    rows = 0
    for piece in pieces:
        # A piece belongs to the share that contains its middle.
        if not dealt or (rows + piece.rows // 2) // share >= len(dealt):
            dealt.append([])
        dealt[-1].append(piece)
        rows += piece.rows
    return dealt


def read_pieces(
    pieces: Sequence[Piece], columns: Sequence[str], *, few: Sequence[str] = (), rows_together: int = ROWS_TOGETHER
) -> Iterator[Any]:
    """Yield tables of these columns, of about ``rows_together`` rows; columns in ``few`` are dictionaries.

    Raises ``InputError`` with the part and the row group that cannot be read.
    """
    texts = [name for name in columns if name in few]
    held: list[Any] = []
    rows = 0
    path, file = None, None
    for piece in pieces:
        try:
            if file is None or piece.path != path:
                path, file = piece.path, pq.ParquetFile(for_arrow(piece.path), read_dictionary=texts)
            held.append(file.read_row_group(piece.group, columns=list(columns), use_threads=False))
        except (OSError, pa.ArrowException) as fault:
            raise _unreadable(piece, fault) from fault
        rows += piece.rows
        if rows >= rows_together:
            yield _one(held)
            held, rows = [], 0
    if held:
        yield _one(held)


def _unreadable(piece: Piece, fault: Exception) -> InputError:
    place = f"row group {piece.group}"
    problem = Problem(str(piece.path), place, str(fault).splitlines()[0], "make the table again")
    return InputError(f"{piece.path} cannot be read in {place}: {problem.reason}; {problem.advice}", (problem,))


def _one(tables: Sequence[Any]) -> Any:
    if len(tables) == 1 and all(column.num_chunks == 1 for column in tables[0].columns):
        return tables[0]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()
