"""Laws of producers for all inputs: L7, same bytes, same answer, through every producer; openings; explanations."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.routing.clients import KeyRouting, Message, partition_of
from engine.routing.explain import RouteExplanation, explain_route
from engine.routing.growth import KeyMoves, moved_keys
from engine.routing.producers.costs import Workload, counts_over_partitions
from engine.routing.producers.model import ProducersState, ProducersStep, Sent
from engine.routing.producers.settings import CLIENTS, ProducerSettings, RouterKind, Routing, queue_limit
from engine.routing.producers.steps import add_producers, counts_of, producers_state, send_by_all, send_by_one
from engine.routing.routers import PartialRoundRobinRouter, route
from tests.properties.test_routing_laws import CLOCK_MS, ROUTINGS, keys, routers

KINDS: tuple[RouterKind, ...] = ("SinglePartition", "RoundRobinPartition")


def producers(partitions: int, count: int, client: str, routing: Routing, *, lazy: bool, seed: int) -> ProducersState:
    state = producers_state(partitions, seed=seed)
    assert isinstance(state, ProducersState)
    chosen = ProducerSettings(client=CLIENTS[client], lazy_start_partitioned_producers=lazy)
    step = add_producers(state, count, chosen, routing)
    assert isinstance(step, ProducersStep), step
    return step.state


@settings(max_examples=60, deadline=None)
@given(
    keys().filter(bool), st.integers(1, 60), st.sampled_from(list(CLIENTS)), st.sampled_from(KINDS), st.booleans(),
    st.integers(0, 99),
)  # fmt: skip
def test_L7_one_key_goes_to_one_partition_through_all_producers_of_a_client(
    key: str, partitions: int, client: str, kind: RouterKind, lazy: bool, seed: int
) -> None:
    state = producers(partitions, 3, client, Routing(kind), lazy=lazy, seed=seed)
    step = send_by_all(state, key, messages=2)
    assert isinstance(step, ProducersStep)
    met = {event.result.partition for event in step.events if isinstance(event, Sent)}
    assert met == {partition_of(key, KeyRouting(client, CLIENTS[client].family.default.scheme), partitions)}


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 30), st.integers(0, 30), st.integers(0, 99))
def test_a_lazy_producer_opens_a_partition_once_and_only_for_a_message_that_goes_there(
    data: st.DataObject, partitions: int, messages: int, seed: int
) -> None:
    kind = data.draw(st.sampled_from((*KINDS, "PartialRoundRobin")))
    limit = data.draw(st.integers(1, partitions)) if kind == "PartialRoundRobin" else 0
    state = producers(partitions, 1, "java", Routing(kind, limit, batching=False), lazy=True, seed=seed)
    opened = set(state.producers[0].started)
    assert len(opened) == 1
    for _ in range(messages):
        step = send_by_one(state, 0, data.draw(st.none() | keys()))
        assert isinstance(step, ProducersStep)
        [event] = step.events
        assert isinstance(event, Sent)
        assert (event.result.opened is not None) == (event.result.partition not in opened)
        opened.add(event.result.partition)
        state = step.state
        assert set(state.producers[0].started) == opened
    assert len(opened) <= (limit or partitions)
    assert counts_of(state).broker_producers == len(opened)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 500), st.none() | keys() | st.binary(max_size=20), CLOCK_MS, st.integers(0, 10**6))
def test_an_explanation_names_the_partition_of_the_route_and_its_numbers_add_up(
    data: st.DataObject, partitions: int, key: str | bytes | None, now_ms: int, size_bytes: int
) -> None:
    router = data.draw(routers(partitions))
    why = explain_route(router, key, partitions, now_ms, size_bytes=size_bytes)
    assert isinstance(why, RouteExplanation)
    assert why.partition == route(router, Message(key, size_bytes), partitions, now_ms)[1]
    assert str(why.partition) in why.sentence
    if why.modulo is not None:
        assert why.modulo.dividend % why.modulo.divisor == why.modulo.remainder
        assert (why.chosen[why.modulo.remainder] if why.chosen else why.modulo.remainder) == why.partition
    if why.key is not None:
        assert not isinstance(router, PartialRoundRobinRouter) and key is not None
        routing = router.keys
        assert why.key.value == routing.hash_of(key) == why.key.raw % 2**routing.key_hash.bits
        assert why.key.data == routing.hashed(key)


@settings(max_examples=60, deadline=None)
@given(st.lists(keys(), max_size=20), st.integers(1, 40), st.integers(0, 40), st.sampled_from(ROUTINGS))
def test_growth_conserves_every_key_has_one_place_before_and_one_after(
    told: list[str], before: int, more: int, routing: KeyRouting
) -> None:
    """Growing in two steps moves no key to another place than growing at once."""
    moves = moved_keys(told, before, before + more, routing)
    assert isinstance(moves, KeyMoves)
    assert [place.key for place in moves.places] == told
    assert len(moves.moved) + sum(not place.differ for place in moves.places) == len(told)
    assert 0 <= moves.expected_share < 1 and (more or not moves.moved)
    first = moved_keys(told, before, before + more // 2, routing)
    then = moved_keys(told, before + more // 2, before + more, routing)
    assert isinstance(first, KeyMoves) and isinstance(then, KeyMoves)
    assert [(one.left, other.right) for one, other in zip(first.places, then.places, strict=True)] == [
        (place.left, place.right) for place in moves.places
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 50), st.none() | st.integers(0, 50), st.integers(0, 30), st.integers(1, 20), st.integers(1, 12),
    st.sampled_from((*KINDS, "PartialRoundRobin")),
)  # fmt: skip
def test_lazy_never_costs_more_than_eager_and_partial_never_more_than_its_limit(
    count: int, messages: int | None, distinct: int, limit: int, brokers: int, mode: RouterKind
) -> None:
    work = Workload(count, messages, distinct)
    points = counts_over_partitions(work, range(1, 30), limit=limit, mode=mode, brokers=brokers)
    assert isinstance(points, tuple)
    near = 1 + 1e-9
    for at in points:
        for each in (at.lazy, at.partial):
            assert each.broker_producers.value <= at.eager.broker_producers.value * near
            assert each.connections.value <= at.eager.connections.value * near
            assert each.connections.value <= each.broker_producers.value * near
            assert each.partitions_used.value <= min(at.partitions, each.broker_producers.value) * near
        assert at.partial.broker_producers.value <= count * limit
    for rising in (
        [at.eager.broker_producers.value for at in points],
        [at.partial.broker_producers.value for at in points],
    ):
        assert rising == list(accumulate(rising, max))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 500), st.integers(0, 5000), st.integers(1, 600))
def test_a_queue_s_limit_is_never_above_what_was_asked_unless_it_is_gone(
    most: int, across: int, partitions: int
) -> None:
    limit = queue_limit(
        ProducerSettings(max_pending_messages=most, max_pending_messages_across_partitions=across), partitions
    )
    assert limit == 0 or not most or limit <= most
    assert limit == 0 or not across or limit * partitions <= across
    assert (limit == 0) == ((across == 0 and most == 0) or 0 < across < partitions)
