"""Regression tests for the known bugs of Key_Shared of ``tests/known_pulsar_bugs.md``; those of delivery are apart."""

from __future__ import annotations

from itertools import permutations

from engine.chance import equal_shares, fullest
from engine.config import ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.hashing import murmur3_32, sign_safe_mod
from engine.keyshared.delivery import acknowledge, advance_to, join, leave, publish
from engine.keyshared.delivery_state import DeliveryState, DeliveryTerms, OrderRule, WaitReason, waits
from engine.keyshared.explain import explain_key
from engine.keyshared.fairness import Cause, fairness_of
from engine.keyshared.keys import EntryMetadata, KeySource, sticky_key
from engine.keyshared.model import Consumer, SlotSpace, owner_of_key
from engine.keyshared.ownership import gaps_of, impact_of, keys_of
from engine.keyshared.ring import RingForm, point_key
from engine.keyshared.sticky import RangeConflict, sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky, texts

TINY = SlotSpace(1, 255)
KEYS = [f"key-{number}".encode() for number in range(200)]


def test_K01_three_consumers_of_auto_split_share_two_to_one_to_one_and_the_worst_order_of_leaving_is_found() -> None:
    three = accepted(auto_split().join_all([Consumer(number, "c") for number in range(3)]))
    assert sorted(piece.size // 16_384 for (piece,) in three.ranges().values()) == [1, 1, 2]
    eight = accepted(auto_split(64).join_all([Consumer(number, "c") for number in range(8)]))
    worst = 0.0
    for leavers in permutations(range(8), 5):
        selector = eight
        for number in leavers:
            selector = selector.leave(number)
        worst = max(worst, *(consumer.share for consumer in fairness_of(selector).consumers))
    assert worst >= 0.75
    assert {consumer.cause for consumer in fairness_of(three).consumers} == {Cause.HISTORY}


def test_K02_K06_K07_the_first_claimant_keeps_a_point_and_the_next_one_inherits_it() -> None:
    selector = ring(["a", "b", "c"], points=200, slots=TINY)
    point = next(point for point, claimants in selector.ring.claims() if len(claimants) == 3)
    assert [member.consumer.consumer_id for member in selector.claimants(point)] == [1, 2, 3]
    assert [selector.owner(point), selector.leave(1).owner(point), selector.leave(1).leave(2).owner(point)] == [1, 2, 3]
    assert selector.leave(2).owner(point) == 1


def test_K03_K04_a_namesake_leaves_and_the_other_keeps_all_its_own() -> None:
    both = ring(["same", "same"])
    assert not set(both.ranges()[1]) & set(both.ranges()[2])
    left = both.leave(1)
    assert texts(left, 2) == "[1,65535]"
    assert (len(left.ring), len(left.leave(2).ring)) == (100, 0)


def test_K05_a_join_moves_no_slot_between_bystanders_now_and_did_in_the_oldest_form() -> None:
    def bystanders_moved(form: RingForm) -> bool:
        before = ring(["same", "same"], points=20, form=form, slots=TINY)
        after = before.join(Consumer(3, "same"))
        return any(after.owner(slot) not in (before.owner(slot), 3) for slot in range(1, 256))

    assert bystanders_moved(RingForm.NAME_I)
    assert not bystanders_moved(RingForm.CURRENT)


def test_K08_numbered_names_collide_only_without_a_separator() -> None:
    collide = {form: point_key(form, "c-1", 0, 10) == point_key(form, "c-11", 0, 0) for form in RingForm}
    assert [form for form, same in collide.items() if same] == [RingForm.NAME_I]
    fairness = fairness_of(ring([f"x-{number}" for number in range(20)], form=RingForm.NAME_I))
    assert fairness.consumers[1].lost_points > 0


def test_K09_hashes_are_never_negative_and_the_modulo_is_safe_anyway() -> None:
    assert all(murmur3_32(key) >= 0 and 1 <= SlotSpace(1, 65_535).slot_of_key(key) <= 65_535 for key in KEYS)
    assert sign_safe_mod(-7, 5) == 3


def test_K10_interleaved_ranges_are_accepted_and_touching_ends_refused_by_name() -> None:
    selector = sticky(sticky_selector(), ((0, 99), (400, 65_535)), ((100, 399),))
    assert gaps_of(selector.consumers, selector.ranges(), selector.slots).slot_count == 0
    refusal = selector.join(Consumer(3, "late", ((399, 399),)))
    assert isinstance(refusal, RangeConflict)
    assert refusal.other.consumer_id == 2
    assert "consumerName=c2" in refusal.message


def test_K11_keys_of_nobody_wait_and_others_flow() -> None:
    selector = sticky(sticky_selector(), ((0, 32_767),))
    terms = DeliveryTerms(order=OrderRule.NONE)
    state = accepted(join(DeliveryState(terms, accepted(sticky_selector())), selector.consumers[0], 0)).state
    outcome = publish(state, KEYS, 0)
    stalled = {key for wait in waits(outcome.state) for key in wait.keys}
    assert {sent.message.key for sent in outcome.sent} == set(keys_of(selector, 1, KEYS)) == set(KEYS) - stalled
    assert {wait.reason for wait in waits(outcome.state)} == {WaitReason.NO_OWNER}
    assert gaps_of(selector.consumers, selector.ranges(), selector.slots).slot_count == 32_768


def test_K12_nobody_connected_or_a_hole_gives_none() -> None:
    assert [each.owner(7) for each in (ring(), auto_split(), accepted(sticky_selector()))] == [None] * 3
    assert sticky(sticky_selector(), ((0, 5),)).owner(7) is None
    assert explain_key(ring(), b"k").owner is None


def test_K13_a_thousand_consumers_crowd_the_ring_and_early_ones_own_four_times_as_much() -> None:
    fairness = fairness_of(ring(f"host-{number}" for number in range(1000)))
    slots = [consumer.slots for consumer in fairness.consumers]
    assert (sum(slots[:100]) / 100, sum(slots[-100:]) / 100) == (118.01, 28.93)
    assert (min(slots), max(slots), sum(slots)) == (13, 139, 65_535)
    assert fairness.crowded
    assert {consumer.cause for consumer in fairness.consumers} == {None, Cause.JOIN_ORDER}
    assert not fairness_of(ring(f"host-{number}" for number in range(20))).crowded


def two_hands(order: OrderRule) -> bool:
    """A slow consumer holds one message of a key and another one waits when the key moves to a newcomer."""
    state = DeliveryState(DeliveryTerms(order=order, max_unacked=1), ring())
    state = accepted(join(state, Consumer(1, "a"), 0)).state
    mine = next(key for key in KEYS if owner_of_key(ring(["a", "b"]), key) == 2)
    state = publish(state, [mine, mine], 0).state
    state = accepted(join(state, Consumer(2, "b"), 0)).state
    return all(state.pending[number] for number in (1, 2))


def test_K14_the_read_position_lets_a_key_into_two_hands_and_draining_does_not() -> None:
    assert two_hands(OrderRule.RECENTLY_JOINED)
    assert not two_hands(OrderRule.DRAINING_HASHES)


def ping_pong(*, takes_back: bool) -> DeliveryState:
    """A slot goes from its consumer to a newcomer, back, and away again while one message is unacknowledged."""
    state = accepted(join(DeliveryState(DeliveryTerms(takes_back=takes_back), ring()), Consumer(1, "a"), 0)).state
    mine = next(key for key in KEYS if owner_of_key(ring(["a", "b"]), key) == 2)
    state = publish(state, [mine], 0).state
    state = accepted(join(state, Consumer(2, "b"), 1)).state
    state = leave(state, 2, 2).state
    state = accepted(join(state, Consumer(2, "b"), 3)).state
    return publish(acknowledge(state, 1, 0, 4).state, [mine], 5).state


def test_K16_a_slot_that_came_back_does_not_block_for_ever_since_24736() -> None:
    assert waits(ping_pong(takes_back=True)) == ()
    (stuck,) = waits(ping_pong(takes_back=False))
    assert (stuck.reason, stuck.holders[0].consumer_id, stuck.holders[0].unacked) == (WaitReason.DRAINING, 1, 1)


def test_K17_the_replay_queue_is_bounded_by_the_look_ahead() -> None:
    terms = DeliveryTerms(max_unacked=1, look_ahead_per_consumer=10)
    state = accepted(join(DeliveryState(terms, ring()), Consumer(1, "a"), 0)).state
    state = publish(state, KEYS, 0).state
    assert len(state.replay) == 10
    assert WaitReason.LOOK_AHEAD not in {wait.reason for wait in waits(state)[:5]}


def test_K19_one_unacknowledged_message_holds_back_its_key_now_and_every_newcomer_before() -> None:
    def after_join(order: OrderRule) -> DeliveryState:
        state = accepted(join(DeliveryState(DeliveryTerms(order=order), ring()), Consumer(1, "a"), 0)).state
        state = publish(state, KEYS[:1], 0).state
        state = accepted(join(state, Consumer(2, "b"), 5)).state
        return publish(state, KEYS, 6).state

    to_newcomer = keys_of(ring(["a", "b"]), 2, KEYS)
    old = after_join(OrderRule.RECENTLY_JOINED)
    held = [wait for wait in waits(old) if wait.reason is WaitReason.RECENTLY_JOINED]
    assert {key for wait in held for key in wait.keys} == set(to_newcomer)
    assert {holder.consumer_id for wait in held for holder in wait.holders} == {1}
    assert not waits(acknowledge(old, 1, 0, 7).state)
    assert all(wait.keys == (KEYS[0],) for wait in waits(after_join(OrderRule.DRAINING_HASHES)))


def test_K19_what_blocks_is_named_with_its_time_and_let_go_after_the_unblocking_interval() -> None:
    mine = next(key for key in KEYS if owner_of_key(ring(["a", "b"]), key) == 2)
    state = accepted(join(DeliveryState(DeliveryTerms(), ring()), Consumer(1, "a"), 0)).state
    state = accepted(join(publish(state, [mine], 0).state, Consumer(2, "b"), 5)).state
    state = publish(state, [mine], 6).state
    (wait,) = waits(state)
    assert (wait.owner_id, wait.holders[0].consumer_id, wait.since_ms, wait.blocked_attempts) == (2, 1, 5, 1)
    assert explain_key(state.selector, mine, draining=state.draining).draining is not None
    state = acknowledge(state, 1, 0, 100).state
    assert [wait.reason for wait in waits(state)] == [WaitReason.READ_DUE]
    assert [advance_to(state, now).sent != () for now in (109, 110)] == [False, True]


def test_K22_ten_keys_on_four_consumers_look_unfair_by_chance() -> None:
    busiest = fullest(10, equal_shares(4))
    assert round(busiest.expected, 4) == 4.1975
    assert (busiest.quantile(0.7), busiest.quantile(0.999)) == (5, 8)


def test_K23_what_a_batch_is_hashed_by() -> None:
    old = behaviour_of("3.3.6")
    assert isinstance(old, ReleaseBehaviour)
    keyless = EntryMetadata(producer_name="p", sequence_id=3)
    both = EntryMetadata(ordering_key=b"o", partition_key="k")
    assert (sticky_key(keyless).data, sticky_key(keyless, old).data) == (b"p-3", b"NONE_KEY")
    assert sticky_key(both).data == b"o"
    assert sticky_key(EntryMetadata(partition_key="", producer_name="p", sequence_id=3)).data == b""
    for text, data in (("AP8=", b"\x00\xff"), ("AP8", b"\x00\xff"), ("", b"")):
        assert sticky_key(EntryMetadata(partition_key=text, partition_key_b64_encoded=True)).data == data
    for text in ("AP8==", "A", "A?==", "====", "AP8=AP8="):
        result = sticky_key(EntryMetadata(partition_key=text, partition_key_b64_encoded=True))
        assert (result.data, result.source) == (b"NONE_KEY", KeySource.UNREADABLE)


def test_K25_auto_split_of_one_to_four_consumers() -> None:
    pictures = [
        "1[0,65536]",
        "2[0,32768] 1[32769,65536]",
        "3[0,16384] 2[16385,32768] 1[32769,65536]",
        "3[0,16384] 2[16385,32768] 4[32769,49152] 1[49153,65536]",
    ]
    for count, picture in enumerate(pictures, start=1):
        selector = accepted(auto_split().join_all([Consumer(number, "c") for number in range(1, count + 1)]))
        assert " ".join(f"{owner}{piece}" for owner, (piece,) in selector.ranges().items()) == picture


def test_K26_a_key_is_explained_as_it_is_served_and_the_reverse_agrees() -> None:
    for form in RingForm:
        selector = ring(["a", "b", "b"], points=7, form=form)
        for key in KEYS:
            why = explain_key(selector, key)
            assert why.owner is not None and why.point is not None
            assert why.owner.consumer_id == owner_of_key(selector, key)
            at = why.point.shared.remainder if why.point.shared else 0
            assert why.point.claimants[at].consumer == why.owner
            assert selector.leave(why.owner.consumer_id).owner(why.slot.slot) == why.heirs[0].consumer_id
        assert sorted(key for number in (1, 2, 3) for key in keys_of(selector, number, KEYS)) == sorted(KEYS)


def test_K28_the_65537th_consumer_of_auto_split_is_refused_and_the_others_keep_a_slot_each() -> None:
    full = accepted(auto_split().join_all([Consumer(number, "c") for number in range(65_536)]))
    refusal = full.join(Consumer(65_536, "one too many"))
    assert isinstance(refusal, Rejection)
    assert refusal.message == "No more range can assigned to new consumer, assigned consumers 65536"
    assert (full.owner(0), full.owner(1)) == (full.owner(0), full.owner(0))
    assert len({full.owner(slot) for slot in range(1, 65_536)}) == 65_535


def test_a_join_of_the_ring_reports_what_the_newcomer_took() -> None:
    before, after = ring(["a"]), ring(["a", "b"])
    impact = impact_of(before.ranges(), after.ranges())
    assert impact.removed[1] == impact.added[2] == after.ranges()[2]
