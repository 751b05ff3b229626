"""The explanation of a message says before what sending it does after."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.errors import Rejection
from engine.routing.explain import SendExplanation, explain_send
from engine.routing.producers.model import ProducersState, Sent
from engine.routing.producers.settings import CPP, Routing
from engine.routing.producers.steps import close_producer, fail_partition, send_by_one
from tests.engine.routing.fleets import EAGER, LAZY, done, events, fleet


def explained(state: ProducersState, key: str | None = None) -> SendExplanation:
    why = explain_send(state, 0, key)
    assert isinstance(why, SendExplanation), why
    [event] = events(send_by_one(state, 0, key))
    assert isinstance(event, Sent)
    assert why.result == event.result and why.route.partition == event.result.partition
    return why


def test_a_message_that_opens_a_partition_says_why() -> None:
    state = fleet(50, 1, LAZY)
    assert explained(state).sentence.endswith("the router chose it for a message without a key.")
    assert explained(state, "order-7").sentence.endswith("the key of a message is hashed to it.")


def test_a_message_to_an_open_partition_says_since_when_it_is_open() -> None:
    assert explained(fleet(3, 1, EAGER)).sentence.endswith("which is open: all partitions are started at creation.")


def test_a_message_that_waits_has_a_number_and_one_too_many_has_an_error() -> None:
    state = fleet(1, 1, replace(EAGER, max_pending_messages=2), Routing("SinglePartition"))
    state = done(fail_partition(state, 0))
    assert explained(state).sentence == "It waits as number 1 of 2 in the queue: partition 0 is not connected."
    state = done(send_by_one(state, 0, messages=2))
    assert explained(state).sentence == "No message gets to partition 0; the send fails: Producer send queue is full."
    endless = done(fail_partition(fleet(1, 1, EAGER), 0))
    assert "number 1 in the queue" in explained(endless).sentence


def test_a_partition_that_cannot_be_opened_names_what_the_broker_said() -> None:
    state = fleet(2, 1, LAZY)
    other = 1 - next(iter(state.producers[0].started))
    state = done(fail_partition(state, other, "no bundle"))
    assert explained(state).sentence == (
        f"No message gets to partition {other}; the send fails: Not connected to broker (no bundle)."
    )


def test_a_closed_lazy_producer_opens_and_fails_in_one_sentence() -> None:
    sentence = explained(done(close_producer(fleet(2, 1, LAZY), 0))).sentence
    assert sentence.startswith("It opens partition") and sentence.endswith("fails: Producer already closed.")


def test_a_message_too_large_for_the_batch_is_explained_with_its_size() -> None:
    state = fleet(6, 1, replace(EAGER, client=CPP), Routing())
    [small, large] = [explain_send(state, 0, size_bytes=size_bytes) for size_bytes in (1, 2**20)]
    assert isinstance(small, SendExplanation) and isinstance(large, SendExplanation)
    assert small.route.partition == small.result.partition
    assert large.route.partition == large.result.partition == (small.result.partition + 1) % 6


@pytest.mark.parametrize("number", [-1, 1])
def test_a_producer_that_is_not_there_is_refused(number: int) -> None:
    refused = explain_send(fleet(2, 1), number)
    assert isinstance(refused, Rejection) and refused.field == "producer"
