"""Small clusters for the tests of the state machine."""

from __future__ import annotations

from collections.abc import Iterable

from engine.bundles.boundaries import default_boundaries
from engine.cluster.commands import Command
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.journal.invariants import check
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.topics import Load, Topic
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.failover.model import Consumer

ORDERS = "persistent://shop/eu/orders"
AUDIT = "persistent://shop/eu/audit"


def quarter_boundaries() -> tuple[int, ...]:
    boundaries = default_boundaries(4)
    assert isinstance(boundaries, tuple)
    return boundaries


def cluster(
    names: Iterable[str] = ("a", "b", "c"),
    *,
    partitions: int = 6,
    settings: BrokerSettings | None = None,
    loads: dict[str, Load] | None = None,
) -> ClusterState:
    """A regex subscription "billing" over ``orders`` (partitioned) and ``audit`` (not), consumers with ids 0, 1, ..."""
    consumers = tuple(Consumer(number, name) for number, name in enumerate(names))
    state = ClusterState(
        settings=settings or BrokerSettings(),
        topics={ORDERS: Topic(ORDERS, partitions), AUDIT: Topic(AUDIT)},
        loads=loads or {},
        subscriptions=(Subscription("billing", "billing", "shop/eu", (ORDERS, AUDIT), consumers),),
        namespaces={"shop/eu": Namespace("shop/eu", quarter_boundaries())},
        next_consumer_id=len(consumers),
    )
    check(state)
    return state


def after(state: ClusterState, *commands: Command) -> ClusterState:
    """The state after these commands, each of which must be accepted."""
    for command in commands:
        outcome = decide(state, command)
        assert not isinstance(outcome, Rejection), outcome
        for event in outcome:
            state = evolve(state, event)
            check(state)
    return state


def refusal(state: ClusterState, command: Command) -> Rejection:
    """The refusal of a command that must be refused."""
    outcome = decide(state, command)
    assert isinstance(outcome, Rejection), f"{command} was accepted: {outcome}"
    return outcome
