"""Why not the others: who owns which slots instead, whose turn it is, and for whom the slot still drains."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.keyshared.draining import DrainingHash, DrainingHashes
from engine.keyshared.explain import Rival, WhyNot, explain_key, rivals_of
from engine.keyshared.model import Consumer, Selector, SlotSpace
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky


def rivals(selector: Selector, key: bytes) -> dict[str, Rival]:
    return {rival.consumer.name: rival for rival in rivals_of(selector, explain_key(selector, key))}


def test_the_halves_of_auto_split_are_reported_with_their_distance() -> None:
    selector = auto_split(64)
    for number, name in enumerate("abc", start=1):
        selector = accepted(selector.join(Consumer(number, name)))
    result = rivals(selector, b"NONE_KEY")  # slot 35
    owner = explain_key(selector, b"NONE_KEY").owner
    assert owner is not None
    assert {owner.name, *result} == {"a", "b", "c"}
    for each in result.values():
        assert each.why_not is WhyNot.OTHER_SLOTS
        assert each.nearest is not None
        start, end = each.nearest.range.start, each.nearest.range.end
        assert each.away == min(abs(35 - start), abs(35 - end)) > 0


def test_gaps_belong_to_nobody_and_a_consumer_may_own_nothing() -> None:
    selector = sticky(sticky_selector(), ((0, 100),), ((40_000, 65_535),))
    result = rivals(selector, b"a")  # slot 27058, of nobody
    assert {name: (each.why_not, each.away, each.slots) for name, each in result.items()} == {
        "c1": (WhyNot.OTHER_SLOTS, 27_058 - 100, 100),
        "c2": (WhyNot.OTHER_SLOTS, 40_000 - 27_058, 25_536),
    }
    for rival in rivals(ring(("a", "a", "b")), b"order-1").values():
        assert (rival.nearest is None) is (rival.slots == 0) is (rival.why_not is WhyNot.NO_SLOTS)


def test_consumers_of_one_name_share_a_point_in_the_oldest_form() -> None:
    selector = ring(("a", "a"), form=RingForm.NAME_I)
    (other,) = rivals_of(selector, explain_key(selector, b"x"))
    assert other.why_not is WhyNot.OTHER_TURN


def test_the_consumer_that_the_slot_drains_for_is_marked() -> None:
    selector = ring(("a", "b"))
    explanation = explain_key(selector, b"order-1")
    assert explanation.owner is not None
    other = next(consumer for consumer in selector.consumers if consumer != explanation.owner)
    draining = DrainingHashes({explanation.slot.slot: DrainingHash(explanation.slot.slot, other.consumer_id, 3, 0, 0)})
    (rival,) = rivals_of(selector, explain_key(selector, b"order-1", draining=draining))
    assert (rival.consumer, rival.drains) == (other, True)
    (rival,) = rivals_of(selector, explanation)
    assert rival.drains is False


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "dd"]), min_size=1, max_size=6), st.binary(max_size=8))
def test_everybody_but_the_owner_has_a_reason_and_none_owns_the_slot(names: list[str], key: bytes) -> None:
    selector = ring(names, points=7)
    explanation = explain_key(selector, key)
    result = rivals_of(selector, explanation)
    assert explanation.owner is not None
    assert [each.consumer for each in result] == [
        consumer for consumer in selector.consumers if consumer != explanation.owner
    ]
    assert sum(each.slots for each in result) < selector.slots.occurring
    for each in result:
        assert each.away is None or each.away > 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=7), st.integers(1, 3), st.binary(max_size=3))
def test_on_a_crowded_ring_the_reason_is_the_point_the_slots_or_none(names: list[str], points: int, key: bytes) -> None:
    selector = ring(names, points=points, slots=SlotSpace(1, 11))
    explanation = explain_key(selector, key)
    point, slot = selector.point_of(explanation.slot.slot), explanation.slot.slot
    ranges = selector.ranges()
    members = {member.consumer: member for member in selector.members}
    for rival in rivals_of(selector, explanation):
        mine = ranges.get(rival.consumer.consumer_id, ())
        away = [min(abs(number - slot) for number in range(piece.start, piece.end + 1)) for piece in mine]
        assert (rival.away, rival.nearest is None) == (min(away, default=None), not mine)
        assert (rival.pieces, rival.slots) == (len(mine), sum(piece.size for piece in mine))
        assert rival.nearest is None or rival.nearest.range == mine[away.index(min(away))]
        claims = point in selector.points_of(members[rival.consumer])
        reason = WhyNot.LOST_POINT if claims else WhyNot.OTHER_SLOTS if mine else WhyNot.NO_SLOTS
        assert rival.why_not is reason


def test_one_may_claim_only_what_others_have() -> None:
    crowd = ring("abcdefghijkl", points=1, slots=SlotSpace(1, 4))
    reasons = {rival.why_not for rival in rivals_of(crowd, explain_key(crowd, b"x"))}
    assert reasons == {WhyNot.LOST_POINT, WhyNot.OTHER_SLOTS, WhyNot.NO_SLOTS}
