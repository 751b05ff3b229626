"""A sticky slot without owner: what waits for it, in each release, and how far reading goes on past it."""

from __future__ import annotations

import pytest

from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, delivery_terms, selector_for
from engine.keyshared.delivery import acknowledge, join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, DeliveryTerms, WaitReason, waits
from engine.keyshared.model import Consumer, DeclaredRanges
from tests.engine.keyshared.selectors import accepted, ring

KEYS = [f"k-{number}".encode() for number in range(60)]
A, B, C = ((0, 9999), (20_000, 29_999), (40_000, 49_999)), ((10_000, 14_999),), ((55_000, 65_535),)


class Topic:
    """One sticky subscription of a release whose consumers acknowledge everything at once."""

    def __init__(self, release: str, *, strict: bool = True) -> None:
        behaviour = behaviour_of(release)
        assert isinstance(behaviour, ReleaseBehaviour)
        settings = BrokerSettings()
        asked = SubscriptionTerms(mode=KeySharedMode.STICKY, allow_out_of_order_delivery=not strict)
        selector = accepted(selector_for(KeySharedMode.STICKY, settings, behaviour))
        self.state = DeliveryState(delivery_terms(asked, settings, behaviour), selector)

    def _taken(self, outcome: Delivery) -> list[tuple[int, bytes]]:
        self.state = outcome.state
        result = [(sent.consumer_id, sent.message.key) for sent in outcome.sent]
        for sent in outcome.sent:
            result += self._taken(acknowledge(self.state, sent.consumer_id, sent.message.position, 0))
        return result

    def join(self, number: int, declared: DeclaredRanges) -> list[tuple[int, bytes]]:
        return self._taken(accepted(join(self.state, Consumer(number, f"s-{number}", declared), 0)))

    def publish(self, keys: list[bytes] = KEYS) -> list[tuple[int, bytes]]:
        return self._taken(publish(self.state, keys, 0))

    def all_leave(self) -> None:
        for number in tuple(self.state.pending):
            self._taken(leave(self.state, number, 0))

    def reasons(self) -> set[WaitReason]:
        return {wait.reason for wait in waits(self.state)}


@pytest.mark.parametrize("strict", [True, False])
def test_in_2_11_0_the_first_ownerless_key_stops_all_until_everybody_has_left(strict: bool) -> None:
    """As a broker of 2.11.0 was seen to do with these ranges: two keys arrive, the third is nobody's."""
    topic = Topic("2.11.0", strict=strict)
    topic.join(1, A)
    assert topic.publish() == [(1, b"k-0"), (1, b"k-1")]
    assert (topic.state.stopped_at, topic.reasons()) == (2, {WaitReason.STOPPED})
    assert topic.join(2, B) == topic.publish() == topic.join(3, C) == topic.publish() == []
    # Not even an owner of the key frees it.
    assert topic.join(4, ((15_000, 19_999), (30_000, 39_999), (50_000, 54_999))) == []
    topic.all_leave()
    assert topic.state.stopped_at is None
    rest = [key for _, key in topic.join(5, ((0, 65_535),))]
    assert rest == KEYS[2:] + KEYS + KEYS
    assert waits(topic.state) == ()


def test_in_2_11_0_a_leave_that_makes_a_slot_ownerless_stops_the_replay_too() -> None:
    state = Topic("2.11.0").state
    for number, declared in ((1, ((0, 32_767),)), (2, ((32_768, 65_535),))):
        state = accepted(join(state, Consumer(number, "c", declared), 0)).state
    state = publish(state, KEYS, 0).state
    lost = min(state.pending[1])
    state = leave(state, 1, 0).state
    assert (state.stopped_at, sorted(state.replay)[0]) == (lost, lost)
    assert publish(state, KEYS, 0).sent == ()


def test_from_3_0_on_a_strict_newcomer_gets_only_what_was_sent_before_it_joined() -> None:
    """As a broker of 3.0.2 was seen to do; only that the others slow down is not modelled."""
    topic = Topic("3.0.2")
    topic.join(1, A)
    of_a = topic.publish()
    assert topic.join(2, B) == []
    assert [each for each in topic.publish() if each[0] != 1] == []
    of_c = [key.decode() for owner, key in topic.join(3, C) if owner == 3]
    assert of_c == [f"k-{number}" for number in (3, 4, 8, 10, 23, 25, 31, 36, 44, 52, 54, 55)]
    assert {owner for owner, _ in topic.publish()} == {1}
    assert topic.reasons() == {WaitReason.NO_OWNER, WaitReason.RECENTLY_JOINED}
    assert {owner for owner, _ in of_a} == {1}
    topic.all_leave()
    assert topic.state.backlog
    assert {owner for owner, _ in topic.join(5, ((0, 65_535),))} == {5}
    assert not topic.state.backlog


@pytest.mark.parametrize(("release", "strict"), [("3.3.6", False), ("4.0.0", True), ("4.2.4", True)])
def test_out_of_order_or_since_4_0_only_ownerless_keys_wait(release: str, strict: bool) -> None:
    topic = Topic(release, strict=strict)
    topic.join(1, A)
    topic.publish()
    topic.join(2, B)
    topic.join(3, C)
    topic.publish()
    assert topic.reasons() == {WaitReason.NO_OWNER}


def test_the_look_ahead_and_the_unblocking_interval_are_the_brokers() -> None:
    settings = BrokerSettings(
        keySharedLookAheadMsgInReplayThresholdPerConsumer=7,
        keySharedLookAheadMsgInReplayThresholdPerSubscription=20,
        keySharedUnblockingIntervalMs=250,
    )
    terms = delivery_terms(SubscriptionTerms(), settings)
    assert [terms.look_ahead_limit(consumers) for consumers in (1, 2, 3, 9)] == [7, 14, 20, 20]
    state = accepted(join(DeliveryState(terms, ring()), Consumer(1, "a"), 0)).state
    state = publish(state, KEYS, 0).state
    state = accepted(join(state, Consumer(2, "b"), 0)).state
    state = publish(state, KEYS, 0).state
    assert len(state.replay) == 14
    drained = next(slot for slot, entry in state.draining.entries.items() if entry.blocked_attempts)
    positions = [position for position, slot in state.pending[1].items() if slot == drained]
    for position in positions:
        state = acknowledge(state, 1, position, 1000).state
    assert state.read_due_ms == 1250


def test_without_look_ahead_the_limits_of_unacknowledged_messages_take_over() -> None:
    terms = DeliveryTerms(look_ahead_per_consumer=0, look_ahead=-1)
    assert (terms.look_ahead_limit(2), terms.look_ahead_limit(5)) == (100_000, 200_000)
    assert DeliveryTerms(look_ahead_per_consumer=0).look_ahead_limit(50) == DeliveryTerms().look_ahead
    unlimited = DeliveryTerms(look_ahead_per_consumer=0, look_ahead=0, unacked_per_consumer=0, unacked=0)
    assert unlimited.look_ahead_limit(5) is None
