"""Known bugs of Key_Shared that show while messages flow: skipping, hot keys, delays, more partitions.

They are described in ``tests/known_pulsar_bugs.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from engine.keyshared.delivery import acknowledge, advance_to, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms, OrderRule, WaitReason, waits
from engine.keyshared.luck import Verdict, luck_of
from engine.keyshared.model import Consumer, owner_of_key
from engine.routing.growth import KeyMoves, moved_keys
from tests.engine.keyshared.selectors import accepted, ring
from tests.engine.keyshared.skipping import skip_to
from tests.engine.routing.walks import partition_of_key

KEYS = [f"key-{number}".encode() for number in range(200)]
MOVES = next(key for key in KEYS if owner_of_key(ring(["a", "b"]), key) == 2)
"""A key that moves from the first consumer to the second when that joins."""


def joined(state: DeliveryState, *numbers: int) -> DeliveryState:
    for number in numbers:
        state = accepted(join(state, Consumer(number, "ab"[number - 1]), 0)).state
    return state


def overtakes(order: tuple[str, ...], *, cleans_pending_acks: bool) -> bool:
    """Whether the second consumer is sent the key while the first one still works on an older message of it."""
    state = publish(joined(DeliveryState(DeliveryTerms(), ring()), 1), [MOVES], 0).state
    working, overtaken = True, False

    def take(outcome: Delivery) -> None:
        nonlocal state, overtaken
        state = outcome.state
        overtaken = overtaken or (working and any(sent.consumer_id == 2 for sent in outcome.sent))

    for now_ms, step in enumerate(order, start=1):
        take(advance_to(state, now_ms * 100))
        if step == "join":
            take(accepted(join(state, Consumer(2, "b"), now_ms * 100)))
        elif step == "publish":
            take(publish(state, [MOVES], now_ms * 100))
        elif step == "skip":
            take(skip_to(state, 0, now_ms * 100, cleans_pending_acks=cleans_pending_acks))
        else:
            working = False
            take(acknowledge(state, 1, 0, now_ms * 100))
    take(advance_to(state, 1000))
    return overtaken


def test_K18_skipping_past_an_unacknowledged_message_breaks_order_in_pulsar_and_need_not() -> None:
    """All orders of: the key moves, a new message of it, skipping past the old one, its acknowledgement."""
    orders = list(permutations(("join", "publish", "skip", "acknowledge")))
    broken = [order for order in orders if overtakes(order, cleans_pending_acks=True)]
    # The hash no longer drains although work goes on.
    assert sorted(broken) == [
        ("join", "publish", "skip", "acknowledge"),
        ("join", "skip", "publish", "acknowledge"),
        ("skip", "join", "publish", "acknowledge"),
    ]
    assert not [order for order in orders if overtakes(order, cleans_pending_acks=False)]


def test_K18_what_was_skipped_is_not_sent_again_when_its_consumer_leaves() -> None:
    state = publish(joined(DeliveryState(DeliveryTerms(), ring()), 1, 2), KEYS[:9], 0).state
    state = skip_to(state, 4, 0, cleans_pending_acks=False).state
    assert sum(len(held) for held in state.pending.values()) == 9
    gone = leave(state, 1, 1)
    assert gone.sent
    assert {sent.message.position for sent in gone.sent} <= {5, 6, 7, 8}
    skipped = skip_to(state, 99, 2).state
    assert (dict(skipped.backlog), [dict(held) for held in skipped.pending.values()]) == ({}, [{}, {}])
    assert [sent.message.position for sent in publish(skipped, KEYS[:1], 3).sent] == [9]


def published_until_all_starve(terms: DeliveryTerms, keys: list[bytes]) -> tuple[int, DeliveryState]:
    """Consumer 1 never acknowledges, consumer 2 does at once; keys come in turn until a message for 2 is not sent."""
    state = joined(DeliveryState(terms, ring()), 1, 2)
    for count in range(10_000):
        key = keys[count % len(keys)]
        outcome = publish(state, [key], count)
        state = outcome.state
        for sent in outcome.sent:
            if sent.consumer_id == 2:
                state = acknowledge(state, 2, sent.message.position, count).state
        if owner_of_key(state.selector, key) == 2 and not outcome.sent:
            return count, state
    raise AssertionError("nothing starved")


def test_K20_one_stuck_consumer_starves_every_key_after_the_predicted_time() -> None:
    terms = DeliveryTerms(max_unacked=20, look_ahead_per_consumer=30)
    selector = ring(["a", "b"])
    stuck_keys_per_second = sum(owner_of_key(selector, key) == 1 for key in KEYS)
    count, state = published_until_all_starve(terms, KEYS)
    assert len(state.replay) == terms.look_ahead_limit(2) == 60
    # One key a second each, so a round of all keys takes a second.
    assert abs(count / len(KEYS) - (20 + 60) / stuck_keys_per_second) < 0.2
    assert {wait.reason for wait in waits(state)} == {WaitReason.NO_PERMITS, WaitReason.LOOK_AHEAD}


def zipf_counts(keys: Sequence[bytes], messages: int, exponent: float = 1.0) -> dict[bytes, int]:
    """``messages`` over keys by Zipf's law: the r-th key has a part of 1 / r^exponent; the sum is exact. O(n log n).

    Parts are rounded down, and what is left goes to the largest remainders, the earlier key on a tie.

    """
    assert messages >= 0, "there is no negative number of messages"
    weights = [1 / rank**exponent for rank in range(1, len(keys) + 1)]
    whole = sum(weights)
    exact = [messages * weight / whole for weight in weights]
    counts = [int(part) for part in exact]
    by_remainder = sorted(range(len(keys)), key=lambda at: counts[at] - exact[at])
    for at in by_remainder[: messages - sum(counts)]:
        counts[at] += 1
    return dict(zip(keys, counts, strict=True))


def test_K21_skewed_keys_take_longer_than_ideal_and_leave_consumers_idle() -> None:
    keys = [f"order-{number}".encode() for number in range(6_000)]
    selector = ring([f"worker-{number}" for number in range(30)])
    even = luck_of(selector, dict.fromkeys(keys, 100.0))
    counts = [zipf_counts(keys, 600_000, exponent) for exponent in (0.6, 0.7, 0.8)]
    assert {sum(count.values()) for count in counts} == {600_000}
    assert sum(sorted(counts[2].values())[-400:]) > 300_000, "less than 400 of 6,000 keys carry half of the messages"
    skewed = [luck_of(selector, count) for count in counts]
    # Evenly used keys take a quarter longer by chance; skewed ones one and a half to three times as long.
    assert even.time_over_ideal < 1.3 < 1.5 < min(each.time_over_ideal for each in skewed)
    assert max(each.time_over_ideal for each in skewed) < 3
    assert [each.verdict for each in (even, *skewed)] == [Verdict.CHANCE, *[Verdict.HOT_KEY] * 3]
    # No placement could do better than the hottest key alone, which is a fair part only in the last.
    assert [each.best_time_over_ideal > 1 for each in skewed] == [False, False, True]
    assert all(each.best_time_over_ideal <= each.time_over_ideal for each in skewed)
    assert skewed[2].best_time_over_ideal == pytest.approx(30 * skewed[2].hottest_share)
    assert even.idle_time_share < 0.2 < 0.3 < skewed[0].idle_time_share < skewed[2].idle_time_share


def held_by_delays(order: OrderRule) -> DeliveryState:
    """40 delayed messages, then 40 plain ones of the same keys, with few permits; a second consumer joins."""
    terms = DeliveryTerms(order=order, max_unacked=40, look_ahead_per_consumer=5)
    state = joined(DeliveryState(terms, ring()), 1)
    state = publish(state, KEYS[:40], 0, deliver_at_ms=1000).state
    state = publish(state, KEYS[:40], 0).state
    for position in tuple(state.pending[1]):
        state = acknowledge(state, 1, position, 1).state
    return publish(joined(state, 2), KEYS[:40], 2).state


def test_K24_delayed_keys_hold_back_no_other_and_go_out_in_time() -> None:
    state = held_by_delays(OrderRule.DRAINING_HASHES)
    assert {len(held) for held in state.pending.values()} != {0}
    assert sum(len(held) for held in state.pending.values()) == 40
    assert {wait.reason for wait in waits(state)} == {WaitReason.DELAYED}
    assert advance_to(state, 999).sent == ()
    due = advance_to(state, 1000)
    assert {sent.message.position for sent in due.sent} | due.state.replay == set(range(40))
    assert not due.state.delayed


def test_K24_before_4_0_a_consumer_that_joined_waited_for_every_delayed_message() -> None:
    state = held_by_delays(OrderRule.RECENTLY_JOINED)
    assert not state.pending[2]
    assert WaitReason.RECENTLY_JOINED in {wait.reason for wait in waits(state)}


def test_K27_more_partitions_put_a_key_into_two_hands_exactly_when_it_changes_its_partition() -> None:
    """Each partition keeps its keys in order, but between two of them nothing drains."""
    keys = [f"key-{number}" for number in range(200)]
    moves = moved_keys(keys, 5, 10)
    assert isinstance(moves, KeyMoves)
    partitions = [joined(DeliveryState(DeliveryTerms(), ring()), 1, 2) for _ in range(10)]
    for count in (5, 10):
        for key in keys:
            at = partition_of_key(key, "JavaStringHash", count)
            partitions[at] = publish(partitions[at], [key.encode()], count).state
    out_in = {key: sum(is_out(state, key.encode()) for state in partitions) for key in keys}
    assert {key for key, places in out_in.items() if places == 2} == {each.key for each in moves.moved}
    assert set(out_in.values()) == {1, 2}


def is_out(state: DeliveryState, key: bytes) -> bool:
    return any(state.backlog[position].key == key for held in state.pending.values() for position in held)
