"""Recognise the kind of a broker answer by its content, or by its file name where the content is ambiguous."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

import msgspec

from engine.admin.text import plain_json
from engine.balance.settings import LOAD_SETTING_DEFAULTS
from engine.bundles.boundaries import BundleRange, parse_range
from engine.config import DEFAULTS

_RANGE: Final = re.compile(r"0x[0-9a-fA-F]{8}_0x[0-9a-fA-F]{8}")
_INNER: Final = re.compile(rb"\s*(?:\{|\[\s*[^\]\s])")
_LIST: Final = re.compile(rb"\[\s*[\"\]{\[]")
_FULL_BUNDLE: Final = re.compile(r"[^/]+/[^/]+/0x[0-9a-fA-F]{8}_0x[0-9a-fA-F]{8}")
_IS_NAME: Final = re.compile(rb'\s*"[a-z-]{3,20}://')
_IS_ADDRESS: Final = re.compile(rb'\s*"(?:pulsar|http)[+a-z]*://')
_RAW_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


class AnswerKind(Enum):
    """The kinds of answers. ``MANY`` is an object of name -> answer; ``OTHER`` is JSON of an unknown form."""

    TOPIC_STATS = "topic-stats"
    PARTITIONED_STATS = "partitioned-stats"
    NAMED_STATS = "named-stats"
    SCALABLE_RECORD = "scalable-record"
    SCALABLE_STATS = "scalable-stats"
    SEGMENT_STATS = "segment-stats"
    BROKER_STATS_TOPICS = "broker-stats-topics"
    BUNDLES = "bundles"
    POLICIES = "policies"
    HASH_POSITIONS = "topicHashPositions"
    TOPIC_LIST = "topic-list"
    RUNTIME_CONFIGURATION = "runtime-configuration"
    LOAD_REPORT = "load-report"
    LOOKUP = "lookup"
    NAMED_LOOKUPS = "named-lookups"
    OWNED_NAMESPACES = "ownedNamespaces"
    INTERNAL_STATS = "internalStats"
    NAMED_INTERNAL_STATS = "named-internalStats"
    ERROR = "error"
    SCENARIO = "scenario"
    METRICS = "metrics"
    MANY = "many"
    NO_JSON = "no-json"
    OTHER = "other"


SCALABLE_KINDS: Final = (AnswerKind.SCALABLE_RECORD, AnswerKind.SCALABLE_STATS, AnswerKind.SEGMENT_STATS)
"""Answers about scalable topics."""

# Members that only one kind of answer has, the most specific first; all members of a row are needed.
_SIGNS: Final[tuple[tuple[AnswerKind, tuple[str, ...]], ...]] = (
    (AnswerKind.SCENARIO, ("scenario", "steps")),
    (AnswerKind.SCENARIO, ("steps", "broker_settings")),
    (AnswerKind.BUNDLES, ("boundaries",)),
    (AnswerKind.HASH_POSITIONS, ("topicHashPositions",)),
    (AnswerKind.LOAD_REPORT, ("loadReportType",)),
    (AnswerKind.LOAD_REPORT, ("pulsarServiceUrl",)),
    (AnswerKind.LOAD_REPORT, ("systemResourceUsage",)),
    (AnswerKind.LOAD_REPORT, ("lastStats",)),
    (AnswerKind.POLICIES, ("bundles", "replication_clusters")),
    (AnswerKind.POLICIES, ("bundles", "auth_policies")),
    (AnswerKind.INTERNAL_STATS, ("entriesAddedCounter",)),
    (AnswerKind.INTERNAL_STATS, ("cursors", "ledgers")),
    (AnswerKind.LOOKUP, ("brokerUrl",)),
    (AnswerKind.PARTITIONED_STATS, ("partitions", "subscriptions")),
    (AnswerKind.PARTITIONED_STATS, ("partitions", "metadata")),
    (AnswerKind.SCALABLE_RECORD, ("nextSegmentId", "segments")),
    (AnswerKind.SCALABLE_STATS, ("layout", "subscriptions")),
    (AnswerKind.SCALABLE_STATS, ("layout", "autoScale")),
    (AnswerKind.SEGMENT_STATS, ("terminated", "producers")),
    (AnswerKind.TOPIC_STATS, ("subscriptions",)),
    (AnswerKind.TOPIC_STATS, ("msgRateIn", "publishers")),
    (AnswerKind.TOPIC_STATS, ("replication",)),
)


def recognise(name: str, data: bytes) -> AnswerKind:
    """Return the kind of one answer; ``name`` is its file name. Text that is not JSON is recognised by its beginning.

    O(length), without decoding values.
    """
    data, _ = plain_json(data, name)
    return sound_kind(name, data) or kind_by_beginning(name, data)


def sound_kind(name: str, data: bytes) -> AnswerKind | None:
    """Return the kind of a list or an object in plain JSON; None for a text that is neither, or is not JSON."""
    text = data.lstrip()
    if text[:1] == b"[":
        try:
            names = _RAW_LIST.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        is_list = not names or any(_IS_NAME.match(bytes(item)) for item in names)
        return AnswerKind.TOPIC_LIST if is_list else AnswerKind.OTHER
    if text[:1] != b"{":
        return None
    try:
        members = _RAW_OBJECT.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not members:
        return AnswerKind.BROKER_STATS_TOPICS if "broker-stats" in name else AnswerKind.OTHER
    for kind, signs in _SIGNS:
        if all(sign in members for sign in signs):
            if kind is AnswerKind.PARTITIONED_STATS and _is_internal(_below(members["partitions"])):
                return AnswerKind.NAMED_INTERNAL_STATS
            return kind
    return _by_names(members)


def _by_names(members: dict[str, msgspec.Raw]) -> AnswerKind:
    names = list(members)
    if set(names) <= {"reason"}:
        return AnswerKind.ERROR
    if all(_FULL_BUNDLE.fullmatch(name) for name in names):
        return AnswerKind.OWNED_NAMESPACES
    if all(bytes(raw).lstrip()[:1] == b"{" for raw in members.values()):
        if all(name.startswith("topic://") for name in names):
            return AnswerKind.MANY
        if any("://" in name for name in names):
            return AnswerKind.NAMED_INTERNAL_STATS if _is_internal(members) else AnswerKind.NAMED_STATS
        below = [_names_below(raw) for raw in members.values()]
        if all("/" in name for name in names) and all(all(map(_RANGE.fullmatch, inner)) for inner in below):
            return AnswerKind.BROKER_STATS_TOPICS
    if all("://" in name for name in names) and all(_IS_ADDRESS.match(bytes(raw)) for raw in members.values()):
        return AnswerKind.NAMED_LOOKUPS
    if any(name in DEFAULTS or name in LOAD_SETTING_DEFAULTS for name in names):
        return AnswerKind.RUNTIME_CONFIGURATION
    # An empty list is a list of topics where somebody asked for one, and any list of nothing elsewhere.
    inner = {recognise(name, bytes(raw)) for name, raw in members.items() if _INNER.match(bytes(raw)) is not None}
    return AnswerKind.MANY if inner - {AnswerKind.OTHER, AnswerKind.ERROR} else AnswerKind.OTHER


def _names_below(raw: msgspec.Raw) -> list[str]:
    return list(_below(raw))


def _below(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        return _RAW_OBJECT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def is_scalar(data: bytes) -> bool:
    """Whether a text is a JSON number, text, true, false or null, or the range of a bundle.

    >>> [is_scalar(text) for text in (b" 50000", b"0x40000000_0x80000000", b"true", b"not found", b"{}", b"")]
    [True, True, True, False, False, False]
    """
    text = data.decode("utf-8", "replace").strip()
    if isinstance(parse_range(text), BundleRange):
        return True
    try:
        return not isinstance(msgspec.json.decode(text), dict | list)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def _is_internal(members: dict[str, msgspec.Raw]) -> bool:
    """Whether the members are internal statistics, which begin with the count of added entries."""
    first = next(iter(members.values()), None)
    return first is not None and b'"entriesAddedCounter"' in bytes(first)[:512]


def kind_by_beginning(name: str, data: bytes) -> AnswerKind:
    """Return the kind of a damaged text, from which topics can still be salvaged."""
    text = data.lstrip()
    if _LIST.match(text):
        return AnswerKind.TOPIC_LIST if b"persistent://" in text else AnswerKind.OTHER
    if text[:1] != b"{":
        return AnswerKind.NO_JSON
    head = text[:4096]
    if re.search(rb'^\{\s*"[^"/:]+/[^"/:]+"\s*:\s*\{', head):
        return AnswerKind.BROKER_STATS_TOPICS
    if re.match(rb'\{\s*"(non-)?persistent://', head):
        return AnswerKind.NAMED_STATS
    if b'"boundaries"' in head and b'"auth_policies"' not in head:
        return AnswerKind.BUNDLES
    if re.match(rb'\{\s*"msgRateIn"', head):
        partitioned = "partitioned" in name or b'"partitions"' in text
        return AnswerKind.PARTITIONED_STATS if partitioned else AnswerKind.TOPIC_STATS
    return AnswerKind.NO_JSON
