"""A single look-up answers like the scalar ring, also with one point, with many, and past the last one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk import single_look_up
from engine.failover.bulk_ring import build_rings
from engine.failover.choose import sort_consumers
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing
from engine.hashing import murmur3_32, utf8
from tests.properties import strategies


@settings(max_examples=40, deadline=None)
@given(strategies.cohorts(max_size=6), st.lists(st.text(st.characters(codec=None)), max_size=30))
def test_a_single_look_up_is_the_scalar_one(consumers: tuple[Consumer, ...], topics: list[str]) -> None:
    owner_of = single_look_up(build_rings([[consumer.name for consumer in consumers]]))
    order = sort_consumers(consumers)
    ring = FailoverRing(tuple(consumer.name for consumer in order))
    for topic in topics:
        expected = order[ring.owner_index(murmur3_32(topic))].consumer_id
        assert owner_of(topic) == owner_of(utf8(topic)) == expected


@pytest.mark.parametrize(("points", "bits"), [(1, 31), (1, 8), (3, 31), (100, 8), (100, 16)])
def test_a_single_look_up_agrees_with_the_bulk_one_on_odd_rings(points: int, bits: int) -> None:
    """Few points leave most slices empty; narrow hashes crowd all points into the first slices."""
    rings = build_rings([["x"], ["b", "a", "b"]], points=points, bits=bits)
    topics = [f"persistent://t/n/{at}" for at in range(2_000)]
    for number in (0, 1):
        owner_of = single_look_up(rings, number)
        assert [owner_of(topic) for topic in topics] == rings.look_up(number, murmur3_bulk(topics)).tolist()


def test_a_ring_without_points_is_refused() -> None:
    with pytest.raises(AssertionError, match="ring 0 has no points"):
        single_look_up(build_rings([[]]))
