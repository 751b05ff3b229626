"""Read consumer lists from a user's file, to answer what would happen if a subscription had these consumers."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from engine.admin.text import child, malformed
from engine.errors import InputError, Problem
from engine.failover.bulk import ConsumerList
from engine.names import refuse_namespace, refuse_subscription
from pipeline.reading.rows import BAD, NOTE, Row, quarantine_row
from pipeline.reading.unpacking import read_answer

Lists = dict[tuple[str, str], ConsumerList]
_LEVEL: Final = re.compile(r"-?\d{1,10}")
_EXPECTED_FORM = "a header line with subscription,consumer and, if wanted, namespace and priority_level"


def read_consumer_lists(path: Path) -> tuple[Lists, list[Row]]:
    """Return lists by (namespace, subscription), an empty namespace meaning any, and rows for the quarantine.

    CSV with a header (``subscription,consumer[,namespace][,priority_level]``), or JSON ``{subscription: [name, …]}``.
    Equal names are kept, as a broker keeps them, and noted in the quarantine. Raises ``InputError`` if nothing can be
    read.
    """
    data, problems = read_answer(str(path), path.name)
    if data is None:
        raise InputError(f"{path} cannot be read: {problems[0].reason}", problems)
    members: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    quarantine: list[Row] = [quarantine_row(problem, "consumer_lists") for problem in problems]
    entries = _json_entries(data, path.name) if data.lstrip()[:1] == b"{" else _csv_entries(data, path.name)
    for entry in entries:
        if isinstance(entry, Problem):
            quarantine.append(quarantine_row(entry, "consumer_lists", 1, BAD))
            continue
        key, name, level = entry
        if any(name == known for known, _ in members[key]):
            reason = f"{name!r} stands twice in the list of {key[1]}; both are kept, as a broker keeps them"
            problem = Problem(path.name, "$", reason, "equal names make one ring: the later one owns every point")
            quarantine.append(quarantine_row(problem, "consumer_lists", 0, NOTE))
        members[key].append((name, level))
    if not members:
        raise InputError(f"{path} has no list of consumers; write {_EXPECTED_FORM}, or JSON", problems)
    lists = {
        key: ConsumerList(tuple(name for name, _ in consumers), tuple(level for _, level in consumers))
        for key, consumers in members.items()
    }
    return lists, quarantine


_Entry = tuple[tuple[str, str], str, int]


def _csv_entries(data: bytes, source: str) -> Iterator[_Entry | Problem]:
    reader = csv.DictReader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    columns = reader.fieldnames or ()
    if not {"subscription", "consumer"} <= set(columns):
        raise InputError(f"{source} lacks {_EXPECTED_FORM}")
    for row in _rows(reader, source):
        line = reader.line_num
        subscription, name = (row.get("subscription") or "").strip(), row.get("consumer")
        level = (row.get("priority_level") or "0").strip()
        namespace = (row.get("namespace") or "").strip()
        refusal = refuse_namespace(namespace) if namespace else None
        if refusal is not None:
            yield Problem(source, "$", refusal.message, "this line is set aside", line)
        elif not subscription or name is None:
            yield Problem(source, "$", "names no subscription or no consumer", "this line is set aside", line)
        elif not _LEVEL.fullmatch(level) or not -(2**31) <= int(level) < 2**31:
            reason = f"priority_level {level[:40]!r} is not a whole number of 32 bits"
            yield Problem(source, "$", reason, "this line is set aside", line)
        else:
            yield (namespace, subscription), name, int(level)


def _rows(reader: csv.DictReader[str], source: str) -> Iterator[dict[str, str | None]]:
    try:
        yield from reader
    except csv.Error as fault:
        raise InputError(f"{source}:{reader.line_num}: {fault}; look what this file really is") from fault


def _json_entries(data: bytes, source: str) -> Iterator[_Entry | Problem]:
    try:
        members = msgspec.json.decode(data, type=dict[str, list[object]])
    except msgspec.ValidationError as fault:
        raise InputError(f"{source}: {fault}; write {{subscription: [name, …]}}") from fault
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        problem = malformed(data, source, fault)
        raise InputError(str(problem), (problem,)) from fault
    for subscription, names in members.items():
        if refuse_subscription(subscription) is not None:
            yield Problem(source, child("$", subscription), "names no subscription", "its list is set aside")
            continue
        for place, name in enumerate(names):
            if isinstance(name, str):
                yield ("", subscription), name, 0
            else:
                where = f"$.{subscription}[{place}]"
                yield Problem(source, where, "is not a name of a consumer", "this one is set aside; the rest is kept")
