"""The list of the brokers of a cluster, which only its file's name tells from other lists."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_BROKER_ID: Final = re.compile(r"[^\s/]{1,300}:\d{1,5}")


def living_brokers(name: str, data: bytes) -> frozenset[str] | None:
    """The brokers in the answer of ``GET /admin/v2/brokers/CLUSTER``; None for another answer.

    >>> sorted(living_brokers("02-brokers-a.json", b'["b-1:8080", "b-2:8080"]'))
    ['b-1:8080', 'b-2:8080']
    """
    if "brokers" not in name or data.lstrip()[:1] != b"[":
        return None
    try:
        listed = msgspec.json.decode(data, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return frozenset(listed) if listed and all(map(_BROKER_ID.fullmatch, listed)) else None
