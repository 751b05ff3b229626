"""The hash ring with its topics, and the four lines in its middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.compare.verdict import shares
from engine.failover.ring import POINTS_PER_CONSUMER, FailoverRing, failover_points, failover_ring
from engine.hashing import HASH_SPACE_SIZE
from engine.memo import Remembered
from engine.text import visible
from engine.views.failover.model import ConsumerRow, RingView, RuleInForce
from engine.views.failover.slice import Changes, Slice

CENTRE_WIDTH: Final = 26
"""Characters of a line in the middle of the ring, which has no room for more."""

FEW_CONSUMERS: Final = 8
"""Up to this number of consumers that came or left, only their points are compared."""

_most: Remembered[int] = Remembered()


def ring_view(before: Slice | None, now: Slice, changes: Changes, rows: Sequence[ConsumerRow]) -> RingView:
    """The ring of the cohort; without consumers it has no points and every topic has nobody. O(p log p + t)."""
    ring = now.ring
    none = np.zeros(0, dtype=np.int64)
    return RingView(
        space_size=HASH_SPACE_SIZE,
        points=ring.points if ring else none,
        point_owners=ring.owners if ring else none,
        changed_arcs=changed_arcs(before, now),
        topic_names=now.topics.names,
        topic_hashes=now.topics.hash,
        topic_owners=now.owners.active,
        topic_moved=changes.moved,
        lit=now.ring_decides,
        centre=centre_lines(now, rows),
        first_partitions_only=now.topics.first_partitions_only,
        topic_numbers=now.topics.names.numbers,
    )


def heir_of(names: Sequence[str], owner: int, hash_value: int) -> int | None:
    """Who gets a hash if its owner on the ring goes, as a position in ``names`` like ``owner``; None with one name.

    A ring without the owner decides: a point that it took from another name goes back to that one. O(p log p).
    """
    others = (*names[:owner], *names[owner + 1 :])
    if not others:
        return None
    at = failover_ring(others).owner_index(hash_value)
    return at + (at >= owner)


def changed_arcs(before: Slice | None, now: Slice) -> NDArray[np.bool_]:
    """Which arcs (one per point) had another owner before, wholly or in part; none without an earlier step.

    Owners are compared as consumers, not as positions, so a consumer that only slid down the list changed nothing.
    """
    ring = now.ring
    if ring is None:
        return np.zeros(0, dtype=np.bool_)
    changed = np.zeros(len(ring), dtype=np.bool_)
    if before is None:
        return changed
    earlier = before.ring
    if earlier is None:
        return ~changed
    if earlier is ring and before.order == now.order:
        return changed
    few = _few_changed(before, now)
    if few is not None:
        return _changed_at(before, earlier, now, ring, few)
    ids, earlier_ids = _ids(now), _ids(before)
    # Between neighbouring points of both rings nothing changes, so comparing at every point is enough.
    at = np.searchsorted(earlier.points, ring.points, side="left")
    shared = earlier.points.take(at, mode="clip") == ring.points
    kept = np.zeros(len(earlier), dtype=np.bool_)
    kept[at[shared]] = True
    at[at == len(earlier)] = 0
    changed |= earlier_ids[earlier.owners[at]] != ids[ring.owners]
    gone = np.flatnonzero(~kept)
    now_in = np.searchsorted(ring.points, earlier.points[gone], side="left")
    now_in[now_in == len(ring)] = 0
    different = earlier_ids[earlier.owners[gone]] != ids[ring.owners[now_in]]
    changed[now_in[different]] = True
    return changed


def _few_changed(before: Slice, now: Slice) -> list[str] | None:
    """The names of consumers that came to or left the cohort, None for too many."""
    # A consumer that comes back under its old name or with another level has another id.
    was, is_ = (
        {consumer.consumer_id: consumer.name for consumer in of.order[: of.cohort_size]} for of in (before, now)
    )
    changed = [
        *(was[number] for number in was.keys() - is_.keys()),
        *(is_[number] for number in is_.keys() - was.keys()),
    ]
    return changed if len(changed) <= FEW_CONSUMERS else None


def _changed_at(
    before: Slice, earlier: FailoverRing, now: Slice, ring: FailoverRing, names: Sequence[str]
) -> NDArray[np.bool_]:
    """``changed_arcs`` after few consumers came or left: only at their points can owners differ."""
    changed = np.zeros(len(ring), dtype=np.bool_)
    at = np.array(sorted({point for name in names for point in failover_points(name)}), dtype=np.int64)
    was, is_ = (_places_of(one_ring, at) for one_ring in (earlier, ring))
    owners_before = np.array([before.order[owner].consumer_id for owner in earlier.owners[was].tolist()])
    owners_now = np.array([now.order[owner].consumer_id for owner in ring.owners[is_].tolist()])
    changed[is_[owners_before != owners_now]] = True
    return changed


def _places_of(ring: FailoverRing, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The arc of each hash, as the place of the point that ends it."""
    at = np.searchsorted(ring.points, hashes, side="left")
    at[at == len(ring)] = 0
    return at


def _ids(of: Slice) -> NDArray[np.int64]:
    return np.array([consumer.consumer_id for consumer in of.order[: of.cohort_size]], dtype=np.int64)


def rule_text(now: Slice) -> str:
    """The rule in force in words, for the status line."""
    size = now.cohort_size
    ring = f"hash ring: {POINTS_PER_CONSUMER} points a consumer"
    match now.rule:
        case RuleInForce.NOBODY:
            return "nobody is connected"
        case RuleInForce.MODULO:
            return f"modulo: partition index mod {size}"
        case RuleInForce.RING:
            return ring
        case RuleInForce.FIRST_CONNECTED:
            return "first connected: names and priority levels play no part"
        case RuleInForce.MIXED:
            first = f"modulo {size} for partitions"
            others = "the hash ring" if now.behaviour.nonpartitioned_failover == "ring" else "the first connected"
            if now.state.settings.activeConsumerFailoverConsistentHashing and flag_known(now):
                first = "the hash ring for partitions"
            return f"{first}, {others} for topics without"


def flag_known(now: Slice) -> bool:
    """Whether the release knows ``activeConsumerFailoverConsistentHashing``."""
    return now.behaviour.knows_failover_consistent_hashing


def flag_would_help(now: Slice) -> bool:
    """Whether setting the flag would leave less on the busiest consumer than modulo does now (by partitions)."""
    ring = now.ring
    if ring is None or now.rule is not RuleInForce.MODULO or not flag_known(now) or not len(now.topics):
        return False
    return _most_by_ring(ring, now) < int(shares(now.state, now.subscription)[0].max())


def _most_by_ring(ring: FailoverRing, now: Slice) -> int:
    """How many partitions the busiest consumer would have if the ring decided."""
    topics = now.topics

    def compute() -> int:
        owners, counts = ring.stretches(topics.hash)
        return int(np.bincount(owners, weights=counts).max())

    return _most.get((ring, topics), (), compute)


def centre_lines(now: Slice, rows: Sequence[ConsumerRow]) -> tuple[str, ...]:
    """Up to four lines of at most ``CENTRE_WIDTH`` characters: how many, by which rule, who has most, what to try."""
    if not rows:
        return ("no consumers", "nobody is active", "press a to add one")
    count, size = len(rows), now.cohort_size
    noun = "consumer" if count == 1 else "consumers"
    first = f"{count} {noun}" if count == size or not rows[-1].standby else f"{size} of {count} consumers"
    lines = [first, *_rule_lines(now)]
    if len(now.topics):
        busiest = max(rows, key=lambda row: row.active_partitions)
        lines.append(centre_name(busiest.name, f": {busiest.active_partitions} of {len(now.topics)}"))
    else:
        lines.append("no topics")
    if flag_would_help(now) and len(lines) < 4:
        lines.append("press c to spread")
    return tuple(line[:CENTRE_WIDTH] for line in lines)


def _rule_lines(now: Slice) -> tuple[str, ...]:
    match now.rule:
        case RuleInForce.MODULO:
            whole = f"modulo: partition index mod {now.cohort_size}"
            # "partition index" with a number of several digits is wider than the middle, and "index" says the same.
            return (whole if len(whole) <= CENTRE_WIDTH else f"modulo: index mod {now.cohort_size}",)
        case RuleInForce.RING:
            return (f"ring: {POINTS_PER_CONSUMER} points each",)
        case RuleInForce.FIRST_CONNECTED:
            return ("first connected is active",)
        case _:
            return ("partitions and topics", "go by different rules")


def centre_name(name: str, rest: str) -> str:
    """A line of the middle: a consumer's name with hidden characters made visible, shortened for the rest."""
    room = CENTRE_WIDTH - len(rest)
    shown = visible(name[: CENTRE_WIDTH + 1])
    return (shown if len(shown) <= room else shown[: max(room - 1, 0)] + "…") + rest
