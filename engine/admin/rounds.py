"""Several moments in one file: the same command run again and again, or a range that Prometheus answered."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import msgspec

from engine.admin.documents import OF_PARTITION, QUERY, QUERY_WITHIN, opened_file
from engine.admin.files import AnswerFile
from engine.admin.kinds import AnswerKind
from engine.admin.text import plain_json

_BETWEEN_DOCUMENTS: Final = re.compile(rb"\}\r?\n(?:\r?\n)?\{")
"""The end of a document and the beginning of another; within one there is a comma."""
_CONNECTED, _TWICE = b"connectedSince", 2


def rounds_in(file: AnswerFile) -> list[AnswerFile]:
    """Return a text in which the same command was run several times as its answers, each with its ``turn`` from 1.

    Statistics that no command names are of the same topic where they list the same connections. Everything else is the
    file itself. O(length).
    """
    instants = _instants_in(file)
    if len(instants) > 1 or _is_one_document(file.data):
        return instants
    opened = opened_file(file)
    seen: Counter[object] = Counter()
    parts: list[AnswerFile] = []
    named: dict[object, str] = {}
    turn = 1
    for answer in opened.answers:
        request, name = opened.requests.get(answer.name), answer.name
        key: object = None
        if request is not None and request.what:
            key = request.what, request.topic, request.namespace
        elif (
            answer.kind is AnswerKind.TOPIC_STATS
            and OF_PARTITION not in name  # two partitions may have the same connections
            and (key := _connections(answer.data)) is not None
        ):
            name = named.setdefault(key, name)
        seen[key] += key is not None
        if key is not None or answer.kind is not AnswerKind.INTERNAL_STATS:
            turn = max(1, seen[key])  # internal statistics go with those before them
        parts.append(AnswerFile(name, answer.data, request, turn))
    return parts if any(count > 1 for count in seen.values()) else [file]


def _is_one_document(data: bytes) -> bool:
    """Whether a text cannot have several answers to the same command."""
    begins_as_json = data[:64].lstrip()[:1] in (b"{", b"[", b"")
    if begins_as_json:
        return _BETWEEN_DOCUMENTS.search(data) is None
    return b"pulsar" not in data and data.count(_CONNECTED) < _TWICE


def _connections(data: bytes) -> frozenset[tuple[str, str, str]] | None:
    """The consumers of statistics by subscription, address and time of connecting; None without any."""
    try:
        subscriptions = msgspec.json.decode(data, type=_Connections).subscriptions
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = frozenset(
        (name, consumer.address, consumer.connectedSince)
        for name, subscription in subscriptions.items()
        for consumer in subscription.consumers
        if consumer.address and consumer.connectedSince
    )
    return found or None


class _Connection(msgspec.Struct):
    address: str = ""
    connectedSince: str = ""


class _Connected(msgspec.Struct):
    consumers: list[_Connection] = []


class _Connections(msgspec.Struct):
    subscriptions: dict[str, _Connected] = {}


def _instants_in(file: AnswerFile) -> list[AnswerFile]:
    """A range that Prometheus answered as its first and last instant; everything else is the file itself."""
    from engine.reading.metrics_text import instants, query_of_table

    data = query_of_table(file.data) or file.data
    if QUERY not in data[:QUERY_WITHIN]:
        return [file]
    found = instants(plain_json(data, file.name)[0])
    return [AnswerFile(f"{time}/{file.name}", data) for time, data in found] or [file]
