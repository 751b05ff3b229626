"""What partitions get a second from producers with rates: against a count of messages, sent one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.errors import Rejection
from engine.producer_limit import ProducerLimit
from engine.routing.producers import steps
from engine.routing.producers.model import ProducersState, ProducersStep, RateSet, Reached, SendRate, Sent
from engine.routing.producers.rates import flow_of, flow_on, reached, sends, shares_on
from engine.routing.producers.settings import CLIENTS, ProducerSettings, Routing

PERIODS = 12
"""Rounds that are counted: every router is even over whole rounds."""


def accepted(step: ProducersStep | Rejection) -> ProducersState:
    assert not isinstance(step, Rejection), step
    return step.state


def topic(partitions: int) -> ProducersState:
    state = steps.producers_state(partitions)
    assert not isinstance(state, Rejection)
    return state


def with_producer(
    state: ProducersState, routing: Routing, client: str = "java", *, lazy: bool = True
) -> ProducersState:
    one = ProducerSettings(client=CLIENTS[client], lazy_start_partitioned_producers=lazy)
    return accepted(steps.add_producers(state, 1, one, routing, allow_limit_above=True))


def rated(state: ProducersState, number: int | None, rate: SendRate) -> ProducersState:
    return accepted(steps.set_rate(state, number, rate))


routings = st.one_of(
    st.builds(Routing, kind=st.just("RoundRobinPartition"), batching=st.booleans()),
    st.just(Routing("SinglePartition")),
    st.builds(Routing, kind=st.just("PartialRoundRobin"), num_partitions_limit=st.integers(1, 7)),
)
rates = st.builds(SendRate, st.integers(1, 1_000).map(float), st.integers(0, 5_000)) | st.builds(
    SendRate, st.integers(1, 1_000).map(float), key=st.text(max_size=3) | st.none(), keys=st.just(0)
)


@settings(max_examples=150, deadline=None)
@given(routings, rates | st.builds(SendRate, st.just(30.0), keys=st.integers(1, 9)), st.integers(1, 9))
def test_the_shares_are_those_of_messages_that_are_counted(routing: Routing, rate: SendRate, partitions: int) -> None:
    state = with_producer(topic(partitions), routing)
    counted: Counter[int] = Counter()
    sender = state
    keys = rate.every_key or (None,)
    for turn in range(PERIODS * partitions):
        for key in keys:
            # Ten milliseconds are a turn of round robin while batching.
            sender = replace(sender, now_ms=turn * 10)
            step = steps.send_by_one(sender, 0, key)
            assert not isinstance(step, Rejection)
            sender = step.state
            counted.update(event.result.partition for event in step.events if isinstance(event, Sent))
    limit = len(shares_on(replace(state.producers[0], rate=rate), partitions))
    whole = counted.total() - counted.total() % max(1, limit)
    expected = np.array([counted[at] / counted.total() * rate.msgs_per_sec for at in range(partitions)])
    flow = flow_of(rated(state, 0, rate))
    assert flow.msgs_per_sec == pytest.approx(expected, abs=rate.msgs_per_sec * limit / whole)
    assert float(flow.msgs_per_sec.sum()) == pytest.approx(rate.msgs_per_sec)
    assert flow.bytes_per_sec == pytest.approx(flow.msgs_per_sec * rate.size_bytes)
    assert (flow.waiting, flow.failing) == (0.0, 0.0)


def test_a_lazy_producer_opens_what_its_rate_reaches_and_nothing_else() -> None:
    state = with_producer(topic(6), Routing("PartialRoundRobin", 3))
    assert len(state.producers[0].started) == 1
    step = steps.set_rate(state, 0, SendRate(30.0))
    assert not isinstance(step, Rejection)
    (event,) = step.events
    assert isinstance(event, RateSet) and len(event.opened) == 2
    flow = flow_of(step.state)
    assert sorted(flow.msgs_per_sec.tolist()) == [0.0] * 3 + [10.0] * 3
    assert rated(state, 0, SendRate(0.0)).producers[0].started == state.producers[0].started
    eager = with_producer(topic(6), Routing("SinglePartition"), lazy=False)
    assert rated(eager, 0, SendRate(5.0)).topic == eager.topic


def test_added_partitions_are_reached_once_the_producer_knows_them() -> None:
    state = rated(with_producer(topic(2), Routing(batching=False)), 0, SendRate(12.0))
    grown = accepted(steps.grow_partitions(state, 4))
    assert flow_of(grown).msgs_per_sec.tolist() == [6.0, 6.0, 0.0, 0.0]
    advanced = steps.advance(grown, 60_000)
    assert not isinstance(advanced, Rejection)
    step = steps.reach(advanced)
    assert step.events[-1] == Reached(0, (2, 3))
    assert flow_of(step.state).msgs_per_sec.tolist() == [3.0] * 4
    assert steps.reach(step) == step


def test_what_a_full_partition_and_a_lost_one_do_to_a_rate() -> None:
    state = with_producer(topic(4), Routing(batching=False))
    (mine,) = state.producers[0].started
    other = (mine + 1) % 4
    there = list(state.topic.connected)
    there[other] = there[mine]
    full = replace(state, topic=replace(state.topic, connected=tuple(there), limit=ProducerLimit(1, "broker")))
    flow = flow_of(rated(full, 0, SendRate(8.0)))
    assert (float(flow.msgs_per_sec.sum()), flow.failing, flow.waiting) == (6.0, 2.0, 0.0)
    assert flow.msgs_per_sec[other] == 0
    lost = accepted(steps.fail_partition(rated(state, 0, SendRate(8.0)), mine))
    flow = flow_of(lost)
    assert (float(flow.msgs_per_sec.sum()), flow.failing, flow.waiting) == (6.0, 0.0, 2.0)
    closed = accepted(steps.close_producer(lost, 0))
    assert float(flow_of(closed).msgs_per_sec.sum()) == 0 and sends(closed.producers[0]) == {}
    assert reached(closed, 0) is closed


def test_rates_add_up_over_clients_and_on_a_topic_of_another_size() -> None:
    state = with_producer(topic(4), Routing("SinglePartition"), "java")
    state = with_producer(state, Routing(), "python", lazy=False)
    state = rated(rated(state, 0, SendRate(100.0)), 1, SendRate(8.0, keys=3))
    total = flow_on(state, 4)
    assert total == pytest.approx(flow_of(state).msgs_per_sec)
    for partitions in (1, 2, 3, 9):
        other = flow_on(state, partitions)
        assert float(other.sum()) == pytest.approx(108.0) and float(other.max()) >= 100.0
    partial = rated(with_producer(topic(4), Routing("PartialRoundRobin", 3)), 0, SendRate(9.0))
    assert np.count_nonzero(flow_on(partial, 9)) == 3
    assert flow_on(partial, 2).tolist() == [4.5, 4.5]


def test_all_that_are_open_get_the_rate() -> None:
    state = with_producer(with_producer(topic(2), Routing()), Routing())
    state = accepted(steps.close_producer(state, 0))
    after = rated(state, None, SendRate(3.0, 7))
    assert [producer.rate for producer in after.producers] == [None, SendRate(3.0, 7)]
    assert isinstance(steps.set_rate(state, 5, SendRate(1.0)), Rejection)
