"""Which keys a growth moves, and where clients disagree: held to counting every hash."""

from __future__ import annotations

from math import lcm

import pytest

from engine.errors import Rejection
from engine.routing.clients import CPP_DEFAULT, PYTHON_DEFAULT, every_routing, partition_of_bytes
from engine.routing.growth import (
    Disagreements,
    KeyMoves,
    client_disagreements,
    expected_moved_share,
    moved_keys,
    moves_of_clients,
)
from tests.engine.routing.walks import ROUTINGS, partition_of_key

KEYS = [f"order-{number}" for number in range(2000)]


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 7), (4, 6), (6, 12), (5, 7), (10, 25), (9, 9)])
def test_the_expected_share_is_that_of_all_hashes(before: int, after: int) -> None:
    hashes = range(lcm(before, after))
    moved = sum(1 for value in hashes if value % before != value % after)
    assert expected_moved_share(before, after) == pytest.approx(moved / len(hashes))


@pytest.mark.parametrize("hashing", ["Murmur3_32Hash", "BoostHash"])
@pytest.mark.parametrize(("before", "after"), [(6, 12), (4, 5), (10, 15)])
def test_of_many_keys_about_the_expected_share_moves(hashing: str, before: int, after: int) -> None:
    """Within five standard deviations of so many independent keys."""
    moves = moved_keys(KEYS, before, after, ROUTINGS[hashing])
    assert isinstance(moves, KeyMoves)
    share = len(moves.moved) / len(KEYS)
    assert abs(share - moves.expected_share) < 5 * (0.25 / len(KEYS)) ** 0.5


def test_java_s_hash_of_numbered_keys_is_not_random_where_the_partitions_divide_30() -> None:
    """31 = 30 + 1: short keys go by the sum of their characters, and far fewer of these move than random ones would."""
    short = [f"o-{number}" for number in range(100)]
    for partitions in (2, 3, 5, 6, 10, 15, 30):
        assert [partition_of_key(key, "JavaStringHash", partitions) for key in short] == [
            sum(map(ord, key)) % partitions for key in short
        ]
    moves = moved_keys(KEYS, 10, 15)
    assert isinstance(moves, KeyMoves)
    assert len(moves.moved) / len(KEYS) < moves.expected_share - 0.2


def test_each_key_is_where_it_is_routed_before_and_after() -> None:
    moves = moved_keys(KEYS[:50], 6, 9, ROUTINGS["Murmur3_32Hash"])
    assert isinstance(moves, KeyMoves)
    for place in moves.places:
        assert place.left == partition_of_key(place.key, "Murmur3_32Hash", 6)
        assert place.right == partition_of_key(place.key, "Murmur3_32Hash", 9)
        assert (place in moves.moved) == (place.left != place.right)


def test_doubling_moves_a_key_by_the_old_count_or_not_at_all() -> None:
    moves = moved_keys(KEYS, 6, 12)
    assert isinstance(moves, KeyMoves)
    assert {(place.right or 0) - (place.left or 0) for place in moves.places} == {0, 6}


def test_growing_by_nothing_moves_nothing_and_from_one_partition_no_key_stays_by_luck() -> None:
    for routing in ROUTINGS.values():
        still = moved_keys(KEYS, 7, 7, routing)
        assert isinstance(still, KeyMoves) and still.moved == () and still.expected_share == 0


def test_every_client_has_its_own_keys_that_move() -> None:
    result = moves_of_clients(iter(KEYS), 6, 12)
    assert not isinstance(result, Rejection)
    alike = {routing: moves.moved for routings, moves in result for routing in routings}
    assert set(alike) == {routing for routing in every_routing() if routing.known}
    assert all(alike[routing] == alike[routings[0]] for routings, _ in result for routing in routings)
    assert len({alike[routing] for routing in ROUTINGS.values()}) == len(ROUTINGS)


def test_clients_that_differ_in_the_empty_key_are_kept_apart() -> None:
    result = moves_of_clients([""], 6, 12)
    assert not isinstance(result, Rejection)
    boost = {
        tuple(routing.client for routing in routings): moves.places[0].right
        for routings, moves in result
        if moves.routing.hashing == "BoostHash"
    }
    assert boost == {("cpp", "node"): partition_of_bytes(b"", CPP_DEFAULT, 12), ("python",): None}


def test_java_and_python_agree_on_one_key_in_p_by_luck() -> None:
    disagreements = client_disagreements(KEYS, 4)
    assert isinstance(disagreements, Disagreements)
    assert disagreements.expected_share == 0.75
    assert abs(len(disagreements.disagreeing) / len(KEYS) - 0.75) < 0.05
    alone = client_disagreements(KEYS, 1)
    assert isinstance(alone, Disagreements) and alone.disagreeing == () and alone.expected_share == 0


def test_the_empty_key_is_a_key_for_java_alone() -> None:
    disagreements = client_disagreements([""], 3)
    assert isinstance(disagreements, Disagreements)
    assert [(place.left, place.right, place.differ) for place in disagreements.places] == [(0, None, True)]
    same = client_disagreements([""], 3, PYTHON_DEFAULT, PYTHON_DEFAULT)
    assert isinstance(same, Disagreements) and same.disagreeing == () and same.expected_share == 0


@pytest.mark.parametrize(("before", "after"), [(0, 4), (-1, 4), (5, 4), (5, 0)])
def test_partitions_that_cannot_be_or_shrink_are_refused_by_their_field(before: int, after: int) -> None:
    for refused in (moved_keys(KEYS, before, after), moves_of_clients(KEYS, before, after)):
        assert isinstance(refused, Rejection) and refused.field == "partitions"


def test_a_comparison_needs_a_partition() -> None:
    refused = client_disagreements(KEYS, 0)
    assert isinstance(refused, Rejection) and refused.field == "partitions"
