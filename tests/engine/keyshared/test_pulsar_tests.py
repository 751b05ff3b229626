"""What Pulsar's own unit tests of the selectors state."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.keyshared.model import Consumer, DeclaredRanges
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky, texts


def test_three_consumers_of_three_points_tile_the_current_ring() -> None:
    selector = ring(["consumer1", "consumer2", "consumer3"], points=3)
    assert texts(selector, 1) == "[14359,18366] [29991,39817] [52980,60442]"
    assert texts(selector, 2) == "[1,6668] [39818,52979] [60443,63679] [65184,65535]"
    assert texts(selector, 3) == "[6669,14358] [18367,29990] [63680,65183]"


def test_three_consumers_of_three_points_on_the_oldest_ring() -> None:
    selector = ring(["consumer1", "consumer2", "consumer3"], points=3, form=RingForm.NAME_I)
    assert texts(selector, 1) == "[0,330121749] [330121750,618146114] [1797637922,1976098885]"
    assert texts(selector, 2) == "[938427576,1094135919] [1138613629,1342907082] [1342907083,1797637921]"
    assert texts(selector, 3) == "[618146115,772640562] [772640563,938427575] [1094135920,1138613628]"


def test_of_a_hundred_namesakes_one_leaves_or_joins_and_bystanders_keep_their_slots() -> None:
    selector = ring(["c"] * 100)
    before = [selector.owner(slot) for slot in range(1, 65_536)]
    left = selector.leave(50)
    assert all(was in (50, left.owner(slot)) for slot, was in enumerate(before, start=1))
    back = left.join(Consumer(50, "c"))
    assert all(back.owner(slot) in (50, left.owner(slot)) for slot in range(1, 65_536))


def test_four_joins_halve_the_widest_range_and_the_newcomer_takes_the_lower_half() -> None:
    selector = accepted(auto_split(64).join_all([Consumer(number, "same") for number in (1, 2, 3, 4)]))
    assert [texts(selector, number) for number in (1, 2, 3, 4)] == ["[49,64]", "[17,32]", "[0,16]", "[33,48]"]


def test_eight_join_and_leave_in_join_order() -> None:
    selector = accepted(auto_split(64).join_all([Consumer(number, "c") for number in range(8)]))
    for number in range(8):
        shown = {slot: owner for owner, (piece,) in selector.ranges().items() for slot in range(piece.start, piece.end)}
        assert all(selector.owner(slot) == owner for slot, owner in shown.items())
        selector = selector.leave(number)
    assert (dict(selector.ranges()), selector.owner(1)) == ({}, None)


def test_sticky_owners_and_leaving() -> None:
    selector = sticky(sticky_selector(10), ((0, 2),), ((3, 9),))
    assert [selector.owner(slot) for slot in range(10)] == [1, 1, 1, 2, 2, 2, 2, 2, 2, 2]
    assert selector.leave(1).owner(1) is None
    assert texts(sticky(sticky_selector(10), ((9, 12), (15, 20))), 1) == "[9,12] [15,20]"


@pytest.mark.parametrize(
    "declared",
    [
        *[((s, e),) for s, e in ((4, 6), (1, 3), (2, 2), (5, 5), (1, 5), (2, 6), (2, 5), (1, 6), (8, 6), (5, 10))],
        ((2, 2), (3, 3), (4, 5)),
        ((0, 0), (1, 2)),
        ((11, 13), (12, 12), (15, 15), (14, 16)),
        (),
        None,
    ],
)
def test_what_a_sticky_join_refuses_leaves_the_selector_as_it_was(declared: DeclaredRanges | None) -> None:
    selector = sticky(sticky_selector(10), ((2, 5),))
    assert isinstance(selector.join(Consumer(2, "c", declared)), Rejection)
    assert dict(selector.ranges()).keys() == {1}


def test_a_slot_between_two_ranges_of_one_consumer_has_no_owner() -> None:
    assert sticky(sticky_selector(), ((0, 9999), (20_000, 29_999), (40_000, 49_999))).owner(15_000) is None
