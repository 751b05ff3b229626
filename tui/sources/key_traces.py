"""Events with a header, as key traces of fleets have them, read as the known keys of one subscription."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from engine.errors import InputError
from engine.keyshared.entry_key import NONE_KEY, EntryMetadata, decode_base64, sticky_key

_KEYS: Final = ("ordering_key", "ordering_key_base64", "key", "key_base64")
"""Columns with a key, the one that counts first."""
_TELL_A_KEY: Final = frozenset({*_KEYS, "producer_name"})
_KNOWN: Final = _TELL_A_KEY | {"namespace", "subscription", "sequence_id", "count"}
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
        return names if _TELL_A_KEY.intersection(names) else None
    return names if len(names) > 1 and _TELL_A_KEY.intersection(names) and _KNOWN.issuperset(names) else None


def not_read(header: Sequence[str], *, shown: int = 5) -> str:
    """The columns that nothing is taken from, where none of all is the count that one of them may be meant for.

    >>> not_read(("key", "n")), not_read(("key", "count", "at")), not_read(("key",))
    ('n', '', '')
    """
    others = [] if "count" in header else [name for name in header if name not in _KNOWN]
    return ", ".join(others[:shown]) + (f" and {len(others) - shown} more" if len(others) > shown else "")


def events(lines: Iterable[bytes], header: tuple[str, ...], source: str) -> Iterator[tuple[int, Event | str]]:
    """The events below a header, each with its line from 2 on; a text says why a row is none.

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
        return "count is no number of messages"
    for name in _KEYS:
        text = row.get(name, "")
        if not text:
            continue
        key = decode_base64(text) if name.endswith("_base64") else text.encode(errors="surrogateescape")
        return f"{name} is no base64" if key is None else (key, int(count))
    sequence = row.get("sequence_id", "").strip()
    if row.get("producer_name") and _is_whole(sequence):
        return sticky_key(EntryMetadata(producer_name=row["producer_name"], sequence_id=int(sequence))).data, int(count)
    return NONE_KEY, int(count)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
