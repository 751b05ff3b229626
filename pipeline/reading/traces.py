"""Find key traces, and split them into pieces that tasks can read independently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError, Problem
from pipeline.reading.files import Listed, files_at, moment_of
from pipeline.storage import Place, for_arrow, size_bytes

PARQUET: Final = "parquet"
CSV: Final = "csv"
LINES: Final = "json lines"
_PACKED: Final = (".gz", ".zst", ".zstd")
_SUFFIXES: Final = {".parquet": PARQUET, ".csv": CSV, ".jsonl": LINES, ".ndjson": LINES}
TRACE_SUFFIXES: Final = (*_SUFFIXES, *(f"{suffix}.gz" for suffix in (".csv", ".jsonl", ".ndjson")))
BYTES_PER_PIECE: Final = 32 * 1024**2
ROWS_PER_PIECE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class TracePiece:
    """A part of one file.

    That is row groups ``first`` .. ``last - 1`` of Parquet, bytes ``first`` .. ``last - 1`` of plain JSON lines (a line
    belongs to the piece in which it begins), else the whole file.
    """

    name: str
    path: Place
    form: str
    first: int
    last: int
    size_bytes: int
    cluster: str = ""
    """Of rows that do not name theirs."""
    moment: datetime | None = None
    """When the file was recorded, as far as known."""


def form_of(name: str) -> str | None:
    """Return the form of a trace by its name, None for other files.

    >>> form_of("a.CSV.gz"), form_of("a.jsonl"), form_of("a.json"), form_of("a.parquet.gz")
    ('csv', 'json lines', None, None)
    """
    plain = name.lower()
    packed = next((suffix for suffix in _PACKED if plain.endswith(suffix)), "")
    form = _SUFFIXES.get(Path(plain.removesuffix(packed)).suffix)
    return None if packed and form == PARQUET else form


def has_traces(source: Place) -> bool:
    """Whether anything at or below ``source`` is a trace by its name."""
    return bool(_traces_at(source, None, []))


def find_traces(source: Place, skip: Place | None = None) -> tuple[list[TracePiece], list[Problem]]:
    """Return the pieces of every trace at or below ``source`` in the order of names, and files that did not open.

    Hidden files and ``skip`` (the result) are left out. Raises ``InputError`` if there is no trace.
    """
    problems: list[Problem] = []
    pieces: list[TracePiece] = []
    traces = sorted(_traces_at(source, skip, problems))
    if not traces:
        more = f" ({problems[0]})" if problems else ""
        raise InputError(f"no key trace ({', '.join(TRACE_SUFFIXES)}) lies in {source}{more}", tuple(problems))
    for name, path, _, written in traces:
        try:
            moment = moment_of(name, written)
            pieces += [replace(piece, moment=moment) for piece in _pieces(name, path, form_of(path.name) or "")]
        except (OSError, pa.ArrowException) as fault:
            reason = f"cannot be read: {str(fault).splitlines()[0]}"
            problems.append(Problem(name, "$", reason, "check its permissions, or write it again"))
    return pieces, problems


def _traces_at(source: Place, skip: Place | None, problems: list[Problem]) -> list[Listed]:
    files, _ = files_at(source, skip, _is_trace, problems)
    return [file for file in files if form_of(file.path.name)]


def _is_trace(name: str) -> bool:
    return not name.startswith((".", "_")) and form_of(name) is not None


def _pieces(name: str, path: Place, form: str) -> list[TracePiece]:
    size = size_bytes(path)
    with path.open("rb"):
        pass  # a file without permission is reported now, by its name, and not later by a task
    if form == PARQUET:
        return _row_groups(name, path)
    if form == LINES and not name.lower().endswith(_PACKED):
        bounds = [*range(0, size, BYTES_PER_PIECE), size]
        return [TracePiece(name, path, form, first, last, last - first) for first, last in pairwise(bounds)]
    return [TracePiece(name, path, form, 0, size, size)]


def _row_groups(name: str, path: Place) -> list[TracePiece]:
    metadata = pq.ParquetFile(for_arrow(path)).metadata
    pieces: list[TracePiece] = []
    first = rows = size = 0
    for group in range(metadata.num_row_groups):
        rows += metadata.row_group(group).num_rows
        size += metadata.row_group(group).total_byte_size
        if rows >= ROWS_PER_PIECE or group == metadata.num_row_groups - 1:
            pieces.append(TracePiece(name, path, PARQUET, first, group + 1, size))
            first, rows, size = group + 1, 0, 0
    return pieces
