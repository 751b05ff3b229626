"""Decode ``GET …/internalStats``: how far a topic is written, and each subscription has read."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from engine.admin.facts import Count, Counter, CursorFacts, LedgerFacts, Position
from engine.admin.text import child, malformed, plain_json, raw_object, value_problem
from engine.errors import Decoded, Problem

_POSITION: Final = re.compile(r"(-?\d{1,19}):(-?\d{1,19})")


class _CursorWire(msgspec.Struct):
    markDeletePosition: str = ""
    readPosition: str = ""
    subscriptionHavePendingRead: bool | None = None
    waitingReadOp: bool | None = None
    pendingReadOps: Count | None = None
    numberOfEntriesSinceFirstNotAckedMessage: Count | None = None


class _StoredWire(msgspec.Struct):
    ledgerId: Counter
    entries: Count = 0


class _LedgerWire(msgspec.Struct):
    lastConfirmedEntry: str = ""
    cursors: dict[str, _CursorWire] = {}
    ledgers: msgspec.Raw = msgspec.Raw(b"[]")


CURSOR_MEMBERS: Final = (
    "entriesAddedCounter",
    *(
        member.encode_name
        for wire in (_CursorWire, _StoredWire, _LedgerWire)
        for member in msgspec.structs.fields(wire)
    ),
)
"""The members of internal statistics that are read, and the one that they are recognised by."""
_LEDGERS: Final = msgspec.json.Decoder(_LedgerWire)
_STORED: Final = msgspec.json.Decoder(list[_StoredWire])


def decode_internal_stats(data: bytes, source: str = "", path: str = "$") -> Decoded[LedgerFacts | None]:
    """Decode the answer about one topic, which does not name the topic. O(length)."""
    data, problems = plain_json(data, source)
    try:
        wire = _LEDGERS.decode(data)
    except msgspec.ValidationError as fault:
        return Decoded(None, (*problems, value_problem(source, path, fault)), 1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return Decoded(None, (*problems, malformed(data, source, fault, path)), 1)
    cursors = {
        name: CursorFacts(
            position(cursor.markDeletePosition),
            position(cursor.readPosition),
            cursor.subscriptionHavePendingRead,
            cursor.waitingReadOp,
            cursor.pendingReadOps,
            cursor.numberOfEntriesSinceFirstNotAckedMessage,
        )
        for name, cursor in wire.cursors.items()
    }
    return Decoded(LedgerFacts(position(wire.lastConfirmedEntry), cursors, _stored(wire.ledgers)), problems)


def _stored(ledgers: msgspec.Raw) -> dict[int, int]:
    """Entries by ledger; none of them where a part of the list cannot be read, for they are added up."""
    try:
        return {ledger.ledgerId: ledger.entries for ledger in _STORED.decode(ledgers)}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def decode_named_internal_stats(data: bytes, source: str = "", path: str = "$") -> Decoded[dict[str, LedgerFacts]]:
    """Decode an object of full topic name -> answer, or the answer about a partitioned topic. O(length)."""
    data, problems = plain_json(data, source)
    members, more = raw_object(data, source, path)
    faults: list[Problem] = [*problems, *more]
    if "partitions" in members:
        path = child(path, "partitions")
        members, more = raw_object(members["partitions"], source, path)
        faults += more
    good: dict[str, LedgerFacts] = {}
    for name, raw in members.items():
        topic = decode_internal_stats(bytes(raw), source, child(path, name))
        faults += topic.problems
        if topic.good is not None:
            good[name] = topic.good
    return Decoded(good, tuple(faults))


def position(text: str) -> Position | None:
    """Read ``ledger:entry``; None for anything else.

    >>> position("11:-1"), position("")
    (Position(ledger=11, entry=-1), None)
    """
    match = _POSITION.fullmatch(text)
    return Position(int(match[1]), int(match[2])) if match else None
