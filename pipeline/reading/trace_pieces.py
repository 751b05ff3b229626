"""One piece of a trace as tables of events; whatever is wrong with a part of it, the rest is read."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from engine.admin.unpacking import Gunzipped
from engine.errors import Problem
from pipeline.reading.rows import BAD, quarantine_row
from pipeline.reading.trace_rows import COUNTS, KNOWN, TELL_A_KEY, TEXTS, TraceAccount, events_of
from pipeline.reading.traces import LINES, PARQUET, TracePiece
from pipeline.storage import Place, file_at, for_arrow, size_bytes

_ROWS_AT_ONCE: Final = 1 << 17
_BYTES_AT_ONCE: Final = 1 << 20
_LONGEST_LINE_BYTES: Final = 1 << 24
_RAISES: Final = (OSError, pa.ArrowException, UnicodeError)


class _Line(msgspec.Struct):
    """One event as JSON. Numbers may stand in quotes; what is no number is told as such later."""

    namespace: str | None = None
    subscription: str | None = None
    ordering_key: str | None = None
    ordering_key_base64: str | None = None
    key: str | None = None
    key_base64: str | None = None
    producer_name: str | None = None
    sequence_id: int | float | str | None = None
    count: int | float | str | None = None


_NOTHING: Final = _Line()


def read_piece(piece: TracePiece, account: TraceAccount, *, spread: bool) -> Iterator[Any]:
    """Tables of ``EVENTS``. A file that breaks off, or is none of its form, is told; what came before it stays."""
    readers = {PARQUET: _parquet, LINES: _lines}
    row = 1
    try:
        for table in readers.get(piece.form, _csv)(piece, account):
            yield events_of(table, piece.name, row, account, spread=spread)
            row += table.num_rows
    except _RAISES as fault:
        reason = f"cannot be read from row {row:,} on: {str(fault).splitlines()[0]}"
        _tell(piece, account, reason, "what stands before it is kept; write the file again")


def _tell(piece: TracePiece, account: TraceAccount, reason: str, advice: str) -> None:
    account.told.append(quarantine_row(Problem(piece.name, "$", reason, advice), "key_events", 0, BAD))


def _parquet(piece: TracePiece, account: TraceAccount) -> Iterator[Any]:
    file = pq.ParquetFile(for_arrow(piece.path))
    wanted: list[str] = []
    for field in file.schema_arrow:
        if field.name in KNOWN:
            if not _fits(field):
                reason = f"column {field.name} has type {field.type}"
                _tell(piece, account, reason, "keys and names are texts or bytes, counts are numbers")
            else:
                wanted.append(field.name)
    if not any(name in wanted for name in TELL_A_KEY):
        # Nothing to take its rows by: all of them are set aside.
        rows = sum(file.metadata.row_group(group).num_rows for group in range(piece.first, piece.last))
        account.rows += rows
        account.refuse(piece.name, f"no column of {', '.join(TELL_A_KEY)}", rows, "$")
        return
    groups = list(range(piece.first, piece.last))
    for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=groups, columns=wanted, use_threads=False):
        yield _plain(pa.Table.from_batches([batch]))


def _fits(field: Any) -> bool:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if field.name in COUNTS:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind))
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _plain(table: Any) -> Any:
    """Dictionaries and large texts as plain ones."""
    kinds = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    fields = []
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        fields.append(field.with_type(kinds.get(kind, kind)))
    return table.cast(pa.schema(fields))


def _lines(piece: TracePiece, account: TraceAccount) -> Iterator[Any]:
    decoder = msgspec.json.Decoder(_Line)
    held: list[_Line] = []
    foreign = 0
    for line in _text_lines(piece, account):
        try:
            event = decoder.decode(line)
            foreign += event == _NOTHING and _is_foreign(line)
            held.append(event)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            # A document of one event that is no such event: counted here, since no table ever has it.
            account.rows += 1
            shown = line[:60].decode("utf-8", "replace").strip()
            kind = "is no event" if isinstance(fault, msgspec.ValidationError) else "is no JSON"
            account.refuse(piece.name, f"the line {kind}", 1, shown)
        if len(held) >= _ROWS_AT_ONCE:
            yield from _events(piece, account, held, foreign)
            held, foreign = [], 0
    if held:
        yield from _events(piece, account, held, foreign)


def _is_foreign(line: bytes) -> bool:
    """Whether a document tells something, and nothing of an event: ``{}`` is an event without a key."""
    members = msgspec.json.decode(line)
    return bool(members) and members.keys().isdisjoint(KNOWN)


def _events(piece: TracePiece, account: TraceAccount, held: list[_Line], foreign: int) -> Iterator[Any]:
    if foreign < len(held):
        yield _table_of(held)
        return
    # Lines of something else, a log or a time series: taken for events they would be ones without a key.
    account.rows += foreign
    account.refuse(piece.name, f"no line has any of {', '.join(TELL_A_KEY)}", foreign, "$")


def _table_of(lines: list[_Line]) -> Any:
    texts = {name: pa.array([getattr(line, name) for line in lines], pa.string()) for name in TEXTS}
    numbers = {name: _numbers([getattr(line, name) for line in lines]) for name in COUNTS}
    columns = {name: column for name, column in (texts | numbers).items() if column.null_count < len(column)}
    if not columns:
        # Events without any known member have no key, and there are as many of them all the same.
        columns = {"count": pa.nulls(len(lines), pa.int64())}
    return pa.table(columns)


def _numbers(values: list[Any]) -> Any:
    if any(isinstance(value, str) for value in values):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _text_lines(piece: TracePiece, account: TraceAccount) -> Iterator[bytes]:
    if piece.first == 0 and piece.last == size_bytes(piece.path):
        stream: Any = _open(piece, account)
        yield from (line for line in stream if line.strip())
        return
    with file_at(piece.path).open("rb") as plain:
        if piece.first:
            # The line that began before belongs to the piece before.
            plain.seek(piece.first - 1)
            _line(plain)
        while plain.tell() < piece.last and (line := _line(plain)):
            if line.strip():
                yield line


def _line(plain: BinaryIO) -> bytes:
    """The next line, of one that is too long only its beginning, which is no event."""
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

    stream = _open(piece, account)
    options = {
        "read_options": pa.csv.ReadOptions(use_threads=False, block_size=_BYTES_AT_ONCE),
        "parse_options": pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=wrong),
        # Nothing stands where a field is empty; "" in quotes is the empty key, which is a key.
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(KNOWN, pa.binary()), include_columns=list(KNOWN), include_missing_columns=True,
            strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""], check_utf8=False,
        ),
    }  # fmt: skip
    header = _header(stream)
    if not any(name in header for name in TELL_A_KEY):
        _tell(piece, account, f"its header has none of {', '.join(TELL_A_KEY)}", "write a header line")
        return
    with _silent_about_texts():
        for batch in pa.csv.open_csv(pa.PythonFile(stream, mode="r"), **options):
            table = pa.Table.from_batches([batch])
            yield table.select([name for name in KNOWN if name in header])


@contextmanager
def _silent_about_texts() -> Iterator[None]:
    """Arrow cannot hand over a wrong line that is no UTF-8: it prints a traceback, and ends with an error, too."""
    before = sys.unraisablehook

    def unraisable(fault: sys.UnraisableHookArgs) -> None:
        if not isinstance(fault.exc_value, UnicodeDecodeError):
            before(fault)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before


def _header(stream: io.BufferedReader) -> list[str]:
    first = stream.peek(_BYTES_AT_ONCE).split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    return [name.strip().strip('"') for name in first.rstrip("\r").split(",")]


def _open(piece: TracePiece, account: TraceAccount) -> io.BufferedReader:
    return io.BufferedReader(_Unpacked(piece, account), _BYTES_AT_ONCE)


class _Unpacked(io.RawIOBase):
    """The bytes of a file out of gzip or zstd. Where the packed data stops early, whole lines end the stream."""

    def __init__(self, piece: TracePiece, account: TraceAccount) -> None:
        self._piece, self._account = piece, account
        self._source = _unpacked(file_at(piece.path))
        self._ready = b""
        self._line_begun = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            self._more()
        taken = self._ready[: len(buffer)]
        self._ready = self._ready[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _more(self) -> None:
        try:
            data = next(self._source, None)
        except (OSError, EOFError, pa.ArrowException) as fault:
            self._ended = True
            words = str(fault).splitlines()[0] if str(fault) else "it ends early"
            lost = " and what was begun of a line is left out" if self._line_begun else ""
            _tell(self._piece, self._account, f"the packed data is damaged: {words}{lost}", "copy the file again")
            return
        if data is None:
            self._ready, self._line_begun, self._ended = self._line_begun, b"", True
            return
        whole, newline, rest = (self._line_begun + data).rpartition(b"\n")
        if len(rest) > _LONGEST_LINE_BYTES:
            self._ended = True
            reason = f"a line has more than {_LONGEST_LINE_BYTES:,} bytes; it and what follows are left out"
            _tell(self._piece, self._account, reason, "look what this file really is")
            rest = b""
        self._ready, self._line_begun = whole + newline, rest


def _unpacked(path: Place) -> Iterator[bytes]:
    lower = path.name.lower()
    with path.open("rb") as stream:
        if lower.endswith((".zst", ".zstd")):
            source = pa.CompressedInputStream(stream, "zstd")
            while data := source.read(_BYTES_AT_ONCE):
                yield data
        elif lower.endswith(".gz"):
            yield from _gunzipped(stream)
        else:
            while data := stream.read(_BYTES_AT_ONCE):
                yield data


def _gunzipped(stream: Any) -> Iterator[bytes]:
    unpacked = Gunzipped(iter(lambda: stream.read(_BYTES_AT_ONCE), b""))
    yield from unpacked
    if unpacked.fault:
        raise EOFError(unpacked.fault)
