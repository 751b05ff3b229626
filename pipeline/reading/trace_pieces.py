"""Read one piece of a trace as tables of events; a bad part never prevents reading the rest."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from engine.errors import Problem
from engine.input import Gunzipped
from pipeline.reading.rows import BAD, quarantine_row
from pipeline.reading.trace_rows import COUNTS, KEY_COLUMNS, KNOWN, TEXTS, TraceAccount, events_of
from pipeline.reading.traces import LINES, PARQUET, TracePiece
from pipeline.storage import Place, for_arrow, size_bytes

_ROWS_AT_ONCE: Final = 1 << 17
_BYTES_AT_ONCE: Final = 1 << 20
_LONGEST_LINE_BYTES: Final = 1 << 24
_RAISES: Final = (OSError, pa.ArrowException, UnicodeError)


_LINE: Final = msgspec.defstruct(
    "Line",
    [
        *((name, str | None, None) for name in TEXTS),
        # Numbers may be in quotes; values that are not numbers are reported later.
        *((name, int | float | str | None, None) for name in COUNTS),
    ],
)
"""One event as JSON."""
_NOTHING: Final = _LINE()


def read_piece(piece: TracePiece, account: TraceAccount, *, spread: bool) -> Iterator[Any]:
    """Yield tables of ``EVENTS``. A file that is cut short or malformed is reported; what came before is kept."""
    readers = {PARQUET: _parquet, LINES: _lines}
    row = 1
    try:
        for table in readers.get(piece.form, _csv)(piece, account):
            yield events_of(table, piece, row, account, spread=spread)
            row += table.num_rows
    except _RAISES as fault:
        reason = f"cannot be read from row {row:,} on: {str(fault).splitlines()[0]}"
        _report(piece, account, reason, "what stands before it is kept; write the file again")


def _report(piece: TracePiece, account: TraceAccount, reason: str, advice: str) -> None:
    account.reported.append(quarantine_row(Problem(piece.name, "$", reason, advice), "key_events", 0, BAD))


def _parquet(piece: TracePiece, account: TraceAccount) -> Iterator[Any]:
    file = pq.ParquetFile(for_arrow(piece.path))
    columns: list[str] = []
    for field in file.schema_arrow:
        if field.name in KNOWN:
            if not _fits(field):
                reason = f"column {field.name} has type {field.type}"
                _report(piece, account, reason, "keys and names are texts or bytes, counts are numbers")
            else:
                columns.append(field.name)
    if not any(name in columns for name in KEY_COLUMNS):
        # Without a key column none of its rows can be read: all of them are set aside.
        rows = sum(file.metadata.row_group(group).num_rows for group in range(piece.first, piece.last))
        account.rows += rows
        account.refuse(piece.name, f"no column of {', '.join(KEY_COLUMNS)}", rows, "$")
        return
    groups = list(range(piece.first, piece.last))
    for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=groups, columns=columns, use_threads=False):
        yield _plain(pa.Table.from_batches([batch]))


def _fits(field: Any) -> bool:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if field.name in COUNTS:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind))
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _plain(table: Any) -> Any:
    """Cast dictionaries and large texts to plain columns."""
    kinds = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    fields = []
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        fields.append(field.with_type(kinds.get(kind, kind)))
    return table.cast(pa.schema(fields))


def _lines(piece: TracePiece, account: TraceAccount) -> Iterator[Any]:
    decoder = msgspec.json.Decoder(_LINE)
    lines = _text_lines(piece, account)
    while some := list(islice(lines, _ROWS_AT_ONCE)):
        held: list[msgspec.Struct] = []
        foreign = 0
        for line in some:
            try:
                event = decoder.decode(line)
                foreign += event == _NOTHING and _is_foreign(line)
                held.append(event)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
                # A line that is not an event is counted here, since it is in no table.
                account.rows += 1
                shown = line[:60].decode("utf-8", "replace").strip()
                kind = "is not an event" if isinstance(fault, msgspec.ValidationError) else "is not JSON"
                account.refuse(piece.name, f"the line {kind}", 1, shown)
        if foreign < len(held):
            yield _table_of(held)
        elif held:
            # Lines of something else, a log or a time series: read as events, they would all lack a key.
            account.rows += foreign
            account.refuse(piece.name, f"no line has any of {', '.join(KEY_COLUMNS)}", foreign, "$")


def _is_foreign(line: bytes) -> bool:
    """Whether a document has members and none of an event's; ``{}`` is an event without a key."""
    members = msgspec.json.decode(line)
    return bool(members) and members.keys().isdisjoint(KNOWN)


def _table_of(lines: list[msgspec.Struct]) -> Any:
    texts = {name: pa.array([getattr(line, name) for line in lines], pa.string()) for name in TEXTS}
    numbers = {name: _numbers([getattr(line, name) for line in lines]) for name in COUNTS}
    columns = {name: column for name, column in (texts | numbers).items() if column.null_count < len(column)}
    if not columns:
        # Events without any known member have no key, but they still count.
        columns = {"count": pa.nulls(len(lines), pa.int64())}
    return pa.table(columns)


def _numbers(values: list[Any]) -> Any:
    if any(isinstance(value, str) for value in values):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _text_lines(piece: TracePiece, account: TraceAccount) -> Iterator[bytes]:
    if piece.first == 0 and piece.last == size_bytes(piece.path):
        lines = (line for chunk in _whole_lines(piece, account) for line in chunk.split(b"\n"))
        yield from (line for line in lines if line.strip())
        return
    with piece.path.open("rb") as plain:
        if piece.first:
            # A line that began earlier belongs to the piece before.
            plain.seek(piece.first - 1)
            _line(plain)
        while plain.tell() < piece.last and (line := _line(plain)):
            if line.strip():
                yield line


def _line(plain: BinaryIO) -> bytes:
    """Return the next line; only the beginning of one that is too long, which is then not a valid event."""
    line = plain.readline(_LONGEST_LINE_BYTES)
    rest = line
    while len(rest) == _LONGEST_LINE_BYTES and not rest.endswith(b"\n"):
        rest = plain.readline(_LONGEST_LINE_BYTES)
    return line


def _csv(piece: TracePiece, account: TraceAccount) -> Iterator[Any]:
    def wrong(row: Any) -> str:
        account.rows += 1
        reason = f"the line has {row.actual_columns} fields and not {row.expected_columns}"
        account.refuse(piece.name, reason, 1, str(row.text)[:60])
        return "skip"

    stream = io.BufferedReader(_Stream(_whole_lines(piece, account)), _BYTES_AT_ONCE)
    options = {
        "read_options": pa.csv.ReadOptions(use_threads=False, block_size=_BYTES_AT_ONCE),
        "parse_options": pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=wrong),
        # An empty field is null; "" in quotes is the empty key, which is a key.
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(KNOWN, pa.binary()), include_columns=list(KNOWN), include_missing_columns=True,
            strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""], check_utf8=False,
        ),
    }  # fmt: skip
    header = _header(stream)
    if not any(name in header for name in KEY_COLUMNS):
        _report(piece, account, f"its header has none of {', '.join(KEY_COLUMNS)}", "write a header line")
        return
    with _silent_about_texts():
        for batch in pa.csv.open_csv(pa.PythonFile(stream, mode="r"), **options):
            table = pa.Table.from_batches([batch])
            yield table.select([name for name in KNOWN if name in header])


@contextmanager
def _silent_about_texts() -> Iterator[None]:
    """Silence the traceback Arrow prints for a bad line that is not UTF-8; it also raises an error."""
    before = sys.unraisablehook

    def unraisable(fault: sys.UnraisableHookArgs) -> None:
        if not isinstance(fault.exc_value, UnicodeDecodeError):
            before(fault)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before


def _header(stream: io.BufferedReader[_Stream]) -> list[str]:
    first = stream.peek(_BYTES_AT_ONCE).split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    return [name.strip().strip('"') for name in first.rstrip("\r").split(",")]


def _whole_lines(piece: TracePiece, account: TraceAccount) -> Iterator[bytes]:
    """The uncompressed bytes of a file, cut where lines end. If the packed data stops early, so does the last line."""
    begun = b""
    try:
        for data in _unpacked(piece.path):
            whole, newline, begun = (begun + data).rpartition(b"\n")
            yield whole + newline
            if len(begun) > _LONGEST_LINE_BYTES:
                reason = f"a line has more than {_LONGEST_LINE_BYTES:,} bytes; it and what follows are left out"
                _report(piece, account, reason, "check what this file really is")
                return
    except (OSError, EOFError, pa.ArrowException) as fault:
        message = str(fault).splitlines()[0] if str(fault) else "it ends early"
        lost = " and what was begun of a line is left out" if begun else ""
        _report(piece, account, f"the packed data is damaged: {message}{lost}", "copy the file again")
        return
    yield begun


def _unpacked(path: Place) -> Iterator[bytes]:
    lower = path.name.lower()
    with path.open("rb") as stream:
        if lower.endswith(".gz"):
            unpacked = Gunzipped(iter(lambda: stream.read(_BYTES_AT_ONCE), b""))
            yield from unpacked
            if unpacked.fault:
                raise EOFError(unpacked.fault)
        else:
            source: Any = pa.CompressedInputStream(stream, "zstd") if lower.endswith((".zst", ".zstd")) else stream
            yield from iter(lambda: source.read(_BYTES_AT_ONCE), b"")


class _Stream(io.RawIOBase):
    """Bytes that come in chunks, as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._ready = self._ready or next(filter(None, self._chunks), b"")
        taken = self._ready[: len(buffer)]
        self._ready = self._ready[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)
