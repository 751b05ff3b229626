"""A list as a file: the rows that are shown, in their order, with all their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from engine.errors import InputError
from tui.sources.fleet_listing import Listing

_BATCH: Final = 65_536


def export(listing: Listing, path: Path) -> int:
    """Write the rows in their order, as CSV, JSON or Parquet by the name's ending; gives their number.

    JSON is an array of objects, one a line. Raises ``InputError`` for another ending, a file that is there already, and
    what the system refuses.
    """
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise InputError(f"{path} ends in none of {', '.join(_WRITERS)}; choose one of them")
    table = listing.columns.table.take(pa.array(listing.rows))
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, pc.cast(table.column(at), field.type.value_type))
    try:
        with path.open("xb") as file:
            write(table, file)
    except FileExistsError as error:
        raise InputError(f"{path} is there already; choose another name") from error
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(listing)


def _csv(table: Any, file: IO[bytes]) -> None:
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [msgspec.json.encode(value).decode() for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(texts, pa.string()))
    csv.write_csv(table, file)


def _json(table: Any, file: IO[bytes]) -> None:
    file.write(b"[")
    for start in range(0, len(table), _BATCH):
        rows = table.slice(start, _BATCH).to_pylist()
        file.write((b"," if start else b"") + b"\n" + b",\n".join(map(msgspec.json.encode, rows)))
    file.write(b"\n]\n")


def _parquet(table: Any, file: IO[bytes]) -> None:
    pq.write_table(table, file)


_WRITERS: Final[Mapping[str, Callable[[Any, IO[bytes]], None]]] = {".csv": _csv, ".json": _json, ".parquet": _parquet}
