"""Read consumers of subscriptions from a user's file, to answer what would happen with these.

The file is CSV with a header (``subscription,consumer``, and ``namespace`` if wanted), or JSON with a list of names for
each subscription; a consumer may also be ``{"name": …}``. Consumers of Failover subscriptions may have a
``priority_level``, those of Key_Shared ones the ``ranges`` of a STICKY client: ``0-16383 32768-49151``, in JSON
``[[0, 16383], …]``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.admin.text import SET_ASIDE, child, malformed
from engine.errors import InputError, Problem
from engine.failover.bulk import ConsumerList
from engine.keyshared.model import Consumer, DeclaredRanges
from engine.names import refuse_namespace, refuse_subscription
from engine.views.fleet.tables import SUBSCRIPTIONS
from pipeline.reading.files import read_answer
from pipeline.reading.rows import BAD, NOTE, Row, quarantine_row
from pipeline.storage import for_arrow
from pipeline.tables import Tables

Key = tuple[str, str]
"""Namespace and subscription; an empty namespace means any."""
KeyLists = dict[Key, tuple[Consumer, ...]]
"""Consumers in join order; ids are list positions."""
_Detail = TypeVar("_Detail")
_LEVEL: Final = re.compile(r"-?\d{1,10}")
_RANGE: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def read_consumer_lists(path: Path) -> tuple[dict[Key, ConsumerList], list[Row]]:
    """Return the lists of a file for Failover subscriptions, and rows for the quarantine.

    Equal names are kept, as a broker keeps them, and noted in the quarantine. Raises ``InputError`` if nothing can be
    read.
    """
    members, quarantine = _members(path, "priority_level", _level_of)
    for (_, subscription), consumers in members.items():
        names: set[str] = set()
        for name, _ in consumers:
            if name in names:
                reason = f"{name!r} is listed twice in {subscription}; both are kept, as a broker keeps them"
                problem = Problem(path.name, "$", reason, "equal names make one ring: the later one owns every point")
                quarantine.append(quarantine_row(problem, "consumer_lists", 0, NOTE))
            names.add(name)
    lists = {key: ConsumerList(*zip(*consumers, strict=True)) for key, consumers in members.items()}
    return lists, quarantine


def read_key_consumers(path: Path) -> tuple[KeyLists, list[Row]]:
    """Return the lists of a file for Key_Shared subscriptions, and rows for the quarantine.

    Raises ``InputError`` if nothing can be read.
    """
    members, quarantine = _members(path, "ranges", _ranges_of)
    lists = {
        key: tuple(Consumer(place, name, ranges) for place, (name, ranges) in enumerate(consumers))
        for key, consumers in members.items()
    }
    return lists, quarantine


def _level_of(value: object) -> int:
    """A priority level, 0 without one. Raises ``ValueError`` with a reason."""
    text = str(value or "0")
    if not _LEVEL.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError(f"priority_level {text[:40]!r} is not a whole number of 32 bits")
    return int(text)


def _ranges_of(value: object) -> DeclaredRanges | None:
    """Ranges as people write them, or pairs of numbers; None without any. Raises ``ValueError`` with a reason.

    >>> _ranges_of("0-16383 32768-49151"), _ranges_of("7"), _ranges_of([[0, 9]]), _ranges_of("")
    (((0, 16383), (32768, 49151)), ((7, 7),), ((0, 9),), None)
    """
    if value is None or value == "":
        return None
    if isinstance(value, list):
        try:
            return tuple((int(start), int(end)) for start, end in value)
        except (TypeError, ValueError, OverflowError) as fault:
            raise ValueError(f"{value!r:.40} is not a list of ranges") from fault
    pieces = str(value).replace(",", " ").replace(";", " ").split()
    matches = [match for piece in pieces if (match := _RANGE.fullmatch(piece)) is not None]
    if not matches or len(matches) < len(pieces):
        raise ValueError(f"{value!r:.40} is not a list of ranges like 0-16383 32768-49151")
    return tuple((int(match[1]), int(match[2] or match[1])) for match in matches)


class _Entry(NamedTuple):
    """One consumer as a file lists it, not checked yet; ``line`` and ``path`` are its place."""

    namespace: str
    subscription: str
    name: object
    detail: object
    line: int | None = None
    path: str = "$"


def _members(
    path: Path, column: str, detail: Callable[[object], _Detail]
) -> tuple[dict[Key, list[tuple[str, _Detail]]], list[Row]]:
    """The consumers of each list with what ``column`` says of them."""
    data, problems = read_answer(path, path.name)
    if data is None:
        raise InputError(f"{path} cannot be read: {problems[0].reason}", problems)
    members: dict[Key, list[tuple[str, _Detail]]] = defaultdict(list)
    quarantine: list[Row] = [quarantine_row(problem, "consumer_lists") for problem in problems]
    read = _json_entries if data.lstrip()[:1] == b"{" else _csv_entries
    for entry in read(data, path.name, column):
        try:
            if entry.namespace and (refusal := refuse_namespace(entry.namespace)) is not None:
                raise ValueError(refusal.message)
            if not isinstance(entry.name, str):
                raise ValueError("names no subscription or no consumer")
            consumer = entry.name, detail(entry.detail)  # first: a list of which nothing is sound is no list
            members[entry.namespace, entry.subscription].append(consumer)
        except ValueError as fault:
            problem = Problem(path.name, entry.path, str(fault), SET_ASIDE, entry.line)
            quarantine.append(quarantine_row(problem, "consumer_lists", 1, BAD))
    if not members:
        raise InputError(f"{path} has no list of consumers; write {_expected(column)}, or JSON", problems)
    return members, quarantine


def _expected(column: str) -> str:
    return f"a header line with subscription,consumer and, if wanted, namespace and {column}"


def _csv_entries(data: bytes, source: str, column: str) -> Iterator[_Entry]:
    reader = csv.DictReader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    if not {"subscription", "consumer"} <= set(reader.fieldnames or ()):
        raise InputError(f"{source} lacks {_expected(column)}")
    try:
        for row in reader:
            namespace, subscription, about = (
                (row.get(name) or "").strip() for name in ("namespace", "subscription", column)
            )
            yield _Entry(namespace, subscription, row.get("consumer") if subscription else None, about, reader.line_num)
    except csv.Error as fault:
        raise InputError(f"{source}:{reader.line_num}: {fault}; check what this file really is") from fault


def _json_entries(data: bytes, source: str, column: str) -> Iterator[_Entry]:
    try:
        lists = msgspec.json.decode(data, type=dict[str, list[object]])
    except msgspec.ValidationError as fault:
        raise InputError(f"{source}: {fault}; write {{subscription: [name, …]}}") from fault
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        problem = malformed(data, source, fault)
        raise InputError(str(problem), (problem,)) from fault
    for subscription, consumers in lists.items():
        # Events of a trace need no subscription: their consumers have an empty one.
        if subscription and refuse_subscription(subscription) is not None:
            yield _Entry("", subscription, None, None, path=child("$", subscription))
            continue
        for place, consumer in enumerate(consumers):
            about = consumer if isinstance(consumer, dict) else {"name": consumer}
            where = f"{child('$', subscription)}[{place}]"
            yield _Entry("", subscription, about.get("name"), about.get(column), path=where)


_KEY_SHARED: Final = "Key_Shared"


def has_key_shared(tables: Tables) -> bool:
    """Whether an import has a Key_Shared subscription.

    Mostly the footers say so; else reads batch by batch up to the first one.
    """
    return any(_has_key_shared(pq.ParquetFile(for_arrow(part))) for part in tables.parts(SUBSCRIPTIONS))


def _has_key_shared(part: pq.ParquetFile) -> bool:
    place = part.schema.names.index("type")
    unsure = []
    for group in range(part.metadata.num_row_groups):
        known = part.metadata.row_group(group).column(place).statistics
        if known is None or not known.has_min_max or known.min < _KEY_SHARED < known.max:
            unsure.append(group)
        elif _KEY_SHARED in (known.min, known.max):
            return True
    batches = part.iter_batches(columns=["type"], row_groups=unsure)
    return any(pc.any(pc.equal(batch["type"], _KEY_SHARED)).as_py() for batch in batches)
