"""What a person can ask of the producers of a partitioned topic.

``topic`` is any name of it; ``producer`` is a number in the order of creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from engine.cluster.producers.state import ProducerPlan
from engine.errors import Rejection
from engine.routing.keys import HashingScheme
from engine.routing.producers.model import DEFAULT_MSG_SIZE_BYTES
from engine.routing.producers.settings import (
    ACCESS_MODES,
    CPP,
    JAVA,
    PYTHON,
    AccessMode,
    Client,
    ProducerSettings,
    RouterKind,
    Routing,
    checked_limit,
    checked_settings,
    new_router,
)


@dataclass(frozen=True, slots=True)
class AddProducers:
    """Producers are created on a partitioned topic, one after another."""

    topic: str
    plan: ProducerPlan


@dataclass(frozen=True, slots=True)
class SendByProducers:
    """Messages with this key, or without one, through one producer or (None) through all that are not closed."""

    topic: str
    producer: int | None = None
    key: str | None = None
    times: int = 1
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES


@dataclass(frozen=True, slots=True)
class CloseProducer:
    """A producer is closed by its application; what waits in its queues is lost."""

    topic: str
    producer: int


@dataclass(frozen=True, slots=True)
class FailPartition:
    """A partition is not served any more, as when the broker that owns it is gone."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class RecoverPartition:
    """A partition is served again."""

    topic: str
    partition: int


ProducerCommand = AddProducers | SendByProducers | CloseProducer | FailPartition | RecoverPartition


CLIENT_WORDS: Final[Mapping[str, Client]] = {"java": JAVA, "python": PYTHON, "cpp": CPP}
ROUTER_WORDS: Final[Mapping[str, RouterKind]] = {
    "round-robin": "RoundRobinPartition",
    "single": "SinglePartition",
    "partial": "PartialRoundRobin",
}
_HASHINGS: Final[Mapping[str, HashingScheme]] = {scheme.lower(): scheme for scheme in get_args(HashingScheme)}
_MODES: Final[Mapping[str, AccessMode]] = {mode.lower(): mode for mode in ACCESS_MODES}


def plan_settings(plan: ProducerPlan, partitions: int) -> tuple[ProducerSettings, Routing] | Rejection:
    """Settings and routing of a plan on a topic of so many partitions. Refused: what no client would take.

    >>> settings, routing = plan_settings(ProducerPlan(lazy=True, router="partial", limit=3), 10)
    >>> settings.starts_lazily, routing.kind, routing.num_partitions_limit
    (True, 'PartialRoundRobin', 3)
    >>> plan_settings(ProducerPlan(router="partial"), 10).message
    'numPartitionsLimit should be greater than or equal to 1'
    """
    client, kind, mode = (
        CLIENT_WORDS.get(plan.client),
        ROUTER_WORDS.get(plan.router),
        _MODES.get(plan.access_mode.lower()),
    )
    if client is None:
        return _unknown("client", plan.client, CLIENT_WORDS)
    if kind is None:
        return _unknown("router", plan.router, ROUTER_WORDS)
    if mode is None:
        return _unknown("accessMode", plan.access_mode, ACCESS_MODES)
    hashing = None if plan.hashing is None else _HASHINGS.get(plan.hashing.lower())
    if plan.hashing is not None and hashing is None:
        return _unknown("hashingScheme", plan.hashing, _HASHINGS.values())
    if kind == "PartialRoundRobin":
        limit = checked_limit(plan.limit, partitions, allow_above=plan.allow_limit_above)
        if isinstance(limit, Rejection):
            return limit
    elif plan.limit:
        message = f"a limit belongs to the router partial, not to {plan.router}"
        return Rejection("IllegalArgumentException", message, field="numPartitionsLimit")
    settings = checked_settings(
        ProducerSettings(
            producer_name=plan.name,
            client=client,
            access_mode=mode,
            lazy_start_partitioned_producers=plan.lazy,
            max_pending_messages=plan.max_pending_messages,
            max_pending_messages_across_partitions=plan.max_pending_messages_across_partitions,
        )
    )
    if isinstance(settings, Rejection):
        return settings
    routing = Routing(kind, plan.limit, hashing, plan.batching)
    router = new_router(routing, client, partitions, "any")
    return router if isinstance(router, Rejection) else (settings, routing)


def _unknown(field: str, text: str, known: Iterable[str]) -> Rejection:
    listed = ", ".join(known)
    return Rejection("IllegalArgumentException", f"{text[:60]!r} is none of {listed}", field=field)
