"""What holds where nothing is said: the defaults of clients, routers, producers and statistics."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.hashing import boost_hash, mix
from engine.routing.clients import CPP_DEFAULT, JAVA_DEFAULT, Message
from engine.routing.explain import explain_route
from engine.routing.producers.costs import Workload, counts_over_partitions
from engine.routing.producers.model import (
    OpenReason,
    PartitionedProducer,
    PartitionProducer,
    ProducersState,
)
from engine.routing.producers.producer import create
from engine.routing.producers.settings import (
    CPP,
    DEFAULT_MSG_SIZE_BYTES,
    JAVA,
    PYTHON,
    Client,
    ProducerSettings,
    Routing,
    checked_limit,
    new_router,
)
from engine.routing.producers.steps import add_producers, producers_state, send_by_all, send_by_one
from engine.routing.producers.topic import PartitionedTopic
from engine.routing.publishers import PublisherStats
from engine.routing.routers import (
    MAX_BATCH_BYTES,
    MAX_BATCH_DELAY_MS,
    MAX_BATCH_MSGS,
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    RoundRobinRouter,
    partial_round_robin,
    round_robin,
    switch_period_ms,
)
from engine.routing.stats import ConsumerStats, ReplicatorStats, SubscriptionStats, TopicStats
from tests.engine.routing.fleets import EAGER, LAZY, ONE_BY_ONE, events, fleet, fresh


def test_the_clients_differ_in_names_flag_hashing_and_batching() -> None:
    assert Client("java", True, True, True) == JAVA
    assert Client("python", False, False, False) == PYTHON
    assert Client("cpp", False, False, True) == CPP


def test_a_producer_is_set_up_as_the_java_client_does_it() -> None:
    assert ProducerSettings() == ProducerSettings(None, JAVA, "Shared", False, 0, 0, True, 60)
    assert Routing() == Routing("RoundRobinPartition", 0, None, None, None, None)
    assert isinstance(checked_limit(7, 6), Rejection)
    assert new_router(Routing(), CPP, 6, "s") == new_router(Routing(), CPP, 6, "s", now_ms=0)


def test_routers_begin_with_nothing_counted() -> None:
    assert (MAX_BATCH_MSGS, MAX_BATCH_BYTES, MAX_BATCH_DELAY_MS) == (1000, 131_072, 10)
    assert BatchRoundRobinRouter(3) == BatchRoundRobinRouter(3, 0, 1000, 131_072, 10, CPP_DEFAULT, 0, 0)
    assert PartialRoundRobinRouter(3) == PartialRoundRobinRouter(3, 0, (), 0) == partial_round_robin(3)
    assert round_robin(3) == RoundRobinRouter(3, 3) == RoundRobinRouter(3, 3, True, 10, JAVA_DEFAULT)
    assert (switch_period_ms(1), switch_period_ms(10, 1000), switch_period_ms()) == (1, 10, 10)
    assert switch_period_ms(max_publish_delay_us=100_000) == 1000


@pytest.mark.parametrize(("size_bytes", "room", "full"), [(1, 0, True), (2**32 - 2, -1, False), (2**32 - 1, -1, True)])
def test_the_room_of_a_batch_is_a_number_of_32_bits(size_bytes: int, room: int, full: bool) -> None:
    router = BatchRoundRobinRouter(0, max_bytes=100, size_bytes=100 - room)
    assert router.is_full(size_bytes, 0) is full


def test_a_message_of_which_nothing_is_said_has_no_size_and_a_sent_one_a_hundred_bytes() -> None:
    assert (Message().size_bytes, DEFAULT_MSG_SIZE_BYTES) == (0, 100)
    late = BatchRoundRobinRouter(0, last_change_ms=-10, max_bytes=1)
    assert explain_route(late, None, 6) == explain_route(late, None, 6, 0, size_bytes=0)
    [at_zero, later] = [explain_route(BatchRoundRobinRouter(0, -9), None, 6, now_ms) for now_ms in (0, 1)]
    assert explain_route(BatchRoundRobinRouter(0, -9), None, 6) == at_zero != later
    router = BatchRoundRobinRouter(0, max_bytes=1)
    assert explain_route(router, None, 6) == explain_route(router, None, 6, 0, size_bytes=0)
    assert explain_route(router, None, 6) != explain_route(router, None, 6, 0, size_bytes=1)


def test_producers_begin_connected_and_with_nothing_counted() -> None:
    assert PartitionProducer(1, "p", OpenReason.KEY) == PartitionProducer(1, "p", OpenReason.KEY, True, 0, 0, 0, 0, 0)
    whole = PartitionedProducer(0, EAGER, None, 3)
    assert (whole.state, dict(whole.started), whole.max_pending_messages, whole.next_update_ms) == (
        "Uninitialized",
        {},
        0,
        0,
    )
    topic = PartitionedTopic(((),))
    assert (dict(topic.failing), topic.names_given, topic.name_prefix) == ({}, 0, "standalone-0")
    assert create(EAGER, round_robin(0), topic, 0).producer.number == 0


def test_a_fleet_begins_at_moment_zero_with_one_broker_and_sends_one_message_of_each() -> None:
    state = producers_state(3)
    assert isinstance(state, ProducersState)
    assert (state.now_ms, state.seed, state.brokers) == (0, 0, 1)
    assert ProducersState(state.topic, ()) == state
    assert len(events(send_by_one(fleet(3, 2), 0))) == 1
    assert len(events(send_by_all(fleet(3, 2)))) == 2
    assert isinstance(add_producers(fresh(3), 1, LAZY, Routing("PartialRoundRobin", 4)), Rejection)
    assert len(events(add_producers(fresh(3), 1, LAZY, ONE_BY_ONE))) == 1


def test_a_curve_is_meant_for_one_broker_and_no_keys() -> None:
    assert Workload(3) == Workload(3, None, 0)
    curve = counts_over_partitions(Workload(3, 1), [5], limit=2)
    assert curve == counts_over_partitions(Workload(3, 1), [5], limit=2, brokers=1)


def test_statistics_begin_at_zero() -> None:
    assert PublisherStats() == PublisherStats(None, False, 0.0, 0.0, 0.0, 0)
    for empty in (ConsumerStats(), SubscriptionStats(), ReplicatorStats(), TopicStats()):
        for name in empty.__slots__:
            if name.endswith(("_per_sec", "_ms", "_seconds", "_bytes", "count", "counter", "messages", "permits")):
                assert getattr(empty, name) == 0, name
    assert ConsumerStats().blocked_consumer_on_unacked_msgs is False


def test_the_constants_of_the_boost_hash_are_boost_s() -> None:
    """The hash of no bytes, from the golden ratio and the factor of mulxp1 in 64 bits."""
    step, factor, wrap = 0x9E3779B97F4A7C15, 0xDF442D22CE4859B9, 2**64

    def halves(left: int, right: int) -> int:
        product = (left % wrap) * (right % wrap)
        return product % wrap ^ product // wrap

    weight = halves(step, factor)
    last = (weight + step) % wrap
    assert boost_hash(b"") == halves((weight ^ halves(last, factor)) + last, factor) % 2**31
    assert [mix(left, right) for left, right in ((wrap - 1, wrap - 1), (wrap + 2, 3), (2**63, 2))] == [
        halves(left, right) for left, right in ((wrap - 1, wrap - 1), (wrap + 2, 3), (2**63, 2))
    ]
