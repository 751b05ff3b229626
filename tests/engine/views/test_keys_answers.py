"""Where a key goes and what stands in its way, in sentences; and the reverse: what a consumer has."""

from __future__ import annotations

from engine.errors import Rejection
from engine.views.keys.answers import key_answer, keys_of_consumer
from engine.views.keys.model import KeyAnswer, WaitHolder
from engine.views.keys.view import keys_view
from tests.engine.views.key_states import KEY, after

KEYS = [f"k{number}" for number in range(40)]
SENT = f"send {' '.join(KEYS)}"


def answer(*lines: str, key: str) -> KeyAnswer:
    result = key_answer(after(*lines), KEY, key)
    assert isinstance(result, KeyAnswer), result
    return result


def test_a_key_on_a_ring_falls_on_a_point() -> None:
    result = answer("add a", "add b", key="k1")
    owner, point = result.explanation.owner, result.explanation.point
    assert owner is not None and point is not None
    slot = result.explanation.slot.slot
    assert result.sentence == f"slot {slot:,} falls on point {point.point:,}, the first at or after it: {owner.name}"
    assert result.obstacle == ""
    assert result.explanation.slot.key == b"k1"
    assert [heir.name for heir in result.explanation.heirs] == ["a" if owner.name == "b" else "b"]


def test_a_slot_past_the_last_point_goes_round_the_end() -> None:
    timeline = after("set subscriptionKeySharedConsistentHashingReplicaPoints 1", "add a")
    result = [key_answer(timeline, KEY, key) for key in KEYS]
    sentences = [each.sentence for each in result if isinstance(each, KeyAnswer)]
    assert any(", round the end, the first at or after it: a" in sentence for sentence in sentences)
    assert not all("round the end" in sentence for sentence in sentences)


def test_where_points_are_shared_the_turn_is_reported_with_its_numbers() -> None:
    result = answer("release 2.11.0", "add c", "add c", key="k1")
    slot = result.explanation.slot.slot
    assert f"which 2 consumers share: {slot:,} mod 2 = {slot % 2} is c" in result.sentence


def test_a_key_in_a_range_lies_in_it() -> None:
    result = answer("add a", "add b", "share sticky", key="k1")
    slot = result.explanation.slot.slot
    piece = "[0,32767]" if slot < 32_768 else "[32768,65535]"
    assert result.sentence == f"slot {slot:,} lies in {piece} of {'a' if slot < 32_768 else 'b'}"


def test_a_key_of_nobody_waits_for_somebody() -> None:
    result = answer("share sticky", "add a ranges 0-1", "send k1", key="k1")
    slot = result.explanation.slot.slot
    assert result.sentence == f"slot {slot:,} belongs to nobody: messages of this key wait until somebody has it"
    assert result.obstacle == "1 message of this slot waits until a consumer declares a range with this slot"
    assert result.explanation.heirs == ()


def test_a_consumer_without_a_name_is_quoted_and_an_empty_key_reported() -> None:
    result = answer('add ""', key="")
    assert result.sentence.endswith('the first at or after it: ""')
    assert result.explanation.slot.key == b""
    both = answer('add ""', 'add ""', key="")
    assert [heir.name for heir in both.explanation.heirs] == [""]
    timeline = after('add ""', 'send ""')
    assert keys_view(timeline, KEY).deliveries == ('"" got "" (message 0)',)


def test_a_draining_slot_says_for_whom_it_drains_since_when_and_what_was_tried() -> None:
    first = after("add a", SENT, "add b")
    moved = next(
        key for key in KEYS if (at := key_answer(first, KEY, key)) and isinstance(at, KeyAnswer) and at.obstacle
    )
    result = key_answer(first, KEY, moved)
    assert isinstance(result, KeyAnswer)
    assert result.obstacle == "nothing waits yet; the slot drains until a has acknowledged 1"
    again = after(f"send {moved} times 2", "wait 30", start=first)
    reported = key_answer(again, KEY, moved)
    assert isinstance(reported, KeyAnswer)
    assert reported.obstacle.startswith("draining: 2 messages of this slot wait")
    assert "until a has acknowledged 1; " in reported.obstacle and "blocked" in reported.obstacle
    (row,) = keys_view(again, KEY).waits
    assert (row.keys, row.messages, row.owner, row.holders) == ((moved,), 2, 1, (WaitHolder(0, 1),))
    assert (row.reason, row.ends_when) == (
        "draining",
        "the former consumer acknowledges its messages of this slot, or leaves",
    )
    due = key_answer(after(f"ack a key {moved}", start=again), KEY, moved)
    assert isinstance(due, KeyAnswer) and due.obstacle == "2 messages of this slot wait until the next read"
    freed = after(f"ack a key {moved}", "wait 10", start=again)
    assert isinstance(free := key_answer(freed, KEY, moved), KeyAnswer) and free.obstacle == ""
    assert keys_view(freed, KEY).waits == ()


def test_a_newcomer_waits_for_all_that_was_sent_before_in_the_classic_dispatcher() -> None:
    classic = "set subscriptionKeySharedUseClassicPersistentImplementation true"
    timeline = after("release 4.2.5", classic, "add a", SENT, "add b", SENT)
    waits = keys_view(timeline, KEY).waits
    assert waits and {(row.reason, row.holders[0].consumer, row.since_ms) for row in waits} == {
        ("newcomer waits", 0, -1)
    }
    result = key_answer(timeline, KEY, waits[0].keys[0])
    assert isinstance(result, KeyAnswer)
    assert result.obstacle.startswith("1 message of this slot waits until everything sent before this consumer joined")
    assert ": a holds " in result.obstacle


def test_what_is_no_key_and_what_is_no_subscription_is_refused() -> None:
    timeline = after("add a")
    wrong = key_answer(timeline, KEY, "hex:zz")
    assert isinstance(wrong, Rejection) and "hex" in wrong.message
    nowhere = key_answer(timeline, "billing", "k")
    assert isinstance(nowhere, Rejection)
    assert (nowhere.error, nowhere.message) == (
        "SubscriptionNotFound",
        "there is no Key_Shared subscription 'billing'",
    )


def test_a_consumer_has_exactly_the_slots_and_keys_that_the_selector_gives_it() -> None:
    for lines in (("add a", "add b"), ("release 2.11.0", "add c", "add c"), ("share auto-split", "add a", "add b")):
        timeline = after(*lines, SENT, "send k3 times 5", "add late", "send k3 k4")
        selector = timeline.state.key_subscriptions[0].delivery.selector
        for consumer in selector.consumers:
            result = keys_of_consumer(timeline, KEY, consumer.consumer_id)
            expected = {
                key for key in KEYS if selector.owner(selector.slots.slot_of_key(key.encode())) == consumer.consumer_id
            }
            assert {row.text for row in result.keys} == expected
            assert result.name == consumer.name
            assert [row.messages for row in result.keys] == sorted((row.messages for row in result.keys), reverse=True)
            assert result.slots == sum(
                len(range(start + (rest - start) % every, end + 1, every)) for start, end, every, rest in result.pieces
            )
        waiting = sum(
            row.waiting
            for consumer in selector.consumers
            for row in keys_of_consumer(timeline, KEY, consumer.consumer_id).keys
        )
        assert waiting == keys_view(timeline, KEY).foot.waiting


def test_a_consumer_that_is_gone_has_nothing() -> None:
    consumer = keys_of_consumer(after("add a", "kill a", SENT), KEY, 0)
    assert (consumer.name, consumer.slots, consumer.pieces, consumer.keys) == ("", 0, (), ())
