"""Rings in bulk beside uhashring: building one, one look-up, and all topics of a subscription, warm and cold.

Each row twice: beside uhashring as it is shipped, for which the bars are, and beside uhashring given our hash. The
second kind answers alike, and that is checked before anything is timed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk import sort_topics
from engine.failover.bulk_ring import Rings, build_rings
from engine.failover.ring import failover_ring
from engine.hashing import murmur3_32
from tests.bench.fleet_support import (
    AS_SHIPPED,
    FULL,
    WITH_OUR_HASH,
    Size,
    best_in_turn,
    check_equal,
    consumer_names,
    median_seconds,
    peer_ring,
    seconds,
    topic_names,
)
from tests.bench.table import Row

FEW_LOOK_UPS = 5_000


def cold(topics: list[str], names: list[str]) -> NDArray[np.int32]:
    """From names to the owner of each topic, in the order of the names."""
    return build_rings([names]).look_up(0, murmur3_bulk(topics))


def rows(size: Size = FULL, look_up_at: tuple[int, ...] = (10, 100, 1_000)) -> list[Row]:
    """Two rows for each comparison."""
    topics, names = topic_names(size.topics), consumer_names(size.consumers)
    rings = build_rings([names])
    result = sort_topics(murmur3_bulk(topics))
    check_equal(peer_all(names, topics, our_hash=True), names, rings, topics)
    live = failover_ring(tuple(names))
    assert cold(topics, names)[result.row].tolist() == live.owners_of_sorted(result.hash).tolist()
    warm_s = median_seconds(lambda: live.owners_of_sorted(result.hash), size.rounds)
    cold_s = median_seconds(lambda: cold(topics, names), size.rounds)
    outcome = []
    for peer, our_hash in ((AS_SHIPPED, False), (WITH_OUR_HASH, True)):
        build_s, peer_build_s = best_in_turn(
            lambda: build_rings([names]), lambda our=our_hash: peer_ring(names, our_hash=our), size.rounds
        )
        ring = peer_ring(names, our_hash=our_hash)
        peer_warm_s, _ = seconds(lambda ring=ring: list(map(ring.get_node, topics)))
        what = f"{size.topics:,} topics x {size.consumers:,} consumers"
        bars = ("", "", "") if our_hash else (">= 200x", ">= 12x", ">= 25x")
        outcome += [
            Row(f"assign {what}, warm", warm_s * 1000, peer, peer_warm_s * 1000, bars[0]),
            Row(f"assign {what}, cold", cold_s * 1000, peer, (peer_build_s + peer_warm_s) * 1000, bars[1]),
            Row(f"build a ring of {size.consumers:,} consumers", build_s * 1000, peer, peer_build_s * 1000, bars[2]),
        ]
        outcome += [look_up_row(topics[:FEW_LOOK_UPS], count, peer, our_hash, size) for count in look_up_at]
    return outcome


def peer_all(names: list[str], topics: list[str], *, our_hash: bool) -> list[str]:
    """The name of each topic's owner, by the peer."""
    return list(map(peer_ring(names, our_hash=our_hash).get_node, topics))


def look_up_row(topics: list[str], consumers: int, peer: str, our_hash: bool, size: Size) -> Row:
    """One look-up from a name: the mean of many calls, of the best of several rounds in turn."""
    names = consumer_names(consumers)
    rings: Rings = build_rings([names])
    ours, ring = failover_ring(tuple(names)), peer_ring(names, our_hash=our_hash)
    check_equal(peer_all(names, topics, our_hash=True), names, rings, topics)
    assert [ours.owner_index(murmur3_32(topic)) for topic in topics] == rings.look_up(0, murmur3_bulk(topics)).tolist()
    ours_s, peer_s = best_in_turn(
        lambda: [ours.owner_index(murmur3_32(topic)) for topic in topics],
        lambda: [ring.get_node(topic) for topic in topics],
        4 * size.rounds,
    )
    ours_s, peer_s = ours_s / len(topics), peer_s / len(topics)
    return Row(f"one look-up among {consumers:,} consumers", ours_s * 1000, peer, peer_s * 1000)
