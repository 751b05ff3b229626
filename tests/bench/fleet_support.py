"""What the fleet benchmarks share: a made-up fleet, and peers that are shown to give the same answers."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import mmh3
import numpy as np
from uhashring import HashRing

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk_ring import Rings

T = TypeVar("T")
POINTS = 100
AS_SHIPPED = "uhashring 2.5"
WITH_OUR_HASH = "uhashring 2.5 given murmur3"


@dataclass(frozen=True, slots=True)
class Size:
    """How large a benchmark is; the tests run small ones."""

    topics: int = 1_000_000
    consumers: int = 1_000
    rounds: int = 7


FULL = Size()


def topic_names(count: int) -> list[str]:
    """Names of about 60 bytes."""
    return [
        f"persistent://tenant-{at % 40}/namespace-{at % 400}/orders-{at}-partition-{at % 16}" for at in range(count)
    ]


def consumer_names(count: int) -> list[str]:
    """In Pulsar's order. They end in a dash because uhashring puts one between a name and a number of its own."""
    return sorted(f"host-{at}-" for at in range(count))


def murmur3(key: str) -> int:
    """Pulsar's hash, for the peer."""
    return mmh3.hash(key, 0, False) & 0x7FFFFFFF


def peer_ring(names: list[str], *, our_hash: bool) -> HashRing:
    """The peer's ring: with its own hash (MD5), or with ours, so that its answers can be compared."""
    return HashRing([name.removesuffix("-") for name in names], vnodes=POINTS, hash_fn=murmur3 if our_hash else None)


def seconds(work: Callable[[], T]) -> tuple[float, T]:
    """Wall-clock of one call, without the collector, and what it gave."""
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        result = work()
        return time.perf_counter() - begin, result
    finally:
        gc.enable()


def median_seconds(work: Callable[[], object], rounds: int) -> float:
    """Median wall-clock of so many calls, after one to warm up."""
    work()
    return statistics.median(seconds(work)[0] for _ in range(rounds))


def best_in_turn(ours: Callable[[], object], peer: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The shortest of so many calls of each, one after the other: what is this short is swamped by any other load."""
    ours(), peer()
    taken = [(seconds(ours)[0], seconds(peer)[0]) for _ in range(rounds)]
    return min(each for each, _ in taken), min(each for _, each in taken)


def check_equal(peer: list[str], names: list[str], rings: Rings, topics: list[str]) -> None:
    """The peer's owners are ours. From a hash that **is** a point it goes on to the next one, which is allowed for."""
    hashes = murmur3_bulk(topics)
    on_point = np.isin(hashes, rings.points_of(0))
    expected = rings.look_up(0, (hashes + on_point) & 0x7FFFFFFF)
    assert peer == [names[owner].removesuffix("-") for owner in expected.tolist()], "the peer's owners differ from ours"
