"""Compare two states: settings that differ, consumers that came and left, active consumers that changed; and
scalable topics: segments that are new or sealed, and who is dealt which of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import structs
from msgspec.structs import fields

from engine.admin.between import Change, changes_between
from engine.admin.facts import Snapshot, total
from engine.answer import about, extended
from engine.cluster.keys.state import KeySubscription
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState, Subscription
from engine.compare.matching import came_and_left, counterpart, ids_by_name, matched_subscriptions, renamed, renumbered
from engine.compare.verdict import Verdict, items_of_leavers, judge, verdict_between
from engine.config import BrokerSettings
from engine.scalable.model import RING_SIZE
from engine.views.comparing.handovers import PARTITION, SLOT, HandoverRow, Noun, handovers, key_handovers
from engine.views.keys.moves import key_moves, keys_evenness, keys_verdict, same_space
from engine.views.keys.slice import KeysSlice, keys_slice_by_key
from engine.views.reported.changes import change_text
from engine.views.scalable.answers import Point, dealt_to, step_points
from engine.views.scalable.dashboard import simulated_view
from engine.views.scalable.model import ScalableView, SubscriptionRow

ComparedType = Literal["Failover", "Key_Shared"]
Presence = Literal["both", "appeared", "vanished"]


@dataclass(frozen=True, eq=False, slots=True)
class SubscriptionDifference:
    """One subscription in two states. Without one of them there is no verdict, and ``rows`` are empty."""

    key: Annotated[str, about("Its key.")]
    namespace: Annotated[str, about("Its namespace.")]
    topics: Sequence[str]
    type: Annotated[ComparedType, about("Its type.")]
    presence: Annotated[Presence, about("Where it is.")]
    noun: Annotated[Noun, about("What its verdict counts.")]
    verdict: Annotated[Verdict | None, about("The verdict; null where it is on one side only.")]
    came: Annotated[tuple[str, ...], about("Consumers in B only.", key="consumers_came")]
    left: Annotated[tuple[str, ...], about("Consumers in A only.", key="consumers_left")]
    renamed: Annotated[
        tuple[tuple[str, str], ...], about("Pairs of those that are likely one consumer.", key="consumers_renamed")
    ]
    rows: Annotated[Sequence[HandoverRow], about("What changes hands, busiest first.", key="handovers")]


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting by its exact name, as broker.conf would have it on either side."""

    name: Annotated[str, about("Exact name.")]
    before: Annotated[str, about("In A.")]
    after: Annotated[str, about("In B.")]


@dataclass(frozen=True, slots=True)
class BundlesDifference:
    """A namespace whose bundles differ: how many there are, and the boundaries of one side only."""

    namespace: Annotated[str, about("Its name.")]
    before: Annotated[int, about("Bundles in A.", 0)]
    after: Annotated[int, about("Bundles in B.", 0)]
    boundaries_gone: Annotated[tuple[int, ...], about("Boundaries of A only.", 0)]
    boundaries_new: Annotated[tuple[int, ...], about("Boundaries of B only.", 0)]


@dataclass(frozen=True, slots=True)
class Sums:
    """Over all subscriptions that are on both sides; ``items`` counts only partitions, of them ``moved``."""

    items: Annotated[int, about("Partitions.", 0)]
    moved: Annotated[int, about("Partitions with another active consumer.", 0)]
    least: Annotated[int, about("Fewest moves that lead to the same loads.", 0)]
    msgs_per_sec: Annotated[float | None, about("Messages per second of what moved; null where one is not known.")]
    bytes_per_sec: Annotated[float | None, about("Bytes per second of what moved; null where one is not known.")]
    unacked_at_risk: Annotated[
        int | None, about("Unacknowledged messages of what moved; null where one is not known.", 0)
    ]
    appeared: Annotated[int, about("Topics that are in B only.", 0)]
    vanished: Annotated[int, about("Topics that are in A only.", 0)]
    idle: Annotated[int, about("Consumers of B without an item.", 0)]
    max_over_mean: Annotated[float, about("The largest max/mean of B, by items.")]
    max_over_mean_rate: Annotated[float | None, about("The same by messages; null where one is not known.")]
    worse: Annotated[int, about("Subscriptions whose verdict is worse.", 0)]
    segments_moved: Annotated[int, about("Segments of scalable topics that are dealt to others in B.", 0)] = 0
    ring_moved: Annotated[
        float, about("The largest part of the ring of a scalable topic whose keys go to others in B.", 0)
    ] = 0.0


@dataclass(frozen=True, slots=True)
class ReportedChange(Change):
    text: Annotated[str, about("The change as a sentence.")] = ""


def _reported(changes: tuple[Change, ...] | None) -> list[ReportedChange] | None:
    if changes is None:
        return None
    return [extended(ReportedChange, change, text=change_text(change)) for change in changes]


@dataclass(frozen=True, eq=False, slots=True)
class DifferenceView:
    """Two states side by side. Topics are counted in full names of topics, not of partitions."""

    FORMAT: ClassVar = "ringside.diff/1"

    before: Annotated[str, about("What A is.")]
    after: Annotated[str, about("What B is.")]
    release_before: Annotated[str, about("Pulsar version of A.")]
    release_after: Annotated[str, about("Pulsar version of B.")]
    settings: Annotated[tuple[SettingDifference, ...], about("Settings that differ, as broker.conf has them.")]
    topics_appeared: Annotated[tuple[str, ...], about("Topics in B only.")]
    topics_vanished: Annotated[tuple[str, ...], about("Topics in A only.")]
    topics_renamed: Annotated[tuple[tuple[str, str], ...], about("Pairs of those that are likely one topic.")]
    bundles: Annotated[tuple[BundlesDifference, ...], about("Namespaces whose bundles differ.")]
    subscriptions: Annotated[tuple[SubscriptionDifference, ...], about("Every subscription of either side.")]
    scalable: Annotated[
        tuple[ScalableDifference, ...], about("Scalable topics of both sides that differ.", key="scalable_topics")
    ] = ()
    reported: Annotated[
        tuple[Change, ...] | None,
        about(
            "What brokers reported otherwise, where both sides hold what they reported of one topic; else null.",
            form=_reported,
        ),
    ] = None
    namespaces: Annotated[
        Mapping[str, str],
        about("Namespaces of A that are compared under the name of one of B, which has their topics."),
    ] = field(default_factory=dict)

    @property
    def alone(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Namespaces whose subscriptions are all on one side: those of A, and those of B."""
        kept = {one.namespace for one in self.subscriptions if one.presence == "both"}
        gone, came = (
            tuple(sorted({one.namespace for one in self.subscriptions if one.presence == where} - kept))
            for where in ("vanished", "appeared")
        )
        return gone, came

    @property
    def sums(self) -> Annotated[Sums, about("Sums over the Failover subscriptions that are on both sides.")]:
        """The sums, as far as there are verdicts: appeared and vanished are topics."""
        judged = [subscription.verdict for subscription in self.subscriptions if subscription.verdict is not None]
        failover = [
            subscription.verdict
            for subscription in self.subscriptions
            if subscription.verdict is not None and subscription.noun == PARTITION
        ]
        ratios = [ratio for verdict in judged if (ratio := verdict.after.max_over_mean_rate) is not None]
        return Sums(
            items=sum(verdict.items for verdict in failover),
            moved=sum(verdict.moved for verdict in failover),
            least=sum(verdict.least for verdict in failover),
            msgs_per_sec=total(verdict.msgs_per_sec for verdict in failover),
            bytes_per_sec=total(verdict.bytes_per_sec for verdict in failover),
            unacked_at_risk=total(verdict.unacked_at_risk for verdict in failover),
            appeared=len(self.topics_appeared),
            vanished=len(self.topics_vanished),
            idle=sum(verdict.after.idle for verdict in judged),
            max_over_mean=max((verdict.after.max_over_mean for verdict in judged), default=0.0),
            max_over_mean_rate=None if len(ratios) < len(judged) else max(ratios, default=0.0),
            worse=sum(verdict.judgement == "worse" for verdict in judged),
            segments_moved=sum(len(topic.moves) for topic in self.scalable),
            ring_moved=max((topic.ring_moved for topic in self.scalable), default=0.0),
        )


def difference_view(
    before: ClusterState, after: ClusterState, names: tuple[str, str], *, one_history: bool
) -> DifferenceView:
    """The difference of two states called ``names``.

    In ``one_history`` (two steps of a timeline, a rule tried on a state) consumers are the same where their ids are;
    else where their names are. O(topics + partitions).
    """
    pairs = matched_subscriptions(before.subscriptions, after.subscriptions)
    differences = [_failover(before, mine, after, theirs, one_history=one_history) for mine, theirs in pairs]
    differences += _keys(before, after, one_history=one_history)
    if before.topics is after.topics:
        appeared: tuple[str, ...] = ()
        vanished: tuple[str, ...] = ()
    else:
        old, new = set(before.topics), set(after.topics)
        appeared, vanished = tuple(sorted(new - old)), tuple(sorted(old - new))
    return DifferenceView(
        before=names[0],
        after=names[1],
        release_before=before.release,
        release_after=after.release,
        settings=_settings(before.settings, after.settings),
        topics_appeared=appeared,
        topics_vanished=vanished,
        topics_renamed=renamed(vanished, appeared),
        bundles=_bundles(before, after),
        subscriptions=tuple(differences),
        scalable=scalable_differences(before.scalable_topics, after.scalable_topics),
    )


def difference_of(before: ClusterState, after: ClusterState, key: str) -> SubscriptionDifference | None:
    """The same of the subscription of one key in ``after``, by names; None where ``before`` does not have it."""
    theirs = next((one for one in after.subscriptions if one.key == key), None)
    if theirs is not None:
        mine = counterpart(before.subscriptions, after.subscriptions, key)
        return None if mine is None else _failover(before, mine, after, theirs, one_history=False)
    of_keys = counterpart(before.key_subscriptions, after.key_subscriptions, key)
    if of_keys is None:
        return None
    now = next(one for one in after.key_subscriptions if one.key == key)
    return _key_shared(before, of_keys, after, now, one_history=False)


def _failover(
    before: ClusterState,
    mine: Subscription | None,
    after: ClusterState,
    theirs: Subscription | None,
    *,
    one_history: bool,
) -> SubscriptionDifference:
    either = mine or theirs
    assert either is not None, "a pair has one side at least"
    if mine is None or theirs is None:
        return _alone(either, "Failover", PARTITION, "appeared" if mine is None else "vanished")
    if not one_history:
        after, theirs = renumbered(after, theirs, mine)
    if mine.key != theirs.key:
        named = replace(theirs, key=mine.key)
        after = structs.replace(
            after,
            subscriptions=tuple(
                named if subscription is theirs else subscription for subscription in after.subscriptions
            ),
        )
        theirs = named
    came, left = came_and_left(
        [consumer.name for consumer in mine.consumers], [consumer.name for consumer in theirs.consumers]
    )
    verdict = verdict_between(_only(before, mine), _only(after, theirs), mine.key)
    return SubscriptionDifference(
        key=mine.key,
        namespace=mine.namespace,
        topics=mine.topics,
        type="Failover",
        presence="both",
        noun=PARTITION,
        verdict=verdict,
        came=came,
        left=left,
        renamed=renamed(left, came),
        rows=handovers(before, mine, after, theirs),
    )


def _only(state: ClusterState, subscription: Subscription) -> ClusterState:
    """The state with this subscription only, since another one may have its key."""
    return structs.replace(state, subscriptions=(subscription,))


def _alone(
    either: Subscription | KeySubscription, kind: ComparedType, noun: Noun, presence: Presence
) -> SubscriptionDifference:
    return SubscriptionDifference(
        either.key, either.namespace, either.topics, kind, presence, noun, None, (), (), (), ()
    )


def _keys(before: ClusterState, after: ClusterState, *, one_history: bool) -> list[SubscriptionDifference]:
    differences = []
    for mine, theirs in matched_subscriptions(before.key_subscriptions, after.key_subscriptions):
        either = mine or theirs
        assert either is not None, "a pair has one side at least"
        if mine is None or theirs is None:
            presence: Presence = "appeared" if mine is None else "vanished"
            differences.append(_alone(either, "Key_Shared", SLOT, presence))
        else:
            differences.append(_key_shared(before, mine, after, theirs, one_history=one_history))
    return differences


def _key_shared(
    before: ClusterState, mine: KeySubscription, after: ClusterState, theirs: KeySubscription, *, one_history: bool
) -> SubscriptionDifference:
    was, now = keys_slice_by_key(before, mine.key), keys_slice_by_key(after, theirs.key)
    assert was is not None and now is not None, "both subscriptions are of their states"
    came, left = came_and_left(
        [consumer.name for consumer in mine.consumers], [consumer.name for consumer in theirs.consumers]
    )
    if one_history:
        verdict, rows = keys_verdict(was, now, key_moves(was, now)), key_handovers(was, now)
    else:
        ids = ids_by_name(
            [(consumer.name, consumer.consumer_id) for consumer in mine.consumers],
            [consumer.name for consumer in theirs.consumers],
        )
        known_as = dict(zip([consumer.consumer_id for consumer in theirs.consumers], ids, strict=True))
        verdict, rows = _by_name(was, now, known_as), key_handovers(was, now, known_as)
    return SubscriptionDifference(
        key=mine.key,
        namespace=mine.namespace,
        topics=mine.topics,
        type="Key_Shared",
        presence="both",
        noun=SLOT,
        verdict=verdict,
        came=came,
        left=left,
        renamed=renamed(left, came),
        rows=rows,
    )


def _by_name(was: KeysSlice, now: KeysSlice, known_as: Mapping[int, int]) -> Verdict:
    """The verdict on slots of two states whose consumers are known by name only: ``known_as`` maps ids of ``now``.

    Slots that consumers share, or of another space, cannot be compared and do not count.
    """
    before, after = keys_evenness(was), keys_evenness(now)
    mine = [consumer.consumer_id for consumer in was.consumers]
    lost = items_of_leavers(was.slot_counts(), mine, known_as.values())
    judgement, judged_by = judge(before, after, lost)
    moved = least = 0
    comparable = same_space(was, now) and not (was.pieces.shared or now.pieces.shared)
    if comparable:
        ends = np.union1d(was.pieces.ends, now.pieces.ends)
        ends = ends[ends >= max(was.pieces.first, now.pieces.first)]
        widths = np.diff(ends, prepend=max(was.pieces.first, now.pieces.first) - 1)
        old = was.pieces.owners_at(ends)
        new = np.array([known_as.get(owner, -1) for owner in now.pieces.owners_at(ends).tolist()], dtype=np.int64)
        moved = int(widths[(old != new) & (old >= 0) & (new >= 0)].sum())
        more = now.slot_counts()
        theirs = {known_as[number]: count for number, count in more.items()}
        counts = was.slot_counts()
        least = sum(max(0, count - theirs.get(number, 0)) for number, count in counts.items())
    return Verdict(
        judgement, judged_by, before, after, moved, min(least, moved), now.slot_count if comparable else 0, 0.0, 0.0, 0
    )


def _settings(before: BrokerSettings, after: BrokerSettings) -> tuple[SettingDifference, ...]:
    names = [field.name for field in fields(BrokerSettings)]
    return tuple(
        SettingDifference(name, before.text_of(name), after.text_of(name))
        for name in names
        if getattr(before, name) != getattr(after, name)
    )


def _bundles(before: ClusterState, after: ClusterState) -> tuple[BundlesDifference, ...]:
    differences = []
    for name in sorted({*before.namespaces, *after.namespaces}):
        old, new = (
            (state.namespaces[name].boundaries if name in state.namespaces else ()) for state in (before, after)
        )
        if old != new:
            gone, fresh = sorted(set(old) - set(new)), sorted(set(new) - set(old))
            counts = (max(len(old) - 1, 0), max(len(new) - 1, 0))
            differences.append(BundlesDifference(name, *counts, tuple(gone), tuple(fresh)))
    return tuple(differences)


def reported_between(before: Snapshot, after: Snapshot, subscription: str | None = None) -> tuple[Change, ...] | None:
    """Differences between what brokers reported, of one subscription if named; what one side lacks is unknown.

    None where no topic is on both sides. O(dispatchers × consumers).
    """
    if before.topics.keys().isdisjoint(after.topics):
        return None
    changes = changes_between(before, after)
    return tuple(change for change in changes if subscription in (None, change.subscription))


@dataclass(frozen=True, slots=True)
class SegmentMove:
    subscription: Annotated[str, about("Its name.")]
    segment: Annotated[int, about("The segment's id.")]
    before: Annotated[tuple[str, ...], about("The consumers that have it in A, several by buckets.")]
    after: Annotated[tuple[str, ...], about("Those that have it in B.")]


@dataclass(frozen=True, slots=True)
class ScalableDifference:
    """A scalable topic that differs; ``points`` say it in words."""

    topic: Annotated[str, about("Its full name.")]
    segments_new: Annotated[tuple[int, ...], about("Segments in B only.")]
    segments_gone: Annotated[tuple[int, ...], about("Segments in A only: they were pruned.")]
    segments_sealed: Annotated[tuple[int, ...], about("Segments that take no more messages in B.")]
    moves: Annotated[tuple[SegmentMove, ...], about("Segments of both that are dealt to others in B.")]
    ring_moved: Annotated[
        float, about("The largest part of the ring of hashes, over subscriptions, whose keys go to others in B.", 0)
    ]
    points: tuple[Point, ...] = ()


def scalable_differences(
    before: Iterable[ScalableTopic], after: Iterable[ScalableTopic]
) -> tuple[ScalableDifference, ...]:
    """The scalable topics of both sides that differ, by name. O(segments x subscriptions)."""
    was = {each.topic: each for each in before}
    pairs = sorted((each.topic, was[each.topic], each) for each in after if each.topic in was)
    found = (_difference(name, simulated_view(mine.running), simulated_view(theirs.running))
             for name, mine, theirs in pairs if mine.running is not theirs.running)  # fmt: skip
    return tuple(one for one in found if one is not None)


def _difference(topic: str, before: ScalableView, after: ScalableView) -> ScalableDifference | None:
    was, now = ({one.id: one for one in view.segments} for view in (before, after))
    new, gone = tuple(sorted(now.keys() - was.keys())), tuple(sorted(was.keys() - now.keys()))
    sealed = tuple(sorted(one for one in was.keys() & now.keys() if was[one].state != now[one].state))
    earlier = {row.name: row for row in before.subscriptions}
    both = [(earlier[row.name], row) for row in after.subscriptions if row.name in earlier]
    moves = tuple(move for mine, theirs in both for move in _moves(mine, theirs, was.keys() & now.keys()))
    moved = max((_ring_moved(before, mine, after, theirs) for mine, theirs in both), default=0.0)
    if not (new or gone or sealed or moves or moved):
        return None
    return ScalableDifference(topic, new, gone, sealed, moves, moved, step_points(before, after))


def _moves(before: SubscriptionRow, after: SubscriptionRow, listed: set[int]) -> Iterator[SegmentMove]:
    was, now = dealt_to(before), dealt_to(after)
    for segment in sorted(listed & (was.keys() | now.keys())):
        mine, theirs = was.get(segment, ()), now.get(segment, ())
        if mine != theirs:
            yield SegmentMove(after.name, segment, mine, theirs)


def _ring_moved(before: ScalableView, mine: SubscriptionRow, after: ScalableView, theirs: SubscriptionRow) -> float:
    """The part of the ring whose keys have another consumer: of segments that several share, all of it."""
    tiles = [_tiles(before, dealt_to(mine)), _tiles(after, dealt_to(theirs))]
    starts = sorted({start for tile in tiles for start in tile} | {0})
    moved = 0
    had: list[tuple[str, ...]] = [(), ()]
    for start, end in zip(starts, [*starts[1:], RING_SIZE], strict=True):
        had = [tile.get(start, last) for tile, last in zip(tiles, had, strict=True)]
        moved += end - start if had[0] != had[1] else 0
    return moved / RING_SIZE


def _tiles(view: ScalableView, dealt: Mapping[int, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
    """Who has the hashes from each place on: the consumers of an active segment, nobody behind its end."""
    tiles: dict[int, tuple[str, ...]] = {}
    for one in sorted(view.segments, key=lambda each: each.start):
        if one.state == "ACTIVE":
            tiles[one.start] = dealt.get(one.id, ())
            tiles.setdefault(one.end + 1, ())
    return tiles
