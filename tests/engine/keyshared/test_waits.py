"""Why each message waits, and in whose hands the messages are that keep it; draining hashes in numbers."""

from __future__ import annotations

from msgspec.structs import replace

from engine.keyshared.delivery import acknowledge, advance_to, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms, Holder, OrderRule, WaitReason, waits
from engine.keyshared.draining import DrainingHash, DrainingHashes
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, owner_of_key
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split
from tests.engine.keyshared.skipping import skip_to

KEYS = [f"key-{number}".encode() for number in range(200)]


def with_all(state: DeliveryState, *consumers: Consumer) -> DeliveryState:
    for consumer in consumers:
        state = accepted(join(state, consumer, 0)).state
    return state


def keys_at(selector: Selector, number: int | None) -> list[bytes]:
    return [key for key in KEYS if owner_of_key(selector, key) == number]


def only(state: DeliveryState) -> tuple[WaitReason, tuple[Holder, ...]]:
    [wait] = waits(state)
    return wait.reason, wait.holders


def test_without_a_consumer_everything_waits_by_slot_in_the_order_of_arrival() -> None:
    state = publish(DeliveryState(DeliveryTerms(), auto_split()), [KEYS[5], KEYS[1], KEYS[5]], 0).state
    first, second = waits(state)
    assert (first.keys, [message.position for message in first.messages]) == ((KEYS[5],), [0, 2])
    assert (second.keys, [message.position for message in second.messages]) == ((KEYS[1],), [1])
    assert {first.reason, second.reason} == {WaitReason.NO_CONSUMER}
    assert (first.owner_id, first.holders, first.since_ms, first.blocked_attempts) == (None, (), None, 0)


def test_permits_are_spent_at_their_number_and_the_consumer_itself_holds_what_must_be_acknowledged() -> None:
    state = with_all(DeliveryState(DeliveryTerms(max_unacked=2), auto_split()), Consumer(1, "a"))
    two = publish(state, KEYS[:2], 0)
    assert len(two.sent) == 2 and waits(two.state) == ()
    third = publish(two.state, KEYS[2:3], 0)
    assert third.sent == ()
    assert only(third.state) == (WaitReason.NO_PERMITS, (Holder(1, 2),))
    freed = acknowledge(third.state, 1, 0, 0)
    assert [each.message.position for each in freed.sent] == [2]


def test_draining_names_the_former_consumer_and_since_when() -> None:
    one = with_all(DeliveryState(DeliveryTerms(), auto_split()), Consumer(1, "a"))
    sent = publish(one, KEYS, 3).state
    state = accepted(join(sent, Consumer(2, "b"), 7)).state
    key = keys_at(state.selector, 2)[0]
    held = publish(publish(state, [key], 8).state, [key], 9)
    [wait] = waits(held.state)
    assert (wait.reason, wait.owner_id, wait.holders) == (WaitReason.DRAINING, 2, (Holder(1, 1),))
    assert (wait.since_ms, wait.messages[0].key, len(wait.messages)) == (7, key, 2)
    assert wait.blocked_attempts == held.state.draining.entries[wait.slot].blocked_attempts == 2


def test_a_newcomer_waits_for_those_that_hold_what_was_read_before_it_the_busiest_first() -> None:
    terms = DeliveryTerms(order=OrderRule.RECENTLY_JOINED)
    state = with_all(DeliveryState(terms, auto_split()), Consumer(1, "a"), Consumer(2, "b"))
    ones, twos = keys_at(state.selector, 1), keys_at(state.selector, 2)
    state = publish(state, [ones[0], *twos[:2]], 0).state
    state = with_all(state, Consumer(3, "c"))
    threes = keys_at(state.selector, 3)
    later = publish(state, [next(key for key in ones if key not in threes), threes[0]], 0)
    assert only(later.state) == (WaitReason.RECENTLY_JOINED, (Holder(2, 2), Holder(1, 1)))
    even = acknowledge(later.state, 2, 1, 0).state
    assert only(even) == (WaitReason.RECENTLY_JOINED, (Holder(1, 1), Holder(2, 1)))


def test_the_first_message_after_the_joining_waits_already_and_skipping_what_was_before_releases_it() -> None:
    state = with_all(DeliveryState(DeliveryTerms(order=OrderRule.RECENTLY_JOINED), auto_split()), Consumer(1, "a"))
    state = with_all(publish(state, KEYS[:1], 0).state, Consumer(2, "b"))
    mine = keys_at(state.selector, 2)[0]
    waiting = publish(state, [mine], 0).state
    assert waiting.recently_joined.marks == ((2, 1),)
    assert only(waiting) == (WaitReason.RECENTLY_JOINED, (Holder(1, 1),))
    skipped = skip_to(waiting, 0, 0)
    assert (positions(skipped), skipped.state.recently_joined.marks) == ([1], ())


def test_a_slot_that_drains_no_more_waits_for_the_next_read() -> None:
    one = with_all(DeliveryState(DeliveryTerms(), auto_split()), Consumer(1, "a"))
    both = with_all(one, Consumer(2, "b"))
    key = keys_at(both.selector, 2)[0]
    state = publish(with_all(publish(one, [key], 0).state, Consumer(2, "b")), [key], 1).state
    freed = acknowledge(state, 1, 0, 5)
    assert (positions(freed), freed.state.read_due_ms) == ([], 15)
    assert only(freed.state) == (WaitReason.READ_DUE, ())
    assert positions(advance_to(freed.state, 15)) == [1]


def test_behind_a_full_replay_queue_unread_messages_wait_for_it_to_get_shorter() -> None:
    terms = DeliveryTerms(max_unacked=1, look_ahead_per_consumer=1)
    state = with_all(DeliveryState(terms, auto_split()), Consumer(1, "a"), Consumer(2, "b"))
    ones, twos = keys_at(state.selector, 1), keys_at(state.selector, 2)
    state = publish(state, [ones[0], ones[1], ones[2], twos[0]], 0).state
    assert (sorted(state.replay), state.read_position) == ([1, 2], 3)
    assert [wait.reason for wait in waits(state)] == [
        WaitReason.NO_PERMITS,
        WaitReason.NO_PERMITS,
        WaitReason.LOOK_AHEAD,
    ]


def test_delayed_messages_wait_apart_from_others_of_their_slot() -> None:
    declared: DeclaredRanges = ((0, 9),)
    state = with_all(
        DeliveryState(DeliveryTerms(order=OrderRule.NONE), accepted(sticky_selector())), Consumer(1, "a", declared)
    )
    state = publish(state, [b"key-1"], 0, deliver_at_ms=50).state
    state = publish(state, [b"key-1"], 0).state
    assert sorted((wait.reason.name, wait.messages[0].position) for wait in waits(state)) == [
        ("DELAYED", 0),
        ("NO_OWNER", 1),
    ]


def positions(delivery: Delivery) -> list[int]:
    return [each.message.position for each in delivery.sent]


def test_what_is_skipped_is_forgotten_up_to_its_position_and_drains_no_more() -> None:
    one = with_all(DeliveryState(DeliveryTerms(), auto_split()), Consumer(1, "a"))
    halves = with_all(one, Consumer(2, "b"))
    mover = keys_at(halves.selector, 2)
    sent = publish(one, [mover[0], mover[1], mover[0]], 0).state
    state = publish(with_all(sent, Consumer(2, "b")), [mover[0], mover[1]], 1).state
    slots = [state.selector.slots.slot_of_key(key) for key in mover[:2]]
    assert {slot: each.unacked for slot, each in state.draining.entries.items()} == {slots[0]: 2, slots[1]: 1}
    assert sorted(state.replay) == [3, 4]
    part = skip_to(state, 1, 5)
    assert {slot: each.unacked for slot, each in part.state.draining.entries.items()} == {slots[0]: 1}
    assert (set(part.state.pending[1]), sorted(part.state.backlog), part.state.read_due_ms) == ({2}, [2, 3, 4], 15)
    assert positions(part) == [4]
    whole = skip_to(state, 2, 5)
    assert (dict(whole.state.draining.entries), set(whole.state.pending[1])) == ({}, set())
    assert (positions(whole), whole.state.read_due_ms) == ([3, 4], 15)
    kept = skip_to(state, 2, 5, cleans_pending_acks=False)
    assert (set(kept.state.pending[1]), len(kept.state.draining.entries)) == ({0, 1, 2}, 2)
    assert (positions(kept), sorted(kept.state.backlog), sorted(kept.state.replay)) == ([], [3, 4], [3, 4])
    beyond = skip_to(state, 99, 5)
    assert (beyond.state.read_position, dict(beyond.state.backlog), beyond.state.replay) == (5, {}, frozenset())


def test_skipped_messages_leave_the_replay_queue_and_the_delayed_ones_up_to_their_position() -> None:
    state = publish(DeliveryState(DeliveryTerms(order=OrderRule.NONE), accepted(sticky_selector())), [], 0).state
    state = with_all(state, Consumer(1, "a", ((0, 0),)))
    state = publish(state, KEYS[:2], 0, deliver_at_ms=50).state
    state = publish(state, KEYS[:2], 0).state
    assert (sorted(state.delayed), sorted(state.replay)) == ([0, 1], [2, 3])
    assert [sorted(skip_to(state, at, 0).state.delayed) for at in (-1, 0, 1)] == [[0, 1], [1], []]
    assert [sorted(skip_to(state, at, 0).state.replay) for at in (1, 2, 3)] == [[2, 3], [3], []]
    assert skip_to(state, 1, 0).state.read_due_ms is None


def test_time_makes_delayed_messages_due_at_their_moment_and_leaves_a_later_read_alone() -> None:
    state = with_all(DeliveryState(DeliveryTerms(), auto_split()), Consumer(1, "a"))
    state = replace(publish(state, KEYS[:1], 0, deliver_at_ms=50).state, read_due_ms=60)
    assert advance_to(state, 49) == Delivery(state)
    ripe = advance_to(state, 50)
    assert (positions(ripe), ripe.state.delayed, ripe.state.replay) == ([0], frozenset(), frozenset())
    assert (ripe.state.read_due_ms, advance_to(ripe.state, 60).state.read_due_ms) == (60, None)


def test_a_read_that_is_due_outlives_a_leave_but_not_the_last_one() -> None:
    state = with_all(DeliveryState(DeliveryTerms(), auto_split()), Consumer(1, "a"), Consumer(2, "b"))
    due = replace(state, read_due_ms=60, draining=DrainingHashes(cleared_total={1: 1, 2: 3, 9: 4}))
    one = leave(due, 1, 5).state
    assert (one.read_due_ms, dict(one.draining.cleared_total)) == (60, {2: 3, 9: 4})
    nobody = leave(one, 2, 5).state
    assert (nobody.read_due_ms, nobody.draining) == (None, DrainingHashes())


def test_the_shortest_look_ahead_is_one_message() -> None:
    assert DeliveryTerms(look_ahead_per_consumer=1, look_ahead=0).look_ahead_limit(1) == 1
    assert DeliveryTerms(look_ahead_per_consumer=5, look_ahead=1).look_ahead_limit(1) == 1


def test_what_was_skipped_while_it_was_not_read_yet_is_never_read() -> None:
    state = publish(DeliveryState(DeliveryTerms(), auto_split()), KEYS[:4], 0).state
    skipped = skip_to(state, 1, 0).state
    assert (skipped.read_position, sorted(skipped.backlog)) == (2, [2, 3])
    assert positions(accepted(join(skipped, Consumer(1, "a"), 0))) == [2, 3]


def test_a_draining_hash_counts_messages_attempts_and_what_was_cleared() -> None:
    draining = DrainingHashes().add(7, 1, 5).add(7, 1, 9).add(3, 1, 6).add(9, 2, 6)
    assert draining.entries[7] == DrainingHash(7, 1, unacked=2, blocked_attempts=0, since_ms=5)
    assert [each.slot for each in draining.of_consumer(1)] == [3, 7]
    assert draining.of_consumer(8) == ()
    for attempts in (1, 2):
        blocked, draining = draining.blocks(7, 2)
        assert blocked and draining.entries[7].blocked_attempts == attempts
    assert draining.acknowledged(7, 2) == draining.acknowledged(8, 1) == (draining, False)
    once, freed = draining.acknowledged(7, 1)
    assert (once.entries[7].unacked, freed, dict(once.cleared_total)) == (1, False, {})
    twice, freed = once.acknowledged(7, 1)
    assert (sorted(twice.entries), freed, dict(twice.cleared_total)) == ([3, 9], True, {1: 1})
    thrice, freed = twice.acknowledged(3, 1)
    assert (sorted(thrice.entries), freed, dict(thrice.cleared_total)) == ([9], False, {1: 2})
    other, _ = thrice.acknowledged(9, 2)
    assert dict(other.cleared_total) == {1: 2, 2: 1}
    assert dict(other.forget(1).cleared_total) == {2: 1}


def test_a_slot_that_came_back_passes_and_drains_no_more_and_slot_zero_always_passes() -> None:
    draining = DrainingHashes().add(7, 1, 5).add(8, 1, 5)
    passed, left = draining.blocks(7, 1)
    assert (passed, sorted(left.entries), dict(left.cleared_total)) == (False, [8], {})
    assert draining.blocks(9, 2) == (False, draining)
    zero = DrainingHashes().add(0, 1, 5)
    assert zero.blocks(0, 2) == (False, zero)
