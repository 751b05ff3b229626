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

from engine.disk import Exported, chosen, neutral, saved
from engine.text import BLANK_LETTERS
from tui.sources.fleet_listing import Listing

_BATCH: Final = 65_536
_HARMFUL: Final = (
    rf"^\s*[=+\-@\x{{ff1d}}\x{{ff0b}}\x{{ff0d}}\x{{ff20}}]|[\p{{Cc}}\p{{Cf}}\p{{Co}}\p{{Zl}}\p{{Zp}}{BLANK_LETTERS}]"
)
"""Finds in a column the texts that ``neutral`` would change, by their beginning or by letters that it takes out."""


def export(listing: Listing, path: Path) -> Exported:
    """Write the rows in their order, as CSV, JSON or Parquet by the name's ending.

    The file appears when all of it is written, or not at all. JSON is an array of objects, one a line. Raises
    ``InputError`` for another ending, a file that is there already, and what the system refuses.
    """
    write = chosen(path, _WRITERS)
    table = listing.columns.table.take(pa.array(listing.rows))
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, pc.cast(table.column(at), field.type.value_type))
    return Exported(len(listing), saved(path, lambda file: write(table, file)))


def _csv(table: Any, file: IO[bytes]) -> int:
    changed = 0
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [msgspec.json.encode(value).decode() for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(texts, pa.string()))
        elif not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        column = table.column(at).combine_chunks()
        harmful = pc.fill_null(pc.match_substring_regex(column, _HARMFUL), False)
        count = pc.sum(harmful).as_py() or 0
        if count:
            changed += count
            shown = pa.array([neutral(text) for text in column.filter(harmful).to_pylist()], column.type)
            table = table.set_column(at, field.name, pc.replace_with_mask(column, harmful, shown))
    csv.write_csv(table, file)
    return changed


def _json(table: Any, file: IO[bytes]) -> int:
    file.write(b"[")
    for start in range(0, len(table), _BATCH):
        rows = table.slice(start, _BATCH).to_pylist()
        file.write((b"," if start else b"") + b"\n" + b",\n".join(map(msgspec.json.encode, rows)))
    file.write(b"\n]\n")
    return 0


def _parquet(table: Any, file: IO[bytes]) -> int:
    pq.write_table(table, file)
    return 0


_WRITERS: Final[Mapping[str, Callable[[Any, IO[bytes]], int]]] = {".csv": _csv, ".json": _json, ".parquet": _parquet}
