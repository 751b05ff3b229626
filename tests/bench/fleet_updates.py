"""One consumer more or less, with the list of what moved, beside three ways to find out without the bulk engine.

The peers: hashing everything again (names of topics and consumers, in a plain loop as a broker would, and in bulk),
the best full recomputation in numpy (hashes known and sorted, all topics assigned anew, the two assignments compared),
and a ring kept in a ``SortedDict``, whose new arcs are cut out of the sorted topics.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from functools import partial

import mmh3
import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk import assign_sorted, sort_topics
from engine.failover.bulk_ring import Rings, build_rings
from engine.failover.live import LiveRing, Moves, moves_between
from engine.failover.model import Consumer
from tests.bench.fleet_support import (
    FULL,
    POINTS,
    Size,
    consumer_names,
    each_seconds,
    median_seconds,
    murmur3,
    seconds,
    topic_names,
)
from tests.bench.table import Row

CHANGES = 60
BY_DICT = "SortedDict ring, arcs cut by numpy"


class SortedDictRing:
    """A ring as one would write it with sortedcontainers: points to owners, topics cut by numpy where arcs change."""

    def __init__(self, names: list[str], hashes: NDArray[np.int32]) -> None:
        self.names, self.hashes = names, hashes
        self.points: SortedDict[int, list[int]] = SortedDict()
        for number in range(len(names)):
            for point in self.points_of(number):
                self.points.setdefault(point, []).append(number)

    def points_of(self, number: int) -> set[int]:
        """The points of one consumer."""
        return {murmur3(f"{self.names[number]}{replica}") for replica in range(POINTS)}

    def leave(self, number: int) -> dict[int, int]:
        """Drop a consumer's points; the topics that moved and their new owners."""
        lost = []
        for point in self.points_of(number):
            claimants = self.points[point]
            if claimants[-1] == number:
                lost.append((self.before(point), point))
            claimants.remove(number)
            if not claimants:
                del self.points[point]
        return self.moved(lost)

    def join(self, number: int) -> dict[int, int]:
        """Add a consumer's points; the topics that moved and their new owners."""
        points = self.points_of(number)
        for point in points:
            claimants = self.points.setdefault(point, [])
            claimants.append(number)
            claimants.sort()
        return self.moved([(self.before(point), point) for point in points if self.points[point][-1] == number])

    def before(self, point: int) -> int:
        """The point before one, past the start the last of all."""
        return int(self.points.keys()[self.points.bisect_left(point) - 1])

    def moved(self, arcs: list[tuple[int, int]]) -> dict[int, int]:
        """New owners of the topics in these arcs."""
        results: dict[int, int] = {}
        for above, upto in arcs:
            stretches = [(above, upto)] if above < upto else [(-1, upto), (above, 2**31 - 1)]
            at = self.points.bisect_left(upto)
            owner = self.points.peekitem(at % len(self.points))[1][-1]
            for low, high in stretches:
                first, end = np.searchsorted(self.hashes, np.array([low, high], dtype=np.int32), side="right").tolist()
                results.update(dict.fromkeys(range(first, end), owner))
        return results


def hash_all_again(topics: list[str], names: list[str]) -> list[int]:
    """Every name hashed, every topic looked up in a sorted list."""
    ring = {murmur3(f"{name}{replica}"): number for number, name in enumerate(names) for replica in range(POINTS)}
    points = sorted(ring)
    owners = [ring[point] for point in points]
    count = len(points)
    return [owners[bisect_left(points, mmh3.hash(topic) & 0x7FFFFFFF) % count] for topic in topics]


def recompute(names: list[str], ids: NDArray[np.int32], hashes: NDArray[np.int32], before: NDArray[np.int32]) -> Moves:
    """The best full recomputation: the ring anew, all topics cut anew, both assignments compared."""
    after = ids[assign_sorted(build_rings([names]), 0, hashes)]
    return moves_between(before, after)


def rows(size: Size = FULL) -> list[Row]:
    """One row for each peer; p50 of leaves and joins, each with its exact moves."""
    topics, names = topic_names(size.topics), consumer_names(size.consumers)
    sorted_topics = sort_topics(murmur3_bulk(topics))
    consumers = [Consumer(number, name) for number, name in enumerate(names)]
    live = LiveRing(sorted_topics.hash, consumers)
    by_dict = SortedDictRing(names, sorted_topics.hash)
    check_all_agree(live, by_dict, names, [topics[at] for at in sorted_topics.row.tolist()])
    chosen = range(0, len(names), max(1, len(names) * 2 // CHANGES))
    ours_s = each_seconds(
        change for number in chosen for change in (partial(live.leave, number), partial(live.join, consumers[number]))
    )
    by_dict_s = each_seconds(
        change for number in chosen for change in (partial(by_dict.leave, number), partial(by_dict.join, number))
    )
    ids = np.arange(1, len(names), dtype=np.int32)
    full_s = median_seconds(lambda: recompute(names[1:], ids, live.hash, live.owner), size.rounds)
    again_s, _ = seconds(lambda: hash_all_again(topics, names[1:]))
    again_bulk_s = median_seconds(lambda: build_rings([names]).look_up(0, murmur3_bulk(topics)), size.rounds)
    what, ours_ms = (
        f"one of {size.consumers:,} consumers, {size.topics:,} topics, p50",
        statistics.median(ours_s) * 1000,
    )
    return [
        Row(what, ours_ms, "hashing all again, plain loop", again_s * 1000, ">= 1000x"),
        Row(what, ours_ms, "hashing all again, in bulk", again_bulk_s * 1000),
        Row(what, ours_ms, "numpy, all assigned anew and compared", full_s * 1000, ">= 10x"),
        Row(what, ours_ms, BY_DICT, statistics.median(by_dict_s) * 1000),
        restart_row(live, by_dict, consumers),
        *memory_rows(live, build_rings([names])),
    ]


def restart_row(live: LiveRing, by_dict: SortedDictRing, consumers: list[Consumer]) -> Row:
    """Everybody leaves and comes back, one after the other; it must end as it began, bit by bit."""
    owner, packed = live.owner.copy(), live.points.packed.copy()

    def restart() -> None:
        for consumer in consumers:
            live.leave(consumer.consumer_id)
            live.join(consumer)

    def restart_by_dict() -> None:
        for number in range(len(consumers)):
            by_dict.leave(number)
            by_dict.join(number)

    ours_s, _ = seconds(restart)
    assert live.owner.tobytes() == owner.tobytes()
    assert live.points.packed.tobytes() == packed.tobytes()
    peer_s, _ = seconds(restart_by_dict)
    what = f"rolling restart of {len(consumers):,}, bit-identical after it"
    return Row(what, ours_s * 1000, BY_DICT, peer_s * 1000, "bit-identical")


def memory_rows(live: LiveRing, rings: Rings) -> list[Row]:
    """What the arrays hold for each point and each topic, with the room that is kept free."""
    built = (rings.key.nbytes + rings.owner.nbytes) / len(rings.key)
    kept = live.points.nbytes / len(live.points.packed)
    topic = (live.hash.nbytes + live.owner.nbytes) / len(live.hash)
    return [
        Row(f"bytes a {what}", held, "the most it may be", most, f"<= {most} bytes", unit="B")
        for what, held, most in (
            ("ring point, built once", built, 12),
            ("ring point, live", kept, 12),
            ("topic", topic, 8),
        )
    ]


def check_all_agree(live: LiveRing, by_dict: SortedDictRing, names: list[str], topics: list[str]) -> None:
    """A leave and a join give the same moves by all three ways; ``topics`` are in hash order."""
    ids = np.arange(len(names), dtype=np.int32)
    for number in (0, len(names) // 2, len(names) - 1):
        before, consumer = live.owner.copy(), live.members.consumers[number]
        moves = live.leave(number)
        others = [name for name in names if name != names[number]]
        exact = recompute(others, np.delete(ids, number), live.hash, before)
        assert dict(zip(moves.topic.tolist(), moves.new_owner.tolist(), strict=True)) == by_dict.leave(number)
        assert (moves.topic.tolist(), moves.new_owner.tolist()) == (exact.topic.tolist(), exact.new_owner.tolist())
        back = live.join(consumer)
        assert dict(zip(back.topic.tolist(), back.new_owner.tolist(), strict=True)) == by_dict.join(number)
    assert hash_all_again(topics, names) == live.owner.tolist()
