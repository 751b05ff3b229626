"""Parquet tables of a fleet's result folder, read with Arrow and checked against what the jobs write. Needs pyarrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.errors import InputError
from engine.views.fleet.runs import ResultFolder
from engine.views.fleet.tables import BY_NAME, STAMP, Column, arrow_of

_NO_COLUMN: Final = re.compile(r"No match for FieldRef\.Name\(([^)]*)\)")


def read_table(
    folder: ResultFolder,
    name: str,
    columns: Sequence[str] | None = None,
    filters: Sequence[Any] | Any | None = None,
    repeated: Sequence[str] = (),
) -> Any:
    """A ``pyarrow.Table``, with ``filters`` as pyarrow takes them; ``repeated`` columns come as dictionaries.

    Raises ``InputError`` for a table that is missing, with the command that makes it, cannot be read, or differs from
    what the jobs write.
    """
    chosen = list(columns) if columns is not None else None
    try:
        table = _read(folder, name, chosen, filters, repeated)
        fault = _fault(table, name, chosen)
    except FileNotFoundError as error:
        raise InputError(f"{folder} no longer has the run {folder.manifest.run_id}; open it again") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        lacking = _NO_COLUMN.search(str(error))
        reason = f"has no column {lacking[1]}" if lacking else f"cannot be read: {first_line(error)}"
        raise InputError(f"{folder}/{name} {reason}; make it again with ringside fleet run IN OUT") from error
    if fault:
        raise InputError(f"{folder}/{name} {fault}; make it again with ringside fleet run IN OUT")
    return table


def empty_table(name: str) -> Any:
    """A table without rows, with the columns that are read of it."""
    return arrow_of(_of(name)).empty_table()


def _of(name: str) -> tuple[Column, ...]:
    return (*BY_NAME[name].columns, *STAMP)


def _read(folder: ResultFolder, name: str, columns: list[str] | None, filters: Any, repeated: Sequence[str]) -> Any:
    parts = folder.parts(name)
    if not parts:
        raise InputError(
            f"{folder} holds no table {name}; make it with ringside fleet run IN OUT or ringside fleet report"
        )
    files = (part if isinstance(part, Path) else part.input_file() for part in parts)
    return pa.concat_tables(
        [pq.read_table(file, columns=columns, filters=filters, read_dictionary=list(repeated)) for file in files]
    )


def first_line(error: Exception) -> str:
    """The first line of an error message, without the pages that follow."""
    return (str(error).splitlines() or ["it is damaged"])[0]


def _fault(table: Any, name: str, chosen: Sequence[str] | None) -> str:
    """How a table differs from what the jobs write, "" for not at all."""
    for column in _of(name):
        if chosen is not None and column.name not in chosen:
            continue
        count = table.column_names.count(column.name)
        if count == 0 and column.nullable:
            continue
        if count != 1:
            return f"has {count or 'no'} columns {column.name}"
        values, (field,) = table.column(column.name), arrow_of([column])
        if not _is_of(values.type, field.type):
            return f"has {values.type} in the column {column.name}"
        if values.null_count and not column.nullable:
            return f"has rows without {column.name}"
        if pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values), min_count=0).as_py():
            return f"has numbers without a bound in the column {column.name}"
        if pa.types.is_list(values.type) and _has_gaps(values):
            return f"has lists with nothing in a place in the column {column.name}"
    return ""


def _has_gaps(values: Any) -> bool:
    inner = pc.list_flatten(values)
    if pa.types.is_struct(inner.type):
        return bool(
            inner.null_count or any(pc.struct_field(inner, at).null_count for at in range(inner.type.num_fields))
        )
    return bool(inner.null_count)


def _is_of(kind: Any, declared: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(declared):
        return bool(pa.types.is_timestamp(kind))
    if pa.types.is_integer(declared):
        return bool(pa.types.is_signed_integer(kind))
    return bool(kind == declared)
