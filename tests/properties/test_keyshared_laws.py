"""Laws of the Key_Shared selectors for every input: L1 history, L2 only the mover moves, L3 cover, L4, L8, L9.

Spaces of 8, 11 and 16 bits make points of different consumers meet all the time.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from engine.keyshared.consistent_sticky import moved_slots, node_ranges
from engine.keyshared.delivery import acknowledge, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms
from engine.keyshared.fairness import fairness_of
from engine.keyshared.impact import impact_of
from engine.keyshared.model import Consumer, Selector, SlotSpace
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.ring import RingSelector
from engine.keyshared.ring_forms import RingForm
from engine.ranges import HashRange, covers_exactly
from tests.engine.keyshared.selectors import accepted, auto_split, ring
from tests.properties.strategies import consumer_names, memberships, narrow_spaces

MEMBERS = st.lists(consumer_names(), min_size=6, max_size=6)


def toggle(selector: Selector, number: int, names: list[str]) -> Selector:
    if any(each.consumer_id == number for each in selector.consumers):
        return selector.leave(number)
    return accepted(selector.join(Consumer(number, names[number])))


def check_answers(selector: Selector) -> None:
    """L3 and L4: every slot of a small space has one owner, and it is the one that is told."""
    told: dict[int, int] = {}
    for owner, owned in slots_by_consumer(selector).items():
        for piece in owned:
            for slot in range(piece.range.start, piece.range.end + 1):
                if piece.contains(slot):
                    assert slot not in told
                    told[slot] = owner
    space = range(max(selector.slots.low, int(selector.slots.folds_zero)), selector.slots.high + 1)
    assert [selector.owner(slot) for slot in space] == [told.get(slot) for slot in space]
    # In one earlier form newcomers take points away for good, so a ring with consumers can have no point left.
    empty = not len(selector.layout) if isinstance(selector, RingSelector) else not selector.consumers
    assert len(told) == (0 if empty else len(space))


@settings(max_examples=60, deadline=None)
@given(MEMBERS, memberships(), narrow_spaces(), st.sampled_from((RingForm.CURRENT, RingForm.NAME_I)))
def test_L1_L2_L8_a_ring_is_its_survivors_and_only_the_mover_moves(
    names: list[str], toggles: list[int], space: int, form: RingForm
) -> None:
    """Distinct names, so the name index is 0; the oldest form keeps the law of movers only while no points meet."""
    names = [f"{number}{name}" for number, name in enumerate(names)]
    selector: Selector = ring(points=5, form=form, slots=SlotSpace(1, space - 1))
    for number in toggles:
        before, selector = selector, toggle(selector, number, names)
        fresh: Selector = ring(points=5, form=form, slots=SlotSpace(1, space - 1))
        for consumer in selector.consumers:
            fresh = accepted(fresh.join(consumer))
        assert selector == fresh
        if form is RingForm.CURRENT:
            impact = impact_of(before.ranges(), selector.ranges())
            joined = len(selector.consumers) > len(before.consumers)
            assert set(impact.added if joined else impact.removed) <= {number}
            assert not selector.consumers or covers_exactly(
                (piece for pieces in selector.ranges().values() for piece in pieces), HashRange(1, space - 1)
            )


@settings(max_examples=30, deadline=None)
@given(MEMBERS, memberships(max_size=10), st.sampled_from((2**8, 2**11)), st.sampled_from(RingForm))
def test_L3_L4_every_form_of_the_ring_serves_each_slot_once_and_says_so(
    names: list[str], toggles: list[int], space: int, form: RingForm
) -> None:
    selector: Selector = ring(points=5, form=form, slots=SlotSpace(0, space - 1, folds_zero=False))
    for number in toggles:
        selector = toggle(selector, number, names)
    check_answers(selector)


@settings(max_examples=60, deadline=None)
@given(MEMBERS, narrow_spaces())
def test_L9_a_share_that_chance_cannot_explain_has_a_cause(names: list[str], space: int) -> None:
    fairness = fairness_of(ring(names, points=20, slots=SlotSpace(1, space - 1)))
    assert all(each.cause is not None or each.chance > 1e-9 for each in fairness.consumers)
    assert sum(each.slots for each in fairness.consumers) == space - 1


@pytest.mark.parametrize("kind", ["auto-split", *RingForm])
def test_every_sequence_of_six_joins_and_leaves_of_four_consumers_on_sixteen_slots(kind: RingForm | str) -> None:
    """Exhaustive: 4^6 sequences; each state is checked once."""
    names = ["a", "b", "a", "c"]
    start: Selector = auto_split(16)
    if isinstance(kind, RingForm):
        start = ring(points=3, form=kind, slots=SlotSpace(0, 15, folds_zero=False))
    seen: dict[object, None] = {}
    states = {(): start}
    for length in range(1, 7):
        for moves in product(range(4), repeat=length):
            before = states[moves[:-1]]
            selector = states[moves] = toggle(before, moves[-1], names)
            key = (selector.consumers, selector.members) if isinstance(selector, RingSelector) else selector
            if key not in seen:
                seen[key] = None
                check_answers(selector)
            if kind in ("auto-split", RingForm.CURRENT):
                joined = len(selector.consumers) > len(before.consumers)
                impact = impact_of(before.ranges(), selector.ranges())
                changed = impact.added if joined else impact.removed
                assert set(changed) <= {moves[-1]}
    assert len(seen) > 50


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(("toggle", "publish", "ack")), st.integers(0, 3)), max_size=40),
    st.sampled_from((SlotSpace(1, 15), SlotSpace(1, 255))),
)
def test_L8_with_draining_a_slot_is_never_in_two_hands_and_all_is_sent_in_order(
    steps: list[tuple[str, int]], slots: SlotSpace
) -> None:
    state = DeliveryState(DeliveryTerms(), ring(points=3, slots=slots))
    names = ["a", "b", "a", "c"]
    last_sent: dict[tuple[int, int], int] = {}

    def take(outcome: Delivery) -> None:
        nonlocal state
        state = outcome.state
        hands: dict[int, set[int]] = {}
        for owner, held in state.pending.items():
            for slot in held.values():
                hands.setdefault(slot, set()).add(owner)
        assert all(len(owners) == 1 for owners in hands.values())
        for slot, entry in state.draining.entries.items():
            assert entry.unacked == sum(each == slot for each in state.pending[entry.consumer_id].values()) > 0
        for sent in outcome.sent:
            last_sent[sent.consumer_id, sent.message.slot] = sent.message.position

    for now_ms, (step, number) in enumerate(steps):
        if step == "publish":
            take(publish(state, [bytes([number, each]) for each in range(4)], now_ms * 20))
        elif step == "ack":
            for owner, held in list(state.pending.items())[:1]:
                for position in sorted(held)[: number + 1]:
                    take(acknowledge(state, owner, position, now_ms * 20))
        elif number in state.pending:
            take(leave(state, number, now_ms * 20))
        else:
            take(accepted(join(state, Consumer(number, names[number]), now_ms * 20)))
    for number in tuple(state.pending):
        take(leave(state, number, 10**6))
    assert (dict(state.draining.entries), dict(state.draining.cleared_total), dict(state.pending)) == ({}, {}, {})


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 20), st.integers(1, 12))
def test_L2_L3_one_more_node_takes_slots_and_moves_none_between_the_others(points: int, nodes: int) -> None:
    before, after = accepted(node_ranges(points, nodes)), accepted(node_ranges(points, nodes + 1))
    assert covers_exactly((piece for node in after for piece in node), HashRange(0, 65_535))
    was, now = dict(enumerate(before)), dict(enumerate(after))
    assert set(impact_of(was, now).added) <= {nodes}
    assert moved_slots(points, nodes, nodes + 1) == sum(piece.size for piece in after[nodes])


def test_L1_a_ring_whose_newcomers_take_points_for_good_is_caught() -> None:
    """The form of 3.0.7 and 3.3.2 breaks the law: what a newcomer took does not come back when it leaves."""

    def depends_on_history(names: list[str]) -> bool:
        start = ring(names[:3], points=5, form=RingForm.INDEXED_REPLACE, slots=SlotSpace(0, 255, folds_zero=False))
        after = start.join(Consumer(9, names[3])).leave(9)
        return any(start.owner(slot) != after.owner(slot) for slot in range(256))

    assert len(find(MEMBERS, depends_on_history)) == 6
