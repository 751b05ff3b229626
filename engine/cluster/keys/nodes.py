"""The nodes of consistent sticky ranges: who has which index, and what each declares."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster.keys.events import KeyConsumerJoined, KeyConsumerLeft, KeyEvent
from engine.cluster.keys.restarts import accepted
from engine.cluster.keys.state import KeySubscription, SharingMode
from engine.errors import Rejection
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.model import RANGE_SIZE, Consumer, DeclaredRanges


def nodes_of(subscription: KeySubscription) -> tuple[Consumer, ...]:
    """The consumers in the order of their node indices; those that declare something else follow in joining order.

    A node that restarted under another name stands last in the dispatcher, and keeps its index.
    """
    consumers = subscription.consumers
    ranges = declared_by(SharingMode.CONSISTENT_STICKY, subscription.points, len(consumers))
    if isinstance(ranges, Rejection) or not subscription.points:
        return consumers
    index = {declared: at for at, declared in enumerate(ranges)}
    return tuple(sorted(consumers, key=lambda each: index.get(each.declared, len(consumers))))


def declared_by(mode: SharingMode, points: int, count: int) -> Sequence[DeclaredRanges | None] | Rejection:
    """What each of ``count`` consumers declares, by index; None for each where nothing is declared.

    STICKY ranges that nobody named are equal parts of the slots. Refused: what ``node_ranges`` refuses, and points so
    few that a node has no range, since its client does not let it connect then.
    """
    if not mode.declares or count == 0:
        return [None] * count
    if mode is SharingMode.STICKY:
        edges = [number * RANGE_SIZE // count for number in range(count + 1)]
        return [((edges[at], edges[at + 1] - 1),) for at in range(count)]
    found = node_ranges(points, count)
    if isinstance(found, Rejection):
        return found
    idle = next((at for at, pieces in enumerate(found) if not pieces), None)
    if idle is not None:
        message = (
            f"Ranges for KeyShared policy must not be empty. (all points of node {idle} stand on slots of others; "
            "give more points)"
        )
        return Rejection("IllegalArgumentException", message, "points")
    return [tuple((piece.start, piece.end) for piece in pieces) for pieces in found]


def reconnected(
    subscription: KeySubscription, consumers: Sequence[Consumer], points: int
) -> tuple[KeyEvent, ...] | Rejection:
    """All stop, then all start with the ranges of their place and the new number of nodes."""
    ranges = declared_by(SharingMode.CONSISTENT_STICKY, points, len(consumers))
    if isinstance(ranges, Rejection):
        return ranges
    events: list[KeyEvent] = [KeyConsumerLeft(subscription.key, each.consumer_id) for each in subscription.consumers]
    events += [
        KeyConsumerJoined(subscription.key, each.consumer_id, each.name, declared)
        for each, declared in zip(consumers, ranges, strict=True)
    ]
    return accepted(subscription, events)
