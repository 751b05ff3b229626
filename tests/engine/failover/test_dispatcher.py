"""Connect, disconnect, notices and refusals of one dispatcher; the steps of Pulsar's own tests among them."""

from __future__ import annotations

import pytest

from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.failover.choose import choose
from engine.failover.handover import Liveness, advance_to, close, connect, disconnect
from engine.failover.model import Consumer
from engine.failover.state import (
    ActiveConsumerChanged,
    Connection,
    ConsumerDisconnected,
    DispatcherState,
    HandoverScheduled,
    Notified,
    Outcome,
    SubscriptionType,
    Terms,
)

TOPIC = "persistent://prop/use/ns/topic-partition-4"


def dispatcher(partition_index: int = 4, **terms: object) -> DispatcherState:
    topic = TOPIC if partition_index == 4 else "persistent://prop/use/ns/topic"
    return DispatcherState(Terms(topic, partition_index, **{"delay_ms": 0, **terms}))  # type: ignore[arg-type]


def cons(number: int, level: int = 0, protocol_version: int = 21) -> Connection:
    return Connection(Consumer(number, f"Cons{number}", level), protocol_version)


def done(outcome: Outcome | Rejection) -> Outcome:
    assert isinstance(outcome, Outcome), outcome
    return outcome


def notices(outcome: Outcome | Rejection) -> list[tuple[int, bool]]:
    return [(effect.consumer_id, effect.is_active) for effect in done(outcome).effects if isinstance(effect, Notified)]


def ids(state: DispatcherState) -> list[int]:
    return [connection.consumer_id for connection in state.connections]


def test_PersistentDispatcherFailoverConsumerTest_add_and_remove() -> None:
    """Partition index 4, modulo, one level; the same consumer object is added twice."""
    state = dispatcher()
    for newcomer, listed, active, result in [
        (cons(1), [1], 1, [(1, True)]),
        (cons(1), [1, 1], 1, [(1, True)]),
        (cons(2), [1, 1, 2], 1, [(2, False)]),
        (cons(0), [0, 1, 1, 2], 0, [(0, True), (1, False), (1, False), (2, False)]),
    ]:
        outcome = connect(state, newcomer)
        state = done(outcome).state
        assert (ids(state), state.active_id, notices(outcome)) == (listed, active, result)
    for leaver, listed, active, result in [
        (2, [0, 1, 1], 1, [(0, False), (1, True), (1, True)]),
        (0, [1, 1], 1, []),
    ]:
        outcome = disconnect(state, leaver)
        state = done(outcome).state
        assert (ids(state), state.active_id, notices(outcome)) == (listed, active, result)
    assert disconnect(state, 0) == Rejection("ServerMetadata", "Consumer was not connected", field="consumer_id")
    outcome = disconnect(state, 1)
    state = done(outcome).state
    assert (ids(state), state.active_id, notices(outcome)) == ([1], 1, [])


def test_terms_of_which_nothing_is_said_are_those_of_a_broker_that_is_not_configured() -> None:
    terms, settings = Terms(TOPIC, 4), BrokerSettings()
    assert terms.delay_ms == settings.activeConsumerFailoverDelayTimeMillis
    assert terms.consistent_hashing is settings.activeConsumerFailoverConsistentHashing
    assert terms.max_consumers == settings.maxConsumersPerSubscription
    assert (terms.subscription_type, terms.persistent, terms.behaviour) == (SubscriptionType.FAILOVER, True, CURRENT)
    assert Connection(Consumer(1, "a")).protocol_version == 21


def test_without_a_moment_it_is_the_moment_zero() -> None:
    first = done(connect(dispatcher(delay_ms=1000), cons(1)))
    assert first.effects[-1] == HandoverScheduled(1000)
    state = done(connect(advance_to(first.state, 1000).state, cons(2), 1100)).state
    assert done(disconnect(state, 1)).effects == (ActiveConsumerChanged(1, 2), HandoverScheduled(1000))


def test_a_closed_dispatcher_cuts_a_newcomer_off_without_listing_it() -> None:
    state = close(done(connect(dispatcher(), cons(1))).state)
    outcome = done(connect(state, cons(2)))
    assert outcome.effects == (ConsumerDisconnected(2),)
    assert ids(outcome.state) == [1]


def test_while_all_are_disconnected_nobody_is_chosen() -> None:
    state = done(connect(dispatcher(), cons(1))).state
    state = close(done(connect(state, cons(0))).state)
    assert state.active_id == 0
    outcome = done(disconnect(state, 0))
    assert outcome.effects == () and outcome.state.active_id == 0
    assert done(disconnect(outcome.state, 1)).effects == (ActiveConsumerChanged(0, None),)


def test_a_client_before_protocol_version_12_gets_no_notice() -> None:
    state = done(connect(dispatcher(), cons(1, protocol_version=11))).state
    outcome = connect(state, cons(2, protocol_version=12))
    assert notices(outcome) == [(2, False)]
    outcome = connect(done(outcome).state, cons(0, protocol_version=12))
    assert notices(outcome) == [(0, False)]
    assert notices(connect(done(outcome).state, cons(3))) == [(0, True), (2, False), (3, False)]


def test_non_partitioned_a_lower_level_number_takes_over_from_the_ring_s_choice() -> None:
    both = [Consumer(1, "Cons1", 1), Consumer(2, "Cons2", 1)]
    choice = choose(both, "persistent://prop/use/ns/topic", -1, consistent_hashing=False)
    assert choice is not None
    preferred, other = choice.active.consumer_id, 3 - choice.active.consumer_id
    state = done(connect(dispatcher(-1), cons(preferred, 1))).state
    outcome = connect(state, cons(other, 1))
    assert done(outcome).state.active_id == preferred and notices(outcome) == [(other, False)]
    outcome = connect(done(outcome).state, cons(3, 0))
    assert done(outcome).state.active_id == 3
    assert notices(outcome) == [(3, True), (1, False), (2, False)]


def test_non_partitioned_before_3_0_the_first_connected_is_never_displaced() -> None:
    old = behaviour_of("2.11.0")
    state = done(connect(dispatcher(-1, behaviour=old), cons(5, 3))).state
    for newcomer in (cons(2, 0), cons(1, 9)):
        outcome = connect(state, newcomer)
        state = done(outcome).state
        assert state.active_id == 5 and notices(outcome) == [(newcomer.consumer_id, False)]
    assert ids(state) == [5, 2, 1]
    outcome = disconnect(state, 5)
    assert done(outcome).state.active_id == 2 and notices(outcome) == [(2, True), (1, False)]


def test_the_limit_of_consumers_is_refused_as_pulsar_does() -> None:
    state = done(connect(dispatcher(max_consumers=1), cons(1))).state
    refusal = connect(state, cons(2))
    assert refusal == Rejection("ConsumerBusy", "Subscription reached max consumers limit", field="consumer")
    state = done(disconnect(state, 1)).state
    assert done(connect(state, cons(2))).state.active_id == 2


def test_a_standby_that_leaves_can_move_the_role_between_two_others() -> None:
    """Partition 4: of four the index 0 is active, of three the index 1."""
    state = dispatcher()
    for number in (1, 2, 3, 4):
        state = done(connect(state, cons(number))).state
    assert state.active_id == 1
    outcome = disconnect(state, 4)
    assert done(outcome).effects[0] == ActiveConsumerChanged(1, 2)
    assert notices(outcome) == [(1, False), (2, True), (3, False)]


def test_the_last_one_leaves_in_silence() -> None:
    state = done(connect(dispatcher(), cons(1))).state
    outcome = done(disconnect(state, 1))
    assert outcome.effects == (ActiveConsumerChanged(1, None),)
    assert outcome.state.active_id is None and outcome.state.connections == ()


@pytest.mark.parametrize(("version", "expected"), [("4.2.4", []), ("5.0.0", [(0, True), (1, False)])])
def test_a_change_on_a_non_persistent_topic_is_notified_only_by_later_releases(
    version: str, expected: list[tuple[int, bool]]
) -> None:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    state = dispatcher(persistent=False, delay_ms=1000, behaviour=behaviour)
    first = done(connect(state, cons(1)))
    assert notices(first) == ([(1, True)] if expected else [])
    changed = done(connect(first.state, cons(0)))
    assert changed.state.active_id == 0 and notices(changed) == expected
    assert changed.state.handover_due_ms is None and advance_to(changed.state, 9999).effects == ()


def test_a_non_persistent_newcomer_without_change_is_notified() -> None:
    state = done(connect(dispatcher(-1, persistent=False), cons(1, 0))).state
    assert notices(connect(state, cons(2, 1))) == [(2, False)]
    assert notices(connect(state, cons(1, 0))) == [(1, True)]


def exclusive(version: str = "4.2.4") -> DispatcherState:
    behaviour = behaviour_of(version)
    empty = dispatcher(subscription_type=SubscriptionType.EXCLUSIVE, delay_ms=1000, behaviour=behaviour)
    return done(connect(empty, cons(1))).state


def test_exclusive_has_no_notices_and_no_delay() -> None:
    outcome = done(connect(dispatcher(subscription_type=SubscriptionType.EXCLUSIVE, delay_ms=1000), cons(1)))
    assert notices(outcome) == [] and outcome.state.handover_due_ms is None
    assert outcome.state.active_id == 1


@pytest.mark.parametrize("answer", [Liveness.ALIVE, Liveness.UNKNOWN])
def test_exclusive_refuses_a_second_while_the_first_is_not_known_to_be_dead(answer: Liveness) -> None:
    refusal = connect(exclusive(), cons(2), liveness=[answer])
    assert refusal == Rejection("ConsumerBusy", "Exclusive consumer is already connected", field="consumer")


@pytest.mark.parametrize("answers", [[], [Liveness.DEAD], [Liveness.DEAD] * 4])
def test_exclusive_takes_the_first_for_alive_when_nothing_more_is_known(answers: list[Liveness]) -> None:
    refusal = connect(exclusive(), cons(2), liveness=answers)
    assert refusal == Rejection("ConsumerBusy", "Exclusive consumer is already connected", field="consumer")


def test_exclusive_takes_the_newcomer_once_the_dead_one_is_gone() -> None:
    outcome = done(connect(exclusive(), cons(2), liveness=[Liveness.DEAD, Liveness.DEAD, Liveness.GONE]))
    assert ids(outcome.state) == [2] and outcome.state.active_id == 2
    changes = [effect for effect in outcome.effects if isinstance(effect, ActiveConsumerChanged)]
    assert changes == [ActiveConsumerChanged(1, None), ActiveConsumerChanged(None, 2)]
    assert notices(outcome) == []


def test_exclusive_gives_up_after_the_release_s_number_of_attempts() -> None:
    refusal = connect(exclusive(), cons(2), liveness=[Liveness.DEAD] * 9)
    assert isinstance(refusal, Rejection)
    assert refusal.message == "Exclusive consumer is already connected after 5 attempts"
    late = [*[Liveness.DEAD] * 5, Liveness.GONE]
    assert isinstance(connect(exclusive(), cons(2), liveness=late), Rejection)
