"""Known keys and consumers from files, and keys from traces of fleets: bad lines are reported and the others kept."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from engine.errors import InputError, Problem, Rejection, system_reason
from engine.input import MAX_INPUT_BYTES, opened, size_text
from engine.keyshared.keys import (
    BASE64,
    HEX,
    NONE_KEY,
    TEXT,
    EntryMetadata,
    decode_base64,
    key_of_text,
    sticky_key,
)
from tui.sources.nearby import STANDARD_INPUT, missing

MAX_KEYS: Final = 10_000_000
"""Different keys beyond which a file is refused: some gigabytes of memory."""

_KEYS: Final = ("ordering_key", "ordering_key_base64", "key", "key_base64")
"""Columns with a key; the first one that has a value counts."""

MAX_LINE_BYTES: Final = 10**6
"""A longer line is not a key: brokers take no message as large as that with a key in it."""

MAX_TEXT_BYTES: Final = 5 * 10**7
"""The most that is read of a list of consumers, which is kept as one text."""

_PIECE: Final = 1 << 18
PROBLEMS_KEPT: Final = 100
_PREFIXES: Final = tuple(prefix.encode() for prefix in (HEX, BASE64, TEXT))
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class KeyFile:
    """Sticky keys with the messages of each, in the order they were first seen, and the lines that were no keys."""

    counts: dict[bytes, int]
    problems: tuple[Problem, ...]


def read_keys(path: str) -> KeyFile:
    """Read a key a line, ``-`` for standard input: a text form of ``key_text``, then if wanted a tab and a count.

    Below a header such as ``key,count`` (``key_traces``) each row is an event. Messages of a key that is listed several
    times are summed. Blank lines are skipped (the empty key is ``text:``). Raises ``InputError`` when the file cannot
    be read, has no key at all, or more than ``MAX_KEYS``.
    """
    counts: dict[bytes, int] = {}
    source = "standard input" if path == STANDARD_INPUT else path
    problems = _Problems(source)
    reason = missing(path, kind="file")
    if reason is not None:
        raise InputError(reason)
    lines = _lines(path)
    first = next(lines, b"")
    header = header_of(first, path)
    if header is not None and (ignored := ignored_columns(header)):
        problems.add(1, f"not read: {ignored}; a column with the number of messages is called count")
    entries = events(lines, header, source) if header is not None else _entries(chain([first], lines))
    for number, entry in entries:
        if isinstance(entry, str):
            problems.add(number, entry)
            continue
        key, count = entry
        counts[key] = counts.get(key, 0) + count
        if len(counts) > MAX_KEYS:
            raise InputError(f"{source}: more than {MAX_KEYS} different keys; give a sample of them")
    if not counts:
        raise InputError(f"{source}: no key in it; write one a line", problems.all())
    return KeyFile(counts, problems.all())


def _entries(lines: Iterable[bytes]) -> Iterator[tuple[int, Event | str]]:
    """The keys of lines with their counts; a text says why a line has none, and what to do."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        text, tab, tail = line.rpartition(b"\t") if b"\t" in line else (line, b"", b"")
        count = _count(tail) if tab else 1
        key = _key(text)
        if len(line) > MAX_LINE_BYTES:
            yield number, f"the line has more than {size_text(MAX_LINE_BYTES)}; check what this file really is"
        elif count is None:
            yield number, "what follows the tab is not a number of messages; a key with a tab is written as hex:"
        else:
            yield number, key if isinstance(key, str) else (key, count)


def read_text_lines(path: str) -> tuple[tuple[int, str], ...]:
    """The lines of a text file that are not blank, with their numbers from 1. Raises ``InputError``."""
    reason = missing(path, kind="file")
    if reason is not None:
        raise InputError(reason)
    numbered: list[tuple[int, str]] = []
    for number, line in enumerate(_lines(path, limit=MAX_TEXT_BYTES, line_limit=MAX_TEXT_BYTES), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}:{number}: no UTF-8 text ({error.reason})") from error
        if text.strip():
            numbered.append((number, text))
    return tuple(numbered)


class _Problems:
    """The first of many problems, and how many more."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._kept: list[Problem] = []
        self._more = 0

    def add(self, line: int, reason: str) -> None:
        if len(self._kept) < PROBLEMS_KEPT:
            self._kept.append(Problem(self._source, "", reason, line=line))
        else:
            self._more += 1

    def all(self) -> tuple[Problem, ...]:
        more = [Problem(self._source, "", f"{self._more} more lines are not keys")] if self._more else []
        return (*self._kept, *more)


def _key(text: bytes) -> bytes | str:
    """The key of a line, or why it is not one."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        shown = text[:20].hex() + ("..." if len(text) > 20 else "")
        return f"these bytes are not UTF-8 text; if they are the key, write hex:{shown}"
    if not text.startswith(_PREFIXES):
        return text
    key = key_of_text(decoded)
    return key.message if isinstance(key, Rejection) else key


def _count(text: bytes) -> int | None:
    digits = text.strip()
    return int(digits) if digits.isdigit() and len(digits) <= 18 else None


def _lines(path: str, *, limit: int = MAX_INPUT_BYTES, line_limit: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Lines without line ends, cut behind ``line_limit``. Raises ``InputError``, also above ``limit`` bytes."""
    source = "standard input" if path == STANDARD_INPUT else path
    try:
        with _opened(path) as pieces:
            for number, line in enumerate(_split(_within(limit, pieces), line_limit)):
                yield line.removeprefix(_BOM) if number == 0 else line
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        raise InputError(f"{source}: {system_reason(error)}") from error


def _within(limit: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise InputError(f"has more than {size_text(limit)}, which is all that is read of it")
        yield piece


def _split(pieces: Iterable[bytes], line_limit: int) -> Iterator[bytes]:
    """Split pieces that begin and end anywhere into lines. Of a longer line one byte above ``line_limit`` is kept."""
    begun = bytearray()
    for piece in pieces:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            yield (bytes(begun) + line if begun else line).rstrip(b"\r")[: line_limit + 1]
            begun.clear()
        begun += rest[: line_limit + 1 - len(begun)]
    if begun:
        yield bytes(begun).rstrip(b"\r")


@contextmanager
def _opened(path: str) -> Iterator[Iterable[bytes]]:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InputError("is closed")
        yield iter(lambda: os.read(sys.stdin.fileno(), _PIECE), b"")
        return
    with opened(Path(path)) as file:
        yield file.pieces()


_KEY_SOURCES: Final = frozenset({*_KEYS, "producer_name"})
"""Columns from which a key follows."""
_KNOWN: Final = _KEY_SOURCES | {"namespace", "subscription", "sequence_id", "count"}
_CSV: Final = ".csv"
_MOST_DIGITS: Final = 18

Event = tuple[bytes, int]
"""A sticky key and how many messages have it."""


def header_of(line: bytes, path: str) -> tuple[str, ...] | None:
    """The columns that a first line names; None for a line that is a key like the others.

    In a file called ``.csv`` one column with keys is enough. Elsewhere all columns have to be known, and two at least.

    >>> header_of(b"key,count", "-"), header_of(b"key", "keys.txt"), header_of(b"user,key", "a.csv")
    (('key', 'count'), None, ('user', 'key'))
    """
    try:
        names = tuple(name.strip() for name in next(csv.reader([line.decode()]), ()))
    except (UnicodeDecodeError, csv.Error):
        return None
    if path.lower().endswith(_CSV):
        return names if _KEY_SOURCES.intersection(names) else None
    return names if len(names) > 1 and _KEY_SOURCES.intersection(names) and _KNOWN.issuperset(names) else None


def ignored_columns(header: Sequence[str], *, shown: int = 5) -> str:
    """The columns that are not read, one of which may be meant as the count; "" where there is a count.

    >>> ignored_columns(("key", "n")), ignored_columns(("key", "count", "at")), ignored_columns(("key",))
    ('n', '', '')
    """
    others = [] if "count" in header else [name for name in header if name not in _KNOWN]
    return ", ".join(others[:shown]) + (f" and {len(others) - shown} more" if len(others) > shown else "")


def events(lines: Iterable[bytes], header: tuple[str, ...], source: str) -> Iterator[tuple[int, Event | str]]:
    """The events below a header, each with its line from 2 on; a text says why a row is not one.

    An empty field is one that the message does not have. Raises ``InputError`` for events of several subscriptions,
    whose keys would be taken for those of one.
    """
    rows = csv.reader(f"{line.decode(errors='surrogateescape')}\n" for line in lines)
    subscription: tuple[str, str] | None = None
    while True:
        try:
            fields = next(rows, None)
        except csv.Error as error:
            yield rows.line_num + 1, f"the row cannot be read: {error}"
            continue
        if fields is None:
            return
        number = rows.line_num + 1
        if len(fields) != len(header):
            if fields:
                yield number, f"the row has {len(fields)} fields and not {len(header)}"
            continue
        row = dict(zip(header, fields, strict=True))
        whose = row.get("namespace", ""), row.get("subscription", "")
        if subscription is not None and whose != subscription:
            raise InputError(f"{source}:{number}: events of several subscriptions; give those of one alone")
        subscription = whose
        yield number, _event(row)


def _event(row: dict[str, str]) -> Event | str:
    count = row.get("count", "").strip() or "1"
    if not _is_whole(count):
        return "count is not a number of messages"
    for name in _KEYS:
        text = row.get(name, "")
        if not text:
            continue
        key = decode_base64(text) if name.endswith("_base64") else text.encode(errors="surrogateescape")
        return f"{name} is not base64" if key is None else (key, int(count))
    sequence = row.get("sequence_id", "").strip()
    if row.get("producer_name") and _is_whole(sequence):
        return sticky_key(EntryMetadata(producer_name=row["producer_name"], sequence_id=int(sequence))).data, int(count)
    return NONE_KEY, int(count)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
