"""Salvage whole topics from an answer that is not JSON as a whole: cut short, or with objects never closed.

A topic is a name with ``://`` followed by an object that ends before the next such name. One that does not end there is
broken (or is the parent of a partitioned topic, whose partitions are salvaged singly).
"""

from __future__ import annotations

import bisect
import json
import re
from typing import Final

_TOPIC: Final = re.compile(rb'"((?:non-)?persistent://(?:[^"\\]|\\.)+)"\s*:\s*(?=\{)')
_BUNDLE: Final = re.compile(rb'"(0x[0-9a-f]{8}_0x[0-9a-f]{8})"\s*:\s*\{')
_NAMESPACE: Final = re.compile(rb'"([^"\\/]+/[^"\\/]+)"\s*:\s*(?=\{\s*"0x[0-9a-f]{8}_)')
_DECODER: Final = json.JSONDecoder()


def salvage_topics(data: bytes) -> list[tuple[str, bytes]]:
    """Return full name and raw object of each whole topic. O(length).

    >>> salvage_topics(b'{"persistent://t/n/a": {"msgRateIn": 1.0}, "persistent://t/n/b": {"msgRa')
    [('persistent://t/n/a', b'{"msgRateIn": 1.0}')]
    """
    return [(name, raw) for _, name, raw in _pieces(data) if raw is not None]


def salvage_broker_stats(data: bytes) -> tuple[list[tuple[str, str, str, bytes]], list[tuple[str, str, str]]]:
    """Return the whole topics as (namespace, range text, full name, raw object), the broken ones without the object.

    Namespace and bundle are the last ones opened before the topic, even where objects above were never closed.
    O(length).
    """
    namespaces = [(match.start(), match[1].decode("utf-8", "replace")) for match in _NAMESPACE.finditer(data)]
    bundles = [(match.start(), match[1].decode()) for match in _BUNDLE.finditer(data)]
    whole: list[tuple[str, str, str, bytes]] = []
    broken: list[tuple[str, str, str]] = []
    for at, name, raw in _pieces(data):
        namespace, bundle = _last_before(namespaces, at), _last_before(bundles, at)
        if raw is None:
            broken.append((namespace, bundle, name))
        elif namespace and bundle:
            whole.append((namespace, bundle, name, raw))
    return whole, broken


def _last_before(places: list[tuple[int, str]], at: int) -> str:
    index = bisect.bisect(places, (at, "")) - 1
    return places[index][1] if index >= 0 else ""


def _pieces(data: bytes) -> list[tuple[int, str, bytes | None]]:
    starts = list(_TOPIC.finditer(data))
    pieces: list[tuple[int, str, bytes | None]] = []
    for index, match in enumerate(starts):
        stop = starts[index + 1].start() if index + 1 < len(starts) else len(data)
        name = match[1].decode("utf-8", "replace")
        if b"\\" in match[1]:
            try:
                name = str(json.loads(b'"' + match[1] + b'"'))
            except ValueError:
                continue
        text = data[match.end() : stop].decode("utf-8", "replace")
        try:
            _, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            pieces.append((match.start(), name, None))
            continue
        raw = text[:end].encode()
        # Bytes that are not UTF-8 were replaced, so the name or the object differs from the recorded one.
        sound = b'"' + match[1].decode("utf-8", "ignore").encode() + b'"' == data[match.start() : match.end(1) + 1]
        pieces.append((match.start(), name, raw if sound and data.startswith(raw, match.end()) else None))
    return pieces
