"""A made-up partitioned topic with producers: so many of a kind, eager or lazy, with any router and client."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.cluster.commands import AddProducers
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.producers.decide import BROKERS
from engine.cluster.producers.state import ProducerPlan, ProducersSeen
from engine.cluster.tables.loads import LoadTable
from engine.config import CURRENT
from engine.errors import InputError, Rejection
from engine.scenarios.opening import Opened
from engine.scenarios.synthetic import synthetic_state
from engine.text import counted
from engine.views.failover.model import Notice

MAX_BROKERS: Final = 1_000
DEFAULT_PARTITIONS: Final = 12
REFUSED: Final = "producers-refused"


def synthetic_producers(
    plan: ProducerPlan,
    partitions: int = DEFAULT_PARTITIONS,
    *,
    brokers: int = BROKERS,
    seed: int = 0,
    release: str = "",
) -> Opened:
    """One partitioned topic with the producers of a plan (``count`` 0: none yet); no subscription.

    ``seed`` decides what clients draw at random. Raises ``InputError``, which names the argument, for numbers out of
    their limits and for what Pulsar or its clients refuse; producers beyond the one that an exclusive topic takes are
    noted. O(producers x partitions) for an eager start.
    """
    wrong = [
        f"{name} is {value}: give {low} to {high}"
        for name, value, low, high in (
            ("producers", plan.count, 0, 10_000),
            ("partitions", partitions, 1, 100_000),
            ("brokers", brokers, 1, MAX_BROKERS),
        )
        if not low <= value <= high
    ]
    if wrong:
        raise InputError("; ".join(wrong))
    made = synthetic_state(1, partitions, 0, seed, release=release or CURRENT.label).state
    state = replace(made, subscriptions=(), loads=LoadTable.of(made.topics, {}))
    topic = next(iter(state.topics))
    state = evolve(state, ProducersSeen(topic, partitions, brokers, seed))
    outcome = decide(state, AddProducers(topic, replace(plan, count=max(1, plan.count))))
    if isinstance(outcome, Rejection):
        raise InputError(str(outcome))
    for event in outcome if plan.count else ():
        state = evolve(state, event)
    tally = state.producer_topics[0].tally
    notes: tuple[Notice, ...] = ()
    if plan.count and tally.refused:
        some = f"{tally.refused:,} of {plan.count:,} producers cannot start as {plan.access_mode}: {tally.error}"
        notes = (Notice(REFUSED, some),)
    many = f"{counted(plan.count, 'producer')} on {counted(partitions, 'partition')}"
    return Opened(state, f"made up: {many}, seed {seed}", notes=notes, seed=seed)
