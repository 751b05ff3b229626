"""What the next message of a producer would do, before it is sent: its route, whether it opens a partition, and why."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import Rejection
from engine.routing.explain import RouteExplanation, explain_route
from engine.routing.producer import send
from engine.routing.producer_model import DEFAULT_MSG_SIZE_BYTES, PartitionedProducer, SendResult
from engine.routing.producers_model import ProducersState


@dataclass(frozen=True, slots=True)
class SendExplanation:
    """``route`` says how the partition is found, ``result`` what sending does, ``sentence`` what that means."""

    route: RouteExplanation
    result: SendResult
    sentence: str


def explain_send(
    state: ProducersState, number: int, key: str | None = None, *, size_bytes: int = DEFAULT_MSG_SIZE_BYTES
) -> SendExplanation | Rejection:
    """The next message of one producer with this key, or without one; the state stays as it is.

    Pulsar's refusals are in ``result``; a producer that is not there is refused here.
    """
    if not 0 <= number < len(state.producers):
        return Rejection("IllegalArgumentException", f"there is no producer {number}", field="producer")
    producer = state.producers[number]
    assert producer.router is not None, "producers of a fleet have routers that are modelled"
    route = explain_route(producer.router, key, producer.partitions, state.now_ms, size_bytes=size_bytes)
    if isinstance(route, Rejection):
        return route
    result = send(producer, state.topic, key, state.now_ms, size_bytes=size_bytes)[2]
    return SendExplanation(route, result, _sentence(producer, result))


def _sentence(producer: PartitionedProducer, result: SendResult) -> str:
    at = f"partition {result.partition}"
    opens = f"It opens {at}: {result.opened.value}" if result.opened is not None else ""
    if result.error is not None:
        why = f" ({result.cause.message})" if result.cause is not None else ""
        fails = f"the send fails: {result.error.message}{why}."
        return f"{opens}; still {fails}" if opens else f"No message gets to {at}; {fails}"
    if opens:
        return f"{opens}."
    mine = producer.started[result.partition]
    if result.outcome == "queued":
        limit = f" of {producer.max_pending_messages}" if producer.max_pending_messages else ""
        return f"It waits as number {mine.pending_msgs + 1}{limit} in the queue: {at} is not connected."
    return f"It goes to {at}, which is open: {mine.opened.value}."
