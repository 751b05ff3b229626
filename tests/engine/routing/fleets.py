"""Short ways to producers and topics, for the tests of this room."""

from __future__ import annotations

from engine.errors import Rejection
from engine.routing.producers.model import PartitionedProducer, ProducerEvent, ProducersState, ProducersStep
from engine.routing.producers.producer import create
from engine.routing.producers.settings import ProducerSettings, Routing
from engine.routing.producers.steps import add_producers, producers_state
from engine.routing.producers.topic import PartitionedTopic
from engine.routing.routers import Router

LAZY = ProducerSettings(lazy_start_partitioned_producers=True)
EAGER = ProducerSettings()
ONE_BY_ONE = Routing(batching=False)


def topic_of(partitions: int) -> PartitionedTopic:
    return PartitionedTopic(((),) * partitions)


def created(
    settings: ProducerSettings, router: Router, topic: PartitionedTopic, now_ms: int = 0, number: int = 0
) -> tuple[PartitionedProducer, PartitionedTopic]:
    """A producer whose creation must succeed, and its topic."""
    step = create(settings, router, topic, now_ms, number=number)
    assert step.error is None, step.error
    return step.producer, step.topic


def done(step: ProducersStep | Rejection) -> ProducersState:
    """The state after a step that must not be refused."""
    assert isinstance(step, ProducersStep), step
    return step.state


def events(step: ProducersStep | Rejection) -> tuple[ProducerEvent, ...]:
    assert isinstance(step, ProducersStep), step
    return step.events


def fresh(partitions: int, *, brokers: int = 1, seed: int = 0) -> ProducersState:
    state = producers_state(partitions, brokers=brokers, seed=seed)
    assert isinstance(state, ProducersState), state
    return state


def fleet(
    partitions: int,
    count: int,
    settings: ProducerSettings = EAGER,
    routing: Routing = ONE_BY_ONE,
    *,
    brokers: int = 1,
    seed: int = 0,
) -> ProducersState:
    """So many producers on a new topic, all created."""
    return done(add_producers(fresh(partitions, brokers=brokers, seed=seed), count, settings, routing))
