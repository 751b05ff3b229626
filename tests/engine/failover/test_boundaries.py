"""Where a rule turns: levels just too far apart, equal names, narrow rings, empty lists, and the types of columns."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from engine.config import ReleaseBehaviour, behaviour_of
from engine.failover import choose as module
from engine.failover.bulk import assign
from engine.failover.bulk_ring import NOBODY, build_rings, cohorts
from engine.failover.choose import levels_overflow, sort_consumers, sort_once
from engine.failover.explain import WhyNot, explain_choice, rivals_of
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, scalar_ring
from engine.hashing import murmur3_32

HIGHEST = 2**31 - 1


def consumers(names: str, levels: tuple[int, ...] = ()) -> list[Consumer]:
    return [Consumer(at, name, levels[at] if levels else 0) for at, name in enumerate(names)]


def ids(order: tuple[Consumer, ...]) -> list[int]:
    return [consumer.consumer_id for consumer in order]


def test_levels_overflow_from_just_one_more_than_the_highest_on() -> None:
    assert levels_overflow([-1, HIGHEST]) and not levels_overflow([0, HIGHEST]) and not levels_overflow([5])
    for levels in ((-1, HIGHEST), (0, HIGHEST)):
        order = sort_consumers(consumers("ab", levels))
        leading = cohorts([["a", "b"]], [list(levels)])
        assert leading.members[: leading.sizes[0]].tolist() == ids(order)[: leading.sizes[0]]


def test_one_sort_goes_by_name_and_keeps_equal_names_as_they_came() -> None:
    assert ids(sort_once(consumers("bca"))) == [2, 0, 1]
    assert ids(sort_once(consumers("aaa"))) == [0, 1, 2]
    assert ids(sort_once(consumers("bab"))) == [1, 0, 2]


def test_joins_are_played_again_up_to_the_limit_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = (-(2**31), -(2**30), 0, 2**30, HIGHEST)
    circles = [
        circle
        for chosen in product(levels, repeat=4)
        if levels_overflow((circle := consumers("abcd", chosen)) and chosen)
        and sort_once(circle) != sort_consumers(circle)
    ]
    assert circles, "some of these depend on how they came about"
    circle = circles[0]
    replayed = sort_consumers(circle)
    monkeypatch.setattr(module, "MAX_REPLAYED_JOINS", 4)
    assert sort_consumers(circle) == replayed
    monkeypatch.setattr(module, "MAX_REPLAYED_JOINS", 3)
    assert sort_consumers(circle) == sort_once(circle)


@pytest.mark.parametrize("space", [2**8, 2**31])
def test_a_ring_that_takes_joins_is_as_narrow_as_it_should_be(space: int) -> None:
    order = sort_consumers(consumers("cab"))
    ring = scalar_ring(order, space)
    fixed = FailoverRing(tuple(each.name for each in order), space)
    hashes = range(space) if space == 2**8 else range(0, space, 2**22)
    assert [next(iter(ring.heirs(value, 1))) for value in hashes] == [order[fixed.owner_index(v)] for v in hashes]


def test_two_heirs_are_named_and_they_are_those_that_come_next() -> None:
    five = consumers("edcba")
    for number in range(20):
        topic = f"persistent://t/n/x-{number}-partition-0"
        why = explain_choice(five, topic, 0, consistent_hashing=True)
        assert why is not None and len(why.heirs) == 2
        left = [each for each in five if each != why.choice.active]
        for heir in why.heirs:
            again = explain_choice(left, topic, 0, consistent_hashing=True)
            assert again is not None and again.choice.active == heir
            left.remove(heir)


def test_a_consumer_without_a_point_of_its_own_says_so() -> None:
    came = [Consumer(1, "a"), Consumer(2, "a"), Consumer(3, "b")]
    reasons = set()
    for number in range(40):
        why = explain_choice(came, f"persistent://t/n/y-{number}-partition-0", 0, consistent_hashing=True)
        assert why is not None
        result = {rival.consumer.consumer_id: rival.why_not for rival in rivals_of(why)}
        if why.choice.active.consumer_id == 3:  # at a point of b, where nobody else claims anything
            assert result == {1: WhyNot.NO_POINT, 2: WhyNot.FARTHER_POINT}
        else:
            assert result == {1: WhyNot.LOST_POINT, 3: WhyNot.FARTHER_POINT}
        reasons |= set(result.values())
    assert reasons == {WhyNot.NO_POINT, WhyNot.FARTHER_POINT, WhyNot.LOST_POINT}


def test_a_release_without_the_flag_takes_partitions_by_modulo_in_bulk_too() -> None:
    old = behaviour_of("2.11.0")
    assert isinstance(old, ReleaseBehaviour)
    names = [["c", "a", "b"]]
    hashes = np.array([murmur3_32(f"persistent://t/n/x-partition-{at}") for at in range(6)])
    result = assign(cohorts(names), build_rings(names), 0, hashes, np.arange(6), consistent_hashing=True, behaviour=old)
    assert result.tolist() == [1, 2, 0, 1, 2, 0]


def test_columns_of_owners_are_32_bit_also_where_there_is_nobody() -> None:
    hashes, indices = np.array([1, 2]), np.array([0, -1])
    for flag in (True, False):
        owners = assign(cohorts([[]]), build_rings([[]]), 0, hashes, indices, consistent_hashing=flag)
        assert (owners.dtype, owners.tolist()) == (np.int32, [NOBODY, NOBODY])
    assert build_rings([[]]).look_up(0, hashes).dtype == np.int32
    assert build_rings([["a"], []]).look_up(np.array([0, 1]), hashes).dtype == np.int32
