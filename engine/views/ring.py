"""The hash ring with its topics, and the four lines in its middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.failover.ring import POINTS_PER_CONSUMER, FailoverRing
from engine.hashing import HASH_SPACE_SIZE
from engine.views.changes import Changes
from engine.views.model import ConsumerRow, RingView, RuleInForce
from engine.views.slice import Slice

CENTRE_WIDTH: Final = 26
"""Characters of a line in the ring's middle, the drawing has no room for more."""


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
        topic_hashes=now.topics.hashes,
        topic_owners=now.owners.active,
        topic_moved=changes.moved,
        lit=now.ring_decides,
        centre=centre_lines(now, rows),
    )


def changed_arcs(before: Slice | None, now: Slice) -> NDArray[np.bool_]:
    """Which arcs (one a point) had another owner before, wholly or in part; nothing without a step before.

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
    # Between two neighbouring points of either ring nothing can differ, so it is enough to ask at every point.
    probes = np.union1d(ring.points, earlier.points)
    different = _owner_ids(ring, now, probes) != _owner_ids(earlier, before, probes)
    at = np.searchsorted(ring.points, probes[different], side="left")
    at[at == len(ring)] = 0
    changed[at] = True
    return changed


def _owner_ids(ring: FailoverRing, of: Slice, probes: NDArray[np.int64]) -> NDArray[np.int64]:
    ids = np.array([consumer.consumer_id for consumer in of.order[: of.cohort_size]], dtype=np.int64)
    found: NDArray[np.int64] = ids[ring.owner_indices(probes)]
    return found


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
    by_ring = np.bincount(ring.owner_indices(now.topics.hashes), minlength=now.cohort_size)
    by_modulo = np.bincount(now.owners.active, minlength=now.cohort_size)
    return int(by_ring.max()) < int(by_modulo.max())


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
        lines.append(_fitted(busiest.name, f": {busiest.active_partitions} of {len(now.topics)}"))
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


def _fitted(name: str, rest: str) -> str:
    room = CENTRE_WIDTH - len(rest)
    return (name if len(name) <= room else name[: max(room - 1, 0)] + "…") + rest
