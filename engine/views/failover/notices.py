"""What to know about the shown subscription before believing a number: one sentence each, with a stable code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from engine.failover.ring import POINTS_PER_CONSUMER, colliding_names
from engine.text import listed
from engine.views.failover.model import Notice
from engine.views.failover.slice import Slice

NAMES_COLLIDE: Final = "names-collide"
DUPLICATE_NAMES: Final = "duplicate-names"
FLAG_UNKNOWN: Final = "flag-unknown"
FLAG_IGNORED: Final = "flag-ignored"
STANDBY: Final = "standby"
PRIORITIES_INFERRED: Final = "priorities-inferred"
NAMED_AT_MOST: Final = 3
"""Names in one sentence; the rest is counted."""


def notices_of(now: Slice, noted: Iterable[Notice] = ()) -> tuple[Notice, ...]:
    """All notices in a fixed order, then what the opening of the state noted."""
    found = (_flag_unknown(now), _duplicates(now), _collisions(now), _flag_ignored(now), _standbys(now))
    return (*(notice for notice in found if notice), *noted)


def _flag_unknown(now: Slice) -> Notice | None:
    flag = now.state.settings.activeConsumerFailoverConsistentHashing
    if not flag or now.behaviour.knows_failover_consistent_hashing:
        return None
    text = (
        f"activeConsumerFailoverConsistentHashing is true, but Pulsar {now.state.release} does not know it: "
        "partitions go by modulo"
    )
    return Notice(FLAG_UNKNOWN, text)


def _duplicates(now: Slice) -> Notice | None:
    """Bug pattern F10: equal names have equal points, and the consumer that connected last owns them all."""
    names = [consumer.name for consumer in now.order[: now.cohort_size]]
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if not doubled:
        return None
    some = listed([f"{name!r} ({names.count(name)} consumers)" for name in doubled], NAMED_AT_MOST)
    if not now.ring_decides:
        return Notice(DUPLICATE_NAMES, f"one name for several consumers: {some}; statistics cannot tell them apart")
    return Notice(
        DUPLICATE_NAMES,
        f"one name for several consumers: {some}; on the ring only the last connected of each can ever be active",
    )


def _collisions(now: Slice) -> Notice | None:
    """Bug pattern F09: name and number stand side by side, so ``c-1`` + ``10`` and ``c-11`` + ``0`` are one point."""
    ring = now.ring
    if ring is None:
        return None
    losers = colliding_names(ring.names)
    if not losers:
        return None
    counts, shares = ring.point_counts(), ring.shares()
    even = 1 / len(ring.names)
    place = {name: at for at, name in enumerate(ring.names)}
    told = [
        f"{name} keeps {counts[place[name]]} of {POINTS_PER_CONSUMER} points"
        f" and {shares[place[name]]:.1%} of the ring (points lost to {listed(winners, 2)})"
        for name, winners in sorted(losers.items(), key=lambda pair: counts[place[pair[0]]])
    ]
    effect = "" if now.ring_decides else "; it counts once the ring decides"
    return Notice(
        NAMES_COLLIDE, f"names collide on the ring, an even share is {even:.1%}: {listed(told, NAMED_AT_MOST)}{effect}"
    )


def _flag_ignored(now: Slice) -> Notice | None:
    """Bug pattern F03: the flag says nothing about a topic without partitions."""
    alone = now.topics.without_index
    if not alone:
        return None
    noun = "topic without partitions goes" if alone == 1 else "topics without partitions go"
    if now.behaviour.nonpartitioned_failover == "ring":
        return Notice(FLAG_IGNORED, f"{alone} {noun} by the hash ring, whatever the flag says")
    return Notice(
        FLAG_IGNORED,
        f"{alone} {noun} to the consumer that connected first; before 3.0 names and priority levels play no part there",
    )


def _standbys(now: Slice) -> Notice | None:
    waiting = now.order[now.cohort_size :]
    if not waiting or not now.levels_count:
        return None
    level = now.order[0].priority_level
    noun = "consumer stands" if len(waiting) == 1 else "consumers stand"
    some = listed([f"{consumer.name} (level {consumer.priority_level})" for consumer in waiting], NAMED_AT_MOST)
    return Notice(STANDBY, f"{len(waiting)} {noun} by while one of level {level} is connected: {some}")
