"""Keep answers as brokers printed them, by namespace: ``why`` decides causes from them.

Tables have the numbers that jobs count with. A cause depends on far more: cursors, permits, draining slots, the
policies of topics, and all of these at an earlier moment. So the answers themselves are kept, and the job ``lint``
passes all answers of one namespace to the engine's own reader.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from engine.admin.kinds import SCALABLE_KINDS, AnswerKind
from engine.admin.requests import TOPIC_ANSWERS, AdminRequest
from engine.admin.text import raw_object
from engine.errors import Problem
from engine.names import namespace_of
from engine.views.fleet.tables import EVERYWHERE
from pipeline.reading.rows import Rows, quarantine_row

MOST_BYTES: Final = 512 * 1024**2
"""A namespace with a larger answer is not searched for causes: a task could not hold it."""
MOST_NAMESPACES: Final = 4
"""An answer that names more is not kept: only answers of whole brokers can be split by namespace."""
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OF_TOPICS: Final = (
    AnswerKind.TOPIC_STATS,
    AnswerKind.PARTITIONED_STATS,
    AnswerKind.INTERNAL_STATS,
    AnswerKind.POLICIES,
    AnswerKind.TOPIC_LIST,
    AnswerKind.MANY,
    *SCALABLE_KINDS,
)
_BY_TOPIC: Final = (AnswerKind.NAMED_STATS, AnswerKind.NAMED_INTERNAL_STATS)
_OF_ALL: Final = (AnswerKind.RUNTIME_CONFIGURATION, AnswerKind.SCENARIO)


def keep_answer(
    rows: Rows,
    kind: AnswerKind,
    data: bytes,
    name: str,
    request: AdminRequest | None,
    *,
    about: str,
    named: Collection[str],
) -> None:
    """Keep an answer for the namespaces it is about: by its members, its request, its ``about``, or those ``named``.

    O(length).
    """
    if kind is AnswerKind.BROKER_STATS_TOPICS:
        for namespace, raw in _members(data, name).items():
            _keep(rows, namespace, _document({namespace: raw}), name)
    elif kind in _BY_TOPIC:
        by_namespace: dict[str, dict[str, msgspec.Raw]] = {}
        for topic, raw in _members(data, name).items():
            by_namespace.setdefault(namespace_of(topic), {})[topic] = raw
        for namespace, topics in by_namespace.items():
            if "/" in namespace:
                _keep(rows, namespace, _document(topics), name)
    elif kind in _OF_ALL:
        _keep(rows, EVERYWHERE, data, name)
    elif kind in _OF_TOPICS or (request is not None and request.what in TOPIC_ANSWERS):
        known = namespace_of(about) or (request.namespace if request is not None else "") or about
        namespaces = [known] if "/" in known else sorted(named)
        if len(namespaces) <= MOST_NAMESPACES:
            for namespace in namespaces:
                _keep(rows, namespace, data, name)


def _members(data: bytes, name: str) -> dict[str, msgspec.Raw]:
    try:
        return _OBJECT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return dict(raw_object(data, name)[0])


def _document(members: Mapping[str, msgspec.Raw]) -> bytes:
    pairs = (msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in members.items())
    return b"{" + b",".join(pairs) + b"}"


def _keep(rows: Rows, namespace: str, body: bytes, name: str) -> None:
    if len(body) <= MOST_BYTES:
        rows.answers.append((namespace, body, name))
        rows.answer_bytes += len(body)
        return
    reason = f"says more of {namespace} than a task holds, so its causes are not looked for"
    rows.quarantine.append(
        quarantine_row(Problem(name, "$", reason, "ask why of a dump of this namespace alone"), "files")
    )
