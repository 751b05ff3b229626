"""Many producers on one topic: what each step does to all of them, and what is counted."""

from __future__ import annotations

import pytest
from msgspec import structs
from msgspec.structs import replace

from engine.errors import Rejection
from engine.routing.producers.model import (
    Closed,
    Created,
    Disconnected,
    Fenced,
    OpenReason,
    ProducersState,
    ProducersStep,
    Reconnected,
    Sent,
    Updated,
)
from engine.routing.producers.settings import PYTHON, ProducerSettings, Routing
from engine.routing.producers.steps import (
    add_producers,
    advance,
    close_producer,
    counts_of,
    fail_partition,
    grow_partitions,
    producers_state,
    recover_partition,
    send_by_all,
    send_by_one,
)
from tests.engine.routing.fleets import EAGER, LAZY, ONE_BY_ONE, done, events, fleet, fresh


def test_eager_lazy_and_partial_cost_what_pip_79_promises() -> None:
    """A hundred producers on a thousand partitions, fifty brokers, ten messages each."""
    eager = counts_of(fleet(1000, 100, EAGER, ONE_BY_ONE, brokers=50))
    assert (eager.broker_producers, eager.connections, eager.partitions_used) == (100_000, 5000, 1000)
    single = done(send_by_all(fleet(1000, 100, LAZY, Routing("SinglePartition"), brokers=50), messages=10))
    assert counts_of(single).broker_producers == counts_of(single).connections == 100
    partial = done(send_by_all(fleet(1000, 100, LAZY, Routing("PartialRoundRobin", 3), brokers=50), messages=10))
    assert counts_of(partial).broker_producers == 300
    around = done(send_by_all(fleet(1000, 100, LAZY, ONE_BY_ONE, brokers=50), messages=10))
    assert counts_of(around).broker_producers == 100 * 11


def test_creation_tells_each_producer_s_partitions_and_why() -> None:
    step = add_producers(fresh(4), 2, LAZY, ONE_BY_ONE)
    assert all(isinstance(event, Created) and event.reason is OpenReason.LAZY_START for event in events(step))
    assert [event.producer_name for event in events(step) if isinstance(event, Created)] == [
        "standalone-0-0",
        "standalone-0-1",
    ]
    [eager] = events(add_producers(fresh(4), 1, EAGER, ONE_BY_ONE))
    assert isinstance(eager, Created) and (eager.reason, eager.opened) == (OpenReason.EAGER_START, (0, 1, 2, 3))


def test_a_chosen_name_is_numbered_where_several_would_share_it() -> None:
    named = structs.replace(EAGER, producer_name="feed")
    assert [producer.producer_name for producer in fleet(2, 3, named).producers] == ["feed-0", "feed-1", "feed-2"]
    assert [producer.producer_name for producer in fleet(2, 2, named).producers] == ["feed-0", "feed-1"]
    alone = fleet(2, 1, named)
    assert [producer.producer_name for producer in alone.producers] == ["feed"]
    [event] = events(add_producers(alone, 1, named, ONE_BY_ONE))
    assert isinstance(event, Created) and event.error is not None and event.error.error == "ProducerBusy"


def test_a_creation_that_fails_is_reported_and_not_kept_and_leaves_nothing_open() -> None:
    state = done(fail_partition(fresh(4), 3))
    step = add_producers(state, 2, EAGER, ONE_BY_ONE)
    assert [isinstance(event, Created) and event.error is not None for event in events(step)] == [True, True]
    assert [isinstance(event, Created) and event.opened for event in events(step)] == [(), ()]
    assert done(step).producers == () and counts_of(done(step)).broker_producers == 0


def test_one_producer_sends_and_only_it_moves() -> None:
    before = fleet(6, 3, LAZY)
    step = send_by_one(before, 1, messages=2)
    assert [event.number for event in events(step) if isinstance(event, Sent)] == [1, 1]
    after = done(step)
    assert (after.producers[0], after.producers[2]) == (before.producers[0], before.producers[2])
    assert len(after.producers[1].started) == 3


def test_all_send_round_by_round_and_the_closed_do_not() -> None:
    state = done(close_producer(fleet(6, 3, EAGER), 1))
    step = send_by_all(state, "k", messages=2)
    assert [event.number for event in events(step) if isinstance(event, Sent)] == [0, 2, 0, 2]


def test_growth_is_found_out_with_the_next_look_by_each_in_its_own_way() -> None:
    state = done(add_producers(fleet(2, 1, EAGER), 1, LAZY, ONE_BY_ONE))
    state = done(grow_partitions(state, 5))
    assert [producer.partitions for producer in state.producers] == [2, 2]
    assert events(advance(state, 59_999)) == ()
    step = advance(state, 60_000)
    reported = [event for event in events(step) if isinstance(event, Updated)]
    assert [(each.number, each.partitions, each.result.opened) for each in reported] == [(0, 5, (2, 3, 4)), (1, 5, ())]
    assert len(done(step).producers[1].started) == 1
    assert counts_of(done(step)).broker_producers == 6


def test_a_failed_partition_disconnects_its_producers_and_recovery_lets_them_back_with_what_waited() -> None:
    state = fleet(3, 2, EAGER, Routing("SinglePartition"))
    index = state.producers[0].router.index  # type: ignore[union-attr]
    step = fail_partition(state, index)
    assert events(step) == (Disconnected(0, index), Disconnected(1, index))
    state = done(send_by_one(done(step), 0, messages=3))
    assert counts_of(state).broker_producers == 4
    step = recover_partition(state, index)
    assert events(step) == (Reconnected(0, index, 3, None), Reconnected(1, index, 0, None))
    assert counts_of(done(step)).broker_producers == 6
    assert done(step).producers[0].started[index].sent_msgs == 3


def test_who_has_nothing_to_get_back_keeps_nobody_from_it() -> None:
    state = done(close_producer(fleet(1, 3, EAGER), 0))
    step = recover_partition(done(fail_partition(state, 0)), 0)
    assert [event.number for event in events(step) if isinstance(event, Reconnected)] == [1, 2]
    assert counts_of(done(step)).producers == 2


def test_an_exclusive_one_that_came_meanwhile_keeps_the_lost_ones_out() -> None:
    """Partition 0 down, its producer closed elsewhere: the recovered partition belongs to who is there first."""
    state = fleet(1, 1, LAZY)
    state = done(send_by_one(done(fail_partition(state, 0)), 0, messages=3))
    topic = replace(state.topic, failing={})
    state = done(
        add_producers(replace(state, topic=topic), 1, structs.replace(EAGER, access_mode="Exclusive"), ONE_BY_ONE)
    )
    [event] = events(recover_partition(state, 0))
    assert isinstance(event, Reconnected) and event.error is not None and event.error.error == "ProducerBusy"
    assert event.published_msgs == 0


def test_exclusive_with_fencing_throws_the_others_out() -> None:
    state = fleet(4, 2, EAGER)
    step = add_producers(state, 1, structs.replace(LAZY, access_mode="ExclusiveWithFencing"), ONE_BY_ONE)
    assert [type(event) for event in events(step)] == [Created, Fenced, Fenced]
    state = done(step)
    assert [producer.state for producer in state.producers] == ["Fenced", "Fenced", "Ready"]
    assert counts_of(state).broker_producers == 4
    [event] = events(send_by_one(state, 0))
    assert isinstance(event, Sent) and event.result.error is not None
    assert event.result.error.message == "Producer was fenced"


def test_who_has_lost_its_connection_is_not_thrown_out_by_fencing() -> None:
    state = done(fail_partition(fleet(1, 1, EAGER), 0))
    fencing = structs.replace(EAGER, access_mode="ExclusiveWithFencing")
    step = add_producers(replace(state, topic=replace(state.topic, failing={})), 1, fencing, ONE_BY_ONE)
    assert [type(event) for event in events(step)] == [Created]
    assert [producer.state for producer in done(step).producers] == ["Ready", "Ready"]


def test_a_fencing_one_that_fails_has_thrown_the_others_out_all_the_same() -> None:
    state = done(fail_partition(fleet(3, 1, EAGER), 2))
    step = add_producers(state, 1, structs.replace(EAGER, access_mode="ExclusiveWithFencing"), ONE_BY_ONE)
    assert [type(event) for event in events(step)] == [Created, Fenced]
    assert [producer.state for producer in done(step).producers] == ["Fenced"]
    assert counts_of(done(step)).broker_producers == 0


def test_a_shared_one_is_kept_out_by_an_exclusive_one() -> None:
    state = fleet(6, 1, structs.replace(LAZY, access_mode="Exclusive", producer_name="lazy-excl"))
    [event] = events(add_producers(state, 1, structs.replace(LAZY, producer_name="late"), ONE_BY_ONE))
    assert isinstance(event, Created) and event.error is not None
    assert event.error.message == "Topic has an existing exclusive producer: lazy-excl"


def test_closing_gives_the_objects_back_and_counts_what_is_lost() -> None:
    state = fleet(3, 2, EAGER, Routing("SinglePartition"))
    for partition in range(3):
        state = done(fail_partition(state, partition))
    state = done(send_by_one(state, 1, messages=5))
    step = close_producer(state, 1)
    assert events(step) == (Closed(1, 5),)
    assert events(close_producer(done(step), 1)) == (Closed(1, 0),)


def test_connections_are_counted_per_client_and_broker() -> None:
    counts = counts_of(fleet(7, 2, EAGER, brokers=3))
    assert (counts.connections, counts.broker_producers) == (6, 14)
    assert counts_of(fleet(2, 5, EAGER, brokers=9)).connections == 10


def test_the_same_seed_gives_the_same_producers_and_another_seed_others() -> None:
    def starts(seed: int) -> list[list[int]]:
        return [list(producer.started) for producer in fleet(1000, 5, LAZY, ONE_BY_ONE, seed=seed).producers]

    assert starts(1) == starts(1) != starts(2)


def test_python_producers_share_no_name_between_partitions() -> None:
    [result] = fleet(3, 1, ProducerSettings(client=PYTHON)).producers
    assert len({producer.producer_name for producer in result.started.values()}) == 3


def refusal(made: ProducersStep | ProducersState | Rejection) -> str:
    assert isinstance(made, Rejection), made
    return made.field


@pytest.mark.parametrize("number", [-1, 2])
def test_a_producer_that_is_not_there_is_named(number: int) -> None:
    state = fleet(2, 2)
    assert refusal(send_by_one(state, number)) == refusal(close_producer(state, number)) == "producer"


def test_bad_numbers_are_refused_by_the_field_that_has_them() -> None:
    state = fleet(6, 1)
    assert refusal(producers_state(0)) == refusal(producers_state(-4)) == "partitions"
    assert refusal(producers_state(6, brokers=0)) == "brokers"
    assert refusal(grow_partitions(state, 5)) == "partitions"
    assert refusal(add_producers(state, -1, EAGER, ONE_BY_ONE)) == "count"
    assert refusal(send_by_one(state, 0, messages=-1)) == refusal(send_by_all(state, messages=-1)) == "messages"
    assert refusal(send_by_one(state, 0, size_bytes=-1)) == refusal(send_by_all(state, size_bytes=-1)) == "sizeBytes"
    assert refusal(fail_partition(state, 6)) == refusal(recover_partition(state, -1)) == "partition"
    assert refusal(advance(state, -1)) == "nowMs"
    for limit in (0, -1, 7):
        step = add_producers(state, 1, LAZY, Routing("PartialRoundRobin", limit))
        assert refusal(step) == "numPartitionsLimit"
    meant = add_producers(state, 1, LAZY, Routing("PartialRoundRobin", 7), allow_limit_above=True)
    assert len(done(meant).producers) == 2
    assert (
        refusal(add_producers(state, 1, structs.replace(EAGER, max_pending_messages=-2), ONE_BY_ONE))
        == "maxPendingMessages"
    )
    assert refusal(add_producers(state, 1, EAGER, Routing(hashing="BoostHash"))) == "hashingScheme"


def test_no_producers_and_no_messages_are_no_mistake() -> None:
    state = fresh(3)
    assert done(add_producers(state, 0, EAGER, ONE_BY_ONE)) == state
    assert events(send_by_all(state)) == ()
    assert counts_of(state).connections == 0
    one = fleet(3, 1)
    for step in (send_by_one(one, 0, size_bytes=0), send_by_all(one, size_bytes=0)):
        [event] = events(step)
        assert isinstance(event, Sent) and event.result.outcome == "sent"
