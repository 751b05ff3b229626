"""The immutable failover ring, against Pulsar's own way: a map that is filled in sorted order and overwritten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from engine.failover.choose import sort_consumers
from engine.failover.model import Consumer
from engine.failover.ring import POINTS_PER_CONSUMER, FailoverRing, failover_points, failover_ring
from engine.hashing import HASH_SPACE_SIZE, murmur3_32
from engine.ranges import HashRange, covers_exactly, join_neighbours
from tests.properties.strategies import cohorts, narrow_spaces


def map_of_pulsar(names: tuple[str, ...], space: int) -> dict[int, int]:
    """``makeHashRing``: put point by point, later puts overwrite."""
    points: dict[int, int] = {}
    for index, name in enumerate(names):
        for replica in range(POINTS_PER_CONSUMER):
            points[murmur3_32(f"{name}{replica}") % space] = index
    return points


def sorted_names(consumers: tuple[Consumer, ...]) -> tuple[str, ...]:
    return tuple(consumer.name for consumer in sort_consumers(consumers))


@settings(max_examples=60, deadline=None)
@given(cohorts(), narrow_spaces())
def test_points_and_owners_are_those_of_a_map_that_is_overwritten(consumers: tuple[Consumer, ...], space: int) -> None:
    names = sorted_names(consumers)
    ring = FailoverRing(names, space)
    assert dict(zip(ring.points.tolist(), ring.owners.tolist(), strict=True)) == map_of_pulsar(names, space)
    assert (np.diff(ring.points) > 0).all()
    assert sum(ring.point_counts()) == len(ring)


@settings(max_examples=40, deadline=None)
@given(cohorts())
def test_the_full_space_gives_the_same_ring_as_the_map(consumers: tuple[Consumer, ...]) -> None:
    names = sorted_names(consumers)
    ring = failover_ring(names)
    assert dict(zip(ring.points.tolist(), ring.owners.tolist(), strict=True)) == map_of_pulsar(names, HASH_SPACE_SIZE)


@settings(max_examples=40, deadline=None)
@given(cohorts(), narrow_spaces())
def test_every_look_up_agrees_with_every_other(consumers: tuple[Consumer, ...], space: int) -> None:
    """One hash, many hashes, hit, arcs, ranges and shares agree (law L4)."""
    ring = FailoverRing(sorted_names(consumers), space)
    step = max(1, space // 512)
    hashes = np.arange(0, space, step, dtype=np.int64)
    owners = ring.owner_indices(hashes).tolist()
    assert owners == [ring.owner_index(value) for value in hashes.tolist()]
    for value, owner in zip(hashes.tolist(), owners, strict=True):
        hit = ring.hit(value)
        assert hit.owner == owner
        assert hit.wrapped == (hit.point < value)
        assert ring.claims(hit.point)[-1].owner_index == owner
    arcs = ring.arcs()
    assert covers_exactly((arc.range for arc in arcs), HashRange(0, space - 1))
    for arc in arcs:
        assert ring.owner_index(arc.range.start) == ring.owner_index(arc.range.end) == arc.owner
    for index, share in enumerate(ring.shares()):
        ranges = ring.ranges_of(index)
        assert sum(piece.size for piece in ranges) / space == pytest.approx(share, abs=1e-12)
        assert join_neighbours(ranges) == ranges
    assert sum(ring.shares()) == pytest.approx(1.0)


@settings(max_examples=40, deadline=None)
@given(cohorts(), narrow_spaces())
def test_claims_collisions_and_losses_account_for_every_point(consumers: tuple[Consumer, ...], space: int) -> None:
    names = sorted_names(consumers)
    ring = FailoverRing(names, space)
    claims = [claim for point in ring.points.tolist() for claim in ring.claims(point)]
    assert len(claims) == POINTS_PER_CONSUMER * len(names)
    assert {(claim.owner_index, claim.replica) for claim in claims} == {
        (index, replica) for index in range(len(names)) for replica in range(POINTS_PER_CONSUMER)
    }
    assert all(claim.key == f"{names[claim.owner_index]}{claim.replica}" for claim in claims)
    assert ring.collided_points() == tuple(point for point in ring.points.tolist() if len(ring.claims(point)) > 1)
    expected: dict[tuple[int, int], int] = {}
    for point in ring.points.tolist():
        *losers, winner = ring.claims(point)
        for loser in losers:
            if loser.owner_index != winner.owner_index:
                pair = (loser.owner_index, winner.owner_index)
                expected[pair] = expected.get(pair, 0) + 1
    assert {(loss.loser_index, loss.winner_index): loss.points for loss in ring.losses()} == expected


def test_a_text_that_is_no_point_has_no_claims() -> None:
    ring = failover_ring(("a",))
    assert ring.claims(int(ring.points[0]) + 1) == ()


def test_an_equal_point_counts_and_the_hash_after_the_last_one_wraps() -> None:
    ring = failover_ring(("a", "b"))
    first, last = int(ring.points[0]), int(ring.points[-1])
    assert ring.hit(last).point == last and not ring.hit(last).wrapped
    assert ring.hit(last + 1).point == first and ring.hit(last + 1).wrapped
    assert ring.hit(0).point == first and not ring.hit(0).wrapped
    assert ring.owner_index(HASH_SPACE_SIZE - 1) == ring.owner_index(0)


def test_a_ring_is_shared_and_cannot_be_written_to() -> None:
    ring = failover_ring(("a", "b"))
    assert failover_ring(("a", "b")) is ring
    with pytest.raises(ValueError, match="read-only"):
        ring.points[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        ring.owners[0] = 1


def test_a_single_consumer_owns_everything_in_one_arc() -> None:
    ring = failover_ring(("only",))
    assert ring.shares() == (1.0,)
    assert [arc.range for arc in ring.arcs()] == [HashRange(0, HASH_SPACE_SIZE - 1)]


def test_a_ring_of_nobody_and_an_odd_space_are_refused() -> None:
    with pytest.raises(AssertionError, match="at least one"):
        FailoverRing(())
    with pytest.raises(AssertionError, match="power of two"):
        FailoverRing(("a",), 1000)


def test_points_are_the_hashes_of_name_and_bare_number() -> None:
    assert failover_points("c1")[10:12] == [murmur3_32(b"c110"), murmur3_32(b"c111")]
    assert len(failover_points("")) == POINTS_PER_CONSUMER
