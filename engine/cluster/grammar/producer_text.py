"""A command about producers as a line of the grammar; ``engine.cluster.grammar.producers`` reads it back."""

from __future__ import annotations

from typing import Final

from engine.cluster.grammar.words import quote
from engine.cluster.producers.commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    ProducerCommand,
    RecoverPartition,
    SendByProducers,
)
from engine.cluster.producers.events import ProducerPlan
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState
from engine.routing.producers.model import DEFAULT_MSG_SIZE_BYTES

_DEFAULTS: Final = ProducerPlan()


def producer_command_text(command: ProducerCommand, state: ClusterState | None = None) -> str:
    """One line that reads back as the same command; names and a sole topic as in ``command_text``.

    >>> producer_command_text(AddProducers("orders", ProducerPlan(count=100, lazy=True, router="partial", limit=3)))
    'producer add count 100 lazy partial 3 on orders'
    """
    where = _topic(command.topic, state)
    match command:
        case AddProducers(_, plan):
            return f"producer add{_plan(plan)}{where}"
        case SendByProducers(topic, number, key, times, size_bytes):
            who = "all" if number is None else _producer(topic, number, state)
            what = "" if key is None else f" key {quote(key)}"
            amount = f" times {times}" if times != 1 else ""
            size = f" size {size_bytes}" if size_bytes != DEFAULT_MSG_SIZE_BYTES else ""
            return f"producer send {who}{what}{amount}{size}{where}"
        case CloseProducer(topic, number):
            return f"producer close {_producer(topic, number, state)}{where}"
        case FailPartition(_, partition):
            return f"partition fail {partition}{where}"
        case RecoverPartition(_, partition):
            return f"partition recover {partition}{where}"


def _plan(plan: ProducerPlan) -> str:
    words = [f"count {plan.count}"] if plan.count != _DEFAULTS.count else []
    words += ["lazy"] if plan.lazy else []
    if plan.router == "partial":
        words.append(f"partial {plan.limit}")
    else:
        words += [f"router {quote(plan.router)}"] if plan.router != _DEFAULTS.router else []
        words += [f"limit {plan.limit}"] if plan.limit else []
    words += ["above"] if plan.allow_limit_above else []
    words += [f"client {quote(plan.client)}"] if plan.client != _DEFAULTS.client else []
    words += [f"named {quote(plan.name)}"] if plan.name is not None else []
    words += [f"access {quote(plan.access_mode)}"] if plan.access_mode != _DEFAULTS.access_mode else []
    words += [f"hashing {quote(plan.hashing)}"] if plan.hashing is not None else []
    words += [f"batching {'on' if plan.batching else 'off'}"] if plan.batching is not None else []
    words += [f"queue {plan.max_pending_messages}"] if plan.max_pending_messages else []
    across = plan.max_pending_messages_across_partitions
    words += [f"across {across}"] if across else []
    return "".join(f" {word}" for word in words)


def producer_topic_names(state: ClusterState) -> list[str]:
    """The topics whose producers count, in the state's order."""
    return [each.topic for each in state.producer_topics]


def producer_topics_meant(state: ClusterState) -> list[str]:
    """The topics that a command without a topic can mean: those with producers, else all that are partitioned."""
    return producer_topic_names(state) or [topic.name for topic in state.topics.values() if topic.partitions]


def producers_named(topic: ProducerTopic, name: str) -> list[int]:
    """The numbers of the producers that show this name, closed ones included. O(producers)."""
    return [each.number for each in topic.producers.producers if each.producer_name == name]


def _producer(topic: str, number: int, state: ClusterState | None) -> str:
    found = next((each for each in state.producer_topics if each.topic == topic), None) if state is not None else None
    if found is not None and 0 <= number < len(found.producers.producers):
        name = found.producers.producers[number].producer_name
        if name is not None and producers_named(found, name) == [number]:
            return quote(name, ("all",))
    return f"#{number}"


def _topic(topic: str, state: ClusterState | None) -> str:
    sole = state is not None and producer_topics_meant(state) == [topic]
    return "" if sole else f" on {quote(topic)}"
