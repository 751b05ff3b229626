"""Turn columns of a trace into sticky keys, as ``engine.keyshared.keys`` takes them from a message's metadata.

A trace has one row per event, or one row for several with a ``count``. Columns, all optional except one with a key:
``cluster``, ``namespace``, ``subscription``, ``ordering_key`` and ``key`` (texts; in Parquet bytes too),
``ordering_key_base64`` and ``key_base64``, ``producer_name`` and ``sequence_id`` (for messages without a key),
``count`` (1 without it).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import Problem
from engine.keyshared.keys import NONE_KEY, decode_base64
from engine.names import NAMESPACE_PATTERN
from pipeline.batches import one_chunk
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.reading.traces import TracePiece

TEXTS: Final = (
    "cluster", "namespace", "subscription", "ordering_key", "ordering_key_base64", "key", "key_base64", "producer_name",
)  # fmt: skip
COUNTS: Final = ("sequence_id", "count")
KNOWN: Final = (*TEXTS, *COUNTS)
KEY_COLUMNS: Final = ("ordering_key", "ordering_key_base64", "key", "key_base64", "producer_name")
SPACE_SEPARATOR: Final = "\n"
"""Separates cluster, namespace and subscription in the column ``space``: no name contains it."""
MOST: Final = 2**53
_ADVICE: Final = "these rows are set aside; the rest is kept"

EVENTS: Final = pa.schema(
    [("space", pa.string()), ("key", pa.binary()), ("rows", pa.int64()), ("msgs", pa.int64())]
)  # fmt: skip
"""Rows of a trace as tasks pass them on: equal keys may already be merged into one row."""


@dataclass
class TraceAccount:
    """What one task read: its rows, good or not, and what was wrong by file and reason, with a first example."""

    rows: int = 0
    good: int = 0
    bad: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    reported: list[Row] = field(default_factory=list)

    def refuse(self, name: str, reason: str, count: int, example: str) -> None:
        """Count rows that are set aside."""
        self.bad[name, reason] += count
        self.examples.setdefault((name, reason), example)

    def quarantine(self) -> list[Row]:
        """One row for each file and reason, and the other problems that were reported."""
        rows = [
            quarantine_row(Problem(name, self.examples[name, reason], reason, _ADVICE), "key_events", count, BAD)
            for (name, reason), count in sorted(self.bad.items())
        ]
        return [*rows, *self.reported]


def events_of(table: Any, piece: TracePiece, first_row: int, account: TraceAccount, *, spread: bool) -> Any:
    """Convert rows of a piece, with any of the known columns, to ``EVENTS``; bad rows are counted instead.

    ``spread``: messages without a key go by producer name and sequence id (``ReleaseBehaviour.keyless_messages``).
    ``first_row`` is the number of the table's first row, from 1, for the examples. O(rows).
    """
    count = table.num_rows
    account.rows += count
    columns = {column: one_chunk(table[column]) for column in KNOWN if column in table.column_names}
    reasons = _Reasons(count)
    msgs = _whole(columns.get("count"), count, 1)
    reasons.where(msgs < 0, "count is negative, no whole number, or larger than 2^53")
    if "namespace" in columns:
        reasons.where(_impossible(columns["namespace"]), "namespace is not like tenant/namespace")
    key = _keys(columns, reasons, spread=spread)
    space = _spaces(columns, count, piece.cluster)
    good = reasons.good()
    for reason, rows in reasons.rows.items():
        account.refuse(piece.name, reason, len(rows), f"row {first_row + int(rows[0]):,}")
    events = pa.Table.from_arrays(
        [space, key, pa.array(np.ones(count, dtype=np.int64)), pa.array(np.maximum(msgs, 0))], schema=EVENTS
    )
    good_events = events if good is None else events.filter(pa.array(good))
    account.good += good_events.num_rows
    return good_events


class _Reasons:
    """The rows that are set aside, by reason; only the first reason of a row counts."""

    def __init__(self, count: int) -> None:
        self._bad = np.zeros(count, dtype=bool)
        self.rows: dict[str, Any] = {}

    def where(self, bad: Any, reason: str) -> None:
        fresh = np.flatnonzero(bad & ~self._bad)
        if len(fresh):
            self.rows[reason] = fresh
            self._bad[fresh] = True

    def good(self) -> Any | None:
        return ~self._bad if self.rows else None


def _keys(columns: dict[str, Any], reasons: _Reasons, *, spread: bool) -> Any:
    """Return the first key that each row has; base64 that Java cannot decode is a reason to refuse, not hashed."""
    keys: Any = None
    for name in ("ordering_key", "ordering_key_base64", "key", "key_base64"):
        if name not in columns:
            continue
        values = columns[name]
        if name.endswith("_base64"):
            values, bad = _decoded(values)
            unsettled = bad if keys is None else bad & keys.is_null().to_numpy(zero_copy_only=False)
            reasons.where(unsettled, f"{name} is not base64")
        else:
            values = values.cast(pa.binary())
        keys = values if keys is None else pc.coalesce(keys, values)
    if spread and {"producer_name", "sequence_id"} <= columns.keys():
        numbers = _whole(columns["sequence_id"], len(columns["sequence_id"]), -1)
        text = pc.binary_join_element_wise(_text(columns["producer_name"]), pa.array(numbers).cast(pa.string()), "-")
        named = pc.if_else(pa.array(numbers >= 0), text, None).cast(pa.binary())
        keys = named if keys is None else pc.coalesce(keys, named)
    if keys is None:
        keys = pa.nulls(len(next(iter(columns.values()))), pa.binary())
    return pc.fill_null(keys, NONE_KEY)


def _decoded(values: Any) -> tuple[Any, Any]:
    """Decode base64 texts, each distinct text once. Returns the bytes, and (n,) bool: where a text is not base64."""
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        values = _text(values)
    codes = values.dictionary_encode()
    distinct = [decode_base64(text) for text in codes.dictionary.to_pylist()]
    decoded = pa.array(distinct, pa.binary()).take(codes.indices)
    return decoded, (
        decoded.is_null().to_numpy(zero_copy_only=False) & ~values.is_null().to_numpy(zero_copy_only=False)
    )


def _impossible(column: Any) -> Any:
    """(n,) bool: where the namespace is not a valid one; an absent namespace is valid."""
    values = pc.fill_null(_text(column), "")
    fine = pc.match_substring_regex(values, f"^(?:{NAMESPACE_PATTERN})?$")
    return ~np.asarray(fine.to_numpy(zero_copy_only=False), dtype=bool)


def _spaces(columns: dict[str, Any], count: int, cluster: str) -> Any:
    """Cluster, namespace and subscription in one text; where a row names none they are ``cluster`` and empty."""
    defaults = {"cluster": cluster, "namespace": "", "subscription": ""}
    if not columns.keys() & defaults:
        return pa.repeat(pa.scalar(SPACE_SEPARATOR.join(defaults.values())), count)
    parts = [
        pc.fill_null(_text(columns[name]), text) if name in columns else pa.scalar(text)
        for name, text in defaults.items()
    ]
    return pc.binary_join_element_wise(*parts, SPACE_SEPARATOR)


def _whole(column: Any, count: int, absent: int) -> Any:
    """(n,) int64: whole numbers up to 2^53, ``absent`` for an empty value, -1 for anything else."""
    if column is None:
        return np.full(count, absent, dtype=np.int64)
    values = column
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        text = pc.utf8_trim_whitespace(_text(values))
        fits = pc.match_substring_regex(text, r"^[0-9]{1,16}$")
        values = pc.if_else(pc.or_(fits, text.is_null()), text, "-1").cast(pa.int64())
    numbers = np.nan_to_num(
        pc.fill_null(values.cast(pa.float64()), float(absent)).to_numpy(zero_copy_only=False), nan=-1.0, posinf=-1.0
    )
    fine = (numbers >= 0) & (numbers <= MOST) & (numbers == np.floor(numbers))
    return np.where(fine, numbers, -1 if absent >= 0 else absent).astype(np.int64)


def _text(values: Any) -> Any:
    """Decode to texts; bytes that are not UTF-8 become replacement characters."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if data is None else data.decode("utf-8", "replace") for data in values.to_pylist()])
