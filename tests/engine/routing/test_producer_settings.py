"""Queue limits, the router a producer gets, and what a builder refuses, by field."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.errors import Rejection
from engine.routing.clients import KeyRouting
from engine.routing.producers.settings import (
    CLIENTS,
    CPP,
    JAVA,
    PYTHON,
    Client,
    ProducerSettings,
    Routing,
    checked_limit,
    checked_settings,
    new_router,
    queue_limit,
)
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    RoundRobinRouter,
    SinglePartitionRouter,
)


@pytest.mark.parametrize(
    ("most", "across", "partitions", "expected"),
    [(0, 0, 9, 0), (10, 0, 1, 10), (10, 0, 50, 10), (0, 5, 1, 5), (0, 7, 2, 3), (10, 10, 2, 5), (10, 100, 2, 10)],
)
def test_the_queue_of_a_partition_is_the_smaller_of_its_limit_and_its_share(
    most: int, across: int, partitions: int, expected: int
) -> None:
    settings = ProducerSettings(max_pending_messages=most, max_pending_messages_across_partitions=across)
    assert queue_limit(settings, partitions) == expected


def test_more_partitions_than_messages_across_them_switch_the_limit_off() -> None:
    settings = ProducerSettings(max_pending_messages=10, max_pending_messages_across_partitions=5)
    assert [queue_limit(settings, partitions) for partitions in (1, 2, 5, 6)] == [5, 2, 1, 0]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (ProducerSettings(producer_name=" "), "producerName"),
        (ProducerSettings(access_mode="shared"), "accessMode"),  # type: ignore[arg-type]
        (ProducerSettings(max_pending_messages=-1), "maxPendingMessages"),
        (ProducerSettings(max_pending_messages_across_partitions=-1), "maxPendingMessagesAcrossPartitions"),
        (ProducerSettings(auto_update_partitions_interval_seconds=0), "autoUpdatePartitionsIntervalSeconds"),
    ],
)
def test_a_setting_that_no_builder_takes_is_refused_by_its_name(settings: ProducerSettings, field: str) -> None:
    refused = checked_settings(settings)
    assert isinstance(refused, Rejection) and refused.field == field and refused.message


def test_good_settings_pass_as_they_are() -> None:
    good = ProducerSettings("name", PYTHON, "Exclusive", True, 5, 9, False, 1)
    assert checked_settings(good) is good


@pytest.mark.parametrize(
    ("client", "routing", "kind"),
    [
        (JAVA, Routing(), RoundRobinRouter),
        (PYTHON, Routing(), RoundRobinRouter),
        (CPP, Routing(), BatchRoundRobinRouter),
        (PYTHON, Routing(batching=True), BatchRoundRobinRouter),
        (CPP, Routing(batching=False), RoundRobinRouter),
        (PYTHON, Routing("SinglePartition"), SinglePartitionRouter),
        (JAVA, Routing("PartialRoundRobin", 3), PartialRoundRobinRouter),
    ],
)
def test_a_client_s_routing_makes_its_router(client: Client, routing: Routing, kind: type) -> None:
    router = new_router(routing, client, 6, "seed", now_ms=70)
    assert isinstance(router, kind)
    if not isinstance(router, PartialRoundRobinRouter):
        assert not isinstance(router, Rejection) and router.keys.hashing == client.family.default.scheme
    assert router == new_router(routing, client, 6, "seed", now_ms=70)


def test_a_router_hashes_and_switches_as_the_routing_says() -> None:
    java = new_router(Routing(hashing="Murmur3_32Hash", publish_delay_ms=2, switch_frequency=7), JAVA, 6, "seed")
    assert isinstance(java, RoundRobinRouter) and (java.keys.hashing, java.switch_ms) == ("Murmur3_32Hash", 14)
    other = new_router(Routing(hashing="JavaStringHash"), CPP, 6, "seed", now_ms=70)
    assert isinstance(other, BatchRoundRobinRouter)
    assert (other.keys, other.last_change_ms) == (KeyRouting("cpp", "JavaStringHash"), 70)


def test_only_java_batches_by_default_with_round_robin_by_the_clock() -> None:
    java, python = (new_router(Routing(), client, 6, "s") for client in (JAVA, PYTHON))
    assert isinstance(java, RoundRobinRouter) and java.batching
    assert isinstance(python, RoundRobinRouter) and not python.batching


def test_what_is_drawn_is_a_partition_and_all_of_them_are_drawn() -> None:
    drawn = set()
    for number in range(200):
        router = new_router(Routing("SinglePartition"), JAVA, 6, f"0/{number}")
        assert isinstance(router, SinglePartitionRouter)
        drawn.add(router.index)
    assert drawn == set(range(6))


@pytest.mark.parametrize(
    ("client", "routing", "field"),
    [
        (PYTHON, Routing(hashing="JavaStringHash"), "hashingScheme"),
        (JAVA, Routing(hashing="BoostHash"), "hashingScheme"),
        (PYTHON, Routing("PartialRoundRobin", 3), "messageRouter"),
        (JAVA, Routing("PartialRoundRobin", 0), "numPartitionsLimit"),
        (JAVA, Routing("Sticky"), "messageRoutingMode"),  # type: ignore[arg-type]
    ],
)
def test_a_routing_that_the_client_has_not_is_refused_by_its_field(
    client: Client, routing: Routing, field: str
) -> None:
    refused = new_router(routing, client, 6, "seed")
    assert isinstance(refused, Rejection) and refused.field == field


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_is_refused_in_pulsar_s_words_whatever_is_allowed(limit: int) -> None:
    for allow in (False, True):
        refused = checked_limit(limit, 6, allow_above=allow)
        assert isinstance(refused, Rejection) and refused.field == "numPartitionsLimit"
        assert refused.message == "numPartitionsLimit should be greater than or equal to 1"


def test_a_limit_above_the_partitions_is_refused_unless_it_is_meant() -> None:
    assert checked_limit(6, 6) == 6
    refused = checked_limit(7, 6)
    assert isinstance(refused, Rejection)
    assert refused.field == "numPartitionsLimit" and "7" in refused.message and "6 partitions" in refused.message
    assert checked_limit(7, 6, allow_above=True) == 7


def test_clients_are_found_by_their_names() -> None:
    assert {name: client.name for name, client in CLIENTS.items()} == {"java": "Java", "python": "Python", "cpp": "C++"}
    assert replace(JAVA) == CLIENTS["java"]
