"""The words of the screen "producers": routers, outcomes, and what a step came to."""

from __future__ import annotations

from engine.cluster.producers.state import Tally
from engine.routing.producers.model import (
    Closed,
    Created,
    Disconnected,
    Fenced,
    PartitionedProducer,
    ProducerEvent,
    Reconnected,
    SendResult,
    Sent,
    Updated,
    UpdateResult,
)
from engine.routing.routers import BatchRoundRobinRouter, PartialRoundRobinRouter, Router, SinglePartitionRouter


def router_text(router: Router | None) -> str:
    """A router in two words.

    >>> router_text(PartialRoundRobinRouter(3)), router_text(SinglePartitionRouter(0))
    ('partial(3)', 'single')
    """
    if isinstance(router, PartialRoundRobinRouter):
        return f"partial({router.limit})"
    if isinstance(router, SinglePartitionRouter):
        return "single"
    if isinstance(router, BatchRoundRobinRouter) or (router is not None and router.batching):
        return "round robin, batched"
    return "round robin"


def result_text(event: ProducerEvent | None) -> str:
    """What happened to a producer, in a few words."""
    match event:
        case None:
            return ""
        case Created():
            return (
                event.error.message if event.error is not None else f"created, {_partitions(len(event.opened))} opened"
            )
        case Sent():
            return sent_text(event.result)
        case Updated():
            return _updated(event.partitions, event.result)
        case Disconnected():
            return f"lost its connection to partition {event.partition}"
        case Reconnected():
            if event.error is not None:
                return f"kept out of partition {event.partition}: {event.error.message}"
            waited = f", {event.published_msgs} that waited published" if event.published_msgs else ""
            return f"back at partition {event.partition}{waited}"
        case Fenced():
            return "fenced"
        case Closed():
            return f"closed, {event.lost_msgs} waiting messages lost" if event.lost_msgs else "closed"


def sent_text(result: SendResult) -> str:
    """What became of one message."""
    at = f"partition {result.partition}"
    if result.error is not None:
        why = f" ({result.cause.message})" if result.cause is not None else ""
        return f"failed at {at}: {result.error.message}{why}"
    if result.outcome == "queued":
        return f"waits at {at}"
    return f"opened {at}, sent" if result.opened is not None else f"sent to {at}"


def _updated(partitions: int, result: UpdateResult) -> str:
    if result.error is not None:
        return f"stays at {_partitions(partitions)}: {result.error.message}"
    opened = f", {_partitions(len(result.opened))} opened" if result.opened else ""
    return f"knows {_partitions(partitions)}{opened}"


def event_text(event: ProducerEvent) -> str:
    """One line of what happened: the producer's number, the key of a message, and what became of it."""
    key = f' "{event.key}"' if isinstance(event, Sent) and event.key is not None else ""
    return f"#{event.number}{key}: {result_text(event)}"


def tally_text(tally: Tally) -> str:
    """What a step came to besides partitions opened and connections lost, "" for nothing.

    >>> tally_text(Tally(sent=5, failed=2, error="Not connected to broker"))
    '5 sent, 2 failed: Not connected to broker'
    """
    parts = [
        (tally.created, "created"),
        (tally.sent, "sent"),
        (tally.queued, "waiting"),
        (tally.grown, "found the new partitions"),
        (tally.reconnected, "back"),
        (tally.fenced, "fenced"),
        (tally.lost_msgs, "waiting messages lost"),
        (tally.refused, "refused"),
        (tally.failed, "failed"),
        (tally.held_back, "held back"),
    ]
    told = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    return f"{told}: {tally.error}" if tally.error else told


def name_of(producer: PartitionedProducer) -> str:
    """The name a producer shows, "" for one that never had a partition."""
    return producer.producer_name or producer.settings.producer_name or ""


def _partitions(count: int) -> str:
    return f"{count:,} partition{'' if count == 1 else 's'}"
