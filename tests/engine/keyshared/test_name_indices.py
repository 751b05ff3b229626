"""Name indices read off reported ranges: the past that is thought of gives the very same ranges."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.keyshared.model import Consumer
from engine.keyshared.name_indices import MAX_INDICES, joins_and_leaves, name_indices, with_namesakes_gone
from engine.keyshared.ring import RingForm, RingSelector, ring_selector
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted

ENOUGH = 3


def ring_after(joined: Sequence[str], left: Sequence[int], points: int = 20) -> RingSelector:
    """Consumers 0 .. join, then those leave."""
    ring = accepted(ring_selector(points=points))
    for number, name in enumerate(joined):
        ring = ring.join(Consumer(number, name))
    for number in left:
        ring = ring.leave(number)
    return ring


def reported_of(ring: RingSelector) -> list[tuple[str, tuple[HashRange, ...]]]:
    ranges = ring.ranges()
    return [(consumer.name, ranges.get(consumer.consumer_id, ())) for consumer in ring.consumers]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=7), st.sets(st.integers(0, 6)))
def test_the_ranges_show_which_namesakes_left(names: list[str], left: set[int]) -> None:
    ring = ring_after(names, sorted(left & set(range(len(names)))))
    empty = accepted(ring_selector(points=20))
    reported = reported_of(ring)
    for index, member, (_, pieces) in zip(name_indices(empty, reported), ring.members, reported, strict=True):
        if len(pieces) > ENOUGH:  # so many ends are nobody else's points by chance
            assert index == member.name_index
    again = with_namesakes_gone(empty, ring.consumers, [pieces for _, pieces in reported_of(ring)])
    assert again.ranges() == ring.ranges()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), unique=True, max_size=6), st.integers(0, 50))
def test_a_past_gives_everybody_the_index_and_uses_no_id_twice(wanted: list[tuple[str, int]], first_id: int) -> None:
    # Ids descend, so that the next free one is not the number after the last.
    consumers = [Consumer(first_id + len(wanted) - at, name) for at, (name, _) in enumerate(wanted)]
    ring = accepted(ring_selector(points=2))
    for step in joins_and_leaves(consumers, [index for _, index in wanted]):
        ring = ring.leave(step) if isinstance(step, int) else ring.join(step)  # join refuses an id that is there
    assert {(member.consumer, member.name_index) for member in ring.members} == {
        (consumer, index) for consumer, (_, index) in zip(consumers, wanted, strict=True)
    }


def test_strangers_get_the_ids_after_all_others() -> None:
    steps = list(joins_and_leaves([Consumer(9, "a"), Consumer(4, "b")], [2, 0]))
    assert steps == [Consumer(10, "a"), Consumer(11, "a"), Consumer(9, "a"), Consumer(4, "b"), 10, 11]
    assert list(joins_and_leaves([], [])) == []


def test_ranges_that_nobody_could_have_or_that_show_nothing_give_the_smallest_free_index() -> None:
    ring = accepted(ring_selector(points=3))
    strange = (HashRange(0, 12), HashRange(100, 4711))
    whole = (HashRange(ring.slots.low, ring.slots.high),)
    assert name_indices(ring, [("a", strange), ("a", strange), ("b", whole), ("b", ())]) == (0, 1, 0, 1)
    old = accepted(ring_selector(RingForm.NAME_I, points=3))
    alone = old.join(Consumer(1, "a")).ranges()[1]
    assert name_indices(old, [("a", alone)]) == (0,)


@pytest.mark.parametrize(("index", "found"), [(MAX_INDICES - 1, MAX_INDICES - 1), (MAX_INDICES, 0)])
def test_so_many_namesakes_are_thought_of(index: int, found: int) -> None:
    ring = ring_after(["a"] * (index + 1) + ["b"], range(index), points=8)
    assert name_indices(accepted(ring_selector(points=8)), reported_of(ring)) == (found, 0)


@pytest.mark.parametrize("form", [RingForm.CURRENT, RingForm.INDEXED_REPLACE])
@pytest.mark.parametrize("points", [1, 2, 5])
def test_the_end_of_the_space_is_nobodys_point(form: RingForm, points: int) -> None:
    """Ranges that all end at points, and the one that reaches the end of the space, in the forms that index names."""
    for other in "bcdefghijk":
        empty = ring = accepted(ring_selector(form, points=points))
        for number, name in enumerate(("a", "a", other)):
            ring = ring.join(Consumer(number, name))
        ring = ring.leave(0)
        reported = reported_of(ring)
        ends = {piece.end for piece in reported[0][1]} & set(ring.points_of(ring.members[0]))
        assert name_indices(empty, reported) == (1 if ends else 0, 0)
