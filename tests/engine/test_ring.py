"""The ring with all claimants, against a list of claims that is searched from end to end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from engine.ring import OwnerPolicy, Ring
from tests.properties.ring_checks import check_ring
from tests.properties.strategies import memberships, point_sets

SPACE = 2**4
POLICIES = tuple(OwnerPolicy)


def naive_owner(
    claims: list[tuple[int, int]], hash_value: int, policy: OwnerPolicy, rank: dict[int, int]
) -> tuple[int, int] | None:
    """Point and owner by search through all (point, member) claims."""
    if not claims:
        return None
    ahead = [point for point, _ in claims if point >= hash_value]
    point = min(ahead) if ahead else min(point for point, _ in claims)
    here = sorted((member for at, member in claims if at == point), key=rank.__getitem__)
    if policy is OwnerPolicy.CLAIMANTS_SHARE:
        return point, here[hash_value % len(here)]
    return point, here[-1 if policy is OwnerPolicy.LATER_CLAIMANT_OWNS else 0]


@settings(max_examples=100, deadline=None)
@given(point_sets(space=SPACE), memberships(), st.sampled_from(POLICIES), st.booleans())
def test_P_after_every_join_and_leave_the_ring_answers_like_a_search(
    points: list[tuple[int, ...]], toggles: list[int], policy: OwnerPolicy, ranked_by_name: bool
) -> None:
    """Members leave and return; a point passes to the next claimant and comes back (uhashring #6, carbon #196)."""
    order = (lambda member: -member) if ranked_by_name else None
    ring: Ring[int] = Ring(points.__getitem__, order=order, policy=policy, space=SPACE)
    present: list[int] = []
    for member in toggles:
        if member in present:
            present.remove(member)
            ring.remove(member)
        else:
            present.append(member)
            ring.add(member)
        check_ring(ring)
        rank = {each: (-each if ranked_by_name else at) for at, each in enumerate(present)}
        claims = [(point, each) for each in present for point in set(points[each])]
        for hash_value in range(SPACE):
            hit = ring.successor(hash_value)
            assert (hit and (hit.point, hit.owner)) == naive_owner(claims, hash_value, policy, rank)
            assert hit is None or hit.wrapped == (hit.point < hash_value)
        assert ring.members == tuple(sorted(present, key=rank.__getitem__))


@settings(max_examples=60, deadline=None)
@given(point_sets(space=SPACE), st.integers(0, SPACE - 1), st.sampled_from(POLICIES))
def test_heirs_are_the_owners_when_each_owner_before_has_left(
    points: list[tuple[int, ...]], hash_value: int, policy: OwnerPolicy
) -> None:
    ring: Ring[int] = Ring(points.__getitem__, policy=policy, space=SPACE)
    for member in range(len(points)):
        ring.add(member)
    heirs = ring.heirs(hash_value, 9)
    assert ring.heirs(hash_value, 2) == heirs[:2]
    for heir in heirs:
        hit = ring.successor(hash_value)
        assert hit is not None and hit.owner == heir
        ring.remove(heir)
    assert ring.successor(hash_value) is None


@settings(max_examples=60, deadline=None)
@given(point_sets(space=SPACE), st.sampled_from(POLICIES))
def test_many_members_at_once_are_those_that_join_one_by_one(
    points: list[tuple[int, ...]], policy: OwnerPolicy
) -> None:
    one_by_one: Ring[int] = Ring(points.__getitem__, order=lambda member: -member, policy=policy, space=SPACE)
    at_once: Ring[int] = Ring(points.__getitem__, order=lambda member: -member, policy=policy, space=SPACE)
    for member in range(len(points)):
        one_by_one.add(member)
    ranked = one_by_one.members
    claims = sorted((point, place) for place, member in enumerate(ranked) for point in points[member])
    at_once.add_sorted(ranked, *np.array(claims, dtype=np.int64).reshape(-1, 2).T)
    assert (list(at_once.claims()), at_once.members) == (list(one_by_one.claims()), ranked)
    check_ring(at_once)
    with pytest.raises(AssertionError, match="only an empty ring"):
        at_once.add_sorted(ranked, *np.zeros((2, 0), dtype=np.int64))


def test_claimants_of_a_point_stand_in_rank_order() -> None:
    ring: Ring[str] = Ring(lambda name: (3,), order=lambda name: name, space=8)
    for name in ("b", "c", "a"):
        ring.add(name)
    assert ring.claimants(3) == ("a", "b", "c")
    assert ring.claimants(4) == ()
    assert len(ring) == 1 and "b" in ring and "z" not in ring


def test_a_point_outside_the_space_and_a_second_join_are_refused() -> None:
    ring: Ring[str] = Ring(lambda name: (8,), space=8)
    with pytest.raises(AssertionError, match=re.escape("outside 0..7")):
        ring.add("a")
    twice: Ring[str] = Ring(lambda name: (1,), space=8)
    twice.add("a")
    with pytest.raises(AssertionError, match="already"):
        twice.add("a")
    with pytest.raises(KeyError):
        twice.remove("b")


def test_a_failing_check_shows_the_whole_state() -> None:
    ring: Ring[str] = Ring(lambda name: (1, 5), space=8)
    ring.add("a")
    ring._claims.add(3 << 24)
    with pytest.raises(AssertionError, match=r"(?s)members \('a',\), claims .*\(3, \('a',\)\)"):
        check_ring(ring)


def test_P_a_ring_that_forgets_the_losing_claimant_is_caught() -> None:
    """The mutant keeps one owner per point, as several published rings do; a short history shows the difference."""

    def differs(case: tuple[list[tuple[int, ...]], list[int]]) -> bool:
        points, toggles = case
        ring: Ring[int] = Ring(points.__getitem__, space=SPACE)
        forgetful: dict[int, int] = {}
        for member in toggles:
            if member in ring:
                ring.remove(member)
                forgetful = {point: owner for point, owner in forgetful.items() if owner != member}
            else:
                ring.add(member)
                forgetful.update(dict.fromkeys(points[member], member))
        return {point: ring.claimants(point)[-1] for point, _ in ring.claims()} != forgetful

    points, toggles = find(st.tuples(point_sets(space=SPACE), memberships()), differs)
    assert len(toggles) == 3, f"join, join, leave is enough: {points} {toggles}"
