"""Both sticky forms against the oracle that keeps ranges as a client sent them: who may join, and who gets a slot."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.model import Consumer, DeclaredRanges, Selector
from engine.keyshared.sticky import LegacyStickySelector, legacy_sticky_selector, sticky_selector
from engine.ranges import HashRange, join_neighbours
from tests.engine.keyshared.selectors import accepted
from tests.oracles.selectors import OldSticky, Sticky

LAST = 24
DECLARED = st.lists(
    st.tuples(st.integers(0, LAST), st.integers(-1, 5)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    min_size=1,
    max_size=4,
).map(tuple)
STEPS = st.lists(st.tuples(st.integers(0, 4), DECLARED), max_size=12)

Step = tuple[int, DeclaredRanges]


def compare(selector: Selector, oracle: OldSticky | Sticky, steps: list[Step]) -> Selector:
    """Each step lets a consumer join with these ranges, or leave if it is there."""
    for number, declared in steps:
        if number in oracle.ranges:
            oracle.leave(number)
            selector = selector.leave(number)
        else:
            joined = selector.join(Consumer(number, f"c{number}", declared))
            assert isinstance(joined, Rejection) != oracle.join(number, f"c{number}", declared)
            selector = selector if isinstance(joined, Rejection) else joined
        assert [selector.owner(slot) for slot in range(LAST + 8)] == [oracle.owner(slot) for slot in range(LAST + 8)]
        assert {consumer.consumer_id for consumer in selector.consumers} == oracle.ranges.keys()
    return selector


@settings(max_examples=150, deadline=None)
@given(STEPS)
@example([(1, ((5, 9),)), (2, ((9, 12),)), (2, ((0, 5),)), (2, ((10, 12),)), (3, ((0, 4),))])
def test_the_current_form_takes_and_serves_the_ranges_as_they_were_sent(steps: list[Step]) -> None:
    oracle = Sticky(murmur3_32)
    selector = compare(accepted(sticky_selector()), oracle, steps)
    assert selector.ranges() == {
        number: join_neighbours(HashRange(*each) for each in ranges) for number, ranges in oracle.ranges.items()
    }


@settings(max_examples=150, deadline=None)
@given(STEPS)
@example([(1, ((5, 9), (15, 19))), (2, ((10, 14),)), (3, ((9, 9),)), (3, ((11, 12),)), (3, ((14, 15),))])
@example([(1, ((3, 3), (7, 7))), (2, ((4, 6),)), (1, ((5, 5),)), (1, ((8, 8),))])
@example([(1, ((2, 9), (0, 4))), (2, ((5, 6),)), (2, ((9, 9),)), (2, ((10, 11),))])
def test_the_earlier_form_takes_and_serves_what_its_end_points_say(steps: list[Step]) -> None:
    oracle = OldSticky(murmur3_32, folds_zero=True)
    selector = compare(accepted(legacy_sticky_selector()), oracle, steps)
    assert isinstance(selector, LegacyStickySelector)
    served = defaultdict(list)
    for slot in range(LAST + 8):
        if (owner := oracle.owner(slot)) is not None:
            served[owner].append(HashRange(slot, slot))
    assert selector.served_ranges() == {owner: join_neighbours(slots) for owner, slots in served.items()}
    ends = sorted(oracle.ends)
    pairs = [(ends[at], ends[at + 1]) for at in range(0, len(ends) - 1, 2)]
    result = defaultdict(list)
    for low, high in pairs:
        if oracle.ends[low] == oracle.ends[high]:
            result[oracle.ends[low]].append(HashRange(low, high))
    assert selector.ranges() == {owner: tuple(pieces) for owner, pieces in result.items()}


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    ("declared", "taken"),
    [
        (((0, 9),), True),
        (((0, 10),), False),
        (((12, 15),), False),
        (((20, 20),), False),
        (((19, 30),), False),
        (((21, 30),), True),
        (((5, 25),), False),
        (((9, 9), (22, 22)), True),
        (((9, 9), (15, 15)), False),
    ],
)
def test_a_range_that_shares_one_slot_with_another_s_is_refused(
    declared: DeclaredRanges, taken: bool, older: bool
) -> None:
    empty: Selector = accepted(legacy_sticky_selector() if older else sticky_selector())
    selector = accepted(empty.join(Consumer(1, "c", ((10, 20),))))
    assert isinstance(selector.join(Consumer(2, "c", declared)), Rejection) != taken
