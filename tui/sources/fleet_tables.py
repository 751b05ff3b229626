"""Parquet tables of a fleet's result folder, read with Arrow. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError


def parts_of(folder: Path, name: str) -> list[Path]:
    """The files of a table, in the order of their names; none where its job has not run."""
    return sorted((folder / name).glob("*.parquet"))


def read_table(
    folder: Path,
    name: str,
    columns: Sequence[str] | None = None,
    wanted: Sequence[Any] | Any | None = None,
    repeated: Sequence[str] = (),
) -> Any:
    """A ``pyarrow.Table``; ``wanted`` are filters as pyarrow takes them, ``repeated`` columns come as dictionaries.

    Raises ``InputError``: a table that is not there, with the command that makes it, or one that cannot be read.
    """
    parts = parts_of(folder, name)
    if not parts:
        raise InputError(
            f"{folder} holds no table {name}; make it with ringside fleet run IN OUT or ringside fleet report"
        )
    chosen = list(columns) if columns is not None else None
    try:
        return pa.concat_tables(
            [pq.read_table(part, columns=chosen, filters=wanted, read_dictionary=list(repeated)) for part in parts]
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{folder / name} cannot be read: {str(error).splitlines()[0]}") from error
