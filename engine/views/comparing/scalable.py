"""Scalable topics in two states: segments that are new or sealed, and who is dealt which of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from engine.answer import about
from engine.cluster.scalable.state import ScalableTopic
from engine.scalable.model import RING_SIZE
from engine.views.scalable.answers import Point, dealt_to, step_points
from engine.views.scalable.dashboard import simulated_view
from engine.views.scalable.model import ScalableView, SubscriptionRow


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
