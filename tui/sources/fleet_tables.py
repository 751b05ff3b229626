"""Parquet tables of a fleet's result folder, read with Arrow and checked against what the jobs write. Needs pyarrow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.errors import InputError
from engine.views.fleet.runs import ResultFolder

_TYPES: Final[Mapping[str, Any]] = {
    "text": pa.string(),
    "bytes": pa.binary(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "moment": pa.timestamp("us", "UTC"),
    "texts": pa.list_(pa.string()),
    "ranges": pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())])),
}
_DECLARED: Final[Mapping[str, str]] = {
    "worst_subscriptions": "cluster: text, namespace: text, subscription: text, type: text, policy: text,"
    " partitions: whole,"
    " consumers: whole, idle: whole, max_over_mean: real?, max_over_mean_rate: real?, moved: whole,"
    " least_moved: whole, verdict: text?, findings: whole, worst_severity: text?, msg_rate_out: real?*,"
    " msg_backlog_entries: whole?*, max_over_even: real?, lists: whole*, spare_msg_rate: real*,"
    " worst_topic: text?*, worst_consumers: whole?*, worst_active: whole?*, msg_rate_out_unknown: whole?*,"
    " msg_backlog_entries_unknown: whole?*,"
    " snapshot_time: moment?*",
    "worst_namespaces": "cluster: text, namespace: text, topics: whole, subscriptions: whole, msg_rate_in: real?,"
    " msg_rate_out: real?,"
    " backlog_size_bytes: whole?, bundles: whole, bundles_to_split: whole, worst_max_over_even: real?,"
    " worst_subscription: text?, idle: whole, findings: whole, worst_severity: text?, msg_rate_in_unknown: whole?*,"
    " msg_rate_out_unknown: whole?*, backlog_size_bytes_unknown: whole?*",
    "findings": "cluster: text, rule: text, severity: text, severity_level: whole, namespace: text,"
    " subscription: text, bundle: text,"
    " topic: text, consumer: text, topics: whole, what: text, advice: text",
    "assignments": "cluster: text, subscription: text, topic: text, namespace: text, flag_off: text?, flag_on: text?",
    "subscription_loads": "cluster: text, namespace: text, subscription: text, policy: text, in_force: flag",
    "quarantine": "cluster: text, job: text, file: text, place: text, line: whole?, column: whole?, table: text,"
    " rows: whole, kind: text, reason: text, advice: text",
    "balance_brokers": "cluster: text, broker: text, usage: real?, usage_after: real?, fullest: text?, bundles: whole,"
    " bundles_after: whole, topics: whole, msg_rate: real, throughput: real, next_unloads: whole, unloads: whole,"
    " gained: whole, topics_interrupted: whole, loops: whole, next_outcome: text, measure: text?*, figure: real?,"
    " limit: real?, shedder: text",
    "scale_forecast": "cluster: text, namespace: text, topic: text, blocked: whole, stuck: whole, unattached: whole,"
    " consumers: whole, idle: whole, segments: whole, sealed: whole, score: real?, flaps: whole?, backlog: whole,"
    " next: text, reason: text",
    "answers": "cluster: text, namespace: text, body: bytes, file: text",
    "balance_answers": "cluster: text, broker: text, body: bytes, file: text",
    "subscriptions": "cluster: text, subscription: text, topic: text, partitioned_topic: text, type: text,"
    " consumer_set: whole,"
    " reported_active_consumer: text?, msg_rate_out: real?, msg_throughput_out: real?, msg_backlog_entries: whole?,"
    " unacked_messages: whole?, partition_index: whole",
    "topics": "cluster: text, topic: text, domain: text, namespace: text, partition_index: whole, msg_rate_in: real?,"
    " msg_rate_out: real?, msg_throughput_in: real?, msg_throughput_out: real?, storage_size_bytes: whole?,"
    " backlog_size_bytes: whole?, publishers: whole?, bundle: text?, kind: text, file: text",
    "consumer_sets": "cluster: text, consumer_set: whole, names: texts",
    "consumers": "cluster: text, namespace: text, subscription: text, topic: text, position: whole, consumer: text,"
    " connected_since: text,"
    " unacked_messages: whole?, key_hash_ranges: ranges",
    "bundles": "cluster: text, lower: whole, upper: whole",
    "settings": "cluster: text, name: text, value: text",
    "brokers": "cluster: text, broker: text, version: text",
}
"""What is read of each table: columns and types. ``?``: a row may have none; ``*``: earlier releases lack it."""

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
    columns = (line.partition(": ") for line in _DECLARED[name].split(", "))
    return pa.schema([(column, _TYPES[kind.rstrip("?*")]) for column, _, kind in columns]).empty_table()


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
    for line in _DECLARED[name].split(", "):
        column, _, kind = line.partition(": ")
        if chosen is not None and column not in chosen:
            continue
        count = table.column_names.count(column)
        if count == 0 and kind.endswith("*"):
            continue
        if count != 1:
            return f"has {count or 'no'} columns {column}"
        values = table.column(column)
        if not _is_of(values.type, _TYPES[kind.rstrip("?*")]):
            return f"has {values.type} in the column {column}"
        if values.null_count and "?" not in kind:
            return f"has rows without {column}"
        if pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values), min_count=0).as_py():
            return f"has numbers without a bound in the column {column}"
        if pa.types.is_list(values.type) and _has_gaps(values):
            return f"has lists with nothing in a place in the column {column}"
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
