"""What batching makes of the rates of partitions: against messages sent at even intervals, one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.routing.clients import Message
from engine.routing.producers import steps
from engine.routing.producers.model import ProducersState, ProducersStep, SendRate
from engine.routing.producers.rates import Burst, burst, burst_of, flow_of, peaks_of
from engine.routing.producers.settings import CLIENTS, JAVA, Client, ProducerSettings, Routing
from engine.routing.routers import BatchRoundRobinRouter, RoundRobinRouter, Router, round_robin, route

START_MS = 1_764_000_000_000


def walked(router: Router, rate: SendRate, partitions: int, count: int) -> list[tuple[float, int]]:
    """Moments in ms and partitions of messages at even intervals."""
    apart = 1000 / Fraction(rate.msgs_per_sec)
    taken = []
    for at in range(count):
        moment = START_MS + at * apart
        router, partition = route(router, Message(rate.key, rate.size_bytes), partitions, int(moment))
        taken.append((float(moment), partition))
    return taken


def visits(taken: list[tuple[float, int]]) -> list[int]:
    """Messages of each whole visit."""
    return [len(list(group)) for _, group in groupby(taken, key=lambda one: one[1])][1:-1]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 9), st.integers(1, 40), st.integers(100, 5_000), st.integers(2, 9))
def test_a_java_producer_stays_for_the_period(start: int, switch_ms: int, rate: int, partitions: int) -> None:
    router, sent = round_robin(start, switch_ms=switch_ms), SendRate(float(rate))
    found = burst(router, sent, partitions)
    assert found is not None and (found.stay_ms, found.away_ms) == (switch_ms, switch_ms * (partitions - 1))
    if found.msgs < 1:
        return
    seen = visits(walked(router, sent, partitions, round(found.msgs * 12)))
    assert found.msgs - 1 < min(seen) <= max(seen) < found.msgs + 1


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 9), st.integers(1, 40), st.sampled_from([0.5, 1, 2, 4, 5, 8, 10, 20, 25, 50]), st.integers(2, 9))
def test_rare_messages_at_even_intervals_reach_some_partitions(
    start: int, switch_ms: int, rate: float, partitions: int
) -> None:
    router, sent = round_robin(start, switch_ms=switch_ms), SendRate(rate)
    found = burst(router, sent, partitions)
    assert found is not None
    taken = walked(router, sent, partitions, 4 * switch_ms * partitions)
    assert found.reached == len({partition for _, partition in taken})


@pytest.mark.parametrize(
    ("rate", "msgs"),
    [
        (SendRate(50_000.0), 500),
        (SendRate(200_000.0), 1000),
        (SendRate(50_000.0, 1_000), 131),
        (SendRate(50_000.0, 131_072), None),
        (SendRate(50_000.0, 70_000), None),
        (SendRate(2_000.0, 200_000), 20),
        (SendRate(100.0), None),
        (SendRate(1_000.0), 10),
    ],
)
def test_a_batch_of_the_cpp_client_ends_by_number_bytes_or_time(rate: SendRate, msgs: int | None) -> None:
    router = BatchRoundRobinRouter(3, START_MS)
    found = burst(router, rate, 4)
    assert (None if found is None else found.msgs) == msgs
    seen = visits(walked(router, rate, 4, 6 * (msgs or 1) + 6))
    # A message above the limit of bytes is alone in its batch once, where the previous one is full by bytes.
    assert set(seen) <= {msgs or 1, 1} and (msgs or 1) in seen


@pytest.mark.parametrize(
    ("router", "rate", "partitions"),
    [
        (round_robin(0, batching=False), SendRate(900.0), 6),
        (round_robin(0), SendRate(900.0), 1),
        (round_robin(0), SendRate(0.0), 6),
        (round_robin(0), SendRate(1e-9), 6),
        (round_robin(0), SendRate(900.0, key="a"), 6),
        (round_robin(0), SendRate(900.0, keys=3), 6),
        (None, SendRate(900.0), 6),
    ],
)
def test_no_burst_without_batches_that_go_round(router: Router | None, rate: SendRate, partitions: int) -> None:
    assert burst(router, rate, partitions) is None


def accepted(step: ProducersStep | Rejection) -> ProducersState:
    assert not isinstance(step, Rejection), step
    return step.state


def rated(*producers: tuple[str, Routing, float], partitions: int = 4) -> ProducersState:
    state = steps.producers_state(partitions)
    assert not isinstance(state, Rejection)
    for number, (client, routing, rate) in enumerate(producers):
        state = accepted(steps.add_producers(state, 1, ProducerSettings(client=CLIENTS[client]), routing))
        state = accepted(steps.set_rate(state, number, SendRate(rate)))
    return state


def most_at_once(state: ProducersState, periods: int) -> list[float]:
    """The most messages a second of each partition within any 10 ms, counted by sending them."""
    counts: dict[tuple[int, int], int] = {}
    for producer in state.producers:
        assert producer.router is not None and producer.rate is not None
        count = int(producer.rate.msgs_per_sec * periods / 100)
        for moment, partition in walked(producer.router, producer.rate, producer.partitions, count):
            slot = (partition, int((moment - START_MS) // 10))
            counts[slot] = counts.get(slot, 0) + 1
    return [100.0 * max(counts.get((at, slot), 0) for slot in range(periods)) for at in range(state.topic.partitions)]


def test_java_producers_of_equal_starts_are_at_one_partition_together() -> None:
    batched = Routing()
    state = rated(*(("java", batched, 100.0 * (at + 1)) for at in range(6)))
    starts = [one.router.start % 4 for one in state.producers if isinstance(one.router, RoundRobinRouter)]
    assert len(set(starts)) > 1 and max(map(starts.count, starts)) > 1
    assert peaks_of(state).tolist() == most_at_once(state, 80)
    assert flow_of(state).msgs_per_sec.tolist() == [525.0] * 4


def test_bursts_of_other_periods_add_up_and_steady_rates_stay() -> None:
    state = rated(
        ("java", Routing(), 400.0),
        ("java", Routing(publish_delay_ms=5), 200.0),
        ("java", Routing(publish_delay_ms=1, switch_frequency=1), 100.0),
        ("cpp", Routing(), 1_000.0),
        ("python", Routing(), 40.0),
    )
    assert peaks_of(state).tolist() == [400 + 200 + 25 + 1_000 + 10] * 4
    assert burst_of(state.producers[2]) == Burst(1, 3, 0.1, 4, 2)


def test_a_lost_connection_takes_no_part() -> None:
    state = accepted(steps.fail_partition(rated(("java", Routing(), 400.0)), 2))
    assert peaks_of(state).tolist() == [400, 400, 0, 400]


@pytest.mark.parametrize(
    ("routing", "client", "field"),
    [
        (Routing(publish_delay_ms=0), JAVA, "batchingMaxPublishDelay"),
        (Routing(switch_frequency=0), JAVA, "batchingPartitionSwitchFrequencyByPublishDelay"),
        (Routing(switch_frequency=5), CLIENTS["cpp"], "batchingPartitionSwitchFrequencyByPublishDelay"),
    ],
)
def test_what_a_client_refuses(routing: Routing, client: Client, field: str) -> None:
    state = steps.producers_state(4)
    assert not isinstance(state, Rejection)
    refused = steps.add_producers(state, 1, ProducerSettings(client=client), routing)
    assert isinstance(refused, Rejection) and refused.field == field
