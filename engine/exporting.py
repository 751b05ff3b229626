"""Tables and pictures as files: whole or not there at all, and harmless to a spreadsheet that opens them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec

from engine.disk import whole_file
from engine.errors import InputError
from engine.text import visible

Value = float | str | None
Record = Mapping[str, Value]
_FORMULA: Final = re.compile("\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How a text begins that a spreadsheet takes for a formula, after blanks too."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: ``rows``, and in how many cells a spreadsheet or a terminal would have done harm.

    Those of CSV are changed (``neutral``); JSON has escapes for them, and Parquet has no need.
    """

    rows: int
    changed_cells: int = 0


def export_records(records: Sequence[Record], path: Path) -> Exported:
    """Write records with the same keys as CSV or JSON, by the name's ending. Raises ``InputError``."""
    writer: Callable[[Sequence[Record], IO[bytes]], int] = chosen(path, {".csv": _csv, ".json": _json})
    return Exported(len(records), saved(path, lambda file: writer(records, file)))


def path_typed(text: str) -> Path:
    """The path that somebody typed. Raises ``InputError`` for one that no file can have."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError("this name holds half a character, which no file name can; type it anew") from error
    try:
        return Path(text.strip()).expanduser().absolute()
    except RuntimeError as error:
        raise InputError(str(error)) from error


Writer = Callable[..., int]


def chosen(path: Path, writers: Mapping[str, Writer]) -> Writer:
    """The writer for a name's ending. Raises ``InputError`` for another ending."""
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path} ends in none of {', '.join(writers)}; choose one of them")
    return writer


def saved(path: Path, write: Callable[[IO[bytes]], int]) -> int:
    """Write a file that is there when all of it is safe, or not at all; returns what ``write`` returns.

    Raises ``InputError`` for a file that is there already, and for what the system refuses.
    """
    try:
        with whole_file(path) as file:
            return write(file)
    except FileExistsError as error:
        raise InputError(f"{path} is there already; choose another name") from error
    except (OSError, ValueError) as error:  # a name with NUL is a ValueError
        raise InputError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error


def neutral(text: str) -> str:
    """A text as a cell that a spreadsheet shows and does not run, without characters that it would not show.

    What begins like a formula gets an apostrophe before it, the spreadsheets' own mark of a text.

    >>> neutral("=cmd|' /C calc'!A0"), neutral("\\t-1"), neutral("a-b")
    ("'=cmd|' /C calc'!A0", "'\\\\t-1", 'a-b')
    """
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(text) else shown


def _csv(records: Sequence[Record], file: IO[bytes]) -> int:
    changed = 0
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    if records:
        writer.writerow(records[0])
    for record in records:
        cells = []
        for value in record.values():
            cell = neutral(value) if isinstance(value, str) else value
            changed += isinstance(value, str) and cell != value
            cells.append(cell)
        writer.writerow(cells)
    text.detach()
    return changed


def _json(records: Sequence[Record], file: IO[bytes]) -> int:
    file.write(b"[" + b",".join(b"\n" + msgspec.json.encode(dict(record)) for record in records) + b"\n]\n")
    return 0
