"""To which partition a message goes, without a cluster: a plan for one producer, a number of partitions, a key."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.producers.commands import plan_settings
from engine.cluster.producers.state import ProducerPlan
from engine.errors import Rejection
from engine.routing.explain import RouteExplanation, explain_route
from engine.routing.key_moves import HASHING_SCHEMES
from engine.routing.keys import Message, partition_of_key
from engine.routing.producers.settings import new_router


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """``elsewhere``: where the other hashing schemes put the key, None where their clients take it for none."""

    client: str
    partitions: int
    told: RouteExplanation
    elsewhere: tuple[tuple[str, int | None], ...]


def route_answer(
    key: str | bytes | None, plan: ProducerPlan, partitions: int, *, now_ms: int = 0, seed: int = 0
) -> RouteAnswer | Rejection:
    """The route of the first message of a new producer; ``seed`` decides what its client draws at random.

    A key of bytes is what ``keyBytes`` sets. Refused: partitions below 1, and what no client would take.

    >>> answer = route_answer("k1", ProducerPlan(), 6)
    >>> answer.told.partition, answer.elsewhere
    (0, (('Murmur3_32Hash', 2), ('BoostHash', 1)))
    """
    if partitions < 1:
        message = f"a partitioned topic has at least 1 partition, not {partitions}"
        return Rejection("IllegalArgumentException", message, field="partitions")
    made = plan_settings(plan, partitions)
    if isinstance(made, Rejection):
        return made
    settings, routing = made
    router = new_router(routing, settings.client, partitions, f"{seed}/0", now_ms)
    if isinstance(router, Rejection):
        return router
    told = explain_route(router, key, partitions, now_ms)
    if isinstance(told, Rejection):
        return told
    return RouteAnswer(settings.client.name, partitions, told, elsewhere(told, partitions))


def elsewhere(told: RouteExplanation, partitions: int) -> tuple[tuple[str, int | None], ...]:
    """Where the schemes that did not decide put the key; nothing where no key decided."""
    if told.key is None:
        return ()
    text = told.key.text
    return tuple(
        (scheme, partition_of_key(text, scheme, partitions) if Message(text).has_key(scheme) else None)
        for scheme in HASHING_SCHEMES
        if scheme != told.key.hashing
    )
