"""Read consumers of Key_Shared subscriptions from a user's file, with the ranges of STICKY clients."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine.admin.text import malformed
from engine.errors import InputError, Problem
from engine.keyshared.model import Consumer, DeclaredRanges
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.reading.unpacking import read_answer

KeyLists = dict[tuple[str, str], tuple[Consumer, ...]]
"""Consumers in join order by (namespace, subscription); an empty namespace means any. Ids are list positions."""
_EXPECTED_FORM = "a header line with subscription,consumer and, if wanted, namespace and ranges (0-16383 32768-49151)"
_Entry = tuple[tuple[str, str], str, DeclaredRanges | None]


def read_key_consumers(path: Path) -> tuple[KeyLists, list[Row]]:
    """Read lists from CSV (``subscription,consumer[,namespace][,ranges]``) or JSON ``{subscription: [name, …]}``.

    In JSON a consumer may also be ``{"name": …, "ranges": [[start, end], …]}``. Raises ``InputError`` if nothing can
    be read; lines that cannot be understood are returned as rows of the quarantine.
    """
    data, problems = read_answer(str(path), path.name)
    if data is None:
        raise InputError(f"{path} cannot be read: {problems[0].reason}", problems)
    quarantine: list[Row] = [quarantine_row(problem, "consumer_lists") for problem in problems]
    consumers: dict[tuple[str, str], list[Consumer]] = defaultdict(list)
    for entry in _json(data, path.name) if data.lstrip()[:1] == b"{" else _lines(data, path.name):
        if isinstance(entry, Problem):
            quarantine.append(quarantine_row(entry, "consumer_lists", 1, BAD))
        else:
            key, name, ranges = entry
            consumers[key].append(Consumer(len(consumers[key]), name, ranges))
    if not consumers:
        raise InputError(f"{path} has no list of consumers; write {_EXPECTED_FORM}, or JSON", problems)
    return {key: tuple(members) for key, members in consumers.items()}, quarantine


def ranges_of_text(text: str) -> DeclaredRanges | None:
    """Parse ranges as people write them; None if the text has none or is not a list of ranges.

    >>> ranges_of_text("0-16383 32768-49151"), ranges_of_text("7"), ranges_of_text("a")
    (((0, 16383), (32768, 49151)), ((7, 7),), None)
    """
    pieces = text.replace(",", " ").replace(";", " ").split()
    matches = [re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", piece) for piece in pieces]
    if not matches or None in matches:
        return None
    return tuple((int(match[1]), int(match[2] or match[1])) for match in matches if match is not None)


def _lines(data: bytes, source: str) -> Iterator[_Entry | Problem]:
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    if not {"subscription", "consumer"} <= set(reader.fieldnames or ()):
        raise InputError(f"{source} lacks {_EXPECTED_FORM}")
    for row in reader:
        subscription, name = row.get("subscription"), row.get("consumer")
        text = (row.get("ranges") or "").strip()
        ranges = ranges_of_text(text)
        if not subscription or name is None:
            yield Problem(
                source, "$", "names no subscription or no consumer", "this line is set aside", reader.line_num
            )
        elif text and ranges is None:
            yield Problem(source, "$", f"{text[:40]!r} are no ranges", "write 0-16383 32768-49151", reader.line_num)
        else:
            yield ((row.get("namespace") or "").strip(), subscription.strip()), name, ranges


def _json(data: bytes, source: str) -> Iterator[_Entry | Problem]:
    try:
        members = msgspec.json.decode(data, type=dict[str, list[Any]])
    except msgspec.ValidationError as fault:
        raise InputError(f"{source}: {fault}; write {{subscription: [name, …]}}") from fault
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        problem = malformed(data, source, fault)
        raise InputError(str(problem), (problem,)) from fault
    for subscription, consumers in members.items():
        for position, member in enumerate(consumers):
            name, ranges = (member.get("name"), member.get("ranges")) if isinstance(member, dict) else (member, None)
            try:
                pairs = None if ranges is None else tuple((int(start), int(end)) for start, end in ranges)
            except (TypeError, ValueError):
                name = None
            if isinstance(name, str):
                yield ("", subscription), name, pairs
            else:
                where = f"$.{subscription}[{position}]"
                yield Problem(source, where, "is no consumer", "this one is set aside; the rest is kept")
