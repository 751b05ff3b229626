"""Shares, their chance and their causes, against slots and points that are counted one by one."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from engine.keyshared.fairness import CROWDED_BELOW, Cause, Fairness, chance_of_share, fairness_of
from engine.keyshared.model import Consumer, SlotSpace
from engine.keyshared.ring import RingForm, point_key
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky

TINY = SlotSpace(1, 255)
NAMES = ["c-1", "c-11", "c-1", "d", "e"]


def beta_below(share: float, own: int, others: int) -> float:
    """The beta distribution function, by Simpson's rule over its density."""
    scale = math.factorial(own + others - 1) / (math.factorial(own - 1) * math.factorial(others - 1))

    def density(at: float) -> float:
        return scale * at ** (own - 1) * (1 - at) ** (others - 1)

    parts = 2000
    step = share / parts
    inner = math.fsum(density(step * at) * (4 if at % 2 else 2) for at in range(1, parts))
    return (density(0.0) + inner + density(share)) * step / 3


@pytest.mark.parametrize(("consumers", "points"), [(2, 1), (2, 2), (3, 2), (4, 10), (7, 3)])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5, 0.7, 0.95])
def test_the_chance_of_a_share_is_that_of_the_beta_distribution(share: float, consumers: int, points: int) -> None:
    below = beta_below(share, points, (consumers - 1) * points)
    expected = min(1.0, 2 * min(below, 1 - below))
    assert chance_of_share(share, consumers, points) == pytest.approx(expected, abs=1e-7)


def test_the_chance_of_everything_and_of_nothing() -> None:
    assert chance_of_share(0.3, 1, 5) == 1.0
    assert [chance_of_share(share, 2, 5) for share in (0.0, 1.0, -0.1, 1.1)] == [0.0] * 4


@pytest.mark.parametrize("form", list(RingForm))
@pytest.mark.parametrize("points", [3, 12, 200])
def test_slots_points_and_losses_of_a_ring_are_those_that_are_counted(form: RingForm, points: int) -> None:
    selector = ring(NAMES, form=form, points=points, slots=TINY)
    fairness = fairness_of(selector)
    served = Counter(selector.owner(slot) for slot in range(TINY.low, TINY.high + 1))
    claims = {number: set(selector.points_of(member)) for number, member in enumerate(selector.members, start=1)}
    occupied = set().union(*claims.values())
    assert (fairness.claimed_points, fairness.occupied_points) == (points * len(NAMES), len(occupied))
    assert fairness.fair_share == 1 / len(NAMES)
    assert fairness.crowded == (len(occupied) < CROWDED_BELOW * points * len(NAMES))
    for each in fairness.consumers:
        assert (each.slots, each.share) == (served[each.consumer_id], served[each.consumer_id] / TINY.size)
        assert each.chance == chance_of_share(each.share, len(NAMES), points)
        assert each.lost_points == lost_by(each.consumer_id, claims, selector.members[each.consumer_id - 1].lost, form)
    known = {consumer.consumer_id: consumer.slots for consumer in fairness.consumers}
    assert fairness_of(selector, known) == fairness


def lost_by(number: int, claims: dict[int, set[int]], given_up: frozenset[int], form: RingForm) -> int:
    """Points that others claim too, where claimants share; else those that an earlier consumer claims."""
    rivals = [mine for other, mine in claims.items() if other != number and (form.shares_points or other < number)]
    return len(given_up) + len(claims[number] & set().union(*rivals))


def test_names_are_to_blame_only_where_their_points_have_one_text() -> None:
    names = [f"x-{number}" for number in range(100)]
    causes = {
        names[consumer.consumer_id - 1]: consumer.cause
        for consumer in fairness_of(ring(names, form=RingForm.NAME_I)).consumers
    }
    assert Cause.NAMES in causes.values()
    texts = {name: {point_key(RingForm.NAME_I, name, 0, replica) for replica in range(100)} for name in names}
    for name, cause in causes.items():
        if cause is Cause.NAMES:
            assert any(texts[name] & other for rival, other in texts.items() if rival != name)
    assert {consumer.cause for consumer in fairness_of(ring(names)).consumers} == {None}


def test_namesakes_are_to_blame_only_in_the_forms_that_do_not_tell_them_apart() -> None:
    for form in RingForm:
        same = fairness_of(ring(["a", "a", *(f"b{number}" for number in range(8))], form=form, points=100))
        causes = {consumer.consumer_id for consumer in same.consumers if consumer.cause is Cause.NAMES}
        assert causes == ({1, 2} if form.shares_points else set())


def test_join_order_is_to_blame_where_points_run_out() -> None:
    crowded = fairness_of(ring([f"h{number}" for number in range(40)], points=100, slots=SlotSpace(1, 1023)))
    assert crowded.crowded and Cause.JOIN_ORDER in {consumer.cause for consumer in crowded.consumers}


def test_the_border_of_a_crowded_ring_is_nine_tenths_of_its_points() -> None:
    assert not Fairness((), 0.0, 100, 90).crowded
    assert Fairness((), 0.0, 100, 89).crowded
    assert not Fairness((), 0.0).crowded


def test_without_a_ring_a_slot_more_is_rounding_and_two_are_not() -> None:
    """Ten slots 1 .. 9 (0 does not occur), two consumers: five and four of ten are even, six and three are not."""
    even = fairness_of(sticky(sticky_selector(10), ((0, 5),), ((6, 9),)))
    assert [(consumer.slots, consumer.share, consumer.cause) for consumer in even.consumers] == [
        (5, 0.5, None),
        (4, 0.4, None),
    ]
    uneven = fairness_of(sticky(sticky_selector(10), ((0, 6),), ((7, 9),)))
    assert [(consumer.slots, consumer.cause) for consumer in uneven.consumers] == [(6, None), (3, Cause.DECLARED)]
    assert {consumer.chance for consumer in uneven.consumers} == {1.0}
    assert {consumer.lost_points for consumer in uneven.consumers} == {0}
    assert (uneven.claimed_points, uneven.occupied_points) == (0, 0)
    three = fairness_of(accepted(auto_split(16).join_all([Consumer(number, "c") for number in (1, 2, 3)])))
    assert [(consumer.slots, consumer.cause) for consumer in three.consumers] == [
        (7, Cause.HISTORY),
        (4, Cause.HISTORY),
        (4, Cause.HISTORY),
    ]


def test_nobody_has_no_share() -> None:
    assert fairness_of(ring()) == Fairness((), 0.0)
