"""Scalable topics: printed layouts, and who has which segment, beside what the rules make of the same answers.

The statistics of a topic print for each consumer what its controller deals to it and what it is attached to, in one
list; only the statistics of the segments say which of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Final

from msgspec.structs import replace

from engine.admin.kinds import AnswerKind
from engine.admin.scalable import ScalableAnswer, ScalableFacts, layout_of, read_scalable
from engine.admin.snapshot import scalar_texts
from engine.errors import Problem, Rejection
from engine.ranges import HashRange
from engine.scalable.buckets import equal_splits
from engine.scalable.layout import first_layout, merge, split
from engine.scalable.model import RING_SIZE, Layout, Segment, SegmentState, backing_topic
from engine.scalable.settings import MAX_BUCKETS, max_buckets
from engine.scalable.statistics import STREAM, ListedSegment, SegmentStatistics, SegmentSubscription, bare_name
from engine.verify.answers import Answers
from engine.verify.report import FactKind, Ledger
from engine.views.scalable.view import Dealt, dealt_subscriptions

KINDS: Final = (AnswerKind.SCALABLE_RECORD, AnswerKind.SCALABLE_STATS, AnswerKind.SEGMENT_STATS)
TILES_RULE: Final = "active segments have every hash once"
BORDERS_RULE: Final = "N buckets end at every N-th of the ring"
FIRST_RULE: Final = "first segments are equal tiles, and the last has the rest"
SPLIT_RULE: Final = "a split halves the range and the buckets"
MERGE_RULE: Final = "a merge has both ranges, and the buckets of both"
REBUCKET_RULE: Final = "a rebucket keeps the range"
MIGRATED_RULE: Final = "a migrated topic has a tile for each partition"
LISTED_RULE: Final = "its record, at the same epoch"
DEALT_RULE: Final = "segments by range and id, in turn to consumers by name; shared by buckets where these are more"
QUEUE_RULE: Final = "a QUEUE consumer is attached to every active segment"
WAITS_RULE: Final = "a segment waits while one it descends from has a backlog"
ATTACHED_RULE: Final = "an owner is attached alone (Exclusive), several share by buckets (Key_Shared)"
OTHER_EPOCH: Final = "records and statistics of scalable topics of different epochs"
PRUNED: Final = "segments made of others that are not listed any more"
HANDED_OVER: Final = "segments that are being handed over: old and new consumers are printed"
NOT_ATTACHED: Final = "segments that a consumer is not attached to yet"
NO_RECORD: Final = "scalable topics without record and statistics"


def compare_scalable(answers: Answers) -> tuple[Ledger, tuple[Problem, ...]]:
    """The facts about scalable topics, moment by moment, and what could not be read of them.

    They do not depend on the release: those that have scalable topics have one form of the rules.
    """
    ledger, problems = Ledger(), list[Problem]()
    most = max_buckets(None)
    for answer in answers.answers:
        if answer.kind is AnswerKind.RUNTIME_CONFIGURATION:
            most = max_buckets(scalar_texts(answer.data).get(MAX_BUCKETS))
    for moment, of_moment in answers.by_moment(KINDS).items():
        ledger.moment = moment
        wires = [(one.kind, one.file, one.data, answers.naming.request(one.file)) for one in of_moment]
        read = read_scalable(wires)
        problems += read.problems
        for topic, facts in sorted(read.good.items()):
            ledger.file = _file_of(topic, wires)
            compare_topic(ledger, facts, most)
    return ledger, tuple(problems)


def _file_of(topic: str, wires: Sequence[ScalableAnswer]) -> str:
    """The file with the statistics of a topic, else that with its record; "" where several could be."""
    for kind in (AnswerKind.SCALABLE_STATS, AnswerKind.SCALABLE_RECORD):
        of_kind = [
            (name, request.topic if request is not None else "") for own, name, _, request in wires if own is kind
        ]
        names = [name for name, named in of_kind if named == topic] or [name for name, named in of_kind if not named]
        if len(names) == 1:
            return names[0]
    return ""


def compare_topic(ledger: Ledger, facts: ScalableFacts, most_buckets: int) -> None:
    """Compare the layout of one topic with itself and with its statistics, then its subscriptions. O(n log n)."""
    layout = facts.layout()
    if layout is None:
        ledger.skip(NO_RECORD)
        return
    compare_layout(ledger, facts.topic, layout, most_buckets, has_borders=facts.record is not None)
    statistics = facts.statistics
    if statistics is None:
        return
    if facts.record is not None:
        if statistics.layout.epoch != facts.record.epoch:
            ledger.skip(OTHER_EPOCH)
            layout = layout_of(statistics.layout)
        else:
            _compare_listed(ledger, facts.topic, facts.record, statistics.layout.segments)
    for subscription in dealt_subscriptions(statistics, layout):
        _compare_subscription(ledger, facts, layout, subscription)


# Layouts


def compare_layout(ledger: Ledger, topic: str, layout: Layout, most_buckets: int, *, has_borders: bool) -> None:
    """Compare that the active segments tile the ring, and that every segment is what its parents become."""
    ledger.compare(FactKind.SEGMENT_TILES, topic, tuple(_faults(layout.active())), (), TILES_RULE)
    for segment in layout.segments.values() if has_borders else ():
        recorded, modelled = segment.bucket_splits, equal_splits(segment.buckets)
        sides: tuple[object, object] = len(recorded), len(modelled)
        if recorded != modelled:
            pairs = enumerate(zip_longest(recorded, modelled))
            sides = next((f"{at}: {one}", f"{at}: {other}") for at, (one, other) in pairs if one != other)
        ledger.compare(FactKind.BUCKET_BORDERS, _segment_subject(topic, segment.segment_id), *sides, BORDERS_RULE)
    first = [one for one in layout.segments.values() if not one.parent_ids and not one.legacy_topic]
    if has_borders and _are_first(first):
        made = first_layout(len(first))
        assert isinstance(made, Layout)
        sides = _ranges(first), _ranges(made.segments.values())
        ledger.compare(FactKind.SEGMENT_DESCENT, topic, *sides, FIRST_RULE)
    families: dict[tuple[int, ...], list[Segment]] = {}
    for segment in layout.segments.values():
        if segment.parent_ids:
            families.setdefault(segment.parent_ids, []).append(segment)
    for parent_ids, children in families.items():
        parents = [layout.segments[one] for one in parent_ids if one in layout.segments]
        if len(parents) < len(parent_ids):
            ledger.skip(PRUNED, len(children))
        else:
            _compare_family(ledger, topic, parents, children, most_buckets)


def _faults(active: Sequence[Segment]) -> Iterator[str]:
    """The holes and overlaps of active segments by place."""
    borders = ((-1, -1), *((one.hash_range.start, one.hash_range.end) for one in active), (RING_SIZE, RING_SIZE))
    for (_, end), (start, _) in pairwise(borders):
        if start > end + 1:
            yield f"nobody has {end + 1:04x}-{start - 1:04x}"
        elif start <= end:
            yield f"two have {start:04x}"


def _are_first(segments: Sequence[Segment]) -> bool:
    """Whether these are all the segments that a topic began with: their ids have no gap, and their ranges none."""
    ids = sorted(one.segment_id for one in segments)
    by_id = sorted(segments, key=lambda one: one.segment_id)
    ends = [one.hash_range for one in by_id]
    return (
        bool(segments)
        and ids == list(range(len(ids)))
        and all(one.created_at_epoch == 0 for one in segments)
        and (ends[0].start, ends[-1].end) == (0, RING_SIZE - 1)
    )


def _compare_family(
    ledger: Ledger, topic: str, parents: Sequence[Segment], children: Sequence[Segment], most_buckets: int
) -> None:
    """Compare the children of segments with what a split, a merge, a rebucket or a migration makes of them."""
    children = sorted(children, key=lambda child: child.segment_id)
    before = Layout(
        {one.segment_id: replace(one, state=SegmentState.ACTIVE, child_ids=()) for one in parents},
        next_segment_id=children[0].segment_id,
    )
    subject = _segment_subject(topic, *(parent.segment_id for parent in parents))
    one, other = parents[0], parents[-1]
    if all(parent.legacy_topic for parent in parents):
        tiles = first_layout(len(children))
        made = tiles.segments.values() if isinstance(tiles, Layout) else ()
        ledger.compare(FactKind.SEGMENT_DESCENT, subject, _ranges(children), _ranges(made), MIGRATED_RULE)
    elif len(parents) == 1 and len(children) == 1:
        own, its = children[0].hash_range, one.hash_range
        if own != its and own.start <= its.start and its.end <= own.end:
            ledger.skip(PRUNED)  # a merge of which one parent is gone
        else:
            ledger.compare(FactKind.SEGMENT_DESCENT, subject, _ranges(children), _ranges(parents), REBUCKET_RULE)
    else:
        alone = len(parents) == 1
        after = (
            split(before, one.segment_id)
            if alone
            else merge(before, one.segment_id, other.segment_id, max_buckets=most_buckets)
        )
        modelled = after.message if isinstance(after, Rejection) else _texts(after.active())
        rule = SPLIT_RULE if alone else MERGE_RULE
        ledger.compare(FactKind.SEGMENT_DESCENT, subject, _texts(children), modelled, rule)


def _ranges(segments: Iterable[Segment]) -> tuple[str, ...]:
    return tuple(_range_text(one.hash_range) for one in segments)


def _texts(segments: Sequence[Segment]) -> tuple[str, ...]:
    return tuple(f"{one.segment_id}: {_range_text(one.hash_range)}, buckets {one.buckets}" for one in segments)


def _range_text(piece: HashRange) -> str:
    return f"{piece.start:04x}-{piece.end:04x}"


def _segment_subject(topic: str, *segment_ids: int) -> str:
    return f"{topic} / {', '.join(map(str, segment_ids))}"


def _compare_listed(ledger: Ledger, topic: str, record: Layout, listed: Mapping[str, ListedSegment]) -> None:
    """Compare the segments that statistics list with the record."""
    for name in dict.fromkeys((*map(str, record.segments), *listed)):
        segment = record.segments.get(int(name)) if name.isascii() and name.isdigit() and len(name) < 19 else None
        printed = listed.get(name)
        ledger.compare(
            FactKind.SEGMENT_LISTED,
            f"{topic} / {name}",
            (printed.name, printed.state, *_family(printed.parentIds, printed.childIds), printed.entryBuckets)
            if printed is not None
            else None,
            (
                backing_topic(topic, segment),
                segment.state.value,
                *_family(segment.parent_ids, segment.child_ids),
                segment.buckets,
            )
            if segment is not None
            else None,
            LISTED_RULE,
        )


def _family(parents: Sequence[int] | None, children: Sequence[int] | None) -> tuple[object, object]:
    return tuple(parents or ()), tuple(children or ())


# Subscriptions


def _compare_subscription(ledger: Ledger, facts: ScalableFacts, layout: Layout, subscription: Dealt) -> None:
    """Compare who has which segment, what waits, and who is attached where the segments' statistics are there."""
    reported, dealt = subscription.reported, subscription.deal
    subject = f"{facts.topic} / {subscription.name}"
    if dealt is None:
        active = {one.segment_id for one in layout.active()}
        for consumer in reported.consumers:
            sides = _ids(active.intersection(consumer.segmentIds)), _ids(active)
            ledger.compare(FactKind.SEGMENTS_ATTACHED, f"{subject} / {consumer.consumerName}", *sides, QUEUE_RULE)
        return
    attached = {
        one: _attached(one, statistics, subscription)
        for one, statistics in facts.segments.items()
        if one in layout.segments
    }
    moving: set[int] = set()
    for consumer in reported.consumers:
        name = consumer.consumerName
        printed = set(consumer.segmentIds)
        mine = {grant.segment_id for grant in dealt.grants.get(name, ())}
        # What it is attached to is printed, too, until it has handed it over.
        extra = (printed - mine) & layout.segments.keys()
        held = {one for one in extra if one not in attached or name in attached[one][1]}
        coming = {one for one in mine if one in attached and name not in attached[one][1]}
        moving |= held | coming
        ledger.skip(HANDED_OVER, len(held))
        ledger.skip(NOT_ATTACHED, len(coming))
        ledger.compare(FactKind.SEGMENTS_DEALT, f"{subject} / {name}", _ids(printed - held), _ids(mine), DEALT_RULE)
    if subscription.kind == STREAM:
        printed_blocked = {int(one) for one, seen in reported.segments.items() if seen.blocked and one.isdigit()}
        ledger.compare(FactKind.SEGMENTS_WAIT, subject, _ids(printed_blocked), _ids(set(dealt.waiting)), WAITS_RULE)
        for one in sorted(set(dealt.dealt) & attached.keys() - moving):
            owners = dealt.owners(one)
            kind = "Key_Shared" if len(owners) > 1 else "Exclusive"
            recorded, modelled = attached[one], (kind, tuple(sorted(owners)))
            if owners:
                ledger.compare(FactKind.SEGMENT_OWNERS, f"{subject} / {one}", recorded, modelled, ATTACHED_RULE)


def _attached(segment_id: int, statistics: SegmentStatistics, subscription: Dealt) -> tuple[str, tuple[str, ...]]:
    """How and by whom a segment is read, by the names of consumers of the topic."""
    printed = statistics.subscriptions.get(subscription.name, SegmentSubscription())
    return printed.type or "", tuple(sorted(bare_name(one.consumerName, segment_id) for one in printed.consumers))


def _ids(ids: set[int]) -> tuple[int, ...]:
    return tuple(sorted(ids))
