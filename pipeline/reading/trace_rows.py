"""Columns of a trace into sticky keys, as ``engine.keyshared.entry_key`` takes them from a message's metadata.

A trace has one row an event, or one row for several with a ``count``. Columns, all optional but one that tells a key:
``namespace``, ``subscription``, ``ordering_key`` and ``key`` (texts; in Parquet bytes too), ``ordering_key_base64`` and
``key_base64``, ``producer_name`` and ``sequence_id`` (for messages without a key), ``count`` (1 without it).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import Problem
from engine.keyshared.entry_key import NONE_KEY, decode_base64
from engine.names import NAMESPACE_PATTERN
from pipeline.reading.rows import BAD, Row, quarantine_row

TEXTS: Final = (
    "namespace", "subscription", "ordering_key", "ordering_key_base64", "key", "key_base64", "producer_name",
)  # fmt: skip
COUNTS: Final = ("sequence_id", "count")
KNOWN: Final = (*TEXTS, *COUNTS)
TELL_A_KEY: Final = ("ordering_key", "ordering_key_base64", "key", "key_base64", "producer_name")
SPACE_SEPARATOR: Final = "\n"
"""Between namespace and subscription in the column ``space``: no name has one."""
MOST: Final = 2**53
_ADVICE: Final = "these rows are set aside; the rest is kept"

EVENTS: Final = pa.schema(
    [("space", pa.string()), ("key", pa.binary()), ("rows", pa.int64()), ("msgs", pa.int64())]
)  # fmt: skip
"""Rows of a trace as tasks hand them on: equal keys may be one row already."""


@dataclass
class TraceAccount:
    """What one task read: rows good or not, and what was wrong, by file and reason with a first example."""

    rows: int = 0
    good: int = 0
    bad: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    told: list[Row] = field(default_factory=list)

    def refuse(self, name: str, reason: str, count: int, example: str) -> None:
        """Count rows that are set aside."""
        self.bad[name, reason] += count
        self.examples.setdefault((name, reason), example)

    def quarantine(self) -> list[Row]:
        """One row for each file and reason, and what was told besides."""
        rows = [
            quarantine_row(Problem(name, self.examples[name, reason], reason, _ADVICE), "key_events", count, BAD)
            for (name, reason), count in sorted(self.bad.items())
        ]
        return [*rows, *self.told]


def events_of(table: Any, name: str, first_row: int, account: TraceAccount, *, spread: bool) -> Any:
    """A ``pyarrow.Table`` of any of the known columns as ``EVENTS``; rows that mean nothing are counted instead.

    ``spread``: messages without a key go by producer name and sequence id (``ReleaseBehaviour.keyless_messages``).
    ``first_row`` counts from 1 and says where an example stands. O(rows).
    """
    count = table.num_rows
    account.rows += count
    columns = {each: table[each] for each in KNOWN if each in table.column_names}
    reasons = _Reasons(count)
    msgs = _whole(columns.get("count"), count, 1)
    reasons.where(msgs < 0, "count is negative, no whole number, or larger than 2^53")
    if "namespace" in columns:
        reasons.where(_impossible(columns["namespace"]), "namespace is not like tenant/namespace")
    key = _keys(columns, reasons, spread=spread)
    space = _spaces(columns, count)
    good = reasons.good()
    for reason, rows in reasons.found.items():
        account.refuse(name, reason, len(rows), f"row {first_row + int(rows[0]):,}")
    made = pa.Table.from_arrays(
        [space, key, pa.array(np.ones(count, dtype=np.int64)), pa.array(np.maximum(msgs, 0))], schema=EVENTS
    )
    kept = made if good is None else made.filter(pa.array(good))
    account.good += kept.num_rows
    return kept


class _Reasons:
    """Why rows are set aside: the first reason counts."""

    def __init__(self, count: int) -> None:
        self._bad = np.zeros(count, dtype=bool)
        self.found: dict[str, Any] = {}

    def where(self, bad: Any, reason: str) -> None:
        fresh = np.flatnonzero(bad & ~self._bad)
        if len(fresh):
            self.found[reason] = fresh
            self._bad[fresh] = True

    def good(self) -> Any | None:
        return ~self._bad if self.found else None


def _keys(columns: dict[str, Any], reasons: _Reasons, *, spread: bool) -> Any:
    """The sticky key of each row: the first that is there; base64 that Java cannot decode is told, not hashed."""
    found: Any = None
    for name in ("ordering_key", "ordering_key_base64", "key", "key_base64"):
        if name not in columns:
            continue
        values = _joined(columns[name])
        if name.endswith("_base64"):
            values, bad = _decoded(values)
            unsettled = bad if found is None else bad & found.is_null().to_numpy(zero_copy_only=False)
            reasons.where(unsettled, f"{name} is no base64")
        else:
            values = values.cast(pa.binary())
        found = values if found is None else pc.coalesce(found, values)
    if spread and {"producer_name", "sequence_id"} <= columns.keys():
        numbers = _whole(columns["sequence_id"], len(columns["sequence_id"]), -1)
        text = pc.binary_join_element_wise(
            _text(_joined(columns["producer_name"])), pa.array(numbers).cast(pa.string()), "-"
        )
        named = pc.if_else(pa.array(numbers >= 0), text, None).cast(pa.binary())
        found = named if found is None else pc.coalesce(found, named)
    if found is None:
        found = pa.nulls(len(next(iter(columns.values()))), pa.binary())
    return pc.fill_null(found, NONE_KEY)


def _decoded(values: Any) -> tuple[Any, Any]:
    """Base64 texts (bytes stay as they are) and where they are none. One decoding for each different text."""
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        values = _text(values)
    codes = values.dictionary_encode()
    decoded = [decode_base64(text) for text in codes.dictionary.to_pylist()]
    made = pa.array(decoded, pa.binary()).take(codes.indices)
    return made, (made.is_null().to_numpy(zero_copy_only=False) & ~values.is_null().to_numpy(zero_copy_only=False))


def _impossible(column: Any) -> Any:
    """(n,) bool: where a namespace stands that no broker has; none at all is possible."""
    values = pc.fill_null(_text(_joined(column)), "")
    fine = pc.match_substring_regex(values, f"^(?:{NAMESPACE_PATTERN})?$")
    return ~np.asarray(fine.to_numpy(zero_copy_only=False), dtype=bool)


def _spaces(columns: dict[str, Any], count: int) -> Any:
    """Namespace and subscription in one text; what is not told is empty."""
    parts = [
        pc.fill_null(_text(_joined(columns[name])), "") if name in columns else pa.scalar("")
        for name in ("namespace", "subscription")
    ]
    if not any(name in columns for name in ("namespace", "subscription")):
        return pa.repeat(pa.scalar(SPACE_SEPARATOR), count)
    return pc.binary_join_element_wise(*parts, SPACE_SEPARATOR)


def _whole(column: Any, count: int, absent: int) -> Any:
    """(n,) int64: whole numbers up to 2^53, ``absent`` where nothing stands, -1 where something else does."""
    if column is None:
        return np.full(count, absent, dtype=np.int64)
    values = _joined(column)
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        text = pc.utf8_trim_whitespace(_text(values))
        fits = pc.match_substring_regex(text, r"^[0-9]{1,16}$")
        values = pc.if_else(pc.or_(fits, text.is_null()), text, "-1").cast(pa.int64())
    numbers = np.nan_to_num(
        pc.fill_null(values.cast(pa.float64()), float(absent)).to_numpy(zero_copy_only=False), nan=-1.0, posinf=-1.0
    )
    fine = (numbers >= 0) & (numbers <= MOST) & (numbers == np.floor(numbers))
    return np.where(fine, numbers, -1 if absent >= 0 else absent).astype(np.int64)


def _joined(column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def _text(values: Any) -> Any:
    """Texts; bytes that are no UTF-8 get marks in their place."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each if each is None else each.decode("utf-8", "replace") for each in values.to_pylist()])
