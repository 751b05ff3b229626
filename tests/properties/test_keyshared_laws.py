"""Laws of the Key_Shared selectors for every input: L1 history, L2 only the mover moves, L3 cover, L4, L8, L9.

``tests/known_pulsar_bugs.md`` states the laws. Spaces of 8, 11 and 16 bits make points of different consumers meet all
the time.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.consistent_sticky import moved_slots, node_ranges
from engine.keyshared.delivery import acknowledge, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms, OrderRule
from engine.keyshared.fairness import CHANCE_LEVEL, Cause, fairness_of
from engine.keyshared.luck import Verdict, luck_of
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, SlotSpace
from engine.keyshared.ownership import gaps_of, impact_of
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import sticky_selector
from engine.ranges import HashRange, covers_exactly
from tests.engine.keyshared.selectors import accepted, auto_split, ring
from tests.properties.keyshared_checks import check_answers, toggle
from tests.properties.strategies import NARROW_SPACES, consumer_names, memberships, narrow_spaces

MEMBERS = st.lists(consumer_names(), min_size=6, max_size=6)
KEYS = dict.fromkeys((f"key-{number}".encode() for number in range(600)), 1.0)
MODES = ("ring", "auto-split", "sticky")
EXPLAINED = {
    # Five points on a ring can fall very unevenly by chance alone.
    "ring": {Verdict.CHANCE_OF_POINTS, Verdict.NAMES, Verdict.JOIN_ORDER},
    "auto-split": {Verdict.HISTORY},
    "sticky": {Verdict.DECLARED},
}


def declared_in(space: int) -> tuple[DeclaredRanges, ...]:
    """Two ranges for each of six consumers, far apart, with gaps; the last clashes with the first two."""
    part = space // 16
    pairs = [(number, number + 8) for number in range(5)]
    result = [tuple((part * each, part * each + part - 1) for each in pair) for pair in pairs]
    return (*result, ((part // 2, part + part // 2),))


def start_of(mode: str, space: int) -> tuple[Selector, tuple[DeclaredRanges, ...] | None]:
    if mode == "sticky":
        return accepted(sticky_selector(space)), declared_in(space)
    return (auto_split(space) if mode == "auto-split" else ring(points=5, slots=SlotSpace(1, space - 1))), None


def joined(selector: Selector, consumers: tuple[Consumer, ...]) -> Selector:
    for consumer in consumers:
        selector = accepted(selector.join(consumer))
    return selector


@settings(max_examples=60, deadline=None)
@given(MEMBERS, memberships(), narrow_spaces(), st.sampled_from((RingForm.CURRENT, RingForm.NAME_I)))
def test_L1_L8_a_ring_is_its_survivors_in_join_order(
    names: list[str], toggles: list[int], space: int, form: RingForm
) -> None:
    """Distinct names, so that the name index is 0."""
    names = [f"{number}{name}" for number, name in enumerate(names)]
    empty: Selector = ring(points=5, form=form, slots=SlotSpace(1, space - 1))
    selector = empty
    for number in toggles:
        selector = toggle(selector, number, names)
        assert selector == joined(empty, selector.consumers)


@settings(max_examples=60, deadline=None)
@given(memberships(), narrow_spaces(), st.randoms(use_true_random=False))
def test_L1_sticky_is_its_survivors_in_whatever_order_they_joined(
    toggles: list[int], space: int, random: object
) -> None:
    selector, declared = start_of("sticky", space)
    empty = selector
    for number in toggles:
        selector = toggle(selector, number, [""] * 6, declared)
    order = list(selector.consumers)
    random.shuffle(order)  # type: ignore[attr-defined]
    assert joined(empty, tuple(order)).ranges() == selector.ranges()


def test_L1_auto_split_depends_on_the_order_of_leaving_as_in_pulsar() -> None:
    three = accepted(auto_split(256).join_all([Consumer(number, "c") for number in range(4)]))
    left = {str(dict(three.leave(a).leave(b).ranges())) for a, b in permutations((1, 2), 2)}
    again = accepted(auto_split(256).join_all([Consumer(number, "c") for number in (0, 3)]))
    assert left != {str(dict(again.ranges()))}


def test_L1_a_ring_whose_newcomers_take_points_for_good_is_caught() -> None:
    """The form of 3.0.7 and 3.3.2 breaks the law: what a newcomer took does not come back when it leaves."""

    def depends_on_history(names: list[str]) -> bool:
        start = ring(names[:3], points=5, form=RingForm.INDEXED_REPLACE, slots=SlotSpace(0, 255, folds_zero=False))
        after = start.join(Consumer(9, names[3])).leave(9)
        return any(start.owner(slot) != after.owner(slot) for slot in range(256))

    assert len(find(MEMBERS, depends_on_history)) == 6


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=40, deadline=None)
@given(names=MEMBERS, toggles=memberships(), space=narrow_spaces())
def test_L2_L3_only_the_mover_moves_and_the_ranges_tile(
    mode: str, names: list[str], toggles: list[int], space: int
) -> None:
    selector, declared = start_of(mode, space)
    for number in toggles:
        before, selector = selector, toggle(selector, number, names, declared)
        impact = impact_of(before.ranges(), selector.ranges())
        came = len(selector.consumers) > len(before.consumers)
        assert set(impact.added if came else impact.removed) <= {number}
        # Nobody inherits what was declared.
        assert mode != "sticky" or not (impact.removed if came else impact.added)
        pieces = [piece for mine in selector.ranges().values() for piece in mine]
        if mode == "sticky":
            pieces += gaps_of(selector.consumers, selector.ranges(), selector.slots).ranges
            assert covers_exactly(_from_1(pieces), HashRange(1, space - 1))
        elif selector.consumers:
            whole = HashRange(0, space) if mode == "auto-split" else HashRange(1, space - 1)
            assert covers_exactly(pieces, whole)


def _from_1(pieces: list[HashRange]) -> list[HashRange]:
    """Without slot 0, which does not occur."""
    return [HashRange(max(piece.start, 1), piece.end) for piece in pieces if piece.end > 0]


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25, deadline=None)
@given(names=MEMBERS, toggles=memberships(max_size=12), space=narrow_spaces())
def test_L4_what_is_reported_is_what_is_served(mode: str, names: list[str], toggles: list[int], space: int) -> None:
    """Slot by slot in the small spaces, at both ends of every range in the one of 16 bits."""
    selector, declared = start_of(mode, space)
    for number in toggles:
        selector = toggle(selector, number, names, declared)
    if space < NARROW_SPACES[-1]:
        check_answers(selector, full=mode != "sticky")
    for owner, pieces in selector.ranges().items():
        for piece in pieces:
            ends = {max(piece.start, 1), min(piece.end, space - 1), (piece.start + piece.end) // 2 or 1}
            assert {selector.owner(slot) for slot in ends} == {owner}
    for gap in gaps_of(selector.consumers, selector.ranges(), selector.slots).ranges:
        assert {selector.owner(gap.start), selector.owner(gap.end)} == {None}


@settings(max_examples=30, deadline=None)
@given(MEMBERS, memberships(max_size=10), st.sampled_from((2**8, 2**11)), st.sampled_from(RingForm))
def test_L3_L4_every_form_of_the_ring_serves_each_slot_once_and_says_so(
    names: list[str], toggles: list[int], space: int, form: RingForm
) -> None:
    selector: Selector = ring(points=5, form=form, slots=SlotSpace(0, space - 1, folds_zero=False))
    for number in toggles:
        selector = toggle(selector, number, names)
    check_answers(selector)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=40, deadline=None)
@given(names=MEMBERS, toggles=memberships(), space=narrow_spaces())
def test_L8_when_all_have_left_a_selector_is_as_new(
    mode: str, names: list[str], toggles: list[int], space: int
) -> None:
    empty, declared = start_of(mode, space)
    selector = empty
    for number in toggles:
        selector = toggle(selector, number, names, declared)
    for consumer in selector.consumers:
        selector = selector.leave(consumer.consumer_id)
    assert selector == empty
    assert selector.leave(0) == empty


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(("toggle", "publish", "ack")), st.integers(0, 3)), max_size=40),
    narrow_spaces(),
    st.sampled_from(OrderRule),
)
def test_L8_when_all_is_acknowledged_and_all_have_left_delivery_is_as_new(
    steps: list[tuple[str, int]], space: int, order: OrderRule
) -> None:
    names = ["a", "b", "a", "c"]
    empty = DeliveryState(DeliveryTerms(order=order), ring(points=3, slots=SlotSpace(1, space - 1)))
    state = empty

    def acknowledge_all() -> None:
        nonlocal state
        while held := [(owner, position) for owner, mine in state.pending.items() for position in mine]:
            for owner, position in held:
                state = acknowledge(state, owner, position, 0).state

    def move(number: int) -> Delivery:
        if number in state.pending:
            return leave(state, number, 0)
        return accepted(join(state, Consumer(number, names[number]), 0))

    for step, number in steps:
        if step == "publish":
            state = publish(state, [bytes([number, each]) for each in range(4)], 0).state
        elif step == "toggle":
            state = move(number).state
        else:
            acknowledge_all()
    if not state.pending:
        state = move(0).state
    acknowledge_all()
    for number in tuple(state.pending):
        # What only waited for the unblocking interval goes out to whoever is left.
        state = leave(state, number, 10**6).state
        acknowledge_all()
    assert replace(state, next_position=0, read_position=0) == empty


@settings(max_examples=60, deadline=None)
@given(MEMBERS, narrow_spaces())
def test_L9_a_share_that_chance_cannot_explain_has_a_cause(names: list[str], space: int) -> None:
    fairness = fairness_of(ring(names, points=20, slots=SlotSpace(1, space - 1)))
    assert all(consumer.cause is not None or consumer.chance > 1e-9 for consumer in fairness.consumers)
    assert sum(consumer.slots for consumer in fairness.consumers) == space - 1


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=40, deadline=None)
@given(names=MEMBERS, toggles=memberships(), space=narrow_spaces())
def test_L9_600_keys_fall_as_the_shares_say_and_what_is_uneven_is_explained(
    mode: str, names: list[str], toggles: list[int], space: int
) -> None:
    selector, declared = start_of(mode, space)
    for number in toggles:
        selector = toggle(selector, number, names, declared)
    luck = luck_of(selector, KEYS)
    assert luck.misplaced == ()
    assert luck.keys + luck.ownerless_keys == len(KEYS)
    assert luck.probability_by_shares > 1e-9
    if not luck.keys or len(luck.consumers) == 1:
        assert luck.verdict is Verdict.NOTHING or (mode == "sticky" and luck.verdict is Verdict.DECLARED)
    elif luck.probability >= CHANCE_LEVEL:
        # Shares that are unequal by construction are named although chance alone could do as much.
        assert luck.verdict is Verdict.CHANCE or (mode in ("auto-split", "sticky") and luck.verdict in EXPLAINED[mode])
    elif luck.probability_by_shares >= CHANCE_LEVEL:
        assert luck.verdict in EXPLAINED[mode]


@settings(max_examples=40, deadline=None)
@given(memberships(), narrow_spaces())
def test_L9_what_is_uneven_about_auto_split_is_always_its_history(toggles: list[int], space: int) -> None:
    selector: Selector = auto_split(space)
    for number in toggles:
        selector = toggle(selector, number, [""] * 6)
    assert isinstance(selector, AutoSplitSelector)
    shares = fairness_of(selector).consumers
    powers_of_two = len(selector.consumers) & (len(selector.consumers) - 1) == 0
    assert {share.cause for share in shares} <= {None, Cause.HISTORY}
    if len(toggles) == len(set(toggles)) and powers_of_two:
        # Joins alone, 1, 2 or 4 of them: equal but for slot 0, which is folded into 1.
        assert {share.cause for share in shares} <= {None}


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 20), st.integers(1, 12))
def test_L2_L3_one_more_node_takes_slots_and_moves_none_between_the_others(points: int, nodes: int) -> None:
    before, after = (accepted(node_ranges(points, count)) for count in (nodes, nodes + 1))
    assert covers_exactly((piece for node in after for piece in node), HashRange(0, 65_535))
    was, now = dict(enumerate(before)), dict(enumerate(after))
    assert set(impact_of(was, now).added) <= {nodes}
    assert moved_slots(points, nodes, nodes + 1) == sum(piece.size for piece in after[nodes])
