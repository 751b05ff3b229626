"""What brokers print of scalable topics: their records, their statistics and those of their segments.

Each answer is read on its own, and a bad segment or subscription loses only itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec
from msgspec import structs

from engine.admin.kinds import AnswerKind
from engine.admin.requests import AdminRequest, nameless_topic
from engine.admin.text import child, plain_json, raw_object, value_problem, without_nulls
from engine.errors import Decoded, Problem
from engine.names import SEGMENT, TopicName, parse_topic_name
from engine.ranges import HashRange
from engine.scalable.buckets import equal_splits
from engine.scalable.layout import Clocks, by_descent, clocks_of
from engine.scalable.model import NOT_SEALED, RING_SIZE, TOPIC_SCHEME, Layout, Segment, SegmentState
from engine.scalable.statistics import (
    AutoScale,
    ListedLayout,
    ListedSegment,
    Number,
    SegmentStatistics,
    TopicStatistics,
    TopicSubscription,
)
from engine.text import listed as listed_text

MAX_SEGMENTS: Final = 1 << 17
"""Segments of one topic that are read: twice as many as there are hashes."""
MAX_BUCKETS: Final = 1 << 22
"""Buckets of all segments of one topic that are read."""
MAX_PLACES: Final = 1 << 20
"""Segments of one topic, times its subscriptions, that are read."""
_SET_ASIDE: Final = "it is set aside"
ScalableAnswer = tuple[AnswerKind, str, bytes, AdminRequest | None]
"""Its kind, the name of its file, its text, and the request that it answers, where that is known."""
_Wire = TypeVar("_Wire")


@dataclass(frozen=True, slots=True)
class ScalableFacts:
    """A scalable topic as far as the answers show it. ``record`` is its layout by the record, which alone has borders.

    ``segments`` are the answers about single segments by id, and ``printed`` the same as brokers print them.
    """

    topic: str
    record: Layout | None = None
    statistics: TopicStatistics | None = None
    segments: Mapping[int, SegmentStatistics] = field(default_factory=dict)
    printed: Mapping[int, bytes] = field(default_factory=dict, repr=False)

    def layout(self) -> Layout | None:
        """The layout by the record, else by the statistics, which say how many buckets and not where they end."""
        if self.record is not None:
            return self.record
        return layout_of(self.statistics.layout) if self.statistics is not None else None

    def clocks(self) -> Clocks:
        """When the topic was split, merged and rebucketed last: as statistics print it, else as the layout shows it."""
        if self.statistics is None:
            layout = self.layout()
            return clocks_of(layout) if layout is not None else Clocks()
        printed = self.statistics.autoScale
        return Clocks(
            milliseconds(printed.lastSplitAt), milliseconds(printed.lastMergeAt), milliseconds(printed.lastRebucketAt)
        )


def milliseconds(text: str | None) -> int | None:
    """A time as brokers print it, in epoch milliseconds; None for another text.

    >>> milliseconds("1970-01-01T00:00:01.234567891Z"), milliseconds("now")
    (1234, None)
    """
    try:
        time = datetime.fromisoformat(text) if text else None
        return int(time.timestamp() * 1000) if time is not None and time.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


class _RangeWire(msgspec.Struct):
    start: int
    end: int


class _SegmentWire(msgspec.Struct):
    segmentId: Number
    hashRange: _RangeWire
    state: str
    parentIds: tuple[Number, ...] = ()
    childIds: tuple[Number, ...] = ()
    createdAtEpoch: Number = 0
    sealedAtEpoch: Number = NOT_SEALED
    createdAtMs: Number = 0
    sealedAtMs: Number = NOT_SEALED
    legacyTopicName: str = ""
    entryBucketSplits: tuple[Number, ...] = ()


def decode_record(data: bytes, source: str = "") -> Decoded[Layout | None]:
    """Decode ``GET /admin/v2/scalable/{tenant}/{namespace}/{topic}``; a segment that cannot be one is set aside."""
    data, repairs = plain_json(data, source)
    members, problems = raw_object(data, source)
    out = [*repairs, *problems]
    if "segments" not in members:
        return Decoded(None, tuple(out), 1)
    listed, more = raw_object(members["segments"], source, "$.segments")
    out += more
    if len(listed) > MAX_SEGMENTS:
        reason = f"{len(listed):,} segments: up to {MAX_SEGMENTS:,} of one topic are read"
        return Decoded(None, (*out, Problem(source, "$.segments", reason, _SET_ASIDE)), 1)
    segments: dict[int, Segment] = {}
    for name, raw in listed.items():
        path = child("$.segments", name)
        wire = _decoded(raw, _SegmentWire, source, path, out)
        segment = _segment(wire) if wire is not None else None
        if isinstance(segment, Segment):
            segments[segment.segment_id] = segment
        elif segment is not None:
            out.append(Problem(source, path, segment, _SET_ASIDE))
    segments, of_themselves = _without_circles(segments)
    if of_themselves:
        out.append(Problem(source, "$.segments", of_themselves, "their parents are left out"))
    epoch = _decoded(members.get("epoch", b"0"), int, source, "$.epoch", out)
    following = _decoded(members.get("nextSegmentId", b"0"), int, source, "$.nextSegmentId", out)
    return Decoded(Layout(segments, epoch or 0, following or 0), tuple(out), len(listed) - len(segments))


def _segment(wire: _SegmentWire) -> Segment | str:
    """The segment, or what is wrong with it."""
    start, end = wire.hashRange.start, wire.hashRange.end
    if start > end:
        return f"its range {start}..{end} ends before it begins"
    if not 0 <= start <= end < RING_SIZE:
        return f"its range {start}..{end} is not within 0..{RING_SIZE - 1}"
    splits = wire.entryBucketSplits
    if any(low >= high for low, high in zip((0, *splits), (*splits, RING_SIZE), strict=True)):
        return f"the borders of its buckets do not ascend within 1..{RING_SIZE - 1}"
    if wire.state not in SegmentState.__members__:
        return f"its state {wire.state[:40]!r} is neither ACTIVE nor SEALED"
    return Segment(
        wire.segmentId,
        HashRange(start, end),
        SegmentState[wire.state],
        wire.parentIds,
        wire.childIds,
        wire.createdAtEpoch,
        wire.sealedAtEpoch,
        wire.createdAtMs,
        wire.sealedAtMs,
        wire.legacyTopicName,
        splits,
    )


def decode_scalable_stats(data: bytes, source: str = "") -> Decoded[TopicStatistics | None]:
    """Decode ``GET …/{topic}/stats`` of a scalable topic."""
    data, repairs = plain_json(data, source)
    out = list(repairs)
    whole = _decoded(data, TopicStatistics, source, "$", [])
    if whole is not None and _too_many(whole.layout.segments, len(whole.subscriptions)) is None:
        of_themselves = _without_circles(layout_of(whole.layout).segments)[1]
        if not of_themselves:
            return Decoded(whole, tuple(out))
    members, problems = raw_object(data, source)
    out += problems
    subscriptions = _each(members.get("subscriptions"), TopicSubscription, source, "$.subscriptions", out)
    below, more = raw_object(members.get("layout", b"{}"), source, "$.layout")
    out += more
    listed = _each(below.get("segments"), ListedSegment, source, "$.layout.segments", out)
    scale = _decoded(members.get("autoScale", b"{}"), AutoScale, source, "$.autoScale", out)
    controller = _decoded(members.get("controllerBroker", b'""'), str, source, "$.controllerBroker", out)
    reason = _too_many(listed, len(subscriptions))
    if reason is None:
        reason = _without_circles(layout_of(ListedLayout(segments=listed)).segments)[1]
    if reason is not None:
        out.append(Problem(source, "$.layout.segments", reason, _SET_ASIDE))
        listed = {}
    if not subscriptions and not listed:
        return Decoded(None, tuple(out), 1)
    rest = TopicStatistics(controller or None, scale or AutoScale(), ListedLayout(segments=listed))
    return Decoded(msgspec.structs.replace(rest, subscriptions=subscriptions), tuple(out))


def _without_circles(segments: Mapping[int, Segment]) -> tuple[dict[int, Segment], str | None]:
    """The segments with parents from which they can descend, and what is wrong with those of others."""
    sound = set(by_descent(Layout(segments)))
    circular = sorted(segments.keys() - sound)
    if not circular:
        return dict(segments), None
    cut = {
        one: structs.replace(segments[one], parent_ids=tuple(sound.intersection(segments[one].parent_ids)))
        for one in circular
    }
    verb = "descends from itself" if len(circular) == 1 else "descend from themselves, or from such"
    return {**segments, **cut}, f"{listed_text([str(one) for one in circular], 8)} {verb}"


def _too_many(listed: Mapping[str, ListedSegment], subscriptions: int) -> str | None:
    """Why the segments that statistics list are not read, None where they are."""
    if len(listed) > MAX_SEGMENTS:
        return f"{len(listed):,} segments: up to {MAX_SEGMENTS:,} of one topic are read"
    if len(listed) * subscriptions > MAX_PLACES:
        places = f"{len(listed):,} segments in {subscriptions:,} subscriptions"
        return f"{places}: up to {MAX_PLACES:,} of both multiplied are read"
    buckets = sum(max(one.entryBuckets, 0) for one in listed.values())
    return f"{buckets:,} buckets: up to {MAX_BUCKETS:,} of one topic are read" if buckets > MAX_BUCKETS else None


def decode_segment_stats(data: bytes, source: str = "") -> Decoded[SegmentStatistics | None]:
    """Decode ``GET …/{topic}/segments/{id}/stats``."""
    data, repairs = plain_json(data, source)
    out = list(repairs)
    read = _decoded(data, SegmentStatistics, source, "$", out)
    return Decoded(read, tuple(out), 0 if read is not None else 1)


def _each(raw: msgspec.Raw | None, kind: type[_Wire], source: str, path: str, out: list[Problem]) -> dict[str, _Wire]:
    members, more = raw_object(raw if raw is not None else b"{}", source, path)
    out += more
    read = {name: _decoded(each, kind, source, child(path, name), out) for name, each in members.items()}
    return {name: each for name, each in read.items() if each is not None}


def _decoded(raw: bytes | msgspec.Raw, kind: type[_Wire], source: str, path: str, out: list[Problem]) -> _Wire | None:
    """A value of one kind; None where it cannot be read, with a problem."""
    try:
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)), kind)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as fault:
        out.append(value_problem(source, path, fault))
        return None


def layout_of(listed: ListedLayout) -> Layout:
    """The layout that statistics list. Epochs of segments are unknown, and buckets are taken for equal ones.

    A migrated segment is listed by its classic name, so its range is the one that all of them have: the whole ring.
    """
    segments: dict[int, Segment] = {}
    for text, one in listed.segments.items():
        if not (text.isascii() and text.isdigit() and len(text) < 19) or one.state not in SegmentState.__members__:
            continue
        found = range_of_segment(one.name)
        segments[int(text)] = Segment(
            int(text),
            found or HashRange(0, RING_SIZE - 1),
            SegmentState[one.state],
            one.parentIds or (),
            one.childIds or (),
            created_at_ms=milliseconds(one.createdAt) or 0,
            sealed_at_ms=milliseconds(one.sealedAt) or NOT_SEALED,
            legacy_topic="" if found is not None else one.name,
            bucket_splits=equal_splits(one.entryBuckets),
        )
    return Layout(segments, listed.epoch, max(segments, default=-1) + 1)


def range_of_segment(name: str) -> HashRange | None:
    """The range in the name of a segment, None for another name.

    >>> str(range_of_segment("segment://t/n/x/0000-7fff-3")), range_of_segment("persistent://t/n/x")
    ('[0,32767]', None)
    """
    read = _segment_name(name)
    if read is None:
        return None
    low, high, _ = read.local_name.rpartition("/")[2].split("-")
    start, end = int(low, 16), int(high, 16)
    return HashRange(start, end) if start <= end < RING_SIZE else None


def topic_of_segment(name: str) -> str | None:
    """The scalable topic that a segment belongs to, None for another name.

    >>> topic_of_segment("segment://t/n/x/0000-7fff-3")
    'topic://t/n/x'
    """
    read = _segment_name(name)
    return f"{TOPIC_SCHEME}{read.namespace}/{read.local_name.rpartition('/')[0]}" if read is not None else None


def _segment_name(name: str) -> TopicName | None:
    read = parse_topic_name(name) if name.startswith(f"{SEGMENT}://") else None
    return read if isinstance(read, TopicName) else None


def read_scalable(answers: Sequence[ScalableAnswer]) -> Decoded[dict[str, ScalableFacts]]:
    """What answers say of scalable topics, by full name; of two about one thing the later counts.

    A topic that no answer names is named by its file.
    """
    topics: dict[str, ScalableFacts] = {}
    problems: list[Problem] = []
    aside = 0
    nameless: list[tuple[str, Layout]] = []
    for kind, name, data, request in answers:
        if request is not None and request.fault:
            continue
        decoded: Decoded[Any]
        if kind is AnswerKind.SCALABLE_RECORD:
            decoded = decode_record(data, name)
        elif kind is AnswerKind.SCALABLE_STATS:
            decoded = decode_scalable_stats(data, name)
        else:
            decoded = decode_segment_stats(data, name)
        problems += decoded.problems
        if decoded.good is None:
            aside += 1
            continue
        topic = request.topic if request is not None and request.topic else _own_name(name, decoded.good)
        if topic is None and isinstance(decoded.good, Layout):
            nameless.append((name, decoded.good))
        elif topic is None and isinstance(decoded.good, SegmentStatistics):
            advice = "keep it in a mirror of the admin interface, as ringside record writes it"
            problems.append(Problem(name, "$", "the answer does not say which segment it is about", advice))
            aside += 1
        else:
            topic = topic or invented_name(name)
            facts = topics.get(topic, ScalableFacts(topic))
            topics[topic] = _with(facts, decoded.good, request.setting if request is not None else "", data)
    for name, layout in nameless:
        alone = [facts for facts in topics.values() if facts.record is None]
        topic = alone[0].topic if len(alone) == 1 else invented_name(name)
        topics[topic] = replace(topics.get(topic, ScalableFacts(topic)), record=layout)
    return Decoded(topics, tuple(problems), aside)


def _with(facts: ScalableFacts, good: object, segment_id: str, data: bytes) -> ScalableFacts:
    if isinstance(good, Layout):
        return replace(facts, record=good)
    if isinstance(good, TopicStatistics):
        return replace(facts, statistics=good)
    assert isinstance(good, SegmentStatistics)
    number = int(segment_id) if segment_id.isascii() and segment_id.isdigit() and len(segment_id) < 19 else -1
    return replace(facts, segments={**facts.segments, number: good}, printed={**facts.printed, number: data})


def _own_name(file_name: str, good: object) -> str | None:
    """The topic that an answer names itself, by its name in an object or by those of its segments."""
    if file_name.startswith(TOPIC_SCHEME) and isinstance(parse_topic_name(file_name), TopicName):
        return file_name
    if not isinstance(good, TopicStatistics):
        return None
    named = (topic_of_segment(one.name) for one in good.layout.segments.values())
    return next((topic for topic in named if topic is not None), None)


def invented_name(file_name: str) -> str:
    """A name for a scalable topic that no answer names.

    >>> invented_name("orders.json")
    'topic://unknown/unknown/orders'
    """
    return f"{TOPIC_SCHEME}{nameless_topic(file_name).partition('://')[2]}"
